//! A data folder of its own for each test, a clock that only a test moves, and sample records.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use domain::connection::{AuthType, Connection, ProviderSpecific};
use domain::request_log::{AttemptRecord, RequestOutcome, RequestRecord, Trace};
use domain::{ClientKeyId, Clock, ConnectionId, Dialect, Millis, ProviderId, RequestId, Timestamp, Usage, wire};
use parking_lot::Mutex;
use secrecy::SecretString;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Executor};
use store::{Error, Options, SecretStoreChoice, Store};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// An instant of the tests: 2026-11-29, 10:00 UTC.
pub const START: u64 = 1_795_946_400_000;

pub fn at(millis_after_start: u64) -> Timestamp {
    Timestamp::from_millis(START + millis_after_start)
}

pub struct World {
    /// Holds the data folder.
    pub root: PathBuf,
    pub clock: Arc<ManualClock>,
    _temporary: TempDir,
}

/// An opened store and what a server would hold beside it.
pub struct Running {
    pub store: Store,
    pub tracker: TaskTracker,
    pub cancel: CancellationToken,
}

impl World {
    pub fn new() -> World {
        let temporary = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new(at(0)));
        World { root: temporary.path().to_owned(), clock, _temporary: temporary }
    }

    pub async fn open(&self) -> Running {
        self.try_open().await.unwrap()
    }

    pub async fn try_open(&self) -> Result<Running, Error> {
        let (tracker, cancel) = (TaskTracker::new(), CancellationToken::new());
        let options = Options { secret_store: SecretStoreChoice::File };
        let clock: Arc<dyn Clock> = self.clock.clone();
        let store = Store::open(&self.data(), options, clock, &tracker, cancel.clone()).await?;
        Ok(Running { store, tracker, cancel })
    }

    /// The data folder, which the store has to make itself.
    pub fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.data().join(name)
    }

    /// A connection to the database past the store.
    pub async fn raw(&self) -> SqliteConnection {
        SqliteConnectOptions::new().filename(self.file(wire::file::DATABASE)).connect().await.unwrap()
    }

    pub async fn execute(&self, sql: &'static str) {
        self.raw().await.execute(sql).await.unwrap();
    }

    pub async fn count(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&mut self.raw().await).await.unwrap()
    }
}

impl Running {
    /// Ends as a server does.
    pub async fn stop(self) {
        self.cancel.cancel();
        self.tracker.close();
        self.tracker.wait().await;
        self.store.close().await.unwrap();
    }
}

/// Lets the writer work until `condition` holds. Every round waits for a real answer of the runtime, never for time.
pub async fn until(mut condition: impl FnMut() -> bool) {
    for _ in 0..200_000 {
        if condition() {
            return;
        }
        tokio::task::spawn_blocking(|| ()).await.unwrap();
    }
    panic!("it never came about");
}

pub struct ManualClock {
    state: Mutex<ClockState>,
}

struct ClockState {
    now: Timestamp,
    sleepers: Vec<(Timestamp, oneshot::Sender<()>)>,
}

impl ManualClock {
    pub fn new(now: Timestamp) -> ManualClock {
        ManualClock { state: Mutex::new(ClockState { now, sleepers: Vec::new() }) }
    }

    pub fn advance(&self, length: Millis) {
        let mut state = self.state.lock();
        state.now = state.now + length;
        let now = state.now;
        let due = state.sleepers.extract_if(.., |(until, _)| *until <= now);
        for (_, sleeper) in due {
            // Whoever slept may have been dropped.
            let _ = sleeper.send(());
        }
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.state.lock().now
    }

    fn sleep_until(&self, until: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let (wake, woken) = oneshot::channel();
        let mut state = self.state.lock();
        if until <= state.now {
            return Box::pin(std::future::ready(()));
        }
        state.sleepers.push((until, wake));
        Box::pin(async move { drop(woken.await) })
    }
}

pub fn connection(provider: &str, name: &str) -> Connection {
    Connection {
        id: ConnectionId::from(format!("{provider}-{name}")),
        provider: ProviderId::from(provider),
        name: name.to_owned(),
        auth_type: AuthType::Apikey,
        priority: 1,
        is_active: true,
        default_model: None,
        credential_tail: None,
        max_concurrent: None,
        rate_limit_protection: false,
        rate_limit_overrides: domain::RateLimitOverrides::default(),
        quota_window_thresholds: std::collections::BTreeMap::new(),
        excluded_models: Vec::new(),
        proxy_url: None,
        tags: Vec::new(),
        specific: ProviderSpecific::default(),
        extra: serde_json::Map::new(),
        created_at: at(0),
        updated_at: at(0),
    }
}

/// A successful request that arrived `n` milliseconds after the start.
pub fn request(n: u64) -> RequestRecord {
    RequestRecord {
        id: RequestId::from(format!("request-{n:05}")),
        at: at(n),
        method: "POST".to_owned(),
        path: "/v1/messages".to_owned(),
        source: Dialect::Messages,
        target: Some(Dialect::Messages),
        status: 200,
        outcome: RequestOutcome::Success,
        stream: true,
        requested_model: "claude-x".to_owned(),
        provider: Some(ProviderId::from("anthropic")),
        model: Some("claude-x-1".to_owned()),
        connection: Some(ConnectionId::from("anthropic-work")),
        connection_name: Some("work".to_owned()),
        key: Some(ClientKeyId::from("key-1")),
        key_name: Some("Local agents".to_owned()),
        agent: Some("claude-cli".to_owned()),
        duration: Millis::new(1_500),
        time_to_first_token: Some(Millis::new(300)),
        usage: Usage {
            input_fresh: Some(100),
            cache_read: Some(1_000),
            cache_write: None,
            output: Some(50),
            reasoning: Some(0),
            provider_cost: Some(0.25),
            estimated: false,
        },
        cost: Some(0.5),
        error_code: None,
        error_summary: None,
        session_tag: Some("session-1".to_owned()),
        combo_name: Some("team".to_owned()),
        strategy: Some("priority".to_owned()),
        trace: Trace {
            rule: Some(2),
            attempts: vec![AttemptRecord {
                n: 1,
                provider: ProviderId::from("anthropic"),
                model: "claude-x-1".to_owned(),
                connection: ConnectionId::from("anthropic-work"),
                connection_name: "work".to_owned(),
                started_at: at(n),
                queued: Millis::ZERO,
                execution_key: None,
                connect: Some(Millis::new(120)),
                first_token: Some(Millis::new(300)),
                duration: Millis::new(1_500),
                status: Some(200),
                kind: "success".to_owned(),
                decision: "answer".to_owned(),
                message: None,
                usage: None,
                cost: None,
            }],
            exclusions: Vec::new(),
            warnings: Vec::new(),
        },
    }
}

/// Single things out of what the gateway loads as a whole.
pub trait Look {
    async fn list_connections(&self) -> Result<Vec<Connection>, Error>;
    async fn get_connection(&self, id: &ConnectionId) -> Result<Option<Connection>, Error>;
    async fn connection_credential(&self, id: &ConnectionId) -> Result<Option<SecretString>, Error>;
}

impl Look for Store {
    async fn list_connections(&self) -> Result<Vec<Connection>, Error> {
        Ok(self.load_connections().await?.into_iter().map(|stored| stored.connection).collect())
    }

    async fn get_connection(&self, id: &ConnectionId) -> Result<Option<Connection>, Error> {
        Ok(self.list_connections().await?.into_iter().find(|connection| connection.id == *id))
    }

    async fn connection_credential(&self, id: &ConnectionId) -> Result<Option<SecretString>, Error> {
        let stored = self.load_connections().await?.into_iter().find(|stored| stored.connection.id == *id);
        Ok(stored.map(|stored| stored.credential).transpose()?.flatten())
    }
}
