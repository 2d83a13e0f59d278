//! The last answer of a request that nobody served: `routing::exhaustion` decides, this file finds the words.

use std::fmt::Write;

use domain::wire::code;
use domain::{Dialect, Mechanism, Operation};
use http::StatusCode;
use routing::exhaustion::Answer;
use routing::{Journey, Resolved};

use crate::error::{Blame, GatewayError};

const LISTED: usize = 5;

/// What the client is told.
pub(crate) fn answer(journey: &Journey, resolved: &Resolved, provider: &str, operation: Operation) -> GatewayError {
    let decided = routing::exhaustion::answer(journey);
    let blame = if journey.failures().next().is_some() { Blame::Upstream } else { Blame::Local };
    let status = StatusCode::from_u16(decided.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let message = message(&decided, journey, resolved, provider, operation.dialect());
    GatewayError {
        blame,
        code: decided.code,
        status,
        message,
        retry_after: decided.retry_after,
        should_retry: decided.should_retry,
    }
}

/// An upstream found fault with the request itself, in words that cannot be passed on as they are.
pub(crate) fn refused(provider: &str, status: Option<StatusCode>, message: &str) -> GatewayError {
    let status = status.unwrap_or(StatusCode::BAD_REQUEST);
    let code = routing::exhaustion::code_of(status.as_u16());
    GatewayError::new(Blame::Client, status, code, format!("{provider} refused the request: {message}"))
}

fn message(decided: &Answer, journey: &Journey, resolved: &Resolved, provider: &str, dialect: Dialect) -> String {
    match decided.code {
        code::UPSTREAM_AUTH_FAILED => {
            let labels: Vec<&str> = journey.attempts.iter().map(|attempt| attempt.connection_name.as_str()).collect();
            format!(
                "{provider} refused the credential of {}: reconnect it in OmniRoute under Providers",
                quoted(&labels)
            )
        }
        code::NO_EXECUTABLE_TARGETS => {
            format!("no connection to {provider} exists: add one in OmniRoute under Providers")
        }
        code::ALL_ACCOUNTS_INACTIVE => {
            format!("every connection to {provider} is switched off: switch one on in OmniRoute under Providers")
        }
        code::DIALECT_NOT_SUPPORTED => format!(
            "{provider} does not serve `{}` in {}, the format this request is written in: ask for a model of a provider that \
             speaks it, or point the agent at its own format",
            resolved.model,
            dialect.label()
        ),
        code::PERMISSION_DENIED => {
            format!("this local key may not use any connection to {provider}: allow one under Settings → API Keys")
        }
        _ if journey.attempts.is_empty() => {
            let mut text = format!("no connection to {provider} can take this request now");
            for record in journey.exclusions.iter().take(LISTED) {
                let _ = write!(text, "; {}", excluded(record.exclusion.mechanism));
            }
            text
        }
        _ => attempted(journey, provider),
    }
}

fn attempted(journey: &Journey, provider: &str) -> String {
    let mut text = format!("{provider} did not answer");
    for attempt in journey.attempts.iter().take(LISTED) {
        let _ = write!(text, "; {}: {}", attempt.model, attempt.kind);
        if let Some(message) = attempt.message.as_deref().filter(|message| !message.is_empty()) {
            let _ = write!(text, " — {message}");
        }
        if let Some(status) = attempt.status {
            let _ = write!(text, " (HTTP {status})");
        }
    }
    text
}

fn excluded(mechanism: Mechanism) -> &'static str {
    match mechanism {
        Mechanism::SwitchedOff => "one is switched off",
        Mechanism::KeyAllowList => "one is not allowed for this local key",
        Mechanism::ExcludedModel => "one excludes this model",
        Mechanism::CredentialGate => "one has no usable credential",
        Mechanism::RequestExhaustion => "one already failed in this request",
        Mechanism::ConcurrencyCap => "one is at its limit of parallel requests",
        Mechanism::DialectMismatch => "one speaks another format",
        Mechanism::CircuitBreaker => "the provider is out after too many failures",
        Mechanism::ProviderCooldown => "one failed in earlier requests",
        Mechanism::ConnectionCooldown => "one is cooling",
        Mechanism::TerminalState => "one needs its owner",
        Mechanism::ModelLockout => "one has this model locked",
    }
}

fn quoted(labels: &[&str]) -> String {
    let mut distinct: Vec<&str> = labels.to_vec();
    distinct.dedup();
    match distinct.as_slice() {
        [only] => format!("the connection “{only}”"),
        many => format!(
            "{} connections ({})",
            many.len(),
            many.iter().take(LISTED).map(|label| format!("“{label}”")).collect::<Vec<_>>().join(", ")
        ),
    }
}
