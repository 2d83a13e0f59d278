/** The steps of a combo, in their order: dragged by the handle, or moved by ↑ and ↓ on it. */
import { Plus } from "lucide-react";
import { useRef, useState } from "react";
import type { ComboStep, FieldProblem } from "@/bindings";
import { Announcement } from "@/components/DataTable";
import { Section } from "@/components/Field";
import { Button } from "@/components/ui/button";
import { useListDrag } from "@/components/use-list-drag";
import { useMessages } from "@/i18n";
import { type EditedCombo, moved, newStep, shares, targetOf } from "@/lib/combo-draft";
import { StepRow } from "./StepRow";
import { TargetPicker } from "./TargetPicker";

type StepListProps = {
  draft: EditedCombo;
  problems: readonly FieldProblem[];
  onEdit(part: Partial<EditedCombo>): void;
};

export function StepList({ draft, problems, onEdit }: StepListProps) {
  const words = useMessages().combos;
  const list = useRef<HTMLOListElement>(null);
  const [openId, setOpenId] = useState<string | null>(null);
  const [announcement, setAnnouncement] = useState("");
  const steps = draft.models;
  const parts = draft.strategy === "weighted" ? shares(steps) : null;
  const all = problems.find(({ field }) => field === "models");

  const change = (models: ComboStep[]) => onEdit({ models });
  const move = (from: number, to: number) => {
    const step = steps[from];
    if (!step || to < 0 || to >= steps.length) return;
    change(moved(steps, from, to));
    setAnnouncement(words.stepMoved(targetOf(step), to + 1, steps.length));
  };
  const drag = useListDrag(list, move);
  const remove = (step: ComboStep, index: number) => {
    change(steps.filter(({ id }) => id !== step.id));
    setAnnouncement(words.stepRemoved(targetOf(step)));
    // The keyboard goes on at the step that took its place, else at the way to add one.
    requestAnimationFrame(() => {
      const rows = list.current?.querySelectorAll<HTMLElement>("[data-remove]");
      const next = rows?.[Math.min(index, rows.length - 1)];
      (next ?? document.querySelector<HTMLElement>("[data-add-step]"))?.focus();
    });
  };

  return (
    <Section
      title={words.steps}
      help={words.stepsHelp}
      action={
        <TargetPicker
          self={draft.name}
          onChoose={(target) => {
            const weight = draft.strategy === "weighted" ? { weight: 1 } : {};
            change([...steps, { ...newStep(target), ...weight }]);
          }}
          trigger={
            <Button size="sm" data-add-step>
              <Plus aria-hidden />
              {words.addStep}
            </Button>
          }
        />
      }
    >
      {all && (
        <p role="alert" className="select-text break-words pt-2 text-blocked">
          {all.message}
        </p>
      )}
      {steps.length === 0 && <p className="py-4 text-ink-soft">{words.stepsEmpty}</p>}
      <ol ref={list} aria-label={words.steps}>
        {steps.map((step, index) => (
          <StepRow
            key={step.id}
            step={step}
            index={index}
            total={steps.length}
            strategy={draft.strategy}
            self={draft.name}
            share={parts?.[index]}
            problems={problems}
            isOpen={openId === step.id}
            isDragged={drag.index === index}
            isPushed={drag.index !== null && drag.index !== index}
            shift={drag.shiftOf(index)}
            handle={drag.handle(index)}
            onOpen={(open) => setOpenId(open ? step.id : null)}
            onMove={(to) => move(index, to)}
            onChange={(next) => change(steps.map((other) => (other.id === step.id ? next : other)))}
            onRemove={() => remove(step, index)}
          />
        ))}
      </ol>
      <Announcement text={announcement} />
    </Section>
  );
}
