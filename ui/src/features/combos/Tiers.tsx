/** Another order of the steps, tier by tier. Only `priority` follows it. */
import { Plus, X } from "lucide-react";
import type { ComboTier, CompositeTiers, FieldProblem } from "@/bindings";
import { FieldRow, Section } from "@/components/Field";
import { Button, IconButton } from "@/components/ui/button";
import { Input } from "@/components/ui/input";
import { Select } from "@/components/ui/select";
import { useMessages } from "@/i18n";
import { type EditedCombo, targetOf } from "@/lib/combo-draft";
import { inOrder, renamed, withoutTier, withTier } from "@/lib/combo-tiers";
import { useCommit, useDraft } from "@/lib/hooks";

type TiersProps = {
  draft: EditedCombo;
  problems: readonly FieldProblem[];
  onEdit(part: Partial<EditedCombo>): void;
};

export function Tiers({ draft, problems, onEdit }: TiersProps) {
  const words = useMessages().comboUse.tiers;
  const tiers = draft.compositeTiers;
  const order = tiers ? inOrder(tiers) : [];
  const change = (compositeTiers: EditedCombo["compositeTiers"]) => onEdit({ compositeTiers });
  const wrongStart = problems.find(({ field }) => field === "compositeTiers.defaultTier");
  return (
    <Section
      title={words.title}
      help={words.help}
      action={
        <Button size="sm" onClick={() => change(withTier(tiers, draft.models, words.newName))}>
          <Plus aria-hidden />
          {words.add}
        </Button>
      }
    >
      {!tiers && <p className="pt-3 text-ink-faint">{words.none}</p>}
      {tiers && (
        <>
          <FieldRow label={words.start} help={wrongStart?.message ?? words.startHelp}>
            <Select
              aria-label={words.start}
              aria-invalid={wrongStart !== undefined}
              value={tiers.defaultTier}
              options={order.map((name) => ({ value: name, label: name }))}
              onChange={(defaultTier) => change({ ...tiers, defaultTier })}
              className="w-44"
            />
          </FieldRow>
          <ul aria-label={words.title} className="border-t">
            {order.map((name) => (
              <TierRow key={name} name={name} tiers={tiers} draft={draft} problems={problems} onChange={change} />
            ))}
          </ul>
        </>
      )}
    </Section>
  );
}

type TierRowProps = Pick<TiersProps, "draft" | "problems"> & {
  name: string;
  tiers: CompositeTiers;
  onChange(tiers: EditedCombo["compositeTiers"]): void;
};

function TierRow({ name, tiers, draft, problems, onChange }: TierRowProps) {
  const words = useMessages().comboUse.tiers;
  const [text, setText, edited] = useDraft(name);
  const commit = useCommit(text, edited, () => {
    const next = renamed(tiers, name, text);
    if (next === tiers) setText(name);
    else onChange(next);
  });
  const tier = tiers.tiers[name] as ComboTier;
  const place = `compositeTiers.tiers.${name}`;
  const mine = problems.filter(({ field }) => field.startsWith(`${place}.`));
  const set = (part: Partial<ComboTier>) =>
    onChange({ ...tiers, tiers: { ...tiers.tiers, [name]: { ...tier, ...part } } });
  const steps = draft.models.map((step, index) => ({ value: step.id, label: `${index + 1} ${targetOf(step)}` }));
  const isGone = !steps.some(({ value }) => value === tier.stepId);
  const others = Object.keys(tiers.tiers).filter((other) => other !== name);
  return (
    <li className="border-b py-2 last:border-b-0">
      <div className="grid grid-cols-[minmax(0,1fr)_minmax(0,2fr)_minmax(0,1.2fr)_28px] items-center gap-x-2">
        <Input
          mono
          aria-label={words.nameOf(name)}
          value={text}
          onChange={(event) => setText(event.target.value)}
          {...commit}
        />
        <Select
          aria-label={words.stepOf(name)}
          value={tier.stepId}
          options={isGone ? [{ value: tier.stepId, label: words.goneStep }, ...steps] : steps}
          onChange={(stepId) => set({ stepId })}
        />
        <Select
          aria-label={words.nextOf(name)}
          title={words.next}
          value={tier.fallbackTier ?? ""}
          options={[
            { value: "", label: `→ ${words.noNext}` },
            ...others.map((other) => ({ value: other, label: `→ ${other}` })),
          ]}
          onChange={(next) => set({ fallbackTier: next || null })}
        />
        <IconButton label={words.remove(name)} onClick={() => onChange(withoutTier(tiers, name))}>
          <X aria-hidden />
        </IconButton>
      </div>
      {mine.map(({ field, message }) => (
        <p key={field} title={field} className="select-text break-words pt-1 text-blocked text-xs">
          {message}
        </p>
      ))}
    </li>
  );
}
