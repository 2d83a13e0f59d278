import type { ReactNode } from "react";
import { cn } from "@/lib/cn";

type ScreenProps = {
  title: ReactNode;
  /** One line under the title. */
  help?: ReactNode;
  /** Above the title: the way back. */
  before?: ReactNode;
  /** Top right; at most one of them primary. */
  actions?: ReactNode;
  /** All below is a column of settings: the head ends where they do. */
  narrow?: boolean;
  /** Title and actions stay in sight while one scrolls: for a long form. */
  pinned?: boolean;
  children: ReactNode;
};

/** The content column of every screen. */
export function Screen({ title, help, before, actions, narrow = false, pinned = false, children }: ScreenProps) {
  return (
    <div className="mx-auto w-full max-w-[1168px] px-6 pt-6 pb-16">
      {before && <div className="mb-1">{before}</div>}
      <header
        className={cn(
          "mb-5 flex flex-wrap items-start justify-between gap-x-6 gap-y-3",
          narrow && "max-w-[760px]",
          pinned &&
            "sticky top-0 z-10 -mx-6 bg-canvas px-6 py-2.5 after:absolute after:inset-x-6 after:bottom-0 after:h-px after:bg-line",
        )}
      >
        <h1 className="min-w-0 flex-1 break-words font-semibold text-lg leading-8">{title}</h1>
        {actions && <div className="flex shrink-0 items-center gap-2">{actions}</div>}
        {help && <div className="-mt-2 w-full text-ink-soft">{help}</div>}
      </header>
      {children}
    </div>
  );
}
