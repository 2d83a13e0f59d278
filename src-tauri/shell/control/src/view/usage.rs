//! What was consumed, in groups.

use serde::{Deserialize, Serialize};
use specta::Type;
use utoipa::{IntoParams, ToSchema};

use super::Instant;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct UsageQuery {
    /// From this instant on; 30 days ago when absent.
    #[specta(optional)]
    pub since: Option<Instant>,
    /// Before this instant; now when absent.
    #[specta(optional)]
    pub until: Option<Instant>,
    /// `day` when absent.
    #[specta(optional)]
    pub group_by: Option<UsageGroupBy>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum UsageGroupBy {
    /// Days in UTC.
    #[default]
    Day,
    Provider,
    Model,
    Key,
    Connection,
    Combo,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct UsageSummary {
    pub since: Instant,
    pub until: Instant,
    pub groups: Vec<UsageGroup>,
    /// All groups together.
    pub totals: UsageGroup,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageGroup {
    /// Day (UTC), provider, `provider/model`, key id, connection id or name of a combo; `null` for requests that have
    /// none, and in the totals.
    pub group: Option<String>,
    /// The latest name of a key or connection.
    pub name: Option<String>,
    #[specta(type = u32)]
    pub requests: u64,
    #[specta(type = u32)]
    pub successes: u64,
    #[specta(type = u32)]
    pub failures: u64,
    /// The client left.
    #[specta(type = u32)]
    pub aborted: u64,
    /// Cached tokens included.
    #[specta(type = u32)]
    pub tokens_input: u64,
    #[specta(type = u32)]
    pub tokens_output: u64,
    #[specta(type = u32)]
    pub tokens_cache_read: u64,
    #[specta(type = u32)]
    pub tokens_cache_creation: u64,
    #[specta(type = u32)]
    pub tokens_reasoning: u64,
    /// US dollars at list prices; requests without a known price count as nothing.
    #[specta(type = u32)]
    pub cost: f64,
}
