//! High-rate figures: plain counters, sampled when someone looks.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use domain::request_log::ExclusionRecord;
use domain::{Millis, RequestId, Timestamp};
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};

/// What is going on this very moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Live {
    pub in_flight: u32,
    pub queued: u32,
    /// Output tokens per second over the last ten seconds.
    pub tokens_per_second: f64,
    /// Requests that arrived in the last minute.
    pub requests_per_minute: u32,
    /// Requests that wait for an account to come back, who waits longest first; at most [`SHOWN`].
    pub waiting: Vec<WaitingRequest>,
}

/// A request that waits for an account to come back.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingRequest {
    pub id: RequestId,
    pub requested_model: String,
    /// The program that asks, where it says so.
    pub agent: Option<String>,
    pub since: Timestamp,
    pub until: Timestamp,
    /// Whatever is back first.
    pub waits_for: Option<ExclusionRecord>,
}

/// The most waiting requests that are shown one by one.
pub const SHOWN: usize = 100;

const MINUTE: Millis = Millis::minutes(1);
const TOKEN_WINDOW: Millis = Millis::seconds(10);
const REMEMBERED: usize = 65_536;

#[derive(Debug, Default)]
pub(crate) struct Counters {
    in_flight: AtomicU32,
    arrived: AtomicU64,
    recent: Mutex<Recent>,
    waiting: Mutex<BTreeMap<u64, WaitingRequest>>,
    waited: AtomicU64,
}

#[derive(Debug, Default)]
struct Recent {
    arrivals: VecDeque<Timestamp>,
    tokens: VecDeque<(Timestamp, u64)>,
}

/// Counts one request for as long as it lives.
#[derive(Debug)]
pub(crate) struct InFlight {
    counters: std::sync::Arc<Counters>,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.counters.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Shows one request as waiting for as long as it lives.
#[derive(Debug)]
pub(crate) struct SeenWaiting {
    counters: std::sync::Arc<Counters>,
    number: u64,
}

impl Drop for SeenWaiting {
    fn drop(&mut self) {
        self.counters.waiting.lock().remove(&self.number);
    }
}

impl Counters {
    pub(crate) fn wait(self: &std::sync::Arc<Self>, request: WaitingRequest) -> SeenWaiting {
        let number = self.waited.fetch_add(1, Ordering::Relaxed);
        self.waiting.lock().insert(number, request);
        SeenWaiting { counters: std::sync::Arc::clone(self), number }
    }

    pub(crate) fn arrive(self: &std::sync::Arc<Self>, now: Timestamp) -> InFlight {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        self.arrived.fetch_add(1, Ordering::Relaxed);
        let mut recent = self.recent.lock();
        recent.arrivals.push_back(now);
        if recent.arrivals.len() > REMEMBERED {
            recent.arrivals.pop_front();
        }
        InFlight { counters: std::sync::Arc::clone(self) }
    }

    pub(crate) fn tokens(&self, now: Timestamp, count: u64) {
        let mut recent = self.recent.lock();
        recent.tokens.push_back((now, count));
        if recent.tokens.len() > REMEMBERED {
            recent.tokens.pop_front();
        }
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub(crate) fn sample(&self, now: Timestamp) -> Live {
        let mut recent = self.recent.lock();
        while recent.arrivals.front().is_some_and(|at| now.since(*at) >= MINUTE) {
            recent.arrivals.pop_front();
        }
        while recent.tokens.front().is_some_and(|(at, _)| now.since(*at) >= TOKEN_WINDOW) {
            recent.tokens.pop_front();
        }
        let tokens = recent.tokens.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
        Live {
            in_flight: self.in_flight(),
            queued: 0,
            tokens_per_second: f64::from(u32::try_from(tokens).unwrap_or(u32::MAX)) / 10.0,
            requests_per_minute: u32::try_from(recent.arrivals.len()).unwrap_or(u32::MAX),
            waiting: self.waiting.lock().values().take(SHOWN).cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn figures_leave_their_windows() {
        let counters = Arc::new(Counters::default());
        let at = Timestamp::from_millis;
        let held = counters.arrive(at(0));
        counters.tokens(at(0), 50);
        assert_eq!(
            counters.sample(at(9_999)),
            Live { in_flight: 1, tokens_per_second: 5.0, requests_per_minute: 1, ..Live::default() }
        );
        drop(held);
        assert_eq!(counters.sample(at(60_000)), Live::default());
    }
}
