//! Accounts that several client keys share (gateway specification, 3.6 and 6.1).

use serde::{Deserialize, Serialize};
use specta::Type;
use utoipa::ToSchema;

use super::Instant;
use super::quota::QuotaWindow;
use super::words::present;
use super::words_of_domain::{QuotaPeriod, QuotaPolicy, QuotaUnit};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct QuotaPools {
    /// By name.
    pub pools: Vec<QuotaPool>,
    /// What subscriptions are known to limit.
    pub presets: Vec<QuotaPreset>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct QuotaPoolReply {
    pub pool: QuotaPool,
}

/// Accounts, how much of them there is to share, and who gets which part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuotaPool {
    pub id: String,
    pub name: String,
    /// Lower-case letters and digits: its models are reachable as `qtSd/<slug>/<provider>/<model>`.
    pub slug: String,
    /// Connection ids. One that was removed may stand here until it is gone for good.
    pub connections: Vec<String>,
    pub dimensions: Vec<QuotaDimension>,
    /// Empty: every key may use everything.
    pub allocations: Vec<QuotaAllocation>,
    pub created_at: Instant,
    pub updated_at: Instant,
}

/// How much there is to share in one window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QuotaDimension {
    pub unit: QuotaUnit,
    pub window: QuotaPeriod,
    /// In the unit, above 0; of `percent`, 100 is everything.
    #[specta(type = u32)]
    pub limit: f64,
}

/// One key's part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QuotaAllocation {
    pub api_key_id: String,
    /// From 0 upwards. Its share is its part of all weights.
    #[specta(type = u32)]
    pub weight: f64,
    /// Never more than this, however much is left; in the unit of the first dimension.
    #[serde(default)]
    #[specta(optional)]
    pub cap_value: Option<f64>,
    pub policy: QuotaPolicy,
}

/// What a provider's subscription is known to limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct QuotaPreset {
    /// Provider id.
    pub provider: String,
    pub dimensions: Vec<QuotaDimension>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QuotaPoolDraft {
    pub name: String,
    /// Made of the name when absent.
    #[specta(optional)]
    pub slug: Option<String>,
    /// Connection ids, at least one.
    pub connections: Vec<String>,
    /// Those that the subscriptions of its accounts are known to have when absent.
    #[specta(optional)]
    pub dimensions: Option<Vec<QuotaDimension>>,
    #[serde(default)]
    #[specta(optional)]
    pub allocations: Vec<QuotaAllocation>,
}

/// A change to a pool: absent members stay, `null` unsets.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct QuotaPoolChange {
    #[specta(optional)]
    pub name: Option<String>,
    #[specta(optional)]
    pub slug: Option<String>,
    #[specta(optional)]
    pub connections: Option<Vec<String>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<Vec<QuotaDimension>>)]
    #[schema(value_type = Option<Vec<QuotaDimension>>)]
    pub dimensions: Option<Option<Vec<QuotaDimension>>>,
    #[serde(deserialize_with = "present")]
    #[specta(optional, type = Option<Vec<QuotaAllocation>>)]
    #[schema(value_type = Option<Vec<QuotaAllocation>>)]
    pub allocations: Option<Option<Vec<QuotaAllocation>>>,
    /// As read; a pool that was changed meanwhile is refused.
    #[specta(optional)]
    pub updated_at: Option<Instant>,
}

/// How a pool stands now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuotaPoolState {
    pub pool: QuotaPool,
    pub dimensions: Vec<QuotaDimensionState>,
    /// Those that have a part of it, then those that used it without one.
    pub keys: Vec<QuotaKeyState>,
    pub accounts: Vec<QuotaAccountState>,
    /// Names that agents can ask for, as far as models are known.
    pub models: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuotaDimensionState {
    pub unit: QuotaUnit,
    pub window: QuotaPeriod,
    #[specta(type = u32)]
    pub limit: f64,
    /// By all keys, in the unit.
    #[specta(type = u32)]
    pub used: f64,
    /// The fraction that is used up according to the vendors; `null` where they do not say.
    pub measured: Option<f64>,
    /// Half of it is used up: policies decide who may exceed a share.
    pub strict: bool,
}

/// What one key used of a pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuotaKeyState {
    /// `null`: requests without a key.
    pub api_key_id: Option<String>,
    /// `null` when the key is gone.
    pub name: Option<String>,
    /// `null` for a key without a part.
    pub policy: Option<QuotaPolicy>,
    pub standing: QuotaStanding,
    /// When a refused key may ask again; `null`, never as things are.
    pub until: Option<Instant>,
    /// One for each dimension, in their order.
    pub uses: Vec<QuotaKeyUse>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuotaKeyUse {
    /// In the unit of the dimension.
    #[specta(type = u32)]
    pub used: f64,
    /// What it may use of it.
    #[specta(type = u32)]
    pub share: f64,
}

/// What a key is told that asks now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum QuotaStanding {
    /// It is served.
    Allowed,
    /// It is served and leaves room for those within their share.
    Lowered,
    /// 429.
    Refused,
}

/// How one account of a pool stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuotaAccountState {
    pub connection_id: String,
    pub provider: String,
    pub name: String,
    /// A window is used up: it is asked last.
    pub saturated: bool,
    pub windows: std::collections::BTreeMap<String, QuotaWindow>,
    /// Requests under way.
    pub in_flight: u32,
    /// Requests that may be under way at once; `null`, any number.
    pub max_concurrent: Option<u32>,
}
