/** Combos as a document: out of this installation, and into it. */
import { useNavigate } from "@tanstack/react-router";
import { FileUp, Save } from "lucide-react";
import { type ChangeEvent, type FormEvent, useId, useRef, useState } from "react";
import type { FieldProblem, Value } from "@/bindings";
import { CodeBlock } from "@/components/AgentSettings";
import { Field, FieldRow } from "@/components/Field";
import { notify } from "@/components/notify";
import { SidePanel } from "@/components/SidePanel";
import { ErrorLine, ErrorState, SkeletonRows } from "@/components/States";
import { Button } from "@/components/ui/button";
import { TextArea } from "@/components/ui/input";
import { Switch } from "@/components/ui/switch";
import { useChange, useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { readJson } from "@/lib/read-json";
import { saveFile } from "@/lib/save-file";
import { placeWords } from "./place-words";
import { WarningHint } from "./WarningHint";

const FILE_NAME = "omniroute-combos.json";
const FORM = "combos-import";

export function ExportPanel() {
  const words = useMessages().combos;
  const close = useClose();
  const read = useRead("combos_export", {});
  const text = read.data === undefined ? "" : JSON.stringify(read.data, null, 2);
  return (
    <SidePanel
      wide
      title={words.exportTitle}
      subtitle={words.exportHelp}
      onClose={close}
      footer={
        text && (
          <Button variant="primary" onClick={() => saveFile(FILE_NAME, "application/json", text)}>
            <Save aria-hidden />
            {words.exportSave}
          </Button>
        )
      }
    >
      {read.isPending && <SkeletonRows rows={6} />}
      {read.error && <ErrorState error={read.error} onRetry={() => void read.refetch()} />}
      {text && <CodeBlock mono title={FILE_NAME} text={text} what={words.exportWhat} />}
    </SidePanel>
  );
}

export function ImportPanel() {
  const messages = useMessages();
  const words = messages.combos;
  const close = useClose();
  const run = useChange("combos_import");
  const replaceId = useId();
  const file = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [replace, setReplace] = useState(false);
  const [broken, setBroken] = useState<string | undefined>();
  const problems = run.error?.details ?? [];
  const warnings = run.data?.warnings ?? [];

  const editing = (next: string) => {
    setText(next);
    setBroken(undefined);
    run.reset();
  };
  const choose = ({ target }: ChangeEvent<HTMLInputElement>) => {
    const [chosen] = target.files ?? [];
    if (chosen) void chosen.text().then(editing);
    // The same file can be chosen again after it was mended.
    target.value = "";
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const read = readJson(text);
    if (!read.ok) {
      setBroken(read.place ? words.importNotJsonAt(read.place.line, read.place.column) : words.importNotJson);
      return;
    }
    run.mutate(
      { document: read.value, taken: replace ? "replace" : "refuse" },
      {
        onSuccess: ({ combos, warnings }) => {
          notify.done(words.imported(combos.length));
          if (warnings.length === 0) close();
        },
      },
    );
  };

  return (
    <SidePanel
      title={words.importTitle}
      subtitle={words.importHelp}
      onClose={close}
      footer={
        run.data ? (
          <Button variant="primary" onClick={close}>
            {messages.common.done}
          </Button>
        ) : (
          <Button variant="primary" type="submit" form={FORM} disabled={text.trim() === "" || run.isPending}>
            {words.importRun}
          </Button>
        )
      }
    >
      <form id={FORM} onSubmit={submit} className="flex flex-col gap-4">
        <Button className="self-start" onClick={() => file.current?.click()}>
          <FileUp aria-hidden />
          {words.importFile}
        </Button>
        <input
          ref={file}
          hidden
          type="file"
          accept="application/json,.json"
          aria-label={words.importFile}
          onChange={choose}
        />
        <Field label={words.importText} error={broken}>
          {(control) => (
            <TextArea
              {...control}
              mono
              rows={12}
              value={text}
              onChange={(event) => editing(event.target.value)}
              className="text-xs"
            />
          )}
        </Field>
        <FieldRow
          htmlFor={replaceId}
          helpId={`${replaceId}-help`}
          label={words.importReplace}
          help={words.importReplaceHelp}
        >
          <Switch
            id={replaceId}
            aria-describedby={`${replaceId}-help`}
            checked={replace}
            onCheckedChange={setReplace}
          />
        </FieldRow>
        {warnings.length > 0 && (
          <div role="status">
            <p className="font-medium">{words.importNotes}</p>
            {warnings.map((warning) => (
              <WarningHint key={`${warning.code} ${warning.providerId}/${warning.modelId}`} warning={warning} />
            ))}
          </div>
        )}
        {problems.length > 0 && <Problems problems={problems} text={text} />}
        {run.error && problems.length === 0 && <ErrorLine error={run.error} />}
      </form>
    </SidePanel>
  );
}

/** Each refusal beside the combo and the field it is about. */
function Problems({ problems, text }: { problems: readonly FieldProblem[]; text: string }) {
  const messages = useMessages();
  const words = messages.combos;
  const read = readJson(text);
  const named = namesIn(read.ok ? read.value : null);
  return (
    <div role="alert">
      <p className="font-medium text-blocked">{words.importRefused}</p>
      <ul className="mt-2 flex flex-col gap-2">
        {problems.map(({ field, message }) => {
          const [, index, place = field] = /^combos\[(\d+)\]\.?(.*)$/.exec(field) ?? [];
          const name = index === undefined ? undefined : named[Number(index)];
          return (
            <li key={`${field} ${message}`} className="rounded-md bg-sunken px-3 py-2">
              <p className="flex flex-wrap items-baseline gap-x-2 text-ink-soft text-xs" title={field}>
                {index !== undefined && <span>{words.importCombo(Number(index) + 1)}</span>}
                {name && <code className="min-w-0 break-all font-mono">{name}</code>}
                {place && <span>{placeWords(place, messages)}</span>}
              </p>
              <p className="select-text break-words">{message}</p>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

/** The names of the combos in a document, in its order. */
function namesIn(document: Value): (string | undefined)[] {
  const list = Array.isArray(document)
    ? document
    : typeof document === "object" && document !== null && Array.isArray(document.combos)
      ? document.combos
      : [document];
  return list.map((combo) =>
    typeof combo === "object" && combo !== null && !Array.isArray(combo) && typeof combo.name === "string"
      ? combo.name
      : undefined,
  );
}

function useClose(): () => void {
  const navigate = useNavigate();
  return () => void navigate({ to: "/combos" });
}
