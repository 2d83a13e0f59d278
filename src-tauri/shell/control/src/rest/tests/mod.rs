//! The REST API as a client sees it: a temporary store, a scripted transport, no sockets.

mod observing;
mod records;
mod resilience;
mod rules;
mod simulating;
mod sparing;

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::resilience::Row;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use bytes::Bytes;
use domain::connection::{AuthType, Connection, ProviderSpecific};
use domain::{Clock, ConnectionId, Millis, ProviderId, Timestamp};
use futures_util::future::BoxFuture;
use futures_util::stream;
use gateway::edge::Peer;
use gateway::{Gateway, Parts};
use parking_lot::Mutex;
use serde_json::Value;
use store::{Options, SecretStoreChoice, Store};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;
use upstream::{Payload, Route, Transport, TransportError};

use crate::{Control, ListenerMove, TokenKeeper};

const TOKEN: &str = "omt_test";
const START: u64 = 1_767_225_600_000;

/// A management API with everything it stands on.
struct World {
    control: Control,
    router: Router,
    clock: Arc<TestClock>,
    transport: Arc<Scripted>,
    moves: tokio::sync::Mutex<mpsc::Receiver<ListenerMove>>,
    dir: tempfile::TempDir,
}

struct Reply {
    status: StatusCode,
    body: Value,
    text: String,
}

impl World {
    async fn new() -> World {
        World::with(&[], Vec::new()).await
    }

    /// With connections of the provider `openai`, and with what an earlier run of the gateway left behind about them.
    async fn with(connections: &[&str], rows: Vec<Row>) -> World {
        let dir = tempfile::tempdir().expect("a folder");
        let clock = Arc::new(TestClock::default());
        let tracker = TaskTracker::new();
        let cancel = CancellationToken::new();
        let options = Options { secret_store: SecretStoreChoice::File };
        let as_clock = || Arc::clone(&clock) as Arc<dyn Clock>;
        let store = Store::open(dir.path(), options, as_clock(), &tracker, cancel.clone()).await.expect("a store");
        for name in connections {
            store.insert_connection(&stored(name), Some(format!("sk-secret-of-{name}").into())).await.expect("stored");
        }
        store.record_rows(rows);
        let transport = Arc::new(Scripted::default());
        let (settings, _) = settings::Layered::new(&BTreeMap::new(), None, BTreeMap::new());
        let gateway = Gateway::new(Parts {
            clock: as_clock(),
            store,
            settings,
            catalog: catalog::Catalog::builtin().expect("the catalogue"),
            transport: Arc::clone(&transport) as Arc<dyn Transport>,
            tracker,
            cancel,
            version: "0.0.0",
            data_dir: dir.path().to_owned(),
        })
        .await
        .expect("a gateway");
        gateway.set_address(([127, 0, 0, 1], 20_128).into());
        let (mover, moves) = mpsc::channel(1);
        let token = TokenKeeper::open(dir.path(), Some(TOKEN)).expect("a token");
        let control = Control::new(gateway, token, mover);
        let router = super::router(control.clone());
        World { control, router, clock, transport, moves: tokio::sync::Mutex::new(moves), dir }
    }

    /// A request of the token's owner.
    async fn call(&self, method: &str, path: &str, body: Option<Value>) -> Reply {
        let mut request =
            Request::builder().method(method).uri(path).header("authorization", format!("Bearer {TOKEN}"));
        let body = match body {
            Some(body) => {
                request = request.header("content-type", "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        self.send(request.body(body).expect("a request")).await
    }

    async fn get(&self, path: &str) -> Reply {
        self.call("GET", path, None).await
    }

    /// The same, expecting success.
    async fn ok(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        let reply = self.call(method, path, body).await;
        assert!(reply.status.is_success(), "{method} {path}: {} {}", reply.status, reply.text);
        reply.body
    }

    /// Sends a request as a peer on this computer.
    async fn send(&self, request: Request<Body>) -> Reply {
        self.send_from(([127, 0, 0, 1], 50_000).into(), request).await
    }

    async fn send_from(&self, peer: SocketAddr, mut request: Request<Body>) -> Reply {
        request.extensions_mut().insert(Peer(peer));
        let response = self.router.clone().oneshot(request).await.expect("an answer");
        let status = response.status();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.expect("a body");
        let text = String::from_utf8(bytes.to_vec()).expect("text");
        Reply { status, body: serde_json::from_str(&text).unwrap_or(Value::Null), text }
    }

    /// Adds a connection of the provider `openai`.
    async fn add_connection(&self, name: &str) -> String {
        let body = serde_json::json!({"provider": "openai", "name": name, "apiKey": format!("sk-secret-of-{name}")});
        let reply = self.ok("POST", "/api/providers", Some(body)).await;
        reply["connection"]["id"].as_str().expect("an id").to_owned()
    }
}

impl Reply {
    /// `error.code` and the first `error.details[].field`.
    fn refusal(&self) -> (u16, &str, &str) {
        let error = &self.body["error"];
        let field = error["details"][0]["field"].as_str().unwrap_or_default();
        (self.status.as_u16(), error["code"].as_str().unwrap_or_default(), field)
    }
}

/// A connection of the provider `openai` whose id is its name.
fn stored(name: &str) -> Connection {
    Connection {
        id: ConnectionId::from(name),
        provider: ProviderId::from("openai"),
        name: name.to_owned(),
        auth_type: AuthType::Apikey,
        priority: 1,
        is_active: true,
        default_model: None,
        credential_tail: None,
        max_concurrent: None,
        rate_limit_protection: false,
        rate_limit_overrides: domain::RateLimitOverrides::default(),
        quota_window_thresholds: BTreeMap::new(),
        excluded_models: Vec::new(),
        proxy_url: None,
        tags: Vec::new(),
        specific: ProviderSpecific::default(),
        extra: serde_json::Map::new(),
        created_at: Timestamp::from_millis(START),
        updated_at: Timestamp::from_millis(START),
    }
}

/// Time that moves by hand. Nobody is woken: these tests ask, they do not wait.
struct TestClock(AtomicU64);

impl Default for TestClock {
    fn default() -> Self {
        TestClock(AtomicU64::new(START))
    }
}

impl TestClock {
    fn advance(&self, length: Millis) {
        self.0.fetch_add(length.as_millis(), Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }

    fn sleep_until(&self, _at: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::pending())
    }
}

/// Answers in the order in which they were put in, 503 when none is left; 401 to whoever brings no credential.
/// Remembers what was asked.
#[derive(Default)]
struct Scripted {
    answers: Mutex<VecDeque<(u16, &'static str)>>,
    asked: Mutex<Vec<(String, String)>>,
}

impl Scripted {
    fn answer(&self, status: u16, body: &'static str) {
        self.answers.lock().push_back((status, body));
    }

    /// Method and URL of every request, and the credential it carried.
    fn asked(&self) -> Vec<(String, String)> {
        self.asked.lock().clone()
    }
}

impl Transport for Scripted {
    fn send(
        &self,
        request: Request<Payload>,
        _route: &Route,
    ) -> BoxFuture<'_, Result<http::Response<upstream::Body>, TransportError>> {
        let credential = request.headers().get("authorization").and_then(|value| value.to_str().ok());
        let credential = credential.unwrap_or_default().to_owned();
        let keyed = !credential.is_empty();
        self.asked.lock().push((format!("{} {}", request.method(), request.uri()), credential));
        let next = || self.answers.lock().pop_front().unwrap_or((503, "{}"));
        let (status, body) = if keyed { next() } else { (401, "{}") };
        let body: upstream::Body = Box::pin(stream::iter([Ok(Bytes::from_static(body.as_bytes()))]));
        let response = http::Response::builder().status(status).header("content-type", "application/json").body(body);
        Box::pin(std::future::ready(Ok(response.expect("a response"))))
    }
}
