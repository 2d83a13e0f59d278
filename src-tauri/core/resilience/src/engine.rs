//! The Engine: composes the mechanisms; the only file that knows them all.
//!
//! Five verbs. [`Engine::availability`] answers for every path of the program whether a candidate may be tried;
//! [`Engine::admit`] takes everything an attempt needs or nothing; [`Engine::settle`] is the only way in which an attempt
//! touches health, exactly once per permit; [`Engine::reset`] is an operator's hand; [`Engine::snapshot`] is the picture
//! that screens and stores see.
//!
//! Every lookup goes by provider or account through a sorted map and passes nobody else's record, so a call costs as much
//! with ten thousand accounts as with ten, but for the depth of the maps.

mod picture;
mod reset;
mod restore;
mod settle;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use domain::health::LastError;
use domain::wire::reason;
use domain::{Availability, Candidate, ConnectionId, Exclusion, Mechanism, Outcome, ProviderId, Timestamp};

use crate::circuit_breaker::{self, Breakers};
use crate::concurrency_gate::ConcurrencyGate;
use crate::connection_cooldown::ConnectionCooldown;
use crate::connection_status::ConnectionStatus;
use crate::egress_bucket::EgressBuckets;
use crate::event::Event;
use crate::model_lockout::{Answer, ModelLockouts, PostOutputErrors, Target};
use crate::permit::Permit;
use crate::provider_cooldown::ProviderCooldowns;
use crate::rest_period::Verdict;
use crate::settings::Settings;
use crate::stored::Row;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Engine {
    breakers: Breakers,
    provider_cooldowns: ProviderCooldowns,
    connections: BTreeMap<ConnectionId, ConnectionHealth>,
    lockouts: ModelLockouts,
    post_output: PostOutputErrors,
    egress: EgressBuckets,
    /// Numbers of the permits under way.
    open: BTreeSet<u64>,
    next_permit: u64,
    /// What admissions changed; carried out with the next call that returns effects.
    pending: Effects,
}

/// Everything known about one account.
#[derive(Clone, Debug, Default, PartialEq)]
struct ConnectionHealth {
    /// Unknown until it is first used, or restored.
    provider: Option<ProviderId>,
    gate: ConcurrencyGate,
    cooldown: ConnectionCooldown,
    status: ConnectionStatus,
    last_error: Option<LastError>,
    /// Grows with everything that is held against the account, and with every clearance by its owner.
    record: u64,
    /// [`ConnectionHealth::record`] at the latest clearance; what left before says nothing any more.
    cleared_at: u64,
    last_used_at: Option<Timestamp>,
    /// [`ConnectionHealth::last_used_at`] as last stored.
    stored_use: Option<Timestamp>,
    /// The account is never to rest.
    never_rests: bool,
    /// It no longer exists; what is still under way ends without effect.
    forgotten: bool,
}

/// What an attempt asks for.
#[derive(Clone, Debug)]
pub struct Admission<'a> {
    pub candidate: &'a Candidate,
    /// The owner's cap on requests under way; none, no limit.
    pub max_concurrent: Option<u32>,
    pub caller: Caller,
}

/// On whose behalf an attempt is made: some mechanisms act for combos only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// A request that names one model.
    Direct,
    /// A step of a combo.
    Combo,
    /// A test that must be let through and must change nothing.
    Test,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Admitted {
    Permit(Permit),
    Refused(Exclusion),
}

/// What the shell carries out after the lock is released.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects {
    pub events: Vec<Event>,
    /// What to store, in order.
    pub rows: Vec<Row>,
}

/// What an operator's hand is laid on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResetScope {
    /// Every breaker: closed, everything zeroed.
    Breakers,
    Breaker(ProviderId),
    /// Everything about one account, terminal states and its locks included: a successful test, new credentials, the
    /// owner's own reset.
    Connection(ConnectionId),
    /// Cooldown, locks, last error and refusal streak of these accounts; terminal states stay (resilience
    /// specification, 13).
    Cooldowns(Vec<ConnectionId>),
    /// The lock of one model, on one account or on all accounts of the provider.
    Model {
        provider: ProviderId,
        connection: Option<ConnectionId>,
        model: String,
    },
    /// Every model lock.
    Models,
}

/// What an operator's hand did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cleared {
    pub breakers: u32,
    /// Accounts that changed.
    pub connections: u32,
    /// Accounts, known or not, at which there was nothing to clear.
    pub unchanged: u32,
    pub skipped_terminal: u32,
    pub lockouts: u32,
    pub effects: Effects,
}

impl Engine {
    /// May this candidate be tried now? If not: which mechanism says no, why, until when.
    ///
    /// The provider is asked before the account (resilience specification, 1.2); a terminal state before a lock, because
    /// no waiting ends it.
    pub fn availability(&self, ask: &Admission<'_>, settings: &Settings, now: Timestamp) -> Availability {
        let exclusion = self.excluded(ask, settings, now);
        exclusion.map_or(Availability::Available, Availability::Excluded)
    }

    /// Takes everything the attempt needs, or nothing at all.
    pub fn admit(&mut self, admission: &Admission<'_>, settings: &Settings, now: Timestamp) -> Admitted {
        if let Some(exclusion) = self.excluded(admission, settings, now) {
            return Admitted::Refused(exclusion);
        }
        let Admission { candidate, caller, .. } = *admission;
        let number = self.next_permit + 1;
        let breaker = match self.enter_breaker(candidate, caller, settings, now) {
            Ok(ticket) => ticket,
            Err(until) => return Admitted::Refused(circuit_open(until)),
        };
        let looks = caller != Caller::Test && self.look(candidate, number, now);
        if let Some(bucket) = &candidate.nature.egress_bucket {
            self.egress.join(bucket, &candidate.provider);
        }
        let health = self.connections.entry(candidate.connection.clone()).or_default();
        if health.provider.is_none() {
            health.provider = Some(candidate.provider.clone());
            // What its owner did before it was first used could not be stored yet.
            let cleared = health.cleared_at > 0;
            self.pending.rows.extend(cleared.then(|| health.row(&candidate.connection, now)).flatten());
        }
        health.never_rests = candidate.nature.disable_cooling;
        health.gate.acquire(None);
        health.last_used_at = Some(now);
        self.next_permit = number;
        self.open.insert(number);
        Admitted::Permit(Permit {
            number,
            provider: candidate.provider.clone(),
            connection: candidate.connection.clone(),
            model: candidate.model.clone(),
            nature: candidate.nature.clone(),
            caller,
            breaker,
            record: health.record,
            looks,
        })
    }

    /// How an attempt ended. Exactly once per permit; a permit that this Engine did not hand out changes nothing.
    pub fn settle(&mut self, permit: Permit, outcome: &Outcome, settings: &Settings, now: Timestamp) -> Effects {
        let mut effects = std::mem::take(&mut self.pending);
        if !self.open.remove(&permit.number) {
            return effects;
        }
        let mut forgotten = true;
        if let Some(health) = self.connections.get_mut(&permit.connection) {
            health.gate.release();
            forgotten = health.forgotten;
            if forgotten && health.gate.in_flight() == 0 {
                self.connections.remove(&permit.connection);
            }
        }
        match outcome {
            Outcome::Success(_) if !forgotten && permit.caller != Caller::Test => {
                self.succeed(&permit, settings, now, &mut effects);
            }
            Outcome::Failure(failure) if !forgotten && permit.caller != Caller::Test => {
                self.fail(&permit, failure, settings, now, &mut effects);
            }
            Outcome::Success(_) | Outcome::Failure(_) | Outcome::Neutral(_) => self.release(&permit),
        }
        effects
    }

    /// Notes what time alone has changed: an open breaker that became half-open, a rest that is over. Called before the
    /// picture is taken, so that what is shown is what is stored.
    pub fn tick(&mut self, settings: &Settings, now: Timestamp) -> Effects {
        let mut effects = std::mem::take(&mut self.pending);
        let (rolled, gone) = self.breakers.tick(settings, now);
        for (provider, transition) in rolled {
            self.breaker_changed(&provider, Some(transition), settings, &mut effects);
        }
        effects.rows.extend(gone.into_iter().map(Row::BreakerGone));
        let gone = self.lockouts.tick(now);
        effects.rows.extend(gone.into_iter().map(|row| Row::LockoutGone(row.key)));
        self.provider_cooldowns.tick(settings, now);
        for (id, health) in &mut self.connections {
            if health.cooldown.drop_elapsed(now) {
                effects.rows.extend(health.row(id, now));
            }
        }
        effects
    }

    /// Through which outgoing address a connection was just seen. An account that was never used is not known to belong
    /// anywhere, and is ignored.
    pub fn note_egress(&mut self, connection: &ConnectionId, ip: &str, now: Timestamp) {
        if let Some(provider) = self.connections.get(connection).and_then(|health| health.provider.as_ref()) {
            self.egress.note(provider, connection, ip, now);
        }
    }

    fn excluded(&self, ask: &Admission<'_>, settings: &Settings, now: Timestamp) -> Option<Exclusion> {
        let Admission { candidate, max_concurrent, caller } = *ask;
        if caller == Caller::Test {
            return None;
        }
        if !candidate.enabled {
            return Some(Exclusion::lasting(Mechanism::SwitchedOff, reason::SWITCHED_OFF));
        }
        let health = self.connections.get(&candidate.connection);
        let provider = self.provider_excluded(candidate, caller, health, settings, now);
        provider.or_else(|| {
            let health = health?;
            let account = terminal(health).or_else(|| self.locked(candidate, health, now));
            account.or_else(|| resting(health, now)).or_else(|| full(health, max_concurrent))
        })
    }

    /// The mechanisms that speak of the provider.
    fn provider_excluded(
        &self,
        candidate: &Candidate,
        caller: Caller,
        health: Option<&ConnectionHealth>,
        settings: &Settings,
        now: Timestamp,
    ) -> Option<Exclusion> {
        let Candidate { provider, connection, nature, .. } = candidate;
        let terms = settings.breaker_terms(nature.class);
        if let circuit_breaker::Verdict::Stopped { until } = self.breakers.check(provider, terms, now) {
            return Some(circuit_open(until));
        }
        if caller != Caller::Combo {
            return None;
        }
        let until = self.provider_cooldowns.check(provider, connection, nature.class, settings, now)?;
        let cause = health.and_then(|health| health.last_error.clone());
        Some(waiting(Mechanism::ProviderCooldown, reason::PROVIDER_COOLDOWN, until, cause))
    }

    fn locked(&self, candidate: &Candidate, health: &ConnectionHealth, now: Timestamp) -> Option<Exclusion> {
        match self.lockouts.check(target(candidate), now) {
            Answer::Free | Answer::Probe => None,
            Answer::Locked(locked) => {
                let cause = locked.cause.or(health.last_error.as_ref()).cloned();
                Some(waiting(Mechanism::ModelLockout, reason::MODEL_LOCKOUT, locked.until, cause))
            }
        }
    }

    fn enter_breaker(
        &mut self,
        candidate: &Candidate,
        caller: Caller,
        settings: &Settings,
        now: Timestamp,
    ) -> Result<Option<circuit_breaker::Ticket>, Timestamp> {
        if caller == Caller::Test {
            return Ok(None);
        }
        let class = candidate.nature.class;
        let (ticket, transition) =
            self.breakers.admit(&candidate.provider, class, settings.breaker_terms(class), now)?;
        if transition.is_some() {
            let mut effects = std::mem::take(&mut self.pending);
            self.breaker_changed(&candidate.provider, transition, settings, &mut effects);
            self.pending = effects;
        }
        Ok(ticket)
    }

    /// Reserves the probes of long rests. Says whether there were any.
    fn look(&mut self, candidate: &Candidate, number: u64, now: Timestamp) -> bool {
        let Some(health) = self.connections.get_mut(&candidate.connection) else { return false };
        let account = health.cooldown.check(now) == Verdict::Probe;
        if account {
            health.cooldown.reserve(number, now);
        }
        let model = self.lockouts.check(target(candidate), now) == Answer::Probe;
        if model {
            self.lockouts.reserve(target(candidate), number, now);
        }
        account || model
    }

    /// A breaker's new state, told and stored.
    fn breaker_changed(
        &self,
        provider: &ProviderId,
        transition: Option<circuit_breaker::Transition>,
        settings: &Settings,
        effects: &mut Effects,
    ) {
        let event = transition.map(|transition| Event::BreakerChanged { provider: provider.clone(), transition });
        effects.events.extend(event);
        effects.rows.extend(self.breakers.row(provider, settings).map(Row::Breaker));
    }
}

fn target(candidate: &Candidate) -> Target<'_> {
    let Candidate { provider, connection, model, nature, .. } = candidate;
    Target { provider, connection, model, nature }
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

fn full(health: &ConnectionHealth, cap: Option<u32>) -> Option<Exclusion> {
    let full = !health.gate.check(cap);
    full.then(|| Exclusion::lasting(Mechanism::ConcurrencyCap, reason::CONCURRENCY_CAP))
}

fn circuit_open(until: Timestamp) -> Exclusion {
    waiting(Mechanism::CircuitBreaker, reason::CIRCUIT_OPEN, until, None)
}

fn waiting(mechanism: Mechanism, reason: &str, until: Timestamp, cause: Option<LastError>) -> Exclusion {
    Exclusion { mechanism, reason: reason.to_owned(), until: Some(until), cause }
}
