//! Where a request for a model would go now (gateway specification, 6.1). Nothing is sent and nothing changes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use specta::Type;
use utoipa::{IntoParams, ToSchema};

use super::words_of_domain::Mechanism;
use super::{Breaker, Instant};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ExplainQuery {
    /// A model as an agent would name it.
    pub model: String,
    /// As if the agent presented this key: only its models and connections. Without restrictions when absent.
    #[specta(optional)]
    pub key_id: Option<String>,
    /// The session, as its client names it in a header. On a name that stands for one model it has an effect only while
    /// sessions stay with their account.
    #[specta(optional)]
    pub session_key: Option<String>,
    /// How many tools the request brings.
    #[specta(optional)]
    pub tools: Option<u32>,
    /// Whether it brings pictures. No effect on a name that stands for one model.
    #[specta(optional)]
    pub vision: Option<bool>,
    /// Its length in tokens. No effect on a name that stands for one model.
    #[specta(optional)]
    pub input_tokens: Option<u32>,
    /// The longest answer it wants, in tokens. No effect on a name that stands for one model.
    #[specta(optional)]
    pub output_tokens: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct ResilienceExplanation {
    pub route: RouteExplanation,
    /// In the order they would be tried, then those left out.
    pub targets: Vec<TargetExplanation>,
    /// What an agent would get now where it is not made to wait (resilience specification, 15); `null` while some account
    /// is available.
    pub answer: Option<ExpectedAnswer>,
}

/// What the name stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
pub struct RouteExplanation {
    pub kind: RouteKind,
    /// Which rule resolved the name: 1..=9 (gateway specification, 1.4).
    pub rule: u8,
    /// As it was asked for.
    pub name: String,
    /// The combo's; `single` when the name stands for one model, as in the header `X-OmniRoute-Decision`.
    pub strategy: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RouteKind {
    /// One provider and one model there.
    Direct,
    /// Several models under one name.
    Combo,
    /// Every model of every account, scored.
    Auto,
    /// A model of a quota pool.
    #[serde(rename = "quota-share")]
    QuotaShare,
}

/// A model at a provider, with the accounts that could serve it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetExplanation {
    /// 1 is tried first.
    pub position: u32,
    /// What its counters go by: `provider/model` when the name stands for one model.
    pub execution_key: String,
    pub provider: String,
    /// As the provider names it.
    pub model: String,
    /// The account that would be asked first; when none is available, the one that is back first. `null` without
    /// accounts.
    pub connection_id: Option<String>,
    /// Whether it would be tried: at least one account is available, and nothing of the request speaks against it.
    pub available: bool,
    /// Why it would not be tried, else `null`.
    pub exclusion: Option<ExclusionExplanation>,
    /// In the order of routing, those left out in their places.
    pub connections: Vec<ConnectionOutlook>,
    /// What a strategy that compares targets gave it; `null` under one that does not, and where it is left out.
    pub score: Option<f64>,
    /// Under `auto` what each factor adds to the score, else the figures that are compared, by name; `null` like it.
    pub factors: Option<BTreeMap<String, f64>>,
    /// The provider's.
    pub breaker: Breaker,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionOutlook {
    pub connection_id: String,
    pub connection_name: String,
    pub available: bool,
    /// Why it is not; `null` when it is.
    pub exclusion: Option<ExclusionExplanation>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExclusionExplanation {
    /// What says no.
    pub mechanism: Mechanism,
    /// A word of gateway specification, 3.7.
    pub reason: String,
    /// When asking again could give another answer; `null` when no waiting helps, like the next.
    pub until: Option<Instant>,
    #[specta(type = Option<u32>)]
    pub retry_after_ms: Option<u64>,
    pub cause: Option<ExclusionCause>,
}

/// What the upstream said when it came to this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
pub struct ExclusionCause {
    pub status: Option<u16>,
    /// One line, redacted.
    pub message: String,
    pub at: Instant,
}

/// The answer to a request that nobody can serve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExpectedAnswer {
    pub status: u16,
    /// `error.code` of the answer.
    pub code: String,
    /// Its `Retry-After`; `null` where the agent is not told to come back.
    #[specta(type = Option<u32>)]
    pub retry_after_seconds: Option<u64>,
}
