//! The last answer of a request that nobody served: `routing::exhaustion` decides, this file finds the words.

use std::fmt::Write;

use domain::request_log::AttemptRecord;
use domain::wire::code;
use domain::{Dialect, Mechanism, Millis, Timestamp};
use http::StatusCode;
use resilience::LocalLimit;
use routing::exhaustion::Answer;
use routing::{Journey, Resolved};
use serde_json::{Map, Value, json};

use crate::error::{Blame, GatewayError};

const LISTED: usize = 5;

/// What was asked, and of whom.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) resolved: &'a Resolved,
    /// As it is called on the screen.
    pub(crate) provider: &'a str,
    pub(crate) dialect: Dialect,
    /// Tools that the request brings.
    pub(crate) tools: u32,
    /// Tools that the provider takes, where that is known.
    pub(crate) tool_limit: Option<u32>,
    /// Every account is kept away by now, and the first is back then.
    pub(crate) back_at: Option<Timestamp>,
}

/// What the client is told.
pub(crate) fn answer(journey: &Journey, asked: &Asked<'_>, now: Timestamp) -> GatewayError {
    let decided = routing::exhaustion::answer(journey, asked.back_at, now);
    if let (code::TOOL_LIMIT_EXCEEDED, Some(limit)) = (decided.code, asked.tool_limit) {
        return too_many_tools(asked.provider, limit, asked.tools);
    }
    let blame = if journey.failures().next().is_some() { Blame::Upstream } else { Blame::Local };
    let status = StatusCode::from_u16(decided.status).unwrap_or(StatusCode::BAD_GATEWAY);
    GatewayError {
        retry_after: decided.retry_after,
        should_retry: decided.should_retry,
        details: details(&decided, asked.resolved).map(Box::new),
        breaker_open: decided.code == code::PROVIDER_CIRCUIT_OPEN,
        ..GatewayError::new(blame, status, decided.code, message(&decided, journey, asked))
    }
}

/// The members that go with some codes (resilience specification, 2.7 and 4.8).
fn details(decided: &Answer, resolved: &Resolved) -> Option<Map<String, Value>> {
    let seconds = decided.retry_after.map(Millis::as_retry_after_seconds);
    let members = match decided.code {
        code::PROVIDER_CIRCUIT_OPEN => json!({ "provider": resolved.provider, "retry_after": seconds }),
        code::MODEL_COOLDOWN => {
            let cooling = decided.cooling.as_ref()?;
            json!({
                "model": resolved.model,
                "reset_seconds": seconds,
                "retry_after": iso(cooling.until),
                "credentials_cooling": cooling.connections,
            })
        }
        _ => return None,
    };
    match members {
        Value::Object(members) => Some(members),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}

pub(crate) fn iso(at: Timestamp) -> String {
    let millis = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX).to_string()
}

/// An upstream found fault with the request itself, in words that cannot be passed on as they are.
pub(crate) fn refused(provider: &str, status: Option<StatusCode>, message: &str) -> GatewayError {
    let status = status.unwrap_or(StatusCode::BAD_REQUEST);
    let code = code::of_status(status.as_u16());
    GatewayError::new(Blame::Client, status, code, format!("{provider} refused the request: {message}"))
}

/// The request brings more tools than it may (specification's decision 5).
pub(crate) fn too_many_tools(provider: &str, limit: u32, tools: u32) -> GatewayError {
    let message = format!("the request brings {tools} tools, and {provider} takes at most {limit}: send fewer");
    GatewayError::new(Blame::Client, StatusCode::BAD_REQUEST, code::TOOL_LIMIT_EXCEEDED, message)
}

/// The request could not leave this computer; a proxy may be back in a moment (resilience specification, 2.6).
pub(crate) fn kept_here(provider: &str, message: &str) -> GatewayError {
    let message = format!("the request to {provider} could not be sent: {message}");
    GatewayError {
        retry_after: Some(Millis::seconds(2)),
        ..GatewayError::new(Blame::Local, StatusCode::SERVICE_UNAVAILABLE, code::SERVICE_UNAVAILABLE, message)
    }
}

/// A limit of this gateway's own was reached (resilience specification, 14.3 and 16).
pub(crate) fn turned_away(limit: &LocalLimit) -> GatewayError {
    let message = match limit {
        LocalLimit::GateFull(_) => {
            "too many requests wait for a place at this account: send fewer at once, or raise its limit"
        }
        LocalLimit::GateTimeout(_) => {
            "no place became free at this account in time: send fewer at once, or raise its limit"
        }
        LocalLimit::QueueFull => "too many requests wait in this account's queue: send fewer, or raise maxQueueDepth",
        LocalLimit::QueueTimeout => {
            "the request waited in this account's queue for as long as it may: send fewer, or raise maxWaitMs"
        }
        LocalLimit::QueueWedged => "this account's queue stood still: try again",
        LocalLimit::ExecutionTimeout => {
            "the request took longer than this account's queue allows: raise executionMaxWaitMs"
        }
    };
    let status = StatusCode::from_u16(limit.status()).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    GatewayError {
        retry_after: Some(Millis::seconds(1)),
        ..GatewayError::new(Blame::Local, status, limit.code(), message)
    }
}

fn message(decided: &Answer, journey: &Journey, asked: &Asked<'_>) -> String {
    let Asked { resolved, provider, dialect, .. } = *asked;
    match decided.code {
        code::UPSTREAM_AUTH_FAILED => {
            let tried = own_attempts(journey, resolved).map(|attempt| attempt.connection_name.as_str());
            let spared = journey.exclusions.iter().filter_map(|record| record.connection_name.as_deref());
            let tried: Vec<&str> = tried.collect();
            let labels = if tried.is_empty() { spared.collect() } else { tried };
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
        code::PERMISSION_DENIED if own_attempts(journey, resolved).next().is_some() => {
            let labels: Vec<&str> =
                own_attempts(journey, resolved).map(|attempt| attempt.connection_name.as_str()).collect();
            let said = journey.last_failure().map_or("", |failure| failure.message.as_str());
            format!("{provider} does not let {} use `{}`: {said}", quoted(&labels), resolved.model)
        }
        code::PERMISSION_DENIED => {
            format!("this local key may not use any connection to {provider}: allow one under Settings → API Keys")
        }
        code::TOKEN_LIMIT_EXCEEDED => format!(
            "this local key has used up its tokens of `{}/{}`{}: raise the limit in OmniRoute under Settings → API Keys",
            resolved.provider,
            resolved.model,
            decided.retry_after.map(reset_after).unwrap_or_default()
        ),
        code::PROVIDER_CIRCUIT_OPEN => format!("Provider {} circuit breaker is open", resolved.provider),
        code::ALL_CONNECTIONS_TERMINAL => format!(
            "All {} connection(s) of {provider} need attention: please reconnect them in OmniRoute under Providers",
            terminal(journey)
        ),
        code::MODEL_COOLDOWN => format!(
            "{provider} limits `{}` at present{}",
            resolved.model,
            decided.retry_after.map(reset_after).unwrap_or_default()
        ),
        _ if decided.cooling.is_some() => {
            let said = decided.cooling.as_ref().and_then(|cooling| cooling.cause.as_ref());
            let said = said.map_or("every connection is cooling", |cause| cause.message.as_str());
            format!("{provider}: {said}{}", decided.retry_after.map(reset_after).unwrap_or_default())
        }
        _ if own_attempts(journey, resolved).next().is_none() => {
            let mut text = format!("no connection to {provider} can take this request now");
            for record in journey.exclusions.iter().take(LISTED) {
                let _ = write!(text, "; {}", excluded(record.exclusion.mechanism));
            }
            text
        }
        _ => attempted(journey, asked),
    }
}

/// Those at the provider that was asked for: what came of the last resort is not its doing.
fn own_attempts<'j>(journey: &'j Journey, resolved: &Resolved) -> impl Iterator<Item = &'j AttemptRecord> {
    journey.attempts.iter().filter(|attempt| attempt.provider == resolved.provider)
}

fn attempted(journey: &Journey, asked: &Asked<'_>) -> String {
    let mut text = format!("{} did not answer", asked.provider);
    for attempt in own_attempts(journey, asked.resolved).take(LISTED) {
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
        Mechanism::KeyLimit => "this local key has used up its tokens of it",
        Mechanism::KeyAllowList => "one is not allowed for this local key",
        Mechanism::ExcludedModel => "one excludes this model",
        Mechanism::CredentialGate => "one has no usable credential",
        Mechanism::RequestExhaustion => "one already failed in this request",
        Mechanism::ConcurrencyCap => "one is at its limit of parallel requests",
        Mechanism::AdmissionLane => "one has as many requests waiting as it may",
        Mechanism::ToolLimit => "one takes fewer tools",
        Mechanism::QuotaCutoff => "one has hardly any quota left",
        Mechanism::DialectMismatch => "one speaks another format",
        Mechanism::CircuitBreaker => "the provider is out after too many failures",
        Mechanism::ProviderCooldown => "one failed in earlier requests",
        Mechanism::ConnectionCooldown => "one is cooling",
        Mechanism::TerminalState => "one needs its owner",
        Mechanism::ModelLockout => "one has this model locked",
    }
}

fn terminal(journey: &Journey) -> usize {
    journey.exclusions.iter().filter(|record| record.exclusion.mechanism == Mechanism::TerminalState).count()
}

/// ` (reset after 1h 2m 3s)`; parts that are zero are left out.
fn reset_after(wait: Millis) -> String {
    let seconds = wait.as_retry_after_seconds();
    let parts = [(seconds / 3_600, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    let told: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count}{unit}")).collect();
    format!(" (reset after {})", told.join(" "))
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
