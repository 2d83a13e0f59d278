//! What is left of accounts, and how it became less (gateway specification, 5.1 and 6.1).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use specta::Type;
use utoipa::{IntoParams, ToSchema};

use super::Instant;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct QuotaFilter {
    /// Provider id.
    #[specta(optional)]
    pub provider: Option<String>,
}

/// Whose quota to ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct QuotaRefresh {
    /// All that are switched on and can be used, when absent.
    #[specta(optional)]
    pub connection_ids: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct QuotaStatus {
    /// By provider, then priority.
    pub connections: Vec<QuotaConnection>,
}

/// What is known of one account. Unknown is `null` or absent, never zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuotaConnection {
    pub connection_id: String,
    pub provider: String,
    /// The vendor's name for what the account has booked.
    pub plan: Option<String>,
    /// Who said it; `null` when nobody has said anything.
    pub source: Option<QuotaSource>,
    pub fetched_at: Option<Instant>,
    /// The vendor refuses further requests.
    pub limit_reached: bool,
    /// `session`, `daily`, `weekly`, `monthly`, `7d:<model>`, `requests`, `tokens`, …
    pub windows: BTreeMap<String, QuotaWindow>,
    /// By model, where the vendor counts models apart.
    pub models: BTreeMap<String, QuotaWindow>,
    pub balances: Vec<QuotaBalance>,
    /// Whether its vendor can be asked; otherwise its replies announce what they announce.
    pub can_refresh: bool,
    /// Why nothing is known, or why asking was in vain.
    pub message: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuotaWindow {
    /// A fraction, 0 to 1. A window whose reset has passed is full again.
    pub percent_used: Option<f64>,
    pub reset_at: Option<Instant>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct QuotaBalance {
    /// `USD`, `CNY`, `credits`, …
    pub currency: String,
    pub remaining: f64,
    pub total: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum QuotaSource {
    Endpoint,
    Headers,
    Learned,
    Manual,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct QuotaHistoryQuery {
    pub connection_id: String,
    /// From this instant on; a day ago when absent. Fourteen days are kept.
    #[specta(optional)]
    pub since: Option<Instant>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct QuotaHistory {
    /// By window, then time: at most one for every five minutes in which something changed.
    pub points: Vec<QuotaPoint>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuotaPoint {
    pub window: String,
    pub at: Instant,
    /// A fraction, 0 to 1.
    pub percent_used: f64,
    pub reset_at: Option<Instant>,
}
