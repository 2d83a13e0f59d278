//! How fast and how reliable targets were of late: the figures that combos compare (gateway specification, 3.5).
//!
//! The last 200 attempts of a day, for each model of a provider and for each of its accounts. An attempt that ends is added to
//! sums and to a sorted list, and one that is forgotten taken out again, so that neither costs what all 200 would. In memory
//! and bounded. Nothing of it is stored, because every attempt stands in the request log already: a start reads the newest of
//! the last day there, also after a crash. What is not known is unknown, and strategies are told so.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use domain::request_log::AttemptRecord;
use domain::{ConnectionId, Millis, ProviderId, Timestamp};
use lru::LruCache;
use routing::target::Telemetry;
use store::{MAX_PAGE, RequestFilter, Store};

use crate::record::CALLED_OFF;

const ATTEMPTS: usize = 200;
const SPAN: Millis = Millis::hours(24);
/// Requests that a start reads at most: enough for the figures, and read in a fraction of a second.
const READ_AT_START: usize = 5_000;
/// Models and accounts that are remembered.
const TARGETS: NonZeroUsize = NonZeroUsize::new(2_000).unwrap();

/// The figures of everybody that was asked of late.
#[derive(Debug)]
pub struct Telemetries {
    targets: LruCache<Key, Window>,
}

type Key = (ProviderId, String, Option<ConnectionId>);

/// The attempts that count, and of those that were answered what the figures need.
#[derive(Debug, Default)]
struct Window {
    attempts: VecDeque<Sample>,
    /// Milliseconds of every answer, ascending.
    latencies: Vec<u64>,
    latency: Sum,
    /// Of the squares.
    squares: Sum,
    first_token: Sum,
}

/// Whole numbers, so that what is taken out leaves no trace.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    total: u128,
    count: u32,
}

/// How one attempt went.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Its end.
    pub at: Timestamp,
    /// From its start to its end.
    pub latency: Millis,
    pub first_token: Option<Millis>,
    pub succeeded: bool,
}

impl Sample {
    /// Of an attempt that is over.
    pub(crate) fn of(attempt: &AttemptRecord) -> Self {
        Sample {
            at: attempt.started_at + attempt.duration,
            latency: attempt.duration,
            first_token: attempt.first_token,
            succeeded: attempt.kind == SUCCESS,
        }
    }
}

/// How the record of an attempt calls one that was answered.
pub(crate) const SUCCESS: &str = "success";

impl Default for Telemetries {
    fn default() -> Self {
        Telemetries { targets: LruCache::new(TARGETS) }
    }
}

impl Telemetries {
    /// What the request log knows of the last day.
    pub(crate) async fn read(store: &Store, now: Timestamp) -> Result<Telemetries, store::Error> {
        let filter = RequestFilter { since: Some(now - SPAN), ..RequestFilter::default() };
        let (mut attempts, mut read, mut cursor) = (Vec::new(), 0, None);
        loop {
            let (page, next) = store.list_requests(&filter, cursor.as_ref(), MAX_PAGE).await?;
            read += page.len();
            attempts.extend(page.into_iter().flat_map(|record| record.trace.attempts));
            match next {
                Some(next) if read < READ_AT_START => cursor = Some(next),
                Some(_) | None => break,
            }
        }
        Ok(Telemetries::of_attempts(attempts))
    }

    fn of_attempts(mut attempts: Vec<AttemptRecord>) -> Telemetries {
        attempts.sort_by_key(|attempt| attempt.started_at + attempt.duration);
        let mut telemetries = Telemetries::default();
        for attempt in attempts.iter().filter(|attempt| attempt.kind != CALLED_OFF) {
            telemetries.record(&attempt.provider, &attempt.model, &attempt.connection, Sample::of(attempt));
        }
        telemetries
    }

    /// An attempt has ended.
    pub fn record(&mut self, provider: &ProviderId, model: &str, connection: &ConnectionId, sample: Sample) {
        for account in [None, Some(connection.clone())] {
            let key = (provider.clone(), model.to_owned(), account);
            self.targets.get_or_insert_mut(key, Window::default).record(sample);
        }
    }

    /// The figures of an account, or of all accounts of the provider together.
    pub fn of(&self, provider: &ProviderId, model: &str, connection: Option<&ConnectionId>) -> Telemetry {
        let key = (provider.clone(), model.to_owned(), connection.cloned());
        self.targets.peek(&key).map(Window::figures).unwrap_or_default()
    }
}

impl Window {
    fn record(&mut self, sample: Sample) {
        self.attempts.push_back(sample);
        self.count(&sample);
        while self.attempts.len() > ATTEMPTS
            || self.attempts.front().is_some_and(|oldest| sample.at.since(oldest.at) > SPAN)
        {
            if let Some(oldest) = self.attempts.pop_front() {
                self.discount(&oldest);
            }
        }
    }

    /// Speed is that of answers; a refusal is quick and says nothing of it.
    fn count(&mut self, sample: &Sample) {
        if !sample.succeeded {
            return;
        }
        let latency = sample.latency.as_millis();
        let at = self.latencies.partition_point(|other| *other < latency);
        self.latencies.insert(at, latency);
        self.latency.add(latency.into());
        self.squares.add(u128::from(latency).pow(2));
        if let Some(first_token) = sample.first_token {
            self.first_token.add(first_token.as_millis().into());
        }
    }

    /// Takes out what was counted before.
    fn discount(&mut self, sample: &Sample) {
        if !sample.succeeded {
            return;
        }
        let latency = sample.latency.as_millis();
        if let Ok(at) = self.latencies.binary_search(&latency) {
            self.latencies.remove(at);
        }
        self.latency.take(latency.into());
        self.squares.take(u128::from(latency).pow(2));
        if let Some(first_token) = sample.first_token {
            self.first_token.take(first_token.as_millis().into());
        }
    }

    fn figures(&self) -> Telemetry {
        let answered = self.latencies.len() as f64;
        let average_latency = self.latency.mean();
        // The mean of the squares less the square of the mean; rounding may take it below zero.
        let variance = average_latency.zip(self.squares.mean()).map(|(mean, squares)| (squares - mean * mean).max(0.0));
        Telemetry {
            samples: u32::try_from(self.attempts.len()).unwrap_or(u32::MAX),
            average_latency,
            p95_latency: percentile(&self.latencies, 0.95),
            latency_deviation: variance.map(f64::sqrt),
            first_token: self.first_token.mean(),
            success_rate: (!self.attempts.is_empty()).then(|| answered / self.attempts.len() as f64),
        }
    }
}

impl Sum {
    fn add(&mut self, value: u128) {
        self.total += value;
        self.count += 1;
    }

    fn take(&mut self, value: u128) {
        self.total -= value;
        self.count -= 1;
    }

    /// None of nothing.
    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total as f64 / f64::from(self.count))
    }
}

/// The smallest value that is at least as large as this share of all; `sorted` ascends.
fn percentile(sorted: &[u64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).map(|value| *value as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: u64, latency: u64, succeeded: bool) -> Sample {
        Sample {
            at: Timestamp::from_millis(at),
            latency: Millis::new(latency),
            first_token: Some(Millis::new(latency / 2)),
            succeeded,
        }
    }

    fn recorded(samples: impl IntoIterator<Item = Sample>) -> Telemetries {
        let mut telemetries = Telemetries::default();
        samples.into_iter().for_each(|sample| telemetries.record(&"p".into(), "m", &"c".into(), sample));
        telemetries
    }

    #[test]
    fn figures_are_those_of_answers_and_the_rate_that_of_all() {
        let samples = (1..=100).map(|n| sample(n, n, true)).chain([sample(101, 1, false)]);
        let telemetries = recorded(samples);
        for account in [None, Some(&ConnectionId::from("c"))] {
            let figures = telemetries.of(&"p".into(), "m", account);
            assert_eq!((figures.samples, figures.p95_latency), (101, Some(95.0)));
            assert_eq!((figures.average_latency, figures.first_token), (Some(50.5), Some(25.0)));
            assert!((figures.success_rate.unwrap_or(0.0) - 100.0 / 101.0).abs() < 1e-9);
        }
        assert_eq!(telemetries.of(&"p".into(), "other", None), Telemetry::default());
    }

    #[test]
    fn what_was_forgotten_leaves_no_trace() {
        let long_ago = (0..400).map(|n| sample(n, (n * 7_919) % 1_009 + 1, n % 3 != 0));
        let day = SPAN.as_millis();
        let last = [sample(day * 2, 3, true), sample(day * 2, 7, true), sample(day * 2, 9, false)];
        let among_old = recorded(long_ago.chain(last)).of(&"p".into(), "m", None);
        assert_eq!(among_old, recorded(last).of(&"p".into(), "m", None));
        assert_eq!((among_old.average_latency, among_old.latency_deviation), (Some(5.0), Some(2.0)));
    }

    #[test]
    fn the_old_makes_room() {
        let telemetries = recorded((0..300).map(|n| sample(n, 1, n >= 100)));
        assert_eq!(telemetries.of(&"p".into(), "m", None).success_rate, Some(1.0));
        let day = SPAN.as_millis();
        let telemetries = recorded([sample(0, 1, false), sample(day, 1, true), sample(day + 1, 1, true)]);
        assert_eq!(telemetries.of(&"p".into(), "m", None).samples, 2);
    }
}
