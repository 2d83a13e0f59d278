//! Every operation by name, in two tables: what each read *provides* and what each change *invalidates*.
//!
//! The tables are plain data and are exported to TypeScript with the bindings: the window re-reads whatever provides a
//! topic that was invalidated, and nothing else. They are also the list against which both adapters are checked
//! (`rest` builds its routes from them, the window's commands are compared by name), so an operation cannot exist on one
//! side only.

use serde::Serialize;
use specta::Type;

use crate::view::Topic;
use crate::view::Topic::{Breakers, Combos, Connections, Cooldowns, Keys, Lockouts, Quota, Requests, Settings, Usage};

/// One operation of the management surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Type)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    /// Function name, OpenAPI operation id and name of the window's command.
    pub name: &'static str,
    pub method: Method,
    /// Path template, `/api/providers/{id}`.
    pub path: &'static str,
    pub kind: Kind,
    /// What a read provides, or what a change invalidates.
    pub topics: &'static [Topic],
    /// Whether it needs no management token (specification's decision 22).
    pub open: bool,
    /// HTTP status of success: 201 for what creates, else 200.
    pub status: u16,
    /// One line for the API document.
    pub summary: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Type)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    Get,
    Post,
    Patch,
    Put,
    Delete,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Type)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Read,
    Change,
}

/// Reads, and the topics each provides.
pub const READS: &[Operation] = &[
    read("app_get", "/api/app", &[Keys, Settings], "The program: version, data folder, address"),
    open(
        "health_get",
        "/api/monitoring/health",
        &[Connections, Cooldowns, Breakers, Lockouts, Keys],
        "Health, without a token",
    ),
    read("health_history", "/api/monitoring/health/history", &[Usage], "How requests fared in the last minutes"),
    read("catalog_providers", "/api/catalog/providers", &[Connections], "Providers that can be connected"),
    read("connections_list", "/api/providers", &[Connections, Cooldowns], "Connections, by provider and priority"),
    read(
        "connection_get",
        "/api/providers/{id}",
        &[Connections, Cooldowns, Breakers, Lockouts],
        "One connection with its health",
    ),
    read("connection_models", "/api/providers/{id}/models", &[Connections], "Models a connection offers"),
    read("nodes_list", "/api/provider-nodes", &[Connections], "Custom providers"),
    read("node_get", "/api/provider-nodes/{id}", &[Connections], "One custom provider"),
    read(
        "keys_list",
        "/api/keys",
        &[Keys, Usage],
        "Client keys with what they may use and have spent, without the keys themselves",
    ),
    read("aliases_list", "/api/models/aliases", &[Combos], "The user's own names for models"),
    read("combos_list", "/api/combos", &[Combos], "Combos in their order"),
    read(
        "combos_metrics",
        "/api/combos/metrics",
        &[Combos, Requests],
        "What each combo and each of its targets did of late",
    ),
    read("combo_get", "/api/combos/{id}", &[Combos, Connections], "One combo, and what is worth knowing about it"),
    Operation {
        // Its question is a whole combo: too much for a query.
        method: Method::Post,
        ..read(
            "combo_preview",
            "/api/combos/preview",
            &[Connections, Cooldowns, Breakers, Lockouts, Combos],
            "What a combo would do, before it is saved",
        )
    },
    read("combos_export", "/api/combos/export", &[Combos], "Combos as a document for another installation"),
    read(
        "combo_mappings_list",
        "/api/model-combo-mappings",
        &[Combos],
        "Patterns of model names that lead to a combo, in the order in which they are asked",
    ),
    read("models_list", "/api/models/catalog", &[Connections, Combos], "Models that can be asked for"),
    read("requests_list", "/api/requests", &[Requests], "The request log, newest first"),
    read("request_get", "/api/requests/{id}", &[Requests], "The story of one request"),
    read("usage_summary", "/api/usage/summary", &[Usage], "Consumption in groups"),
    read("quota_list", "/api/usage/quota", &[Quota, Connections], "What is left of accounts"),
    read("quota_history", "/api/usage/quota/history", &[Quota], "How the windows of one account filled"),
    read("quota_pools_list", "/api/quota/pools", &[Quota, Keys], "Accounts that keys share"),
    read("quota_pool_get", "/api/quota/pools/{id}", &[Quota, Keys], "One quota pool"),
    read(
        "quota_pool_state",
        "/api/quota/pools/{id}/state",
        &[Quota, Keys, Connections, Usage],
        "What each key used of a quota pool, and how its accounts stand",
    ),
    read("resilience_get", "/api/resilience", &[Settings], "The resilience settings"),
    read("breakers_list", "/api/resilience/breakers", &[Breakers], "Circuit breakers with their latest changes"),
    read(
        "model_cooldowns_list",
        "/api/resilience/model-cooldowns",
        &[Lockouts, Connections],
        "Models that rest on one account",
    ),
    read(
        "cooldowns_list",
        "/api/resilience/cooldowns",
        &[Cooldowns, Lockouts, Connections],
        "Connections, and what keeps each out of routing",
    ),
    read(
        "resilience_connections",
        "/api/resilience/connections",
        &[Connections, Cooldowns, Breakers, Lockouts, Usage],
        "Connections and breakers with what they did of late",
    ),
    read(
        "resilience_explain",
        "/api/resilience/explain",
        &[Connections, Cooldowns, Breakers, Lockouts, Combos],
        "Where a model would go now, and who is left out",
    ),
    read("settings_get", "/api/settings", &[Settings], "The settings tree with its sources"),
    read("settings_fields", "/api/settings/fields", &[Settings], "What each setting is: bounds, default, source"),
    read(
        "feature_flags_list",
        "/api/settings/feature-flags",
        &[Settings],
        "Settings that are known by a variable's name, in groups",
    ),
    read("management_token_get", "/api/management-token", &[Settings], "The management token"),
];

/// Changes, and the topics each invalidates.
pub const CHANGES: &[Operation] = &[
    create("connection_create", "/api/providers", &[Connections], "Add a connection"),
    change("connection_update", Method::Patch, "/api/providers/{id}", &[Connections, Cooldowns], "Change a connection"),
    change(
        "connection_delete",
        Method::Delete,
        "/api/providers/{id}",
        &[Connections, Cooldowns, Lockouts],
        "Remove a connection",
    ),
    change(
        "connection_restore",
        Method::Post,
        "/api/providers/{id}/restore",
        &[Connections],
        "Undo the removal of a connection",
    ),
    change(
        "connection_test",
        Method::Post,
        "/api/providers/{id}/test",
        &[Connections, Cooldowns, Lockouts],
        "Test a connection; success clears its errors",
    ),
    change(
        "connection_reset",
        Method::Post,
        "/api/providers/{id}/reset",
        &[Connections, Cooldowns, Lockouts],
        "Clear a connection's errors",
    ),
    change("connections_test", Method::Post, "/api/providers/test", &[], "Test several connections; changes nothing"),
    change("connection_validate", Method::Post, "/api/providers/validate", &[], "Try a credential without storing it"),
    change(
        "connections_order",
        Method::Put,
        "/api/providers/order",
        &[Connections],
        "Set the order of a provider's connections",
    ),
    create("node_create", "/api/provider-nodes", &[Connections], "Add a custom provider"),
    change("node_update", Method::Patch, "/api/provider-nodes/{id}", &[Connections], "Change a custom provider"),
    change("node_delete", Method::Delete, "/api/provider-nodes/{id}", &[Connections], "Remove a custom provider"),
    change("node_test", Method::Post, "/api/provider-nodes/{id}/test", &[], "Ask a custom provider for its models"),
    create("key_create", "/api/keys", &[Keys], "Make a client key, shown once"),
    change("key_update", Method::Patch, "/api/keys/{id}", &[Keys], "Change a client key"),
    change(
        "key_rotate",
        Method::Post,
        "/api/keys/{id}/rotate",
        &[Keys],
        "Replace a client key; the old one stops at once",
    ),
    change("key_delete", Method::Delete, "/api/keys/{id}", &[Keys], "Revoke a client key"),
    create("alias_create", "/api/models/aliases", &[Combos], "Name a model"),
    change("alias_update", Method::Patch, "/api/models/aliases/{id}", &[Combos], "Change a name"),
    change("alias_delete", Method::Delete, "/api/models/aliases/{id}", &[Combos], "Remove a name"),
    create("combo_create", "/api/combos", &[Combos], "Make a combo"),
    change("combo_update", Method::Patch, "/api/combos/{id}", &[Combos], "Change a combo"),
    change("combo_delete", Method::Delete, "/api/combos/{id}", &[Combos], "Remove a combo that nothing leads to"),
    change("combos_reorder", Method::Put, "/api/combos/order", &[Combos], "Set the order of the combos"),
    create("combo_duplicate", "/api/combos/{id}/duplicate", &[Combos], "Copy a combo under another name"),
    create("combos_import", "/api/combos/import", &[Combos], "Take combos over from a document, all or none"),
    change("combo_test", Method::Post, "/api/combos/{id}/test", &[], "Ask every target of a combo; changes no health"),
    create("combo_mapping_create", "/api/model-combo-mappings", &[Combos], "Lead names of models to a combo"),
    change("combo_mapping_update", Method::Patch, "/api/model-combo-mappings/{id}", &[Combos], "Change a mapping"),
    change("combo_mapping_delete", Method::Delete, "/api/model-combo-mappings/{id}", &[Combos], "Remove a mapping"),
    change("requests_delete", Method::Delete, "/api/requests", &[Requests, Usage], "Delete from the request log"),
    change("quota_refresh", Method::Post, "/api/usage/quota/refresh", &[Quota], "Ask vendors what is left of accounts"),
    create("quota_pool_create", "/api/quota/pools", &[Quota], "Share accounts among keys"),
    change("quota_pool_update", Method::Patch, "/api/quota/pools/{id}", &[Quota], "Change a quota pool"),
    change("quota_pool_delete", Method::Delete, "/api/quota/pools/{id}", &[Quota], "Remove a quota pool"),
    change("resilience_update", Method::Patch, "/api/resilience", &[Settings], "Change resilience settings"),
    change(
        "resilience_reset",
        Method::Post,
        "/api/resilience/reset",
        &[Breakers, Lockouts],
        "Close all circuit breakers and end all model locks",
    ),
    change("health_reset", Method::Delete, "/api/monitoring/health", &[Breakers], "Close all circuit breakers"),
    change(
        "breaker_reset",
        Method::Post,
        "/api/resilience/breakers/{id}/reset",
        &[Breakers],
        "Close one provider's circuit breaker",
    ),
    change("model_cooldowns_clear", Method::Delete, "/api/resilience/model-cooldowns", &[Lockouts], "End model locks"),
    change(
        "cooldowns_clear",
        Method::Post,
        "/api/resilience/cooldowns",
        &[Cooldowns, Lockouts, Connections],
        "Make connections eligible again; terminal states stay",
    ),
    change(
        "banned_signals_preview",
        Method::Post,
        "/api/resilience/banned-signals/preview",
        &[],
        "What a phrase would have hit, had it been a ban signal",
    ),
    change(
        "routing_simulate",
        Method::Post,
        "/api/routing/simulate",
        &[],
        "Choices on a copy of the state, or recorded requests under other settings",
    ),
    change("feature_flag_set", Method::Put, "/api/settings/feature-flags/{id}", &[Settings], "Set a feature flag"),
    change(
        "feature_flag_unset",
        Method::Delete,
        "/api/settings/feature-flags/{id}",
        &[Settings],
        "Let the environment or the default decide a feature flag",
    ),
    change("settings_update", Method::Patch, "/api/settings", &[Settings], "Change settings"),
    change(
        "management_token_rotate",
        Method::Post,
        "/api/management-token/rotate",
        &[Settings],
        "Replace the management token",
    ),
];

/// Reads first, then changes.
pub fn operations() -> impl Iterator<Item = &'static Operation> {
    READS.iter().chain(CHANGES)
}

/// The operation of that name.
pub fn operation(name: &str) -> Option<&'static Operation> {
    operations().find(|operation| operation.name == name)
}

const fn read(name: &'static str, path: &'static str, topics: &'static [Topic], summary: &'static str) -> Operation {
    Operation { name, method: Method::Get, path, kind: Kind::Read, topics, open: false, status: 200, summary }
}

const fn open(name: &'static str, path: &'static str, topics: &'static [Topic], summary: &'static str) -> Operation {
    Operation { name, method: Method::Get, path, kind: Kind::Read, topics, open: true, status: 200, summary }
}

const fn change(
    name: &'static str,
    method: Method,
    path: &'static str,
    topics: &'static [Topic],
    summary: &'static str,
) -> Operation {
    Operation { name, method, path, kind: Kind::Change, topics, open: false, status: 200, summary }
}

const fn create(name: &'static str, path: &'static str, topics: &'static [Topic], summary: &'static str) -> Operation {
    Operation { status: 201, ..change(name, Method::Post, path, topics, summary) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_and_places_are_unique() {
        let names: BTreeSet<_> = operations().map(|operation| operation.name).collect();
        let places: BTreeSet<_> =
            operations().map(|operation| (operation.path, format!("{:?}", operation.method))).collect();
        assert_eq!((names.len(), places.len()), (operations().count(), operations().count()));
    }

    #[test]
    fn whatever_a_change_invalidates_some_read_provides() {
        let provided: BTreeSet<_> = READS.iter().flat_map(|operation| operation.topics).collect();
        for change in CHANGES {
            for topic in change.topics {
                assert!(provided.contains(topic), "{}: nobody shows {topic:?}", change.name);
            }
        }
    }
}
