//! What to answer when nothing is left to try: one decision table (gateway specification, 3.9; resilience specification,
//! 2.7 and 4.8; decisions 3 and 39). A combo says more, and has a table of its own: [`combo`].

pub mod combo;

use domain::health::LastError;
use domain::request_log::ExclusionRecord;
use domain::wire::code;
use domain::{Exclusion, Mechanism, Millis, Reason, Timestamp};

use crate::journey::Journey;

/// The answer's bones; the gateway adds names and renders it in the client's dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub code: &'static str,
    pub retry_after: Option<Millis>,
    /// `Some(false)`: asking again cannot help (header `x-should-retry`).
    pub should_retry: Option<bool>,
    /// Nothing was asked because everything is spared.
    pub cooling: Option<Cooling>,
}

/// What is spared, and until when at the soonest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cooling {
    /// Accounts behind a timer.
    pub connections: u32,
    pub until: Timestamp,
    /// What the upstream said to the one that is back first.
    pub cause: Option<LastError>,
}

/// Whether an answer of this status that follows failures says when to come back: 429 and 503 (gateway specification, 1.7),
/// and 529, which is a 503 to all but Anthropic's clients.
pub(crate) const fn announces_wait(status: u16) -> bool {
    matches!(status, 429 | 503 | 529)
}

/// Decides from the recorded failures and exclusions. Failures weigh more: something was asked and said no. `back_at`:
/// everybody is kept away by now, and the first is back then ([`back_at`]).
pub fn answer(journey: &Journey, back_at: Option<Timestamp>, now: Timestamp) -> Answer {
    if journey.failures().next().is_none() {
        return nothing_attempted(journey, now);
    }
    let answer = after_failures(journey);
    // What was announced holds for whoever announced it, also where an account rests for less.
    let says_nothing = journey.failures().any(|failure| failure.advertised_retry_after.is_none());
    let back = back_at.filter(|_| says_nothing && announces_wait(answer.status)).map(|back| back.since(now));
    Answer { retry_after: answer.retry_after.into_iter().chain(back).min(), ..answer }
}

/// When the first is back, of those that are kept away by these, as far as time alone brings one back.
pub fn back_at<'a>(kept_away: impl IntoIterator<Item = &'a Exclusion>) -> Option<Timestamp> {
    kept_away.into_iter().filter(|exclusion| is_timer(exclusion)).filter_map(|exclusion| exclusion.until).min()
}

/// Time alone brings it back.
fn is_timer(exclusion: &Exclusion) -> bool {
    let timed = matches!(
        exclusion.mechanism,
        Mechanism::ModelLockout
            | Mechanism::ConnectionCooldown
            | Mechanism::CircuitBreaker
            | Mechanism::ProviderCooldown
    );
    timed && exclusion.until.is_some()
}

fn after_failures(journey: &Journey) -> Answer {
    let soonest = journey.failures().filter_map(|failure| failure.advertised_retry_after).min();
    if journey.failures().all(|failure| failure.reason == Reason::ModelAccessDenied) {
        return never_again(403, code::PERMISSION_DENIED);
    }
    if journey.failures().all(|failure| matches!(failure.reason, Reason::Auth | Reason::Forbidden)) {
        return never_again(502, code::UPSTREAM_AUTH_FAILED);
    }
    if journey.failures().all(|failure| failure.reason == Reason::EarlyEof) {
        return plain(502, code::STREAM_EARLY_EOF);
    }
    if journey.failures().all(|failure| failure.reason == Reason::ContentStall) {
        return plain(504, code::STREAM_CONTENT_STALL);
    }
    let mut statuses = statuses(journey);
    let first = statuses.next().unwrap_or(502);
    if statuses.all(|status| status == first) && first != 401 && first != 403 {
        return Answer {
            retry_after: soonest.filter(|_| announces_wait(first)),
            ..plain(first, code::of_status(first))
        };
    }
    mixed(journey)
}

/// Several things went wrong: whether time ran out is what helps to know, here or behind the upstream.
fn mixed(journey: &Journey) -> Answer {
    let timed_out = statuses(journey).any(|status| matches!(status, 408 | 504 | 524));
    if timed_out { plain(504, code::GATEWAY_TIMEOUT) } else { plain(502, code::BAD_GATEWAY) }
}

fn statuses(journey: &Journey) -> impl Iterator<Item = u16> {
    journey.failures().map(|failure| failure.status.unwrap_or(status_of(failure.reason)))
}

fn nothing_attempted(journey: &Journey, now: Timestamp) -> Answer {
    if journey.exclusions.is_empty() {
        return plain(404, code::NO_EXECUTABLE_TARGETS);
    }
    for (mechanism, answer) in [
        (Mechanism::SwitchedOff, plain(503, code::ALL_ACCOUNTS_INACTIVE)),
        (Mechanism::DialectMismatch, never_again(501, code::DIALECT_NOT_SUPPORTED)),
        (Mechanism::KeyAllowList, plain(403, code::PERMISSION_DENIED)),
    ] {
        if journey.all_excluded_by(mechanism) {
            return answer;
        }
    }
    // The limit is the provider's: what the other accounts wait for cannot help.
    if journey.excluded_by(Mechanism::ToolLimit).is_some() {
        return plain(400, code::TOOL_LIMIT_EXCEEDED);
    }
    if journey.excluded_by(Mechanism::KeyLimit).is_some() {
        let answer = waiting(429, code::TOKEN_LIMIT_EXCEEDED, journey, now);
        return Answer { should_retry: Some(false), ..answer };
    }
    if journey.excluded_by(Mechanism::CircuitBreaker).is_some() {
        return waiting(503, code::PROVIDER_CIRCUIT_OPEN, journey, now);
    }
    let live =
        || journey.exclusions.iter().map(|record| &record.exclusion).filter(|exclusion| concerns_health(exclusion));
    if live().next().is_some() && live().all(|exclusion| exclusion.mechanism == Mechanism::TerminalState) {
        return never_again(502, code::ALL_CONNECTIONS_TERMINAL);
    }
    let mut timers = live().filter(|exclusion| exclusion.until.is_some()).peekable();
    if timers.peek().is_some() {
        if timers.all(|exclusion| exclusion.mechanism == Mechanism::ModelLockout) {
            return waiting(429, code::MODEL_COOLDOWN, journey, now);
        }
        return as_it_was(journey, now);
    }
    for (mechanism, code) in [
        (Mechanism::ConcurrencyCap, code::SEMAPHORE_QUEUE_FULL),
        (Mechanism::AdmissionLane, code::RATE_LIMIT_QUEUE_FULL),
    ] {
        if journey.all_excluded_by(mechanism) {
            return Answer { retry_after: Some(Millis::seconds(1)), ..plain(429, code) };
        }
    }
    if journey.excluded_by(Mechanism::ConcurrencyCap).is_some() {
        return Answer { retry_after: Some(Millis::seconds(1)), ..plain(429, code::ALL_TARGETS_SKIPPED) };
    }
    plain(503, code::ALL_TARGETS_SKIPPED)
}

/// Says something about an account that its owner wants used.
fn concerns_health(exclusion: &Exclusion) -> bool {
    match exclusion.mechanism {
        Mechanism::ConnectionCooldown
        | Mechanism::ModelLockout
        | Mechanism::ProviderCooldown
        | Mechanism::CircuitBreaker
        | Mechanism::TerminalState => true,
        Mechanism::SwitchedOff
        | Mechanism::KeyAllowList
        | Mechanism::KeyLimit
        | Mechanism::ExcludedModel
        | Mechanism::CredentialGate
        | Mechanism::RequestExhaustion
        | Mechanism::ConcurrencyCap
        | Mechanism::AdmissionLane
        | Mechanism::ToolLimit
        | Mechanism::QuotaCutoff
        | Mechanism::DialectMismatch => false,
    }
}

/// Every account cools: the client is told what made them cool, with the wait (resilience specification, 4.8).
fn as_it_was(journey: &Journey, now: Timestamp) -> Answer {
    let cooling = soonest(journey);
    let cause = cooling.as_ref().and_then(|cooling| cooling.cause.as_ref());
    let status = cause.map_or(503, |cause| cause.status.or(cause.reason.map(status_of)).unwrap_or(503));
    match status {
        401 | 403 => never_again(502, code::UPSTREAM_AUTH_FAILED),
        status => waiting(status, code::of_status(status), journey, now),
    }
}

fn waiting(status: u16, code: &'static str, journey: &Journey, now: Timestamp) -> Answer {
    let cooling = soonest(journey);
    let retry_after = cooling.as_ref().map(|cooling| cooling.until.since(now));
    Answer { retry_after, cooling, ..plain(status, code) }
}

fn soonest(journey: &Journey) -> Option<Cooling> {
    let timed =
        || journey.exclusions.iter().map(|record| &record.exclusion).filter(|exclusion| exclusion.until.is_some());
    let first = timed().min_by_key(|exclusion| exclusion.until)?;
    Some(Cooling {
        connections: u32::try_from(timed().count()).unwrap_or(u32::MAX),
        until: first.until?,
        cause: first.cause.clone(),
    })
}

/// When the first account is back, if time alone brings one back: every account in question cools or has the model
/// locked. A breaker answers at once instead, what is full frees up by itself, and no wait makes a list of tools shorter.
pub fn recovers_at(exclusions: &[ExclusionRecord]) -> Option<Timestamp> {
    let live = || exclusions.iter().map(|record| &record.exclusion).filter(|exclusion| concerns_health(exclusion));
    let timer =
        |exclusion: &Exclusion| matches!(exclusion.mechanism, Mechanism::ConnectionCooldown | Mechanism::ModelLockout);
    let helps = live().all(|exclusion| timer(exclusion) || exclusion.mechanism == Mechanism::TerminalState);
    let fits = exclusions.iter().all(|record| record.exclusion.mechanism != Mechanism::ToolLimit);
    if helps && fits {
        live().filter(|exclusion| timer(exclusion)).filter_map(|exclusion| exclusion.until).min()
    } else {
        None
    }
}

fn never_again(status: u16, code: &'static str) -> Answer {
    Answer { should_retry: Some(false), ..plain(status, code) }
}

/// The status a client sees for a failure that had none.
fn status_of(reason: Reason) -> u16 {
    match reason {
        Reason::ResponseStartTimeout | Reason::StreamIdleTimeout | Reason::ContentStall => 504,
        Reason::Auth
        | Reason::RequestRejected
        | Reason::Forbidden
        | Reason::ModelAccessDenied
        | Reason::ContextOverflow
        | Reason::EarlyEof
        | Reason::QuotaExhausted
        | Reason::RateLimit
        | Reason::ModelNotFound
        | Reason::ServerError
        | Reason::Overloaded
        | Reason::Unreachable
        | Reason::ConnectionReset
        | Reason::Tls
        | Reason::StreamCut
        | Reason::EmptyOrGarbled
        | Reason::InvalidRequest
        | Reason::Unknown => 502,
    }
}

fn plain(status: u16, code: &'static str) -> Answer {
    Answer { status, code, retry_after: None, should_retry: None, cooling: None }
}

#[cfg(test)]
mod tests {
    use domain::Failure;

    use super::*;

    fn failed(failures: &[(Option<u16>, Reason, Option<u64>)]) -> Journey {
        let mut journey = Journey::default();
        for &(status, reason, hint) in failures {
            let mut failure = Failure::plain(status, reason, "");
            failure.advertised_retry_after = hint.map(Millis::seconds);
            journey.failed("c".into(), failure);
        }
        journey
    }

    fn excluded(mechanisms: &[Mechanism]) -> Journey {
        let exclusions = mechanisms.iter().map(|&mechanism| ExclusionRecord {
            provider: "p".into(),
            model: "m".to_owned(),
            connection: None,
            connection_name: None,
            exclusion: Exclusion::lasting(mechanism, ""),
        });
        let mut journey = Journey::default();
        journey.exclusions.extend(exclusions);
        journey
    }

    #[test]
    fn failures() {
        use Reason::*;
        for (journey, status, code, retry_after) in [
            (failed(&[(Some(401), Auth, None), (Some(403), Auth, None)]), 502, "upstream_auth_failed", None),
            (
                failed(&[(Some(429), RateLimit, Some(9)), (Some(429), RateLimit, Some(4))]),
                429,
                "rate_limit_exceeded",
                Some(4),
            ),
            (failed(&[(Some(503), ServerError, None)]), 503, "service_unavailable", None),
            (failed(&[(None, ConnectionReset, None)]), 502, "bad_gateway", None),
            (failed(&[(None, ResponseStartTimeout, None)]), 504, "gateway_timeout", None),
            (failed(&[(Some(500), ServerError, None), (Some(429), RateLimit, Some(3))]), 502, "bad_gateway", None),
            (
                failed(&[(Some(500), ServerError, None), (None, ResponseStartTimeout, None)]),
                504,
                "gateway_timeout",
                None,
            ),
            (failed(&[(Some(529), Overloaded, None)]), 529, "overloaded", None),
            (failed(&[(Some(504), ServerError, None), (Some(500), ServerError, None)]), 504, "gateway_timeout", None),
            (failed(&[(Some(408), ServerError, None), (Some(429), RateLimit, None)]), 504, "gateway_timeout", None),
        ] {
            let answer = answer(&journey, None, Timestamp::ZERO);
            assert_eq!((answer.status, answer.code), (status, code));
            assert_eq!(answer.retry_after, retry_after.map(Millis::seconds));
        }
    }

    #[test]
    fn after_failures_the_wait_is_until_the_first_is_back_unless_all_announced_theirs() {
        use Reason::*;
        for (failures, wait) in [
            (&[(Some(503), ServerError, None), (Some(503), ServerError, None)][..], Some(3)),
            (&[(Some(429), RateLimit, None)], Some(3)),
            (&[(Some(429), RateLimit, Some(9)), (Some(429), RateLimit, None)], Some(3)),
            (&[(Some(429), RateLimit, Some(2)), (Some(429), RateLimit, None)], Some(2)),
            (&[(Some(429), RateLimit, Some(60))], Some(60)),
            (&[(Some(529), Overloaded, None)], Some(3)),
            (&[(Some(529), Overloaded, Some(60))], Some(60)),
            (&[(Some(500), ServerError, None)], None),
            (&[(Some(401), Auth, None)], None),
        ] {
            let back = Timestamp::from_millis(3_000);
            let answer = answer(&failed(failures), Some(back), Timestamp::ZERO);
            assert_eq!(answer.retry_after, wait.map(Millis::seconds), "{failures:?}");
        }
    }

    #[test]
    fn asking_again_cannot_mend_a_credential() {
        assert_eq!(
            answer(&failed(&[(Some(401), Reason::Auth, None)]), None, Timestamp::ZERO).should_retry,
            Some(false)
        );
    }

    #[test]
    fn exclusions() {
        use Mechanism::*;
        for (mechanisms, status, code) in [
            (&[][..], 404, "no_executable_targets"),
            (&[SwitchedOff, SwitchedOff], 503, "ALL_ACCOUNTS_INACTIVE"),
            (&[DialectMismatch], 501, "dialect_not_supported"),
            (&[KeyAllowList], 403, "permission_denied"),
            (&[KeyAllowList, KeyLimit], 429, "TOKEN_LIMIT_EXCEEDED"),
            (&[SwitchedOff, ConcurrencyCap], 429, "ALL_TARGETS_SKIPPED"),
            (&[SwitchedOff, CredentialGate], 503, "ALL_TARGETS_SKIPPED"),
            (&[ToolLimit, ToolLimit], 400, "tool_limit_exceeded"),
            (&[ConnectionCooldown, ToolLimit], 400, "tool_limit_exceeded"),
        ] {
            let answer = answer(&excluded(mechanisms), None, Timestamp::ZERO);
            assert_eq!((answer.status, answer.code), (status, code), "{mechanisms:?}");
        }
    }

    fn timed(mechanism: Mechanism, until: Option<u64>, cause: Option<(Option<u16>, Reason)>) -> Exclusion {
        Exclusion {
            until: until.map(Timestamp::from_millis),
            cause: cause.map(|(status, reason)| LastError {
                message: "no".to_owned(),
                reason: Some(reason),
                status,
                at: Timestamp::ZERO,
            }),
            ..Exclusion::lasting(mechanism, "")
        }
    }

    /// CB-02, CC-20, CC-23, CC-34 and resilience specification, 4.8.
    #[test]
    fn what_is_spared() {
        use Mechanism::*;
        let cooling = |until, status| timed(ConnectionCooldown, Some(until), Some((status, Reason::ServerError)));
        let off = Exclusion::lasting(SwitchedOff, "");
        let terminal = Exclusion::lasting(TerminalState, "");
        for (exclusions, status, code, wait, retry) in [
            (vec![timed(CircuitBreaker, Some(30_000), None)], 503, "provider_circuit_open", Some(30_000), None),
            (
                vec![cooling(6_000, Some(500)), cooling(3_000, Some(500))],
                500,
                "internal_server_error",
                Some(3_000),
                None,
            ),
            (vec![cooling(3_000, Some(500)), terminal.clone()], 500, "internal_server_error", Some(3_000), None),
            (
                vec![timed(ConnectionCooldown, Some(9), Some((None, Reason::ResponseStartTimeout)))],
                504,
                "gateway_timeout",
                Some(9),
                None,
            ),
            (vec![cooling(3_000, Some(403))], 502, "upstream_auth_failed", None, Some(false)),
            (vec![timed(ModelLockout, Some(200), None)], 429, "model_cooldown", Some(200), None),
            (vec![terminal.clone(), terminal.clone()], 502, "all_connections_terminal", None, Some(false)),
            (vec![terminal, off], 502, "all_connections_terminal", None, Some(false)),
        ] {
            let mut journey = Journey::default();
            journey.exclusions.extend(exclusions.into_iter().map(|exclusion| ExclusionRecord {
                provider: "p".into(),
                model: "m".to_owned(),
                connection: None,
                connection_name: None,
                exclusion,
            }));
            let answer = answer(&journey, None, Timestamp::ZERO);
            assert_eq!((answer.status, answer.code, answer.should_retry), (status, code, retry));
            assert_eq!(answer.retry_after, wait.map(Millis::new), "{code}");
        }
    }
}
