//! What routing remembers, in the shell: one lock beside the Engine's, held for one call, never across an await.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::{Clock, ConnectionId, Millis};
use parking_lot::Mutex;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;
use routing::account::{self, Preferences};
use routing::affinity::{Affinity, Pin};
use routing::combo::{Combo, Config, Expansion, Strategy};
use routing::memory::{Dispatch, Lasting};
use routing::plan::Refusal;
use routing::quota_share::leases::Lease;
use routing::strategies::context_relay::Handoffs;
use routing::view::RequestFacts;
use routing::{Memory, Plan, Route, Target, View, quota_share};
use settings::Settings;
use tokio::sync::Notify;

use crate::accounts::Foresight;
use crate::gateway::Gateway;
use crate::quota_pools::Pools;
use crate::table::Table;

/// The document in the store.
const MEMORY: &str = "memory";
/// How often request counts are put down.
const COUNTS: Millis = Millis::hours(1);
/// How long a change of the last known good waits for others.
const SOON: Millis = Millis::seconds(1);

/// Strategies are asked through here.
pub(crate) struct RoutingHandle {
    state: Mutex<State>,
    configs: Mutex<BTreeMap<String, Known>>,
    handoffs: Mutex<Handoffs>,
    pools: Table<Pools>,
    clock: Arc<dyn Clock>,
    /// Something that outlives a restart has changed.
    news: Notify,
    /// A session went to another account.
    moved: Notify,
}

struct State {
    memory: Memory,
    affinity: Affinity,
    rng: ChaCha12Rng,
}

/// The numbers of a combo, and what they were worked out from.
struct Known {
    combo: Arc<Combo>,
    settings: Arc<Settings>,
    config: Arc<Config>,
}

impl RoutingHandle {
    pub(crate) fn new(clock: Arc<dyn Clock>, rng: ChaCha12Rng) -> Self {
        RoutingHandle {
            state: Mutex::new(State { memory: Memory::default(), affinity: Affinity::default(), rng }),
            configs: Mutex::default(),
            handoffs: Mutex::default(),
            pools: Table::default(),
            clock,
            news: Notify::new(),
            moved: Notify::new(),
        }
    }

    /// Takes over what outlived a restart.
    pub(crate) fn restore(&self, lasting: Lasting) {
        self.state.lock().memory.restore(lasting);
    }

    /// Puts down what shall outlive a restart: soon after the last known good of a combo has changed, every hour for the
    /// counts, and once more at the end.
    pub(crate) async fn remember(gateway: Gateway) {
        loop {
            let next = gateway.now() + COUNTS;
            let ends = tokio::select! {
                biased;
                () = gateway.cancel().cancelled() => true,
                () = gateway.routing().news.notified() => {
                    let soon = gateway.now() + SOON;
                    tokio::select! {
                        () = gateway.cancel().cancelled() => true,
                        () = gateway.clock().sleep_until(soon) => false,
                    }
                }
                () = gateway.clock().sleep_until(next) => false,
            };
            let lasting = gateway.routing().state.lock().memory.lasting();
            let document = BTreeMap::from([(MEMORY.to_owned(), serde_json::json!(lasting))]);
            if let Err(error) = gateway.store().save_routing_memory(&document, gateway.now()).await {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "what routing remembers could not be put down"
                );
            }
            if ends {
                return;
            }
        }
    }

    /// Reads what was put down; what cannot be read is as if it had never been.
    pub(crate) fn read_lasting(mut documents: BTreeMap<String, serde_json::Value>) -> Lasting {
        documents.remove(MEMORY).and_then(|document| serde_json::from_value(document).ok()).unwrap_or_default()
    }

    /// Plans one request; its turn is taken. Of a quota-share combo, the account chosen first counts the request as under
    /// way until the lease is given back.
    pub(crate) fn plan(
        &self,
        route: &Route<'_>,
        expansion: Expansion,
        view: &View<'_>,
    ) -> Result<(Plan, Option<Lease>), Refusal> {
        let State { memory, rng, .. } = &mut *self.state.lock();
        let plan = routing::plan(route, expansion, view, memory, rng)?;
        let shares = matches!(route, Route::Combo { strategy: Strategy::QuotaShare, .. });
        let first = plan.first().filter(|_| shares);
        let lease = first.map(|first| memory.shares.leases.acquire(quota_share::slot(first), view.now));
        Ok((plan, lease))
    }

    /// Who shares what; see [`Gateway::quota_pools`].
    pub(crate) fn pools(&self) -> &Table<Pools> {
        &self.pools
    }

    /// What keys and accounts share, for one look or one change.
    pub(crate) fn shares<T>(&self, act: impl FnOnce(&mut quota_share::Memory) -> T) -> T {
        act(&mut self.state.lock().memory.shares)
    }

    /// The order of a provider's accounts; whether a turn is taken.
    pub(crate) fn order_accounts(&self, accounts: &[Target], preferences: &Preferences<'_>, takes: bool) -> Vec<usize> {
        let now = self.clock.now();
        let state = &mut *self.state.lock();
        if takes {
            return account::order(accounts, preferences, now, &mut state.memory.accounts, &mut state.rng);
        }
        account::order(accounts, preferences, now, &mut state.memory.accounts.clone(), &mut state.rng.clone())
    }

    /// An account is asked.
    pub(crate) fn account_asked(&self, connection: &ConnectionId) {
        let now = self.clock.now();
        self.state.lock().memory.accounts.counts.add(connection.as_str(), now);
    }

    /// Looks at which account each session is with.
    pub(crate) fn bound<T>(&self, look: impl FnOnce(&Affinity) -> T) -> T {
        look(&self.state.lock().affinity)
    }

    /// The same for who may change it.
    pub(crate) fn bind<T>(&self, change: impl FnOnce(&mut Affinity) -> T) -> T {
        let mut state = self.state.lock();
        let answer = change(&mut state.affinity);
        let changed = state.affinity.has_changes();
        drop(state);
        if changed {
            self.moved.notify_one();
        }
        answer
    }

    /// Returns when a session went to another account since it last did.
    pub(crate) async fn pins_changed(&self) {
        self.moved.notified().await;
    }

    /// What of sessions is to be put down.
    pub(crate) fn take_pins(&self) -> BTreeMap<String, Option<Pin>> {
        self.state.lock().affinity.take_changes()
    }

    /// It was not: it is told again when somebody asks next. Nobody is called for it, so that a store that fails is not
    /// asked without end.
    pub(crate) fn put_pins_back(&self, changes: BTreeMap<String, Option<Pin>>) {
        self.state.lock().affinity.put_back(changes);
    }

    /// A copy of what strategies remember, for whoever plans without sending anything.
    pub(crate) fn memory(&self) -> Memory {
        self.state.lock().memory.clone()
    }

    /// What the plan of a request would be: nobody's turn is taken. The memory it was made with goes along, for the figures,
    /// and what accounts would be chosen by.
    pub(crate) fn preview(
        &self,
        route: &Route<'_>,
        expansion: Expansion,
        view: &View<'_>,
    ) -> (Result<Plan, Refusal>, Memory, Foresight) {
        let (mut memory, mut rng) = {
            let state = self.state.lock();
            (state.memory.clone(), state.rng.clone())
        };
        let planned = routing::plan(route, expansion, view, &mut memory, &mut rng);
        let foresight = Foresight::new(memory.accounts.clone(), rng);
        (planned, memory, foresight)
    }

    /// The numbers of a combo; `work_out` is asked when combo or settings are others than last time.
    pub(crate) fn config(
        &self,
        combo: &Arc<Combo>,
        settings: &Arc<Settings>,
        work_out: impl FnOnce() -> Config,
    ) -> Arc<Config> {
        let mut configs = self.configs.lock();
        if let Some(known) = configs.get(&combo.id)
            && Arc::ptr_eq(&known.combo, combo)
            && Arc::ptr_eq(&known.settings, settings)
        {
            return Arc::clone(&known.config);
        }
        let config = Arc::new(work_out());
        let known = Known { combo: Arc::clone(combo), settings: Arc::clone(settings), config: Arc::clone(&config) };
        configs.insert(combo.id.clone(), known);
        config
    }

    /// Forgets the numbers of combos that are gone.
    pub(crate) fn forget_configs(&self, exists: impl Fn(&str) -> bool) {
        self.configs.lock().retain(|id, _| exists(id));
    }

    /// Summaries that wait for a change of account.
    pub(crate) fn handoffs(&self) -> &Mutex<Handoffs> {
        &self.handoffs
    }

    /// Brings a list into an order that says nothing.
    pub(crate) fn shuffle<T>(&self, list: &mut [T]) {
        list.shuffle(&mut self.state.lock().rng);
    }

    /// A request goes out to a target of a combo.
    pub(crate) fn dispatched(&self, dispatch: &Dispatch<'_>) {
        let now = self.clock.now();
        self.state.lock().memory.dispatched(dispatch, now);
    }

    /// It was answered well.
    pub(crate) fn served(&self, dispatch: &Dispatch<'_>, facts: &RequestFacts) {
        let now = self.clock.now();
        if self.state.lock().memory.served(dispatch, facts, now) {
            self.news.notify_one();
        }
    }

    /// It failed by the upstream's doing.
    pub(crate) fn failed(&self, dispatch: &Dispatch<'_>) {
        let now = self.clock.now();
        if self.state.lock().memory.failed(dispatch, now) {
            self.news.notify_one();
        }
    }
}
