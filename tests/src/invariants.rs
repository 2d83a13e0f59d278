//! What must hold after every scenario (acceptance list, 0.4).

use std::collections::BTreeSet;

use http::Method;
use serde_json::Value;

use crate::log;
use crate::world::World;

/// Headers that an upstream may see: what its dialect asks for, and what HTTP itself needs.
const OUTBOUND: [&str; 11] = [
    "accept",
    "accept-encoding",
    "anthropic-beta",
    "anthropic-version",
    "api-key",
    "authorization",
    "content-length",
    "content-type",
    "host",
    "user-agent",
    "x-api-key",
];

impl World {
    /// Fails unless every invariant holds. Waits for requests that are ending; a scenario that leaves one running on
    /// purpose calls it later.
    pub async fn check_invariants(&self) {
        self.settle().await;
        self.terminal_states_stay().await;
        self.everything_is_given_back().await;
        self.upstreams_see_only_what_is_named();
        self.no_secret_is_shown().await;
        self.usage_is_counted_once().await;
        self.waits_are_whole_seconds();
    }

    /// I1: traffic frees no connection from a terminal state.
    async fn terminal_states_stay(&self) {
        let now = self.connections().await;
        let terminal = |connection: &Value| {
            matches!(connection["testStatus"].as_str(), Some("banned" | "expired" | "credits_exhausted"))
        };
        let ids: BTreeSet<String> = now
            .iter()
            .filter(|found| terminal(found))
            .filter_map(|found| found["id"].as_str())
            .map(str::to_owned)
            .collect();
        let known: BTreeSet<&str> = now.iter().filter_map(|found| found["id"].as_str()).collect();
        let mut before = self.terminal.lock();
        for id in before.iter().filter(|id| known.contains(id.as_str())) {
            assert!(ids.contains(id), "I1: {id} left its terminal state");
        }
        *before = ids;
    }

    /// I2: nothing is held when nothing is under way.
    async fn everything_is_given_back(&self) {
        assert_eq!(self.in_flight(), 0, "I2: permits are held");
        let health = self.stranger().get("/api/monitoring/health").await.json();
        assert_eq!(health["activeConnections"], 0, "I2: requests are under way");
        for connection in self.connections().await {
            let id = connection["id"].as_str().expect("an id");
            let detail = self.manage(Method::GET, &format!("/api/providers/{id}"), None).await.json();
            assert_eq!(detail["inFlight"], 0, "I2: {} holds places", connection["name"]);
        }
    }

    /// I3: nothing of the client's but what is named, and never its key.
    fn upstreams_see_only_what_is_named(&self) {
        let keys = self.keys.lock();
        for call in self.upstream.calls(None) {
            for (name, value) in &call.headers {
                let own = name == "x-goog-api-key" || self.extra_headers.lock().contains(name.as_str());
                assert!(OUTBOUND.contains(&name.as_str()) || own, "I3: the header {name} went upstream");
                let text = String::from_utf8_lossy(value.as_bytes());
                assert!(!keys.iter().any(|key| text.contains(key)), "I3: a local key went upstream in {name}");
            }
            let query = call.query.unwrap_or_default();
            assert!(!keys.iter().any(|key| query.contains(key)), "I3: a local key went upstream in the query");
        }
    }

    /// I4: no credential in a log line, an error, a row, or the health document.
    async fn no_secret_is_shown(&self) {
        let health = self.stranger().get("/api/monitoring/health").await;
        let requests = self.manage(Method::GET, "/api/requests?limit=500", None).await;
        let connections = self.manage(Method::GET, "/api/providers", None).await;
        let refused: Vec<String> = self
            .seen
            .lock()
            .iter()
            .filter(|reply| !reply.status.is_success())
            .map(|reply| String::from_utf8_lossy(&reply.body).into_owned())
            .collect();
        for secret in self.secrets.lock().iter() {
            assert!(!health.text().contains(secret), "I4: the health document shows {secret}");
            assert!(!requests.text().contains(secret), "I4: the request log shows {secret}");
            assert!(!connections.text().contains(secret), "I4: the list of connections shows {secret}");
            assert!(!refused.iter().any(|text| text.contains(secret)), "I4: an error shows {secret}");
            assert!(!log::holds(secret, self.log_begins), "I4: the log shows {secret}");
        }
    }

    /// I5: one row per request, counted once in every sum.
    async fn usage_is_counted_once(&self) {
        let rows = self.requests().await;
        let ids: BTreeSet<&str> = rows.iter().filter_map(|row| row["id"].as_str()).collect();
        assert_eq!(ids.len(), rows.len(), "I5: a request has two rows");
        let sum = |name: &str| rows.iter().filter_map(|row| row[name].as_u64()).sum::<u64>();
        let ended = |word: &str| rows.iter().filter(|row| row["outcome"] == word).count() as u64;
        let summary = self
            .manage(
                Method::GET,
                "/api/usage/summary?since=2000-01-01T00:00:00.000Z&until=2100-01-01T00:00:00.000Z",
                None,
            )
            .await;
        let totals = summary.json()["totals"].clone();
        assert_eq!(totals["requests"], rows.len() as u64, "I5: {totals} for {} rows", rows.len());
        assert_eq!(totals["successes"], ended("success"), "I5: {totals}");
        assert_eq!(totals["failures"], ended("failure"), "I5: {totals}");
        for name in ["tokensOutput", "tokensCacheRead", "tokensCacheCreation", "tokensReasoning"] {
            assert_eq!(totals[name].as_u64().unwrap_or(0), sum(name), "I5: {name} of {totals}");
        }
    }

    /// I6: `Retry-After` is a whole number of seconds, at least one.
    fn waits_are_whole_seconds(&self) {
        for reply in self.seen.lock().iter() {
            let Some(value) = reply.headers.get(http::header::RETRY_AFTER) else { continue };
            let text = value.to_str().unwrap_or_default();
            assert!(text.parse::<u64>().is_ok_and(|seconds| seconds >= 1), "I6: Retry-After: {text}");
        }
    }
}
