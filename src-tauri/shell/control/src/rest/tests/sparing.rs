//! What routing spares, shown and cleared: breakers, cooldowns, model locks (acceptance MA, CM, SP).

use ::resilience::Row;
use ::resilience::stored::{BreakerOptions, StoredBreaker, StoredConnection, StoredLockout};
use domain::health::{LastError, TestStatus};
use domain::{ConnectionId, Millis, ProviderId, Reason, Timestamp};
use serde_json::{Value, json};

use super::{START, World};

const LOCKS: &str = "/api/resilience/model-cooldowns";
const COOLDOWNS: &str = "/api/resilience/cooldowns";

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(START + 1_000 * seconds)
}

fn health(name: &str, status: TestStatus, until: Option<u64>) -> Row {
    Row::Connection(StoredConnection {
        connection: ConnectionId::from(name),
        provider: ProviderId::from("openai"),
        test_status: status,
        rate_limited_until: until.map(at),
        probe_at: None,
        backoff_level: 2,
        last_error: Some(LastError {
            message: format!("{name} was refused"),
            reason: Some(Reason::RateLimit),
            status: Some(429),
            at: at(0),
        }),
        expired_retry_count: 0,
        expired_retry_at: None,
        last_used_at: Some(at(0)),
    })
}

fn lock(name: &str, model: &str, seconds: u64) -> Row {
    Row::Lockout(StoredLockout {
        key: format!("openai:{name}:{model}"),
        provider: ProviderId::from("openai"),
        connection: ConnectionId::from(name),
        model: model.to_owned(),
        scope: "model".to_owned(),
        reason: "rate_limit".to_owned(),
        locked_at: at(0),
        until: at(seconds),
        failure_count: 3,
        last_cooldown: Millis::seconds(seconds),
        probe_at: None,
    })
}

fn open_breaker() -> Row {
    Row::Breaker(StoredBreaker {
        provider: ProviderId::from("openai"),
        state: "OPEN".to_owned(),
        failure_count: 12,
        last_failure_time: Some(at(0)),
        options: BreakerOptions { failure_threshold: 12, reset_timeout: 30_000, ..BreakerOptions::default() },
    })
}

/// One that cools, one with two locks, one banned, one well.
async fn four() -> World {
    let rows = vec![
        health("cooling", TestStatus::Unavailable, Some(60)),
        lock("locked", "m1", 30),
        lock("locked", "m2", 90),
        health("banned", TestStatus::Banned, None),
    ];
    World::with(&["cooling", "locked", "banned", "well"], rows).await
}

fn named<'a>(reply: &'a Value, name: &str) -> &'a Value {
    let rows = reply["connections"].as_array().expect("a list");
    rows.iter().find(|row| row["name"] == name).expect("the connection")
}

/// MA-02, MA-03
#[tokio::test]
async fn active_locks_are_listed_the_longest_first() {
    let world = four().await;
    let items = world.ok("GET", LOCKS, None).await["items"].clone();
    let expected = |model: &str, seconds: u64, expires: &str| {
        json!({ "provider": "openai", "connectionId": "locked", "connectionName": "locked", "model": model,
            "reason": "rate_limit", "scope": "model", "remainingMs": 1_000 * seconds, "failureCount": 3,
            "lockedAt": "2026-01-01T00:00:00.000Z", "expiresAt": expires, "probeAt": null })
    };
    let long = expected("m2", 90, "2026-01-01T00:01:30.000Z");
    assert_eq!(items, json!([long, expected("m1", 30, "2026-01-01T00:00:30.000Z")]));
    world.clock.advance(Millis::seconds(30));
    let items = world.ok("GET", LOCKS, None).await["items"].clone();
    assert_eq!(items, json!([expected("m2", 60, "2026-01-01T00:01:30.000Z")]));
}

/// MA-04, MA-05, MA-06
#[tokio::test]
async fn locks_are_ended_one_by_one_by_model_or_all() {
    let rows = vec![lock("c1", "m1", 60), lock("c2", "m1", 60), lock("c1", "m2", 60), lock("c2", "m3", 60)];
    let world = World::with(&["c1", "c2"], rows).await;
    for (body, removed, all) in [
        (json!({ "provider": "openai", "connection": "c1", "model": "m1" }), 1, false),
        (json!({ "provider": "openai", "connection": "c1", "model": "m1" }), 0, false),
        (json!({ "provider": "nobody", "model": "m1" }), 0, false),
        (json!({ "provider": "openai", "model": "m1" }), 1, false),
        (json!({ "all": true }), 2, true),
    ] {
        let reply = world.ok("DELETE", LOCKS, Some(body.clone())).await;
        assert_eq!(reply, json!({ "ok": true, "removed": removed, "clearedAll": all }), "{body}");
    }
    for (body, field) in [
        (json!({}), "provider"),
        (json!({ "model": "m1" }), "provider"),
        (json!({ "provider": "openai" }), "model"),
        (json!({ "all": true, "provider": "openai" }), "all"),
        (json!({ "every": true }), "every"),
    ] {
        assert_eq!(world.call("DELETE", LOCKS, Some(body.clone())).await.refusal().2, field, "{body}");
    }
}

/// CM-01, CM-02
#[tokio::test]
async fn the_cooldown_manager_shows_the_strongest_that_holds() {
    let world = four().await;
    let other = json!({ "provider": "anthropic", "name": "elsewhere", "isActive": false });
    world.ok("POST", "/api/providers", Some(other)).await;
    let reply = world.get(COOLDOWNS).await;
    for (name, status) in [
        ("cooling", "cooling_down"),
        ("locked", "model_locked"),
        ("banned", "terminal"),
        ("well", "healthy"),
        ("elsewhere", "unavailable"),
    ] {
        assert_eq!(named(&reply.body, name)["status"], status, "{name}");
    }
    let cooling = named(&reply.body, "cooling");
    assert_eq!(cooling["rateLimitedUntil"], "2026-01-01T00:01:00.000Z");
    assert_eq!((&cooling["cooldownRemainingMs"], &cooling["backoffLevel"]), (&json!(60_000), &json!(2)));
    assert_eq!((&cooling["errorCode"], &cooling["lastErrorType"]), (&json!(429), &json!("rate_limited")));
    assert_eq!(named(&reply.body, "locked")["lockouts"][1]["remainingMs"], 30_000);
    assert!(!reply.text.contains("sk-secret"), "no credential");
    let only = world.ok("GET", &format!("{COOLDOWNS}?provider=anthropic"), None).await;
    assert_eq!(only["connections"].as_array().expect("a list").len(), 1);
}

/// CM-03, CM-04, CM-05, CM-06, CM-07
#[tokio::test]
async fn clearing_counts_what_changed_and_leaves_terminal_states() {
    let world = four().await;
    let body = json!({ "connectionIds": ["cooling", "banned", "well", "nobody", "locked"] });
    let reply = world.ok("POST", COOLDOWNS, Some(body)).await;
    let expected = json!({ "ok": true, "cleared": 2, "unchanged": 2, "skippedTerminal": 1, "lockoutsCleared": 2 });
    assert_eq!(reply, expected);
    let rows = world.ok("GET", COOLDOWNS, None).await;
    assert_eq!(
        (&named(&rows, "cooling")["status"], &named(&rows, "cooling")["backoffLevel"]),
        (&json!("healthy"), &json!(0))
    );
    assert_eq!(named(&rows, "banned")["status"], "terminal");

    let world = four().await;
    let elsewhere = world.ok("POST", COOLDOWNS, Some(json!({ "all": true, "provider": "anthropic" }))).await;
    assert_eq!((&elsewhere["cleared"], &elsewhere["lockoutsCleared"]), (&json!(0), &json!(0)));
    let all = world.ok("POST", COOLDOWNS, Some(json!({ "all": true }))).await;
    assert_eq!((&all["cleared"], &all["skippedTerminal"]), (&json!(2), &json!(1)));
}

/// CM-08
#[tokio::test]
async fn a_selection_that_makes_no_sense_is_refused() {
    let world = World::new().await;
    let many: Vec<String> = (0..1_001).map(|n| n.to_string()).collect();
    for body in [
        json!({}),
        json!({ "connectionIds": [] }),
        json!({ "connectionIds": [], "all": false }),
        json!({ "connectionIds": many }),
        json!({ "connectionIds": ["x".repeat(129)] }),
        json!({ "connectionIds": ["c1"], "all": true }),
        json!({ "provider": "openai" }),
        json!({ "all": true, "provider": "x".repeat(129) }),
        json!({ "ids": ["c1"] }),
        json!({ "connectionIds": "c1" }),
    ] {
        assert_eq!(world.call("POST", COOLDOWNS, Some(body.clone())).await.status, 400, "{body:.60}");
    }
    let long = format!("{COOLDOWNS}?provider={}", "x".repeat(129));
    assert_eq!(world.get(&long).await.status, 400);
}

/// SP-10, SP-11
#[tokio::test]
async fn an_open_breaker_is_shown_everywhere_and_closed_by_hand() {
    let world = World::with(&["c1"], vec![open_breaker(), lock("c1", "m1", 60)]).await;
    let breakers = world.ok("GET", "/api/resilience/breakers", None).await;
    let breaker = &breakers["breakers"][0];
    assert_eq!((&breaker["provider"], &breaker["providerName"]), (&json!("openai"), &json!("OpenAI")));
    assert_eq!((&breaker["state"], &breaker["failureCount"]), (&json!("OPEN"), &json!(12)));
    assert_eq!((&breaker["failureThreshold"], &breaker["degradationThreshold"]), (&json!(12), &json!(7)));
    assert_eq!(
        (&breaker["retryAfterMs"], &breaker["lastFailure"]),
        (&json!(30_000), &json!("2026-01-01T00:00:00.000Z"))
    );

    let health = world.ok("GET", "/api/monitoring/health", None).await;
    assert_eq!(health["circuitBreakers"], json!({ "open": 1, "halfOpen": 0, "degraded": 0, "closed": 0, "total": 1 }));
    assert_eq!(health["providerBreakers"][0]["lastFailure"], "2026-01-01T00:00:00.000Z");
    assert_eq!(health["providerHealth"]["openai"]["retryAfterMs"], 30_000);
    assert_eq!((&health["lockouts"][0]["model"], &health["lockouts"][0]["connectionId"]), (&json!("m1"), &json!("c1")));
    let shown = world.ok("GET", "/api/providers/c1", None).await;
    assert_eq!((&shown["breaker"]["state"], &shown["lockouts"][0]["model"]), (&json!("OPEN"), &json!("m1")));
    let side_by_side = world.ok("GET", "/api/resilience/connections", None).await;
    assert_eq!(side_by_side["connections"][0]["status"], "circuit_open");
    assert_eq!(side_by_side["meta"]["unhealthyBreakerCount"], 1);

    let closed = world.ok("DELETE", "/api/monitoring/health", None).await;
    assert_eq!((&closed["success"], &closed["resetCount"]), (&json!(true), &json!(1)));
    let health = world.ok("GET", "/api/monitoring/health", None).await;
    assert_eq!(health["circuitBreakers"]["open"], 0, "not what was shown a moment ago");
    assert_eq!(health["lockouts"].as_array().expect("a list").len(), 1, "locks are not breakers");
    let reset = world.ok("POST", "/api/resilience/reset", None).await;
    assert_eq!((&reset["ok"], &reset["lockoutsCleared"]), (&json!(true), &json!(1)));
}

#[tokio::test]
async fn one_breaker_is_closed_and_the_others_are_not() {
    let world = World::with(&["c1"], vec![open_breaker()]).await;
    let other = world.ok("POST", "/api/resilience/breakers/anthropic/reset", None).await;
    assert_eq!((&other["ok"], &other["resetCount"]), (&json!(true), &json!(0)));
    let own = world.ok("POST", "/api/resilience/breakers/openai/reset", None).await;
    assert_eq!(own["resetCount"], 1);
}

/// TS-09
#[tokio::test]
async fn a_passed_test_and_an_owner_s_reset_bring_a_banned_connection_back() {
    let world = four().await;
    let before = world.ok("GET", "/api/providers/banned", None).await;
    assert_eq!(before["connection"]["testStatus"], "banned");
    let reset = world.ok("POST", "/api/providers/banned/reset", None).await;
    assert_eq!(
        (&reset["connection"]["testStatus"], &reset["connection"]["lastError"]),
        (&json!("active"), &Value::Null)
    );
    world.transport.answer(200, r#"{"object":"list","data":[{"id":"m1","object":"model"}]}"#);
    let tested = world.ok("POST", "/api/providers/cooling/test", None).await;
    let connection = &tested["connection"];
    assert_eq!((&connection["testStatus"], &connection["rateLimitedUntil"]), (&json!("active"), &Value::Null));
}

/// TS-24
#[tokio::test]
async fn a_ban_phrase_is_tried_on_stored_errors() {
    let world = four().await;
    let path = "/api/resilience/banned-signals/preview";
    let hit = world.ok("POST", path, Some(json!({ "phrase": " WAS refused " }))).await;
    assert_eq!(hit["matches"].as_array().expect("a list").len(), 2);
    assert_eq!(hit["matches"][0]["excerpt"], "banned was refused");
    let miss = world.ok("POST", path, Some(json!({ "phrase": "frozen" }))).await;
    assert_eq!(miss, json!({ "matches": [], "examples": [] }));
    for phrase in ["  ".to_owned(), "x".repeat(201)] {
        assert_eq!(world.call("POST", path, Some(json!({ "phrase": phrase }))).await.refusal().2, "phrase");
    }
}

#[tokio::test]
async fn the_way_of_a_model_is_explained_account_by_account() {
    let world = four().await;
    world.ok("PATCH", "/api/providers/well", Some(json!({ "isActive": true, "priority": 9 }))).await;
    let told = world.ok("GET", "/api/resilience/explain?model=openai/m1", None).await;
    let route = json!({ "kind": "direct", "rule": 7, "name": "openai/m1", "strategy": "single" });
    assert_eq!((&told["route"], &told["answer"]), (&route, &Value::Null));
    let target = &told["targets"][0];
    let spokesman = json!({ "position": 1, "executionKey": "openai/m1", "provider": "openai", "model": "m1",
        "connectionId": "well", "available": true, "exclusion": null, "score": null, "factors": null });
    for (member, expected) in spokesman.as_object().expect("an object") {
        assert_eq!(&target[member], expected, "{member}");
    }
    assert_eq!(target["breaker"]["state"], "CLOSED");
    let connections = target["connections"].as_array().expect("a list");
    for ((id, mechanism, remaining), told) in [
        ("banned", json!("terminal_state"), Value::Null),
        ("cooling", json!("connection_cooldown"), json!(60_000)),
        ("locked", json!("model_lockout"), json!(30_000)),
        ("well", Value::Null, Value::Null),
    ]
    .into_iter()
    .zip(connections)
    {
        assert_eq!((&told["connectionId"], &told["connectionName"]), (&json!(id), &json!(id)));
        assert_eq!(told["available"], mechanism.is_null(), "{id}");
        assert_eq!((&told["exclusion"]["mechanism"], &told["exclusion"]["retryAfterMs"]), (&mechanism, &remaining));
    }
    assert_eq!(connections.len(), 4);
    assert_eq!(connections[1]["exclusion"]["cause"]["status"], 429);
}

#[tokio::test]
async fn an_explanation_says_what_an_agent_would_get_when_nobody_is_available() {
    let world = four().await;
    world.ok("PATCH", "/api/providers/well", Some(json!({ "isActive": false }))).await;
    let told = world.ok("GET", "/api/resilience/explain?model=openai/m1", None).await;
    let expected = json!({ "status": 503, "code": "service_unavailable", "retryAfterSeconds": 30 });
    assert_eq!(told["answer"], expected);
    // The account that is back first speaks for all.
    let target = &told["targets"][0];
    assert_eq!((&target["available"], &target["connectionId"]), (&json!(false), &json!("locked")));
    assert_eq!(target["exclusion"]["mechanism"], "model_lockout");
    assert_eq!(target["exclusion"]["retryAfterMs"], 30_000);
}

#[tokio::test]
async fn a_key_that_is_asked_for_restricts_an_explanation_to_what_it_may_use() {
    let world = four().await;
    world.ok("PATCH", "/api/providers/well", Some(json!({ "isActive": true }))).await;
    for (may, available, answer) in [
        (json!({ "allowedConnections": ["well"] }), true, Value::Null),
        (json!({ "allowedConnections": ["banned"] }), false, json!(502)),
        (json!({ "allowedModels": ["anthropic/*"] }), false, json!(403)),
    ] {
        let mut draft = json!({ "name": format!("answered {answer}") });
        draft.as_object_mut().expect("an object").extend(may.as_object().expect("an object").clone());
        let made = world.ok("POST", "/api/keys", Some(draft)).await;
        let id = made["record"]["id"].as_str().expect("an id");
        let path = format!("/api/resilience/explain?model=openai/m1&keyId={id}");
        let told = world.ok("GET", &path, None).await;
        assert_eq!(
            (&told["targets"][0]["available"], &told["answer"]["status"]),
            (&json!(available), &answer),
            "{may}"
        );
    }
}

#[tokio::test]
async fn an_explanation_refuses_what_it_does_not_understand_by_its_name() {
    let world = four().await;
    let path = "/api/resilience/explain?model=openai/m1";
    let plain = world.ok("GET", path, None).await;
    let asked = "&sessionKey=s1&tools=3&vision=true&inputTokens=9&outputTokens=9";
    assert_eq!(world.ok("GET", &format!("{path}{asked}"), None).await, plain);
    for (wrong, field) in [
        ("keyId=unknown", "keyId"),
        ("sessionKey=", "sessionKey"),
        ("tools=many", "tools"),
        ("vision=2", "vision"),
        ("inputTokens=-1", "inputTokens"),
        ("outputTokens=x", "outputTokens"),
    ] {
        let reply = world.get(&format!("{path}&{wrong}")).await;
        let (status, _, named) = reply.refusal();
        assert_eq!((status, named), (400, field), "{wrong}");
    }
    assert_eq!(world.get("/api/resilience/explain?model=nothing").await.status, 404);
    assert_eq!(world.get("/api/resilience/explain").await.refusal().2, "model");
}
