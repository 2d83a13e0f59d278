//! The Engine: composes the mechanisms; the only file that knows them all.
//!
//! Five verbs. [`Engine::availability`] answers for every path of the program whether a candidate may be tried;
//! [`Engine::admit`] takes everything an attempt needs or nothing; [`Engine::settle`] is the only way in which an attempt
//! touches health, exactly once per permit; [`Engine::reset`] is an operator's hand; [`Engine::snapshot`] is the picture
//! that screens and stores see.

use std::collections::{BTreeMap, BTreeSet};

use domain::health::LastError;
use domain::wire::reason;
use domain::{Availability, Candidate, ConnectionId, Exclusion, Failure, Mechanism, Outcome, ProviderId, Timestamp};

use crate::concurrency_gate::ConcurrencyGate;
use crate::event::Event;
use crate::permit::Permit;
use crate::picture::{ConnectionPicture, Snapshot};
use crate::settings::Settings;
use crate::stored::{Row, Stored};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Engine {
    connections: BTreeMap<ConnectionId, ConnectionHealth>,
    open: BTreeSet<u64>,
    next_permit: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct ConnectionHealth {
    gate: ConcurrencyGate,
    last_error: Option<LastError>,
    last_used_at: Option<Timestamp>,
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
    pub fn availability(&self, ask: &Admission<'_>, _settings: &Settings, _now: Timestamp) -> Availability {
        let Admission { candidate, max_concurrent, .. } = *ask;
        if !candidate.enabled {
            return excluded(Mechanism::SwitchedOff, reason::SWITCHED_OFF);
        }
        let full = self.connections.get(&candidate.connection).is_some_and(|health| !health.gate.check(max_concurrent));
        if full {
            return excluded(Mechanism::ConcurrencyCap, reason::CONCURRENCY_CAP);
        }
        Availability::Available
    }

    /// Takes everything the attempt needs, or nothing at all.
    pub fn admit(&mut self, admission: &Admission<'_>, settings: &Settings, now: Timestamp) -> Admitted {
        let Admission { candidate, max_concurrent, .. } = *admission;
        if let Availability::Excluded(exclusion) = self.availability(admission, settings, now) {
            return Admitted::Refused(exclusion);
        }
        let health = self.connections.entry(candidate.connection.clone()).or_default();
        if !health.gate.acquire(max_concurrent) {
            return Admitted::Refused(Exclusion::lasting(Mechanism::ConcurrencyCap, reason::CONCURRENCY_CAP));
        }
        health.last_used_at = Some(now);
        self.next_permit += 1;
        self.open.insert(self.next_permit);
        Admitted::Permit(Permit {
            number: self.next_permit,
            provider: candidate.provider.clone(),
            connection: candidate.connection.clone(),
            model: candidate.model.clone(),
            nature: candidate.nature.clone(),
            caller: admission.caller,
        })
    }

    /// How an attempt ended. Exactly once per permit; a permit that this Engine did not hand out changes nothing.
    pub fn settle(&mut self, permit: Permit, outcome: &Outcome, _settings: &Settings, now: Timestamp) -> Effects {
        if !self.open.remove(&permit.number) {
            return Effects::default();
        }
        let Some(health) = self.connections.get_mut(&permit.connection) else { return Effects::default() };
        health.gate.release();
        let event = match outcome {
            Outcome::Success(_) => health
                .last_error
                .take()
                .map(|_| Event::ConnectionRecovered { provider: permit.provider, connection: permit.connection }),
            Outcome::Failure(failure) => {
                let error = last_error(failure, now);
                health.last_error = Some(error.clone());
                Some(Event::ConnectionFailed { provider: permit.provider, connection: permit.connection, error })
            }
            Outcome::Neutral(_) => None,
        };
        Effects { events: event.into_iter().collect(), rows: Vec::new() }
    }

    /// Notes what time alone has changed: an open breaker that became half-open, a rest that is over. Called before the
    /// picture is taken, so that what is shown is what is stored.
    pub fn tick(&mut self, _settings: &Settings, _now: Timestamp) -> Effects {
        Effects::default()
    }

    /// An operator's hand. Requests under way keep their places.
    pub fn reset(&mut self, scope: &ResetScope, _settings: &Settings, _now: Timestamp) -> Cleared {
        let mut cleared = Cleared::default();
        if let ResetScope::Connection(connection) = scope
            && let Some(health) = self.connections.get_mut(connection)
        {
            health.last_error = None;
            cleared.connections = 1;
        }
        cleared
    }

    /// The connection no longer exists. Requests still under way on it settle without effect.
    pub fn forget(&mut self, connection: &ConnectionId) -> Effects {
        if self.connections.get(connection).is_some_and(|health| health.gate.in_flight() == 0) {
            self.connections.remove(connection);
        }
        Effects::default()
    }

    /// Rebuilds what outlived a restart. Instants are clamped to what the settings allow.
    pub fn restore(_stored: Stored, _settings: &Settings, _now: Timestamp) -> Engine {
        Engine::default()
    }

    /// Through which outgoing address a connection was just seen.
    pub fn note_egress(&mut self, _connection: &ConnectionId, _ip: &str, _now: Timestamp) {}

    pub fn snapshot(&self, _settings: &Settings, _now: Timestamp) -> Snapshot {
        let connections = self.connections.iter().map(|(id, health)| (id.clone(), picture(health))).collect();
        Snapshot { connections, in_flight: u32::try_from(self.open.len()).unwrap_or(u32::MAX), ..Snapshot::default() }
    }

    /// One connection's part of the snapshot.
    pub fn connection(&self, id: &ConnectionId, _settings: &Settings, _now: Timestamp) -> ConnectionPicture {
        self.connections.get(id).map(picture).unwrap_or_default()
    }
}

fn picture(health: &ConnectionHealth) -> ConnectionPicture {
    ConnectionPicture {
        in_flight: health.gate.in_flight(),
        last_error: health.last_error.clone(),
        last_used_at: health.last_used_at,
        ..ConnectionPicture::default()
    }
}

fn last_error(failure: &Failure, now: Timestamp) -> LastError {
    LastError { message: failure.message.clone(), reason: Some(failure.reason), status: failure.status, at: now }
}

fn excluded(mechanism: Mechanism, reason: &str) -> Availability {
    Availability::Excluded(Exclusion::lasting(mechanism, reason))
}

#[cfg(test)]
mod tests {
    use domain::{Nature, Neutral, Reason, Success};

    use super::*;

    fn candidate(connection: &str) -> Candidate {
        Candidate {
            provider: "openai".into(),
            connection: connection.into(),
            model: "m1".to_owned(),
            priority: 1,
            enabled: true,
            nature: Nature::default(),
        }
    }

    fn admit(engine: &mut Engine, connection: &str, cap: Option<u32>) -> Admitted {
        let candidate = candidate(connection);
        engine.admit(
            &Admission { candidate: &candidate, max_concurrent: cap, caller: Caller::Direct },
            &Settings::default(),
            Timestamp::ZERO,
        )
    }

    fn permit(engine: &mut Engine, connection: &str) -> Permit {
        match admit(engine, connection, None) {
            Admitted::Permit(permit) => permit,
            Admitted::Refused(exclusion) => panic!("refused: {exclusion:?}"),
        }
    }

    fn failure() -> Outcome {
        Outcome::Failure(Failure::plain(Some(503), Reason::ServerError, "down"))
    }

    #[test]
    fn a_switched_off_connection_is_excluded() {
        let mut off = candidate("c1");
        off.enabled = false;
        let availability = Engine::default().availability(
            &Admission { candidate: &off, max_concurrent: None, caller: Caller::Direct },
            &Settings::default(),
            Timestamp::ZERO,
        );
        assert!(matches!(availability, Availability::Excluded(e) if e.mechanism == Mechanism::SwitchedOff));
    }

    #[test]
    fn a_full_connection_is_excluded_until_a_permit_comes_back() {
        let mut engine = Engine::default();
        let Admitted::Permit(first) = admit(&mut engine, "c1", Some(1)) else { panic!("admitted") };
        assert!(matches!(admit(&mut engine, "c1", Some(1)), Admitted::Refused(_)));
        engine.settle(first, &Outcome::Neutral(Neutral::ClientAborted), &Settings::default(), Timestamp::ZERO);
        assert!(matches!(admit(&mut engine, "c1", Some(1)), Admitted::Permit(_)));
    }

    #[test]
    fn a_failure_is_remembered_and_a_success_forgets_it() {
        let mut engine = Engine::default();
        let held = permit(&mut engine, "c1");
        let effects = engine.settle(held, &failure(), &Settings::default(), Timestamp::from_millis(7));
        assert!(matches!(effects.events.as_slice(), [Event::ConnectionFailed { .. }]));
        assert_eq!(
            engine.connection(&"c1".into(), &Settings::default(), Timestamp::ZERO).last_error.map(|e| e.at),
            Some(Timestamp::from_millis(7))
        );

        let held = permit(&mut engine, "c1");
        let success = Outcome::Success(Success::default());
        let effects = engine.settle(held, &success, &Settings::default(), Timestamp::from_millis(8));
        assert!(matches!(effects.events.as_slice(), [Event::ConnectionRecovered { .. }]));
        assert_eq!(engine.connection(&"c1".into(), &Settings::default(), Timestamp::ZERO).last_error, None);
    }

    #[test]
    fn a_neutral_outcome_changes_nothing_but_the_place() {
        let mut engine = Engine::default();
        let held = permit(&mut engine, "c1");
        let before = engine.connection(&"c1".into(), &Settings::default(), Timestamp::ZERO).last_error;
        let effects = engine.settle(held, &Outcome::Neutral(Neutral::Abandoned), &Settings::default(), Timestamp::ZERO);
        assert_eq!(effects, Effects::default());
        assert_eq!(engine.connection(&"c1".into(), &Settings::default(), Timestamp::ZERO).last_error, before);
        assert_eq!(engine.snapshot(&Settings::default(), Timestamp::ZERO).in_flight, 0);
    }
}
