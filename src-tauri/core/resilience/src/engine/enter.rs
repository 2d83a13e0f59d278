//! How an attempt gets in: everything it needs or nothing at all (resilience specification, 1.3).

use std::num::NonZeroU32;

use domain::wire::reason;
use domain::{Candidate, Exclusion, Limits, Mechanism, Millis, Outcome, ProviderId, Timestamp};

use super::fitness::circuit_open;
use super::line::{Known, Standing};
use super::{Admission, Admitted, Caller, ComboGate, Engine, Entered};
use crate::concurrency_gate::{Claim, GateKey, Patience};
use crate::permit::Permit;
use crate::refusal::{LocalLimit, Refusal};
use crate::request_queue::{self, Owner, QueueKey, Terms};
use crate::settings::Settings;
use crate::waiting_room::{Barrier, Needs, Ticket, Waiting};

/// Everything an attempt has to pass besides health.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) queue: Option<Queued>,
    pub(super) claims: Vec<Claim>,
}

/// The queue that governs an account.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Queued {
    pub(super) key: QueueKey,
    pub(super) owner: Owner,
    pub(super) terms: Terms,
}

impl<'a> Admission<'a> {
    /// A plain request: no tools, no combo, the usual patience, quotas respected.
    pub fn new(candidate: &'a Candidate, limits: &'a Limits, caller: Caller) -> Self {
        Admission {
            candidate,
            limits,
            caller,
            tools: 0,
            quota_cutoff: true,
            combo_gate: None,
            kept: &[],
            patience: Patience::default(),
            response_start: Millis::ZERO,
        }
    }
}

impl Engine {
    /// Takes everything the attempt needs at once, or nothing at all: who will not wait.
    pub fn admit(&mut self, admission: &Admission<'_>, settings: &Settings, now: Timestamp) -> Admitted {
        if let Some(exclusion) = self.unfit(admission, settings, now) {
            return Admitted::Refused(exclusion);
        }
        let way = self.way(admission, settings, now);
        self.tell(&way);
        match self.barrier(&way, settings, now) {
            Some(Barrier::Gate(_)) => {
                Admitted::Refused(Exclusion::lasting(Mechanism::ConcurrencyCap, reason::CONCURRENCY_CAP))
            }
            Some(Barrier::Queue(_)) => {
                Admitted::Refused(Exclusion::lasting(Mechanism::AdmissionLane, reason::ADMISSION_LANE))
            }
            None => match self.take(admission, way, settings, now) {
                Ok(permit) => Admitted::Permit(permit),
                Err(exclusion) => Admitted::Refused(exclusion),
            },
        }
    }

    /// Takes everything the attempt needs, or a place in the line for it.
    pub fn enter(&mut self, admission: &Admission<'_>, settings: &Settings, now: Timestamp) -> Entered {
        if let Some(exclusion) = self.unfit(admission, settings, now) {
            return Entered::Refused(Refusal::Excluded(exclusion));
        }
        let mut way = self.way(admission, settings, now);
        self.tell(&way);
        while let Some(closed) = self.barrier(&way, settings, now) {
            match self.crowded(&way, admission.patience) {
                None => return Entered::Queued(self.line_up(admission, way, closed, settings, now)),
                Some(LocalLimit::GateFull(GateKey::QuotaShare(_))) => way.give_up_share(),
                Some(limit) => return Entered::Refused(Refusal::Local(limit)),
            }
        }
        match self.take(admission, way, settings, now) {
            Ok(permit) => Entered::Permit(permit),
            Err(exclusion) => Entered::Refused(Refusal::Excluded(exclusion)),
        }
    }

    /// What an attempt has to pass, with the caps of this moment. A test passes everything and is only counted.
    pub(super) fn way(&self, admission: &Admission<'_>, settings: &Settings, now: Timestamp) -> Way {
        let Admission { candidate, limits, caller, combo_gate, .. } = *admission;
        let Candidate { provider, connection, model, nature, .. } = candidate;
        let test = caller == Caller::Test;
        let outer = |key: GateKey, cap: Option<u32>| Claim { key, cap: cap.filter(|cap| *cap > 0 && !test) };
        let mut claims = vec![
            outer(GateKey::Global, Some(settings.request_queue.global_concurrent_requests)),
            outer(GateKey::Provider(provider.clone()), provider_cap(provider, settings)),
            outer(GateKey::Account(connection.clone()), account_cap(limits, combo_gate)),
        ];
        if test {
            return Way { queue: None, claims };
        }
        let capped =
            |key: GateKey, cap: Option<u32>| cap.filter(|cap| *cap > 0).map(|cap| Claim { key, cap: Some(cap) });
        claims.extend(capped(GateKey::Model(connection.clone(), model.clone()), limits.model_cap(model)));
        claims.extend(match combo_gate {
            Some(ComboGate::QuotaShare { .. }) if settings.quota_share_concurrency_limit.enabled => {
                capped(GateKey::QuotaShare(connection.clone()), limits.max_concurrent)
            }
            Some(ComboGate::Target { combo, execution_key, cap }) => {
                let key = GateKey::Target { combo: combo.to_owned(), execution_key: execution_key.to_owned() };
                capped(key, limits.max_concurrent.or(Some(cap)))
            }
            Some(ComboGate::QuotaShare { .. }) | None => None,
        });
        claims.retain(|claim| !admission.kept.contains(&claim.key));
        let key = QueueKey::of(connection, model, nature);
        let owner = Owner { provider: provider.clone(), class: nature.class, limits: limits.clone() };
        let terms = self.queues.terms(&key, &owner, settings, now);
        Way { queue: terms.map(|terms| Queued { key, owner, terms }), claims }
    }

    /// A queue in use learns what its owner wants now.
    pub(super) fn tell(&mut self, way: &Way) {
        if let Some(queue) = &way.queue {
            self.queues.tell(&queue.key, &queue.owner);
        }
    }

    /// The first thing in the way of a newcomer: closed, or with somebody standing there already.
    pub(super) fn barrier(&self, way: &Way, settings: &Settings, now: Timestamp) -> Option<Barrier> {
        let occupied = || if self.room.is_empty() { None } else { self.room.occupied(&way.needs()) };
        self.closed_on(way, settings, now).or_else(occupied)
    }

    /// The first closed thing in the way.
    pub(super) fn closed_on(&self, way: &Way, settings: &Settings, now: Timestamp) -> Option<Barrier> {
        let queue = way.queue.as_ref().map(|queue| &queue.key);
        self.closed(queue, &way.claims, settings, now)
    }

    /// The limit that keeps a newcomer from waiting.
    fn crowded(&self, way: &Way, patience: Patience) -> Option<LocalLimit> {
        if let Some(queue) = &way.queue
            && !request_queue::admits(self.queues.waiting(&queue.key), queue.terms.max_queue_depth)
        {
            return Some(LocalLimit::QueueFull);
        }
        self.gates.crowded(&way.claims, patience.depth).cloned().map(LocalLimit::GateFull)
    }

    fn line_up(
        &mut self,
        admission: &Admission<'_>,
        way: Way,
        closed: Barrier,
        settings: &Settings,
        now: Timestamp,
    ) -> Ticket {
        if self.room.is_empty() {
            self.known = Known::of(settings);
        }
        self.next_ticket += 1;
        let ticket = match admission.combo_gate {
            Some(ComboGate::QuotaShare { lowered: true }) => Ticket::lowered(self.next_ticket),
            Some(ComboGate::QuotaShare { lowered: false } | ComboGate::Target { .. }) | None => {
                Ticket::new(self.next_ticket)
            }
        };
        let wait = match &way.queue {
            Some(queue) if !way.shares() => queue.terms.max_wait,
            Some(_) | None => admission.patience.wait,
        };
        let waiting = Waiting { until: now + wait, what: Standing::new(admission, now) };
        self.join(ticket, &way, closed, waiting, settings, now);
        ticket
    }

    /// A request stands in line; a queue it stands at is looked at when it opens.
    pub(super) fn join(
        &mut self,
        ticket: Ticket,
        way: &Way,
        closed: Barrier,
        waiting: Waiting<Standing>,
        settings: &Settings,
        now: Timestamp,
    ) {
        self.gates.wait(&way.claims);
        if let Some(queue) = &way.queue {
            self.queues.wait(&queue.key, &queue.owner, now);
        }
        if let Barrier::Queue(key) = &closed {
            self.watch(key, settings, now);
        }
        self.room.join(ticket, way.needs(), closed, waiting);
    }

    /// Takes the places and the breaker's ticket; the way is free.
    pub(super) fn take(
        &mut self,
        admission: &Admission<'_>,
        way: Way,
        settings: &Settings,
        now: Timestamp,
    ) -> Result<Permit, Exclusion> {
        let Admission { candidate, caller, .. } = *admission;
        let number = self.next_permit + 1;
        let breaker = self.enter_breaker(candidate, caller, settings, now).map_err(circuit_open)?;
        let held = self.gates.enter(way.claims);
        let looks = caller != Caller::Test && self.look(candidate, number, now);
        if let Some(bucket) = &candidate.nature.egress_bucket {
            self.egress.join(bucket, &candidate.provider);
        }
        let execution_limit =
            way.queue.as_ref().map(|queue| request_queue::execution_limit(&queue.terms, admission.response_start));
        if let Some(Queued { key, owner, .. }) = &way.queue {
            let runs_until = now + execution_limit.unwrap_or(Millis::ZERO);
            self.queues.start(key, owner, number, runs_until, now);
        }
        self.next_permit = number;
        self.open.insert(number);
        let record = self.note_use(candidate, now);
        Ok(Permit {
            number,
            provider: candidate.provider.clone(),
            connection: candidate.connection.clone(),
            model: candidate.model.clone(),
            nature: candidate.nature.clone(),
            caller,
            breaker,
            record,
            held,
            queue: way.queue.map(|queue| queue.key),
            execution_limit,
            looks,
        })
    }

    /// The account is used. Says what is known about it so far.
    fn note_use(&mut self, candidate: &Candidate, now: Timestamp) -> u64 {
        let health = self.connections.entry(candidate.connection.clone()).or_default();
        if health.provider.is_none() {
            health.provider = Some(candidate.provider.clone());
            // What its owner did before it was first used could not be stored yet.
            let cleared = health.cleared_at > 0;
            self.pending.rows.extend(cleared.then(|| health.row(&candidate.connection, now)).flatten());
        }
        health.never_rests = candidate.nature.disable_cooling;
        health.last_used_at = Some(now);
        health.record
    }

    /// Gives back the places of an attempt that has ended and says which.
    pub(super) fn vacate(&mut self, permit: &mut Permit, outcome: &Outcome, now: Timestamp) -> Vec<Barrier> {
        let gates = self.gates.release(std::mem::take(&mut permit.held));
        let mut freed: Vec<Barrier> = gates.into_iter().map(Barrier::Gate).collect();
        if let Some(key) = permit.queue.take() {
            self.queues.finish(&key, permit.number, tokens(outcome), now);
            if let Outcome::Failure(failure) = outcome
                && failure.status == Some(429)
            {
                self.queues.on_limited(&key);
            }
            freed.push(Barrier::Queue(key));
        }
        freed
    }
}

impl Way {
    pub(super) fn needs(&self) -> Needs {
        Needs { queue: self.queue.as_ref().map(|queue| queue.key.clone()), gates: self.claims.clone() }
    }

    /// Whether it waits for a place among quota-share requests, without which it can go on.
    pub(super) fn shares(&self) -> bool {
        self.claims.iter().any(|claim| matches!(claim.key, GateKey::QuotaShare(_)))
    }

    /// A quota-share request goes on without its place.
    pub(super) fn give_up_share(&mut self) {
        self.claims.retain(|claim| !matches!(claim.key, GateKey::QuotaShare(_)));
    }
}

fn provider_cap(provider: &ProviderId, settings: &Settings) -> Option<u32> {
    settings.provider_quota_overrides.get(provider.as_str())?.provider_concurrency.map(NonZeroU32::get)
}

/// A quota-share combo goes by its own gate, which never refuses, in place of the owner's cap of the account.
fn account_cap(limits: &Limits, combo_gate: Option<ComboGate<'_>>) -> Option<u32> {
    match combo_gate {
        Some(ComboGate::QuotaShare { .. }) => limits.overrides.max_concurrent.map(NonZeroU32::get),
        Some(ComboGate::Target { .. }) | None => limits.account_cap(),
    }
}

/// Tokens that an answer is known to have cost.
fn tokens(outcome: &Outcome) -> u64 {
    match outcome {
        Outcome::Success(success) => {
            let output = success.usage.output.unwrap_or(0);
            success.usage.input().unwrap_or(0).saturating_add(output)
        }
        Outcome::Failure(_) | Outcome::Neutral(_) => 0,
    }
}
