//! The story of one request, as the Requests screen tells it (gateway specification, 5.6 and 6.4).

use serde::{Deserialize, Serialize};

use crate::{
    Candidate, ClientKeyId, ConnectionId, Dialect, Exclusion, Millis, ProviderId, RequestId, Timestamp, Usage,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestOutcome {
    Success,
    Failure,
    /// The client left.
    Aborted,
}

/// What a request and its answer said, where their owner wants it kept; redacted, and of great length only the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptBodies {
    pub request: Option<String>,
    pub response: Option<String>,
}

/// One finished request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestRecord {
    pub id: RequestId,
    /// When it arrived.
    pub at: Timestamp,
    pub method: String,
    /// Normalised path without query.
    pub path: String,
    pub source: Dialect,
    /// The dialect the upstream spoke; absent when nobody was asked.
    pub target: Option<Dialect>,
    /// What the client was answered; 499 when it had gone.
    pub status: u16,
    pub outcome: RequestOutcome,
    pub stream: bool,
    pub requested_model: String,
    pub provider: Option<ProviderId>,
    pub model: Option<String>,
    pub connection: Option<ConnectionId>,
    pub connection_name: Option<String>,
    pub key: Option<ClientKeyId>,
    pub key_name: Option<String>,
    /// Program that asked, from its User-Agent: `claude-cli`, `codex`, …
    pub agent: Option<String>,
    pub duration: Millis,
    /// To the first text, tool call or reasoning.
    pub time_to_first_token: Option<Millis>,
    pub usage: Usage,
    /// US dollars at the prices of that day; absent when the model has no known price.
    pub cost: Option<f64>,
    pub error_code: Option<String>,
    /// One line, redacted.
    pub error_summary: Option<String>,
    pub session_tag: Option<String>,
    /// The combo that was asked, and how it chose.
    #[serde(default)]
    pub combo_name: Option<String>,
    #[serde(default)]
    pub strategy: Option<String>,
    pub trace: Trace,
}

/// How the answer came about: plan, attempts, what was left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Trace {
    /// Which rule of gateway specification 1.4 resolved the name.
    pub rule: Option<u8>,
    pub attempts: Vec<AttemptRecord>,
    pub exclusions: Vec<ExclusionRecord>,
    /// Short codes of what was changed on the way.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptRecord {
    /// 1 for the first.
    pub n: u32,
    pub provider: ProviderId,
    pub model: String,
    pub connection: ConnectionId,
    pub connection_name: String,
    pub started_at: Timestamp,
    pub queued: Millis,
    /// The step of the combo, and the account where the step names one; absent outside combos.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_key: Option<String>,
    /// To the response head.
    pub connect: Option<Millis>,
    pub first_token: Option<Millis>,
    pub duration: Millis,
    pub status: Option<u16>,
    /// `success`, or the kind of failure.
    pub kind: String,
    /// What was done next: `answer`, `next_connection`, `stop`.
    pub decision: String,
    /// One line, redacted.
    pub message: Option<String>,
    /// What it consumed, where several calls of the request did; else its row says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What that cost, where its model has a known price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// What one call of a request consumed, and of whom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Consumption<'r> {
    /// The number of its attempt, where several calls consumed something.
    pub n: Option<u32>,
    pub provider: Option<&'r ProviderId>,
    pub model: Option<&'r str>,
    pub connection: Option<&'r ConnectionId>,
    pub connection_name: Option<&'r str>,
    pub usage: &'r Usage,
    pub cost: Option<f64>,
}

impl RequestRecord {
    /// What it consumed, call by call: a panel or a chain asks several, each at its own price and perhaps on a subscription.
    pub fn consumption(&self) -> impl Iterator<Item = Consumption<'_>> {
        let calls = || {
            self.trace.attempts.iter().filter_map(|attempt| {
                Some(Consumption {
                    n: Some(attempt.n),
                    provider: Some(&attempt.provider),
                    model: Some(&attempt.model),
                    connection: Some(&attempt.connection),
                    connection_name: Some(&attempt.connection_name),
                    usage: attempt.usage.as_ref()?,
                    cost: attempt.cost,
                })
            })
        };
        let whole = Consumption {
            n: None,
            provider: self.provider.as_ref(),
            model: self.model.as_deref(),
            connection: self.connection.as_ref(),
            connection_name: self.connection_name.as_deref(),
            usage: &self.usage,
            cost: self.cost,
        };
        let whole = calls().next().is_none().then_some(whole);
        whole.into_iter().chain(calls())
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExclusionRecord {
    pub provider: ProviderId,
    pub model: String,
    pub connection: Option<ConnectionId>,
    pub connection_name: Option<String>,
    pub exclusion: Exclusion,
}

impl ExclusionRecord {
    /// An account that is not asked.
    pub fn of(candidate: &Candidate, connection_name: Option<String>, exclusion: Exclusion) -> Self {
        ExclusionRecord {
            provider: candidate.provider.clone(),
            model: candidate.model.clone(),
            connection: Some(candidate.connection.clone()),
            connection_name,
            exclusion,
        }
    }
}
