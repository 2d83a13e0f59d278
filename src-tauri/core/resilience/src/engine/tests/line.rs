//! A small world of requests that wait, for the tests of gates and queues.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use domain::RateLimitOverrides;

use super::*;
use crate::refusal::LocalLimit;

/// Requests by a name each, and what became of them.
pub(super) struct Line {
    pub(super) engine: Engine,
    pub(super) settings: Settings,
    pub(super) limits: Limits,
    pub(super) now: Timestamp,
    pub(super) share: bool,
    pub(super) lowered: bool,
    pub(super) patience: Patience,
    pub(super) running: BTreeMap<&'static str, Permit>,
    pub(super) refused: BTreeMap<&'static str, Refusal>,
    tickets: BTreeMap<Ticket, &'static str>,
    /// In the order in which they went.
    pub(super) went: Vec<&'static str>,
}

impl Line {
    pub(super) fn new(limits: Limits) -> Line {
        Line {
            engine: Engine::default(),
            settings: Settings::default(),
            limits,
            now: START,
            share: false,
            lowered: false,
            patience: Patience::default(),
            running: BTreeMap::new(),
            refused: BTreeMap::new(),
            tickets: BTreeMap::new(),
            went: Vec::new(),
        }
    }

    pub(super) fn capped(cap: u32) -> Line {
        Line::new(Limits { max_concurrent: Some(cap), ..Limits::default() })
    }

    /// Every account has a queue with these numbers.
    pub(super) fn queued(concurrent: u32, spacing: u64) -> Line {
        let mut line = Line::new(Limits::default());
        let config = &mut line.settings.request_queue;
        config.auto_enable_api_key_providers = true;
        config.concurrent_requests = concurrent;
        config.min_time_between_requests = Millis::new(spacing);
        config.requests_per_minute = 1_000_000;
        line
    }

    pub(super) fn enters(&mut self, name: &'static str) {
        self.enters_at(name, "c1", "m1");
    }

    pub(super) fn enters_at(&mut self, name: &'static str, connection: &str, model: &str) {
        let candidate = candidate(connection, model);
        let limits = self.limits.clone();
        let admission = Admission {
            combo_gate: self.share.then_some(ComboGate::QuotaShare { lowered: self.lowered }),
            patience: self.patience,
            ..Admission::new(&candidate, &limits, Caller::Combo)
        };
        match self.engine.enter(&admission, &self.settings, self.now) {
            Entered::Permit(permit) => self.go(name, permit),
            Entered::Queued(ticket) => {
                self.tickets.insert(ticket, name);
            }
            Entered::Refused(refusal) => {
                self.refused.insert(name, refusal);
            }
        }
    }

    /// Somebody under way keeps its places for its next attempt.
    pub(super) fn keeps(&mut self, name: &str) -> Option<KeptPlaces> {
        self.running.get_mut(name).expect("it is under way").keep_places()
    }

    /// The next attempt of whoever kept its place.
    pub(super) fn enters_again(&mut self, name: &'static str, kept: KeptPlaces) {
        let candidate = candidate("c1", "m1");
        let limits = self.limits.clone();
        let admission = Admission {
            combo_gate: self.share.then_some(ComboGate::QuotaShare { lowered: self.lowered }),
            kept: kept.gates(),
            ..Admission::new(&candidate, &limits, Caller::Combo)
        };
        let Admitted::Permit(mut permit) = self.engine.admit(&admission, &self.settings, self.now) else {
            panic!("its place is its own");
        };
        permit.put_back(kept);
        self.go(name, permit);
    }

    fn go(&mut self, name: &'static str, permit: Permit) {
        self.running.insert(name, permit);
        self.went.push(name);
    }

    pub(super) fn take(&mut self, effects: Effects) {
        for (ticket, permit) in effects.granted {
            let name = self.tickets.remove(&ticket).expect("it waited");
            self.go(name, permit);
        }
        for (ticket, refusal) in effects.refused {
            let name = self.tickets.remove(&ticket).expect("it waited");
            self.refused.insert(name, refusal);
        }
    }

    pub(super) fn ends(&mut self, name: &str) {
        self.ends_with(name, &Outcome::Success(Success::default()));
    }

    pub(super) fn ends_with(&mut self, name: &str, outcome: &Outcome) {
        let permit = self.running.remove(name).expect("it is under way");
        let effects = self.engine.settle(permit, outcome, &self.settings, self.now);
        self.take(effects);
    }

    pub(super) fn aborts(&mut self, name: &str) {
        let ticket = *self.tickets.iter().find(|(_, waiting)| **waiting == name).expect("it waits").0;
        self.tickets.remove(&ticket);
        let effects = self.engine.abort(ticket, &self.settings, self.now);
        self.take(effects);
    }

    /// Time passes, with a tick at every deadline as the shell's timer gives.
    pub(super) fn passes(&mut self, length: Millis) {
        let end = self.now + length;
        while let Some(at) = self.engine.next_deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.ticks();
        }
        self.now = end;
    }

    pub(super) fn ticks(&mut self) {
        let effects = self.engine.tick(&self.settings, self.now);
        self.take(effects);
    }

    pub(super) fn waiting(&self) -> usize {
        self.tickets.len()
    }

    pub(super) fn limit(&self, name: &str) -> Option<LocalLimit> {
        match self.refused.get(name) {
            Some(Refusal::Local(limit)) => Some(limit.clone()),
            Some(Refusal::Excluded(_)) | None => None,
        }
    }

    pub(super) fn code(&self, name: &str) -> Option<&'static str> {
        self.limit(name).map(|limit| limit.code())
    }
}

pub(super) fn candidate(connection: &str, model: &str) -> Candidate {
    Candidate {
        provider: "ak".into(),
        connection: connection.into(),
        model: model.to_owned(),
        priority: 1,
        enabled: true,
        nature: Nature::default(),
    }
}

pub(super) fn overriding(max_concurrent: Option<u32>, models: &[(&str, u32)]) -> RateLimitOverrides {
    let models = models.iter().filter_map(|(model, cap)| Some(((*model).to_owned(), NonZeroU32::new(*cap)?)));
    RateLimitOverrides {
        max_concurrent: max_concurrent.and_then(NonZeroU32::new),
        model_concurrency: models.collect(),
        ..RateLimitOverrides::default()
    }
}
