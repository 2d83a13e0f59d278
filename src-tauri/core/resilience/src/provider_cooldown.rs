//! Optional global provider cooldown (resilience specification, 3).
//!
//! Scope: a provider, and one account of it. Question: *did this just fail in an earlier request?* Off by default, asked
//! by combos only, kept in memory only; it never touches the breaker or the account's own cooldown.

use domain::section::Conflict;
use domain::{Millis, section};

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
