//! The Engine in the shell: one lock, held for one call, never across an await.

use std::collections::BTreeSet;
use std::sync::Arc;

use arc_swap::ArcSwap;
use domain::{Availability, Clock, ConnectionId, Outcome};
use parking_lot::Mutex;
use resilience::picture::ConnectionPicture;
use resilience::{Admission, Admitted, Cleared, Effects, Engine, Permit, ResetScope, Snapshot, Stored};
use settings::Settings;
use store::Store;

use crate::events::{Events, Topic, topics};
use crate::journal;

/// Decisions and verdicts go through here; effects are poured out after the lock is released.
#[derive(Clone)]
pub struct EngineHandle {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Mutex<Engine>,
    clock: Arc<dyn Clock>,
    settings: Arc<ArcSwap<Settings>>,
    events: Arc<Events>,
    store: Store,
}

impl EngineHandle {
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        settings: Arc<ArcSwap<Settings>>,
        events: Arc<Events>,
        store: Store,
    ) -> Self {
        EngineHandle { inner: Arc::new(Inner { engine: Mutex::default(), clock, settings, events, store }) }
    }

    /// Takes over what outlived a restart; before anything was admitted.
    pub(crate) fn restore(&self, stored: Stored) {
        let settings = self.inner.settings.load();
        let engine = Engine::restore(stored, &settings.resilience, self.inner.clock.now());
        *self.inner.engine.lock() = engine;
    }

    /// May this candidate be tried now?
    pub fn availability(&self, ask: &Admission<'_>) -> Availability {
        let settings = self.inner.settings.load();
        let now = self.inner.clock.now();
        self.inner.engine.lock().availability(ask, &settings.resilience, now)
    }

    pub(crate) fn admit(&self, admission: &Admission<'_>) -> Admitted {
        let settings = self.inner.settings.load();
        let now = self.inner.clock.now();
        self.inner.engine.lock().admit(admission, &settings.resilience, now)
    }

    pub(crate) fn settle(&self, permit: Permit, outcome: &Outcome) {
        let settings = self.inner.settings.load();
        let now = self.inner.clock.now();
        let effects = self.inner.engine.lock().settle(permit, outcome, &settings.resilience, now);
        self.perform(effects);
    }

    /// An operator's hand. The effects in the answer have been carried out.
    pub fn reset(&self, scope: &ResetScope) -> Cleared {
        let settings = self.inner.settings.load();
        let now = self.inner.clock.now();
        let mut cleared = self.inner.engine.lock().reset(scope, &settings.resilience, now);
        self.perform(std::mem::take(&mut cleared.effects));
        self.inner.events.announce(&[Topic::Connections, Topic::Cooldowns, Topic::Breakers, Topic::Lockouts]);
        cleared
    }

    /// The connection is gone.
    pub fn forget(&self, connection: &ConnectionId) {
        let effects = self.inner.engine.lock().forget(connection);
        self.perform(effects);
    }

    pub fn snapshot(&self) -> Snapshot {
        let settings = self.inner.settings.load();
        let now = self.inner.clock.now();
        let mut engine = self.inner.engine.lock();
        let effects = engine.tick(&settings.resilience, now);
        let snapshot = engine.snapshot(&settings.resilience, now);
        drop(engine);
        self.perform(effects);
        snapshot
    }

    /// One connection's part of the snapshot.
    pub fn connection(&self, id: &ConnectionId) -> ConnectionPicture {
        let settings = self.inner.settings.load();
        let now = self.inner.clock.now();
        self.inner.engine.lock().connection(id, &settings.resilience, now)
    }

    fn perform(&self, effects: Effects) {
        effects.events.iter().for_each(journal::write);
        let topics: BTreeSet<Topic> = effects.events.iter().flat_map(topics).copied().collect();
        if !topics.is_empty() {
            self.inner.events.announce(&topics.into_iter().collect::<Vec<_>>());
        }
        self.inner.store.record_rows(effects.rows);
    }
}
