//! The request log: rows for the list, and the story of one request (gateway specification, 5.6 and 6.4).

use domain::request_log::ExclusionRecord;
use serde::{Deserialize, Serialize};
use specta::Type;
use utoipa::{IntoParams, ToSchema};

use super::words_of_domain::{Dialect, Mechanism};
use super::{ExclusionCause, Instant};
use crate::explain;

pub use super::words_of_domain::RequestOutcome;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Requests {
    /// Newest first.
    pub requests: Vec<RequestRow>,
    pub next_cursor: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestRow {
    pub id: String,
    pub timestamp: Instant,
    pub method: String,
    pub path: String,
    pub source_format: Dialect,
    /// `null` when nobody was asked.
    pub target_format: Option<Dialect>,
    /// What the client was answered; 499 when it had gone.
    pub status: u16,
    pub outcome: RequestOutcome,
    pub stream: bool,
    pub requested_model: String,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub connection_id: Option<String>,
    pub connection_name: Option<String>,
    pub combo_name: Option<String>,
    pub strategy: Option<String>,
    pub key_id: Option<String>,
    pub key_name: Option<String>,
    /// Program that asked, from its User-Agent.
    pub agent: Option<String>,
    pub attempts: u32,
    #[specta(type = u32)]
    pub duration_ms: u64,
    /// To the first text, tool call or reasoning.
    #[specta(type = Option<u32>)]
    pub ttft_ms: Option<u64>,
    #[specta(type = Option<u32>)]
    pub tokens_input: Option<u64>,
    #[specta(type = Option<u32>)]
    pub tokens_output: Option<u64>,
    #[specta(type = Option<u32>)]
    pub tokens_cache_read: Option<u64>,
    #[specta(type = Option<u32>)]
    pub tokens_cache_creation: Option<u64>,
    #[specta(type = Option<u32>)]
    pub tokens_reasoning: Option<u64>,
    pub estimated: bool,
    /// US dollars; `null` when no price is known.
    pub cost: Option<f64>,
    pub error_code: Option<String>,
    pub error_summary: Option<String>,
    pub session_tag: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestDetail {
    #[serde(flatten)]
    pub row: RequestRow,
    pub trace: RequestTrace,
    /// What was asked, redacted, where bodies are kept (`logging.detailed`).
    pub request_body: Option<String>,
    /// What was answered, likewise; of a stream the whole answer that it told.
    pub response_body: Option<String>,
}

/// How the answer came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
pub struct RequestTrace {
    /// Which rule of gateway specification 1.4 resolved the model's name.
    pub rule: Option<u8>,
    /// Targets in the order in which they were asked: `provider/model`.
    pub order: Vec<String>,
    pub attempts: Vec<RequestAttempt>,
    pub exclusions: Vec<RequestExclusion>,
    /// Short codes of what was changed on the way.
    pub changes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestAttempt {
    /// 1 for the first.
    pub n: u32,
    pub provider: String,
    pub model: String,
    pub connection_id: String,
    pub connection_name: String,
    /// The step of the combo, and the account where the step names one.
    pub execution_key: Option<String>,
    pub started_at: Instant,
    #[specta(type = u32)]
    pub queued_ms: u64,
    /// To the response head.
    #[specta(type = Option<u32>)]
    pub connect_ms: Option<u64>,
    #[specta(type = Option<u32>)]
    pub first_token_ms: Option<u64>,
    #[specta(type = u32)]
    pub duration_ms: u64,
    pub status: Option<u16>,
    /// `success`, or the kind of failure.
    pub kind: String,
    /// What was done next: `answer`, `next_connection`, `stop`.
    pub decision: String,
    /// One line, redacted.
    pub message: Option<String>,
    /// What it consumed, where several calls of the request did (a panel, a chain); else the request's row says so.
    #[specta(type = Option<u32>)]
    pub tokens_input: Option<u64>,
    #[specta(type = Option<u32>)]
    pub tokens_output: Option<u64>,
    /// US dollars, where the price of its model is known.
    pub cost: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Type, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestExclusion {
    pub provider: String,
    pub model: String,
    pub connection_id: Option<String>,
    pub connection_name: Option<String>,
    pub mechanism: Mechanism,
    pub reason: String,
    pub until: Option<Instant>,
    pub cause: Option<ExclusionCause>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Type, ToSchema, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct RequestFilter {
    /// 1..=500, 100 when absent.
    #[specta(optional)]
    pub limit: Option<u32>,
    /// `nextCursor` of the page before.
    #[specta(optional)]
    pub cursor: Option<String>,
    #[specta(optional)]
    pub status: Option<u16>,
    #[specta(optional)]
    pub outcome: Option<RequestOutcome>,
    #[specta(optional)]
    pub provider: Option<String>,
    #[specta(optional)]
    pub model: Option<String>,
    #[specta(optional)]
    pub connection_id: Option<String>,
    #[specta(optional)]
    pub key_id: Option<String>,
    #[specta(optional)]
    pub session: Option<String>,
    /// Name of a combo.
    #[specta(optional)]
    pub combo: Option<String>,
    /// From this instant on.
    #[specta(optional)]
    pub since: Option<Instant>,
    /// Before this instant.
    #[specta(optional)]
    pub until: Option<Instant>,
    /// Text found in model, connection, key, agent or error.
    #[specta(optional)]
    pub text: Option<String>,
}

/// What to delete: exactly one of the two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RequestsDeletion {
    #[specta(optional)]
    pub all: Option<bool>,
    /// Everything that arrived before this instant.
    #[specta(optional)]
    pub before: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
pub struct RequestsDeleted {
    #[specta(type = u32)]
    pub deleted: u64,
}

impl From<ExclusionRecord> for RequestExclusion {
    fn from(record: ExclusionRecord) -> Self {
        RequestExclusion {
            provider: record.provider.to_string(),
            model: record.model,
            connection_id: record.connection.map(|id| id.to_string()),
            connection_name: record.connection_name,
            mechanism: record.exclusion.mechanism.into(),
            reason: record.exclusion.reason,
            until: record.exclusion.until.map(Instant::from),
            cause: record.exclusion.cause.map(explain::cause),
        }
    }
}
