/**
 * Every operation of the gateway: what it takes, what it gives, where REST has it, and which topics it concerns.
 *
 * A read names the topics it *provides*, a change those it *invalidates*; `queries.ts` derives every refresh from that.
 * Members of the input that appear in the path fill it; the rest is the query of a GET, or the body of anything else. The
 * command of the window has the operation's name and takes the members of the path and the rest as `input`.
 */
import type * as view from "@/bindings";

type Id = { id: string };

export type Operations = {
  app_get: { input: null; output: view.App };
  health_get: { input: null; output: view.Health };
  catalog_providers: { input: null; output: view.CatalogProviders };
  connections_list: { input: view.ConnectionFilter; output: view.Connections };
  connection_get: { input: Id; output: view.ConnectionDetail };
  connection_create: { input: view.ConnectionDraft; output: view.ConnectionReply };
  connection_update: { input: Id & view.ConnectionChange; output: view.ConnectionReply };
  connection_delete: { input: Id; output: view.Done };
  connection_restore: { input: Id; output: view.ConnectionReply };
  connection_test: { input: Id & view.ConnectionTest; output: view.ConnectionTestReply };
  connections_test: { input: view.BatchTest; output: view.BatchTestResults };
  connection_validate: { input: view.ConnectionDraft; output: view.ConnectionValidation };
  connections_order: { input: view.ConnectionOrder; output: view.Connections };
  connection_models: { input: Id & view.ConnectionModelsQuery; output: view.ConnectionModels };
  connection_reset: { input: Id; output: view.ConnectionReply };
  nodes_list: { input: null; output: view.Nodes };
  node_get: { input: Id; output: view.NodeReply };
  node_create: { input: view.NodeDraft; output: view.NodeReply };
  node_update: { input: Id & view.NodeChange; output: view.NodeReply };
  node_delete: { input: Id; output: view.Done };
  node_test: { input: Id & view.NodeTest; output: view.NodeTestReply };
  keys_list: { input: null; output: view.Keys };
  key_create: { input: view.KeyDraft; output: view.KeySecret };
  key_update: { input: Id & view.KeyChange; output: view.KeyRecord };
  key_rotate: { input: Id; output: view.KeySecret };
  key_delete: { input: Id; output: view.Done };
  aliases_list: { input: null; output: view.Aliases };
  alias_create: { input: view.AliasDraft; output: view.AliasReply };
  alias_update: { input: Id & view.AliasChange; output: view.AliasReply };
  alias_delete: { input: Id; output: view.Done };
  models_list: { input: view.ModelFilter; output: view.Models };
  requests_list: { input: view.RequestFilter; output: view.Requests };
  request_get: { input: Id; output: view.RequestDetail };
  requests_delete: { input: view.RequestsDeletion; output: view.RequestsDeleted };
  usage_summary: { input: view.UsageQuery; output: view.UsageSummary };
  settings_get: { input: null; output: view.SettingsTree };
  settings_update: { input: view.SettingsPatch; output: view.SettingsTree };
  settings_fields: { input: null; output: view.SettingFields };
  management_token_get: { input: null; output: view.ManagementToken };
  management_token_rotate: { input: null; output: view.ManagementToken };
};

export type OperationName = keyof Operations;
export type Input<O extends OperationName> = Operations[O]["input"];
export type Output<O extends OperationName> = Operations[O]["output"];

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export type Operation = {
  readonly method: Method;
  /** Below the gateway's address; `{name}` is filled from the input. */
  readonly path: string;
  readonly provides?: readonly view.Topic[];
  readonly invalidates?: readonly view.Topic[];
};

export const operations: { readonly [O in OperationName]: Operation } = {
  app_get: { method: "GET", path: "/api/app", provides: ["keys", "settings"] },
  health_get: {
    method: "GET",
    path: "/api/monitoring/health",
    provides: ["connections", "cooldowns", "breakers", "lockouts", "keys"],
  },
  catalog_providers: { method: "GET", path: "/api/catalog/providers", provides: ["connections"] },
  connections_list: { method: "GET", path: "/api/providers", provides: ["connections", "cooldowns"] },
  connection_get: {
    method: "GET",
    path: "/api/providers/{id}",
    provides: ["connections", "cooldowns", "breakers", "lockouts"],
  },
  connection_create: { method: "POST", path: "/api/providers", invalidates: ["connections"] },
  connection_update: { method: "PATCH", path: "/api/providers/{id}", invalidates: ["connections", "cooldowns"] },
  connection_delete: {
    method: "DELETE",
    path: "/api/providers/{id}",
    invalidates: ["connections", "cooldowns", "lockouts"],
  },
  connection_restore: { method: "POST", path: "/api/providers/{id}/restore", invalidates: ["connections"] },
  connection_test: { method: "POST", path: "/api/providers/{id}/test", invalidates: ["connections", "cooldowns"] },
  connections_test: { method: "POST", path: "/api/providers/test" },
  connection_validate: { method: "POST", path: "/api/providers/validate" },
  connections_order: { method: "PUT", path: "/api/providers/order", invalidates: ["connections"] },
  connection_models: { method: "GET", path: "/api/providers/{id}/models", provides: ["connections"] },
  connection_reset: { method: "POST", path: "/api/providers/{id}/reset", invalidates: ["connections", "cooldowns"] },
  nodes_list: { method: "GET", path: "/api/provider-nodes", provides: ["connections"] },
  node_get: { method: "GET", path: "/api/provider-nodes/{id}", provides: ["connections"] },
  node_create: { method: "POST", path: "/api/provider-nodes", invalidates: ["connections"] },
  node_update: { method: "PATCH", path: "/api/provider-nodes/{id}", invalidates: ["connections"] },
  node_delete: { method: "DELETE", path: "/api/provider-nodes/{id}", invalidates: ["connections"] },
  node_test: { method: "POST", path: "/api/provider-nodes/{id}/test" },
  keys_list: { method: "GET", path: "/api/keys", provides: ["keys"] },
  key_create: { method: "POST", path: "/api/keys", invalidates: ["keys"] },
  key_update: { method: "PATCH", path: "/api/keys/{id}", invalidates: ["keys"] },
  key_rotate: { method: "POST", path: "/api/keys/{id}/rotate", invalidates: ["keys"] },
  key_delete: { method: "DELETE", path: "/api/keys/{id}", invalidates: ["keys"] },
  aliases_list: { method: "GET", path: "/api/models/aliases", provides: ["combos"] },
  alias_create: { method: "POST", path: "/api/models/aliases", invalidates: ["combos"] },
  alias_update: { method: "PATCH", path: "/api/models/aliases/{id}", invalidates: ["combos"] },
  alias_delete: { method: "DELETE", path: "/api/models/aliases/{id}", invalidates: ["combos"] },
  models_list: { method: "GET", path: "/api/models/catalog", provides: ["connections", "combos"] },
  requests_list: { method: "GET", path: "/api/requests", provides: ["requests"] },
  request_get: { method: "GET", path: "/api/requests/{id}", provides: ["requests"] },
  requests_delete: { method: "DELETE", path: "/api/requests", invalidates: ["requests", "usage"] },
  usage_summary: { method: "GET", path: "/api/usage/summary", provides: ["usage"] },
  settings_get: { method: "GET", path: "/api/settings", provides: ["settings"] },
  settings_update: { method: "PATCH", path: "/api/settings", invalidates: ["settings"] },
  settings_fields: { method: "GET", path: "/api/settings/fields", provides: ["settings"] },
  management_token_get: { method: "GET", path: "/api/management-token", provides: ["settings"] },
  management_token_rotate: { method: "POST", path: "/api/management-token/rotate", invalidates: ["settings"] },
};

/** The members of an input that stand in the operation's path, and all others. */
export function splitInput<O extends OperationName>(
  operation: O,
  input: Input<O>,
): { place: Record<string, string>; rest: Record<string, unknown> } {
  const rest: Record<string, unknown> = { ...input };
  const place: Record<string, string> = {};
  for (const [, name = ""] of operations[operation].path.matchAll(/\{(\w+)\}/g)) {
    place[name] = String(rest[name]);
    delete rest[name];
  }
  return { place, rest };
}
