/** One of many, found by typing: chosen from what is known, or typed, because not everything is. */
import type { ReactNode } from "react";
import { groupBy } from "@/lib/group-by";
import type { FieldControl } from "./Field";
import { PickerItem as Item, Picker, PickerGroup, PickerNote } from "./Picker";

export type PickerItem = {
  readonly value: string;
  /** What is searched; the value itself where absent. */
  readonly text?: string;
  /** Items of one group stand together, under its name. */
  readonly group?: string;
  readonly shown: ReactNode;
};

type SearchPickerProps = {
  /** What is chosen, as it is shown; `null` when nothing is. */
  chosen: ReactNode;
  title?: string;
  items: readonly PickerItem[];
  onChange(value: string): void;
  words: { pick: string; search: string; empty: string; use(typed: string): string };
  /** What choosing nothing is called; absent where something is needed. */
  none?: string | undefined;
  label?: string | undefined;
  control?: FieldControl | undefined;
  className?: string | undefined;
};

const SHOWN = 200;

export function SearchPicker(props: SearchPickerProps) {
  const { chosen, title, items, onChange, words, none, label, control, className } = props;
  return (
    <Picker
      chosen={chosen ?? none ?? words.pick}
      isEmpty={chosen === null}
      title={title}
      label={words.pick}
      placeholder={words.search}
      ariaLabel={label}
      control={control}
      className={className}
    >
      {(typed, close) => {
        const wanted = typed.toLowerCase();
        const matches = items.filter(({ value, text = value }) => text.toLowerCase().includes(wanted)).slice(0, SHOWN);
        const choose = (value: string) => () => {
          onChange(value);
          close();
        };
        return (
          <>
            {none && !typed && (
              <Item value={none} onChoose={choose("")} className="h-8 items-center text-ink-soft">
                {none}
              </Item>
            )}
            {matches.length === 0 && !typed && <PickerNote>{words.empty}</PickerNote>}
            {[...groupBy(matches, ({ group }) => group)].map(([group, members]) => (
              <PickerGroup key={group ?? ""} heading={group}>
                {members.map(({ value, shown }) => (
                  <Item key={value} value={value} onChoose={choose(value)}>
                    {shown}
                  </Item>
                ))}
              </PickerGroup>
            ))}
            {typed && !items.some(({ value }) => value === typed) && (
              <Item value={typed} onChoose={choose(typed)}>
                <span className="truncate">{words.use(typed)}</span>
              </Item>
            )}
          </>
        );
      }}
    </Picker>
  );
}
