//! The last answer of a combo that nobody served: `routing::exhaustion` decides, this file finds the words.

use std::fmt::Write;

use axum::response::Response;
use domain::wire::code;
use domain::{Mechanism, Timestamp};
use http::{HeaderName, HeaderValue, StatusCode};
use routing::Target;
use routing::decision::Stop;
use routing::exhaustion::combo::{self, ComboAnswer, Terminal};
use routing::plan::{Cause, LeftOut, Refusal};
use serde_json::{Map, Value, json};

use super::Asked;
use super::walk::End;
use crate::attempt_loop::{self, Last, turned_away};
use crate::error::{Blame, GatewayError};
use crate::exhaustion::{iso, kept_here, refused as refused_by_upstream};
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::key_spending;
use crate::record::Recorder;
use crate::telemetry::SUCCESS;

/// Outcomes that the message lists.
const LISTED: usize = 5;

/// Nobody in the combo could ever serve the request.
pub(super) fn refused(
    gateway: &Gateway,
    request: &ClientRequest,
    asked: &Asked,
    pool_size: usize,
    refusal: &Refusal,
    recorder: Box<Recorder>,
) -> Response {
    let left_out: Vec<_> = refusal.pool.left_out().collect();
    let terminal = Terminal {
        strategy: asked.combo.strategy,
        pool_size,
        left_out: &left_out,
        journey: &recorder.journey,
        stop: None,
        timed_out: false,
        back_at: None,
        protected_as_502: gateway.settings().routing.protected_priority_infra_502,
        now: gateway.now(),
    };
    let answer = combo::refused(&refusal.cause, &terminal);
    let message = why_never(&refusal.cause, &asked.combo.name);
    finish(gateway, request, &answer, message, Blame::Client, recorder)
}

/// Why nobody in the combo could ever serve the request, in words.
fn why_never(cause: &Cause, combo: &str) -> String {
    match cause {
        Cause::Capability(missing) => {
            let missing: Vec<&str> = missing.iter().map(|capability| capability.as_str()).collect();
            format!("no target of the combo `{combo}` can take this request: none has {}", missing.join(", "))
        }
        Cause::ContextRequirements => {
            format!("no target of the combo `{combo}` has a context window of the size it requires")
        }
        Cause::ToolLimit { limit, tools } => format!(
            "the request brings {tools} tools, and no target of the combo `{combo}` takes more than {limit}: send fewer"
        ),
        Cause::OverBudget(over) => format!(
            "the cheapest target of the combo `{combo}` would cost about ${:.4}, its budget is ${:.4} a request",
            over.cheapest, over.cap
        ),
    }
}

/// Everyone was asked or spared, and nobody answered. `back_at`: when the combo could be served again ([`super::back`]).
pub(super) fn nobody(
    gateway: &Gateway,
    request: &ClientRequest,
    asked: &Asked,
    pool_size: usize,
    left_out: &[(&Target, &LeftOut)],
    back_at: Option<Timestamp>,
    end: End,
) -> Response {
    let End { recorder, last, stop, local, timed_out } = end;
    if let Some(limit) = local {
        return turned_away(gateway, request, &limit, recorder);
    }
    if recorder.journey.attempts.is_empty()
        && let Some(until) = used_up(left_out)
    {
        let error = key_spending::of_targets(&asked.combo.name, until, gateway.now());
        return attempt_loop::refuse_with(gateway, request, None, &error, recorder);
    }
    let terminal = Terminal {
        strategy: asked.combo.strategy,
        pool_size,
        left_out,
        journey: &recorder.journey,
        stop,
        timed_out,
        back_at,
        protected_as_502: gateway.settings().routing.protected_priority_infra_502,
        now: gateway.now(),
    };
    let answer = combo::answer(&terminal);
    if let Some(line) = combo::log_line(&answer) {
        tracing::warn!(combo = %asked.combo.name, "{line}");
    }
    let was_refused = recorder.journey.failures().next().is_none() && !recorder.journey.attempts.is_empty();
    let is_refusal = was_refused && !timed_out && stop != Some(Stop::MaxAttempts);
    let blame = if recorder.journey.attempts.is_empty() { Blame::Local } else { Blame::Upstream };
    match last {
        Some(Last { tool_limit: Some(limit), .. }) if is_refusal => {
            let cause = Cause::ToolLimit { limit, tools: request.glance.tool_count };
            let answer = combo::refused(&cause, &terminal);
            finish(gateway, request, &answer, why_never(&cause, &asked.combo.name), Blame::Client, recorder)
        }
        Some(last) if is_refusal && last.kept_here => {
            let error = kept_here(last_asked(&recorder), &last.message);
            attempt_loop::refuse_with(gateway, request, None, &error, recorder)
        }
        Some(last) if is_refusal => surfaced(gateway, request, last, recorder),
        _ => {
            let message = message(asked, &answer, &recorder);
            finish(gateway, request, &answer, message, blame, recorder)
        }
    }
}

/// When the key may use the first of the targets again, where nothing but its own limits keeps it from all of them.
pub(super) fn used_up(left_out: &[(&Target, &LeftOut)]) -> Option<Timestamp> {
    let until = |(_, left_out): &(&Target, &LeftOut)| match left_out {
        LeftOut::Spared(exclusion) if exclusion.mechanism == Mechanism::KeyLimit => exclusion.until,
        _ => None,
    };
    left_out.iter().map(until).collect::<Option<Vec<_>>>()?.into_iter().min()
}

/// The request itself was refused: the last refusal is the answer, in the upstream's own bytes where they can be shown.
fn surfaced(gateway: &Gateway, request: &ClientRequest, last: Last, recorder: Box<Recorder>) -> Response {
    let error = refused_by_upstream(last_asked(&recorder), last.status, &last.message);
    attempt_loop::refuse_with(gateway, request, last.shown(), &error, recorder)
}

/// The provider that was asked last.
fn last_asked(recorder: &Recorder) -> &str {
    recorder.journey.attempts.last().map_or("", |attempt| attempt.provider.as_str())
}

fn finish(
    gateway: &Gateway,
    request: &ClientRequest,
    answer: &ComboAnswer,
    message: String,
    blame: Blame,
    recorder: Box<Recorder>,
) -> Response {
    let status = StatusCode::from_u16(answer.answer.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let error = GatewayError {
        retry_after: answer.answer.retry_after,
        should_retry: answer.answer.should_retry,
        details: Some(Box::new(details(answer, true))),
        beside: Some(Box::new(details(answer, false))),
        kind: Some(answer.kind),
        ..GatewayError::new(blame, status, answer.answer.code, message)
    };
    let mut response = attempt_loop::refuse_with(gateway, request, None, &error, recorder);
    for (name, text) in answer.headers() {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(&text)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// The members beside code and message (gateway specification, 1.8; resilience specification, 15.3 and 22.1). The diagnosis
/// stands inside the error, where SDKs keep what they show, and beside it, where tools look for it.
fn details(answer: &ComboAnswer, inside: bool) -> Map<String, Value> {
    let mut members = Map::new();
    if let (true, code::ALL_TARGETS_RATE_LIMITED, Some(wait)) = (inside, answer.answer.code, answer.answer.retry_after)
    {
        members.insert("retry_after".to_owned(), json!(wait.as_retry_after_seconds()));
        if let Some(at) = answer.reset_at {
            members.insert("reset_at".to_owned(), json!(iso(at)));
        }
    }
    members.insert("diagnostics".to_owned(), json!(answer.diagnostics));
    members.insert("recovery_hint".to_owned(), json!(answer.diagnostics.recovery));
    members
}

fn message(asked: &Asked, answer: &ComboAnswer, recorder: &Recorder) -> String {
    let name = &asked.combo.name;
    let mut text = match answer.answer.code {
        code::ALL_TARGETS_COOLING_DOWN | code::ALL_TARGETS_RATE_LIMITED => {
            format!("every target of the combo `{name}` is cooling down")
        }
        code::NO_EXECUTABLE_TARGETS => format!("the combo `{name}` has no target that could be asked"),
        code::ALL_ACCOUNTS_INACTIVE => format!("every account of the combo `{name}` is switched off"),
        code::ALL_CONNECTIONS_TERMINAL => format!("every account of the combo `{name}` needs its owner"),
        code::COMBO_TIMEOUT => format!("the combo `{name}` did not answer in the time it has"),
        code::MAX_ATTEMPTS => format!("the combo `{name}` was given up after as many attempts as a request may take"),
        _ if recorder.journey.attempts.is_empty() => format!("every target of the combo `{name}` was skipped"),
        _ => format!("no target of the combo `{name}` answered"),
    };
    let failed = recorder.journey.attempts.iter().filter(|attempt| attempt.kind != SUCCESS);
    for attempt in failed.take(LISTED) {
        let _ = write!(text, "; {}: {}", attempt.model, attempt.kind);
        if let Some(message) = attempt.message.as_deref().filter(|message| !message.is_empty()) {
            let _ = write!(text, " — {message}");
        }
        if let Some(status) = attempt.status {
            let _ = write!(text, " (HTTP {status})");
        }
    }
    if recorder.journey.attempts.is_empty() {
        for record in recorder.journey.exclusions.iter().take(LISTED) {
            let _ = write!(text, "; {}: {}", record.model, word(record.exclusion.mechanism, &record.exclusion.reason));
        }
    }
    if let Some(wait) = answer.answer.retry_after {
        let _ = write!(text, " (reset after {}s)", wait.as_retry_after_seconds());
    }
    text
}

fn word(mechanism: Mechanism, reason: &str) -> &str {
    match mechanism {
        Mechanism::CircuitBreaker => "circuit_open",
        Mechanism::ModelLockout => "model_lockout",
        Mechanism::ProviderCooldown => "provider_cooldown",
        _ => reason,
    }
}
