/** What a key may spend: budgets, limits of tokens, and when they begin anew. */
import { Plus, X } from "lucide-react";
import type { KeyLimitScope } from "@/bindings";
import { Field } from "@/components/Field";
import { Button, IconButton } from "@/components/ui/button";
import { Input } from "@/components/ui/input";
import { Select } from "@/components/ui/select";
import type { HostError } from "@/host";
import { useMessages } from "@/i18n";
import { intervals, isBudget, isPercentage, isTokens, type TokenLimitFields } from "@/lib/key-draft";
import type { PartProps } from "./parts";

type KeySpendingProps = PartProps & { refusal: HostError | null };

const budgetField = { daily: "budgetDailyUsd", weekly: "budgetWeeklyUsd", monthly: "budgetMonthlyUsd" } as const;

export function KeySpending({ fields, set, refusal }: KeySpendingProps) {
  const words = useMessages().keys;
  return (
    <>
      <fieldset className="flex min-w-0 flex-col gap-2">
        <legend className="mb-1 font-medium">{words.budgets}</legend>
        <p className="text-ink-faint text-xs">{words.budgetsHelp}</p>
        <div className="grid grid-cols-3 gap-3">
          {intervals.map((interval) => (
            <Field
              key={interval}
              label={words.budget[interval]}
              error={
                isBudget(fields.budgets[interval]) ? refusal?.field(budgetField[interval]) : words.notADollarAmount
              }
            >
              {(control) => (
                <Input
                  {...control}
                  inputMode="decimal"
                  placeholder={words.noBudget}
                  value={fields.budgets[interval]}
                  onChange={(event) => set({ budgets: { ...fields.budgets, [interval]: event.target.value } })}
                />
              )}
            </Field>
          ))}
        </div>
      </fieldset>
      <TokenLimits fields={fields} set={set} refusal={refusal} />
      <div className="grid grid-cols-2 gap-3">
        <Field label={words.resetTime} help={words.resetTimeHelp} error={refusal?.field("resetTime")}>
          {(control) => (
            <Input
              {...control}
              inputMode="numeric"
              maxLength={5}
              placeholder="00:00"
              value={fields.resetTime}
              onChange={(event) => set({ resetTime: event.target.value })}
            />
          )}
        </Field>
        <Field
          label={words.warnAt}
          help={words.warnAtHelp}
          error={isPercentage(fields.warnAt) ? refusal?.field("warningThreshold") : words.notAPercentage}
        >
          {(control) => (
            <Input
              {...control}
              inputMode="decimal"
              value={fields.warnAt}
              onChange={(event) => set({ warnAt: event.target.value })}
            />
          )}
        </Field>
      </div>
    </>
  );
}

function TokenLimits({ fields, set, refusal }: KeySpendingProps) {
  const words = useMessages().keys;
  const limits = fields.tokenLimits;
  const change = (id: number, part: Partial<TokenLimitFields>) =>
    set({ tokenLimits: limits.map((limit) => (limit.id === id ? { ...limit, ...part } : limit)) });
  const add = () => {
    const id = Math.max(-1, ...limits.map((limit) => limit.id)) + 1;
    const fresh = { id, scopeType: "global", scopeValue: "", tokens: "", interval: fields.resetInterval } as const;
    set({ tokenLimits: [...limits, fresh] });
  };
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="mb-1 font-medium">{words.tokenLimits}</legend>
      <p className="text-ink-faint text-xs">{words.tokenLimitsHelp}</p>
      {limits.map((limit, index) => (
        <TokenLimitRow
          key={limit.id}
          limit={limit}
          number={index + 1}
          refusal={
            refusal?.field(`tokenLimits[${index}].scopeValue`) ?? refusal?.field(`tokenLimits[${index}].tokenLimit`)
          }
          onChange={(part) => change(limit.id, part)}
          onRemove={() => set({ tokenLimits: limits.filter((other) => other.id !== limit.id) })}
        />
      ))}
      <Button size="sm" className="self-start" onClick={add}>
        <Plus aria-hidden />
        {words.addTokenLimit}
      </Button>
    </fieldset>
  );
}

type RowProps = {
  limit: TokenLimitFields;
  number: number;
  refusal: string | undefined;
  onChange(part: Partial<TokenLimitFields>): void;
  onRemove(): void;
};

const scopeTypes: readonly KeyLimitScope[] = ["global", "provider", "model"];

function TokenLimitRow({ limit, number, refusal, onChange, onRemove }: RowProps) {
  const words = useMessages().keys;
  const wrong = limit.tokens !== "" && !isTokens(limit.tokens);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset in a fieldset would draw its own frame
    <div role="group" aria-label={words.tokenLimit(number)} className="flex flex-col gap-2 rounded-md border p-3">
      <div className="flex items-center gap-2">
        <Select
          aria-label={words.limitScope}
          value={limit.scopeType}
          options={scopeTypes.map((value) => ({ value, label: words.limitScopes[value] }))}
          onChange={(scopeType) => onChange({ scopeType })}
        />
        <IconButton label={words.removeTokenLimit(number)} onClick={onRemove}>
          <X aria-hidden />
        </IconButton>
      </div>
      {limit.scopeType !== "global" && (
        <Input
          mono
          aria-label={words.limitScopeValue[limit.scopeType]}
          placeholder={limit.scopeType === "provider" ? "openai" : "openai/gpt-5*"}
          value={limit.scopeValue}
          onChange={(event) => onChange({ scopeValue: event.target.value })}
        />
      )}
      <div className="flex items-center gap-2">
        <Input
          inputMode="numeric"
          aria-label={words.tokens}
          aria-invalid={wrong || undefined}
          placeholder={words.tokens}
          value={limit.tokens}
          onChange={(event) => onChange({ tokens: event.target.value })}
        />
        <Select
          aria-label={words.limitInterval}
          value={limit.interval}
          options={intervals.map((value) => ({ value, label: words.per[value] }))}
          onChange={(interval) => onChange({ interval })}
        />
      </div>
      {(wrong || refusal) && <p className="text-blocked text-xs">{wrong ? words.notATokenCount : refusal}</p>}
    </div>
  );
}
