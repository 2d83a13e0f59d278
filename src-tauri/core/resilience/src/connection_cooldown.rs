//! Connection cooldown (resilience specification, 4).
//!
//! Scope: one account. Question: *is this account limited right now?* A service that is down as a whole belongs to
//! `circuit_breaker`, one model of a healthy account to `model_lockout`.
//!
//! Each rest is twice as long as the one before, up to a ceiling. The passing of time ends a rest but keeps its level, so
//! an account that fails again goes on where it stopped; only a success starts anew. While a rest runs nothing lengthens
//! it: many requests that fail together cost one rest and one step.

use domain::{Millis, Timestamp, section};

use crate::failure::layers::Rest;
use crate::rest_period::{RestPeriod, Verdict};

section! {
    /// How long one account rests after a failure.
    pub struct Profiles {
        /// Accounts that are signed in.
        pub oauth: Config = Config::oauth();
        /// Accounts with a key.
        pub apikey: Config = Config::api_key();
        /// Servers on this computer or network.
        pub local: Config = Config::local();
    }
}

section! {
    /// How long an account of one class rests.
    pub struct Config {
        /// Rest after the first failure; it doubles with each further one. 0 never rests.
        pub base_cooldown: Millis = Millis::seconds(3), in Millis::ZERO..=Millis::hours(24);
        /// Whether a wait that the provider announces replaces the ladder.
        pub use_upstream_retry_hints: bool = true;
        /// Whether a breaker opened by a rate limit waits as long as rate limits last. Unset: yes for cloud providers.
        #[doc = "`null` unsets it."]
        pub use_upstream_429_breaker_hints: Option<bool>, wire "useUpstream429BreakerHints";
        /// How often the rest doubles at most; 0 keeps it at the base.
        pub max_backoff_steps: u32 = 5, in 0..=32;
    }
}

impl Config {
    fn oauth() -> Self {
        Config {
            base_cooldown: Millis::seconds(5),
            use_upstream_retry_hints: false,
            max_backoff_steps: 8,
            ..Config::default()
        }
    }

    fn api_key() -> Self {
        Config::default()
    }

    fn local() -> Self {
        Config { base_cooldown: Millis::seconds(5), ..Config::default() }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCooldown {
    rest: Option<RestPeriod>,
    level: u32,
}

impl ConnectionCooldown {
    pub fn check(&self, now: Timestamp) -> Verdict {
        self.rest.as_ref().map_or(Verdict::Over, |rest| rest.check(now))
    }

    /// Whether a rest is running, probed or not.
    pub fn is_resting(&self, now: Timestamp) -> bool {
        self.until(now).is_some()
    }

    /// The account failed. Says until when it rests, when that began just now.
    pub fn on_failure(&mut self, rest: Rest, now: Timestamp) -> Option<Timestamp> {
        if self.is_resting(now) {
            return None;
        }
        let length = rest.length(self.level);
        if length.is_zero() {
            return None;
        }
        let announced = match rest {
            Rest::Ladder { steps, .. } => {
                self.level = self.level.saturating_add(1).min(steps);
                false
            }
            Rest::Exactly { announced, .. } => {
                self.level = if announced { 0 } else { self.level };
                announced
            }
        };
        let rest = RestPeriod::begin(length, announced, now);
        let until = rest.until();
        self.rest = Some(rest);
        Some(until)
    }

    /// Another account's limit is this one's as well: it rests as long, unless it rests longer already.
    pub fn on_shared_limit(&mut self, other: &ConnectionCooldown, now: Timestamp) -> Option<Timestamp> {
        let theirs = other.rest.as_ref().filter(|rest| now < rest.until())?;
        if self.until(now).is_some_and(|until| until >= theirs.until()) {
            return None;
        }
        self.rest = Some(theirs.without_probe());
        Some(theirs.until())
    }

    /// Keeps the account away until an instant, whatever it did before.
    pub fn rest_until(&mut self, until: Timestamp) {
        self.rest = Some(RestPeriod::until_then(until));
    }

    /// A success, or its owner, wipes the record. Says whether there was one.
    pub fn clear(&mut self) -> bool {
        let before = std::mem::take(self);
        before != ConnectionCooldown::default()
    }

    /// A long rest's probe leaves.
    pub fn reserve(&mut self, permit: u64, now: Timestamp) {
        if let Some(rest) = &mut self.rest {
            rest.reserve(permit, now);
        }
    }

    /// The probe met the limit again. Says whether the permit was the probe.
    pub fn on_probe_failure(&mut self, permit: u64, now: Timestamp) -> bool {
        self.rest.as_mut().is_some_and(|rest| rest.on_failure(permit, now))
    }

    /// The probe found nothing out.
    pub fn on_neutral(&mut self, permit: u64) {
        if let Some(rest) = &mut self.rest {
            rest.on_neutral(permit);
        }
    }

    /// The end of the rest, while it runs.
    pub fn until(&self, now: Timestamp) -> Option<Timestamp> {
        self.rest.as_ref().map(RestPeriod::until).filter(|until| now < *until)
    }

    /// When one request may look whether a long rest has ended early.
    pub fn probe_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.until(now).and(self.rest.as_ref().and_then(RestPeriod::probe_at))
    }

    /// Exponent of the next rest.
    pub fn level(&self) -> u32 {
        self.level
    }

    /// Drops a rest that is over, keeping its level. Says whether one was dropped.
    pub fn drop_elapsed(&mut self, now: Timestamp) -> bool {
        self.rest.take_if(|rest| rest.check(now) == Verdict::Over).is_some()
    }

    /// A future rest goes on, an elapsed one is over; the level stays either way.
    pub fn restore(until: Option<Timestamp>, probe_at: Option<Timestamp>, level: u32, now: Timestamp) -> Self {
        ConnectionCooldown { rest: until.and_then(|until| RestPeriod::restore(until, probe_at, now)), level }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);
    const CEILING: Millis = Millis::minutes(30);

    fn ladder(config: &Config) -> Rest {
        Rest::Ladder { base: config.base_cooldown, steps: config.max_backoff_steps, ceiling: CEILING }
    }

    fn announced(length: Millis) -> Rest {
        Rest::Exactly { length, announced: true }
    }

    /// The lengths of so many rests, each failure at the exact end of the rest before.
    fn lengths(rest: Rest, count: usize) -> Vec<u64> {
        let (mut cooldown, mut now) = (ConnectionCooldown::default(), START);
        let mut lengths = Vec::new();
        for _ in 0..count {
            let until = cooldown.on_failure(rest, now).unwrap_or(now);
            lengths.push(until.since(now).as_millis() / 1_000);
            now = until;
        }
        lengths
    }

    #[test]
    fn each_rest_is_twice_as_long_up_to_the_steps_and_the_ceiling() {
        for (config, expected) in [
            // CC-01, CC-03
            (Config::api_key(), vec![3, 6, 12, 24, 48, 96, 96, 96, 96, 96]),
            // CC-02, CC-03
            (Config::oauth(), vec![5, 10, 20, 40, 80, 160, 320, 640, 1280, 1280]),
            (Config::local(), vec![5, 10, 20, 40, 80, 160, 160]),
            // CC-04
            (Config { base_cooldown: Millis::minutes(10), ..Config::default() }, vec![600, 1200, 1800, 1800]),
            // CC-26
            (Config { max_backoff_steps: 0, ..Config::default() }, vec![3, 3, 3]),
            // CC-25
            (Config { base_cooldown: Millis::ZERO, ..Config::default() }, vec![0, 0, 0]),
        ] {
            assert_eq!(lengths(ladder(&config), expected.len()), expected, "{config:?}");
        }
    }

    #[test]
    fn an_account_serves_again_at_the_exact_instant() {
        // CC-05
        let mut cooldown = ConnectionCooldown::default();
        let until = START + Millis::seconds(3);
        assert_eq!(cooldown.on_failure(ladder(&Config::default()), START), Some(until));
        assert_eq!(cooldown.check(START + Millis::new(2_999)), Verdict::Resting { until });
        assert_eq!(cooldown.check(until), Verdict::Over);
    }

    #[test]
    fn time_keeps_the_level_and_success_resets_it() {
        // CC-06, CC-07
        let rest = ladder(&Config::default());
        let mut cooldown = ConnectionCooldown::default();
        cooldown.on_failure(rest, START);
        cooldown.on_failure(rest, START + Millis::minutes(1));
        let hour = START + Millis::hours(1);
        assert_eq!(cooldown.on_failure(rest, hour), Some(hour + Millis::seconds(12)));
        assert!(cooldown.clear());
        assert!(!cooldown.clear(), "there is nothing left");
        assert_eq!(cooldown.on_failure(rest, hour), Some(hour + Millis::seconds(3)));
    }

    #[test]
    fn failures_during_a_rest_cost_nothing_more() {
        // CC-10, CC-11, CC-12
        let rest = ladder(&Config::default());
        let mut cooldown = ConnectionCooldown::default();
        let until = cooldown.on_failure(rest, START);
        for n in 0..49 {
            assert_eq!(cooldown.on_failure(rest, START + Millis::new(n * 60)), None);
        }
        assert_eq!(cooldown.on_failure(announced(Millis::hours(1)), START), None, "nor does a longer hint");
        assert_eq!((cooldown.until(START), cooldown.level()), (until, 1));

        let after = START + Millis::new(3_001);
        assert_eq!(cooldown.on_failure(rest, after), Some(after + Millis::seconds(6)));
        assert_eq!(cooldown.level(), 2);
    }

    #[test]
    fn an_announced_rest_starts_the_ladder_anew_and_a_fixed_one_leaves_it() {
        // CC-08
        let rest = ladder(&Config::default());
        let mut cooldown = ConnectionCooldown::default();
        cooldown.on_failure(rest, START);
        let later = START + Millis::minutes(1);
        let fixed = Rest::Exactly { length: Millis::minutes(5), announced: false };
        assert_eq!(cooldown.on_failure(fixed, later), Some(later + Millis::minutes(5)));
        assert_eq!(cooldown.level(), 1);
        let later = later + Millis::minutes(5);
        assert_eq!(cooldown.on_failure(announced(Millis::seconds(17)), later), Some(later + Millis::seconds(17)));
        assert_eq!(cooldown.level(), 0);
    }

    #[test]
    fn a_shared_limit_lengthens_a_rest_and_never_shortens_it() {
        // EG-07
        for (own, shared) in [(None, Some(60)), (Some(1), Some(60)), (Some(120), None), (Some(60), None)] {
            let (mut failing, mut sibling) = (ConnectionCooldown::default(), ConnectionCooldown::default());
            failing.on_failure(announced(Millis::minutes(60)), START);
            if let Some(minutes) = own {
                sibling.on_failure(announced(Millis::minutes(minutes)), START);
            }
            let expected = shared.map(|minutes| START + Millis::minutes(minutes));
            assert_eq!(sibling.on_shared_limit(&failing, START), expected, "{own:?}");
        }
    }

    #[test]
    fn a_restart_keeps_a_running_rest_and_the_level_of_an_elapsed_one() {
        // RP-04, RP-05
        let until = START + Millis::seconds(60);
        let running = ConnectionCooldown::restore(Some(until), None, 2, START + Millis::seconds(5));
        assert_eq!((running.until(START), running.level()), (Some(until), 2));
        let elapsed = ConnectionCooldown::restore(Some(until), None, 2, until);
        assert_eq!((elapsed.check(until), elapsed.level()), (Verdict::Over, 2));
    }
}
