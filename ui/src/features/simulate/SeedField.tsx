import { RotateCcw } from "lucide-react";
import { CopyButton } from "@/components/CopyButton";
import { Field } from "@/components/Field";
import { Button } from "@/components/ui/button";
import { Input } from "@/components/ui/input";
import { useMessages } from "@/i18n";

const LARGEST_SEED = 2 ** 32 - 1;

/** `undefined` where none is given, `null` where it is none that the gateway takes. */
export function readSeed(text: string): number | undefined | null {
  if (text.trim() === "") return undefined;
  const seed = Number(text);
  return Number.isInteger(seed) && seed >= 0 && seed <= LARGEST_SEED ? seed : null;
}

type SeedFieldProps = { value: string; onChange(value: string): void };

export function SeedField({ value, onChange }: SeedFieldProps) {
  const words = useMessages().simulate;
  return (
    <Field
      label={words.seed}
      help={words.seedHelp}
      error={readSeed(value) === null ? words.seedRange : undefined}
      optional
    >
      {(control) => (
        <Input {...control} inputMode="numeric" value={value} onChange={(event) => onChange(event.target.value)} />
      )}
    </Field>
  );
}

/** The seed of an outcome, to get the same one again. */
export function SeedUsed({ seed, onUse }: { seed: number; onUse(seed: string): void }) {
  const messages = useMessages();
  const words = messages.simulate;
  return (
    <span className="flex shrink-0 items-center gap-1 text-ink-faint text-xs">
      {words.seedUsed(String(seed))}
      <CopyButton text={String(seed)} label={messages.common.copyOf(words.seed)} />
      <Button variant="ghost" size="sm" className="-mr-2" onClick={() => onUse(String(seed))}>
        <RotateCcw aria-hidden />
        {words.useSeed}
      </Button>
    </span>
  );
}
