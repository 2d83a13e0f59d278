//! What the end of an attempt does to health (resilience specification, 1.3, 2.3, 4.4 and 11.4).
//!
//! Which layers react to a failure is one table, [`layers::reactions`]; this file adds what depends on the moment: an
//! account that is out already, a rest that runs already, a breaker that is open already.

use domain::health::{LastError, TestStatus};
use domain::{ConnectionId, Failure, Millis, Permanence, Reason, Scope, Timestamp};

use super::{ConnectionHealth, Effects, Engine};
use crate::circuit_breaker::{Change, Charge, FailureKind};
use crate::connection_status::Strike;
use crate::engine::Caller;
use crate::event::Event;
use crate::failure::layers::{self, ConnectionReaction, Reactions, Rest};
use crate::model_lockout::{Released, Request};
use crate::permit::Permit;
use crate::settings::Settings;
use crate::stored::{Row, StoredConnection};

/// How far an account that is banned is put away (resilience specification, 7.2).
pub(super) const BAN: Millis = Millis::days(365);
/// An account's last use is stored to this precision.
const USE_PRECISION: Millis = Millis::minutes(1);

/// A failure and everything it meets.
struct Case<'a> {
    permit: &'a Permit,
    failure: &'a Failure,
    reactions: &'a Reactions,
    error: &'a LastError,
    settings: &'a Settings,
    now: Timestamp,
}

impl Engine {
    pub(super) fn succeed(&mut self, permit: &Permit, settings: &Settings, now: Timestamp, effects: &mut Effects) {
        if let Some(ticket) = permit.breaker {
            let terms = settings.breaker_terms(permit.nature.class);
            let change = self.breakers.on_success(&permit.provider, terms, ticket, now);
            self.breaker_said(permit, change, settings, effects);
        }
        self.provider_cooldowns.on_success(&permit.provider, &permit.connection);
        self.post_output.on_success(&permit.connection, &permit.model);
        let outright = permit.caller == Caller::Direct;
        let (released, changed) = self.lockouts.on_success(permit.target(), outright, permit.number, now);
        released_locks(released, effects);
        if settings.model_lockout.persist {
            effects.rows.extend(changed.into_iter().map(Row::Lockout));
        }
        if let Some(health) = self.connections.get_mut(&permit.connection) {
            health.succeed(permit, now, effects);
        }
    }

    /// Order of the specification, 1.3: the account and the model first, then the provider.
    pub(super) fn fail(
        &mut self,
        permit: &Permit,
        failure: &Failure,
        settings: &Settings,
        now: Timestamp,
        effects: &mut Effects,
    ) {
        let reactions = layers::reactions(failure, &permit.nature, permit.caller, settings);
        let case = Case { permit, failure, reactions: &reactions, error: &last_error(failure, now), settings, now };
        let looked = permit.looks && self.settle_probes(&case, effects);
        if !looked {
            self.lock_model(&case, effects);
        }
        if let Some(health) = self.connections.get_mut(&permit.connection) {
            health.fail(&case, effects);
        }
        if reactions.egress {
            self.cool_siblings(&case, effects);
        }
        if reactions.provider_cooldown {
            let (provider, connection) = (&permit.provider, &permit.connection);
            let class = permit.nature.class;
            let until = self.provider_cooldowns.on_failure(provider, connection, class, settings, now);
            effects.events.extend(until.map(|until| Event::ProviderCooling { provider: provider.clone(), until }));
        }
        self.charge_breaker(&case, effects);
    }

    /// The attempt said nothing: what it held is given back.
    pub(super) fn release(&mut self, permit: &Permit) {
        if let Some(ticket) = permit.breaker {
            self.breakers.on_neutral(&permit.provider, ticket);
        }
        if permit.looks {
            if let Some(health) = self.connections.get_mut(&permit.connection) {
                health.cooldown.on_neutral(permit.number);
            }
            self.lockouts.on_neutral(permit.target(), permit.number);
        }
    }

    /// An attempt that looked whether a long rest is over met the limit again, or found nothing out. Says whether it
    /// looked at a lock: such a failure is none of its own.
    fn settle_probes(&mut self, case: &Case<'_>, effects: &mut Effects) -> bool {
        let Case { permit, now, .. } = *case;
        let health = self.connections.get_mut(&permit.connection);
        if case.failure.scope == Scope::Nobody {
            if let Some(health) = health {
                health.cooldown.on_neutral(permit.number);
            }
            self.lockouts.on_neutral(permit.target(), permit.number);
            return false;
        }
        if let Some(health) = health
            && health.cooldown.on_probe_failure(permit.number, now)
        {
            effects.rows.extend(health.row(&permit.connection, now));
        }
        let changed = self.lockouts.on_probe_failure(permit.target(), permit.number, now);
        let looked = !changed.is_empty();
        if case.settings.model_lockout.persist {
            effects.rows.extend(changed.into_iter().map(Row::Lockout));
        }
        looked
    }

    /// A lock adds nothing where the account is out or rests, or where the provider is stopped as a whole.
    fn lock_model(&mut self, case: &Case<'_>, effects: &mut Effects) {
        let Case { permit, failure, reactions, settings, now, .. } = *case;
        let locks: Vec<layers::Lock> = reactions.lock.iter().chain(&reactions.combo_lock).cloned().collect();
        let health = self.connections.get(&permit.connection);
        let spared = health.is_none_or(|health| health.status.terminal().is_some() || health.cooldown.is_resting(now));
        let terms = settings.breaker_terms(permit.nature.class);
        let stopped = self.breakers.is_open(&permit.provider, terms, now);
        if locks.is_empty() || spared || stopped {
            return;
        }
        // A quota that ran out mid-answer has run out; a break says little until it repeats.
        let broke = failure.after_output && !matches!(failure.reason, Reason::QuotaExhausted | Reason::RateLimit);
        if broke && !self.post_output.on_failure(&permit.connection, &permit.model, now) {
            return;
        }
        let request = Request { locks: &locks, window: terms.config.reset_timeout, cause: case.error };
        let Some(row) = self.lockouts.on_failure(permit.target(), request, now) else { return };
        effects.events.push(Event::ModelLocked {
            provider: row.provider.clone(),
            connection: row.connection.clone(),
            model: row.model.clone(),
            reason: row.reason.clone(),
            until: row.until,
        });
        if settings.model_lockout.persist {
            effects.rows.push(Row::Lockout(row));
        }
    }

    /// The address ran dry: the accounts behind it rest as long as this one.
    fn cool_siblings(&mut self, case: &Case<'_>, effects: &mut Effects) {
        let Case { permit, error, now, .. } = *case;
        let Some(bucket) = &permit.nature.egress_bucket else { return };
        let health = self.connections.get(&permit.connection);
        let Some(failing) = health.map(|health| health.cooldown.clone()) else { return };
        for id in self.egress.siblings(bucket, &permit.connection, now) {
            let Some(health) = self.connections.get_mut(&id) else { continue };
            if health.status.terminal().is_some() || health.never_rests {
                continue;
            }
            let Some(provider) = health.provider.clone() else { continue };
            let Some(until) = health.cooldown.on_shared_limit(&failing, now) else { continue };
            let message = format!("Shared egress IP quota exhausted ({provider})");
            health.status.on_answer();
            health.hold(LastError { message, status: Some(429), ..error.clone() });
            effects.events.push(Event::ConnectionCooling { provider, connection: id.clone(), until });
            effects.rows.extend(health.row(&id, now));
        }
    }

    fn charge_breaker(&mut self, case: &Case<'_>, effects: &mut Effects) {
        let Case { permit, failure, settings, now, .. } = *case;
        let Some(ticket) = permit.breaker else { return };
        let charge = Charge {
            connection: &permit.connection,
            caller: permit.caller,
            breaker: case.reactions.breaker,
            kind: FailureKind::of(failure.reason),
        };
        let terms = settings.breaker_terms(permit.nature.class);
        let change = self.breakers.on_failure(&permit.provider, terms, ticket, charge, now);
        self.breaker_said(permit, change, settings, effects);
    }

    fn breaker_said(&self, permit: &Permit, change: Change, settings: &Settings, effects: &mut Effects) {
        match change {
            Change::Nothing => {}
            Change::Count => self.breaker_changed(&permit.provider, None, settings, effects),
            Change::State(transition) => {
                self.breaker_changed(&permit.provider, Some(transition), settings, effects);
            }
        }
    }
}

impl ConnectionHealth {
    /// A success wipes what it has seen. What came up while it was under way stays: a slow success is older than a quick
    /// failure.
    fn succeed(&mut self, permit: &Permit, now: Timestamp, effects: &mut Effects) {
        let believed = self.record == permit.record && self.status.terminal().is_none();
        let news = self.status.on_answer();
        let mut recovered = false;
        if believed {
            recovered = self.last_error.take().is_some();
            recovered |= self.cooldown.clear();
            recovered |= self.status.on_success();
        }
        if recovered {
            let (provider, connection) = (permit.provider.clone(), permit.connection.clone());
            effects.events.push(Event::ConnectionRecovered { provider, connection });
        }
        let used = self.stored_use.is_none_or(|stored| now >= stored + USE_PRECISION);
        if recovered || news || used {
            self.stored_use = self.last_used_at;
            effects.rows.extend(self.row(&permit.connection, now));
        }
    }

    /// The rows of the specification's table 4.4 that depend on the moment: a terminal state is never overwritten by a
    /// weaker verdict, while a rest runs only a verdict on the account is heard, and what left before its owner cleared
    /// the account is not heard at all.
    fn fail(&mut self, case: &Case<'_>, effects: &mut Effects) {
        let Case { permit, now, .. } = *case;
        if permit.record < self.cleared_at {
            return;
        }
        let first = effects.events.len();
        if !self.react(case, effects) {
            return;
        }
        self.status.on_answer();
        self.hold(case.error.clone());
        self.stored_use = self.last_used_at;
        let (provider, connection) = (permit.provider.clone(), permit.connection.clone());
        effects.events.insert(first, Event::ConnectionFailed { provider, connection, error: case.error.clone() });
        effects.rows.extend(self.row(&permit.connection, now));
    }

    /// Says whether there is anything to write down.
    fn react(&mut self, case: &Case<'_>, effects: &mut Effects) -> bool {
        let out = self.status.terminal().is_some();
        let spared = out || self.cooldown.is_resting(case.now);
        match case.reactions.connection {
            ConnectionReaction::Nothing => false,
            ConnectionReaction::Terminal(TestStatus::Expired) if !out => {
                let strike = self.status.on_unauthorized(case.permit.nature.class, case.now);
                self.strike(strike, true, case, effects)
            }
            ConnectionReaction::Terminal(status) => self.put_out(status, case, effects),
            ConnectionReaction::Noted | ConnectionReaction::Refused { .. } | ConnectionReaction::Cool(_) if spared => {
                false
            }
            ConnectionReaction::Noted => true,
            ConnectionReaction::Refused { cools } => {
                let strike = self.status.on_refusal(case.now);
                self.strike(strike, cools, case, effects)
            }
            ConnectionReaction::Cool(rest) => {
                self.rest(rest, case, effects);
                true
            }
        }
    }

    /// Carries out what a refusal or a rejected sign-in amounts to. Says whether it is news.
    fn strike(&mut self, strike: Strike, cools: bool, case: &Case<'_>, effects: &mut Effects) -> bool {
        match strike {
            Strike::Again => false,
            Strike::Out(status) => self.put_out(status, case, effects),
            Strike::Rest(length) => {
                if cools {
                    self.rest(Rest::Exactly { length, announced: false }, case, effects);
                }
                true
            }
        }
    }

    fn rest(&mut self, rest: Rest, case: &Case<'_>, effects: &mut Effects) {
        if let Some(until) = self.cooldown.on_failure(rest, case.now) {
            let (provider, connection) = (case.permit.provider.clone(), case.permit.connection.clone());
            effects.events.push(Event::ConnectionCooling { provider, connection, until });
        }
    }

    fn put_out(&mut self, status: TestStatus, case: &Case<'_>, effects: &mut Effects) -> bool {
        let news = self.status.on_terminal(status);
        if news {
            if status == TestStatus::Banned {
                self.cooldown.rest_until(case.now + BAN);
            }
            let (provider, connection) = (case.permit.provider.clone(), case.permit.connection.clone());
            effects.events.push(Event::ConnectionTerminal { provider, connection, status });
        }
        news
    }

    /// Something is held against the account.
    fn hold(&mut self, error: LastError) {
        self.last_error = Some(error);
        self.record += 1;
    }

    /// Its row; none while nobody knows whose account it is.
    pub(super) fn row(&self, id: &ConnectionId, now: Timestamp) -> Option<Row> {
        let retries = self.status.retries();
        Some(Row::Connection(StoredConnection {
            connection: id.clone(),
            provider: self.provider.clone()?,
            test_status: self.status.shown(self.cooldown.is_resting(now)),
            rate_limited_until: self.cooldown.until(now),
            probe_at: self.cooldown.probe_at(now),
            backoff_level: self.cooldown.level(),
            last_error: self.last_error.clone(),
            expired_retry_count: retries.count,
            expired_retry_at: retries.at,
            last_used_at: self.last_used_at,
        }))
    }
}

/// Tells and stores that locks are gone.
pub(super) fn released_locks(released: Vec<Released>, effects: &mut Effects) {
    for Released { record, active } in released {
        if active {
            let (provider, connection, model) = (record.provider, record.connection, record.model);
            effects.events.push(Event::ModelUnlocked { provider, connection, model });
        }
        effects.rows.push(Row::LockoutGone(record.key));
    }
}

fn last_error(failure: &Failure, now: Timestamp) -> LastError {
    let reason = match failure.permanence {
        Permanence::RequestRejected => Reason::RequestRejected,
        Permanence::Temporary | Permanence::Banned | Permanence::CreditsExhausted | Permanence::Unauthorized => {
            failure.reason
        }
    };
    LastError { message: failure.message.clone(), reason: Some(reason), status: failure.status, at: now }
}
