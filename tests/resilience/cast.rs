//! Who plays in the scenarios: an API-key provider `AK`, an OAuth one `OA`, a local one `LO`, a model-scoped one `MS`, and
//! the shortest ways to make them fail.

use std::sync::atomic::{AtomicU64, Ordering};

use acceptance::{Ask, Connection, Reply, World};
use domain::Dialect;
use fake_upstream::Step;
use serde_json::json;
use tokio::task::JoinHandle;

/// An API-key provider that speaks Chat and Responses.
pub(crate) const AK: &str = "openai";
/// Another one.
pub(crate) const AK2: &str = "deepseek";
/// An OAuth provider.
pub(crate) const OA: &str = "claude";
/// Prefix of a node of class `local`.
pub(crate) const LO: &str = "lo";
/// Prefix of a node whose quotas are per model, with the numbers of API-key providers.
pub(crate) const MS: &str = "ms";

pub(crate) const DIALECTS: [Dialect; 4] = [Dialect::Chat, Dialect::Responses, Dialect::Messages, Dialect::Gemini];

/// A fresh gateway that answers at once where it could wait for a cooldown.
pub(crate) async fn start() -> World {
    World::start().await
}

/// What clients of a provider speak.
pub(crate) fn dialect_of(provider: &str) -> Dialect {
    match provider {
        "anthropic" | "agentrouter" | "minimax" | OA => Dialect::Messages,
        "gemini" => Dialect::Gemini,
        "codex" => Dialect::Responses,
        _ => Dialect::Chat,
    }
}

/// A whole answer from that model, in the provider's dialect.
pub(crate) fn ask(provider: &'static str, model: &str) -> Ask {
    Ask::of(provider, model, dialect_of(provider), false)
}

/// The same as a stream.
pub(crate) fn ask_stream(provider: &'static str, model: &str) -> Ask {
    Ask::of(provider, model, dialect_of(provider), true)
}

pub(crate) async fn post(world: &World, ask: &Ask) -> Reply {
    world.agent().post(&ask.path, ask.body.clone()).await
}

/// Asks for `m1`.
pub(crate) async fn post_m1(world: &World, provider: &'static str) -> Reply {
    post(world, &ask(provider, "m1")).await
}

/// Sends a request in the background; it has reached the provider when this returns.
pub(crate) async fn begin(world: &World, connection: &Connection, ask: &Ask) -> JoinHandle<Reply> {
    let before = world.calls(connection).len() as u64;
    let (agent, ask) = (world.agent(), ask.clone());
    let asking = tokio::spawn(async move { agent.post(&ask.path, ask.body).await });
    world.wait_for_calls(connection, before + 1).await;
    asking
}

/// Sends the same request so many times at once; all have reached the provider when this returns.
pub(crate) async fn crowd(world: &World, connection: &Connection, ask: &Ask, size: u64) -> Vec<JoinHandle<Reply>> {
    let before = world.calls(connection).len() as u64;
    let asking = at_once(world, ask, size).collect();
    world.wait_for_calls(connection, before + size).await;
    asking
}

/// Sends the same request so many times at once.
pub(crate) fn at_once(world: &World, ask: &Ask, size: u64) -> impl Iterator<Item = JoinHandle<Reply>> {
    (0..size).map(|_| {
        let (agent, ask) = (world.agent(), ask.clone());
        tokio::spawn(async move { agent.post(&ask.path, ask.body).await })
    })
}

/// A model name that nobody has asked for yet: no lock of another request stands in its way.
pub(crate) fn fresh_model() -> String {
    static NAMES: AtomicU64 = AtomicU64::new(0);
    format!("fresh-{}", NAMES.fetch_add(1, Ordering::Relaxed))
}

/// An account that is never cooled, so that every request reaches its provider.
pub(crate) async fn uncooled(world: &World, provider: &str, name: &str) -> Connection {
    world.connect_with(provider, name, json!({ "providerSpecificData": { "disableCooling": true } })).await
}

/// Sends so many requests one after another, each for a model of its own; the last reply.
pub(crate) async fn send(world: &World, provider: &'static str, count: u32) -> Option<Reply> {
    let mut last = None;
    for _ in 0..count {
        last = Some(post(world, &ask(provider, &fresh_model())).await);
    }
    last
}

/// Opens the breaker of a provider through an account that answers 503 from now on.
pub(crate) async fn open(world: &World, provider: &'static str, failures: u32) -> Connection {
    let connection = uncooled(world, provider, "opener").await;
    world.script(&connection).then(Step::error(503, "down"));
    send(world, provider, failures).await;
    assert_eq!(world.breaker_state(provider), ("OPEN", failures), "{provider}");
    connection
}

/// The whole `error` object of a reply whose envelope is OpenAI's.
pub(crate) fn error_of(reply: &Reply) -> serde_json::Value {
    reply.json()["error"].clone()
}
