/** One step: where it leads, how often, whether it is used; the rest behind the arrow. */
import { ChevronRight, GripVertical, X } from "lucide-react";
import { type ComponentProps, useId, useRef } from "react";
import type { ComboStep, FieldProblem, Strategy } from "@/bindings";
import { IconButton } from "@/components/ui/button";
import { Input } from "@/components/ui/input";
import { Switch } from "@/components/ui/switch";
import { useRead } from "@/host/queries";
import { useFormat, useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import { targetOf } from "@/lib/combo-draft";
import { useDraft } from "@/lib/hooks";
import { StepDetails } from "./StepDetails";
import { Sign } from "./TargetPicker";

type StepRowProps = {
  step: ComboStep;
  index: number;
  total: number;
  strategy: Strategy;
  /** The name of the combo being edited. */
  self: string;
  /** Its part of the requests; `undefined` where the strategy knows no weights, `null` while it is switched off. */
  share: number | null | undefined;
  problems: readonly FieldProblem[];
  isOpen: boolean;
  isDragged: boolean;
  /** Another one is being dragged. */
  isPushed: boolean;
  /** Pixels from its place. */
  shift: number;
  handle: Pick<ComponentProps<"button">, "onPointerDown" | "onPointerMove" | "onPointerUp" | "onPointerCancel">;
  onOpen(open: boolean): void;
  onMove(to: number): void;
  onChange(step: ComboStep): void;
  onRemove(): void;
};

export function StepRow(props: StepRowProps) {
  const { step, index, total, share, isOpen, onOpen, onChange } = props;
  const words = useMessages().combos;
  const id = useId();
  const grip = useRef<HTMLButtonElement>(null);
  const name = targetOf(step);
  const place = `models[${index}]`;
  const mine = props.problems.filter(({ field }) => field === place || field.startsWith(`${place}.`));

  return (
    <li
      style={{ transform: props.shift === 0 ? undefined : `translateY(${props.shift}px)` }}
      className={cn(
        "relative border-b last:border-b-0",
        props.isDragged && "z-10 rounded-md bg-raised shadow-float",
        props.isPushed && "transition-transform duration-100",
      )}
    >
      <div className="flex min-h-12 items-center gap-2 py-1.5">
        <button
          ref={grip}
          type="button"
          aria-label={words.stepHandle(name, index + 1, total)}
          className="-ml-1.5 inline-flex size-7 shrink-0 cursor-grab touch-none items-center justify-center rounded-md text-ink-faint hover:bg-hover hover:text-ink active:cursor-grabbing"
          {...props.handle}
          onKeyDown={(event) => {
            const way = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
            if (way === 0) return;
            event.preventDefault();
            props.onMove(index + way);
            // Moving it in the document takes the focus away.
            requestAnimationFrame(() => grip.current?.focus());
          }}
        >
          <GripVertical aria-hidden className="size-4" />
        </button>
        <span aria-hidden className="w-4 shrink-0 text-right text-ink-faint">
          {index + 1}
        </span>
        <Sign kind={step.kind} />
        <div className={cn("min-w-0 flex-1", !step.enabled && "opacity-60")}>
          <div className="truncate font-mono" title={name}>
            {name}
          </div>
          <Remarks step={step} />
        </div>
        {share !== undefined && (
          <WeightControl
            step={step}
            share={share}
            invalid={mine.some(({ field }) => field === `${place}.weight`)}
            {...{ onChange }}
          />
        )}
        <Switch
          aria-label={words.stepOn(name)}
          checked={step.enabled}
          onCheckedChange={(enabled) => onChange({ ...step, enabled })}
        />
        <IconButton
          label={words.stepDetails(name)}
          aria-expanded={isOpen}
          aria-controls={id}
          onClick={() => onOpen(!isOpen)}
        >
          <ChevronRight aria-hidden className={cn("transition-transform duration-100", isOpen && "rotate-90")} />
        </IconButton>
        <IconButton label={words.stepRemove(name)} data-remove className="-ml-1.5" onClick={props.onRemove}>
          <X aria-hidden />
        </IconButton>
      </div>
      {mine.length > 0 && (
        <ul className="pb-2 pl-19.5 text-blocked text-xs">
          {mine.map(({ field, message }) => (
            <li key={field} title={field} className="select-text break-words">
              {message}
            </li>
          ))}
        </ul>
      )}
      {share !== undefined && share !== null && (
        <span aria-hidden className="absolute right-0 -bottom-px left-0 z-[1] h-0.5">
          <span className="block h-full bg-accent" style={{ width: `${share * 100}%` }} />
        </span>
      )}
      <div id={id} hidden={!isOpen} className="pb-4 pl-19.5">
        {isOpen && <StepDetails step={step} strategy={props.strategy} self={props.self} onChange={onChange} />}
      </div>
    </li>
  );
}

/** What is special about a step, so that one need not open it. */
function Remarks({ step }: { step: ComboStep }) {
  const words = useMessages().combos;
  const connections = useRead("connections_list", {});
  const remarks: string[] = step.label ? [step.label] : [];
  if (step.kind === "model") {
    const { connectionId, allowedConnectionIds = [], tags = [] } = step;
    if (connectionId) {
      const pinned = connections.data?.connections.find((connection) => connection.id === connectionId);
      remarks.push(words.pinned(pinned?.name ?? words.accountsGone));
    } else if (allowedConnectionIds.length > 0) remarks.push(words.someAccounts(allowedConnectionIds.length));
    if (step.fallbackOnlyOnQuotaExhaustion) remarks.push(words.quotaOnlyShort);
    if (tags.length > 0) remarks.push(tags.map((tag) => `#${tag}`).join(" "));
  }
  if (remarks.length === 0) return null;
  const text = remarks.join(" · ");
  return (
    <div className="truncate text-ink-faint text-xs" title={text}>
      {text}
    </div>
  );
}

type WeightControlProps = { step: ComboStep; share: number | null; invalid: boolean; onChange(step: ComboStep): void };

/** A weight and what it comes to. */
function WeightControl({ step, share, invalid, onChange }: WeightControlProps) {
  const words = useMessages().combos;
  const format = useFormat();
  const [text, setText] = useDraft(String(step.weight));
  const value = Number(text);
  const isWeight = text.trim() !== "" && Number.isInteger(value) && value >= 0 && value <= 100;
  return (
    <span className="flex shrink-0 items-center gap-2">
      <Input
        inputMode="numeric"
        aria-label={words.weightOf(targetOf(step))}
        aria-invalid={invalid || !isWeight}
        title={words.weightHelp}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          const weight = Number(event.target.value);
          const fits = event.target.value.trim() !== "" && Number.isInteger(weight) && weight >= 0 && weight <= 100;
          if (fits && weight !== step.weight) onChange({ ...step, weight });
        }}
        onBlur={() => setText(String(step.weight))}
        className="w-14 text-right"
      />
      <span className="w-10 text-right text-ink-soft">{share === null ? "–" : format.percent(share)}</span>
    </span>
  );
}
