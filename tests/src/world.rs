//! A gateway, its data folder, its clock, and the providers behind it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::{Dialect, Millis, Timestamp};
use fake_upstream::{Call, FakeUpstream, Script};
use gateway::{EngineHandle, Gateway};
use http::Method;
use parking_lot::Mutex;
use serde_json::{Value, json};
use server::{Config, ManualClock, Running};
use tempfile::TempDir;

use crate::agent::{self, Agent, Reply, Seen, in_time, until};
use crate::log;

/// Makes every credential of a test process different, so that a scan of the log knows whose it is.
static CREDENTIALS: AtomicU64 = AtomicU64::new(0);

/// One world per test: nothing is shared.
pub struct World {
    pub upstream: FakeUpstream,
    pub clock: Arc<ManualClock>,
    /// Text of the local key that [`World::agent`] carries.
    pub key: String,
    folder: TempDir,
    http: reqwest::Client,
    running: Option<Running>,
    /// Where this world's part of the log begins: no secret of it was known before.
    pub(crate) log_begins: usize,
    environment: BTreeMap<String, String>,
    pub(crate) seen: Seen,
    /// Connections found in a terminal state when last looked at.
    pub(crate) terminal: Mutex<BTreeSet<String>>,
    /// Every local key made here.
    pub(crate) keys: Mutex<Vec<String>>,
    /// Every local key and credential: what nobody may be shown.
    pub(crate) secrets: Mutex<Vec<String>>,
    /// Names of headers that a node adds on purpose.
    pub(crate) extra_headers: Mutex<BTreeSet<String>>,
}

/// An account in the world.
#[derive(Clone, Debug)]
pub struct Connection {
    pub id: String,
    pub name: String,
    /// What it shows its provider; the fake upstream tells accounts apart by it.
    pub credential: String,
}

impl World {
    /// A fresh gateway without connections, one local key, and one fake upstream.
    pub async fn start() -> World {
        World::start_with(&[]).await
    }

    /// The same with environment variables.
    pub async fn start_with(environment: &[(&str, &str)]) -> World {
        let mut world = World::start_without_key(environment).await;
        world.key = world.make_key(json!({ "name": "agents" })).await;
        world
    }

    /// The same where a request waits for accounts that cool, as on a fresh installation.
    pub async fn start_patient() -> World {
        let world = World::start().await;
        world
            .resilience(json!({ "waitForCooldown": { "enabled": true }, "comboCooldownWait": { "enabled": true } }))
            .await;
        world
    }

    /// A first start: nobody has made a key yet. Nothing waits for a cooldown: time stands still here, unless it is moved. Nobody is asked unless a test asks.
    pub async fn start_without_key(environment: &[(&str, &str)]) -> World {
        let log_begins = log::keep();
        let mut world = World {
            upstream: FakeUpstream::start().expect("a fake upstream"),
            clock: Arc::new(ManualClock::new(Timestamp::from_millis(1_790_000_000_000))),
            key: String::new(),
            folder: tempfile::tempdir().expect("a folder"),
            http: agent::http(),
            running: None,
            log_begins,
            environment: environment
                .iter()
                .chain(&[("OMNIROUTE_SECRET_STORE", "file")])
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            seen: Seen::default(),
            terminal: Mutex::default(),
            keys: Mutex::default(),
            secrets: Mutex::default(),
            extra_headers: Mutex::default(),
        };
        world.run().await;
        // Nor does anybody ask a vendor that a test does not ask.
        world.set(json!({ "quota": { "refreshIntervalMs": 0 } })).await;
        let off = json!({ "enabled": false });
        let never = json!({ "intervalMinutes": 0 });
        let quiet = json!({ "waitForCooldown": off, "comboCooldownWait": off, "credentialHealthCheck": never });
        world.resilience(quiet).await;
        world
    }

    async fn run(&mut self) {
        let config = Config {
            data_dir: self.folder.path().to_owned(),
            port: Some(0),
            environment: self.environment.clone(),
            ..Config::default()
        };
        let clock: Arc<dyn domain::Clock> = Arc::clone(&self.clock) as Arc<dyn domain::Clock>;
        self.running = Some(server::run(config, clock).await.expect("a gateway that starts"));
    }

    fn running(&self) -> &Running {
        self.running.as_ref().expect("the gateway runs")
    }

    pub fn url(&self) -> String {
        self.running().url()
    }

    /// The first address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.running().addresses()[0]
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Stops in good order and starts again on the same folder.
    pub async fn restart(&mut self) {
        self.stop().await;
        self.run().await;
    }

    /// Ends without a goodbye: the gateway that runs next finds the files as they lie on the disk at this instant, and
    /// nothing that was only in memory. What is written behind is given the time to be written.
    pub async fn crash(&mut self) {
        self.running().gateway().store().flush().await.expect("a written store");
        let left = tempfile::tempdir().expect("a folder");
        for entry in std::fs::read_dir(self.folder.path()).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name");
            std::fs::copy(&path, left.path().join(name)).expect("a copy");
        }
        self.stop().await;
        self.folder = left;
        self.run().await;
    }

    /// Starts again after [`World::stop`], on the same folder.
    pub async fn again(&mut self) {
        self.run().await;
    }

    /// Stops in good order.
    pub async fn stop(&mut self) {
        let running = self.running.take().expect("the gateway runs");
        let stopped = in_time("a stop", running.shutdown()).await;
        stopped.expect("a clean stop");
    }

    /// Moves the gateway's clock.
    pub fn advance(&self, length: Millis) {
        self.clock.advance(length);
    }

    /// Moves only the wall clock, to this instant.
    pub fn jump_wall(&self, to: Timestamp) {
        self.clock.jump_wall(to);
    }

    /// What the gateway's clock shows.
    pub fn now(&self) -> Timestamp {
        domain::Clock::now(&*self.clock)
    }

    /// An agent with the local key.
    pub fn agent(&self) -> Agent {
        self.stranger().with_key(&self.key)
    }

    /// A client without a key.
    pub fn stranger(&self) -> Agent {
        Agent::new(self.http.clone(), &self.url(), Arc::clone(&self.seen))
    }

    /// A client with the management token.
    pub fn manager(&self) -> Agent {
        self.stranger().with_key(&self.management_token())
    }

    /// What opens management: the environment's token, else the file's.
    pub fn management_token(&self) -> String {
        if let Some(token) = self.environment.get("OMNIROUTE_MANAGEMENT_TOKEN") {
            return token.clone();
        }
        let token = std::fs::read_to_string(self.folder.path().join("management-token")).expect("a token");
        token.trim().to_owned()
    }

    /// A management call with the token.
    pub async fn manage(&self, method: Method, path: &str, body: Option<Value>) -> Reply {
        self.manager().send(method, path, body.map(|body| body.to_string().into())).await
    }

    /// The same, which must succeed; the reply's body.
    pub async fn managed(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let reply = self.manage(method.clone(), path, body).await;
        assert!(reply.status.is_success(), "{method} {path}: {} {}", reply.status, reply.text());
        reply.json()
    }

    /// Makes a local key from the body of `POST /api/keys`; its text.
    pub async fn make_key(&self, body: Value) -> String {
        let key = self.managed(Method::POST, "/api/keys", Some(body)).await["key"].as_str().expect("a key").to_owned();
        self.keys.lock().push(key.clone());
        self.secrets.lock().push(key.clone());
        key
    }

    /// Changes settings.
    pub async fn set(&self, tree: Value) {
        self.managed(Method::PATCH, "/api/settings", Some(tree)).await;
    }

    /// Adds an account of a catalogue provider, pointed at the fake upstream.
    pub async fn connect(&self, provider: &str, name: &str) -> Connection {
        self.connect_with(provider, name, json!({})).await
    }

    /// Where the fake upstream plays this provider.
    fn base_url(&self, provider: &str) -> String {
        self.upstream.base_url(if provider == "gemini" { Dialect::Gemini } else { Dialect::Chat })
    }

    /// Adds a custom provider at the fake upstream with that prefix and class (`local`, `apikey`); its provider id.
    pub async fn node(&self, prefix: &str, class: &str) -> String {
        let body = json!({
            "name": prefix, "prefix": prefix, "apiType": "chat", "providerClass": class,
            "baseUrl": self.upstream.base_url(Dialect::Chat),
        });
        let reply = self.managed(Method::POST, "/api/provider-nodes", Some(body)).await;
        reply["node"]["id"].as_str().expect("an id").to_owned()
    }

    /// Adds an account that is pointed at this base URL.
    pub async fn connect_to(&self, provider: &str, name: &str, base_url: &str) -> Connection {
        self.connect_with(provider, name, json!({ "providerSpecificData": { "baseUrl": base_url } })).await
    }

    /// Adds an account with these further members of its record; one without a base URL is pointed at the fake upstream.
    pub async fn connect_with(&self, provider: &str, name: &str, more: Value) -> Connection {
        let number = CREDENTIALS.fetch_add(1, Ordering::Relaxed);
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let credential = format!("credential.{number}.of.{plain}.");
        self.secrets.lock().push(credential.clone());
        let mut body = json!({ "provider": provider, "name": name, "apiKey": credential });
        for (member, value) in more.as_object().expect("members") {
            body[member] = value.clone();
        }
        let specific = &mut body["providerSpecificData"];
        if specific["baseUrl"].is_null() {
            specific["baseUrl"] = self.base_url(provider).into();
        }
        let reply = self.managed(Method::POST, "/api/providers", Some(body)).await;
        let id = reply["connection"]["id"].as_str().expect("an id").to_owned();
        Connection { id, name: name.to_owned(), credential }
    }

    /// A node adds this header on purpose.
    pub fn allow_extra_header(&self, name: &str) {
        self.extra_headers.lock().insert(name.to_owned());
    }

    /// One account each of the three providers that [`Ask`](crate::Ask) reaches: OpenAI, Anthropic, Gemini.
    pub async fn connect_all(&self) -> [Connection; 3] {
        [
            self.connect("openai", "openai").await,
            self.connect("anthropic", "anthropic").await,
            self.connect("gemini", "gemini").await,
        ]
    }

    /// Starts the script of an account anew.
    pub fn script(&self, connection: &Connection) -> Script {
        self.upstream.script(connection.credential.as_str(), None)
    }

    /// Starts the script of an account for one model anew.
    pub fn script_model(&self, connection: &Connection, model: &str) -> Script {
        self.upstream.script(connection.credential.as_str(), model)
    }

    /// The calls that an account's provider saw, oldest first.
    pub fn calls(&self, connection: &Connection) -> Vec<Call> {
        self.upstream.calls(connection.credential.as_str())
    }

    /// Waits until so many requests wait for a place.
    pub async fn wait_for_waiting(&self, count: u32) {
        until("those who wait", || self.picture().waiting >= count).await;
    }

    /// Waits until an account's provider has seen so many calls.
    pub async fn wait_for_calls(&self, connection: &Connection, wanted: u64) -> Vec<Call> {
        self.upstream.wait_for_calls(connection.credential.as_str(), wanted).await.expect("the calls")
    }

    /// Waits until so many of an account's calls have ended.
    pub async fn wait_for_endings(&self, connection: &Connection, wanted: u64) -> Vec<Call> {
        self.upstream.wait_for_endings(connection.credential.as_str(), wanted).await.expect("the endings")
    }

    /// Every connection, as the management API shows it.
    pub async fn connections(&self) -> Vec<Value> {
        let list = self.managed(Method::GET, "/api/providers", None).await;
        list["connections"].as_array().expect("connections").clone()
    }

    pub async fn connection(&self, connection: &Connection) -> Value {
        self.managed(Method::GET, &format!("/api/providers/{}", connection.id), None).await["connection"].clone()
    }

    /// Every row of the request log, newest first, once what waits is written.
    pub async fn requests(&self) -> Vec<Value> {
        self.running().gateway().store().flush().await.expect("a written log");
        let mut rows = Vec::new();
        let mut path = "/api/requests?limit=500".to_owned();
        loop {
            let page = self.managed(Method::GET, &path, None).await;
            rows.extend(page["requests"].as_array().expect("rows").iter().cloned());
            let Some(cursor) = page["nextCursor"].as_str() else { return rows };
            path = format!("/api/requests?limit=500&cursor={cursor}");
        }
    }

    /// Waits for so many rows, and returns them, newest first.
    pub async fn wait_for_rows(&self, wanted: usize) -> Vec<Value> {
        let waiting = async {
            loop {
                let rows = self.requests().await;
                if rows.len() >= wanted {
                    return rows;
                }
                tokio::task::yield_now().await;
            }
        };
        in_time("the rows", waiting).await
    }

    /// The newest request with its story, once it is written.
    pub async fn last_request(&self) -> Value {
        let rows = self.wait_for_rows(1).await;
        let id = rows[0]["id"].as_str().expect("an id");
        self.managed(Method::GET, &format!("/api/requests/{id}"), None).await
    }

    /// Attempts under way, as the Engine counts them.
    pub fn in_flight(&self) -> u32 {
        self.engine().snapshot().in_flight
    }

    pub(crate) fn engine(&self) -> &EngineHandle {
        self.gateway().engine()
    }

    /// The gateway itself, for what a client cannot bring about from outside.
    pub fn gateway(&self) -> &Gateway {
        self.running().gateway()
    }

    /// Whether the log has held this text since the world began; worlds of the same process share it.
    pub fn has_logged(&self, text: &str) -> bool {
        log::holds(text, self.log_begins)
    }

    /// Waits until no attempt is under way; its request may be.
    pub async fn wait_for_attempts_to_end(&self) {
        until("the end of every attempt", || self.in_flight() == 0).await;
    }

    /// Waits until nothing is under way any more.
    pub async fn settle(&self) {
        let is_quiet = || self.in_flight() == 0 && self.running().gateway().live().in_flight == 0;
        until("the end of every request", is_quiet).await;
    }
}
