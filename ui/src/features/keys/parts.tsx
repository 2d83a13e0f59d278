/** What the parts of the form about a key share. */
import { ChoiceList } from "@/components/ChoiceList";
import { Segmented } from "@/components/ui/segmented";
import type { KeyFields } from "@/lib/key-draft";

export type PartProps = { fields: KeyFields; set(part: Partial<KeyFields>): void; error?: string | undefined };

type AllowListProps = {
  id: string;
  title: string;
  /** “All”, “Only these”. */
  words: { all: string; some: string; none: string; filter: string };
  /** Nothing stands for all. */
  chosen: readonly string[] | null;
  known: readonly { readonly id: string; readonly name: string; readonly about?: string }[];
  /** Their names are ids that agents ask for. */
  mono?: boolean;
  error: string | undefined;
  onChange(chosen: readonly string[] | null): void;
};

/** All of something, or only what is ticked. */
export function AllowList({ id, title, words, chosen, known, mono = false, error, onChange }: AllowListProps) {
  // What was deleted since still stands in the key, and can be taken out of it.
  const gone = (chosen ?? []).filter((name) => !known.some((item) => item.id === name));
  const toggle = (item: string, on: boolean) =>
    onChange(on ? [...(chosen ?? []), item] : (chosen ?? []).filter((other) => other !== item));
  return (
    <fieldset aria-describedby={error ? id : undefined} className="flex min-w-0 flex-col gap-2">
      <legend className="mb-1 font-medium">{title}</legend>
      <Segmented
        label={title}
        className="self-start"
        value={chosen === null ? "all" : "some"}
        options={[
          { value: "all", label: words.all },
          { value: "some", label: words.some },
        ]}
        onChange={(which) => onChange(which === "all" ? null : [])}
      />
      {chosen !== null && (
        <ChoiceList
          known={known}
          chosen={chosen}
          gone={gone}
          none={words.none}
          filterLabel={words.filter}
          mono={mono}
          onToggle={toggle}
        />
      )}
      {error && (
        <p id={id} className="text-blocked text-xs">
          {error}
        </p>
      )}
    </fieldset>
  );
}
