//! High-rate figures: plain counters, sampled when someone looks.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use domain::{Millis, Timestamp};
use parking_lot::Mutex;
use std::collections::VecDeque;

use crate::underway::Underway;

/// What is going on this very moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Live {
    pub in_flight: u32,
    pub queued: u32,
    /// Output tokens per second over the last ten seconds.
    pub tokens_per_second: f64,
    /// Requests that arrived in the last minute.
    pub requests_per_minute: u32,
    /// The oldest requests on their way.
    pub underway: Vec<Underway>,
}

const MINUTE: Millis = Millis::minutes(1);
const TOKEN_WINDOW: Millis = Millis::seconds(10);
const REMEMBERED: usize = 65_536;

#[derive(Debug, Default)]
pub(crate) struct Counters {
    in_flight: AtomicU32,
    arrived: AtomicU64,
    recent: Mutex<Recent>,
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

impl Counters {
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
            underway: Vec::new(),
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
