/** A name for a model: made, changed, deleted. */
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Trash2 } from "lucide-react";
import { type FormEvent, type ReactNode, useState } from "react";
import type { Alias } from "@/bindings";
import { Field } from "@/components/Field";
import { ModelPicker } from "@/components/ModelPicker";
import { notify, useReportError } from "@/components/notify";
import { SidePanel } from "@/components/SidePanel";
import { ErrorLine, ErrorState, Gone, SkeletonRows } from "@/components/States";
import { Button } from "@/components/ui/button";
import { Input } from "@/components/ui/input";
import { WithIds } from "@/components/WithIds";
import type { HostError } from "@/host";
import { useChange, useRead } from "@/host/queries";
import { useMessages } from "@/i18n";

const route = getRouteApi("/settings/names/$nameId");
const FORM = "model-name";

export function AddNamePanel() {
  const words = useMessages().names;
  const close = useClose();
  const create = useChange("alias_create");
  return (
    <NameForm
      title={words.addTitle}
      onClose={close}
      alias=""
      target=""
      action={words.create}
      isPending={create.isPending}
      refusal={create.error}
      onSave={(draft) =>
        create.mutate(draft, {
          onSuccess: () => {
            notify.done(words.saved(draft.alias));
            close();
          },
        })
      }
    />
  );
}

export function NamePanel() {
  const words = useMessages().names;
  const close = useClose();
  const { nameId } = route.useParams();
  const aliases = useRead("aliases_list", null);
  const found = aliases.data?.aliases.find((alias) => alias.id === nameId);
  if (found) return <LoadedPanel key={nameId} alias={found} onClose={close} />;
  return (
    <SidePanel title={words.one} onClose={close}>
      {aliases.isPending && <SkeletonRows rows={2} height={64} />}
      {aliases.error && <ErrorState error={aliases.error} onRetry={() => void aliases.refetch()} />}
      {aliases.data && <Gone title={words.notFound} back={words.all} onBack={close} />}
    </SidePanel>
  );
}

function LoadedPanel({ alias, onClose }: { alias: Alias; onClose(): void }) {
  const messages = useMessages();
  const words = messages.names;
  const report = useReportError();
  const update = useChange("alias_update");
  const remove = useChange("alias_delete");
  const restore = useChange("alias_create");

  const undo = () =>
    restore
      .mutateAsync({ alias: alias.alias, target: alias.target })
      .then(() => notify.done(words.saved(alias.alias)), report);
  const deleteName = () => {
    // The panel goes first, so that it never stands there without its name.
    onClose();
    void remove
      .mutateAsync({ id: alias.id })
      .then(
        () => notify.undoable(words.deleted(alias.alias), { label: messages.common.undo, act: () => void undo() }),
        report,
      );
  };

  return (
    <NameForm
      title={<WithIds text={words.editTitle(alias.alias)} ids={[alias.alias]} />}
      onClose={onClose}
      alias={alias.alias}
      target={alias.target}
      action={words.save}
      isPending={update.isPending}
      refusal={update.error}
      onSave={(draft) =>
        update.mutate(
          { id: alias.id, ...draft },
          {
            onSuccess: () => {
              notify.done(words.saved(draft.alias));
              onClose();
            },
          },
        )
      }
      aside={
        <Button variant="danger" className="ml-auto" onClick={deleteName}>
          <Trash2 aria-hidden />
          {words.delete}
        </Button>
      }
    />
  );
}

type NameFormProps = {
  title: ReactNode;
  onClose(): void;
  alias: string;
  target: string;
  action: string;
  isPending: boolean;
  refusal: HostError | null;
  onSave(draft: { alias: string; target: string }): void;
  aside?: ReactNode;
};

function NameForm({ title, onClose, action, isPending, refusal, onSave, aside, ...initial }: NameFormProps) {
  const words = useMessages().names;
  const [alias, setAlias] = useState(initial.alias);
  const [target, setTarget] = useState(initial.target);
  const models = useRead("models_list", {});
  const spaced = /\s/.test(alias.trim());
  const nameError = refusal?.code === "conflict" ? words.duplicate : refusal?.field("alias");
  const placed = nameError !== undefined || refusal?.field("target") !== undefined;

  const save = (event: FormEvent) => {
    event.preventDefault();
    if (alias.trim() && target && !spaced) onSave({ alias: alias.trim(), target });
  };
  return (
    <SidePanel
      title={title}
      onClose={onClose}
      footer={
        <>
          <Button
            variant="primary"
            type="submit"
            form={FORM}
            disabled={!alias.trim() || !target || spaced || isPending}
          >
            {action}
          </Button>
          {aside}
        </>
      }
    >
      <form id={FORM} onSubmit={save} className="flex flex-col gap-4">
        <Field label={words.name} help={words.nameHelp} error={spaced ? words.nameSpaces : nameError}>
          {(control) => (
            <Input
              {...control}
              mono
              data-autofocus
              value={alias}
              maxLength={120}
              onChange={(event) => setAlias(event.target.value)}
            />
          )}
        </Field>
        <Field label={words.target} help={words.targetHelp} error={refusal?.field("target")}>
          {(control) => (
            <ModelPicker
              control={control}
              value={target}
              models={models.data?.models.map((model) => model.qualified) ?? []}
              onChange={setTarget}
            />
          )}
        </Field>
        {refusal && !placed && <ErrorLine error={refusal} />}
      </form>
    </SidePanel>
  );
}

function useClose(): () => void {
  const navigate = useNavigate();
  return () => void navigate({ to: "/settings/names" });
}
