//! Provider circuit breaker (resilience specification, 2).
//!
//! Scope: one whole provider. Question: *is this service down?* Failures of a single account or model never reach this
//! file; they belong to `connection_cooldown` and `model_lockout`.
//!
//! There is no timer. `Open` turns into `HalfOpen` because every reader goes through [`CircuitBreaker::state`], which
//! compares `now` with the end of the break. Nothing outside this file can read the stored state.
//!
//! **Late results.** What a request says about the service, it says about the service as it was when the request left.
//! Every change between flowing, stopped and probing therefore begins a new *generation*; a [`Ticket`] remembers the one
//! it was given in, and a result from an earlier one is ignored. That makes a burst of parallel failures open the breaker
//! once, keeps a slow failure from prolonging the break, and keeps a slow success from ending it.
//!
//! **The probe.** A reservation is a generation of its own, so the result of a probe that lapsed and was replaced is as
//! late as any other. It lapses after the longer of reset timeout and start timeout: a probe that never comes back cannot
//! hold the breaker half-open.

mod registry;
mod stored;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use domain::section::Conflict;
use domain::{Millis, Timestamp, section};
use serde::{Deserialize, Serialize};

use crate::backoff::doubled;

pub use registry::{Breakers, Charge};

/// The longest an upstream may take to begin its answer; what was reserved for a request is free again after it.
pub const START_TIMEOUT: Millis = Millis::minutes(10);
/// Network failures of one provider within this time are one failure.
pub const NETWORK_EPISODE: Millis = Millis::seconds(10);
/// How many transitions are kept.
const HISTORY: usize = 20;
/// When to ask again while somebody else's probe is out.
const PROBE_PATIENCE: Millis = Millis::seconds(1);

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
    reconcile = Config::order;
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

    /// A breaker that opens at the first failure has no degraded state; any other is degraded before it opens.
    fn order(&mut self) -> Vec<Conflict> {
        if self.failure_threshold == 1 || self.degradation_threshold < self.failure_threshold {
            return Vec::new();
        }
        self.degradation_threshold = self.failure_threshold.saturating_sub(1).max(1);
        let message = "the provider must be degraded before traffic stops";
        vec![Conflict::new(&["degradationThreshold", "failureThreshold"], message)]
    }

    /// Failures from which on the provider is degraded; none, there is no such state. Clamped on read as well.
    fn degrades_at(&self) -> Option<u32> {
        (self.failure_threshold > 1).then(|| self.degradation_threshold.clamp(1, self.failure_threshold - 1))
    }
}

/// What the settings say about one provider's breaker.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    pub config: &'a Config,
    /// A breaker that a rate limit or an exhausted quota opened waits as long as those last.
    pub obeys_kinds: bool,
}

/// What the breaker is now, time already applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Closed,
    Degraded,
    Open { until: Timestamp },
    HalfOpen,
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

/// What a failure speaks of (resilience specification, 2.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailureKind {
    #[default]
    Transient,
    RateLimit,
    QuotaExhausted,
}

/// May one more request go to the provider?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    /// As the one probe.
    Probe,
    Stopped {
        until: Timestamp,
    },
}

/// What an admitted request brings back with its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    generation: u64,
}

/// What a fact did to the breaker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Nothing,
    /// The failure count.
    Count,
    State(Transition),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CircuitBreaker {
    phase: Phase,
    failures: u32,
    /// Failed probes since the last recovery.
    cycles: u32,
    last_failure: Option<Timestamp>,
    last_kind: FailureKind,
    network_failure_at: Option<Timestamp>,
    generation: u64,
    transitions: VecDeque<Transition>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Closed,
    Degraded,
    Open,
    HalfOpen {
        /// When the probe under way was let through.
        probe_since: Option<Timestamp>,
    },
}

impl CircuitBreaker {
    /// The only reader of the stored state.
    pub fn state(&self, terms: Terms<'_>, now: Timestamp) -> State {
        match self.phase {
            Phase::Closed => State::Closed,
            Phase::Degraded => State::Degraded,
            Phase::HalfOpen { .. } => State::HalfOpen,
            Phase::Open => {
                let until = self.last_failure.map_or(Timestamp::ZERO, |at| at + self.pause(terms));
                if now >= until { State::HalfOpen } else { State::Open { until } }
            }
        }
    }

    pub fn check(&self, terms: Terms<'_>, now: Timestamp) -> Verdict {
        match self.state(terms, now) {
            State::Closed | State::Degraded => Verdict::Pass,
            State::Open { until } => Verdict::Stopped { until },
            State::HalfOpen if self.is_probing(terms, now) => Verdict::Stopped { until: now + PROBE_PATIENCE },
            State::HalfOpen => Verdict::Probe,
        }
    }

    /// Lets one request through, as the probe while half-open. The transition is that of a break whose time is up.
    ///
    /// # Errors
    /// Until when nobody is let through.
    pub fn admit(&mut self, terms: Terms<'_>, now: Timestamp) -> Result<(Ticket, Option<Transition>), Timestamp> {
        let elapsed = self.roll(terms, now);
        match self.check(terms, now) {
            Verdict::Pass => {}
            Verdict::Probe => {
                self.phase = Phase::HalfOpen { probe_since: Some(now) };
                self.generation += 1;
            }
            Verdict::Stopped { until } => return Err(until),
        }
        Ok((Ticket { generation: self.generation }, elapsed))
    }

    /// Writes down what time has done: a break that is over is half-open.
    pub fn roll(&mut self, terms: Terms<'_>, now: Timestamp) -> Option<Transition> {
        let over = self.phase == Phase::Open && self.state(terms, now) == State::HalfOpen;
        over.then(|| self.go(Phase::HalfOpen { probe_since: None }, "timeout-elapsed".to_owned(), now))
    }

    pub fn on_success(&mut self, terms: Terms<'_>, ticket: Ticket, now: Timestamp) -> Change {
        if ticket.generation != self.generation {
            return Change::Nothing;
        }
        match self.phase {
            Phase::Open => Change::Nothing,
            Phase::HalfOpen { .. } => {
                self.clear();
                Change::State(self.go(Phase::Closed, "probe-success".to_owned(), now))
            }
            Phase::Closed | Phase::Degraded if self.failures == 0 => Change::Nothing,
            Phase::Closed | Phase::Degraded => {
                self.failures -= 1;
                let healthy = terms.config.degrades_at().is_none_or(|threshold| self.failures <= threshold);
                if self.phase == Phase::Degraded && healthy {
                    return Change::State(self.go(Phase::Closed, "recovery".to_owned(), now));
                }
                Change::Count
            }
        }
    }

    pub fn on_failure(&mut self, terms: Terms<'_>, ticket: Ticket, kind: FailureKind, now: Timestamp) -> Change {
        if ticket.generation != self.generation || self.phase == Phase::Open {
            return Change::Nothing;
        }
        self.last_failure = Some(now);
        self.last_kind = kind;
        self.failures = self.failures.saturating_add(1);
        if let Phase::HalfOpen { .. } = self.phase {
            self.cycles = self.cycles.saturating_add(1);
            let reason = format!("probe-failed (cycle {})", self.cycles);
            return Change::State(self.go(Phase::Open, reason, now));
        }
        let threshold = terms.config.failure_threshold;
        if self.failures >= threshold {
            return Change::State(self.go(Phase::Open, format!("kind:{}", kind.as_str()), now));
        }
        let elevated = terms.config.degrades_at().is_some_and(|degraded| self.failures >= degraded);
        if elevated && self.phase == Phase::Closed {
            let reason = format!("elevated-failures ({}/{threshold})", self.failures);
            return Change::State(self.go(Phase::Degraded, reason, now));
        }
        Change::Count
    }

    /// As [`CircuitBreaker::on_failure`], for a provider that could not be reached. A break in our own line fails every
    /// request at once: several within ten seconds count once, except that a probe is always judged.
    pub fn on_network_failure(&mut self, terms: Terms<'_>, ticket: Ticket, now: Timestamp) -> Change {
        let repeated = self.network_failure_at.is_some_and(|at| now < at + NETWORK_EPISODE);
        if repeated && !self.is_probe(ticket) {
            return Change::Nothing;
        }
        let change = self.on_failure(terms, ticket, FailureKind::Transient, now);
        if change != Change::Nothing {
            self.network_failure_at = Some(now);
        }
        change
    }

    /// The request said nothing about the provider: its probe is given back, nothing is counted.
    pub fn on_neutral(&mut self, ticket: Ticket) {
        if self.is_probe(ticket) {
            self.phase = Phase::HalfOpen { probe_since: None };
        }
    }

    /// Whether a result with this ticket will decide a half-open breaker.
    pub fn is_probe(&self, ticket: Ticket) -> bool {
        ticket.generation == self.generation && matches!(self.phase, Phase::HalfOpen { probe_since: Some(_) })
    }

    /// The operator's hand: closed, everything zeroed. The transition, when it was not closed.
    pub fn reset(&mut self, now: Timestamp) -> Option<Transition> {
        let closed = self.phase == Phase::Closed;
        self.clear();
        self.last_failure = None;
        self.generation += 1;
        (!closed).then(|| self.go(Phase::Closed, "manual-reset".to_owned(), now))
    }

    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Failed probes since the last recovery.
    pub fn cycles(&self) -> u32 {
        self.cycles
    }

    pub fn last_failure(&self) -> Option<Timestamp> {
        self.last_failure
    }

    /// Whether the one probe is under way.
    pub fn is_probing(&self, terms: Terms<'_>, now: Timestamp) -> bool {
        let lease = terms.config.reset_timeout.max(START_TIMEOUT);
        matches!(self.phase, Phase::HalfOpen { probe_since: Some(since) } if now < since + lease)
    }

    /// The latest twenty, oldest first.
    pub fn transitions(&self) -> impl Iterator<Item = &Transition> {
        self.transitions.iter()
    }

    /// Nothing to remember.
    fn is_pristine(&self) -> bool {
        self.phase == Phase::Closed && self.failures == 0
    }

    /// How long the present break lasts from the failure that caused it.
    fn pause(&self, terms: Terms<'_>) -> Millis {
        match self.last_kind {
            FailureKind::RateLimit if terms.obeys_kinds => return Millis::minutes(1),
            FailureKind::QuotaExhausted if terms.obeys_kinds => return Millis::hours(1),
            FailureKind::RateLimit | FailureKind::QuotaExhausted | FailureKind::Transient => {}
        }
        let Config { reset_timeout, max_backoff_multiplier, backoff_escalation_count, .. } = *terms.config;
        let longest = reset_timeout.as_millis().saturating_mul(u64::from(max_backoff_multiplier));
        doubled(reset_timeout, self.cycles.saturating_sub(backoff_escalation_count), Millis::new(longest))
    }

    fn clear(&mut self) {
        self.failures = 0;
        self.cycles = 0;
        self.last_kind = FailureKind::Transient;
        self.network_failure_at = None;
    }

    /// Changes the phase. Between closed and degraded traffic flows alike, so results stay good.
    fn go(&mut self, to: Phase, reason: String, now: Timestamp) -> Transition {
        let flowing = |phase| matches!(phase, Phase::Closed | Phase::Degraded);
        if !(flowing(self.phase) && flowing(to)) {
            self.generation += 1;
        }
        let transition = Transition {
            from: self.phase.as_str().to_owned(),
            to: to.as_str().to_owned(),
            timestamp: now,
            failure_count: self.failures,
            reason,
        };
        self.phase = to;
        self.transitions.push_back(transition.clone());
        if self.transitions.len() > HISTORY {
            self.transitions.pop_front();
        }
        transition
    }
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
