//! From what came back to a verdict.
//!
//! Two answers to two questions: *what does it do to health* ([`Diagnosis::outcome`]) and *what should be tried next*
//! ([`Diagnosis::next`]). A malformed request stops without blaming anyone; a refused connection blames and moves on.

mod bad_request;
mod classification;
mod operator_rules;
mod wording;

pub mod ban;
pub mod error_rules;
pub mod layers;
pub mod lock_scope;
pub mod restatement;
pub mod retry_hint;

use std::borrow::Cow;

use domain::{BreakerCharge, Failure, Millis, Nature, Neutral, Outcome, ProviderId, Reason, Timestamp};
use http::HeaderMap;

use classification::Facts;
pub use error_rules::ErrorRule;
pub use restatement::Restatement;
pub use wording::is_generic;

/// What came back instead of an answer.
#[derive(Clone, Debug)]
pub enum Reply<'a> {
    /// An HTTP error, or an error inside a 200 (then `status` is the one its body states, else 502).
    Http {
        status: u16,
        headers: &'a HeaderMap,
        /// The body, at most 16 KiB of it.
        body: &'a str,
        /// The message of the body, one redacted line.
        message: &'a str,
        /// Machine-readable words of the body: `error.code`, `error.type`.
        code: Option<&'a str>,
        kind: Option<&'a str>,
    },
    /// No usable answer: the transport failed, the stream was cut, a limit of ours ran out.
    Transport { reason: Reason, message: &'a str },
    /// Nothing was sent: this gateway's own rules or its outgoing proxy stood in the way.
    Local { message: &'a str },
}

/// What is known about the one that failed.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    pub provider: &'a ProviderId,
    pub model: &'a str,
    pub nature: &'a Nature,
    pub rules: Rules<'a>,
    /// The next local midnight.
    pub midnight: Timestamp,
}

/// What data says about failures, the strongest last: the generic tables, the catalogue, the operator.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    pub provider: &'a ProviderRules,
    /// The operator's rules for this provider.
    pub operator: &'a [ErrorRule],
    /// The operator's own ban phrases, beside the built-in ones (resilience specification, 7.2).
    pub banned_signals: &'a [String],
}

/// The catalogue's data about one provider's failures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProviderRules {
    pub restatements: Vec<Restatement>,
    pub error_rules: Vec<ErrorRule>,
    /// Rules may read the whole error text; otherwise only code, type, headers and status.
    pub full_text: bool,
    /// The scope of its rules is acted on.
    pub honors_scope: bool,
}

/// What to try next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another account of the same provider may do better.
    NextConnection,
    /// Another account would answer alike; another model or provider may not.
    NextTarget,
    /// Nobody else would answer differently: pass the refusal on.
    Stop,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    pub outcome: Outcome,
    pub next: Next,
    /// The status of the reply as it is believed; none where there was no reply.
    pub status: Option<u16>,
}

/// Judges a failed attempt. The only place that turns a reply into an [`Outcome`].
pub fn diagnose(reply: &Reply<'_>, context: &Context<'_>, now: Timestamp) -> Diagnosis {
    match *reply {
        Reply::Http { status, headers, body, message, code, kind } => {
            let body = readable(body);
            let words = [code, kind].into_iter().flatten();
            let text = [message].into_iter().chain(words).chain([&*body]).collect::<Vec<_>>().join("\n").to_lowercase();
            let habit = restatement::apply(&context.rules.provider.restatements, status, &text);
            let hint = retry_hint::read(headers, &body, message, now);
            let mut diagnosis = classification::classify(&Facts {
                status: restatement::believed(habit.map_or(status, |habit| habit.to_status)),
                headers,
                text: &text,
                message,
                code,
                kind,
                hint,
                until_midnight: until_midnight(context, now),
                context,
            });
            if let Outcome::Failure(failure) = &mut diagnosis.outcome {
                let usual = habit.and_then(|habit| habit.default_retry_after_ms).map(Millis::new);
                failure.advertised_retry_after = hint.map(|hint| hint.delay).or(usual);
            }
            diagnosis
        }
        Reply::Transport { reason, message } => {
            let failure = Failure { breaker: charge(reason), ..Failure::plain(None, reason, message) };
            Diagnosis { outcome: Outcome::Failure(failure), next: Next::NextConnection, status: None }
        }
        Reply::Local { .. } => {
            Diagnosis { outcome: Outcome::Neutral(Neutral::LocalLimit), next: Next::NextConnection, status: None }
        }
    }
}

/// The body with its JSON escapes resolved, so that a marker is found however it was written.
fn readable(body: &str) -> Cow<'_, str> {
    if !body.contains("\\u") {
        return Cow::Borrowed(body);
    }
    match serde_json::from_str::<serde_json::Value>(body) {
        Ok(value) => Cow::Owned(value.to_string()),
        Err(_) => Cow::Borrowed(body),
    }
}

/// Never zero: at midnight itself a whole day is left.
fn until_midnight(context: &Context<'_>, now: Timestamp) -> Millis {
    match context.midnight.since(now) {
        Millis::ZERO => Millis::hours(24),
        left => left,
    }
}

/// A service that cannot be reached, or drops what it began, is charged once per burst; one that closes a good answer
/// before its first word has failed. A stream that is merely slow or empty says nothing about the service.
fn charge(reason: Reason) -> BreakerCharge {
    match reason {
        Reason::Unreachable
        | Reason::ConnectionReset
        | Reason::Tls
        | Reason::ResponseStartTimeout
        | Reason::StreamCut => BreakerCharge::Network,
        Reason::EarlyEof => BreakerCharge::Counts,
        _ => BreakerCharge::None,
    }
}
