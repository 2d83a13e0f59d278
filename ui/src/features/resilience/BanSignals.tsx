/** Words by which providers say that an account is closed, and what a further one would have matched so far. */
import { TriangleAlert, X } from "lucide-react";
import { type FormEvent, type ReactNode, useEffect, useId, useState } from "react";
import type { SettingField as Field } from "@/bindings";
import { Section } from "@/components/Field";
import { Origin, ResetButton, SettingField } from "@/components/SettingField";
import { ErrorLine, Skeleton } from "@/components/States";
import { Button, IconButton } from "@/components/ui/button";
import { Input } from "@/components/ui/input";
import type { useSettings } from "@/components/use-settings";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { settingKey } from "@/lib/setting-key";

type BanSignalsProps = { settings: ReturnType<typeof useSettings> };

export function BanSignals({ settings }: BanSignalsProps) {
  const words = useMessages().resilience.bans;
  const field = (key: string) => settings.read.data?.fields.find(({ path }) => settingKey(path) === key);
  const signals = field("customBannedSignals");
  const disable = field("autoDisableBannedAccounts");
  if (!signals && !disable) return null;
  return (
    <Section title={words.title} help={words.help}>
      {signals && <Phrases field={signals} settings={settings} />}
      {disable && (
        <SettingField
          field={disable}
          saving={settings.saving}
          error={settings.refused(disable.path)}
          onSave={(value) => settings.save(disable, value)}
        />
      )}
    </Section>
  );
}

function Phrases({ field, settings }: { field: Field; settings: BanSignalsProps["settings"] }) {
  const words = useMessages().resilience.bans;
  const id = useId();
  const [draft, setDraft] = useState("");
  const phrases = Array.isArray(field.value) ? field.value.map(String) : [];
  const phrase = draft.trim();
  const duplicate = phrases.some((known) => known.toLowerCase() === phrase.toLowerCase());
  const error = settings.refused(field.path) ?? (phrase && duplicate ? words.duplicate : undefined);

  const add = (event: FormEvent) => {
    event.preventDefault();
    if (!phrase || duplicate) return;
    settings.save(field, [...phrases, phrase]);
    setDraft("");
  };
  const remove = (gone: string) => {
    const rest = phrases.filter((known) => known !== gone);
    settings.save(field, rest.length > 0 ? rest : null);
  };

  return (
    <div data-setting={settingKey(field.path)} className="border-b py-3">
      <div className="flex items-start gap-2.5 rounded-md bg-degraded-soft px-3 py-2.5">
        <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-degraded" />
        <div>
          <p className="font-medium text-degraded">{words.warningTitle}</p>
          <p className="text-ink-soft">{words.warning}</p>
        </div>
      </div>
      <div className="mt-4 flex h-7 items-center gap-1.5">
        <h3 className="font-medium">{words.phrases}</h3>
        <Origin field={field} />
        {field.source === "stored" && (
          <ResetButton
            label={words.phrases}
            disabled={settings.saving}
            onReset={() => settings.save(field, null)}
            className="size-6"
          />
        )}
      </div>
      {phrases.length === 0 && <p className="text-ink-faint">{words.noPhrases}</p>}
      <ul>
        {phrases.map((known) => (
          <li key={known} className="flex min-h-9 items-center justify-between gap-3 border-b last:border-b-0">
            <span className="min-w-0 select-text break-words font-mono">{known}</span>
            <IconButton label={words.remove(known)} disabled={settings.saving} onClick={() => remove(known)}>
              <X aria-hidden />
            </IconButton>
          </li>
        ))}
      </ul>
      <form onSubmit={add} className="mt-3">
        <label htmlFor={id} className="sr-only">
          {words.phrase}
        </label>
        <div className="flex gap-2">
          <Input
            id={id}
            mono
            value={draft}
            placeholder={words.phrasePlaceholder}
            aria-invalid={error !== undefined || undefined}
            aria-describedby={`${id}-preview`}
            onChange={(event) => setDraft(event.target.value)}
          />
          <Button type="submit" disabled={!phrase || duplicate || settings.saving}>
            {words.add}
          </Button>
        </div>
        <div id={`${id}-preview`} aria-live="polite" className="mt-1.5 min-h-16 text-xs">
          {error ? <p className="text-blocked">{error}</p> : <Preview phrase={phrase} />}
        </div>
      </form>
    </div>
  );
}

const TYPING_MS = 300;

/** What the phrase would have matched, asked a moment after the typing. */
function Preview({ phrase }: { phrase: string }) {
  const words = useMessages().resilience.bans;
  const [asked, setAsked] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setAsked(phrase), TYPING_MS);
    return () => clearTimeout(timer);
  }, [phrase]);
  const preview = useRead("banned_signals_preview", { phrase: asked }, { enabled: asked !== "" });

  if (!phrase) return <p className="text-ink-faint">{words.tryIt}</p>;
  if (preview.error) return <ErrorLine error={preview.error} />;
  if (!preview.data || asked !== phrase) {
    return (
      <p className="text-ink-faint">
        {words.checking}
        <Skeleton className="mt-1.5 h-3 w-80" />
      </p>
    );
  }
  const { matches, examples } = preview.data;
  if (matches.length + examples.length === 0) return <p className="text-ink-soft">{words.noMatch}</p>;
  return (
    <div className="flex flex-col gap-2">
      {matches.length > 0 && (
        <Hits title={words.wouldBan(matches.length)} severe>
          {matches.map(({ connectionId, connectionName, excerpt }) => (
            <Hit key={connectionId} text={excerpt}>
              <span className="font-medium">{connectionName}</span>
            </Hit>
          ))}
        </Hits>
      )}
      {examples.length > 0 && (
        <Hits title={words.inRequests(examples.length)}>
          {examples.map((example) => (
            <Hit key={example} text={example} />
          ))}
        </Hits>
      )}
    </div>
  );
}

function Hits({ title, severe = false, children }: { title: string; severe?: boolean; children: ReactNode }) {
  return (
    <div>
      <p className={severe ? "font-medium text-blocked" : "font-medium text-degraded"}>{title}</p>
      <ul>{children}</ul>
    </div>
  );
}

function Hit({ text, children }: { text: string; children?: ReactNode }) {
  return (
    <li className="flex gap-2 text-ink-soft" title={text}>
      {children}
      <span className="min-w-0 truncate font-mono">{text}</span>
    </li>
  );
}
