//! What a scenario asks of health, and what an operator does about it.
//!
//! Numbers come from the Engine's own picture, at the instant of the manual clock; what the REST API makes of them is for
//! the scenarios about that API.

use domain::health::TestStatus;
use domain::{Millis, ProviderId};
use http::Method;
use resilience::circuit_breaker::State;
use resilience::picture::{BreakerPicture, ConnectionPicture, LockoutPicture, Snapshot};
use serde_json::{Value, json};

use crate::agent::Reply;
use crate::world::{Connection, World};

impl World {
    /// Changes part of the resilience tree.
    pub async fn resilience(&self, tree: Value) {
        self.managed(Method::PATCH, "/api/resilience", Some(tree)).await;
    }

    /// What the Engine knows, time applied.
    pub fn picture(&self) -> Snapshot {
        self.engine().snapshot()
    }

    /// A provider's breaker; nothing while nothing has counted.
    pub fn breaker(&self, provider: &str) -> Option<BreakerPicture> {
        self.picture().breakers.remove(&ProviderId::from(provider))
    }

    /// `CLOSED`, `DEGRADED`, `OPEN` or `HALF_OPEN`, and the failures that count.
    pub fn breaker_state(&self, provider: &str) -> (&'static str, u32) {
        let breaker = self.breaker(provider);
        breaker.map_or((State::Closed.as_str(), 0), |breaker| (breaker.state.as_str(), breaker.failure_count))
    }

    /// One account's health.
    pub fn health(&self, connection: &Connection) -> ConnectionPicture {
        self.engine().connection(&connection.id.as_str().into())
    }

    /// How much longer the account cools; nothing when it does not.
    pub fn cooling(&self, connection: &Connection) -> Option<Millis> {
        let until = self.health(connection).cooling_until?;
        Some(until.since(self.now())).filter(|left| !left.is_zero())
    }

    pub fn status(&self, connection: &Connection) -> TestStatus {
        self.health(connection).status
    }

    /// The account's active locks, the longest remaining first.
    pub fn locks(&self, connection: &Connection) -> Vec<LockoutPicture> {
        let mut locks = self.picture().lockouts;
        locks.retain(|lock| lock.connection.as_str() == connection.id);
        locks
    }

    /// How much longer each of the account's locks lasts, with the name that is locked.
    pub fn locked(&self, connection: &Connection) -> Vec<(String, Millis)> {
        let now = self.now();
        self.locks(connection).into_iter().map(|lock| (lock.model, lock.until.since(now))).collect()
    }

    /// The operator's reset of one account: terminal states included.
    pub async fn reset(&self, connection: &Connection) {
        self.managed(Method::POST, &format!("/api/providers/{}/reset", connection.id), None).await;
        self.forgive(connection);
    }

    /// An operator brought the account back: leaving a terminal state was no traffic's doing.
    pub fn forgive(&self, connection: &Connection) {
        self.terminal.lock().remove(&connection.id);
    }

    /// `POST /api/providers/{id}/test`; the reply's body.
    pub async fn test(&self, connection: &Connection) -> Value {
        let path = format!("/api/providers/{}/test", connection.id);
        let reply = self.managed(Method::POST, &path, Some(json!({"model": "m1"}))).await;
        if reply["ok"] == true {
            self.forgive(connection);
        }
        reply
    }

    /// Changes an account's record.
    pub async fn change(&self, connection: &Connection, change: Value) {
        self.managed(Method::PATCH, &format!("/api/providers/{}", connection.id), Some(change)).await;
    }

    pub async fn delete(&self, connection: &Connection) {
        self.managed(Method::DELETE, &format!("/api/providers/{}", connection.id), None).await;
    }

    /// The rows of `GET /api/resilience/model-cooldowns`.
    pub async fn model_cooldowns(&self) -> Vec<Value> {
        let list = self.managed(Method::GET, "/api/resilience/model-cooldowns", None).await;
        list["items"].as_array().expect("items").clone()
    }

    /// The rows of `GET /api/resilience/cooldowns`.
    pub async fn cooldowns(&self, query: &str) -> Vec<Value> {
        let list = self.managed(Method::GET, &format!("/api/resilience/cooldowns{query}"), None).await;
        list["connections"].as_array().expect("connections").clone()
    }

    /// `GET /api/monitoring/health`, as anybody may ask for it.
    pub async fn monitoring(&self) -> Reply {
        self.stranger().get("/api/monitoring/health").await
    }
}
