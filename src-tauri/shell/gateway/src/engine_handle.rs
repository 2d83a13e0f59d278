//! The Engine in the shell: one lock, held for one call, never across an await.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use catalog::Provider;
use domain::health::TestStatus;
use domain::{Availability, Clock, ConnectionId, Limits, Neutral, Outcome, ProviderId, Quota, Timestamp};
use parking_lot::Mutex;
use resilience::picture::ConnectionPicture;
use resilience::request_queue::learned::LearnedLimit;
use resilience::stored::StoredEgress;
use resilience::{
    Admission, Admitted, Cleared, Effects, Engine, Entered, Event, KeptPlaces, LocalLimit, Permit, Refusal, ResetScope,
    Snapshot, Stored, Ticket, circuit_breaker,
};
use settings::Settings;
use store::Store;
use tokio::sync::{Notify, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::auto_disable::JustBanned;
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
    banned: JustBanned,
    /// Those who wait for their turn. Locked after the Engine, never before.
    waiting: Mutex<BTreeMap<Ticket, oneshot::Sender<Turn>>>,
    /// Somebody may wait for an earlier instant than before.
    earlier: Notify,
    /// Upstreams announced another pace.
    learned: Notify,
    /// Somebody gave accounts back before their time.
    freed: watch::Sender<()>,
}

/// What comes of waiting.
pub(crate) type Turn = Result<Permit, Refusal>;

/// A place in the line; given up when it is dropped.
pub(crate) struct Place {
    engine: EngineHandle,
    ticket: Ticket,
    turn: oneshot::Receiver<Turn>,
    over: bool,
}

impl Place {
    /// Waits for the turn, or for being sent away.
    pub(crate) async fn turn(mut self) -> Turn {
        let turn = (&mut self.turn).await;
        self.over = true;
        // The Engine answers every ticket; its end is that of the program.
        turn.unwrap_or(Err(Refusal::Local(LocalLimit::QueueWedged)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        self.engine.inner.waiting.lock().remove(&self.ticket);
        let ticket = self.ticket;
        self.engine.change(|engine, settings, now| ((), engine.abort(ticket, settings, now)));
        // It may have been granted at that very moment: then the permit lies in the channel.
        if let Ok(Ok(permit)) = self.turn.try_recv() {
            self.engine.settle(permit, &Outcome::Neutral(Neutral::Abandoned));
        }
    }
}

/// What strategies weigh of a provider's accounts.
#[derive(Debug)]
pub(crate) struct Load {
    /// Requests under way at each.
    pub(crate) in_flight: Vec<u32>,
    pub(crate) quota: Option<Arc<Quota>>,
    pub(crate) breaker: circuit_breaker::State,
    /// The most tools the provider takes, where it said so.
    pub(crate) max_tools: Option<u32>,
}

/// Whether more is left of one quota than of another, where both say so.
fn has_more(quota: &Quota, than: &Quota, model: &str, now: Timestamp) -> bool {
    let left = |quota| routing::window::least_remaining(quota, model, now).unwrap_or(0.0);
    left(quota) > left(than)
}

/// The answer to who may wait.
pub(crate) enum Entry {
    Permit(Permit),
    Place(Place),
    Refused(Refusal),
}

impl EngineHandle {
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        settings: Arc<ArcSwap<Settings>>,
        events: Arc<Events>,
        store: Store,
    ) -> Self {
        let (engine, waiting) = (Mutex::default(), Mutex::default());
        let (earlier, learned, banned) = (Notify::new(), Notify::new(), JustBanned::default());
        let freed = watch::Sender::new(());
        let inner = Inner { engine, clock, settings, events, store, banned, waiting, earlier, learned, freed };
        EngineHandle { inner: Arc::new(inner) }
    }

    /// Takes over what outlived a restart; before anything was admitted.
    pub(crate) fn restore(&self, stored: Stored, learned: Vec<LearnedLimit>) {
        let settings = self.inner.settings.load();
        let now = self.inner.clock.now();
        let mut engine = Engine::restore(stored, &settings.resilience, now);
        engine.restore_learned(learned, now);
        *self.inner.engine.lock() = engine;
    }

    /// Accounts that wait to be switched off.
    pub(crate) fn just_banned(&self) -> &JustBanned {
        &self.inner.banned
    }

    /// What upstreams announced about the pace they bear.
    pub(crate) fn learned_limits(&self) -> Vec<LearnedLimit> {
        self.inner.engine.lock().learned_limits(self.inner.clock.now())
    }

    /// Returns when they may have announced something else since it last did.
    pub(crate) async fn learns(&self) {
        self.inner.learned.notified().await;
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

    /// Takes everything an attempt needs, or a place in the line for it.
    pub(crate) fn enter(&self, admission: &Admission<'_>) -> Entry {
        let settings = self.inner.settings.load();
        let now = self.inner.clock.now();
        let mut engine = self.inner.engine.lock();
        match engine.enter(admission, &settings.resilience, now) {
            Entered::Permit(permit) => Entry::Permit(permit),
            Entered::Refused(refusal) => Entry::Refused(refusal),
            Entered::Queued(ticket) => {
                let (sender, turn) = oneshot::channel();
                self.inner.waiting.lock().insert(ticket, sender);
                self.inner.earlier.notify_one();
                Entry::Place(Place { engine: self.clone(), ticket, turn, over: false })
            }
        }
    }

    /// How busy a provider's accounts are, how its breaker stands, and what is left of the account with the most left.
    pub(crate) fn load<'c>(
        &self,
        provider: &Provider,
        model: &str,
        accounts: impl Iterator<Item = &'c ConnectionId>,
    ) -> Load {
        let now = self.inner.clock.now();
        let settings = self.inner.settings.load();
        let engine = self.inner.engine.lock();
        let breaker = engine.breaker_state(&provider.id, &settings.resilience, now);
        let max_tools = engine.tool_limit(&provider.id, provider.limits.most_tools, now);
        let mut load = Load { in_flight: Vec::new(), quota: None, breaker, max_tools };
        for account in accounts {
            load.in_flight.push(engine.in_flight(account));
            if let Some(quota) = engine.quota(account)
                && load.quota.as_ref().is_none_or(|most| has_more(quota, most, model, now))
            {
                load.quota = Some(Arc::clone(quota));
            }
        }
        load
    }

    /// When accounts were last asked, one after another.
    pub(crate) fn last_used<'c>(&self, accounts: impl Iterator<Item = &'c ConnectionId>) -> Vec<Option<Timestamp>> {
        let engine = self.inner.engine.lock();
        accounts.map(|account| engine.last_used_at(account)).collect()
    }

    /// How many wait for their turn.
    pub fn waiting(&self) -> usize {
        self.inner.waiting.lock().len()
    }

    /// Lets time pass for those who wait, until `cancel`.
    pub(crate) async fn keep_time(self, cancel: CancellationToken) {
        loop {
            let deadline = self.inner.engine.lock().next_deadline();
            let due = async {
                match deadline {
                    Some(at) => self.inner.clock.sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                () = self.inner.earlier.notified() => {}
                () = due => self.change(|engine, settings, now| ((), engine.tick(settings, now))),
            }
        }
    }

    /// What the headers of a reply announced.
    pub(crate) fn observe(&self, permit: &Permit, headers: &http::HeaderMap) {
        self.change(|engine, settings, now| ((), engine.observe(permit, headers, settings, now)));
    }

    /// Through which address an account leaves; put down where that is news.
    pub(crate) fn note_egress(&self, connection: &ConnectionId, ip: &str) {
        let at = self.inner.clock.now();
        if self.inner.engine.lock().note_egress(connection, ip, at) {
            self.inner.store.record_egress(StoredEgress { connection: connection.clone(), ip: ip.to_owned(), at });
        }
    }

    /// What somebody said about an account's quota.
    pub fn note_quota(&self, connection: &ConnectionId, quota: Quota) {
        self.change(|engine, _, _| ((), engine.note_quota(connection, quota)));
    }

    /// What is known about an account's quota; none, nothing.
    pub fn quota(&self, connection: &ConnectionId) -> Option<Quota> {
        self.inner.engine.lock().quota(connection).map(|quota| Quota::clone(quota))
    }

    /// The account has another credential and may be another one.
    pub fn forget_quota(&self, connection: &ConnectionId) {
        self.inner.engine.lock().forget_quota(connection);
    }

    /// Those who wait are measured by the settings of this moment.
    pub(crate) fn settings_changed(&self) {
        self.change(|engine, settings, now| ((), engine.tick(settings, now)));
    }

    /// The most tools a provider takes, where that is known.
    pub(crate) fn tool_limit(&self, provider: &Provider) -> Option<u32> {
        let now = self.inner.clock.now();
        self.inner.engine.lock().tool_limit(&provider.id, provider.limits.most_tools, now)
    }

    /// A provider named its limit of tools.
    pub(crate) fn note_tool_limit(&self, provider: &ProviderId, limit: u32) {
        let now = self.inner.clock.now();
        self.inner.engine.lock().note_tool_limit(provider, limit, now);
    }

    /// An account's owner allows something else than before.
    pub fn limits_changed(&self, connection: &ConnectionId, limits: &Limits) {
        self.change(|engine, settings, now| ((), engine.limits_changed(connection, limits, settings, now)));
    }

    pub(crate) fn settle(&self, permit: Permit, outcome: &Outcome) {
        self.change(|engine, settings, now| ((), engine.settle(permit, outcome, settings, now)));
    }

    /// Places that were kept are not needed any more.
    pub(crate) fn give_back(&self, kept: KeptPlaces) {
        self.change(|engine, settings, now| ((), engine.give_back(kept, settings, now)));
    }

    /// An operator's hand. The effects in the answer have been carried out.
    pub fn reset(&self, scope: &ResetScope) -> Cleared {
        let cleared = self.change(|engine, settings, now| {
            let mut cleared = engine.reset(scope, settings, now);
            let effects = std::mem::take(&mut cleared.effects);
            (cleared, effects)
        });
        self.inner.events.announce(&[Topic::Connections, Topic::Cooldowns, Topic::Breakers, Topic::Lockouts]);
        self.frees();
        cleared
    }

    /// An account that was kept away may serve again before its time: whoever waits for one looks anew.
    pub(crate) fn frees(&self) {
        self.inner.freed.send_replace(());
    }

    /// Tells of accounts that are given back from now on.
    pub(crate) fn freed(&self) -> watch::Receiver<()> {
        self.inner.freed.subscribe()
    }

    /// The connection is gone.
    pub fn forget(&self, connection: &ConnectionId) {
        self.inner.banned.forget(connection);
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
        let looked = engine.next_deadline();
        let (answer, mut effects) = call(&mut engine, &settings.resilience, now);
        self.inner.store.record_rows(std::mem::take(&mut effects.rows));
        let looks = engine.next_deadline();
        drop(engine);
        if looks.is_some_and(|at| looked.is_none_or(|before| at < before)) {
            self.inner.earlier.notify_one();
        }
        self.tell(effects);
        answer
    }

    fn tell(&self, mut effects: Effects) {
        self.pass_turns(&mut effects);
        if effects.learned {
            self.inner.learned.notify_one();
        }
        effects.events.iter().for_each(journal::write);
        let topics: BTreeSet<Topic> = effects.events.iter().flat_map(topics).copied().collect();
        if !topics.is_empty() {
            self.inner.events.announce(&topics.into_iter().collect::<Vec<_>>());
        }
        for event in &effects.events {
            if let Event::ConnectionTerminal { connection, status: TestStatus::Banned, .. } = event {
                self.inner.banned.add(connection);
            }
        }
    }

    /// Tells those whose waiting is over. A permit that nobody waits for any more goes back.
    fn pass_turns(&self, effects: &mut Effects) {
        let granted = std::mem::take(&mut effects.granted).into_iter().map(|(ticket, permit)| (ticket, Ok(permit)));
        let refused = std::mem::take(&mut effects.refused).into_iter().map(|(ticket, refusal)| (ticket, Err(refusal)));
        for (ticket, turn) in granted.chain(refused) {
            let sender = self.inner.waiting.lock().remove(&ticket);
            let unwanted = match sender {
                Some(sender) => sender.send(turn).err(),
                None => Some(turn),
            };
            if let Some(Ok(permit)) = unwanted {
                self.settle(permit, &Outcome::Neutral(Neutral::Abandoned));
            }
        }
    }
}
