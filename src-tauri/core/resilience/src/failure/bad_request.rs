//! 400 and 422: whose fault was it? (resilience specification, 6.5.)
//!
//! Usually the request's, and then nobody is charged. What sets the cases apart is who should be asked next: another
//! model where this one is missing or too small, nobody where every model would refuse, the next target where it is only
//! this provider that cannot take a parameter, a value or so many tools. The last of these needs no words of its own: it
//! is what happens to everything that no pattern explains (specification's decision 29).

use domain::{Cooldown, Failure, Millis, Neutral, Reason, Scope};

use super::Next;
use super::classification::{Facts, Verdict, overflow};
use super::wording::{self, any};

/// Rules have been asked before; `None` for other statuses.
pub(super) fn judge(facts: &Facts<'_>) -> Option<Verdict> {
    if facts.is_word(&["context_length_exceeded"]) {
        return Some(Verdict::Failed(overflow(facts), Next::NextTarget));
    }
    if !matches!(facts.status, 400 | 422) {
        return None;
    }
    if let Some(reason) = about_model(facts) {
        return Some(Verdict::Failed(harmless(facts, reason, Scope::Nobody), Next::NextTarget));
    }
    if any(facts.text, &wording::OVERFLOW) {
        return Some(Verdict::Failed(overflow(facts), Next::NextTarget));
    }
    if any(facts.text, &wording::MALFORMED) {
        return Some(Verdict::Neutral(Neutral::InvalidRequest, Next::Stop));
    }
    if facts.text.contains("function") && facts.text.contains("degraded") {
        return Some(Verdict::Failed(harmless(facts, Reason::Overloaded, Scope::Noted), Next::NextTarget));
    }
    if any(facts.text, &wording::DISGUISED_RATE_LIMIT) {
        return Some(Verdict::Failed(facts.failure(Reason::RateLimit), Next::NextConnection));
    }
    Some(Verdict::Neutral(Neutral::InvalidRequest, Next::NextTarget))
}

/// What a refusal of the model is, unless it is the credential that is refused.
fn about_model(facts: &Facts<'_>) -> Option<Reason> {
    if any(facts.text, &wording::CREDENTIAL) {
        return None;
    }
    let missing = facts.is_word(&["model_not_found", "deployment_not_found", "not_found_error"])
        || any(facts.text, &wording::MODEL_UNKNOWN)
        || (facts.text.contains("the model") && facts.text.contains("does not exist"));
    if missing {
        return Some(Reason::ModelNotFound);
    }
    facts.is_model_denied().then_some(Reason::ModelAccessDenied)
}

fn harmless(facts: &Facts<'_>, reason: Reason, scope: Scope) -> Failure {
    Failure { scope, cooldown: Cooldown::Fixed(Millis::ZERO), ..facts.failure(reason) }
}
