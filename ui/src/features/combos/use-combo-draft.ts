/** The combo being edited: the draft beside what is saved, the gateway's refusals by field, and saving. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Combo, ComboReply, FieldProblem } from "@/bindings";
import type { HostError } from "@/host";
import { readKey, useChange } from "@/host/queries";
import { type Messages, useMessages } from "@/i18n";
import { changeOf, type EditedCombo, emptyDraft, isChanged, toDraft } from "@/lib/combo-draft";
import { inWords } from "@/lib/field-problems";

type Base = { readonly draft: EditedCombo; readonly updatedAt: string };

const baseOf = (saved: Combo | null): Base =>
  saved ? { draft: toDraft(saved), updatedAt: saved.updatedAt } : { draft: emptyDraft, updatedAt: "" };

export function useComboDraft(saved: Combo | null) {
  const client = useQueryClient();
  const messages = useMessages();
  const create = useChange("combo_create");
  const update = useChange("combo_update");
  const [base, setBase] = useState(() => baseOf(saved));
  const [draft, setDraft] = useState(base.draft);
  const [problems, setProblems] = useState<readonly FieldProblem[]>([]);
  const [refusal, setRefusal] = useState<HostError | null>(null);

  const isDirty = isChanged(base.draft, draft);
  const isPending = create.isPending || update.isPending;
  const isNewer = saved !== null && saved.updatedAt > base.updatedAt && !isPending;

  const adopt = (combo: Combo | null) => {
    const next = baseOf(combo);
    setBase(next);
    setDraft(next.draft);
    setProblems([]);
    setRefusal(null);
  };
  // What changes elsewhere while nothing is changed here is simply shown.
  if (isNewer && !isDirty) adopt(saved);

  const settle = (reply: ComboReply) => {
    client.setQueryData(readKey("combo_get", { id: reply.combo.id }), reply);
    adopt(reply.combo);
    return reply.combo;
  };
  const refused = (error: HostError) => {
    const problems = error.details.length > 0 ? error.details : nameTaken(error, messages);
    setProblems(problems);
    setRefusal(problems.length > 0 ? null : error);
    // It may have been changed elsewhere: then that is said instead.
    if (saved && error.code === "conflict") {
      void client.invalidateQueries({ queryKey: readKey("combo_get", { id: saved.id }) });
    }
  };

  return {
    draft,
    isDirty,
    isPending,
    problems,
    /** A refusal that names no field. */
    refusal,
    /** Saved elsewhere while something is changed here. */
    isOvertaken: isNewer && isDirty,
    takeTheirs: () => adopt(saved),
    keepMine: () => setBase(baseOf(saved)),

    /** Changes parts of the draft; what was said about them no longer holds. */
    edit(part: Partial<EditedCombo>): void {
      setDraft((before) => ({ ...before, ...part }));
      const touched = Object.keys(part);
      setProblems((before) => before.filter(({ field }) => !touched.some((name) => field.startsWith(name))));
      setRefusal(null);
    },
    discard: () => adopt(saved),

    save(done: (combo: Combo) => void): void {
      const name = draft.name.trim();
      if (saved) {
        const change = changeOf(base.draft, { ...draft, name });
        update.mutate(
          { id: saved.id, ...change, updatedAt: base.updatedAt },
          { onSuccess: (reply) => done(settle(reply)), onError: refused },
        );
      } else {
        create.mutate({ ...draft, name }, { onSuccess: (reply) => done(settle(reply)), onError: refused });
      }
    },
  };
}

/** A name that is taken is a conflict without details; the field stands before its message. */
function nameTaken({ code, message }: HostError, messages: Messages): FieldProblem[] {
  const [, said] = /^name: (.+)$/.exec(message) ?? [];
  if (code !== "conflict" || !said) return [];
  return [inWords({ field: "name", message: said, code: "taken", values: [] }, messages)];
}
