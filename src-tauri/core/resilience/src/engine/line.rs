//! Those who wait: whose turn comes when something opens, and whose patience ends.
//!
//! The rule that makes it fair and cheap: after every call, whoever still waits stands at something that is closed to it.
//! So only what has just opened is looked at, the longest waiting first over everything that opened together, and a
//! newcomer stands behind whoever stands at what it needs. Health is asked again when a turn comes: an account that began
//! to rest meanwhile sends those who wait for it elsewhere at once.

use std::collections::{BTreeMap, BTreeSet};

use domain::wire::reason;
use domain::{Candidate, ConnectionId, Exclusion, Limits, Mechanism, Millis, Timestamp};

use super::enter::Way;
use super::{Admission, Caller, ComboGate, Effects, Engine};
use crate::concurrency_gate::{Claim, GateKey, Patience};
use crate::quota_preflight::{ProviderQuota, QuotaShare};
use crate::refusal::{LocalLimit, Refusal};
use crate::request_queue::{self, QueueKey, Verdict};
use crate::settings::Settings;
use crate::waiting_room::{Barrier, Left, Needs, Ticket, Waiting};

/// What somebody who waits has asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Standing {
    candidate: Candidate,
    limits: Limits,
    caller: Caller,
    tools: u32,
    quota_cutoff: bool,
    combo_gate: Option<OwnedComboGate>,
    kept: Vec<GateKey>,
    patience: Patience,
    response_start: Millis,
    entered_at: Timestamp,
    /// It has waited for its share long enough and goes on without.
    shareless: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum OwnedComboGate {
    QuotaShare { lowered: bool },
    Target { combo: String, execution_key: String, cap: u32 },
}

/// The settings by which those who wait were measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Known {
    queue: request_queue::Config,
    share: QuotaShare,
    providers: BTreeMap<String, ProviderQuota>,
}

impl Standing {
    pub(super) fn new(admission: &Admission<'_>, now: Timestamp) -> Self {
        let combo_gate = admission.combo_gate.map(|gate| match gate {
            ComboGate::QuotaShare { lowered } => OwnedComboGate::QuotaShare { lowered },
            ComboGate::Target { combo, execution_key, cap } => {
                OwnedComboGate::Target { combo: combo.to_owned(), execution_key: execution_key.to_owned(), cap }
            }
        });
        Standing {
            candidate: admission.candidate.clone(),
            limits: admission.limits.clone(),
            caller: admission.caller,
            tools: admission.tools,
            quota_cutoff: admission.quota_cutoff,
            combo_gate,
            kept: admission.kept.to_vec(),
            patience: admission.patience,
            response_start: admission.response_start,
            entered_at: now,
            shareless: false,
        }
    }

    fn admission(&self) -> Admission<'_> {
        let combo_gate = self.combo_gate.as_ref().map(|gate| match gate {
            OwnedComboGate::QuotaShare { lowered } => ComboGate::QuotaShare { lowered: *lowered },
            OwnedComboGate::Target { combo, execution_key, cap } => {
                ComboGate::Target { combo, execution_key, cap: *cap }
            }
        });
        Admission {
            candidate: &self.candidate,
            limits: &self.limits,
            caller: self.caller,
            tools: self.tools,
            quota_cutoff: self.quota_cutoff,
            combo_gate,
            kept: &self.kept,
            patience: self.patience,
            response_start: self.response_start,
        }
    }
}

impl Known {
    pub(super) fn of(settings: &Settings) -> Self {
        Known {
            queue: settings.request_queue.clone(),
            share: settings.quota_share_concurrency_limit.clone(),
            providers: settings.provider_quota_overrides.clone(),
        }
    }

    fn holds(&self, settings: &Settings) -> bool {
        self.queue == settings.request_queue
            && self.share == settings.quota_share_concurrency_limit
            && self.providers == settings.provider_quota_overrides
    }
}

impl Engine {
    /// When [`Engine::tick`] has something to do for those who wait; none, nobody waits.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.room.next_deadline().into_iter().chain(self.queues.next_deadline()).min()
    }

    /// Whoever waited under this ticket has gone: its place is the next one's at once. A ticket that was granted or
    /// refused before is unknown.
    pub fn abort(&mut self, ticket: Ticket, settings: &Settings, now: Timestamp) -> Effects {
        let mut effects = self.pending();
        if let Some(left) = self.step_out(ticket) {
            self.serve(vec![left.at], settings, now, &mut effects);
        }
        effects
    }

    /// What an account's owner allows has changed: those who wait for it are measured anew, in their order.
    pub fn limits_changed(
        &mut self,
        connection: &ConnectionId,
        limits: &Limits,
        settings: &Settings,
        now: Timestamp,
    ) -> Effects {
        let mut effects = self.pending();
        let waiting = self.room.those_who(|standing| standing.candidate.connection == *connection);
        self.measure(&waiting, Some(limits), settings, now, &mut effects);
        effects
    }

    /// How many wait for each account.
    pub(super) fn waiting_for(&self) -> BTreeMap<ConnectionId, u32> {
        let mut counts = BTreeMap::new();
        for standing in self.room.everybody() {
            *counts.entry(standing.candidate.connection.clone()).or_insert(0) += 1;
        }
        counts
    }

    /// Those who wait for an account that no longer exists.
    pub(super) fn send_away(&mut self, connection: &ConnectionId, effects: &mut Effects) {
        for ticket in self.room.those_who(|standing| standing.candidate.connection == *connection) {
            self.step_out(ticket);
            let gone = Exclusion::lasting(Mechanism::SwitchedOff, reason::SWITCHED_OFF);
            effects.refused.push((ticket, Refusal::Excluded(gone)));
        }
    }

    /// What time alone brings: queues that open, patience that ends, settings that changed meanwhile.
    pub(super) fn advance(&mut self, settings: &Settings, now: Timestamp, effects: &mut Effects) {
        if self.room.is_empty() {
            return;
        }
        if !self.known.holds(settings) {
            self.known = Known::of(settings);
            let everybody = self.room.those_who(|_| true);
            self.measure(&everybody, None, settings, now, effects);
        }
        let mut opened = Vec::new();
        while let Some(key) = self.queues.due(now) {
            opened.push(Barrier::Queue(key));
        }
        self.serve(opened, settings, now, effects);
        while let Some(ticket) = self.room.expired(now) {
            self.expire(ticket, settings, now, effects);
        }
    }

    /// An account's queues may have opened.
    pub(super) fn serve_account(
        &mut self,
        connection: &ConnectionId,
        settings: &Settings,
        now: Timestamp,
        effects: &mut Effects,
    ) {
        let opened = self.queues.keys_of(connection).cloned().map(Barrier::Queue).collect();
        self.serve(opened, settings, now, effects);
    }

    /// Something may have opened: whoever stands there goes, the longest waiting first, until all has closed again.
    pub(super) fn serve(&mut self, opened: Vec<Barrier>, settings: &Settings, now: Timestamp, effects: &mut Effects) {
        if self.room.is_empty() {
            return;
        }
        let heads = opened.into_iter().filter_map(|barrier| Some((self.room.first_at(&barrier)?.0, barrier)));
        let mut heads: BTreeSet<(Ticket, Barrier)> = heads.collect();
        while let Some((ticket, barrier)) = heads.pop_first() {
            let Some((first, needs)) = self.room.first_at(&barrier) else { continue };
            if first == ticket {
                if self.is_closed(&barrier, needs, settings, now) {
                    self.stay(&barrier, settings, now, effects);
                    continue;
                }
                match self.closed(needs.queue.as_ref(), &needs.gates, settings, now) {
                    Some(elsewhere) => self.go_to(ticket, elsewhere, settings, now),
                    None => self.turn(ticket, settings, now, effects),
                }
            }
            heads.extend(self.room.first_at(&barrier).map(|(next, _)| (next, barrier.clone())));
        }
    }

    /// The first closed thing of those.
    pub(super) fn closed(
        &self,
        queue: Option<&QueueKey>,
        claims: &[Claim],
        settings: &Settings,
        now: Timestamp,
    ) -> Option<Barrier> {
        let queue = queue.filter(|key| self.queues.check(key, settings, now) != Verdict::Open);
        let gate = || self.gates.full(claims).cloned().map(Barrier::Gate);
        queue.cloned().map(Barrier::Queue).or_else(gate)
    }

    fn is_closed(&self, barrier: &Barrier, needs: &Needs, settings: &Settings, now: Timestamp) -> bool {
        match barrier {
            Barrier::Queue(key) => self.queues.check(key, settings, now) != Verdict::Open,
            Barrier::Gate(key) => {
                needs.gates.iter().filter(|claim| claim.key == *key).any(|claim| self.gates.is_full(claim))
            }
        }
    }

    /// What was said to be open is closed: a queue is looked at again in time, and a wedged one is cleared.
    fn stay(&mut self, barrier: &Barrier, settings: &Settings, now: Timestamp, effects: &mut Effects) {
        let Barrier::Queue(key) = barrier else { return };
        if self.queues.check(key, settings, now) != Verdict::Wedged {
            self.watch(key, settings, now);
            return;
        }
        while let Some((ticket, _)) = self.room.first_at(barrier) {
            self.step_out(ticket);
            effects.refused.push((ticket, Refusal::Local(LocalLimit::QueueWedged)));
        }
        self.queues.rebuild(key, now);
    }

    fn go_to(&mut self, ticket: Ticket, closed: Barrier, settings: &Settings, now: Timestamp) {
        if let Barrier::Queue(key) = &closed {
            self.watch(key, settings, now);
        }
        self.room.move_to(ticket, closed);
    }

    /// A closed queue is looked at when it could open, one that is open at once.
    pub(super) fn watch(&mut self, key: &QueueKey, settings: &Settings, now: Timestamp) {
        let at = match self.queues.check(key, settings, now) {
            Verdict::Closed { until } => until,
            Verdict::Open | Verdict::Wedged => now,
        };
        self.queues.look_at(key, at);
    }

    /// Somebody's way is free, by the caps it came with: settings may have changed since, and a pace may have been learnt.
    fn turn(&mut self, ticket: Ticket, settings: &Settings, now: Timestamp, effects: &mut Effects) {
        let Some(Left { at, waiting, .. }) = self.step_out(ticket) else { return };
        let way = self.way_of(&waiting.what, settings, now);
        if now > waiting.until && !way.shares() {
            effects.refused.push((ticket, Refusal::Local(timeout(at))));
            return;
        }
        match self.closed_on(&way, settings, now) {
            Some(closed) => self.join(ticket, &way, closed, waiting, settings, now),
            None => self.let_in(ticket, &waiting.what, way, settings, now, effects),
        }
    }

    fn let_in(
        &mut self,
        ticket: Ticket,
        standing: &Standing,
        way: Way,
        settings: &Settings,
        now: Timestamp,
        effects: &mut Effects,
    ) {
        let admission = standing.admission();
        let exclusion = self.unfit(&admission, settings, now);
        match exclusion.map_or_else(|| self.take(&admission, way, settings, now), Err) {
            Ok(permit) => effects.granted.push((ticket, permit)),
            Err(exclusion) => effects.refused.push((ticket, Refusal::Excluded(exclusion))),
        }
    }

    /// Somebody's patience has ended; one that waited for a share goes on without.
    fn expire(&mut self, ticket: Ticket, settings: &Settings, now: Timestamp, effects: &mut Effects) {
        let Some(left) = self.step_out(ticket) else { return };
        let Left { needs, at, waiting: Waiting { mut what, .. }, .. } = left;
        let shared = self.way_of(&what, settings, now).shares();
        if !shared {
            effects.refused.push((ticket, Refusal::Local(timeout(at.clone()))));
            self.serve(vec![at], settings, now, effects);
            return;
        }
        what.shareless = true;
        let way = self.way_of(&what, settings, now);
        let until = match &way.queue {
            Some(queue) if needs.queue.is_some() => now.max(what.entered_at + queue.terms.max_wait),
            Some(_) | None => now + Patience::default().wait,
        };
        let waiting = Waiting { until, what };
        self.place(Left { ticket, needs, at, waiting }, settings, now, effects);
    }

    /// Everybody leaves and comes back in the old order, with caps and settings as they are now.
    fn measure(
        &mut self,
        tickets: &[Ticket],
        limits: Option<&Limits>,
        settings: &Settings,
        now: Timestamp,
        effects: &mut Effects,
    ) {
        let left: Vec<Left<Standing>> = tickets.iter().filter_map(|ticket| self.step_out(*ticket)).collect();
        for mut left in left {
            if let Some(limits) = limits {
                left.waiting.what.limits = limits.clone();
            }
            self.place(left, settings, now, effects);
        }
    }

    /// Somebody who has waited goes, or waits on.
    fn place(&mut self, left: Left<Standing>, settings: &Settings, now: Timestamp, effects: &mut Effects) {
        let Left { ticket, at, waiting, .. } = left;
        let way = self.way_of(&waiting.what, settings, now);
        if now > waiting.until && !way.shares() {
            effects.refused.push((ticket, Refusal::Local(timeout(at))));
            return;
        }
        self.tell(&way);
        match self.barrier(&way, settings, now) {
            Some(closed) => self.join(ticket, &way, closed, waiting, settings, now),
            None => self.let_in(ticket, &waiting.what, way, settings, now, effects),
        }
    }

    fn way_of(&self, standing: &Standing, settings: &Settings, now: Timestamp) -> Way {
        let mut way = self.way(&standing.admission(), settings, now);
        if standing.shareless {
            way.give_up_share();
        }
        way
    }

    /// Somebody leaves the line, for whatever reason, and with it whatever it stood for.
    fn step_out(&mut self, ticket: Ticket) -> Option<Left<Standing>> {
        let left = self.room.leave(ticket)?;
        self.gates.leave(&left.needs.gates);
        if let Some(key) = &left.needs.queue {
            self.queues.leave(key);
        }
        Some(left)
    }
}

fn timeout(at: Barrier) -> LocalLimit {
    match at {
        Barrier::Queue(_) => LocalLimit::QueueTimeout,
        Barrier::Gate(key) => LocalLimit::GateTimeout(key),
    }
}
