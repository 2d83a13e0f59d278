//! The stored form of a breaker (resilience specification, 25).

use std::collections::VecDeque;

use domain::{Reason, Timestamp};

use super::{CircuitBreaker, Config, FailureKind, HISTORY, Phase, State};
use crate::stored::BreakerOptions;

impl CircuitBreaker {
    /// The stored word of the state, and the rest of the row.
    pub(super) fn store(&self, config: &Config) -> (&'static str, BreakerOptions) {
        let options = BreakerOptions {
            failure_threshold: config.failure_threshold,
            reset_timeout: config.reset_timeout.as_millis(),
            half_open_requests: 1,
            last_failure_kind: self.last_failure.map(|_| self.last_kind.as_str().to_owned()),
            open_cycle_count: self.cycles,
            transitions: self.transitions.iter().cloned().collect(),
            ..BreakerOptions::default()
        };
        (self.phase.as_str(), options)
    }

    /// Reads a row. A probe that was out when the program ended is gone: the budget is full again. A failure that lies
    /// ahead of the clock is taken to be now.
    pub(super) fn restore(
        state: &str,
        failures: u32,
        last_failure: Option<Timestamp>,
        options: &BreakerOptions,
        now: Timestamp,
    ) -> Self {
        let skipped = options.transitions.len().saturating_sub(HISTORY);
        CircuitBreaker {
            phase: Phase::parse(state),
            failures,
            cycles: options.open_cycle_count,
            last_failure: last_failure.map(|at| at.min(now)),
            last_kind: options.last_failure_kind.as_deref().map_or_else(FailureKind::default, FailureKind::parse),
            network_failure_at: None,
            generation: 0,
            transitions: options.transitions.iter().skip(skipped).cloned().collect::<VecDeque<_>>(),
        }
    }
}

impl Phase {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Phase::Closed => State::Closed.as_str(),
            Phase::Degraded => State::Degraded.as_str(),
            Phase::Open => "OPEN",
            Phase::HalfOpen { .. } => State::HalfOpen.as_str(),
        }
    }

    /// What cannot be read is no reason to stop traffic.
    fn parse(word: &str) -> Phase {
        match word {
            "DEGRADED" => Phase::Degraded,
            "OPEN" => Phase::Open,
            "HALF_OPEN" => Phase::HalfOpen { probe_since: None },
            _ => Phase::Closed,
        }
    }
}

impl FailureKind {
    /// What a failure that counts speaks of.
    pub const fn of(reason: Reason) -> Self {
        match reason {
            Reason::RateLimit => FailureKind::RateLimit,
            Reason::QuotaExhausted => FailureKind::QuotaExhausted,
            _ => FailureKind::Transient,
        }
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            FailureKind::Transient => "transient",
            FailureKind::RateLimit => "rate_limit",
            FailureKind::QuotaExhausted => "quota_exhausted",
        }
    }

    fn parse(word: &str) -> Self {
        [FailureKind::RateLimit, FailureKind::QuotaExhausted]
            .into_iter()
            .find(|kind| kind.as_str() == word)
            .unwrap_or_default()
    }
}
