//! From what came back to a verdict.
//!
//! Two answers to two questions: *what does it do to health* ([`Diagnosis::outcome`]) and *what should be tried next*
//! ([`Diagnosis::next`]). A malformed request stops without blaming anyone; a refused connection blames and moves on.

pub mod classification;
pub mod error_rules;
pub mod layers;
pub mod lock_scope;
pub mod restatement;
pub mod retry_hint;

use domain::{Failure, Nature, Neutral, Outcome, ProviderId, Reason, Timestamp};
use http::HeaderMap;

pub use error_rules::ErrorRule;
pub use restatement::Restatement;

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
}

/// Judges a failed attempt. The only place that turns a reply into an [`Outcome`].
pub fn diagnose(reply: &Reply<'_>, _context: &Context<'_>, now: Timestamp) -> Diagnosis {
    match *reply {
        Reply::Http { status, headers, message, code, kind, .. } => {
            let reason = classification::of(status, code.or(kind), message);
            let announced = headers.get(http::header::RETRY_AFTER).and_then(|value| value.to_str().ok());
            let mut failure = Failure::plain(Some(status), reason, message);
            failure.advertised_retry_after = announced.and_then(|text| retry_hint::retry_after(text, now));
            judge(failure)
        }
        Reply::Transport { reason, message } => judge(Failure::plain(None, reason, message)),
    }
}

fn judge(failure: Failure) -> Diagnosis {
    if failure.reason == Reason::InvalidRequest {
        return Diagnosis { outcome: Outcome::Neutral(Neutral::InvalidRequest), next: Next::Stop };
    }
    let next = if failure.reason == Reason::ModelNotFound { Next::NextTarget } else { Next::NextConnection };
    Diagnosis { outcome: Outcome::Failure(failure), next }
}
