//! How much happened within the last minute or day, at every instant.
//!
//! A window that slides: its law is that within *no* stretch of its length more than the limit happens, also not around
//! a full minute of the clock. It keeps running sums, so asking costs a binary search. What happened close together is
//! kept as one entry that counts as long as its latest part, which errs on the slow side by a two-thousandth at most.

use std::collections::VecDeque;

use domain::{Millis, Timestamp};

/// Into how many parts a window's length is divided.
const GRAINS: u64 = 2_048;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    entries: VecDeque<Entry>,
    /// The sum of everything that has been dropped.
    dropped: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    began: Timestamp,
    at: Timestamp,
    /// Of everything up to and with this entry.
    sum: u64,
}

impl Window {
    /// So much happened.
    pub fn add(&mut self, amount: u64, length: Millis, now: Timestamp) {
        while let Some(first) = self.entries.front().filter(|first| first.at + length <= now) {
            self.dropped = first.sum;
            self.entries.pop_front();
        }
        let grain = length.as_millis() / GRAINS;
        let sum = self.total().saturating_add(amount);
        match self.entries.back_mut() {
            Some(last) if now.since(last.began).as_millis() <= grain => {
                last.at = now;
                last.sum = sum;
            }
            Some(_) | None => self.entries.push_back(Entry { began: now, at: now, sum }),
        }
    }

    /// What counts at an instant.
    pub fn used(&self, length: Millis, now: Timestamp) -> u64 {
        let over = self.entries.partition_point(|entry| entry.at + length <= now);
        let gone = over.checked_sub(1).and_then(|last| self.entries.get(last)).map_or(self.dropped, |entry| entry.sum);
        self.total().saturating_sub(gone)
    }

    /// When less than `limit` counts; none, it does now.
    pub fn opens_at(&self, limit: u64, length: Millis, now: Timestamp) -> Option<Timestamp> {
        if self.used(length, now) < limit {
            return None;
        }
        let total = self.total();
        let enough = self.entries.partition_point(|entry| total - entry.sum >= limit);
        self.entries.get(enough).map(|entry| entry.at + length)
    }

    fn total(&self) -> u64 {
        self.entries.back().map_or(self.dropped, |last| last.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Millis = Millis::minutes(1);

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(1_000_000 + millis)
    }

    #[test]
    fn no_minute_holds_more_than_the_limit() {
        let mut window = Window::default();
        for millis in [0, 100, 59_000] {
            assert_eq!(window.opens_at(3, MINUTE, at(millis)), None);
            window.add(1, MINUTE, at(millis));
        }
        assert_eq!(window.opens_at(3, MINUTE, at(59_500)), Some(at(60_000)));
        assert_eq!(window.opens_at(3, MINUTE, at(60_000)), None, "an instant later than the first by a whole minute");
        assert_eq!(window.opens_at(2, MINUTE, at(60_000)), Some(at(60_100)));
        assert_eq!(window.used(MINUTE, at(119_000)), 0);
    }

    #[test]
    fn a_burst_is_kept_as_one_entry() {
        let mut window = Window::default();
        for millis in 0..100_000 {
            window.add(1, MINUTE, at(millis));
        }
        assert!(window.entries.len() <= 2_100, "{}", window.entries.len());
        assert_eq!(window.used(MINUTE, at(200_000)), 0);
    }

    #[test]
    fn one_large_amount_closes_the_window_for_its_length() {
        let mut window = Window::default();
        window.add(500, MINUTE, at(0));
        assert_eq!(window.opens_at(100, MINUTE, at(1)), Some(at(60_000)));
    }
}
