//! How an attempt ended. The type says who may be charged.

use serde::{Deserialize, Serialize};

use crate::{Millis, Usage};

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
    /// HTTP status after restatement; absent when the transport failed.
    pub status: Option<u16>,
    pub reason: Reason,
    /// What a rule or the fault itself says it concerns.
    pub scope: Scope,
    pub permanence: Permanence,
    pub breaker: BreakerCharge,
    /// How long the upstream asked us to stay away, and how far that is to be trusted.
    pub hint: Option<Hint>,
    pub cooldown: Cooldown,
    /// Time to the next local midnight, where a quota is exhausted and nobody said until when: the length of a model lock.
    pub quota_resets_in: Option<Millis>,
    /// What the client is told, which may differ from what we do ourselves.
    pub advertised_retry_after: Option<Millis>,
    /// Id of the catalogue's or the operator's rule that decided.
    pub rule: Option<String>,
    /// One line, already redacted.
    pub message: String,
    /// The client had already been given output: an answer that broke, not one that never came.
    pub after_output: bool,
}

impl Failure {
    /// A failure that says nothing beyond its status and kind: it lasts, cools and counts as the tables say.
    pub fn plain(status: Option<u16>, reason: Reason, message: &str) -> Self {
        Failure {
            status,
            reason,
            scope: Scope::Usual,
            permanence: Permanence::Temporary,
            breaker: BreakerCharge::None,
            hint: None,
            cooldown: Cooldown::Ladder,
            quota_resets_in: None,
            advertised_retry_after: None,
            rule: None,
            message: message.to_owned(),
            after_output: false,
        }
    }
}

impl Outcome {
    /// The same without a charge to the provider's breaker: whoever is asked next speaks for it. Not for who could not be
    /// reached at all: that is the provider's, whoever asks (resilience specification, 2.6).
    pub fn sparing_provider(mut self) -> Outcome {
        if let Outcome::Failure(failure) = &mut self
            && failure.reason != Reason::Unreachable
        {
            failure.breaker = BreakerCharge::None;
        }
        self
    }
}

/// What a failure concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// What status, provider and settings say (`resilience::failure::layers`).
    Usual,
    /// The account, by a rule whose scope is honoured.
    Connection,
    /// This model on this account, by a rule whose scope is honoured.
    Model,
    /// Nobody's health: it is only noted as the account's last error.
    Noted,
    /// The request or the gateway itself: nothing is written.
    Nobody,
}

/// Whether time heals it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permanence {
    Temporary,
    /// The upstream's words say the account is closed.
    Banned,
    /// Nothing is left to spend.
    CreditsExhausted,
    /// The credential is not accepted.
    Unauthorized,
    /// The upstream refused this one request; three in a row mean a ban (resilience specification, 7.5).
    RequestRejected,
}

/// What a failure costs the provider's circuit breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakerCharge {
    None,
    /// The service said it is unwell.
    Counts,
    /// The service could not be reached; several within ten seconds count once.
    Network,
}

/// How long the account or model is spared, before bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cooldown {
    /// The mechanism's own ladder.
    Ladder,
    /// The ladder, from a base that a rule declares.
    From(Millis),
    /// Exactly this long. Zero: not at all.
    Fixed(Millis),
}

/// A wait that the upstream announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    pub delay: Millis,
    pub provenance: Provenance,
}

/// Where a hint was read, which decides how far it is trusted (resilience specification, 5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// A header or `google.rpc.RetryInfo`: may exceed the operator's ceiling.
    Authoritative,
    /// Prose or other JSON: exact, but capped by the ceiling.
    Stated,
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
    /// 403 that names no known cause, or that refuses this account something.
    Forbidden,
    /// The account may not use this model.
    ModelAccessDenied,
    /// The upstream refused this one request of a signed-in account, as it does with clients it does not know.
    RequestRejected,
    /// The request is larger than the model's window.
    ContextOverflow,
    /// The stream stayed alive but brought no output within its budget.
    ContentStall,
    /// A good status, then the end, and nothing between.
    EarlyEof,
    /// A status that says nothing to anybody, without a text that does.
    Unknown,
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

impl Failure {
    /// The stored category `lastErrorType` (resilience specification, 6.7).
    pub const fn category(&self) -> &'static str {
        match self.permanence {
            Permanence::Banned => "account_deactivated",
            Permanence::Temporary
            | Permanence::CreditsExhausted
            | Permanence::Unauthorized
            | Permanence::RequestRejected => self.reason.category(),
        }
    }
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
            Reason::Forbidden => "forbidden",
            Reason::ModelAccessDenied => "model_access_denied",
            Reason::RequestRejected => "request_rejected",
            Reason::ContextOverflow => "context_overflow",
            Reason::ContentStall => "content_stall",
            Reason::EarlyEof => "early_eof",
            Reason::Unknown => "unknown",
        }
    }

    /// Whether what was caused by it ends soon by itself: a limit, or a service that is unwell (resilience specification,
    /// 15.2). What needs its owner, such as a certificate that does not hold, does not, and what nobody can explain counts as
    /// if it did not.
    pub const fn passes_soon(self) -> bool {
        match self {
            Reason::RateLimit
            | Reason::ServerError
            | Reason::Overloaded
            | Reason::Unreachable
            | Reason::ConnectionReset
            | Reason::ResponseStartTimeout
            | Reason::StreamIdleTimeout
            | Reason::StreamCut
            | Reason::EmptyOrGarbled
            | Reason::ContentStall
            | Reason::EarlyEof => true,
            Reason::Auth
            | Reason::Unknown
            | Reason::QuotaExhausted
            | Reason::ModelNotFound
            | Reason::Tls
            | Reason::InvalidRequest
            | Reason::Forbidden
            | Reason::ModelAccessDenied
            | Reason::RequestRejected
            | Reason::ContextOverflow => false,
        }
    }

    /// The stored category `lastErrorType` (resilience specification, 6.7).
    pub const fn category(self) -> &'static str {
        match self {
            Reason::Auth => "unauthorized",
            Reason::QuotaExhausted => "quota_exhausted",
            Reason::RateLimit => "rate_limited",
            Reason::ModelNotFound => "model_not_found",
            Reason::Forbidden | Reason::ModelAccessDenied => "forbidden",
            Reason::RequestRejected => "request_rejected",
            Reason::ContextOverflow => "context_overflow",
            Reason::EmptyOrGarbled => "empty_content",
            Reason::ServerError
            | Reason::Overloaded
            | Reason::Unreachable
            | Reason::ConnectionReset
            | Reason::Tls
            | Reason::ResponseStartTimeout
            | Reason::StreamIdleTimeout
            | Reason::StreamCut
            | Reason::InvalidRequest
            | Reason::ContentStall
            | Reason::EarlyEof
            | Reason::Unknown => "server_error",
        }
    }
}
