//! From a configuration to a running gateway, and back to nothing.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use catalog::Catalog;
use control::app::url_of;
use control::{Control, TokenKeeper};
use domain::{Clock, Millis, Timestamp, wire};
use gateway::{FrontDoor, Gateway, Parts};
use settings::{Layered, Settings};
use store::{SecretStoreChoice, Store};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use upstream::{HttpTransport, OwnAddresses};

use crate::error::{ShutdownError, StartError};
use crate::gateway_file::{self, GatewayFile};
use crate::listener::{self, Door, Server};
use crate::place::{BindError, Bound, Place};
use crate::workers::Workers;
use crate::{config_file, housekeeping};

/// The program's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a gateway is started with.
#[derive(Clone, Debug, Default)]
pub struct Config {
    pub data_dir: PathBuf,
    /// Beats the stored port for this run; 0 takes any free one.
    pub port: Option<u16>,
    /// Beats the stored address for this run.
    pub bind_address: Option<String>,
    /// `{"settings": …, "resilience": …}` with the rank of environment variables.
    pub config_file: Option<PathBuf>,
    /// Environment variables, read by the caller.
    pub environment: BTreeMap<String, String>,
    /// Threads of their own that serve connections ([`crate::suitable_workers`]); with 0, the caller's runtime does.
    pub workers: usize,
}

/// A running gateway. Dropping it stops it without waiting; [`Running::shutdown`] stops it properly.
pub struct Running {
    parts: Assembled,
    tasks: Tasks,
}

/// Everything that acts on its own, and the signals that end it.
struct Tasks {
    tracker: TaskTracker,
    /// The store's writer ends last.
    writer: TaskTracker,
    stopping: CancellationToken,
    cut: CancellationToken,
    store_ends: CancellationToken,
}

/// Starts a gateway and returns once it listens. When that fails, nothing of it is left: the data folder is free again.
pub async fn run(config: Config, clock: Arc<dyn Clock>) -> Result<Running, StartError> {
    let tasks = Tasks::new();
    let store = open_store(&config, &clock, &tasks).await?;
    match assemble(config, clock, &tasks, store.clone()).await {
        Ok(parts) => Ok(Running { parts, tasks }),
        Err(error) => {
            tasks.abandon(store).await;
            Err(error)
        }
    }
}

/// What [`assemble`] makes; [`Running`] without the means to end it.
struct Assembled {
    control: Control,
    data_dir: PathBuf,
    addresses: OwnAddresses,
    listener: JoinHandle<Door>,
}

async fn assemble(config: Config, clock: Arc<dyn Clock>, tasks: &Tasks, store: Store) -> Result<Assembled, StartError> {
    let settings = load_settings(&config, &store, clock.now()).await?;
    let workers = Arc::new(Workers::start(config.workers).map_err(StartError::Threads)?);
    let place = place(&config, settings.effective());
    let bound = place.bind().map_err(|error| not_bound(&place, error))?;
    let token = open_token(&config)?;
    let max_connections = settings.effective().gateway.max_connections;
    let addresses = OwnAddresses::default();
    let transport = Arc::new(HttpTransport::new(upstream::Options {
        connect_timeout: settings.effective().network.connect_timeout,
        own_addresses: Arc::clone(&addresses),
    }));
    let gateway = Gateway::new(Parts {
        clock: Arc::clone(&clock),
        catalog: Catalog::builtin().map_err(StartError::Catalog)?,
        transport: Arc::clone(&transport) as Arc<dyn upstream::Transport>,
        tracker: tasks.tracker.clone(),
        cancel: tasks.stopping.clone(),
        version: VERSION,
        data_dir: config.data_dir.clone(),
        settings,
        store,
    })
    .await
    .map_err(StartError::Gateway)?;
    tasks.tracker.spawn(housekeeping::retain(gateway.clone()));
    tasks.tracker.spawn(housekeeping::follow_settings(gateway.clone(), transport));
    let data_dir = config.data_dir;
    let (control, listener) = open_door(gateway, tasks, token, (place, bound), max_connections, workers, &addresses);
    Ok(Assembled { control, data_dir, addresses, listener })
}

/// Serves agents and management on the sockets that are bound.
fn open_door(
    gateway: Gateway,
    tasks: &Tasks,
    token: TokenKeeper,
    (place, bound): (Place, Bound),
    max_connections: u32,
    workers: Arc<Workers>,
    addresses: &OwnAddresses,
) -> (Control, JoinHandle<Door>) {
    let (mover, moves) = mpsc::channel(1);
    let control = Control::new(gateway.clone(), token, mover);
    tasks.tracker.spawn(control::quota_watch::keep(control.clone()));
    let server = Server {
        front_door: FrontDoor::new(gateway.clone(), control::rest::router(control.clone())),
        clock: Arc::clone(gateway.clock()),
        tracker: tasks.tracker.clone(),
        cut: tasks.cut.clone(),
        workers,
        connections: Arc::new(Semaphore::new(usize::try_from(max_connections).unwrap_or(Semaphore::MAX_PERMITS))),
    };
    let announce = announcer(gateway, Arc::clone(addresses));
    server.tracker.spawn(control::credential_health::keep(control.clone()));
    announce(&bound);
    let place = Place { port: bound.port, ..place };
    let door = server.open(bound.listeners);
    let listener = tasks.tracker.spawn(listener::keep(server, door, place, moves, tasks.stopping.clone(), announce));
    (control, listener)
}

impl Running {
    /// Where agents are pointed at: `http://127.0.0.1:20128`.
    pub fn url(&self) -> String {
        self.gateway().address().map(url_of).unwrap_or_default()
    }

    pub fn port(&self) -> u16 {
        self.gateway().address().map_or(0, |address| address.port())
    }

    /// Every address it listens on.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.parts.addresses.load().to_vec()
    }

    pub fn gateway(&self) -> &Gateway {
        self.parts.control.gateway()
    }

    /// What management operations work on.
    pub fn control(&self) -> &Control {
        &self.parts.control
    }

    pub fn data_dir(&self) -> &Path {
        &self.parts.data_dir
    }

    /// Stops accepting, lets requests finish up to `gateway.drainTimeoutMs`, writes what waits and closes the store.
    pub async fn shutdown(self) -> Result<(), ShutdownError> {
        let gateway = self.parts.control.gateway().clone();
        let limit = gateway.settings().gateway.drain_timeout;
        self.tasks.stopping.cancel();
        if let Ok(door) = self.parts.listener.await {
            door.close().await;
        }
        self.tasks.tracker.close();
        drain(&self.tasks, gateway.clock(), limit).await;
        let file = gateway_file::path(&self.parts.data_dir);
        let removed = GatewayFile::remove(&self.parts.data_dir);
        let closed = gateway.store().close().await;
        self.tasks.end_store().await;
        closed?;
        removed.map_err(|source| ShutdownError::GatewayFile { path: file, source })
    }
}

impl Tasks {
    fn new() -> Self {
        Tasks {
            tracker: TaskTracker::new(),
            writer: TaskTracker::new(),
            stopping: CancellationToken::new(),
            cut: CancellationToken::new(),
            store_ends: CancellationToken::new(),
        }
    }

    /// Ends what a failed start has begun.
    async fn abandon(&self, store: Store) {
        self.stopping.cancel();
        self.tracker.close();
        self.tracker.wait().await;
        if let Err(error) = store.close().await {
            tracing::debug!(%error, "the store did not close cleanly");
        }
        self.end_store().await;
    }

    async fn end_store(&self) {
        self.store_ends.cancel();
        self.writer.close();
        self.writer.wait().await;
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.stopping.cancel();
        self.cut.cancel();
        self.store_ends.cancel();
    }
}

/// Waits for the tasks to end; what has not ended after `limit` is cut off.
async fn drain(tasks: &Tasks, clock: &Arc<dyn Clock>, limit: Millis) {
    let patience = clock.sleep_until(clock.now() + limit);
    tokio::select! {
        () = tasks.tracker.wait() => return,
        () = patience => tracing::warn!(%limit, "requests were still under way and are cut off"),
    }
    tasks.cut.cancel();
    tasks.tracker.wait().await;
}

async fn open_store(config: &Config, clock: &Arc<dyn Clock>, tasks: &Tasks) -> Result<Store, StartError> {
    let secret_store = match config.environment.get(wire::env::SECRET_STORE).map(String::as_str) {
        Some("file") => SecretStoreChoice::File,
        Some(_) | None => SecretStoreChoice::Auto,
    };
    let options = store::Options { secret_store };
    Store::open(&config.data_dir, options, Arc::clone(clock), &tasks.writer, tasks.store_ends.clone())
        .await
        .map_err(|error| StartError::from_store(error, config.data_dir.clone()))
}

async fn load_settings(config: &Config, store: &Store, now: Timestamp) -> Result<Layered, StartError> {
    let file = config
        .config_file
        .as_deref()
        .map(|path| config_file::read(path).map_err(|source| StartError::ConfigFile { path: path.to_owned(), source }));
    let file = file.transpose()?;
    let stored = store.load_settings(now).await.map_err(StartError::Store)?;
    let (layered, warnings) = Layered::new(&config.environment, file.as_ref(), stored);
    for warning in warnings {
        tracing::warn!(setting = warning.field, reason = warning.message, "a configured value was not used as given");
    }
    Ok(layered)
}

fn open_token(config: &Config) -> Result<TokenKeeper, StartError> {
    let environment = config.environment.get(wire::env::MANAGEMENT_TOKEN).map(String::as_str);
    TokenKeeper::open(&config.data_dir, environment)
        .map_err(|error| StartError::FolderNotWritable { path: config.data_dir.clone(), source: Box::new(error) })
}

fn place(config: &Config, settings: &Settings) -> Place {
    let address = config.bind_address.as_deref().unwrap_or(&settings.gateway.bind_address);
    Place::new(address, config.port.unwrap_or(settings.gateway.port))
}

fn not_bound(place: &Place, error: BindError) -> StartError {
    let (address, port) = (place.address.to_string(), place.port);
    match error {
        BindError::Taken => StartError::PortTaken { address, port, next_free: place.next_free_port() },
        BindError::NotBindable(source) => StartError::NotBindable { address, port, source },
    }
}

/// Tells everyone where the gateway listens: itself, the transport that must not call it, and `gateway.json`.
fn announcer(gateway: Gateway, addresses: OwnAddresses) -> impl Fn(&Bound) + Send + Sync + 'static {
    move |bound| {
        let Some(first) = bound.addresses.first().copied() else { return };
        addresses.store(Arc::new(bound.addresses.clone()));
        gateway.set_address(first);
        let file = GatewayFile::new(url_of(first), bound.port, VERSION, gateway.started_at());
        if let Err(error) = file.write(gateway.data_dir()) {
            tracing::error!(%error, "gateway.json could not be written: the command line will not find this gateway");
        }
        tracing::info!(url = url_of(first), "listening");
    }
}
