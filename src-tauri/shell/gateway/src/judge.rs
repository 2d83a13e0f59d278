//! The verdict over one attempt: gathers what the core needs to know and asks it.
//!
//! A judge is made when an attempt begins and stays with it until it is settled, also through a stream that outlives
//! the loop, so that every failure of one attempt is read under the same rules.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::Provider;
use dialects::UpstreamError;
use dialects::error::ErrorOrigin;
use domain::{Candidate, Clock, Millis, Nature, Outcome, ProviderId, Reason, Timestamp};
use http::HeaderMap;
use http::header::RETRY_AFTER;
use jiff::tz::TimeZone;
use resilience::failure::error_rules::operator_rules;
use resilience::failure::{Context, Diagnosis, ErrorRule, Reply, Rules};
use settings::Settings;

use crate::gateway::Gateway;
use crate::hold::StreamFailure;

/// What the operator says about failures; rebuilt when the settings change.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OperatorRules {
    pub(crate) rules: BTreeMap<ProviderId, Vec<ErrorRule>>,
    pub(crate) banned_signals: Vec<String>,
}

impl OperatorRules {
    /// The settings refuse a table with a wrong rule, so none is met here; were there one, no rule would be used.
    pub(crate) fn of(settings: &Settings) -> Self {
        OperatorRules {
            rules: operator_rules(&settings.provider_error_rules).unwrap_or_default(),
            banned_signals: settings.custom_banned_signals.clone(),
        }
    }
}

/// Knows whom an attempt went to and under which rules it is judged.
pub(crate) struct Judge {
    provider: Arc<Provider>,
    model: String,
    nature: Nature,
    operator: Arc<OperatorRules>,
    clock: Arc<dyn Clock>,
    /// What the head of a good reply says about trying again, should an error be in it.
    head: HeaderMap,
}

impl Judge {
    pub(crate) fn new(gateway: &Gateway, provider: &Arc<Provider>, candidate: &Candidate) -> Self {
        Judge {
            provider: Arc::clone(provider),
            model: candidate.model.clone(),
            nature: candidate.nature.clone(),
            operator: Arc::clone(&gateway.operator_rules()),
            clock: Arc::clone(gateway.clock()),
            head: HeaderMap::new(),
        }
    }

    /// The reply is good as far as its head. An error inside is read with the wait that this names, as that of a bad one
    /// would be (specification's decision 15).
    pub(crate) fn note_head(&mut self, headers: &HeaderMap) {
        if let Some(wait) = headers.get(RETRY_AFTER) {
            self.head.insert(RETRY_AFTER, wait.clone());
        }
    }

    /// An HTTP error. `body` is the text of at most 16 KiB, `message` its one redacted line.
    pub(crate) fn http(
        &self,
        status: u16,
        headers: &HeaderMap,
        body: &str,
        error: &UpstreamError,
        message: &str,
    ) -> Diagnosis {
        let (code, kind) = (error.code.as_deref(), error.kind.as_deref());
        self.diagnose(&Reply::Http { status, headers, body, message, code, kind })
    }

    /// No usable answer came.
    pub(crate) fn transport(&self, reason: Reason, message: &str) -> Diagnosis {
        self.diagnose(&Reply::Transport { reason, message })
    }

    /// Our own rules or settings kept the request from leaving: nobody is charged (resilience specification, 2.6).
    pub(crate) fn local(&self, message: &str) -> Diagnosis {
        self.diagnose(&Reply::Local { message })
    }

    /// A stream, or a good status, turned out bad.
    pub(crate) fn stream(&self, failure: &StreamFailure) -> Diagnosis {
        match failure {
            StreamFailure::Broken { reason, message } => self.transport(*reason, message),
            StreamFailure::TooSlow(message) => self.transport(Reason::ContentStall, message),
            StreamFailure::Overrun(limit) => self.local(&overrun_message(*limit)),
            StreamFailure::Stated(error) => match error.origin {
                ErrorOrigin::Cut => self.transport(Reason::StreamCut, &error.message),
                ErrorOrigin::Garbled => self.transport(Reason::EmptyOrGarbled, &error.message),
                ErrorOrigin::Stated => {
                    let status = error.status.unwrap_or(502);
                    let body: &str = if error.body.is_empty() { &error.message } else { &error.body };
                    self.http(status, &self.head, body, error, &error.message)
                }
            },
        }
    }

    fn diagnose(&self, reply: &Reply<'_>) -> Diagnosis {
        let now = self.clock.now();
        let context = Context {
            provider: &self.provider.id,
            model: &self.model,
            nature: &self.nature,
            rules: Rules {
                provider: &self.provider.rules,
                operator: self.operator.rules.get(&self.provider.id).map_or(&[], Vec::as_slice),
                banned_signals: &self.operator.banned_signals,
            },
            midnight: next_midnight(now, &TimeZone::system()),
        };
        resilience::failure::diagnose(reply, &context, now)
    }
}

/// The kind of an attempt that its execution limit cut off.
pub(crate) const EXECUTION_TIMEOUT: &str = "execution_timeout";

/// The words for an attempt that its execution limit cut off.
pub(crate) fn overrun_message(limit: Millis) -> String {
    format!("the request took longer than this account's queue allows ({limit}): raise executionMaxWaitMs")
}

/// The kind of failure in one word, for the record.
pub(crate) fn kind(diagnosis: &Diagnosis) -> &'static str {
    match &diagnosis.outcome {
        Outcome::Failure(failure) => failure.reason.kind(),
        Outcome::Neutral(_) => Reason::InvalidRequest.kind(),
        Outcome::Success(_) => "success",
    }
}

/// The first instant of tomorrow where this computer is; a day from now where its calendar cannot say.
fn next_midnight(now: Timestamp, zone: &TimeZone) -> Timestamp {
    let a_day_on = Timestamp::from_millis(now.as_millis().saturating_add(24 * 60 * 60 * 1_000));
    let midnight = || {
        let now = jiff::Timestamp::from_millisecond(i64::try_from(now.as_millis()).ok()?).ok()?;
        let tomorrow = now.to_zoned_datetime(zone.clone()).tomorrow().ok()?.start_of_day().ok()?;
        u64::try_from(tomorrow.timestamp().as_millisecond()).ok()
    };
    midnight().map_or(a_day_on, Timestamp::from_millis)
}

#[cfg(test)]
mod tests {
    use jiff::tz::{self, TimeZone};

    use super::*;

    fn at(text: &str) -> Timestamp {
        let instant: jiff::Timestamp = text.parse().expect("an instant");
        Timestamp::from_millis(u64::try_from(instant.as_millisecond()).expect("after the epoch"))
    }

    /// XC-10, EC-15
    #[test]
    fn midnight_is_the_local_one() {
        let ahead = TimeZone::fixed(tz::offset(14));
        let behind = TimeZone::fixed(tz::offset(-11));
        for (zone, now, midnight) in [
            (&TimeZone::UTC, "2026-08-09T23:00:00Z", "2026-08-10T00:00:00Z"),
            (&TimeZone::UTC, "2026-08-09T00:00:00Z", "2026-08-10T00:00:00Z"),
            (&ahead, "2026-08-09T09:30:00Z", "2026-08-09T10:00:00Z"),
            (&behind, "2026-08-09T10:30:00Z", "2026-08-09T11:00:00Z"),
        ] {
            assert_eq!(next_midnight(at(now), zone), at(midnight), "{now}");
        }
    }

    /// EC-30: 25 October 2026 has 25 hours in central Europe.
    #[test]
    fn a_day_on_which_the_clock_changes_ends_at_its_own_midnight() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a zone");
        assert_eq!(next_midnight(at("2026-10-24T22:00:00Z"), &zone), at("2026-10-25T23:00:00Z"));
    }
}
