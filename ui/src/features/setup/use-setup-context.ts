import { useConnectionModels } from "@/components/use-connection-models";
import { useRead } from "@/host/queries";

/** What both later steps need to know: where the gateway listens, and which models can be asked for. */
export function useSetupContext(providerId: string, connectionId: string) {
  const app = useRead("app_get", null);
  const connection = useRead("connection_get", { id: connectionId });
  const { models, isPending: modelsPending } = useConnectionModels(connectionId);
  const catalog = useRead("catalog_providers", null);
  const provider = catalog.data?.providers.find((candidate) => candidate.id === providerId);
  const prefix = provider?.alias ?? providerId;
  const names = models.filter((model) => model.enabled).map((model) => `${prefix}/${model.id}`);
  const preferred = connection.data?.connection.defaultModel;
  return {
    url: app.data?.url,
    /** The format the provider speaks first. */
    dialect: provider?.dialect ?? "chat",
    /** Every format it speaks. */
    dialects: provider?.dialects ?? [],
    models: names,
    firstModel: preferred ? `${prefix}/${preferred}` : (names[0] ?? ""),
    isPending: app.isPending || connection.isPending || modelsPending || catalog.isPending,
    error: app.error ?? connection.error,
  };
}
