//! May a candidate be tried? One answer for every path of the program (resilience specification, 1.2; gateway
//! specification, 3.7).

use domain::health::LastError;
use domain::wire::reason;
use domain::{Availability, Candidate, Exclusion, Mechanism, Timestamp};

use super::{Admission, Caller, ConnectionHealth, Engine, target};
use crate::circuit_breaker::{Breakers, Verdict as BreakerVerdict};
use crate::concurrency_gate::GateKey;
use crate::model_lockout::{Answer, ModelLockouts};
use crate::provider_cooldown::ProviderCooldowns;
use crate::quota_preflight::Standing;
use crate::request_queue;
use crate::rest_period::Verdict;
use crate::settings::Settings;

impl Engine {
    /// May this candidate be tried now? If not: which mechanism says no, why, until when.
    ///
    /// The provider is asked before the account (resilience specification, 1.2); a terminal state before a lock, because
    /// no waiting ends it. A gate or queue that is closed leaves nobody out as long as there is room to wait.
    pub fn availability(&self, ask: &Admission<'_>, settings: &Settings, now: Timestamp) -> Availability {
        let exclusion = self.unfit(ask, settings, now).or_else(|| self.without_room(ask, settings, now));
        exclusion.map_or(Availability::Available, Availability::Excluded)
    }

    /// What speaks against the candidate whoever else is under way.
    pub(super) fn unfit(&self, ask: &Admission<'_>, settings: &Settings, now: Timestamp) -> Option<Exclusion> {
        // Every field by name: a new mechanism has to say here whether it has a word.
        let Engine {
            breakers,
            provider_cooldowns,
            connections,
            lockouts,
            tool_limits,
            quotas,
            // Of places, not of fitness: see `without_room`.
            gates: _,
            queues: _,
            room: _,
            // Memories that lead to a lock or a cooldown, which has the word.
            post_output: _,
            egress: _,
            // Bookkeeping.
            open: _,
            next_permit: _,
            next_ticket: _,
            known: _,
            pending: _,
        } = self;
        let Admission { candidate, limits, caller, tools, quota_cutoff, .. } = *ask;
        if caller == Caller::Test {
            return None;
        }
        if !candidate.enabled {
            return Some(Exclusion::lasting(Mechanism::SwitchedOff, reason::SWITCHED_OFF));
        }
        let health = connections.get(&candidate.connection);
        let spared = || {
            let until = provider_spared(provider_cooldowns, candidate, caller, settings, now)?;
            let cause = health.and_then(|health| health.last_error.clone());
            Some(waiting(Mechanism::ProviderCooldown, reason::PROVIDER_COOLDOWN, until, cause))
        };
        let cut_off = || {
            let quota =
                quotas.get(&candidate.connection).filter(|_| quota_cutoff && settings.quota_preflight.enabled)?;
            let Candidate { provider, model, .. } = candidate;
            match settings.quota_preflight.standing(provider, limits, quota, model, now) {
                Standing::Fine | Standing::Low => None,
                Standing::CutOff { until } => {
                    Some(Exclusion { until, ..Exclusion::lasting(Mechanism::QuotaCutoff, reason::QUOTA_CUTOFF) })
                }
            }
        };
        let too_many_tools = || {
            tool_limits.check(&candidate.provider, limits.most_tools, tools, now)?;
            Some(Exclusion::lasting(Mechanism::ToolLimit, reason::TOOL_LIMIT))
        };
        broken(breakers, candidate, settings, now)
            .or_else(spared)
            .or_else(|| terminal(health?))
            .or_else(|| locked(lockouts, candidate, health, now))
            .or_else(cut_off)
            .or_else(|| resting(health?, now))
            .or_else(too_many_tools)
    }

    /// A gate or queue that is closed, and at which no more may wait.
    fn without_room(&self, ask: &Admission<'_>, settings: &Settings, now: Timestamp) -> Option<Exclusion> {
        let waits_nowhere = ask.patience.depth == Some(0);
        if ask.caller == Caller::Test || (self.room.is_empty() && !waits_nowhere) {
            return None;
        }
        let way = self.way(ask, settings, now);
        let full_queue = way.queue.as_ref().is_some_and(|queue| {
            let waiting = self.queues.waiting(&queue.key);
            waiting > 0 && !request_queue::admits(waiting, queue.terms.max_queue_depth)
        });
        if full_queue {
            return Some(Exclusion::lasting(Mechanism::AdmissionLane, reason::ADMISSION_LANE));
        }
        let crowded = self.gates.crowded(&way.claims, ask.patience.depth)?;
        let refuses = !matches!(crowded, GateKey::QuotaShare(_));
        refuses.then(|| Exclusion::lasting(Mechanism::ConcurrencyCap, reason::CONCURRENCY_CAP))
    }
}

fn broken(breakers: &Breakers, candidate: &Candidate, settings: &Settings, now: Timestamp) -> Option<Exclusion> {
    let terms = settings.breaker_terms(candidate.nature.class);
    let BreakerVerdict::Stopped { until } = breakers.check(&candidate.provider, terms, now) else { return None };
    Some(circuit_open(until))
}

fn provider_spared(
    cooldowns: &ProviderCooldowns,
    candidate: &Candidate,
    caller: Caller,
    settings: &Settings,
    now: Timestamp,
) -> Option<Timestamp> {
    let Candidate { provider, connection, nature, .. } = candidate;
    if caller == Caller::Combo { cooldowns.check(provider, connection, nature.class, settings, now) } else { None }
}

fn locked(
    lockouts: &ModelLockouts,
    candidate: &Candidate,
    health: Option<&ConnectionHealth>,
    now: Timestamp,
) -> Option<Exclusion> {
    let health = health?;
    match lockouts.check(target(candidate), now) {
        Answer::Free | Answer::Probe => None,
        Answer::Locked(locked) => {
            let cause = locked.cause.or(health.last_error.as_ref()).cloned();
            Some(waiting(Mechanism::ModelLockout, reason::MODEL_LOCKOUT, locked.until, cause))
        }
    }
}

fn terminal(health: &ConnectionHealth) -> Option<Exclusion> {
    let status = health.status.terminal()?;
    let cause = health.last_error.clone();
    Some(Exclusion { cause, ..Exclusion::lasting(Mechanism::TerminalState, status.as_str()) })
}

fn resting(health: &ConnectionHealth, now: Timestamp) -> Option<Exclusion> {
    let Verdict::Resting { until } = health.cooldown.check(now) else { return None };
    Some(waiting(Mechanism::ConnectionCooldown, reason::UNAVAILABLE, until, health.last_error.clone()))
}

pub(super) fn circuit_open(until: Timestamp) -> Exclusion {
    waiting(Mechanism::CircuitBreaker, reason::CIRCUIT_OPEN, until, None)
}

fn waiting(mechanism: Mechanism, reason: &str, until: Timestamp, cause: Option<LastError>) -> Exclusion {
    Exclusion { mechanism, reason: reason.to_owned(), until: Some(until), cause }
}
