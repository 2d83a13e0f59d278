//! Optional global provider cooldown (resilience specification, 3).
//!
//! Scope: a provider, and one account of it. Question: *did this just fail in an earlier request?* Off by default, asked
//! by combos only, kept in memory only; it never touches the breaker or the account's own cooldown.
//!
//! The provider as a whole rests when enough failures lie within a sliding window, and for a while after the last of
//! them; below the threshold it never rests, however recent the failure. One account rests after each failure, twice as
//! long each time. Both forget everything at one success.

use std::collections::{BTreeMap, VecDeque};

use domain::section::Conflict;
use domain::{ConnectionId, Millis, ProviderClass, ProviderId, Timestamp, section};

use crate::backoff::doubled;
use crate::settings::Settings;

/// How many failures of one provider are remembered.
const MAX_FAILURES: usize = 200;
/// How often an account's rest doubles at most.
const MAX_STEPS: u32 = 10;
/// An account's failures are remembered at least so long.
const MEMORY: Millis = Millis::minutes(30);

section! {
    /// Remembers failures across requests, so that combos do not all try a provider that has just failed.
    pub struct Config {
        /// Whether combos skip what has just failed.
        pub enabled: bool, env "PROVIDER_COOLDOWN_ENABLED";
        /// First rest of one account; it doubles with each further failure. 0 never rests.
        pub min_retry_cooldown: Millis = Millis::seconds(5), in Millis::ZERO..=Millis::minutes(5), env "PROVIDER_COOLDOWN_MIN_MS";
        /// Longest rest of one account.
        pub max_retry_cooldown: Millis = Millis::minutes(5), in Millis::ZERO..=Millis::hours(1), env "PROVIDER_COOLDOWN_MAX_MS";
        /// Accounts that are signed in.
        pub oauth: Window = Window::oauth(), env "OAUTH";
        /// Accounts with a key.
        pub apikey: Window = Window::default(), env "API_KEY";
        /// Servers on this computer or network.
        pub local: Window = Window::local(), env "LOCAL";
    }
    reconcile = Config::order;
}

section! {
    /// How many failures within which time rest the provider as a whole.
    pub struct Window {
        /// Failures within the window from which on the provider rests.
        pub failure_threshold: u32 = 15, in 1..=200, env "OMNIROUTE_PROVIDER_BREAKER_{}_FAILURE_THRESHOLD";
        /// How far back failures count.
        pub failure_window: Millis = Millis::minutes(30), in Millis::seconds(1)..=Millis::hours(24),
            env "OMNIROUTE_PROVIDER_BREAKER_{}_FAILURE_WINDOW_MS";
        /// How long the provider rests after the last of them.
        pub cooldown: Millis = Millis::minutes(10), in Millis::seconds(1)..=Millis::hours(24),
            env "OMNIROUTE_PROVIDER_BREAKER_{}_COOLDOWN_MS";
    }
}

impl Config {
    fn order(&mut self) -> Vec<Conflict> {
        if self.max_retry_cooldown >= self.min_retry_cooldown {
            return Vec::new();
        }
        self.max_retry_cooldown = self.min_retry_cooldown;
        let message = "the longest rest cannot be shorter than the first";
        vec![Conflict::new(&["maxRetryCooldownMs", "minRetryCooldownMs"], message)]
    }
}

impl Window {
    fn oauth() -> Self {
        Window { failure_threshold: 10, failure_window: Millis::minutes(15), cooldown: Millis::minutes(5) }
    }

    fn local() -> Self {
        Window { failure_threshold: 2, failure_window: Millis::minutes(5), cooldown: Millis::minutes(1) }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProviderCooldowns {
    providers: BTreeMap<ProviderId, Failures>,
    accounts: BTreeMap<ConnectionId, Account>,
}

/// Who rests, as the screen lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resting {
    pub provider: ProviderId,
    /// None: the provider as a whole.
    pub connection: Option<ConnectionId>,
    pub until: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
struct Failures {
    class: ProviderClass,
    /// Oldest first.
    at: VecDeque<Timestamp>,
}

#[derive(Clone, Debug, PartialEq)]
struct Account {
    provider: ProviderId,
    failures: u32,
    last: Timestamp,
}

impl ProviderCooldowns {
    /// Until when a combo leaves this account alone; none, it may be tried.
    pub fn check(
        &self,
        provider: &ProviderId,
        connection: &ConnectionId,
        class: ProviderClass,
        settings: &Settings,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let config = &settings.provider_cooldown;
        if !config.enabled {
            return None;
        }
        let whole = self.providers.get(provider).and_then(|failures| failures.until(settings.window(class), now));
        let account = self.accounts.get(connection).map(|account| account.until(config));
        whole.max(account.filter(|until| now < *until))
    }

    /// Remembers a combo's failed target. Says until when the provider as a whole rests, when that began just now.
    pub fn on_failure(
        &mut self,
        provider: &ProviderId,
        connection: &ConnectionId,
        class: ProviderClass,
        settings: &Settings,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let config = &settings.provider_cooldown;
        if !config.enabled {
            return None;
        }
        let fresh = || Account { provider: provider.clone(), failures: 0, last: now };
        let account = self.accounts.entry(connection.clone()).or_insert_with(fresh);
        if account.is_forgotten(config, now) {
            account.failures = 0;
        }
        account.failures = account.failures.saturating_add(1);
        account.last = now;

        let window = settings.window(class);
        let fresh = || Failures { class, at: VecDeque::new() };
        let failures = self.providers.entry(provider.clone()).or_insert_with(fresh);
        let rested = failures.until(window, now).is_some();
        failures.class = class;
        failures.push(window, now);
        failures.until(window, now).filter(|_| !rested)
    }

    pub fn on_success(&mut self, provider: &ProviderId, connection: &ConnectionId) {
        self.providers.remove(provider);
        self.accounts.remove(connection);
    }

    /// The account is gone, or its owner wiped its record.
    pub fn forget(&mut self, connection: &ConnectionId) {
        self.accounts.remove(connection);
    }

    /// Drops what no longer says anything.
    pub fn tick(&mut self, settings: &Settings, now: Timestamp) {
        self.accounts.retain(|_, account| !account.is_forgotten(&settings.provider_cooldown, now));
        self.providers.retain(|_, failures| {
            let window = settings.window(failures.class);
            failures.at.back().is_some_and(|last| now < *last + window.failure_window.max(window.cooldown))
        });
    }

    /// Everybody who rests, providers first.
    pub fn resting(&self, settings: &Settings, now: Timestamp) -> Vec<Resting> {
        let config = &settings.provider_cooldown;
        if !config.enabled {
            return Vec::new();
        }
        let whole = self.providers.iter().filter_map(|(provider, failures)| {
            let until = failures.until(settings.window(failures.class), now)?;
            Some(Resting { provider: provider.clone(), connection: None, until })
        });
        let accounts = self.accounts.iter().map(|(connection, account)| Resting {
            provider: account.provider.clone(),
            connection: Some(connection.clone()),
            until: account.until(config),
        });
        whole.chain(accounts.filter(|resting| now < resting.until)).collect()
    }
}

impl Failures {
    fn push(&mut self, window: &Window, now: Timestamp) {
        self.at.push_back(now);
        let oldest = now - window.failure_window;
        while self.at.front().is_some_and(|at| *at < oldest) || self.at.len() > MAX_FAILURES {
            self.at.pop_front();
        }
    }

    /// The rest ends a while after the last failure, or when so many failures no longer lie within the window.
    fn until(&self, window: &Window, now: Timestamp) -> Option<Timestamp> {
        let threshold = usize::try_from(window.failure_threshold).unwrap_or(usize::MAX);
        let deciding = self.at.len().checked_sub(threshold).and_then(|n| self.at.get(n))?;
        let rested = *self.at.back()? + window.cooldown;
        let until = rested.min(*deciding + window.failure_window + Millis::new(1));
        (now < until).then_some(until)
    }
}

impl Account {
    fn until(&self, config: &Config) -> Timestamp {
        let steps = self.failures.saturating_sub(1).min(MAX_STEPS);
        self.last + doubled(config.min_retry_cooldown, steps, config.max_retry_cooldown)
    }

    fn is_forgotten(&self, config: &Config, now: Timestamp) -> bool {
        now >= self.last + MEMORY.max(config.max_retry_cooldown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);

    struct Case {
        cooldowns: ProviderCooldowns,
        settings: Settings,
        class: ProviderClass,
    }

    impl Case {
        fn of(class: ProviderClass) -> Case {
            let mut settings = Settings::default();
            settings.provider_cooldown.enabled = true;
            Case { cooldowns: ProviderCooldowns::default(), settings, class }
        }

        fn fails(&mut self, connection: &str, at: Millis) -> Option<Timestamp> {
            let (provider, connection) = ("p".into(), connection.into());
            self.cooldowns.on_failure(&provider, &connection, self.class, &self.settings, START + at)
        }

        /// How long an account that never failed itself is left alone: what the provider as a whole does.
        fn rests(&self, at: Millis) -> Option<Millis> {
            self.account_rests("untouched", at)
        }

        fn account_rests(&self, connection: &str, at: Millis) -> Option<Millis> {
            let (provider, now) = ("p".into(), START + at);
            let until = self.cooldowns.check(&provider, &connection.into(), self.class, &self.settings, now);
            until.map(|until| until.since(now))
        }
    }

    #[test]
    fn switched_off_it_remembers_and_says_nothing() {
        // GP-01
        let mut case = Case::of(ProviderClass::Apikey);
        case.settings.provider_cooldown.enabled = false;
        for _ in 0..30 {
            assert_eq!(case.fails("c1", Millis::ZERO), None);
        }
        assert_eq!(case.account_rests("c1", Millis::ZERO), None);
        assert_eq!(case.cooldowns, ProviderCooldowns::default());
    }

    #[test]
    fn each_class_has_its_threshold_and_its_rest() {
        // GP-02, GP-03, GP-04
        for (class, threshold, rest) in [
            (ProviderClass::Apikey, 15, Millis::minutes(10)),
            (ProviderClass::Free, 15, Millis::minutes(10)),
            (ProviderClass::Oauth, 10, Millis::minutes(5)),
            (ProviderClass::Local, 2, Millis::minutes(1)),
        ] {
            let mut case = Case::of(class);
            for n in 1..threshold {
                assert_eq!(case.fails(&format!("c{n}"), Millis::ZERO), None, "{class:?} {n}");
                assert_eq!(case.rests(Millis::ZERO), None, "{class:?} {n}");
            }
            assert_eq!(case.fails("last", Millis::ZERO), Some(START + rest), "{class:?}");
            assert_eq!(case.rests(Millis::ZERO), Some(rest), "{class:?}");
            assert_eq!(case.fails("more", Millis::ZERO), None, "{class:?}: it rests already");
        }
    }

    #[test]
    fn the_rest_ends_at_the_exact_instant() {
        // GP-05
        let mut case = Case::of(ProviderClass::Apikey);
        for _ in 0..15 {
            case.fails("c1", Millis::ZERO);
        }
        assert_eq!(case.rests(Millis::new(599_999)), Some(Millis::new(1)));
        assert_eq!(case.rests(Millis::new(600_000)), None);
    }

    #[test]
    fn failures_outside_the_window_do_not_count() {
        // GP-06
        let mut case = Case::of(ProviderClass::Apikey);
        for (count, minute) in [(10, 0), (4, 29), (1, 31)] {
            for _ in 0..count {
                case.fails("c1", Millis::minutes(minute));
            }
        }
        assert_eq!(case.rests(Millis::minutes(31)), None);
    }

    #[test]
    fn a_success_empties_the_window() {
        // GP-07
        let mut case = Case::of(ProviderClass::Apikey);
        for _ in 0..14 {
            case.fails("c1", Millis::ZERO);
        }
        case.cooldowns.on_success(&"p".into(), &"c1".into());
        case.fails("c1", Millis::ZERO);
        assert_eq!(case.rests(Millis::ZERO), None);
        assert_eq!(case.account_rests("c1", Millis::ZERO), Some(Millis::seconds(5)), "and the account's failures");
    }

    #[test]
    fn an_account_rests_twice_as_long_each_time() {
        // GP-08
        let mut case = Case::of(ProviderClass::Apikey);
        for seconds in [5, 10, 20, 40, 80, 160, 300, 300] {
            case.fails("c1", Millis::ZERO);
            assert_eq!(case.account_rests("c1", Millis::ZERO), Some(Millis::seconds(seconds)));
        }
        assert_eq!(case.account_rests("c2", Millis::ZERO), None);
        assert_eq!(case.account_rests("c1", Millis::minutes(5)), None);
        case.fails("c1", Millis::minutes(31));
        assert_eq!(case.account_rests("c1", Millis::minutes(31)), Some(Millis::seconds(5)), "half an hour forgets");
    }

    #[test]
    fn time_empties_the_memory() {
        let mut case = Case::of(ProviderClass::Apikey);
        for n in 0..300 {
            case.fails(&format!("c{n}"), Millis::ZERO);
        }
        assert_eq!(case.cooldowns.providers.values().map(|failures| failures.at.len()).max(), Some(MAX_FAILURES));
        case.cooldowns.tick(&case.settings, START + Millis::minutes(30));
        assert_eq!(case.cooldowns, ProviderCooldowns::default());
    }
}
