//! The Engine in the shell: one lock, held for one call, never across an await.

use std::collections::BTreeSet;
use std::sync::Arc;

use arc_swap::ArcSwap;
use domain::health::TestStatus;
use domain::{Availability, Clock, ConnectionId, Outcome, Timestamp};
use parking_lot::Mutex;
use resilience::picture::ConnectionPicture;
use resilience::{Admission, Admitted, Cleared, Effects, Engine, Event, Permit, ResetScope, Snapshot, Stored};
use settings::Settings;
use store::Store;
use tokio::sync::mpsc;

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
    /// Accounts that were just banned.
    banned: mpsc::UnboundedSender<ConnectionId>,
}

impl EngineHandle {
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        settings: Arc<ArcSwap<Settings>>,
        events: Arc<Events>,
        store: Store,
        banned: mpsc::UnboundedSender<ConnectionId>,
    ) -> Self {
        EngineHandle { inner: Arc::new(Inner { engine: Mutex::default(), clock, settings, events, store, banned }) }
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
        self.change(|engine, settings, now| ((), engine.settle(permit, outcome, settings, now)));
    }

    /// An operator's hand. The effects in the answer have been carried out.
    pub fn reset(&self, scope: &ResetScope) -> Cleared {
        let cleared = self.change(|engine, settings, now| {
            let mut cleared = engine.reset(scope, settings, now);
            let effects = std::mem::take(&mut cleared.effects);
            (cleared, effects)
        });
        self.inner.events.announce(&[Topic::Connections, Topic::Cooldowns, Topic::Breakers, Topic::Lockouts]);
        cleared
    }

    /// The connection is gone.
    pub fn forget(&self, connection: &ConnectionId) {
        self.change(|engine, _, _| ((), engine.forget(connection)));
    }

    pub fn snapshot(&self) -> Snapshot {
        self.change(|engine, settings, now| {
            let effects = engine.tick(settings, now);
            (engine.snapshot(settings, now), effects)
        })
    }

    /// One connection's part of the snapshot.
    pub fn connection(&self, id: &ConnectionId) -> ConnectionPicture {
        let settings = self.inner.settings.load();
        let now = self.inner.clock.now();
        self.inner.engine.lock().connection(id, &settings.resilience, now)
    }

    /// One call that may change something. Rows are put down for the store before the lock is given back, so that they are
    /// written in the order in which they came to be; everybody else is told afterwards.
    fn change<T>(&self, call: impl FnOnce(&mut Engine, &resilience::Settings, Timestamp) -> (T, Effects)) -> T {
        let settings = self.inner.settings.load();
        let now = self.inner.clock.now();
        let mut engine = self.inner.engine.lock();
        let (answer, mut effects) = call(&mut engine, &settings.resilience, now);
        self.inner.store.record_rows(std::mem::take(&mut effects.rows));
        drop(engine);
        self.tell(&effects);
        answer
    }

    fn tell(&self, effects: &Effects) {
        effects.events.iter().for_each(journal::write);
        let topics: BTreeSet<Topic> = effects.events.iter().flat_map(topics).copied().collect();
        if !topics.is_empty() {
            self.inner.events.announce(&topics.into_iter().collect::<Vec<_>>());
        }
        for event in &effects.events {
            if let Event::ConnectionTerminal { connection, status: TestStatus::Banned, .. } = event {
                // Nobody listens any more only while the program stops.
                let _ = self.inner.banned.send(connection.clone());
            }
        }
    }
}
