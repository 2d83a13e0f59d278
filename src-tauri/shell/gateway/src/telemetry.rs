//! How fast and how reliable targets were of late: the figures that combos compare (gateway specification, 3.5).
//!
//! The last 200 attempts of a day, for each model of a provider and for each of its accounts. The figures are worked out when
//! an attempt ends, not when a request waits for its plan. In memory and bounded. Nothing of it is stored, because every
//! attempt stands in the request log already: a start reads the newest of the last day there, also after a crash. What is
//! not known is unknown, and strategies are told so.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use domain::request_log::AttemptRecord;
use domain::{ConnectionId, Millis, ProviderId, Timestamp};
use lru::LruCache;
use routing::target::Telemetry;
use store::{MAX_PAGE, RequestFilter, Store};

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

#[derive(Debug, Default)]
struct Window {
    attempts: VecDeque<Sample>,
    figures: Telemetry,
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
        for attempt in &attempts {
            let sample = Sample::of(attempt);
            for account in [None, Some(attempt.connection.clone())] {
                let key = (attempt.provider.clone(), attempt.model.clone(), account);
                telemetries.targets.get_or_insert_mut(key, Window::default).keep(sample);
            }
        }
        telemetries.targets.iter_mut().for_each(|(_, window)| window.figures = window.work_out());
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
        self.targets.peek(&key).map(|window| window.figures).unwrap_or_default()
    }
}

impl Window {
    fn record(&mut self, sample: Sample) {
        self.keep(sample);
        self.figures = self.work_out();
    }

    fn keep(&mut self, sample: Sample) {
        self.attempts.push_back(sample);
        while self.attempts.len() > ATTEMPTS
            || self.attempts.front().is_some_and(|oldest| sample.at.since(oldest.at) > SPAN)
        {
            self.attempts.pop_front();
        }
    }

    /// Speed is that of answers; a refusal is quick and says nothing of it.
    fn work_out(&self) -> Telemetry {
        let answered = || self.attempts.iter().filter(|sample| sample.succeeded);
        let mut latencies: Vec<f64> = answered().map(|sample| as_f64(sample.latency)).collect();
        latencies.sort_by(f64::total_cmp);
        let average = mean(&latencies);
        let first_tokens: Vec<f64> = answered().filter_map(|sample| sample.first_token).map(as_f64).collect();
        let deviation = average.map(|average| {
            let squares: Vec<f64> = latencies.iter().map(|latency| (latency - average).powi(2)).collect();
            mean(&squares).unwrap_or(0.0).sqrt()
        });
        Telemetry {
            samples: u32::try_from(self.attempts.len()).unwrap_or(u32::MAX),
            average_latency: average,
            p95_latency: percentile(&latencies, 0.95),
            latency_deviation: deviation,
            first_token: mean(&first_tokens),
            success_rate: mean(
                &self.attempts.iter().map(|sample| f64::from(u8::from(sample.succeeded))).collect::<Vec<_>>(),
            ),
        }
    }
}

fn as_f64(length: Millis) -> f64 {
    // Precise to a fraction of a millisecond for three hundred thousand years.
    length.as_millis() as f64
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The smallest value that is at least as large as this share of all; `sorted` ascends.
fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
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
    fn the_old_makes_room() {
        let telemetries = recorded((0..300).map(|n| sample(n, 1, n >= 100)));
        assert_eq!(telemetries.of(&"p".into(), "m", None).success_rate, Some(1.0));
        let day = SPAN.as_millis();
        let telemetries = recorded([sample(0, 1, false), sample(day, 1, true), sample(day + 1, 1, true)]);
        assert_eq!(telemetries.of(&"p".into(), "m", None).samples, 2);
    }
}
