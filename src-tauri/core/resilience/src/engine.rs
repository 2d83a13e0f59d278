//! The Engine: composes the mechanisms; the only file that knows them all.
//!
//! Six verbs. [`Engine::availability`] answers for every path of the program whether a candidate may be tried;
//! [`Engine::admit`] takes everything an attempt needs or nothing, and [`Engine::enter`] does the same but may wait its
//! turn; [`Engine::settle`] is the only way in which an attempt touches health, exactly once per permit;
//! [`Engine::tick`] lets time pass; [`Engine::reset`] is an operator's hand. [`Engine::snapshot`] is the picture that
//! screens and stores see.
//!
//! Every lookup goes by provider or account through a sorted map and passes nobody else's record, so a call costs as much
//! with ten thousand accounts as with ten, but for the depth of the maps.

mod enter;
mod fitness;
mod line;
mod notes;
mod picture;
mod reset;
mod restore;
mod settle;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::health::LastError;
use domain::{Candidate, ConnectionId, Exclusion, Limits, Millis, Outcome, ProviderId, Quota, Timestamp};

use self::line::{Known, Standing};
use crate::circuit_breaker::{self, Breakers};
use crate::concurrency_gate::{ConcurrencyGates, GateKey, Patience};
use crate::connection_cooldown::ConnectionCooldown;
use crate::connection_status::ConnectionStatus;
use crate::egress_bucket::EgressBuckets;
use crate::event::Event;
use crate::model_lockout::{Answer, ModelLockouts, PostOutputErrors, Target};
use crate::permit::{KeptPlaces, Permit};
use crate::provider_cooldown::ProviderCooldowns;
use crate::refusal::Refusal;
use crate::request_queue::RequestQueues;
use crate::rest_period::Verdict;
use crate::settings::Settings;
use crate::stored::Row;
use crate::tool_limit::ToolLimits;
use crate::waiting_room::{Barrier, Ticket, WaitingRoom};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Engine {
    breakers: Breakers,
    provider_cooldowns: ProviderCooldowns,
    connections: BTreeMap<ConnectionId, ConnectionHealth>,
    lockouts: ModelLockouts,
    post_output: PostOutputErrors,
    egress: EgressBuckets,
    gates: ConcurrencyGates,
    queues: RequestQueues,
    room: WaitingRoom<Standing>,
    tool_limits: ToolLimits,
    /// What is left of accounts, as far as anyone said.
    quotas: BTreeMap<ConnectionId, Arc<Quota>>,
    /// Numbers of the permits under way.
    open: BTreeSet<u64>,
    next_permit: u64,
    next_ticket: u64,
    /// The settings that those who wait were measured by.
    known: Known,
    /// What admissions changed; carried out with the next call that returns effects.
    pending: Pending,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Pending {
    events: Vec<Event>,
    rows: Vec<Row>,
}

/// Everything known about one account.
#[derive(Clone, Debug, Default, PartialEq)]
struct ConnectionHealth {
    /// Unknown until it is first used, or restored.
    provider: Option<ProviderId>,
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
#[derive(Clone, Copy, Debug)]
pub struct Admission<'a> {
    pub candidate: &'a Candidate,
    /// What the account's owner and the catalogue allow.
    pub limits: &'a Limits,
    pub caller: Caller,
    /// Tools that the request brings.
    pub tools: u32,
    /// Whether an account whose quota runs out is left out. Where it only ranks lower (`auto`), it is not.
    pub quota_cutoff: bool,
    /// The gate of the combo it is a step of, where that has one.
    pub combo_gate: Option<ComboGate<'a>>,
    /// Gates at which it has kept its place from the attempt before ([`Permit::keep_places`]).
    pub kept: &'a [GateKey],
    /// How long it waits at gates. Where the account has a request queue, that queue's budget is the one clock.
    pub patience: Patience,
    /// How long the response may take to begin; extends the execution limit of a queue.
    pub response_start: Millis,
}

/// A gate that only combos have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComboGate<'a> {
    /// Requests of a quota-share combo go one after the other, up to the account's cap; whoever waits too long, or finds
    /// too many waiting, goes without a place (resilience specification, 14.4). One whose key is beyond its share waits
    /// behind all others, however late they come.
    QuotaShare { lowered: bool },
    /// Requests of a round-robin combo to one target: as many as the account's cap allows, or else `cap` (gateway
    /// specification, 3.4).
    Target { combo: &'a str, execution_key: &'a str, cap: u32 },
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

/// The answer to who will not wait.
#[derive(Debug, PartialEq, Eq)]
pub enum Admitted {
    Permit(Permit),
    Refused(Exclusion),
}

/// The answer to who may have to wait.
#[derive(Debug, PartialEq, Eq)]
pub enum Entered {
    Permit(Permit),
    /// Its turn, or its refusal, comes among the effects of a later call: [`Effects::granted`], [`Effects::refused`].
    Queued(Ticket),
    Refused(Refusal),
}

/// What the shell carries out after the lock is released.
#[derive(Debug, Default, PartialEq)]
pub struct Effects {
    pub events: Vec<Event>,
    /// What to store, in order.
    pub rows: Vec<Row>,
    /// Those who waited and may go. Each permit is settled like any other, also when nobody waits for it any more.
    pub granted: Vec<(Ticket, Permit)>,
    /// Those who waited in vain.
    pub refused: Vec<(Ticket, Refusal)>,
    /// [`Engine::learned_limits`] may have changed.
    pub learned: bool,
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
#[derive(Debug, Default, PartialEq)]
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
    /// How an attempt ended. Exactly once per permit; a permit that this Engine did not hand out changes nothing.
    pub fn settle(&mut self, permit: Permit, outcome: &Outcome, settings: &Settings, now: Timestamp) -> Effects {
        let mut effects = self.pending();
        if !self.open.remove(&permit.number) {
            return effects;
        }
        let mut permit = permit;
        let freed = self.vacate(&mut permit, outcome, now);
        let forgotten = self.connections.get(&permit.connection).is_none_or(|health| health.forgotten);
        self.clear_forgotten(&permit.connection);
        match outcome {
            Outcome::Success(_) if !forgotten && permit.caller != Caller::Test => {
                self.succeed(&permit, settings, now, &mut effects);
            }
            Outcome::Failure(failure) if !forgotten && permit.caller != Caller::Test => {
                self.fail(&permit, failure, settings, now, &mut effects);
            }
            Outcome::Success(_) | Outcome::Failure(_) | Outcome::Neutral(_) => self.release(&permit),
        }
        self.serve(freed, settings, now, &mut effects);
        effects
    }

    /// Places that were kept are not needed any more.
    pub fn give_back(&mut self, kept: KeptPlaces, settings: &Settings, now: Timestamp) -> Effects {
        let mut effects = self.pending();
        let freed = self.gates.release(kept.held).into_iter().map(Barrier::Gate).collect();
        self.clear_forgotten(&kept.connection);
        self.serve(freed, settings, now, &mut effects);
        effects
    }

    /// Nothing is remembered of an account that is gone once nobody is there any more.
    fn clear_forgotten(&mut self, connection: &ConnectionId) {
        let forgotten = self.connections.get(connection).is_some_and(|health| health.forgotten);
        if forgotten && self.in_flight(connection) == 0 {
            self.connections.remove(connection);
        }
    }

    /// Notes what time alone has changed: an open breaker that became half-open, a rest that is over, a place whose turn
    /// has come, patience that has ended. Called at [`Engine::next_deadline`], after a change of settings, and before the
    /// picture is taken, so that what is shown is what is stored.
    pub fn tick(&mut self, settings: &Settings, now: Timestamp) -> Effects {
        let mut effects = self.pending();
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
        self.tool_limits.tick(now);
        self.queues.sweep(now);
        self.advance(settings, now, &mut effects);
        effects
    }

    /// Through which outgoing address a connection was just seen; whether that is worth writing down. An account that was
    /// never used is not known to belong anywhere, and is ignored.
    pub fn note_egress(&mut self, connection: &ConnectionId, ip: &str, now: Timestamp) -> bool {
        let provider = self.connections.get(connection).and_then(|health| health.provider.as_ref());
        provider.is_some_and(|provider| self.egress.note(provider, connection, ip, now))
    }

    /// Effects that begin with what admissions changed.
    fn pending(&mut self) -> Effects {
        let Pending { events, rows } = std::mem::take(&mut self.pending);
        Effects { events, rows, ..Effects::default() }
    }

    /// When an account was last asked; none, never.
    pub fn last_used_at(&self, connection: &ConnectionId) -> Option<Timestamp> {
        self.connections.get(connection)?.last_used_at
    }

    /// Requests under way at one account.
    pub fn in_flight(&self, connection: &ConnectionId) -> u32 {
        self.gates.in_flight(&GateKey::Account(connection.clone()))
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
            let mut effects = Effects::default();
            self.breaker_changed(&candidate.provider, transition, settings, &mut effects);
            self.pending.events.extend(effects.events);
            self.pending.rows.extend(effects.rows);
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
