import { Switch as Primitive } from "radix-ui";
import type { ComponentProps } from "react";
import { cn } from "@/lib/cn";

export function Switch({ className, ...rest }: ComponentProps<typeof Primitive.Root>) {
  return (
    <Primitive.Root
      className={cn(
        "inline-flex h-[18px] w-8 shrink-0 items-center rounded-full bg-line-strong p-0.5 transition-colors duration-100 data-[state=checked]:bg-accent disabled:opacity-50",
        className,
      )}
      {...rest}
    >
      <Primitive.Thumb className="size-3.5 rounded-full bg-accent-ink transition-transform duration-100 data-[state=checked]:translate-x-3.5" />
    </Primitive.Root>
  );
}
