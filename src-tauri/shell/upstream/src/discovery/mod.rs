//! Asking a provider what it offers, and testing a connection.
//!
//! A person who presses "Test connection" wants one of two answers: it works, or *this* is wrong and *that* mends it. So
//! the test goes as far as it must and no further:
//!
//! 1. **The model list.** Free of charge, and enough to find an unreachable host, a wrong path or a refused key.
//! 2. **One token**, only where the list does not settle it: a model was named, the server has no list, its list looks
//!    like another dialect's, or the list is public and so says nothing about the key.
//!
//! Nothing here changes the health of a connection, and all of it ends at one deadline of the injected clock.

mod answer;
mod exchange;
mod probe;
mod usage;
mod verdict;

use std::fmt;

pub use dialects::models::ListedModel;
use domain::{Clock, Millis};

pub use probe::{probe, probe_saying};
pub use usage::usage;

use crate::target::Target;
use crate::transport::Transport;
use exchange::{ModelList, Session};

/// What a test of a connection found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeReport {
    pub ok: bool,
    /// HTTP status of the last answer; absent when none came.
    pub status: Option<u16>,
    /// From the first byte sent to the verdict.
    pub latency: Millis,
    /// The model that generated a token, where one was asked.
    pub model: Option<String>,
    /// How many models the server lists; absent when it has no list.
    pub models: Option<usize>,
    /// Present exactly when not `ok`.
    pub error: Option<ProbeError>,
}

/// What is wrong, and in `message` what to do about it. Free of secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeError {
    pub code: ProbeCode,
    pub status: Option<u16>,
    pub message: String,
}

/// Stable words for what a test can find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeCode {
    Dns,
    Refused,
    /// No route to the network or host.
    Unreachable,
    /// The connection was closed before or within the answer.
    Reset,
    Tls,
    Timeout,
    Proxy,
    AddressRefused,
    /// What is stored for the connection cannot become a request.
    InvalidConfiguration,
    Unauthorized,
    /// 402: the key works, the account cannot pay.
    NoCredit,
    Forbidden,
    WrongPath,
    WrongDialect,
    NoModels,
    ModelNotFound,
    RateLimited,
    ServerError,
    /// The server understood and refused for a reason of its own.
    InvalidRequest,
}

impl ProbeCode {
    pub const fn as_str(self) -> &'static str {
        match self {
            ProbeCode::Dns => "dns",
            ProbeCode::Refused => "refused",
            ProbeCode::Unreachable => "unreachable",
            ProbeCode::Reset => "reset",
            ProbeCode::Tls => "tls",
            ProbeCode::Timeout => "timeout",
            ProbeCode::Proxy => "proxy",
            ProbeCode::AddressRefused => "address_refused",
            ProbeCode::InvalidConfiguration => "invalid_configuration",
            ProbeCode::Unauthorized => "unauthorized",
            ProbeCode::NoCredit => "no_credit",
            ProbeCode::Forbidden => "forbidden",
            ProbeCode::WrongPath => "wrong_path",
            ProbeCode::WrongDialect => "wrong_dialect",
            ProbeCode::NoModels => "no_models",
            ProbeCode::ModelNotFound => "model_not_found",
            ProbeCode::RateLimited => "rate_limited",
            ProbeCode::ServerError => "server_error",
            ProbeCode::InvalidRequest => "invalid_request",
        }
    }
}

impl fmt::Display for ProbeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The models the provider lists for this account, within `timeout`.
///
/// An empty list is an answer, not an error. A server without a list is [`ProbeCode::NoModels`].
pub async fn models(
    transport: &dyn Transport,
    target: &Target,
    clock: &dyn Clock,
    timeout: Millis,
) -> Result<Vec<ListedModel>, ProbeError> {
    let mut session = Session::new(transport, target);
    let listing = async {
        match session.list().await? {
            ModelList::Listed { models, .. } => Ok(models),
            ModelList::Missing(answer) => Err(verdict::no_list(target, &answer)),
        }
    };
    match exchange::within(clock, timeout, listing).await {
        Some(outcome) => outcome,
        None => Err(verdict::late(target, timeout)),
    }
}
