/** The way back, above a screen's title. */
import { createLink } from "@tanstack/react-router";
import { ChevronLeft } from "lucide-react";
import type { ComponentProps } from "react";

function Back({ children, className: _, ...rest }: ComponentProps<"a">) {
  return (
    <a
      {...rest}
      className="-ml-1 inline-flex items-center gap-0.5 rounded-sm pr-1 text-ink-faint transition-colors duration-100 hover:text-ink"
    >
      <ChevronLeft aria-hidden className="size-4 shrink-0" />
      {children}
    </a>
  );
}

export const BackLink = createLink(Back);
