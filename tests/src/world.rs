//! A gateway, its data folder, its clock, and the providers behind it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use domain::{Dialect, Millis, Timestamp};
use fake_upstream::FakeUpstream;
use http::Method;
use serde_json::{Value, json};
use server::{Config, ManualClock, Running};
use tempfile::TempDir;

use crate::agent::{Agent, Reply};

/// One world per test: nothing is shared.
pub struct World {
    pub upstream: FakeUpstream,
    pub clock: Arc<ManualClock>,
    /// Text of the local key that [`World::agent`] carries.
    pub key: String,
    folder: TempDir,
    running: Option<Running>,
    environment: BTreeMap<String, String>,
}

/// An account in the world; its name is also the credential that the fake upstream sees.
#[derive(Clone, Debug)]
pub struct Connection {
    pub id: String,
    pub name: String,
}

impl World {
    /// A fresh gateway without connections, one local key, and one fake upstream.
    pub async fn start() -> World {
        World::start_with(&[]).await
    }

    /// The same with environment variables.
    pub async fn start_with(environment: &[(&str, &str)]) -> World {
        let mut world = World {
            upstream: FakeUpstream::start().expect("a fake upstream"),
            clock: Arc::new(ManualClock::new(Timestamp::from_millis(1_790_000_000_000))),
            key: String::new(),
            folder: tempfile::tempdir().expect("a folder"),
            running: None,
            environment: environment
                .iter()
                .chain(&[("OMNIROUTE_SECRET_STORE", "file")])
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        };
        world.run().await;
        let made = world.manage(Method::POST, "/api/keys", Some(json!({ "name": "agents" }))).await;
        world.key = made.json()["key"].as_str().expect("a key").to_owned();
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

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Stops in good order and starts again on the same folder.
    pub async fn restart(&mut self) {
        self.stop().await;
        self.run().await;
    }

    /// Stops in good order.
    pub async fn stop(&mut self) {
        let running = self.running.take().expect("the gateway runs");
        running.shutdown().await.expect("a clean stop");
    }

    /// Moves the gateway's clock.
    pub fn advance(&self, length: Millis) {
        self.clock.advance(length);
    }

    /// An agent with the local key.
    pub fn agent(&self) -> Agent {
        self.stranger().with("authorization", &format!("Bearer {}", self.key))
    }

    /// A client without a key.
    pub fn stranger(&self) -> Agent {
        Agent::new(&self.url())
    }

    /// A management call with the token.
    pub async fn manage(&self, method: Method, path: &str, body: Option<Value>) -> Reply {
        let token = std::fs::read_to_string(self.folder.path().join("management-token")).expect("a token");
        let manager = self.stranger().with("authorization", &format!("Bearer {}", token.trim()));
        manager.send(method, path, body.map(|body| body.to_string().into())).await
    }

    /// Adds an account of a catalogue provider, pointed at the fake upstream; its credential is its name.
    pub async fn connect(&self, provider: &str, name: &str) -> Connection {
        let dialect = match provider {
            "anthropic" => Dialect::Messages,
            "gemini" => Dialect::Gemini,
            _ => Dialect::Chat,
        };
        self.connect_to(provider, name, &self.upstream.base_url(dialect)).await
    }

    /// Adds an account that is pointed at this base URL.
    pub async fn connect_to(&self, provider: &str, name: &str, base_url: &str) -> Connection {
        let body = json!({
            "provider": provider,
            "name": name,
            "apiKey": name,
            "providerSpecificData": { "baseUrl": base_url },
        });
        let reply = self.manage(Method::POST, "/api/providers", Some(body)).await;
        assert_eq!(reply.status, 201, "{}", reply.text());
        Connection { id: reply.json()["connection"]["id"].as_str().expect("an id").to_owned(), name: name.to_owned() }
    }

    /// The newest row of the request log, once it is written.
    pub async fn last_request(&self) -> Value {
        self.running().gateway().store().flush().await.expect("a written log");
        let list = self.manage(Method::GET, "/api/requests?limit=1", None).await.json();
        let id = list["requests"][0]["id"].as_str().expect("a request").to_owned();
        self.manage(Method::GET, &format!("/api/requests/{id}"), None).await.json()
    }

    /// Attempts under way, as the Engine counts them.
    pub fn in_flight(&self) -> u32 {
        self.running().gateway().engine().snapshot().in_flight
    }
}
