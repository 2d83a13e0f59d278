//! Waiting for a short cooldown instead of failing (resilience specification, 15).
//!
//! Scope: one request. Question: *is it better to wait?* An agent that is told to come back in five seconds shows its user
//! an error; one whose request takes five seconds longer shows nothing.

use domain::section::Conflict;
use domain::{Exclusion, Mechanism, Millis, Reason, Timestamp, section};

/// The longest that one request waits in all.
const BUDGET: Millis = Millis::minutes(5);
/// A combo comes back so much later than a lock ends.
const MARGIN: Millis = Millis::new(50);

/// How often, and how long in all, one client request has waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    pub attempts: u32,
    pub total: Millis,
}

/// What a combo does when every target is kept away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It waits until then and resolves its targets afresh.
    Wait { until: Timestamp, length: Millis },
    /// Waiting would help but takes too long: the client is told when the first target is back.
    TooLong { back_at: Timestamp },
    /// No waiting helps.
    Never,
}

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
    /// What to do when all targets are kept away by `exclusions`, each looked up with its own model, and the last reply
    /// asked for `hint`. The target that is back first decides; those that only their owner or a quota's end brings back
    /// have no say.
    pub fn decide<'a>(
        &self,
        exclusions: impl IntoIterator<Item = &'a Exclusion>,
        hint: Option<Millis>,
        spent: Spent,
        now: Timestamp,
    ) -> Decision {
        let short = exclusions.into_iter().filter(|exclusion| passes_soon(exclusion)).filter_map(|it| it.until);
        let Some(back_at) = short.min() else { return Decision::Never };
        let length = back_at.since(now).max(hint.unwrap_or(Millis::ZERO)) + MARGIN;
        let left = self.budget.as_millis().saturating_sub(spent.total.as_millis());
        let waits =
            self.enabled && length <= self.max_wait && spent.attempts < self.max_attempts && length.as_millis() <= left;
        if waits { Decision::Wait { until: now + length, length } } else { Decision::TooLong { back_at } }
    }

    /// A single wait that the whole budget does not hold would never be waited.
    fn order(&mut self) -> Vec<Conflict> {
        if self.budget >= self.max_wait {
            return Vec::new();
        }
        self.budget = self.max_wait;
        vec![Conflict::new(&["budgetMs", "maxWaitMs"], "all waits together cannot be shorter than a single one")]
    }
}

impl Spent {
    /// One more wait.
    pub fn add(&mut self, length: Millis) {
        self.attempts = self.attempts.saturating_add(1);
        self.total = self.total + length;
    }
}

/// Whether what keeps a target away is short by its nature (resilience specification, 15.2). What is unknown is not.
fn passes_soon(exclusion: &Exclusion) -> bool {
    match exclusion.mechanism {
        Mechanism::CircuitBreaker => true,
        Mechanism::ModelLockout | Mechanism::ConnectionCooldown | Mechanism::ProviderCooldown => {
            exclusion.cause.as_ref().and_then(|cause| cause.reason).is_some_and(Reason::passes_soon)
        }
        Mechanism::SwitchedOff
        | Mechanism::KeyAllowList
        | Mechanism::KeyLimit
        | Mechanism::ExcludedModel
        | Mechanism::CredentialGate
        | Mechanism::RequestExhaustion
        | Mechanism::ConcurrencyCap
        | Mechanism::AdmissionLane
        | Mechanism::ToolLimit
        | Mechanism::QuotaCutoff
        | Mechanism::DialectMismatch
        | Mechanism::TerminalState => false,
    }
}

#[cfg(test)]
mod tests {
    use domain::health::LastError;
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

    const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

    fn lock(reason: Option<Reason>, millis: u64) -> Exclusion {
        let error = LastError { message: String::new(), reason, status: Some(429), at: NOW };
        Exclusion {
            until: Some(NOW + Millis::new(millis)),
            cause: reason.is_some().then_some(error),
            ..Exclusion::lasting(Mechanism::ModelLockout, "model_lockout")
        }
    }

    fn limited(millis: u64) -> Exclusion {
        lock(Some(Reason::RateLimit), millis)
    }

    fn wait(millis: u64) -> Decision {
        let length = Millis::new(millis);
        Decision::Wait { until: NOW + length, length }
    }

    fn too_long(millis: u64) -> Decision {
        Decision::TooLong { back_at: NOW + Millis::new(millis) }
    }

    #[test]
    fn a_combo_waits_for_the_first_short_lock_and_a_little_longer() {
        let quota = lock(Some(Reason::QuotaExhausted), 10_000);
        let cases: [(&str, &[Exclusion], Option<u64>, Decision); 9] = [
            ("CR-01", &[limited(60_000), limited(60_000)], None, wait(60_050)),
            ("CR-02", &[limited(89_950)], None, wait(90_000)),
            ("CR-02", &[limited(89_951)], None, too_long(89_951)),
            ("CR-13", &[limited(300_000), quota.clone()], None, too_long(300_000)),
            ("CR-15", &[limited(50_000), limited(20_000)], None, wait(20_050)),
            ("CR-05", std::slice::from_ref(&quota), None, Decision::Never),
            ("a quota has no say", &[quota.clone(), limited(20_000)], None, wait(20_050)),
            ("a longer hint", &[limited(5_000)], Some(7_000), wait(7_050)),
            ("nothing at all", &[], None, Decision::Never),
        ];
        for (name, exclusions, hint, expected) in cases {
            let decision = Combo::default().decide(exclusions, hint.map(Millis::new), Spent::default(), NOW);
            assert_eq!(decision, expected, "{name}");
        }
    }

    #[test]
    fn only_what_passes_soon_is_waited_for() {
        // CR-05, CR-06, CR-07, CR-14
        for (reason, waits) in [
            (Some(Reason::RateLimit), true),
            (Some(Reason::Overloaded), true),
            (Some(Reason::ServerError), true),
            (Some(Reason::QuotaExhausted), false),
            (Some(Reason::Auth), false),
            (Some(Reason::ModelNotFound), false),
            (None, false),
        ] {
            let decision = Combo::default().decide(&[lock(reason, 1_000)], None, Spent::default(), NOW);
            assert_eq!(decision != Decision::Never, waits, "{reason:?}");
        }
        let breaker = Exclusion { mechanism: Mechanism::CircuitBreaker, ..lock(None, 1_000) };
        assert_eq!(Combo::default().decide(&[breaker], None, Spent::default(), NOW), wait(1_050));
    }

    #[test]
    fn waits_are_bounded_in_number_and_sum_and_can_be_switched_off() {
        // CR-03, CR-04, CR-08
        let config = Combo::default();
        for (millis, waits) in [(10_000, 5), (80_000, 3), (59_950, 5)] {
            let mut spent = Spent::default();
            while let Decision::Wait { length, .. } = config.decide(&[limited(millis)], None, spent, NOW) {
                spent.add(length);
            }
            assert_eq!(spent.attempts, waits, "{millis}");
            assert!(spent.total <= config.budget);
        }
        let off = Combo { enabled: false, ..config };
        assert_eq!(off.decide(&[limited(20_000)], None, Spent::default(), NOW), too_long(20_000));
    }
}
