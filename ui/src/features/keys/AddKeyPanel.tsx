import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { SidePanel } from "@/components/SidePanel";
import { ErrorLine } from "@/components/States";
import { Button } from "@/components/ui/button";
import { useChange } from "@/host/queries";
import { useMessages } from "@/i18n";
import { now } from "@/lib/clock";
import { draftOf, isComplete, noFields } from "@/lib/key-draft";
import { KeyForm } from "./KeyForm";
import { SecretDialog } from "./SecretDialog";

const FORM = "new-key";

export function AddKeyPanel() {
  const messages = useMessages();
  const words = messages.keys;
  const navigate = useNavigate();
  const [fields, setFields] = useState(noFields);
  const create = useChange("key_create");
  const close = () => void navigate({ to: "/settings/keys" });
  const placed = create.error?.code === "conflict" || (create.error?.details.length ?? 0) > 0;

  const save = (event: FormEvent) => {
    event.preventDefault();
    if (isComplete(fields)) create.mutate(draftOf(fields, now()));
  };

  return (
    <SidePanel
      title={words.addTitle}
      onClose={close}
      footer={
        <Button variant="primary" type="submit" form={FORM} disabled={!isComplete(fields) || create.isPending}>
          {words.create}
        </Button>
      }
    >
      <form id={FORM} onSubmit={save} className="flex flex-col gap-6">
        <KeyForm fields={fields} onChange={setFields} refusal={create.error} />
        {create.error && !placed && <ErrorLine error={create.error} />}
      </form>
      <SecretDialog
        title={words.madeTitle(create.data?.record.name ?? "")}
        secret={create.data?.key ?? null}
        onDone={close}
      />
    </SidePanel>
  );
}
