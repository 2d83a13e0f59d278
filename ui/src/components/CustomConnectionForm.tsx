/** A server of one's own and the first connection to it, in one form. */
import { type FormEvent, useState } from "react";
import type { Connection, Node } from "@/bindings";
import type { HostError } from "@/host";
import { useChange } from "@/host/queries";
import { useMessages } from "@/i18n";
import { emptyDraft, isComplete, isSameEndpoint, toChange, toNode } from "@/lib/endpoint-draft";
import { Field, SecretInput } from "./Field";
import { NodeFields } from "./NodeFields";
import { ProbeResult } from "./ProbeResult";
import { ErrorLine } from "./States";
import { Button } from "./ui/button";

export function CustomConnectionForm({ onDone }: { onDone(connection: Connection): void }) {
  const messages = useMessages();
  const words = messages.connections;
  const [draft, setDraft] = useState(emptyDraft);
  const [apiKey, setApiKey] = useState("");
  // Kept when the test fails: the next try changes it instead of making a second one.
  const [node, setNode] = useState<Node | null>(null);
  const createNode = useChange("node_create");
  const updateNode = useChange("node_update");
  const deleteNode = useChange("node_delete");
  const validate = useChange("connection_validate");
  const create = useChange("connection_create");

  const changes = [createNode, updateNode, deleteNode, validate, create];
  const busy = changes.some((change) => change.isPending);
  const refusal: HostError | null =
    createNode.error ?? updateNode.error ?? deleteNode.error ?? validate.error ?? create.error;
  const needsKey = draft.carrier !== "none";
  const complete = isComplete(draft);

  const connectionOf = ({ id, name }: Node) => ({
    provider: id,
    name,
    ...(needsKey && apiKey.trim() && { apiKey: apiKey.trim() }),
  });
  const reset = () => {
    for (const change of changes) change.reset();
  };
  const saveNode = async (): Promise<Node> => {
    if (node && isSameEndpoint(draft, node)) {
      return (await updateNode.mutateAsync({ id: node.id, ...toChange(draft) })).node;
    }
    if (node) await deleteNode.mutateAsync({ id: node.id });
    setNode(null);
    return (await createNode.mutateAsync(toNode(draft))).node;
  };
  const save = async (target: Node) => {
    const { connection } = await create.mutateAsync(connectionOf(target));
    onDone(connection);
  };
  const testAndSave = async (event: FormEvent) => {
    event.preventDefault();
    if (!complete || busy) return;
    reset();
    try {
      const saved = await saveNode();
      setNode(saved);
      const check = await validate.mutateAsync(connectionOf(saved));
      if (check.ok) await save(saved);
    } catch {
      // Each step keeps its own error; the form shows it.
    }
  };

  const placed = ["name", "baseUrl", "prefix", "authCarrier"].some((field) => refusal?.field(field));
  return (
    <form onSubmit={(event) => void testAndSave(event)} className="flex min-w-0 flex-col gap-4">
      <NodeFields
        draft={draft}
        refusal={refusal}
        onChange={(next) => {
          reset();
          setDraft(next);
        }}
      />
      {needsKey && (
        <Field label={words.key} optional help={words.keyOptional} error={refusal?.field("apiKey")}>
          {(control) => (
            <SecretInput
              {...control}
              value={apiKey}
              onChange={(event) => {
                validate.reset();
                setApiKey(event.target.value);
              }}
            />
          )}
        </Field>
      )}
      <ProbeResult outcome={validate.data} running={validate.isPending} />
      {refusal && !placed && <ErrorLine error={refusal} />}
      <div className="flex items-center gap-2">
        <Button variant="primary" type="submit" disabled={!complete || busy}>
          {words.testAndSave}
        </Button>
        {validate.data?.ok === false && node && (
          <Button disabled={busy} onClick={() => void save(node).catch(() => undefined)}>
            {words.saveAnyway}
          </Button>
        )}
      </div>
    </form>
  );
}
