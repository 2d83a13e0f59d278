//! Keys that agents present (gateway specification, 1.3). The key itself is shown once, when it is made.

use serde::{Deserialize, Serialize};
use specta::Type;
use utoipa::ToSchema;

use super::Instant;
use super::words::present;
use super::words_of_domain::Scope;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct Keys {
    /// Oldest first.
    pub keys: Vec<Key>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct KeyRecord {
    pub record: Key,
}

/// A new key in full: the only time it is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct KeySecret {
    /// `sk-omni-` and 43 characters.
    pub key: String,
    pub record: Key,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    pub id: String,
    pub name: String,
    /// Last four characters.
    pub tail: String,
    pub is_active: bool,
    pub scopes: Vec<Scope>,
    /// Globs over the requested and the resolved `provider/model`; empty allows all.
    pub allowed_models: Vec<String>,
    /// Connection ids; empty allows all.
    pub allowed_connections: Vec<String>,
    pub expires_at: Option<Instant>,
    pub last_used_at: Option<Instant>,
    pub created_at: Instant,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyDraft {
    pub name: String,
    #[serde(default)]
    #[specta(optional)]
    pub scopes: Vec<Scope>,
    #[serde(default)]
    #[specta(optional)]
    pub allowed_models: Vec<String>,
    #[serde(default)]
    #[specta(optional)]
    pub allowed_connections: Vec<String>,
    #[specta(optional)]
    pub expires_at: Option<Instant>,
}

/// A change to a key: absent members stay, `null` unsets.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct KeyChange {
    #[specta(optional)]
    pub name: Option<String>,
    #[specta(optional)]
    pub is_active: Option<bool>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<Vec<Scope>>)]
    #[schema(value_type = Option<Vec<Scope>>)]
    pub scopes: Option<Option<Vec<Scope>>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<Vec<String>>)]
    #[schema(value_type = Option<Vec<String>>)]
    pub allowed_models: Option<Option<Vec<String>>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<Vec<String>>)]
    #[schema(value_type = Option<Vec<String>>)]
    pub allowed_connections: Option<Option<Vec<String>>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<Instant>)]
    #[schema(value_type = Option<Instant>)]
    pub expires_at: Option<Option<Instant>>,
}
