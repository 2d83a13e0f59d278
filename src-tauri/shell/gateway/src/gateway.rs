//! The handle that everything around the pipeline holds: snapshots, the Engine, the store, announcements.

mod keys;
mod tables;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use catalog::{Catalog, Provider};
use dialects::models::ListedModel;
use domain::model_alias::ModelAlias;
use domain::{Clock, ProviderId, Timestamp};
use parking_lot::Mutex;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;
use resilience::ResetScope;
use routing::NameTable;
use settings::network::ProxyMode;
use settings::{FieldError, Layered, Settings};
use store::Store;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use upstream::{Proxy, Route, Target, Transport};

use crate::address_book::{Connections, Discovered, Entry, Keys};
use crate::auto_disable;
use crate::combos::Combos;
use crate::egress::Egress;
use crate::engine_handle::EngineHandle;
use crate::events::{Changed, Events, Topic};
use crate::judge::OperatorRules;
use crate::key_spending::KeySpending;
use crate::learned_limits;
use crate::live::{Counters, Live};
use crate::memo::Memo;
use crate::pins;
use crate::routing_handle::RoutingHandle;
use crate::table::{Current, Table};
use crate::telemetry::Telemetries;
use crate::throttle::Throttle;
use crate::underway::Rows;

/// What a gateway is made of.
pub struct Parts {
    pub clock: Arc<dyn Clock>,
    pub store: Store,
    pub settings: Layered,
    /// The providers that are compiled in.
    pub catalog: Catalog,
    pub transport: Arc<dyn Transport>,
    pub tracker: TaskTracker,
    pub cancel: CancellationToken,
    pub version: &'static str,
    pub data_dir: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the store failed")]
    Store(#[from] store::Error),
    #[error("this computer gives no random numbers")]
    Randomness(#[source] getrandom::Error),
    #[error("{} settings are not valid", .0.len())]
    Settings(Vec<FieldError>),
}

/// A running gateway. Cheap to clone.
#[derive(Clone)]
pub struct Gateway(Arc<Inner>);

struct Inner {
    clock: Arc<dyn Clock>,
    store: Store,
    transport: Arc<dyn Transport>,
    tracker: TaskTracker,
    cancel: CancellationToken,
    version: &'static str,
    data_dir: PathBuf,
    started_at: Timestamp,
    address: ArcSwapOption<SocketAddr>,
    layered: Mutex<Layered>,
    settings: Arc<ArcSwap<Settings>>,
    builtin: Catalog,
    catalog: Table<Catalog>,
    connections: Table<Connections>,
    keys: Table<Keys>,
    aliases: Table<Vec<ModelAlias>>,
    combos: Table<Combos>,
    discovered: ArcSwap<Discovered>,
    discovered_at: Mutex<BTreeMap<ProviderId, Timestamp>>,
    names: ArcSwap<NameTable>,
    /// One building of the names at a time, so that the last one knows of everything.
    names_building: Mutex<()>,
    operator_rules: ArcSwap<OperatorRules>,
    /// One settings change at a time, so that what is stored and what is in force never part.
    settings_change: tokio::sync::Mutex<()>,
    settings_changed: watch::Sender<()>,
    engine: EngineHandle,
    events: Arc<Events>,
    counters: Arc<Counters>,
    underway: Arc<Rows>,
    throttle: Mutex<Throttle>,
    egress: Egress,
    memo: Mutex<Memo>,
    telemetry: Mutex<Telemetries>,
    routing: RoutingHandle,
    spending: KeySpending,
}

impl Gateway {
    /// Loads every table from the store. Nothing listens yet: see [`crate::router`].
    pub async fn new(parts: Parts) -> Result<Gateway, Error> {
        let settings = Arc::new(ArcSwap::from_pointee(parts.settings.effective().clone()));
        let events = Arc::new(Events::new());
        let operator_rules = OperatorRules::of(parts.settings.effective());
        let engine = EngineHandle::new(
            Arc::clone(&parts.clock),
            Arc::clone(&settings),
            Arc::clone(&events),
            parts.store.clone(),
        );
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(Error::Randomness)?;
        let routing = RoutingHandle::new(Arc::clone(&parts.clock), ChaCha12Rng::from_seed(seed));
        let gateway = Gateway(Arc::new(Inner {
            spending: KeySpending::new(Arc::clone(&parts.clock)),
            started_at: parts.clock.now(),
            clock: parts.clock,
            store: parts.store,
            transport: parts.transport,
            tracker: parts.tracker,
            cancel: parts.cancel,
            version: parts.version,
            data_dir: parts.data_dir,
            address: ArcSwapOption::empty(),
            layered: Mutex::new(parts.settings),
            settings,
            catalog: Table::new(parts.catalog.clone()),
            builtin: parts.catalog,
            connections: Table::default(),
            keys: Table::default(),
            aliases: Table::default(),
            combos: Table::default(),
            discovered: ArcSwap::default(),
            discovered_at: Mutex::default(),
            names: ArcSwap::default(),
            names_building: Mutex::default(),
            operator_rules: ArcSwap::from_pointee(operator_rules),
            settings_change: tokio::sync::Mutex::new(()),
            settings_changed: watch::Sender::new(()),
            engine,
            events,
            counters: Arc::default(),
            underway: Arc::default(),
            throttle: Mutex::default(),
            egress: Egress::default(),
            memo: Mutex::default(),
            telemetry: Mutex::default(),
            routing,
        }));
        gateway.load().await?;
        gateway.tracker().spawn(auto_disable::run(gateway.clone()));
        gateway.tracker().spawn(learned_limits::keep(gateway.clone()));
        gateway.tracker().spawn(gateway.engine().clone().keep_time(gateway.cancel().clone()));
        gateway.tracker().spawn(RoutingHandle::remember(gateway.clone()));
        gateway.tracker().spawn(pins::keep(gateway.clone()));
        Ok(gateway)
    }

    async fn load(&self) -> Result<(), Error> {
        self.load_nodes().await?;
        self.load_connections().await?;
        self.load_keys().await?;
        self.load_aliases().await?;
        self.load_combos().await?;
        self.load_quota_pools().await?;
        self.restore_pool_use().await;
        self.routing().restore(RoutingHandle::read_lasting(self.store().load_routing_memory().await?));
        let pins = pins::load(self.store()).await?;
        self.routing().bind(|affinity| affinity.restore(pins));
        self.rebuild_names();
        let telemetry = Telemetries::read(self.store(), self.now()).await?;
        *self.0.telemetry.lock() = telemetry;
        let learned = learned_limits::load(self.store()).await?;
        let kept = self.store().load_kept_of_calls(self.now()).await?;
        self.memo().lock().restore(kept);
        self.engine().restore(self.store().load_resilience().await?, learned);
        Ok(())
    }

    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.clock
    }

    /// What earlier answers leave for the next turn of their conversations.
    pub(crate) fn memo(&self) -> &Mutex<Memo> {
        &self.0.memo
    }

    /// What is known of the ways out.
    pub(crate) fn egress(&self) -> &Egress {
        &self.0.egress
    }

    /// What strategies remember.
    pub(crate) fn routing(&self) -> &RoutingHandle {
        &self.0.routing
    }

    /// How fast and how reliable targets were of late.
    pub(crate) fn telemetry(&self) -> &Mutex<Telemetries> {
        &self.0.telemetry
    }

    pub fn store(&self) -> &Store {
        &self.0.store
    }

    pub fn engine(&self) -> &EngineHandle {
        &self.0.engine
    }

    pub fn transport(&self) -> &Arc<dyn Transport> {
        &self.0.transport
    }

    /// Tasks that must end before the gateway does.
    pub fn tracker(&self) -> &TaskTracker {
        &self.0.tracker
    }

    /// Cancelled when the gateway is about to stop.
    pub fn cancel(&self) -> &CancellationToken {
        &self.0.cancel
    }

    pub fn version(&self) -> &'static str {
        self.0.version
    }

    pub fn data_dir(&self) -> &Path {
        &self.0.data_dir
    }

    pub fn started_at(&self) -> Timestamp {
        self.0.started_at
    }

    /// Where the gateway listens, once it does.
    pub fn address(&self) -> Option<SocketAddr> {
        self.0.address.load().as_deref().copied()
    }

    pub fn set_address(&self, address: SocketAddr) {
        self.0.address.store(Some(Arc::new(address)));
    }

    pub fn settings(&self) -> Current<Settings> {
        self.0.settings.load()
    }

    /// Reads the layers of the settings: tree, sources, fields.
    pub fn with_layered<T>(&self, read: impl FnOnce(&Layered) -> T) -> T {
        read(&self.0.layered.lock())
    }

    /// Changes settings: checked, stored, then in force. All or nothing.
    pub async fn update_settings(&self, tree: &serde_json::Value) -> Result<(), Error> {
        let _one_at_a_time = self.0.settings_change.lock().await;
        let mut candidate = self.0.layered.lock().clone();
        let changed = candidate.patch(tree).map_err(Error::Settings)?;
        let documents: BTreeMap<_, _> =
            changed.sections.into_iter().map(|(section, document)| (section, Some(document))).collect();
        self.store().change_settings(&documents, self.now()).await?;
        let effective = candidate.effective().clone();
        *self.0.layered.lock() = candidate;
        self.0.operator_rules.store(Arc::new(OperatorRules::of(&effective)));
        let before = self.0.settings.swap(Arc::new(effective));
        if self.settings().resilience.reads_kinds_otherwise(&before.resilience) {
            self.engine().reset(&ResetScope::Breakers);
        }
        self.engine().settings_changed();
        self.0.settings_changed.send_replace(());
        self.rebuild_names();
        self.announce(&[Topic::Settings]);
        Ok(())
    }

    /// Wakes whoever holds a copy of a setting, and nobody else: announcements come with every request.
    pub fn settings_changes(&self) -> watch::Receiver<()> {
        self.0.settings_changed.subscribe()
    }

    /// Built-in providers and custom nodes.
    pub fn catalog(&self) -> Current<Catalog> {
        self.0.catalog.get()
    }

    pub fn connections(&self) -> Current<Connections> {
        self.0.connections.get()
    }

    pub fn aliases(&self) -> Current<Vec<ModelAlias>> {
        self.0.aliases.get()
    }

    /// Combos and mappings as they are now.
    pub fn combos(&self) -> Current<Combos> {
        self.0.combos.get()
    }

    /// What names of models are resolved against.
    pub fn names(&self) -> Current<NameTable> {
        self.0.names.load()
    }

    pub(crate) fn operator_rules(&self) -> Current<OperatorRules> {
        self.0.operator_rules.load()
    }

    pub(crate) fn all_discovered(&self) -> Current<Discovered> {
        self.0.discovered.load()
    }

    /// Models that a provider listed when last asked.
    pub fn discovered(&self, provider: &ProviderId) -> Vec<ListedModel> {
        self.0.discovered.load().get(provider).cloned().unwrap_or_default()
    }

    /// When a provider was last asked for its models.
    pub fn discovered_at(&self, provider: &ProviderId) -> Option<Timestamp> {
        self.0.discovered_at.lock().get(provider).copied()
    }

    /// A provider answered with this list just now.
    pub fn set_discovered(&self, provider: &ProviderId, models: Vec<ListedModel>) {
        self.0.discovered_at.lock().insert(provider.clone(), self.now());
        self.0.discovered.rcu(|known| {
            let mut known = Discovered::clone(known);
            known.insert(provider.clone(), models.clone());
            known
        });
        self.rebuild_names();
        self.announce(&[Topic::Connections]);
    }

    /// What to call for an account; nothing when its provider is not known (any more).
    pub fn target(&self, entry: &Entry) -> Option<Target> {
        let provider = Arc::clone(self.catalog().get(&entry.connection.provider)?);
        Some(self.target_at(entry, &provider))
    }

    /// What to call for an account of `provider`.
    pub(crate) fn target_at(&self, entry: &Entry, provider: &Arc<Provider>) -> Target {
        let network = &self.settings().network;
        let allow_private = entry.connection.specific.allow_private_network
            || provider.allow_private_network
            || network.allow_private_provider_urls;
        let proxy = match (&entry.connection.proxy_url, network.proxy_mode, &network.proxy_url) {
            (Some(own), _, _) => Some(Proxy::from(own.as_str())),
            (None, ProxyMode::Custom, Some(shared)) => Some(Proxy::from(shared.expose())),
            (None, ProxyMode::System, _) => Some(Proxy::System),
            (None, ProxyMode::Custom, None) => Some(Proxy::Missing),
            (None, ProxyMode::None, _) => None,
        };
        Target {
            route: Route { proxy, allow_private, fresh: false },
            base_url: entry.connection.specific.base_url.clone(),
            connection: entry.connection.id.clone(),
            credential: entry.credential.clone(),
            provider: Arc::clone(provider),
        }
    }

    /// Tells everyone who looks.
    pub fn announce(&self, topics: &[Topic]) {
        self.0.events.announce(topics);
    }

    pub fn subscribe(&self) -> broadcast::Receiver<Changed> {
        self.0.events.subscribe()
    }

    pub fn live(&self) -> Live {
        let queued = u32::try_from(self.engine().waiting()).unwrap_or(u32::MAX);
        Live { queued, underway: self.0.underway.look(), ..self.0.counters.sample(self.now()) }
    }

    pub(crate) fn underway(&self) -> &Arc<Rows> {
        &self.0.underway
    }

    pub(crate) fn counters(&self) -> &Arc<Counters> {
        &self.0.counters
    }

    /// Wrong keys and tokens per peer.
    pub fn throttle(&self) -> &Mutex<Throttle> {
        &self.0.throttle
    }
}
