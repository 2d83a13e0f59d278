/** The settings of a group that exist once per class of provider: a line per setting, a column per class. */
import { useId } from "react";
import type { SettingField as Field, Value as JsonValue } from "@/bindings";
import { useMessages } from "@/i18n";
import { fieldWords } from "@/lib/field-words";
import { groupBy } from "@/lib/group-by";
import { settingClass, settingClasses, settingKey } from "@/lib/setting-key";
import { SettingControl, useValueWriter } from "./SettingControl";
import { Bounds, Origin, ResetButton } from "./SettingField";

type SettingGridProps = {
  label: string;
  /** Those of all classes together. */
  fields: readonly Field[];
  saving: boolean;
  refused(path: string): string | undefined;
  onSave(field: Field, value: JsonValue): void;
};

export function SettingGrid({ label, fields, saving, refused, onSave }: SettingGridProps) {
  const messages = useMessages();
  const id = useId();
  const rows = groupBy(fields, ({ path }) => settingKey(path));
  return (
    <table aria-label={label} className="w-full table-fixed border-collapse">
      <colgroup>
        <col />
        {settingClasses.map((name) => (
          <col key={name} className="w-[148px]" />
        ))}
      </colgroup>
      <thead>
        <tr className="border-b text-left text-ink-faint text-xs">
          <th scope="col" className="sr-only">
            {messages.resilience.perClass}
          </th>
          {settingClasses.map((name) => (
            <th key={name} scope="col" className="py-2 pl-5 font-normal">
              {messages.classes[name].name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {[...rows].map(([key, row]) => {
          const [first] = row;
          if (!first) return null;
          const words = fieldWords(first.path, messages);
          const helpId = `${id}-${key}`;
          return (
            <tr key={key} data-setting={key} className="border-b align-top last:border-b-0">
              <th scope="row" className="py-2.5 pr-2 text-left font-normal">
                <span className="font-medium" title={first.path.replace(/\.(oauth|apikey|local)\./, ".*.")}>
                  {words.label}
                </span>
                <p id={helpId} className="text-ink-faint text-xs">
                  {words.help} <Bounds field={first} withDefault={false} />
                </p>
              </th>
              {settingClasses.map((name) => {
                const field = row.find(({ path }) => settingClass(path) === name);
                return (
                  <td key={name} className="py-2.5 pl-5">
                    {field && (
                      <Cell
                        field={field}
                        label={`${words.label}, ${messages.classes[name].name}`}
                        helpId={helpId}
                        saving={saving}
                        error={refused(field.path)}
                        onSave={(value) => onSave(field, value)}
                      />
                    )}
                  </td>
                );
              })}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

type CellProps = {
  field: Field;
  label: string;
  helpId: string;
  saving: boolean;
  error: string | undefined;
  onSave(value: JsonValue): void;
};

function Cell({ field, label, helpId, saving, error, onSave }: CellProps) {
  const messages = useMessages();
  const write = useValueWriter(field);
  const id = useId();
  return (
    <>
      <div className="flex min-h-8 items-center">
        <SettingControl
          compact
          id={id}
          aria-label={label}
          aria-describedby={error ? `${helpId} ${id}-error` : helpId}
          aria-invalid={error !== undefined || undefined}
          field={field}
          onSave={onSave}
        />
      </div>
      <div className="mt-0.5 flex h-6 items-center gap-0.5 whitespace-nowrap">
        <Origin field={field} />
        {field.source === "stored" && (
          <ResetButton label={label} disabled={saving} onReset={() => onSave(null)} className="size-6" />
        )}
      </div>
      {field.source !== "default" && (
        <p className="text-ink-faint text-xs">{messages.settings.defaultValue(write(field.default))}</p>
      )}
      {error && (
        <p id={`${id}-error`} className="text-blocked text-xs">
          {error}
        </p>
      )}
    </>
  );
}
