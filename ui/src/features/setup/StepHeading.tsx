import { type ReactNode, useEffect, useRef } from "react";

/** Title and one line of a step. A new step takes the focus to its title, so that it is read out. */
export function StepHeading({ title, help }: { title: string; help: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <header className="mb-6">
      <h2 ref={heading} tabIndex={-1} className="font-semibold text-lg outline-none">
        {title}
      </h2>
      <p className="mt-0.5 text-ink-soft">{help}</p>
    </header>
  );
}
