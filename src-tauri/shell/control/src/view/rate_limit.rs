//! What the owner of an account allows instead of the settings' numbers (resilience specification, 14.1).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use specta::Type;
use utoipa::ToSchema;

use super::words::present;

/// What is `null` is not overridden.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitOverrides {
    /// Requests within a minute.
    pub rpm: Option<u32>,
    /// Tokens within a minute.
    #[specta(type = Option<u32>)]
    pub tpm: Option<u64>,
    /// Tokens within a day.
    #[specta(type = Option<u32>)]
    pub tpd: Option<u64>,
    /// Shortest time between two requests, in milliseconds.
    #[specta(type = Option<u32>)]
    pub min_time: Option<u64>,
    /// Requests under way.
    pub max_concurrent: Option<u32>,
    /// How long a request waits in the queue at most.
    #[specta(type = Option<u32>)]
    pub max_wait_ms: Option<u64>,
    /// How long a request may take once it is sent.
    #[specta(type = Option<u32>)]
    pub execution_max_wait_ms: Option<u64>,
    /// Requests under way by model, exactly as the upstream calls it.
    pub model_concurrency: BTreeMap<String, u32>,
}

/// A change: absent members stay, `null` unsets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RateLimitOverridesChange {
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<u32>)]
    #[schema(value_type = Option<u32>)]
    pub rpm: Option<Option<u32>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<u32>)]
    #[schema(value_type = Option<u64>)]
    pub tpm: Option<Option<u64>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<u32>)]
    #[schema(value_type = Option<u64>)]
    pub tpd: Option<Option<u64>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<u32>)]
    #[schema(value_type = Option<u64>)]
    pub min_time: Option<Option<u64>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<u32>)]
    #[schema(value_type = Option<u32>)]
    pub max_concurrent: Option<Option<u32>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<u32>)]
    #[schema(value_type = Option<u64>)]
    pub max_wait_ms: Option<Option<u64>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<u32>)]
    #[schema(value_type = Option<u64>)]
    pub execution_max_wait_ms: Option<Option<u64>>,
    /// Replaced whole.
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<BTreeMap<String, u32>>)]
    #[schema(value_type = Option<BTreeMap<String, u32>>)]
    pub model_concurrency: Option<Option<BTreeMap<String, u32>>>,
}
