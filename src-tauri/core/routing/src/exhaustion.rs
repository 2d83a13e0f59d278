//! What to answer when nothing is left to try: one decision table (gateway specification, 3.9; decision 3).

use domain::wire::code;
use domain::{Mechanism, Millis, Reason};

use crate::journey::Journey;

/// The answer's bones; the gateway adds names and renders it in the client's dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub code: &'static str,
    pub retry_after: Option<Millis>,
    /// `Some(false)`: asking again cannot help (header `x-should-retry`).
    pub should_retry: Option<bool>,
}

/// Decides from the recorded failures and exclusions. Failures weigh more: something was asked and said no.
pub fn answer(journey: &Journey) -> Answer {
    let mut failures = journey.failures().peekable();
    if failures.peek().is_some() {
        return after_failures(journey);
    }
    nothing_attempted(journey)
}

fn after_failures(journey: &Journey) -> Answer {
    let soonest = journey.failures().filter_map(|failure| failure.advertised_retry_after).min();
    if journey.failures().all(|failure| failure.reason == Reason::Auth) {
        return Answer { should_retry: Some(false), ..plain(502, code::UPSTREAM_AUTH_FAILED) };
    }
    let mut statuses = journey.failures().map(|failure| failure.status.unwrap_or(status_of(failure.reason)));
    let first = statuses.next().unwrap_or(502);
    if statuses.all(|status| status == first) && first != 401 && first != 403 {
        return Answer {
            retry_after: soonest.filter(|_| first == 429 || first == 503),
            ..plain(first, code_of(first))
        };
    }
    let timed_out = journey
        .failures()
        .any(|failure| matches!(failure.reason, Reason::ResponseStartTimeout | Reason::StreamIdleTimeout));
    if timed_out { plain(504, code::GATEWAY_TIMEOUT) } else { plain(502, code::BAD_GATEWAY) }
}

fn nothing_attempted(journey: &Journey) -> Answer {
    if journey.exclusions.is_empty() {
        return plain(404, code::NO_EXECUTABLE_TARGETS);
    }
    if journey.all_excluded_by(Mechanism::SwitchedOff) {
        return plain(503, code::ALL_ACCOUNTS_INACTIVE);
    }
    if journey.all_excluded_by(Mechanism::DialectMismatch) {
        return Answer { should_retry: Some(false), ..plain(501, code::DIALECT_NOT_SUPPORTED) };
    }
    if journey.all_excluded_by(Mechanism::KeyAllowList) {
        return plain(403, code::PERMISSION_DENIED);
    }
    if journey.excluded_by(Mechanism::ConcurrencyCap).is_some() {
        return Answer { retry_after: Some(Millis::seconds(1)), ..plain(429, code::ALL_TARGETS_SKIPPED) };
    }
    plain(503, code::ALL_TARGETS_SKIPPED)
}

/// The status a client sees for a failure that had none.
fn status_of(reason: Reason) -> u16 {
    match reason {
        Reason::ResponseStartTimeout | Reason::StreamIdleTimeout | Reason::ContentStall => 504,
        Reason::Auth
        | Reason::Forbidden
        | Reason::ModelAccessDenied
        | Reason::ContextOverflow
        | Reason::EarlyEof
        | Reason::RequestRejected
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
        | Reason::InvalidRequest => 502,
    }
}

/// The generic code of a status (gateway specification, 1.8).
pub fn code_of(status: u16) -> &'static str {
    match status {
        400 => code::BAD_REQUEST,
        402 => "payment_required",
        403 => code::PERMISSION_DENIED,
        404 => code::MODEL_NOT_FOUND,
        406 => "model_not_supported",
        408 => "timeout",
        409 => "conflict",
        410 => "model_shutdown",
        413 => code::REQUEST_TOO_LARGE,
        415 => code::UNSUPPORTED_MEDIA_TYPE,
        422 => "unprocessable_entity",
        429 => code::RATE_LIMITED,
        500 => code::INTERNAL,
        503 => code::SERVICE_UNAVAILABLE,
        504 => code::GATEWAY_TIMEOUT,
        529 => "overloaded",
        _ => code::BAD_GATEWAY,
    }
}

fn plain(status: u16, code: &'static str) -> Answer {
    Answer { status, code, retry_after: None, should_retry: None }
}

#[cfg(test)]
mod tests {
    use domain::request_log::ExclusionRecord;
    use domain::{Exclusion, Failure};

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
        ] {
            let answer = answer(&journey);
            assert_eq!((answer.status, answer.code), (status, code));
            assert_eq!(answer.retry_after, retry_after.map(Millis::seconds));
        }
    }

    #[test]
    fn asking_again_cannot_mend_a_credential() {
        assert_eq!(answer(&failed(&[(Some(401), Reason::Auth, None)])).should_retry, Some(false));
    }

    #[test]
    fn exclusions() {
        use Mechanism::*;
        for (mechanisms, status, code) in [
            (&[][..], 404, "no_executable_targets"),
            (&[SwitchedOff, SwitchedOff], 503, "ALL_ACCOUNTS_INACTIVE"),
            (&[DialectMismatch], 501, "dialect_not_supported"),
            (&[KeyAllowList], 403, "permission_denied"),
            (&[SwitchedOff, ConcurrencyCap], 429, "ALL_TARGETS_SKIPPED"),
            (&[SwitchedOff, CredentialGate], 503, "ALL_TARGETS_SKIPPED"),
        ] {
            let answer = answer(&excluded(mechanisms));
            assert_eq!((answer.status, answer.code), (status, code), "{mechanisms:?}");
        }
    }
}
