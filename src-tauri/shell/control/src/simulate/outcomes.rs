//! What upstreams did, and so what they would have done: recorded attempts, drawn again.
//!
//! A request that asks the account and model it asked in the log gets what it got there ([`super::story`]). To every other
//! question "what would this account answer at that time" the log knows several answers, from the nearest to the most
//! distant. The first of these that holds any attempt is the urn from which one is drawn:
//!
//! 1. the same model on the same account, in the same five minutes;
//! 2. the same model on other accounts of the provider in these minutes; then its other models: only what concerns the
//!    service as a whole, answers and 5xx and broken transports, for a limit of one account is not another's;
//! 3. the same model on the same account in the nearest of such five minutes within an hour;
//! 4. the same model on the same account at any time;
//! 5. the same model on other accounts at any time, as in 2.
//!
//! Whoever was never asked is taken to answer, in the time that answers usually take. How often an answer comes, how long it
//! takes, and how a failure reads therefore follow the hour.

use std::collections::BTreeMap;

use domain::request_log::{AttemptRecord, RequestRecord};
use domain::{Candidate, ConnectionId, Millis, ProviderId, Reason, Timestamp};
use http::HeaderMap;
use resilience::failure::{Context, Diagnosis, Reply, diagnose};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as WordError, StrDeserializer};

use super::ground::{Ground, midnight};

/// Minutes that are of one mind.
const BUCKET: Millis = Millis::minutes(5);
/// How far minutes may be away and still speak for the time in question.
const NEAR: Millis = Millis::hours(1);
/// What an answer takes where none was ever recorded.
const UNKNOWN_LENGTH: Millis = Millis::seconds(1);
const SUCCESS: &str = "success";
/// Attempts that say nothing about the upstream.
const SILENT: [&str; 4] = ["client_aborted", "called_off", "combo_timeout", ""];

/// One recorded attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    at: Timestamp,
    pub(super) length: Millis,
    pub(super) first_token: Option<Millis>,
    pub(super) status: Option<u16>,
    pub(super) kind: String,
    pub(super) message: String,
}

/// Every recorded attempt, findable by whom it asked; each list in the order of time.
#[derive(Debug)]
pub(super) struct Outcomes {
    accounts: BTreeMap<(ProviderId, String, ConnectionId), Vec<Sample>>,
    models: BTreeMap<(ProviderId, String), Vec<Sample>>,
    providers: BTreeMap<ProviderId, Vec<Sample>>,
    unknown: Sample,
}

impl Outcomes {
    pub(super) fn of(records: &[RequestRecord]) -> Self {
        let mut outcomes = Outcomes {
            accounts: BTreeMap::new(),
            models: BTreeMap::new(),
            providers: BTreeMap::new(),
            unknown: Sample::answer(UNKNOWN_LENGTH),
        };
        let mut answers = Vec::new();
        for attempt in records.iter().flat_map(|record| &record.trace.attempts) {
            let Some(sample) = Sample::of(attempt) else { continue };
            if sample.is_answer() {
                answers.push(sample.length);
            }
            let (provider, model) = (attempt.provider.clone(), attempt.model.clone());
            if sample.is_of_service() {
                outcomes.models.entry((provider.clone(), model.clone())).or_default().push(sample.clone());
                outcomes.providers.entry(provider.clone()).or_default().push(sample.clone());
            }
            outcomes.accounts.entry((provider, model, attempt.connection.clone())).or_default().push(sample);
        }
        let models = outcomes.models.values_mut();
        for list in models.chain(outcomes.accounts.values_mut()).chain(outcomes.providers.values_mut()) {
            list.sort_by_key(|sample| sample.at);
        }
        answers.sort_unstable();
        if let Some(usual) = answers.get(answers.len() / 2) {
            outcomes.unknown = Sample::answer(*usual);
        }
        outcomes
    }

    /// What the candidate does at that time; `chance` is any number.
    pub(super) fn draw(&self, candidate: &Candidate, at: Timestamp, chance: u64) -> &Sample {
        let Candidate { provider, model, connection, .. } = candidate;
        let own = list_of(self.accounts.get(&(provider.clone(), model.clone(), connection.clone())));
        let others = list_of(self.models.get(&(provider.clone(), model.clone())));
        let service = list_of(self.providers.get(provider));
        let urns = [bucket(own, at), bucket(others, at), bucket(service, at), nearest(own, at), own, others];
        let urn = urns.into_iter().find(|urn| !urn.is_empty()).unwrap_or_default();
        let count = u64::try_from(urn.len()).unwrap_or(u64::MAX).max(1);
        let index = usize::try_from(chance % count).unwrap_or(0);
        urn.get(index).unwrap_or(&self.unknown)
    }
}

impl Sample {
    /// None, the attempt says nothing about the upstream.
    pub(super) fn of(attempt: &AttemptRecord) -> Option<Self> {
        // A refusal without a status was our own.
        let own = attempt.status.is_none() && attempt.kind == Reason::InvalidRequest.kind();
        if own || SILENT.contains(&attempt.kind.as_str()) {
            return None;
        }
        Some(Sample {
            at: attempt.started_at,
            length: attempt.duration,
            first_token: attempt.first_token,
            status: attempt.status,
            kind: attempt.kind.clone(),
            message: attempt.message.clone().unwrap_or_default(),
        })
    }

    fn answer(length: Millis) -> Self {
        Sample {
            at: Timestamp::ZERO,
            length,
            first_token: None,
            status: Some(200),
            kind: SUCCESS.to_owned(),
            message: String::new(),
        }
    }

    pub(super) fn is_answer(&self) -> bool {
        self.kind == SUCCESS
    }

    /// It says something about the service as a whole.
    fn is_of_service(&self) -> bool {
        self.is_answer() || self.status.is_none_or(|status| !(400..500).contains(&status))
    }

    /// The verdict on a failure, by the rules of the ground. The log keeps status and words, not headers: a wait is read
    /// from the words alone.
    pub(super) fn diagnosis(&self, ground: &Ground, candidate: &Candidate, now: Timestamp) -> Option<Diagnosis> {
        let provider = ground.catalog.get(&candidate.provider)?;
        let context = Context {
            provider: &provider.id,
            model: &candidate.model,
            nature: &candidate.nature,
            rules: ground.rules(provider),
            midnight: midnight(now),
        };
        let headers = HeaderMap::new();
        let reply = match self.status.filter(|status| *status >= 400) {
            Some(status) => {
                let message = self.message.as_str();
                Reply::Http { status, headers: &headers, body: message, message, code: None, kind: None }
            }
            None => Reply::Transport { reason: reason(&self.kind), message: &self.message },
        };
        Some(diagnose(&reply, &context, now))
    }
}

fn list_of(found: Option<&Vec<Sample>>) -> &[Sample] {
    found.map_or(&[], Vec::as_slice)
}

/// The samples of the same five minutes.
fn bucket(samples: &[Sample], at: Timestamp) -> &[Sample] {
    let start = at.as_millis() / BUCKET.as_millis() * BUCKET.as_millis();
    let start = Timestamp::from_millis(start);
    &samples[index(samples, start)..index(samples, start + BUCKET)]
}

/// Those of the nearest five minutes that hold any.
fn nearest(samples: &[Sample], at: Timestamp) -> &[Sample] {
    let next = index(samples, at);
    let around = [next.checked_sub(1), Some(next)].into_iter().flatten().filter_map(|index| samples.get(index));
    let distance = |sample: &Sample| at.since(sample.at).max(sample.at.since(at));
    match around.min_by_key(|sample| distance(sample)) {
        Some(sample) if distance(sample) <= NEAR => bucket(samples, sample.at),
        Some(_) | None => &[],
    }
}

/// Where the samples from that instant on begin.
fn index(samples: &[Sample], from: Timestamp) -> usize {
    samples.partition_point(|sample| sample.at < from)
}

/// What a word of the log means; one that no version knows is an upstream's error.
fn reason(kind: &str) -> Reason {
    let word: StrDeserializer<'_, WordError> = kind.into_deserializer();
    Reason::deserialize(word).unwrap_or(Reason::ServerError)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(minute: u64, kind: &str) -> Sample {
        Sample { at: Timestamp::ZERO + Millis::minutes(minute), kind: kind.to_owned(), ..Sample::answer(Millis::ZERO) }
    }

    #[test]
    fn the_same_five_minutes_speak_before_the_nearest_and_nothing_beyond_an_hour() {
        let samples = [sample(0, "a"), sample(4, "b"), sample(5, "c"), sample(200, "d")];
        let kinds = |samples: &[Sample]| samples.iter().map(|sample| sample.kind.clone()).collect::<String>();
        let at = |minute| Timestamp::ZERO + Millis::minutes(minute);
        for (minute, expected) in [(0, "ab"), (4, "ab"), (5, "c"), (9, "c"), (10, ""), (203, "d")] {
            assert_eq!(kinds(bucket(&samples, at(minute))), expected, "{minute}");
        }
        for (minute, expected) in [(10, "c"), (65, "c"), (66, ""), (139, ""), (140, "d"), (260, "d"), (261, "")] {
            assert_eq!(kinds(nearest(&samples, at(minute))), expected, "{minute}");
        }
    }

    #[test]
    fn words_of_the_log_are_read_back_and_odd_ones_are_errors_of_the_upstream() {
        for known in [Reason::RateLimit, Reason::EarlyEof, Reason::ConnectionReset, Reason::ResponseStartTimeout] {
            assert_eq!(reason(known.kind()), known);
        }
        assert_eq!(reason("of-the-future"), Reason::ServerError);
    }

    #[test]
    fn a_limit_of_one_account_is_not_another_s_and_a_broken_service_is() {
        let with = |status, kind: &str| Sample { status, ..sample(0, kind) };
        for (sample, of_service) in [
            (with(Some(429), "rate_limit"), false),
            (with(Some(401), "auth"), false),
            (with(Some(503), "overloaded"), true),
            (with(None, "connection_reset"), true),
            (with(Some(200), "success"), true),
            (with(Some(200), "stream_cut"), true),
        ] {
            assert_eq!(sample.is_of_service(), of_service, "{}", sample.kind);
        }
    }
}
