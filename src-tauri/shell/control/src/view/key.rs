//! Keys that agents present (gateway specification, 1.3). The key itself is shown once, when it is made.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use specta::Type;
use utoipa::ToSchema;

use super::Instant;
use super::key_limits::{KeyAutoCandidate, KeyLimitUse, KeyTokenLimit};
use super::words::present;
use super::words_of_domain::{Interval, Scope};

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
    /// Names of combos, `auto/…` included; empty allows all.
    pub allowed_combos: Vec<String>,
    /// Connection ids; empty allows all.
    pub allowed_connections: Vec<String>,
    /// Connection ids, first choice first.
    pub preferred_connections: Vec<String>,
    /// What the pools of `auto/…` leave out, by channel: `auto` itself, or what follows `auto/`.
    pub excluded_auto_candidates: BTreeMap<String, Vec<KeyAutoCandidate>>,
    /// US dollars.
    #[specta(type = Option<u32>)]
    pub budget_daily_usd: Option<f64>,
    #[specta(type = Option<u32>)]
    pub budget_weekly_usd: Option<f64>,
    #[specta(type = Option<u32>)]
    pub budget_monthly_usd: Option<f64>,
    /// The share of a limit from which on it is shown as a warning: above 0, at most 1.
    #[specta(type = u32)]
    pub warning_threshold: f64,
    /// The period of token limits that name none.
    pub reset_interval: Interval,
    /// `HH:MM`, when periods begin in the gateway's time zone.
    pub reset_time: String,
    pub token_limits: Vec<KeyTokenLimit>,
    /// Every limit with what is used of it: budgets first, then token limits in their order.
    pub limit_use: Vec<KeyLimitUse>,
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
    pub allowed_combos: Vec<String>,
    #[serde(default)]
    #[specta(optional)]
    pub allowed_connections: Vec<String>,
    /// A part of the allowed ones, where those are named.
    #[serde(default)]
    #[specta(optional)]
    pub preferred_connections: Vec<String>,
    #[serde(default)]
    #[specta(optional)]
    pub excluded_auto_candidates: BTreeMap<String, Vec<KeyAutoCandidate>>,
    /// US dollars, above 0.
    #[specta(optional, type = Option<u32>)]
    pub budget_daily_usd: Option<f64>,
    #[specta(optional, type = Option<u32>)]
    pub budget_weekly_usd: Option<f64>,
    #[specta(optional, type = Option<u32>)]
    pub budget_monthly_usd: Option<f64>,
    /// 0.8 when absent.
    #[specta(optional, type = Option<u32>)]
    pub warning_threshold: Option<f64>,
    /// `daily` when absent.
    #[specta(optional)]
    pub reset_interval: Option<Interval>,
    /// `00:00` when absent.
    #[specta(optional)]
    pub reset_time: Option<String>,
    #[serde(default)]
    #[specta(optional)]
    pub token_limits: Vec<KeyTokenLimit>,
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
    pub allowed_combos: Option<Option<Vec<String>>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<Vec<String>>)]
    #[schema(value_type = Option<Vec<String>>)]
    pub allowed_connections: Option<Option<Vec<String>>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<Vec<String>>)]
    #[schema(value_type = Option<Vec<String>>)]
    pub preferred_connections: Option<Option<Vec<String>>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<BTreeMap<String, Vec<KeyAutoCandidate>>>)]
    #[schema(value_type = Option<BTreeMap<String, Vec<KeyAutoCandidate>>>)]
    pub excluded_auto_candidates: Option<Option<BTreeMap<String, Vec<KeyAutoCandidate>>>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<u32>)]
    #[schema(value_type = Option<f64>)]
    pub budget_daily_usd: Option<Option<f64>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<u32>)]
    #[schema(value_type = Option<f64>)]
    pub budget_weekly_usd: Option<Option<f64>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<u32>)]
    #[schema(value_type = Option<f64>)]
    pub budget_monthly_usd: Option<Option<f64>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<u32>)]
    #[schema(value_type = Option<f64>)]
    pub warning_threshold: Option<Option<f64>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<Interval>)]
    #[schema(value_type = Option<Interval>)]
    pub reset_interval: Option<Option<Interval>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<String>)]
    #[schema(value_type = Option<String>)]
    pub reset_time: Option<Option<String>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<Vec<KeyTokenLimit>>)]
    #[schema(value_type = Option<Vec<KeyTokenLimit>>)]
    pub token_limits: Option<Option<Vec<KeyTokenLimit>>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<Instant>)]
    #[schema(value_type = Option<Instant>)]
    pub expires_at: Option<Option<Instant>>,
}

/// A new key is one that opens everything, changed.
impl From<KeyDraft> for KeyChange {
    fn from(draft: KeyDraft) -> KeyChange {
        KeyChange {
            name: Some(draft.name),
            is_active: None,
            scopes: Some(Some(draft.scopes)),
            allowed_models: Some(Some(draft.allowed_models)),
            allowed_combos: Some(Some(draft.allowed_combos)),
            allowed_connections: Some(Some(draft.allowed_connections)),
            preferred_connections: Some(Some(draft.preferred_connections)),
            excluded_auto_candidates: Some(Some(draft.excluded_auto_candidates)),
            budget_daily_usd: Some(draft.budget_daily_usd),
            budget_weekly_usd: Some(draft.budget_weekly_usd),
            budget_monthly_usd: Some(draft.budget_monthly_usd),
            warning_threshold: Some(draft.warning_threshold),
            reset_interval: Some(draft.reset_interval),
            reset_time: Some(draft.reset_time),
            token_limits: Some(Some(draft.token_limits)),
            expires_at: Some(draft.expires_at),
        }
    }
}
