//! Self-healing: `auto` leaves out, for a while, what does badly (gateway specification, 3.5, "Choosing" 1).
//!
//! Scope: one execution key. Question: *is this candidate worth choosing again?* It is a matter of taste, not of health:
//! cooldowns and lockouts speak of accounts and models for everyone and live in the Engine; this only keeps `auto` from
//! returning to a candidate that scores badly or has failed several times in a row, and it gives way when nothing else is
//! left.
//!
//! Two causes, one end. A bad score keeps a candidate out for five minutes, twice as long each further time, at most half
//! an hour. Failures in a row keep it out by a ladder of their own. When the time is over the candidate is on probation: it
//! takes part again, and is forgiven once three requests in a row succeeded and its score is good. Failing on probation
//! sends it out for the longer of the two lengths.

use std::hash::{BuildHasherDefault, Hasher};

use domain::{Millis, Timestamp};
use indexmap::IndexMap;

/// A score below sends a candidate out.
pub const OUT_BELOW: f64 = 0.2;
/// A score from which a candidate on probation may be forgiven.
pub const BACK_FROM: f64 = 0.3;
/// Good requests in a row that end a probation.
pub const GOOD_PROBES: u32 = 3;
const FIRST: Millis = Millis::minutes(5);
const LONGEST: Millis = Millis::minutes(30);
/// Failures in a row, and how long they keep a candidate out; the longest first.
const LADDER: [(u32, Millis); 3] = [(9, Millis::minutes(60)), (6, Millis::minutes(15)), (3, Millis::minutes(5))];
/// Candidates remembered: more than twice as many as a large combo has, so that those who are out do not push each other
/// out of memory.
const CAPACITY: usize = 24_000;
/// How many are forgotten at once when there are too many, those that changed longest ago. To look for the oldest takes a
/// look at everyone, so it is done seldom.
const FORGOTTEN: usize = CAPACITY / 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    In,
    /// Takes part, and is watched.
    OnProbation,
    Out {
        until: Timestamp,
    },
}

/// What every candidate went through. In memory only: a restart forgives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SelfHealing {
    entries: IndexMap<String, Entry, BuildHasherDefault<ByWords>>,
    /// Counts changes, so that entries know their age.
    changes: u64,
}

/// A hash of eight bytes at a time: a large combo looks up thousands of long keys for every request. Keys are put together of
/// ids that are made here, so nobody chooses them to collide.
#[derive(Clone, Copy, Default)]
struct ByWords(u64);

impl Hasher for ByWords {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        for word in words.iter().chain([&last]) {
            self.0 = (self.0.rotate_left(5) ^ u64::from_le_bytes(*word)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
    }

    fn finish(&self) -> u64 {
        // The upper bits are the well mixed ones, and the table looks at the lower ones too.
        self.0 ^ self.0 >> 32
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Entry {
    /// End of the last exclusion; none, never excluded or forgiven.
    until: Option<Timestamp>,
    /// Exclusions since the candidate was last forgiven.
    exclusions: u32,
    failures: u32,
    good: u32,
    /// The last score seen.
    score: f64,
    /// The number of its last exclusion or failure.
    changed: u64,
}

impl SelfHealing {
    pub fn check(&self, key: &str, now: Timestamp) -> Verdict {
        match self.entries.get(key).and_then(|entry| entry.until) {
            None => Verdict::In,
            Some(until) if until > now => Verdict::Out { until },
            Some(_) => Verdict::OnProbation,
        }
    }

    /// The candidate took part in a ranking with this score.
    pub fn on_score(&mut self, key: &str, score: f64, now: Timestamp) -> Verdict {
        let bad = score < OUT_BELOW;
        match self.entries.get_mut(key) {
            None if bad => self.insert(key).score = score,
            None => return Verdict::In,
            Some(entry) => {
                entry.score = score;
                // Out, and scored again by every request meanwhile: nothing is to be settled before its end.
                if let Some(until) = entry.until.filter(|until| *until > now) {
                    return Verdict::Out { until };
                }
            }
        }
        if bad {
            self.exclude(key, now);
        }
        self.settle(key, now)
    }

    /// A request to the candidate succeeded.
    pub fn on_success(&mut self, key: &str, now: Timestamp) -> Verdict {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.failures = 0;
            entry.good = entry.good.saturating_add(1);
        }
        self.settle(key, now)
    }

    /// A request to the candidate failed, and the failure was its doing.
    pub fn on_failure(&mut self, key: &str, now: Timestamp) -> Verdict {
        let changed = self.next_change();
        let entry = match self.entries.contains_key(key) {
            true => self.entries.entry(key.to_owned()).or_default(),
            false => self.insert(key),
        };
        entry.changed = changed;
        entry.failures = entry.failures.saturating_add(1);
        entry.good = 0;
        if entry.until.is_some_and(|until| until <= now)
            || LADDER.iter().any(|(failures, _)| *failures == entry.failures)
        {
            entry.exclude(now);
        }
        self.check(key, now)
    }

    /// When an exclusion ends next.
    pub fn next_deadline(&self, now: Timestamp) -> Option<Timestamp> {
        self.entries.values().filter_map(|entry| entry.until).filter(|until| *until > now).min()
    }

    /// Everyone who is out, for the screen.
    pub fn snapshot(&self, now: Timestamp) -> Vec<(&str, Timestamp)> {
        let out = |entry: &Entry| entry.until.filter(|until| *until > now);
        self.entries.iter().filter_map(|(key, entry)| Some((key.as_str(), out(entry)?))).collect()
    }

    /// Nobody was ever excluded or failed: every question has the answer "in".
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Forgives a candidate that has earned it, and forgets one with nothing to remember.
    fn settle(&mut self, key: &str, now: Timestamp) -> Verdict {
        let Some(entry) = self.entries.get_mut(key) else {
            return Verdict::In;
        };
        let served = entry.until.is_some_and(|until| until <= now);
        if served && entry.good >= GOOD_PROBES && entry.score >= BACK_FROM {
            entry.until = None;
        }
        if entry.until.is_none() && entry.failures == 0 {
            self.entries.swap_remove(key);
            return Verdict::In;
        }
        self.check(key, now)
    }

    fn exclude(&mut self, key: &str, now: Timestamp) {
        let changed = self.next_change();
        if let Some(entry) = self.entries.get_mut(key) {
            entry.exclude(now);
            entry.changed = changed;
        }
    }

    /// The new entry of a key that has none. Without a score yet, nothing speaks against the candidate.
    fn insert(&mut self, key: &str) -> &mut Entry {
        if self.entries.len() >= CAPACITY {
            self.forget_the_oldest();
        }
        let changed = self.next_change();
        self.entries.entry(key.to_owned()).or_insert(Entry { score: 1.0, changed, ..Entry::default() })
    }

    fn forget_the_oldest(&mut self) {
        let mut ages: Vec<u64> = self.entries.values().map(|entry| entry.changed).collect();
        let (_, &mut oldest_kept, _) = ages.select_nth_unstable(FORGOTTEN);
        self.entries.retain(|_, entry| entry.changed >= oldest_kept);
    }

    fn next_change(&mut self) -> u64 {
        self.changes += 1;
        self.changes
    }
}

impl Entry {
    fn exclude(&mut self, now: Timestamp) {
        let doubled = FIRST.as_millis().saturating_mul(1 << self.exclusions.min(8));
        let by_score = if self.score < OUT_BELOW || self.exclusions > 0 { doubled.min(LONGEST.as_millis()) } else { 0 };
        let by_failures =
            LADDER.iter().find(|(failures, _)| self.failures >= *failures).map_or(0, |(_, length)| length.as_millis());
        self.exclusions = self.exclusions.saturating_add(1);
        self.good = 0;
        let until = now + Millis::new(by_score.max(by_failures));
        self.until = Some(self.until.map_or(until, |current| current.max(until)));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: &str = "a>b@c";

    fn at(minutes: u64) -> Timestamp {
        Timestamp::ZERO + Millis::minutes(minutes)
    }

    fn out(minutes: u64) -> Verdict {
        Verdict::Out { until: at(minutes) }
    }

    #[test]
    fn a_bad_score_excludes_for_five_minutes_and_doubles_to_half_an_hour() {
        let mut healing = SelfHealing::default();
        assert_eq!(healing.on_score(KEY, 0.2, at(0)), Verdict::In, "the bound itself is good enough");
        let mut now = 0;
        for length in [5, 10, 20, 30, 30] {
            assert_eq!(healing.on_score(KEY, 0.19, at(now)), out(now + length));
            assert_eq!(healing.on_score(KEY, 0.1, at(now + 1)), out(now + length), "it is out already");
            now += length;
            assert_eq!(healing.check(KEY, at(now)), Verdict::OnProbation);
        }
    }

    #[test]
    fn probation_ends_after_three_good_requests_and_a_good_score() {
        let mut healing = SelfHealing::default();
        healing.on_score(KEY, 0.1, at(0));
        assert_eq!(healing.on_score(KEY, 0.25, at(5)), Verdict::OnProbation);
        for _ in 0..3 {
            assert_eq!(healing.on_success(KEY, at(5)), Verdict::OnProbation, "the score is not good enough");
        }
        assert_eq!(healing.on_score(KEY, 0.3, at(6)), Verdict::In);
        assert!(healing.is_empty());
        assert_eq!(healing.on_score(KEY, 0.1, at(7)), out(12), "forgiven: the doubling starts anew");
    }

    #[test]
    fn failing_on_probation_sends_out_again_for_longer() {
        let mut healing = SelfHealing::default();
        healing.on_score(KEY, 0.1, at(0));
        healing.on_score(KEY, 0.9, at(5));
        healing.on_success(KEY, at(5));
        assert_eq!(healing.on_failure(KEY, at(6)), out(16));
    }

    #[test]
    fn failures_in_a_row_exclude_by_the_ladder() {
        let mut healing = SelfHealing::default();
        let mut now = 0;
        let verdicts: Vec<Verdict> = (1..=9).map(|_| healing.on_failure(KEY, at(now))).collect();
        assert_eq!(verdicts[..2], [Verdict::In, Verdict::In]);
        assert_eq!(verdicts[2], out(5));
        assert_eq!(verdicts[5], out(15));
        assert_eq!(verdicts[8], out(60));
        now = 60;
        assert_eq!(healing.on_failure(KEY, at(now)), out(120), "the tenth, on probation");
        assert_eq!(healing.next_deadline(at(now)), Some(at(120)));
        assert_eq!(healing.snapshot(at(now)), [(KEY, at(120))]);
    }

    #[test]
    fn a_success_ends_the_row() {
        let mut healing = SelfHealing::default();
        healing.on_failure(KEY, at(0));
        healing.on_failure(KEY, at(0));
        healing.on_success(KEY, at(0));
        assert!(healing.is_empty());
        healing.on_failure(KEY, at(0));
        assert_eq!(healing.on_failure(KEY, at(0)), Verdict::In);
    }

    #[test]
    fn when_there_are_too_many_those_that_changed_longest_ago_are_forgotten() {
        let mut healing = SelfHealing::default();
        (0..CAPACITY).for_each(|n| {
            healing.on_score(&n.to_string(), 0.1, at(0));
        });
        healing.on_failure("0", at(0));
        assert_eq!(healing.on_score(&CAPACITY.to_string(), 0.1, at(1)), out(6));
        assert_eq!(healing.entries.len(), CAPACITY - FORGOTTEN + 1);
        assert_eq!(healing.check("0", at(1)), out(5), "it failed of late");
        assert_eq!(healing.check("1", at(1)), Verdict::In);
        assert_eq!(healing.check(&FORGOTTEN.to_string(), at(1)), Verdict::In);
        assert_eq!(healing.check(&(FORGOTTEN + 1).to_string(), at(1)), out(5));
    }

    proptest! {
        #[test]
        fn no_exclusion_outlasts_an_hour_and_memory_is_bounded(
            facts in prop::collection::vec((0_u32..3_000, 0_u8..4, prop::num::f64::ANY, 0_u64..20), 0..400)
        ) {
            let mut healing = SelfHealing::default();
            let mut now = at(0);
            for (key, fact, score, minutes) in facts {
                now = now + Millis::minutes(minutes);
                let key = key.to_string();
                let verdict = match fact {
                    0 => healing.on_score(&key, score, now),
                    1 => healing.on_success(&key, now),
                    _ => healing.on_failure(&key, now),
                };
                if let Verdict::Out { until } = verdict {
                    prop_assert!(until <= now + Millis::minutes(60));
                }
                prop_assert!(healing.entries.len() <= CAPACITY);
            }
        }
    }
}
