//! What a key may spend, and what it has spent (gateway specification, 1.3).

use serde::{Deserialize, Serialize};
use specta::Type;
use utoipa::ToSchema;

use super::Instant;
use super::words_of_domain::Interval;

/// A model of one connection that `auto` leaves out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyAutoCandidate {
    pub connection_id: String,
    /// As the provider calls it, without the provider.
    pub model: String,
}

/// So many tokens in a period, input and output together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyTokenLimit {
    pub scope_type: KeyLimitScope,
    /// A provider's id, or a glob over a model's id and `provider/model`; absent where all requests count.
    #[serde(default)]
    #[specta(optional)]
    pub scope_value: Option<String>,
    #[specta(type = u32)]
    pub token_limit: u64,
    /// Its own period; the key's where absent.
    #[serde(default)]
    #[specta(optional)]
    pub reset_interval: Option<Interval>,
}

/// Which requests a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeyLimitScope {
    Model,
    Provider,
    Global,
}

/// One limit of a key, and how much of it is used in the present period.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyLimitUse {
    pub unit: KeyLimitUnit,
    pub scope_type: KeyLimitScope,
    pub scope_value: Option<String>,
    pub interval: Interval,
    /// US dollars or tokens.
    #[specta(type = u32)]
    pub limit: f64,
    /// In the same unit.
    #[specta(type = u32)]
    pub used: f64,
    /// Requests of this period whose price is not known: their dollars are not among those used.
    #[specta(type = u32)]
    pub unpriced_requests: u64,
    /// Beginning of the period.
    pub since: Instant,
    pub resets_at: Instant,
    pub level: KeyLimitLevel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeyLimitUnit {
    Usd,
    Tokens,
}

/// How near a limit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeyLimitLevel {
    Within,
    /// Past the key's warning threshold.
    Warning,
    /// Used up: the key is refused until the reset.
    Exceeded,
}
