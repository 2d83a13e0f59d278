//! Breaker for credential refresh (resilience specification, 21.5).
//!
//! Scope: the token endpoint of one provider, or of one account. Question: *is it worth asking for a new token again?* A
//! sign-in server that refuses in a row is left alone for a while; whether the account itself is lost belongs to
//! `connection_status`.

use domain::{Millis, choice, section};

choice! {
    /// Whose failures count together.
    pub enum Scope {
        /// All accounts of a provider.
        Provider = "provider",
        /// Each account on its own.
        Connection = "connection",
    }
}

section! {
    /// When the refresh of tokens pauses. Without effect yet: no tokens are refreshed.
    pub struct Config {
        /// Whose failures count together. Without effect yet: no tokens are refreshed.
        pub scope: Scope = Scope::Provider;
        /// Failures in a row after which the refresh pauses. Without effect yet: no tokens are refreshed.
        pub failure_threshold: u32 = 5, in 1..=100;
        /// How long it pauses. Without effect yet: no tokens are refreshed.
        pub cooldown: Millis = Millis::minutes(30), in Millis::minutes(1)..=Millis::hours(24);
    }
}

section! {
    /// How often credentials are tried while nobody uses them.
    pub struct HealthCheck {
        /// Time between two checks of an account; 0 never checks.
        pub interval_minutes: u32 = 60, in 0..=1_440;
    }
}
