//! Least used: the target that served the fewest requests of late.
//!
//! A count fades: `c ← c · e^(−Δt / 6 h)`, so that an account added later is not flooded until it has caught up with years.
//! Between equals the order of the list. A request counts when it is sent, so that parallel requests spread.

use std::borrow::Borrow;

use domain::{Millis, Timestamp};
use serde::{Deserialize, Serialize};

use super::rising;
use crate::lru::Lru;
use crate::target::Target;
use crate::view::View;

/// Time in which a count falls to 1/e.
const FADE: Millis = Millis::hours(6);
/// Targets whose counts are kept.
const CAPACITY: usize = 20_000;

/// Requests by execution key. The shell puts them down hourly.
#[derive(Clone, Debug, PartialEq)]
pub struct Counts {
    counts: Lru<Count>,
    fades: bool,
}

/// Requests as of an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Count {
    pub requests: f64,
    pub at: Timestamp,
}

impl Counts {
    /// Counts that never fade.
    pub fn exact() -> Self {
        Counts { fades: false, ..Counts::default() }
    }

    /// One more request was sent to a target.
    pub fn add(&mut self, execution_key: &str, now: Timestamp) {
        let requests = self.of(execution_key, now) + 1.0;
        self.counts.insert(execution_key, Count { requests, at: now });
    }

    /// The requests of a target, as far as they still count.
    pub fn of(&self, execution_key: &str, now: Timestamp) -> f64 {
        self.counts.peek(execution_key).map_or(0.0, |count| self.faded(count, now))
    }

    fn faded(&self, count: &Count, now: Timestamp) -> f64 {
        if !self.fades {
            return count.requests;
        }
        let elapsed = now.since(count.at).as_millis() as f64 / FADE.as_millis() as f64;
        count.requests * (-elapsed).exp()
    }

    /// For the store.
    pub fn snapshot(&self) -> Vec<(String, Count)> {
        self.counts.iter().map(|(key, count)| (key.to_owned(), *count)).collect()
    }

    /// What the store kept. Counts that are no numbers are left out.
    pub fn restore(&mut self, stored: impl IntoIterator<Item = (String, Count)>) {
        for (key, count) in stored {
            if count.requests.is_finite() && count.requests >= 0.0 {
                self.counts.insert(&key, count);
            }
        }
    }
}

impl Default for Counts {
    fn default() -> Self {
        Counts { counts: Lru::new(CAPACITY), fades: true }
    }
}

/// Indexes into `targets`.
pub fn rank(targets: &[impl Borrow<Target>], view: &View<'_>, counts: &Counts) -> Vec<usize> {
    rising(targets.iter().map(|target| counts.of(&target.borrow().execution_key, view.now)), f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{NOW, World, targets};
    use super::*;

    #[test]
    fn the_fewest_requests_come_first_and_equals_keep_their_order() {
        let world = World::default();
        let mut counts = Counts::exact();
        for (key, times) in [("s0", 2), ("s1", 1), ("s3", 1)] {
            (0..times).for_each(|_| counts.add(key, NOW));
        }
        assert_eq!(rank(&targets(4), &world.view(), &counts), [2, 1, 3, 0]);
    }

    #[test]
    fn six_hours_later_a_count_is_worth_a_third_and_a_bit() {
        let mut counts = Counts::default();
        (0..10).for_each(|_| counts.add("s", NOW));
        let later = counts.of("s", NOW + Millis::hours(6));
        assert!((later - 10.0 / std::f64::consts::E).abs() < 1e-9);
        assert_eq!(Counts { fades: false, ..counts }.of("s", NOW + Millis::days(9)), 10.0);
    }

    #[test]
    fn used_one_after_another_all_have_the_same_load() {
        let (world, mut counts, targets) = (World::default(), Counts::default(), targets(4));
        for _ in 0..400 {
            let first = rank(&targets, &world.view(), &counts)[0];
            counts.add(&targets[first].execution_key, NOW);
        }
        assert!(targets.iter().all(|target| counts.of(&target.execution_key, NOW) == 100.0));
    }

    #[test]
    fn counts_survive_a_restart() {
        let mut counts = Counts::default();
        counts.add("s", NOW);
        let mut restored = Counts::default();
        let broken = ("x".to_owned(), Count { requests: f64::NAN, at: NOW });
        restored.restore(counts.snapshot().into_iter().chain([broken]));
        assert_eq!(restored, counts);
    }
}
