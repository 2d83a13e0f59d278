//! Connection cooldown (resilience specification, 4).
//!
//! Scope: one account. Question: *is this account limited right now?* A service that is down as a whole belongs to
//! `circuit_breaker`, one model of a healthy account to `model_lockout`.

use domain::{Millis, section};

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
