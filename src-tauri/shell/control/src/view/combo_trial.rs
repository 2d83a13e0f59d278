//! What a combo would do, what its targets answer when they are asked by hand, and what they did (gateway specification,
//! 6.1).

use serde::{Deserialize, Serialize};
use serde_json::Value;
use specta::Type;
use utoipa::{IntoParams, ToSchema};

use super::words_of_domain::Strategy;
use super::{ComboChangeFields, ComboFields, ExclusionExplanation, ExpectedAnswer, Instant, ProbeProblem};

/// A combo, stored or not, and a request to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ComboPreview {
    pub combo: ComboSubject,
    /// A plain request when absent.
    #[serde(default)]
    #[specta(optional)]
    pub request: PreviewedRequest,
}

/// A draft, or the id of a stored combo: as text, or as `{"id"}` with or without members that are to be different; see
/// [`ComboSubjectFields`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(transparent)]
#[schema(value_type = ComboSubjectFields)]
pub struct ComboSubject(#[specta(type = ComboSubjectFields)] pub Value);

/// The members of a [`ComboSubject`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(untagged)]
pub enum ComboSubjectFields {
    Id(String),
    Stored(Box<StoredCombo>),
    Draft(Box<ComboFields>),
}

/// A stored combo, and beside its id the members that are to be different.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct StoredCombo {
    pub id: String,
    #[serde(flatten)]
    pub change: ComboChangeFields,
}

/// What is asked, as far as routing looks at it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PreviewedRequest {
    /// As if the agent presented this key; without restrictions when absent.
    #[specta(optional)]
    pub key_id: Option<String>,
    /// The session, as its client names it in a header.
    #[specta(optional)]
    pub session_key: Option<String>,
    /// How many tools the request brings.
    #[specta(optional)]
    pub tools: Option<u32>,
    /// Whether it brings pictures.
    #[specta(optional)]
    pub vision: Option<bool>,
    /// Its length in tokens.
    #[specta(optional)]
    pub input_tokens: Option<u32>,
    /// The longest answer it wants, in tokens.
    #[specta(optional)]
    pub output_tokens: Option<u32>,
}

/// What the combo would do. Nothing was sent, and nobody's turn was taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct ComboPreviewed {
    pub strategy: Strategy,
    /// In the order they would be asked, then those left out.
    pub targets: Vec<PreviewedTarget>,
    /// Steps, or parts of them, that lead nowhere now.
    pub skipped: Vec<SkippedStep>,
    /// What an agent would get now; `null` while somebody would be asked.
    pub answer: Option<ExpectedAnswer>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreviewedTarget {
    /// 1 is asked first.
    pub position: u32,
    pub execution_key: String,
    pub provider: String,
    pub model: String,
    /// The account that would be asked first; when none is available, the one that is back first.
    pub connection_id: Option<String>,
    pub connection_name: Option<String>,
    /// What put it where it stands; a target that is left out stands behind the others by its strategy.
    pub placed: PlacedBy,
    pub available: bool,
    /// Why it would not be asked.
    pub exclusion: Option<ExclusionExplanation>,
    /// What its strategy compares; `null` under one that compares nothing.
    pub score: Option<f64>,
    /// The parts of the score under `auto`; else all the figures that are compared.
    pub factors: Vec<PreviewedFactor>,
}

/// What put a target where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlacedBy {
    Strategy,
    /// The conversation was there.
    Session,
    /// The account knows the beginning of the prompt.
    PromptCache,
}

/// `share` is `value × weight`; both are `null` for a figure that is no part of a sum. Where nothing is `known`, the value is
/// the one that the unknown has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct PreviewedFactor {
    pub factor: String,
    pub value: f64,
    pub weight: Option<f64>,
    pub share: Option<f64>,
    pub known: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
pub struct SkippedStep {
    /// Ids of the step and of those around it, joined by `>`.
    pub step: String,
    /// `provider/model`, the name of a combo, or a pattern.
    pub what: String,
    /// `disabled`, `key_allow_list`, `unknown_provider`, `unknown_combo`, `combo_inactive`, `combo_cycle`, `combo_depth`,
    /// `combo_empty`, `no_connection`, `wildcard_empty`, `wildcard_cap`.
    pub reason: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ComboTest {
    /// What each target is told; a greeting when absent.
    #[specta(optional)]
    pub prompt: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
pub struct ComboTestResults {
    /// In the order of the combo's steps.
    pub results: Vec<ComboTestResult>,
}

/// What one target answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComboTestResult {
    pub execution_key: String,
    pub provider: String,
    pub model: String,
    /// `null` where no account may serve it.
    pub connection_id: Option<String>,
    pub ok: bool,
    /// `null` when no answer came.
    pub status: Option<u16>,
    #[specta(type = u32)]
    pub latency_ms: u64,
    /// The codes of a connection's test, and `no_connection`.
    pub error: Option<ProbeProblem>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct ComboMetricsQuery {
    /// From this instant on; a day ago when absent.
    #[specta(optional)]
    pub since: Option<Instant>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
pub struct ComboMetrics {
    /// Every combo, in its owner's order.
    pub combos: Vec<ComboMetric>,
}

/// What a combo did, by the request log: of each at most its 5 000 newest requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComboMetric {
    pub id: String,
    pub name: String,
    pub requests: u32,
    pub successes: u32,
    /// Those that a client left are neither.
    pub failures: u32,
    /// How long answered requests took, waits and failed attempts included; `null` without any.
    #[specta(type = Option<u32>)]
    pub p50_ms: Option<u64>,
    #[specta(type = Option<u32>)]
    pub p95_ms: Option<u64>,
    pub last_used_at: Option<Instant>,
    /// Those that were asked, by their key.
    pub targets: Vec<ComboTargetMetric>,
}

/// What one target did; its requests are attempts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComboTargetMetric {
    pub execution_key: String,
    pub provider: String,
    pub model: String,
    pub requests: u32,
    pub successes: u32,
    pub failures: u32,
    #[specta(type = Option<u32>)]
    pub p50_ms: Option<u64>,
    #[specta(type = Option<u32>)]
    pub p95_ms: Option<u64>,
    pub last_used_at: Option<Instant>,
}
