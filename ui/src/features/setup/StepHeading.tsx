import { ChevronLeft } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { Button } from "@/components/ui/button";
import { useMessages } from "@/i18n";

type StepHeadingProps = {
  title: string;
  help: ReactNode;
  /** To the step before; the first has none, and keeps its place free. */
  onBack?: (() => void) | undefined;
};

/** The way back, title and one line of a step. A new step takes the focus to its title, so that it is read out. */
export function StepHeading({ title, help, onBack }: StepHeadingProps) {
  const { back } = useMessages().common;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <header className="mb-6">
      <div className="h-7">
        {onBack && (
          <Button variant="ghost" size="sm" className="-ml-2" onClick={onBack}>
            <ChevronLeft aria-hidden />
            {back}
          </Button>
        )}
      </div>
      <h2 ref={heading} tabIndex={-1} className="font-semibold text-lg outline-none">
        {title}
      </h2>
      <p className="mt-0.5 text-ink-soft">{help}</p>
    </header>
  );
}
