//! Provider circuit breaker (resilience specification, 2).
//!
//! Scope: one whole provider. Question: *is this service down?* Failures of a single account or model never reach this
//! file; they belong to `connection_cooldown` and `model_lockout`.
//!
//! There is no timer. `Open` turns into `HalfOpen` because every reader goes through the state function, which compares
//! `now` with the end of the break. Nothing outside this file can read the stored state.

use domain::{Millis, Timestamp, section};
use serde::{Deserialize, Serialize};

section! {
    /// When a provider is taken out of rotation as a whole.
    pub struct Profiles {
        /// Accounts that are signed in.
        pub oauth: Config = Config::oauth(), env "OAUTH";
        /// Accounts with a key.
        pub apikey: Config = Config::api_key(), env "API_KEY";
        /// Servers on this computer or network.
        pub local: Config = Config::local(), env "LOCAL";
    }
}

section! {
    /// When a provider of one class is taken out of rotation.
    pub struct Config {
        /// Failures after which traffic stops.
        pub failure_threshold: u32 = 5, in 1..=1_000, env "OMNIROUTE_CIRCUIT_BREAKER_{}_THRESHOLD";
        /// Failures after which the provider is shown as degraded; traffic continues. Below the failure threshold.
        pub degradation_threshold: u32 = 3, in 1..=999, env "OMNIROUTE_PROVIDER_BREAKER_{}_DEGRADATION_THRESHOLD";
        /// How long traffic stays stopped before one request is let through as a probe.
        pub reset_timeout: Millis = Millis::seconds(30), in Millis::seconds(1)..=Millis::hours(24),
            env "OMNIROUTE_CIRCUIT_BREAKER_{}_RESET_MS";
        /// How many times the reset time failed probes can stretch the wait.
        pub max_backoff_multiplier: u32 = 16, in 1..=64, env "OMNIROUTE_PROVIDER_BREAKER_{}_MAX_BACKOFF_MULTIPLIER";
        /// Failed probes after which the wait begins to double.
        pub backoff_escalation_count: u32 = 3, in 0..=32, env "OMNIROUTE_PROVIDER_BREAKER_{}_BACKOFF_ESCALATION_COUNT";
    }
}

impl Config {
    fn oauth() -> Self {
        Config {
            failure_threshold: 8,
            degradation_threshold: 5,
            reset_timeout: Millis::seconds(60),
            max_backoff_multiplier: 8,
            backoff_escalation_count: 2,
        }
    }

    fn api_key() -> Self {
        Config {
            failure_threshold: 12,
            degradation_threshold: 7,
            reset_timeout: Millis::seconds(30),
            max_backoff_multiplier: 4,
            backoff_escalation_count: 3,
        }
    }

    fn local() -> Self {
        Config {
            failure_threshold: 2,
            degradation_threshold: 1,
            reset_timeout: Millis::seconds(15),
            ..Config::default()
        }
    }
}

/// What the breaker is now, time already applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Closed,
    Degraded,
    Open { until: Timestamp },
    HalfOpen,
}

impl State {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            State::Closed => "CLOSED",
            State::Degraded => "DEGRADED",
            State::Open { .. } => "OPEN",
            State::HalfOpen => "HALF_OPEN",
        }
    }
}

/// A change of state, as the time line shows it (resilience specification, 2.9).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Transition {
    /// `CLOSED`, `DEGRADED`, `OPEN`, `HALF_OPEN`.
    pub from: String,
    pub to: String,
    pub timestamp: Timestamp,
    pub failure_count: u32,
    /// `elevated-failures (n/m)`, `probe-failed (cycle n)`, `probe-success`, `timeout-elapsed`, `recovery`, …
    pub reason: String,
}
