//! A combo: one name, many models behind it (gateway specification, 3.1 and 3.2).

mod config;
mod strategy;

use domain::{ConnectionId, ProviderId, Timestamp};
use serde::{Deserialize, Serialize};

pub use config::Config;
pub use strategy::Strategy;

/// A combo as its owner wrote it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Combo {
    pub id: String,
    /// What clients send as the model; unique, 1–100 characters without control characters.
    pub name: String,
    pub strategy: Strategy,
    pub models: Vec<Step>,
    /// Overrides of the defaults, as wire names: validated by [`Config`].
    #[serde(default)]
    pub config: serde_json::Map<String, serde_json::Value>,
    /// Put before the request's own system text.
    #[serde(default, rename = "system_message", skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// Keep one target for a conversation while it is healthy.
    #[serde(default, rename = "context_cache_protection")]
    pub context_cache_protection: bool,
    #[serde(default)]
    pub is_hidden: bool,
    #[serde(default = "active")]
    pub is_active: bool,
    #[serde(default)]
    pub order: u32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

fn active() -> bool {
    true
}

/// One line of a combo.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Stable over edits.
    pub id: String,
    #[serde(flatten)]
    pub kind: StepKind,
    /// 0–100.
    #[serde(default)]
    pub weight: u32,
    #[serde(default = "active")]
    pub enabled: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum StepKind {
    Model {
        /// `provider/model` as its owner wrote it.
        model: String,
        provider_id: ProviderId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        connection_id: Option<ConnectionId>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        allowed_connection_ids: Vec<ConnectionId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tags: Vec<String>,
        #[serde(default)]
        fallback_only_on_quota_exhaustion: bool,
    },
    ComboRef { combo_name: String },
    ProviderWildcard { provider_id: ProviderId, model_pattern: String },
}
