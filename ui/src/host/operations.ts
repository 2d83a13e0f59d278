/**
 * Every operation of the gateway: what it takes, what it gives, where REST has it, and which topics it concerns.
 *
 * A read names the topics it *provides*, a change those it *invalidates*; `queries.ts` derives every refresh from that.
 * The command of the window has the operation's name and takes `{ input }`. Over REST, members of the input that appear
 * in the path fill it; the rest is the query of a GET, or the body of anything else.
 */
import type * as view from "@/bindings";

type Id = { id: string };

export type Operations = {
  app_get: { input: null; output: view.AppView };
  health_get: { input: null; output: view.HealthView };
  catalog_providers: { input: null; output: view.CatalogProviderList };
  connections_list: { input: { provider?: string; class?: view.ProviderClass }; output: view.ConnectionList };
  connection_get: { input: Id; output: view.ConnectionDetail };
  connection_create: { input: view.ConnectionCreate; output: view.ConnectionReply };
  connection_update: { input: Id & view.ConnectionChange; output: view.ConnectionReply };
  connection_delete: { input: Id; output: view.Done };
  connection_restore: { input: Id; output: view.ConnectionReply };
  connection_test: { input: Id & { model?: string }; output: view.ConnectionTestReport };
  connections_test: { input: view.ConnectionTestSelection; output: view.ConnectionTestRows };
  connection_validate: { input: view.ConnectionCreate; output: view.CredentialCheck };
  connections_order: { input: { provider: string; connectionIds: string[] }; output: view.ConnectionList };
  connection_models: { input: Id & { refresh?: boolean }; output: view.ConnectionModelList };
  connection_reset: { input: Id; output: view.ConnectionReply };
  nodes_list: { input: null; output: view.CustomNodeList };
  node_get: { input: Id; output: view.CustomNodeReply };
  node_create: { input: view.CustomNodeCreate; output: view.CustomNodeReply };
  node_update: { input: Id & Partial<view.CustomNodeCreate>; output: view.CustomNodeReply };
  node_delete: { input: Id; output: view.Done };
  node_test: { input: Id & { apiKey?: string }; output: view.CustomNodeTestReport };
  keys_list: { input: null; output: view.ClientKeyList };
  key_create: { input: view.ClientKeyCreate; output: view.ClientKeyMade };
  key_update: { input: Id & view.ClientKeyChange; output: view.ClientKeyReply };
  key_rotate: { input: Id; output: view.ClientKeyMade };
  key_delete: { input: Id; output: view.Done };
  aliases_list: { input: null; output: view.ModelAliasList };
  alias_create: { input: { alias: string; target: string }; output: { alias: view.ModelAlias } };
  alias_update: { input: Id & { alias?: string; target?: string }; output: { alias: view.ModelAlias } };
  alias_delete: { input: Id; output: view.Done };
  models_list: { input: { provider?: string }; output: view.CatalogModelList };
  requests_list: { input: view.RequestFilter; output: view.RequestPage };
  request_get: { input: Id; output: view.RequestDetail };
  requests_delete: { input: { all?: boolean; before?: string }; output: view.Deleted };
  usage_summary: { input: { since?: string; until?: string; groupBy?: string }; output: view.UsageSummary };
  settings_get: { input: null; output: view.SettingsTree };
  settings_update: { input: view.SettingsChange; output: view.SettingsTree };
  settings_fields: { input: null; output: view.SettingFieldList };
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
  app_get: { method: "GET", path: "/api/app", provides: ["settings"] },
  health_get: { method: "GET", path: "/api/monitoring/health", provides: ["breakers", "cooldowns", "connections"] },
  catalog_providers: { method: "GET", path: "/api/catalog/providers", provides: ["connections"] },
  connections_list: { method: "GET", path: "/api/providers", provides: ["connections", "cooldowns"] },
  connection_get: {
    method: "GET",
    path: "/api/providers/{id}",
    provides: ["connections", "cooldowns", "breakers", "lockouts"],
  },
  connection_create: { method: "POST", path: "/api/providers", invalidates: ["connections"] },
  connection_update: { method: "PATCH", path: "/api/providers/{id}", invalidates: ["connections"] },
  connection_delete: { method: "DELETE", path: "/api/providers/{id}", invalidates: ["connections"] },
  connection_restore: { method: "POST", path: "/api/providers/{id}/restore", invalidates: ["connections"] },
  connection_test: { method: "POST", path: "/api/providers/{id}/test", invalidates: ["connections"] },
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
  aliases_list: { method: "GET", path: "/api/models/aliases", provides: ["settings"] },
  alias_create: { method: "POST", path: "/api/models/aliases", invalidates: ["settings"] },
  alias_update: { method: "PATCH", path: "/api/models/aliases/{id}", invalidates: ["settings"] },
  alias_delete: { method: "DELETE", path: "/api/models/aliases/{id}", invalidates: ["settings"] },
  models_list: { method: "GET", path: "/api/models/catalog", provides: ["connections"] },
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
