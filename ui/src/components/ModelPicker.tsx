import { useMessages } from "@/i18n";
import type { FieldControl } from "./Field";
import { SearchPicker } from "./SearchPicker";

type ModelPickerProps = {
  value: string;
  /** Known names; anything else can be typed. */
  models: readonly string[];
  onChange(model: string): void;
  /** What choosing no model is called; absent where one is needed. */
  none?: string;
  label?: string;
  control?: FieldControl;
  className?: string;
};

/** A model name: chosen from the known ones, or typed, because vendors add models faster than lists are refreshed. */
export function ModelPicker({ value, models, ...rest }: ModelPickerProps) {
  const words = useMessages().models;
  return (
    <SearchPicker
      {...rest}
      chosen={value ? <span className="font-mono">{value}</span> : null}
      title={value}
      items={models.map((model) => ({ value: model, shown: <span className="truncate font-mono">{model}</span> }))}
      words={words}
    />
  );
}
