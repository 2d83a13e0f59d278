/** What one account may be given at once and in a row, each number saved as soon as it is left. */
import { Link } from "@tanstack/react-router";
import type { Connection, ConnectionChange, SettingField } from "@/bindings";
import { Field } from "@/components/Field";
import { SettingControl } from "@/components/SettingControl";
import { Bounds } from "@/components/SettingField";
import { TextArea } from "@/components/ui/input";
import { useNumberLines } from "@/components/use-number-lines";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { fieldWords } from "@/lib/field-words";
import { settingKey } from "@/lib/setting-key";
import { Group, SwitchRow, TextField } from "./parts";

type Props = {
  connection: Connection;
  /** What the gateway says about a field. */
  refused(field: string): string | undefined;
  save(change: ConnectionChange): void;
};

export function ConnectionLimits({ connection, refused, save }: Props) {
  const messages = useMessages();
  const words = messages.connections;
  const limits = messages.limits.connection;
  return (
    <Group title={words.limits}>
      <TextField
        label={words.maxConcurrent}
        help={words.maxConcurrentHelp}
        unit={words.maxConcurrentUnit}
        numeric
        value={connection.maxConcurrent === null ? "" : String(connection.maxConcurrent)}
        error={refused("maxConcurrent")}
        onSave={(text) => save({ maxConcurrent: text === "" ? null : Number(text) })}
      />
      <ModelCaps connection={connection} refused={refused} save={save} />
      <SwitchRow
        label={limits.protection}
        help={limits.protectionHelp}
        checked={connection.rateLimitProtection}
        onChange={(rateLimitProtection) => save({ rateLimitProtection })}
      />
      <Overrides connection={connection} refused={refused} save={save} />
    </Group>
  );
}

/** Bounds are those of the gateway; the setting is what holds while the connection has no number of its own. */
const overrides = [
  { name: "rpm", kind: "integer", min: 1, max: 1_000_000, setting: "requestsPerMinute", paced: true },
  { name: "minTime", kind: "duration", min: 0, max: 3_600_000, setting: "minTimeBetweenRequestsMs", paced: true },
  { name: "tpm", kind: "integer", min: 1, max: 1_000_000_000_000, setting: null, paced: false },
  { name: "tpd", kind: "integer", min: 1, max: 1_000_000_000_000, setting: null, paced: false },
  { name: "maxWaitMs", kind: "duration", min: 1, max: 86_400_000, setting: "maxWaitMs", paced: false },
  {
    name: "executionMaxWaitMs",
    kind: "duration",
    min: 1,
    max: 86_400_000,
    setting: "executionMaxWaitMs",
    paced: false,
  },
] as const;

function Overrides({ connection, refused, save }: Props) {
  const { connection: words, queue: screen } = useMessages().limits;
  const settings = useRead("settings_fields", null);
  const own = connection.rateLimitOverrides;
  const queue = (name: string | null) =>
    settings.data?.fields.find(({ path }) => settingKey(path) === `requestQueue.${name}`)?.value ?? null;
  // Elsewhere an account is not paced unless it asks for it.
  const isPaced =
    connection.rateLimitProtection || (connection.authType === "apikey" && queue("autoEnableApiKeyProviders") === true);

  return (
    <fieldset className="flex flex-col gap-3">
      <legend className="font-medium">{words.overrides}</legend>
      <p className="text-ink-faint text-xs">
        {words.overridesHelp}{" "}
        <Link to="/settings/resilience" className="text-accent-text underline">
          {screen.title}
        </Link>
      </p>
      <div className="grid grid-cols-2 gap-x-6 gap-y-4">
        {overrides.map(({ name, kind, min, max, setting, paced }) => (
          <Override
            key={name}
            field={fieldOf(name, kind, min, max, own[name], paced && !isPaced ? null : queue(setting))}
            error={refused(`rateLimitOverrides.${name}`)}
            onSave={(value) => save({ rateLimitOverrides: { [name]: value } })}
          />
        ))}
      </div>
    </fieldset>
  );
}

type OverrideProps = { field: SettingField; error: string | undefined; onSave(value: number | null): void };

function Override({ field, error, onSave }: OverrideProps) {
  const { label, help } = fieldWords(field.path, useMessages());
  return (
    <Field
      label={label}
      error={error}
      help={
        <>
          {help} <Bounds field={field} />
        </>
      }
    >
      {(control) => (
        <SettingControl
          {...control}
          compact
          aria-describedby={control["aria-describedby"] ?? ""}
          field={field}
          onSave={(value) => onSave(typeof value === "number" ? value : null)}
        />
      )}
    </Field>
  );
}

function fieldOf(
  name: string,
  kind: string,
  min: number,
  max: number,
  value: number | null,
  byDefault: SettingField["default"],
): SettingField {
  return {
    path: `connection.${name}`,
    kind,
    unit: kind === "duration" ? "ms" : null,
    min,
    max,
    choices: [],
    default: byDefault,
    env: null,
    environment: null,
    value,
    source: value === null ? "default" : "stored",
    help: "",
  };
}

function ModelCaps({ connection, refused, save }: Props) {
  const words = useMessages().limits.connection;
  const { area, problem } = useNumberLines({
    numbers: connection.rateLimitOverrides.modelConcurrency,
    min: 1,
    max: 10_000,
    form: words.byModelForm,
    onSave: (modelConcurrency) => save({ rateLimitOverrides: { modelConcurrency } }),
  });
  return (
    <Field
      label={words.byModel}
      help={words.byModelHelp}
      error={problem ?? refused("rateLimitOverrides.modelConcurrency")}
    >
      {(control) => <TextArea {...control} mono placeholder={words.byModelExample} {...area} />}
    </Field>
  );
}
