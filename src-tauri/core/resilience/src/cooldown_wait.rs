//! Waiting for a short cooldown instead of failing (resilience specification, 15).
//!
//! Scope: one request. Question: *is it better to wait?* An agent that is told to come back in five seconds shows its user
//! an error; one whose request takes five seconds longer shows nothing.

use domain::section::Conflict;
use domain::{Millis, section};

/// The longest that one request waits in all.
const BUDGET: Millis = Millis::minutes(5);

section! {
    /// Whether a request that names one model waits while all its accounts cool.
    pub struct Direct {
        /// Whether it waits at all.
        pub enabled: bool = true;
        /// How often one request waits at most.
        pub max_retries: u32 = 5, in 0..=10;
        /// Longest single wait, in seconds.
        pub max_retry_wait_sec: u32 = 90, in 0..=300;
    }
}

impl Direct {
    /// Whether to wait for `length`, after `times` waits that took `total` together.
    pub fn allows(&self, length: Millis, times: u32, total: Millis) -> bool {
        let left = BUDGET.as_millis().saturating_sub(total.as_millis());
        self.enabled
            && times < self.max_retries
            && length <= Millis::seconds(u64::from(self.max_retry_wait_sec))
            && length.as_millis() <= left
    }
}

section! {
    /// Whether a combo waits while all its targets cool.
    pub struct Combo {
        /// Whether it waits at all.
        pub enabled: bool = true;
        /// Longest single wait.
        pub max_wait: Millis = Millis::seconds(90), in Millis::ZERO..=Millis::minutes(5);
        /// How often one request waits at most.
        pub max_attempts: u32 = 5, in 0..=10;
        /// The longest that one request waits in all.
        pub budget: Millis = BUDGET, in Millis::ZERO..=BUDGET;
    }
    reconcile = Combo::order;
}

impl Combo {
    /// A single wait that the whole budget does not hold would never be waited.
    fn order(&mut self) -> Vec<Conflict> {
        if self.budget >= self.max_wait {
            return Vec::new();
        }
        self.budget = self.max_wait;
        vec![Conflict::new(&["budgetMs", "maxWaitMs"], "all waits together cannot be shorter than a single one")]
    }
}

#[cfg(test)]
mod tests {
    use domain::section::Section;

    use super::*;

    /// CC-22
    #[test]
    fn a_wait_is_bounded_in_length_number_and_sum() {
        let config = Direct::default();
        let s = Millis::seconds;
        for (length, times, total, expected) in [
            (s(90), 0, s(0), true),
            (Millis::new(90_001), 0, s(0), false),
            (s(3), 4, s(20), true),
            (s(3), 5, s(20), false),
            (s(60), 3, s(240), true),
            (s(61), 3, s(240), false),
        ] {
            assert_eq!(config.allows(length, times, total), expected, "{length} {times} {total}");
        }
        assert!(!Direct { enabled: false, ..config }.allows(s(1), 0, s(0)));
    }

    #[test]
    fn the_budget_of_a_combo_holds_at_least_one_wait() {
        for (max_wait, budget, expected, named) in
            [(90, 300, 300, false), (90, 90, 90, false), (90, 89, 90, true), (0, 0, 0, false), (300, 0, 300, true)]
        {
            let mut config =
                Combo { max_wait: Millis::seconds(max_wait), budget: Millis::seconds(budget), ..Combo::default() };
            let conflicts = config.reconcile();
            assert_eq!(config.budget, Millis::seconds(expected), "{max_wait} {budget}");
            assert_eq!(conflicts.iter().any(|conflict| conflict.fields == ["budgetMs", "maxWaitMs"]), named);
        }
    }
}
