import { Dialog as Primitive } from "radix-ui";
import type { ReactNode } from "react";

type DialogProps = {
  open: boolean;
  onOpenChange(open: boolean): void;
  title: string;
  description?: string;
  children?: ReactNode;
  footer: ReactNode;
};

/** For what cannot be undone, and nothing else: whatever can be undone is done at once. */
export function Dialog({ open, onOpenChange, title, description, children, footer }: DialogProps) {
  return (
    <Primitive.Root open={open} onOpenChange={onOpenChange}>
      <Primitive.Portal>
        <Primitive.Overlay className="fixed inset-0 z-40 animate-appear bg-scrim" />
        <Primitive.Content
          {...(description ? {} : { "aria-describedby": undefined })}
          className="fixed top-[20vh] left-1/2 z-50 w-[440px] max-w-[calc(100vw-32px)] -translate-x-1/2 animate-appear rounded-lg bg-raised p-5 shadow-float"
        >
          <Primitive.Title className="font-semibold text-md">{title}</Primitive.Title>
          {description && <Primitive.Description className="mt-1 text-ink-soft">{description}</Primitive.Description>}
          {children && <div className="mt-4">{children}</div>}
          <div className="mt-5 flex justify-end gap-2">{footer}</div>
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}
