//! From what came back to a verdict.
//!
//! Two answers to two questions: *what does it do to health* ([`Diagnosis::outcome`]) and *what should be tried next*
//! ([`Diagnosis::next`]). A malformed request stops without blaming anyone; a refused connection blames and moves on.

pub mod classification;
pub mod retry_hint;

use domain::{Failure, Millis, Neutral, Outcome, Reason, Timestamp};

/// What came back instead of an answer.
#[derive(Clone, Debug)]
pub enum Reply<'a> {
    /// An HTTP error, or an error inside a 200 (then `status` is the one its body states, else 502).
    Http { status: u16, retry_after: Option<&'a str>, message: &'a str, code: Option<&'a str> },
    /// No usable answer: the transport failed, the stream was cut, a limit of ours ran out.
    Transport { reason: Reason, message: &'a str },
}

/// What to try next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another account of the same provider may do better.
    NextConnection,
    /// Nobody else would answer differently: pass the refusal on.
    Stop,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    pub outcome: Outcome,
    pub next: Next,
}

/// Judges a failed attempt. The only place that turns a reply into an [`Outcome`].
pub fn diagnose(reply: &Reply<'_>, now: Timestamp) -> Diagnosis {
    match *reply {
        Reply::Http { status, retry_after, message, code } => {
            let reason = classification::of(status, code, message);
            let hint = retry_after.and_then(|text| retry_hint::retry_after(text, now));
            judge(reason, Some(status), hint, message)
        }
        Reply::Transport { reason, message } => judge(reason, None, None, message),
    }
}

fn judge(reason: Reason, status: Option<u16>, hint: Option<Millis>, message: &str) -> Diagnosis {
    if reason == Reason::InvalidRequest {
        return Diagnosis { outcome: Outcome::Neutral(Neutral::InvalidRequest), next: Next::Stop };
    }
    let failure = Failure { status, reason, advertised_retry_after: hint, until: None, message: message.to_owned() };
    Diagnosis { outcome: Outcome::Failure(failure), next: next_after(reason) }
}

/// One mistyped model name fails everywhere alike (decision 28); everything else is worth another account.
fn next_after(reason: Reason) -> Next {
    match reason {
        Reason::InvalidRequest | Reason::ModelNotFound => Next::Stop,
        Reason::Auth
        | Reason::QuotaExhausted
        | Reason::RateLimit
        | Reason::ServerError
        | Reason::Overloaded
        | Reason::Unreachable
        | Reason::ConnectionReset
        | Reason::Tls
        | Reason::ResponseStartTimeout
        | Reason::StreamIdleTimeout
        | Reason::StreamCut
        | Reason::EmptyOrGarbled => Next::NextConnection,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http(status: u16) -> Diagnosis {
        diagnose(&Reply::Http { status, retry_after: None, message: "no", code: None }, Timestamp::ZERO)
    }

    #[test]
    fn a_malformed_request_blames_nobody_and_stops() {
        for status in [400, 409, 413, 415, 422] {
            let verdict = http(status);
            assert_eq!(verdict.outcome, Outcome::Neutral(Neutral::InvalidRequest), "{status}");
            assert_eq!(verdict.next, Next::Stop, "{status}");
        }
    }

    #[test]
    fn an_account_or_server_failure_moves_on() {
        for status in [401, 402, 403, 408, 429, 500, 502, 503, 504, 529] {
            let verdict = http(status);
            assert!(matches!(verdict.outcome, Outcome::Failure(_)), "{status}");
            assert_eq!(verdict.next, Next::NextConnection, "{status}");
        }
    }

    #[test]
    fn an_unknown_model_stops() {
        assert_eq!(http(404).next, Next::Stop);
    }

    #[test]
    fn the_upstreams_hint_is_kept_for_the_client() {
        let reply = Reply::Http { status: 429, retry_after: Some("17"), message: "slow down", code: None };
        let Outcome::Failure(failure) = diagnose(&reply, Timestamp::ZERO).outcome else { panic!("a failure") };
        assert_eq!(failure.advertised_retry_after, Some(Millis::seconds(17)));
    }

    #[test]
    fn a_dead_socket_moves_on() {
        let reply = Reply::Transport { reason: Reason::ConnectionReset, message: "connection reset" };
        assert_eq!(diagnose(&reply, Timestamp::ZERO).next, Next::NextConnection);
    }
}
