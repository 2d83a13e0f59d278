//! How an attempt ended. The type says who may be charged.

use serde::{Deserialize, Serialize};

use crate::{Millis, Timestamp, Usage};

#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Success(Success),
    /// The upstream's doing. Only this arm can hurt anyone's health.
    Failure(Failure),
    /// The client left, a local limit refused, the request itself was wrong: give back what was held, count nothing.
    Neutral(Neutral),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Success {
    pub usage: Usage,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// HTTP status; absent when the transport failed.
    pub status: Option<u16>,
    pub reason: Reason,
    /// How long the upstream asked us to stay away, as told to the client.
    pub advertised_retry_after: Option<Millis>,
    /// Until when we stay away ourselves.
    pub until: Option<Timestamp>,
    /// One line, already redacted.
    pub message: String,
}

/// What kind of failure it was. Words for logs, screens and metrics: see [`Reason::kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// 401 or 403 about the account.
    Auth,
    /// 402, or a quota text.
    QuotaExhausted,
    RateLimit,
    /// 404 or a text that says the model does not exist here.
    ModelNotFound,
    ServerError,
    Overloaded,
    /// The name could not be resolved, or nobody listens.
    Unreachable,
    /// The connection was reset or closed before an answer.
    ConnectionReset,
    Tls,
    /// No response head within the limit.
    ResponseStartTimeout,
    /// The stream went silent.
    StreamIdleTimeout,
    /// The stream ended before its terminal event.
    StreamCut,
    /// A 200 that carries nothing useful, or something that is not of the dialect.
    EmptyOrGarbled,
    /// 400 and other refusals of the request that nobody else would accept either.
    InvalidRequest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Neutral {
    /// The client went away.
    ClientAborted,
    /// The guard was dropped without a verdict: panic, shutdown.
    Abandoned,
    /// The upstream refused the request as malformed; another would too.
    InvalidRequest,
    /// A limit of this gateway refused.
    LocalLimit,
}

impl Reason {
    pub const fn kind(self) -> &'static str {
        match self {
            Reason::Auth => "auth",
            Reason::QuotaExhausted => "quota_exhausted",
            Reason::RateLimit => "rate_limit",
            Reason::ModelNotFound => "model_not_found",
            Reason::ServerError => "server_error",
            Reason::Overloaded => "overloaded",
            Reason::Unreachable => "unreachable",
            Reason::ConnectionReset => "connection_reset",
            Reason::Tls => "tls",
            Reason::ResponseStartTimeout => "response_start_timeout",
            Reason::StreamIdleTimeout => "stream_idle_timeout",
            Reason::StreamCut => "stream_cut",
            Reason::EmptyOrGarbled => "empty_or_garbled",
            Reason::InvalidRequest => "invalid_request",
        }
    }
}
