//! The server: its life, and what a test may ask of it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use domain::Dialect;
use parking_lot::{Mutex, RwLock};
use rustls::ServerConfig;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::runtime::{self, Runtime};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connection;
use crate::journal::{Call, Count, Journal, Recording};
use crate::listing::ModelCard;
use crate::script::{Script, Scripts};
use crate::step::Step;
use crate::tls::{Tls, TlsError};

/// The longest that anything a test waits for may take on the wall clock: a test that needs longer is wrong.
pub const PATIENCE: Duration = Duration::from_secs(30);
const BACKLOG: i32 = 4096;

/// A scripted provider on a loopback port. Dropping it stops it.
#[derive(Debug)]
pub struct FakeUpstream {
    address: SocketAddr,
    /// Who vouches for it, in PEM.
    authority: Option<String>,
    shared: Arc<Shared>,
    tracker: TaskTracker,
    /// `None` only once it was stopped.
    runtime: Option<Runtime>,
}

/// How a server is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// 0: a free one.
    pub port: u16,
    /// Threads that serve; at least 1.
    pub threads: usize,
    pub recording: Recording,
    /// `None`: plain HTTP/1.1.
    pub tls: Option<Tls>,
    /// Whether it listens on ::1 instead of 127.0.0.1.
    pub ipv6: bool,
}

/// Why the fake upstream could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot listen on port {port} of the loopback")]
    Listen { port: u16, source: io::Error },
    #[error("cannot speak TLS")]
    Tls(#[from] TlsError),
    #[error("cannot start the threads that serve")]
    Threads(#[source] io::Error),
    #[error("waited {} s for {wanted} {what}, saw {seen}", PATIENCE.as_secs())]
    Waited { what: &'static str, wanted: u64, seen: u64 },
}

/// What connections see of the server.
#[derive(Debug)]
pub(crate) struct Shared {
    pub scripts: Arc<Mutex<Scripts>>,
    pub settings: RwLock<Settings>,
    pub journal: Arc<Journal>,
    pub stopping: CancellationToken,
    /// Held by every connection while it is open.
    pub open: Arc<()>,
    pub tls: Option<Arc<ServerConfig>>,
}

#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub default_step: Arc<Step>,
    /// `None`: the models that scripts mention.
    pub models: Option<Vec<ModelCard>>,
    pub require_known_keys: bool,
    pub strict: bool,
}

impl FakeUpstream {
    /// Listens on a free loopback port, with one thread, recording calls.
    pub fn start() -> Result<FakeUpstream, Error> {
        FakeUpstream::start_with(Options::default())
    }

    pub fn start_with(options: Options) -> Result<FakeUpstream, Error> {
        let refused = |source| Error::Listen { port: options.port, source };
        let loopback = if options.ipv6 { IpAddr::V6(Ipv6Addr::LOCALHOST) } else { IpAddr::V4(Ipv4Addr::LOCALHOST) };
        let listener = listen(SocketAddr::new(loopback, options.port)).map_err(refused)?;
        let secured = options.tls.map(Tls::secure).transpose()?;
        let address = listener.local_addr().map_err(refused)?;
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(options.threads.max(1))
            .thread_name("fake-upstream")
            .enable_all()
            .build()
            .map_err(Error::Threads)?;
        let stopping = CancellationToken::new();
        let shared = Arc::new(Shared {
            scripts: Arc::default(),
            settings: RwLock::default(),
            journal: Arc::new(Journal::new(options.recording, stopping.clone())),
            stopping,
            open: Arc::default(),
            tls: secured.as_ref().map(|secured| secured.config.clone()),
        });
        let tracker = TaskTracker::new();
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener).map_err(refused)?
        };
        tracker.spawn_on(connection::accept(listener, shared.clone(), tracker.clone()), runtime.handle());
        let authority = secured.map(|secured| secured.authority);
        Ok(FakeUpstream { address, authority, shared, tracker, runtime: Some(runtime) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT`, without a trailing slash; `https` where it speaks TLS.
    pub fn url(&self) -> String {
        let scheme = if self.authority.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The certificate authority to trust, in PEM, where it speaks TLS.
    pub fn authority(&self) -> Option<&str> {
        self.authority.as_deref()
    }

    /// The base URL up to and with the version segment, as the catalogue writes it.
    pub fn base_url(&self, dialect: Dialect) -> String {
        let version = match dialect {
            Dialect::Chat | Dialect::Responses | Dialect::Messages => "v1",
            Dialect::Gemini => "v1beta",
        };
        format!("{}/{version}", self.url())
    }

    /// Starts the script of a key and a model anew; `None` matches any. The most particular script wins: key and
    /// model, key, model, neither.
    ///
    /// Lists of models and token counting take no steps from it, so that a probe does not disturb a sequence: script
    /// them under the models [`LIST_MODELS`](crate::LIST_MODELS) and [`COUNT_TOKENS`](crate::COUNT_TOKENS).
    pub fn script<'k, 'm>(&self, key: impl Into<Option<&'k str>>, model: impl Into<Option<&'m str>>) -> Script {
        Script::start(self.shared.scripts.clone(), key.into(), model.into())
    }

    /// The step for requests no script matches; at first an answer with the text "Hello from the fake upstream".
    pub fn set_default(&self, step: Step) {
        self.shared.settings.write().default_step = Arc::new(step);
    }

    /// The models of every list. Unset, lists hold the models that scripts of the key mention, or else `m1`.
    pub fn set_models(&self, models: impl IntoIterator<Item = ModelCard>) {
        self.shared.settings.write().models = Some(models.into_iter().collect());
    }

    /// Whether a key that no script concerns is answered 401.
    pub fn require_known_keys(&self, required: bool) {
        self.shared.settings.write().require_known_keys = required;
    }

    /// Whether requests are checked as a real provider would: required fields and headers, tool results that belong
    /// to calls, signatures that were really issued. A bad one is answered 400 and takes no step.
    pub fn strict(&self, strict: bool) {
        self.shared.settings.write().strict = strict;
    }

    /// How many connections are open.
    pub fn connections(&self) -> usize {
        Arc::strong_count(&self.shared.open) - 1
    }

    /// The calls of this key, `None` for all, oldest first; at most the last 10 000.
    pub fn calls<'k>(&self, key: impl Into<Option<&'k str>>) -> Vec<Call> {
        self.shared.journal.calls(key.into())
    }

    /// How many calls of this key, `None` for all, there were.
    pub fn count<'k>(&self, key: impl Into<Option<&'k str>>) -> Count {
        self.shared.journal.count(key.into())
    }

    /// The counters of every key seen, sorted by key.
    pub fn keys(&self) -> Vec<(String, Count)> {
        self.shared.journal.keys()
    }

    /// Every call that ends from now on, when calls are recorded; a receiver that falls 1 024 calls behind misses the
    /// oldest.
    pub fn endings(&self) -> broadcast::Receiver<Call> {
        self.shared.journal.endings()
    }

    /// Waits, at most [`PATIENCE`], until so many calls of this key have arrived, and returns those kept.
    pub async fn wait_for_calls<'k>(&self, key: impl Into<Option<&'k str>>, wanted: u64) -> Result<Vec<Call>, Error> {
        self.wait(key.into(), wanted, "calls", |count| count.arrived).await
    }

    /// Waits, at most [`PATIENCE`], until so many calls of this key have ended in any way, and returns those kept.
    pub async fn wait_for_endings<'k>(&self, key: impl Into<Option<&'k str>>, wanted: u64) -> Result<Vec<Call>, Error> {
        self.wait(key.into(), wanted, "endings", Count::ended).await
    }

    /// Forgets scripts, calls, counters and settings. Connections stay open.
    pub fn reset(&self) {
        *self.shared.scripts.lock() = Scripts::default();
        *self.shared.settings.write() = Settings::default();
        self.shared.journal.clear();
    }

    /// Stops listening and drops every connection; calls still open end as stopped.
    pub async fn stop(mut self) {
        self.shared.stopping.cancel();
        self.tracker.close();
        let Some(runtime) = self.runtime.take() else { return };
        let tracker = self.tracker.clone();
        let waited = runtime.spawn(async move { tokio::time::timeout(PATIENCE, tracker.wait()).await });
        // Either way the runtime goes next, and with it whatever did not let go in time.
        drop(waited.await);
        runtime.shutdown_background();
    }

    /// The wait runs on the server's own clock, so that a caller whose clock is paused does not skip it.
    async fn wait(
        &self,
        key: Option<&str>,
        wanted: u64,
        what: &'static str,
        figure: fn(&Count) -> u64,
    ) -> Result<Vec<Call>, Error> {
        let late = || Error::Waited { what, wanted, seen: figure(&self.count(key)) };
        let Some(runtime) = &self.runtime else { return Err(late()) };
        let (journal, owned) = (self.shared.journal.clone(), key.map(str::to_owned));
        let waiting = async move { journal.wait(owned.as_deref(), |count| figure(count) >= wanted).await };
        let waited = runtime.spawn(async move { tokio::time::timeout(PATIENCE, waiting).await }).await;
        match waited {
            Ok(Ok(())) => Ok(self.calls(key)),
            Ok(Err(_)) | Err(_) => Err(late()),
        }
    }
}

impl Drop for FakeUpstream {
    fn drop(&mut self) {
        self.shared.stopping.cancel();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Options {
    /// For load runs: counters only, this many threads.
    pub fn load(threads: usize) -> Options {
        Options { threads, recording: Recording::Counters, ..Options::default() }
    }

    /// As many threads as the machine has processors.
    pub fn all_processors() -> usize {
        thread::available_parallelism().map_or(1, usize::from)
    }
}

impl Default for Options {
    fn default() -> Options {
        Options { port: 0, threads: 1, recording: Recording::Calls, tls: None, ipv6: false }
    }
}

/// A deep backlog, so that thousands of callers may connect at once.
fn listen(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(cfg!(unix))?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}
