//! Model lockout (resilience specification, 11).
//!
//! Scope: one model on one account, or the models that share its quota. Question: *is just this model limited here?*

use domain::section::Conflict;
use domain::{Millis, section};

section! {
    /// When a model rests on one account although the account is fine.
    pub struct Config {
        /// Whether failures with one of the codes below lock the model, whatever the provider. Providers with quotas per
        /// model lock their models either way.
        pub enabled: bool;
        /// HTTP statuses that lock.
        pub error_codes: Vec<u16> = vec![403, 404, 429, 502, 503, 504], in 100..=599;
        /// Length of the first lock; it doubles with each further failure.
        pub base_cooldown: Millis = Millis::minutes(2), in Millis::seconds(5)..=Millis::minutes(10);
        /// Longest lock, and longest rest of an account, that is not announced by the provider in so many words.
        pub max_cooldown: Millis = Millis::minutes(30), in Millis::seconds(5)..=Millis::hours(1);
        /// How often the lock doubles at most; 0 keeps it at the base.
        pub max_backoff_steps: u32 = 10, in 0..=20;
        /// Whether locks double at all.
        pub use_exponential_backoff: bool = true;
        /// Whether active locks survive a restart.
        pub persist: bool = true;
    }
    reconcile = Config::order;
}

impl Config {
    fn order(&mut self) -> Vec<Conflict> {
        if self.max_cooldown >= self.base_cooldown {
            return Vec::new();
        }
        self.max_cooldown = self.base_cooldown;
        vec![Conflict::new(&["maxCooldownMs", "baseCooldownMs"], "the longest lock cannot be shorter than the first")]
    }
}
