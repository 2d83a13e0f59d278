/** Names of models that lead to a combo although agents ask for something else. */
import { Plus, X } from "lucide-react";
import { type KeyboardEvent, useState } from "react";
import type { ComboMapping } from "@/bindings";
import { Field, Section } from "@/components/Field";
import { notify, useReportError } from "@/components/notify";
import { ErrorState, SkeletonRows } from "@/components/States";
import { Button, IconButton } from "@/components/ui/button";
import { Input } from "@/components/ui/input";
import { Switch } from "@/components/ui/switch";
import { useChange, useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { errorWords } from "@/lib/error-words";
import { useCommit, useDraft } from "@/lib/hooks";

/** Each pattern is saved by itself: it is no part of the combo, and other combos have theirs. */
export function Patterns({ comboId }: { comboId: string }) {
  const words = useMessages().combos.patterns;
  const read = useRead("combo_mappings_list", null);
  const own = read.data?.mappings.filter((mapping) => mapping.comboId === comboId);
  return (
    <Section title={words.title} help={words.help}>
      {read.isPending && <SkeletonRows rows={1} />}
      {read.error && <ErrorState error={read.error} onRetry={() => void read.refetch()} />}
      {own?.length === 0 && <p className="pt-3 text-ink-faint">{words.none}</p>}
      {own && own.length > 0 && (
        <ul aria-label={words.title}>
          {own.map((mapping) => (
            <PatternRow key={mapping.id} mapping={mapping} />
          ))}
        </ul>
      )}
      {own && <NewPattern comboId={comboId} />}
    </Section>
  );
}

function PatternRow({ mapping }: { mapping: ComboMapping }) {
  const messages = useMessages();
  const words = messages.combos.patterns;
  const report = useReportError();
  const update = useChange("combo_mapping_update");
  const remove = useChange("combo_mapping_delete");
  const create = useChange("combo_mapping_create");
  const { id, pattern, comboId, priority, enabled } = mapping;
  const [rank, setRank, edited] = useDraft(String(priority));
  const commit = useCommit(rank, edited, () => {
    const next = Number(rank);
    if (rank.trim() !== "" && Number.isInteger(next)) update.mutate({ id, priority: next }, { onError: report });
    else setRank(String(priority));
  });
  const restore = () => create.mutate({ comboId, pattern, priority, enabled }, { onError: report });

  return (
    <li className="flex min-h-11 items-center gap-3 border-b py-1">
      <code className="min-w-0 flex-1 truncate font-mono" title={pattern}>
        {pattern}
      </code>
      <Input
        inputMode="numeric"
        aria-label={words.priority(pattern)}
        title={words.priorityHelp}
        value={rank}
        onChange={(event) => setRank(event.target.value)}
        {...commit}
        className="w-16 text-right"
      />
      <Switch
        aria-label={words.on(pattern)}
        checked={enabled}
        onCheckedChange={(on) => update.mutate({ id, enabled: on }, { onError: report })}
      />
      <IconButton
        label={words.remove(pattern)}
        onClick={() =>
          remove.mutate(
            { id },
            {
              onSuccess: () => notify.undoable(words.removed(pattern), { label: messages.common.undo, act: restore }),
              onError: report,
            },
          )
        }
      >
        <X aria-hidden />
      </IconButton>
    </li>
  );
}

function NewPattern({ comboId }: { comboId: string }) {
  const messages = useMessages();
  const words = messages.combos.patterns;
  const create = useChange("combo_mapping_create");
  const [text, setText] = useState("");
  const pattern = text.trim();
  const add = () => {
    if (pattern) create.mutate({ comboId, pattern }, { onSuccess: () => setText("") });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    add();
  };
  return (
    <div className="flex items-start gap-2 pt-3">
      <Field
        label={words.pattern}
        error={create.error ? (create.error.field("pattern") ?? errorWords(create.error, messages).title) : undefined}
        className="flex-1"
      >
        {(control) => (
          <Input
            {...control}
            mono
            value={text}
            placeholder={words.placeholder}
            onChange={(event) => {
              create.reset();
              setText(event.target.value);
            }}
            onKeyDown={onKeyDown}
          />
        )}
      </Field>
      <Button className="mt-6" onClick={add} disabled={!pattern || create.isPending}>
        <Plus aria-hidden />
        {words.add}
      </Button>
    </div>
  );
}
