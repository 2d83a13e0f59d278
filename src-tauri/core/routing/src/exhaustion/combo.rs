//! What to answer when a combo has nothing left (gateway specification, 3.9; resilience specification, 15.3 and 22).
//!
//! Besides the answer, a diagnosis: how many targets there were, which were left out and why, which were asked in which
//! order, what ended it, and what helps. Whoever reads it is usually a program, so the reasons are words of a fixed list;
//! it names models, never accounts.
//!
//! | nothing asked, and | answer |
//! | --- | --- |
//! | nothing there | 404 `no_executable_targets` |
//! | all switched off | 503 `ALL_ACCOUNTS_INACTIVE` |
//! | all out until their owner acts | 502 `all_connections_terminal`, not to be retried |
//! | `weighted`, something behind a timer | 503 `all_targets_cooling_down` |
//! | `weighted`, nothing behind a timer | 404 `no_executable_targets` |
//! | something behind a passing limit | 429 `all_targets_rate_limited` |
//! | anything else | 503 `ALL_TARGETS_SKIPPED` |

use std::collections::BTreeMap;

use domain::wire::{code, header, reason};
use domain::{Exclusion, Mechanism, Millis, ProviderId, Reason, Timestamp};
use serde::Serialize;

use super::{Answer, after_failures, announces_wait, is_timer, mixed};
use crate::combo::Strategy;
use crate::decision::Stop;
use crate::journey::Journey;
use crate::plan::{Cause, LeftOut};
use crate::target::Target;

/// Most targets listed.
const LISTED: usize = 64;
/// Longest header text, characters.
const LONGEST_HEADER: usize = 900;
/// Longest wait that is announced.
const LONGEST_WAIT: Millis = Millis::hours(1);

/// How a combo came to its end.
#[derive(Clone, Copy, Debug)]
pub struct Terminal<'a> {
    pub strategy: Strategy,
    /// Targets it came to, those left out included.
    pub pool_size: usize,
    /// Who was left out, nested combos included ([`crate::Plan::left_out`]).
    pub left_out: &'a [(&'a Target, &'a LeftOut)],
    pub journey: &'a Journey,
    /// What ended the walk; none where there was none.
    pub stop: Option<Stop>,
    /// Its time was over.
    pub timed_out: bool,
    /// A protected first target that failed is answered with 502, as if nothing stood before it (gateway specification, 3.8).
    pub protected_as_502: bool,
    /// Nobody can serve before then, and somebody can from then on, as far as time decides that ([`super::back_at`]).
    pub back_at: Option<Timestamp>,
    pub now: Timestamp,
}

/// The answer's bones, with what goes beside them.
#[derive(Clone, Debug, PartialEq)]
pub struct ComboAnswer {
    pub answer: Answer,
    /// `error.type`.
    pub kind: &'static str,
    /// Goes into the error beside `retry_after` where waiting for passing limits is announced.
    pub reset_at: Option<Timestamp>,
    pub diagnostics: Diagnostics,
}

/// The member `diagnostics` of the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostics {
    pub pool_size: usize,
    pub attempted: usize,
    /// At most 64.
    pub excluded: Vec<Excluded>,
    /// `provider/model` in the order they were asked.
    pub attempt_order: Vec<String>,
    pub terminal_reason: &'static str,
    pub recovery: Recovery,
}

/// One target that was not asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Excluded {
    pub provider: ProviderId,
    pub model: String,
    pub reason: String,
    /// Where time alone brings it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u64>,
}

/// What helps; also the member `recovery_hint`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recovery {
    /// `wait`, `switch-combo`, `try-auto`, `retry`.
    pub action: &'static str,
    pub next_step: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u64>,
}

/// The answer to a request that a combo could not serve.
pub fn answer(terminal: &Terminal<'_>) -> ComboAnswer {
    let (answer, why) = ended(terminal).unwrap_or_else(|| nothing_asked(terminal));
    let known = answer.retry_after.filter(|_| announces_wait(answer.status));
    let answer = Answer { retry_after: known.map(|wait| wait.min(LONGEST_WAIT)), ..answer };
    let reset_at = (answer.code == code::ALL_TARGETS_RATE_LIMITED).then(|| passing(terminal)).flatten();
    finished(answer, why, reset_at, terminal)
}

/// The answer to a request that nobody in the combo could ever serve.
pub fn refused(cause: &Cause, terminal: &Terminal<'_>) -> ComboAnswer {
    let (status, code, why) = match cause {
        Cause::Capability(_) => (400, code::CAPABILITY_MISMATCH, code::CAPABILITY_MISMATCH),
        Cause::ContextRequirements => (404, code::CONTEXT_REQUIREMENTS_EXHAUSTED, code::CONTEXT_REQUIREMENTS_EXHAUSTED),
        Cause::OverBudget(_) => (402, code::of_status(402), "over_budget"),
        Cause::ToolLimit { .. } => (400, code::TOOL_LIMIT_EXCEEDED, code::TOOL_LIMIT_EXCEEDED),
    };
    finished(plain(status, code), why, None, terminal)
}

/// One warning line about a weighted combo that had nobody to draw; none for other ends.
pub fn log_line(answer: &ComboAnswer) -> Option<String> {
    (answer.answer.code == code::ALL_TARGETS_COOLING_DOWN).then(|| {
        let list = list(&answer.diagnostics.excluded, usize::MAX);
        format!("[COMBO] Weighted selection: every target excluded before dispatch — {list}")
    })
}

impl ComboAnswer {
    /// The headers of 22.1; their text is ASCII.
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        let Diagnostics { pool_size, attempted, excluded, terminal_reason, recovery, .. } = &self.diagnostics;
        let mut headers = vec![
            (header::COMBO_POOL_SIZE, pool_size.to_string()),
            (header::COMBO_ATTEMPTED, attempted.to_string()),
            (header::COMBO_TERMINAL_REASON, (*terminal_reason).to_owned()),
            (header::RECOVERY_ACTION, recovery.action.to_owned()),
            (header::RECOVERY_NEXT_STEP, recovery.next_step.clone()),
        ];
        if !excluded.is_empty() {
            headers.push((header::COMBO_EXCLUDED, list(excluded, LONGEST_HEADER)));
        }
        if let Some(wait) = self.answer.retry_after {
            let seconds = wait.as_retry_after_seconds().to_string();
            headers.extend([(header::RETRY_AFTER, seconds.clone()), (header::RETRY_AFTER_SECONDS, seconds)]);
        }
        headers
    }
}

/// Something was asked, or something of ours ended it; with the soonest that anybody is known to be back.
fn ended(terminal: &Terminal<'_>) -> Option<(Answer, &'static str)> {
    let (mut answer, why) = ended_by_us(terminal)
        .or_else(|| (!terminal.journey.attempts.is_empty()).then(|| (after_attempts(terminal), "all_models_failed")))?;
    let known = passing(terminal).into_iter().chain(terminal.back_at).map(|until| until.since(terminal.now));
    answer.retry_after = answer.retry_after.into_iter().chain(known).min();
    Some((answer, why))
}

fn ended_by_us(terminal: &Terminal<'_>) -> Option<(Answer, &'static str)> {
    if terminal.timed_out {
        return Some((plain(504, code::COMBO_TIMEOUT), "no_upstream_response"));
    }
    let (answer, why) = match terminal.stop? {
        Stop::MaxAttempts => (plain(503, code::MAX_ATTEMPTS), "max_attempts_exceeded"),
        Stop::ContextOverflow => (plain(400, code::BAD_REQUEST), "all_models_failed"),
        Stop::ProtectedTarget if terminal.protected_as_502 => (plain(502, code::BAD_GATEWAY), "all_models_failed"),
        Stop::ProtectedTarget => (plain(503, code::SERVICE_UNAVAILABLE), "all_models_failed"),
        Stop::IdenticalErrors => {
            let status = last_status(terminal.journey).unwrap_or(400);
            (plain(status, code::IDENTICAL_MODEL_ERROR_STREAK), "all_models_failed")
        }
        Stop::Silent | Stop::Surface | Stop::Exhausted => return None,
    };
    Some((answer, why))
}

fn after_attempts(terminal: &Terminal<'_>) -> Answer {
    let journey = terminal.journey;
    let failed = || journey.failures();
    if failed().next().is_none() {
        let status = last_status(journey).unwrap_or(502);
        return plain(status, code::of_status(status));
    }
    if failed().all(|failure| failure.reason == Reason::ContextOverflow) {
        return plain(400, code::BAD_REQUEST);
    }
    let of_model = |reason: Reason| matches!(reason, Reason::ModelNotFound | Reason::InvalidRequest);
    if failed().all(|failure| of_model(failure.reason)) {
        let status = last_status(journey).filter(|status| (400..500).contains(status)).unwrap_or(404);
        return plain(status, code::of_status(status));
    }
    if was_refused(journey) { mixed(journey) } else { after_failures(journey) }
}

/// Whether a target's last word was that it does not take the request.
fn was_refused(journey: &Journey) -> bool {
    let last: BTreeMap<_, _> = journey.attempts.iter().map(|attempt| (&attempt.execution_key, &attempt.kind)).collect();
    last.values().any(|kind| *kind == Reason::InvalidRequest.kind())
}

/// The last status that was an error; a good one may have come with nothing of use.
fn last_status(journey: &Journey) -> Option<u16> {
    journey.attempts.last().and_then(|attempt| attempt.status).filter(|status| *status >= 400)
}

fn nothing_asked(terminal: &Terminal<'_>) -> (Answer, &'static str) {
    let all = || terminal.left_out.iter().map(|(_, left_out)| *left_out);
    let spared_all = || all().filter_map(spared);
    let accounts = || spared_all().filter(|exclusion| concerns_account(exclusion));
    let nobody = (plain(404, code::NO_EXECUTABLE_TARGETS), code::NO_EXECUTABLE_TARGETS);
    if terminal.left_out.is_empty() {
        return nobody;
    }
    if all().all(|left_out| spared(left_out).is_some_and(|exclusion| exclusion.mechanism == Mechanism::SwitchedOff)) {
        return (plain(503, code::ALL_ACCOUNTS_INACTIVE), "all_accounts_inactive");
    }
    if accounts().next().is_some() && accounts().all(|exclusion| exclusion.mechanism == Mechanism::TerminalState) {
        let answer = Answer { should_retry: Some(false), ..plain(502, code::ALL_CONNECTIONS_TERMINAL) };
        return (answer, code::ALL_CONNECTIONS_TERMINAL);
    }
    let soonest = spared_all().filter(|exclusion| is_timer(exclusion)).filter_map(|exclusion| exclusion.until).min();
    let wait = |until: Timestamp| Some(until.since(terminal.now));
    if terminal.strategy == Strategy::Weighted {
        return match soonest {
            Some(until) => {
                let answer = Answer { retry_after: wait(until), ..plain(503, code::ALL_TARGETS_COOLING_DOWN) };
                (answer, code::ALL_TARGETS_COOLING_DOWN)
            }
            None => nobody,
        };
    }
    if let Some(until) = passing(terminal) {
        let answer = Answer { retry_after: wait(until), ..plain(429, code::ALL_TARGETS_RATE_LIMITED) };
        return (answer, code::ALL_TARGETS_COOLING_DOWN);
    }
    let full = spared_all().any(|exclusion| exclusion.mechanism == Mechanism::ConcurrencyCap);
    let broken = spared_all().filter(|exclusion| is_break(exclusion)).filter_map(|exclusion| exclusion.until).min();
    let retry_after = broken.and_then(wait).or(full.then_some(Millis::seconds(1)));
    let why = if broken.is_some() { code::ALL_TARGETS_COOLING_DOWN } else { code::NO_EXECUTABLE_TARGETS };
    (Answer { retry_after, ..plain(503, code::ALL_TARGETS_SKIPPED) }, why)
}

fn plain(status: u16, code: &'static str) -> Answer {
    super::plain(status, code)
}

fn finished(
    answer: Answer,
    terminal_reason: &'static str,
    reset_at: Option<Timestamp>,
    terminal: &Terminal<'_>,
) -> ComboAnswer {
    let kind = match answer.status {
        402 => "billing_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        400..500 => "invalid_request_error",
        503 => "service_unavailable",
        504 => "gateway_timeout",
        _ => "server_error",
    };
    let excluded = terminal.left_out.iter().take(LISTED).map(|(target, why)| Excluded {
        provider: target.provider.clone(),
        model: target.model.clone(),
        reason: word(why),
        retry_after_seconds: wait_of(why, terminal.now),
    });
    let attempts = &terminal.journey.attempts;
    let diagnostics = Diagnostics {
        pool_size: terminal.pool_size,
        attempted: attempts.len(),
        excluded: excluded.collect(),
        attempt_order: attempts.iter().map(|attempt| format!("{}/{}", attempt.provider, attempt.model)).collect(),
        terminal_reason,
        recovery: recovery(&answer),
    };
    ComboAnswer { answer, kind, reset_at, diagnostics }
}

fn recovery(answer: &Answer) -> Recovery {
    let seconds = answer.retry_after.map(Millis::as_retry_after_seconds);
    let (action, next_step) = match (seconds, answer.status) {
        (Some(seconds), _) => ("wait", format!("send the request again in {seconds} s")),
        (None, 404) => ("switch-combo", "use another combo, or give this one a target that can run".to_owned()),
        (None, 400 | 402 | 422) => {
            ("switch-combo", "use a combo whose models can serve this request, or change the request".to_owned())
        }
        (None, 502) if answer.should_retry == Some(false) => {
            ("switch-combo", "reconnect the accounts in OmniRoute under Providers, or use another combo".to_owned())
        }
        (None, _) if answer.code == code::ALL_ACCOUNTS_INACTIVE => {
            ("try-auto", "use the model auto, or switch an account on in OmniRoute under Providers".to_owned())
        }
        (None, _) => ("retry", "send the request again".to_owned()),
    };
    Recovery { action, next_step, retry_after_seconds: seconds }
}

/// `provider/model:reason(seconds)`, as many as fit.
fn list(excluded: &[Excluded], longest: usize) -> String {
    let mut text = String::new();
    for Excluded { provider, model, reason, retry_after_seconds } in excluded {
        let separator = if text.is_empty() { "" } else { ", " };
        let wait = retry_after_seconds.map(|seconds| format!("({seconds}s)")).unwrap_or_default();
        let entry: String = format!("{separator}{provider}/{model}:{reason}{wait}")
            .chars()
            .map(|letter| if letter.is_ascii_graphic() || letter == ' ' { letter } else { '?' })
            .collect();
        if text.len() + entry.len() > longest {
            break;
        }
        text.push_str(&entry);
    }
    text
}

/// The word on the wire (22.1): accounts that cannot serve are `unavailable`, whatever the cause.
fn word(left_out: &LeftOut) -> String {
    let Some(exclusion) = spared(left_out) else { return left_out.reason().to_owned() };
    let word = match exclusion.mechanism {
        Mechanism::ModelLockout => reason::MODEL_LOCKOUT,
        Mechanism::CircuitBreaker => reason::CIRCUIT_OPEN,
        Mechanism::ProviderCooldown => reason::PROVIDER_COOLDOWN,
        _ if concerns_account(exclusion) => reason::UNAVAILABLE,
        _ => &exclusion.reason,
    };
    word.to_owned()
}

fn wait_of(left_out: &LeftOut, now: Timestamp) -> Option<u64> {
    let until = spared(left_out).filter(|exclusion| is_timer(exclusion))?.until?;
    Some(until.since(now).as_retry_after_seconds())
}

fn spared(left_out: &LeftOut) -> Option<&Exclusion> {
    match left_out {
        LeftOut::Spared(exclusion) => Some(exclusion),
        LeftOut::Tag
        | LeftOut::Capability(_)
        | LeftOut::ContextRequirements
        | LeftOut::ToolLimit { .. }
        | LeftOut::FirstToken
        | LeftOut::PanelFull
        | LeftOut::Unwanted(_)
        | LeftOut::NothingInside => None,
    }
}

/// Says something about an account as such.
fn concerns_account(exclusion: &Exclusion) -> bool {
    is_timer(exclusion)
        || matches!(
            exclusion.mechanism,
            Mechanism::TerminalState
                | Mechanism::SwitchedOff
                | Mechanism::CredentialGate
                | Mechanism::ConnectionCooldown
        )
}

/// The service itself is spared.
fn is_break(exclusion: &Exclusion) -> bool {
    matches!(exclusion.mechanism, Mechanism::CircuitBreaker | Mechanism::ProviderCooldown) && exclusion.until.is_some()
}

/// A lock or a rest that comes from a limit or an unwell service, and so passes.
fn passes(exclusion: &Exclusion) -> bool {
    let rests = matches!(exclusion.mechanism, Mechanism::ModelLockout | Mechanism::ConnectionCooldown);
    let cause = exclusion.cause.as_ref().and_then(|cause| cause.reason);
    rests && exclusion.until.is_some() && cause.is_some_and(Reason::passes_soon)
}

/// The soonest end of a passing limit.
fn passing(terminal: &Terminal<'_>) -> Option<Timestamp> {
    let spared = terminal.left_out.iter().filter_map(|(_, left_out)| spared(left_out));
    spared.filter(|exclusion| passes(exclusion)).filter_map(|exclusion| exclusion.until).min()
}

#[cfg(test)]
#[path = "combo_tests.rs"]
mod tests;
