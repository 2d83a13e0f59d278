//! The resilience tree over REST, and the environment below it (resilience specification, 23, 24 and 26; scenarios SP, GP).

use acceptance::World;
use domain::Millis;
use fake_upstream::Step;
use http::Method;
use serde_json::{Value, json};

use crate::cast::{AK, LO, open, post_m1, send, start, uncooled};

const PATH: &str = "/api/resilience";

async fn tree(world: &World) -> Value {
    world.managed(Method::GET, PATH, None).await
}

/// Every leaf of the first is the same in the second.
fn assert_within(expected: &Value, found: &Value, path: &str) {
    match expected {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| assert_within(value, &found[name], &format!("{path}.{name}")));
        }
        leaf => assert_eq!(leaf, found, "{path}"),
    }
}

async fn assert_refused(world: &World, change: Value) {
    let before = tree(world).await;
    let reply = world.manage(Method::PATCH, PATH, Some(change.clone())).await;
    assert_eq!(reply.status, 400, "{change}: {}", reply.text());
    let error = &reply.json()["error"];
    assert!(error["message"].is_string() && error["details"].is_array(), "{error}");
    assert_eq!(tree(world).await, before, "{change}: nothing is changed");
}

#[tokio::test]
async fn a_fresh_installation_shows_the_documented_values() {
    // SP-01, GP-01, ML-01
    let world = World::start().await;
    let expected = json!({
        "connectionCooldown": {
            "oauth": { "baseCooldownMs": 5000, "useUpstreamRetryHints": false, "maxBackoffSteps": 8 },
            "apikey": { "baseCooldownMs": 3000, "useUpstreamRetryHints": true, "maxBackoffSteps": 5 },
            "local": { "baseCooldownMs": 5000, "useUpstreamRetryHints": true, "maxBackoffSteps": 5 },
        },
        "providerBreaker": {
            "oauth": { "failureThreshold": 8, "degradationThreshold": 5, "resetTimeoutMs": 60000 },
            "apikey": { "failureThreshold": 12, "degradationThreshold": 7, "resetTimeoutMs": 30000 },
            "local": { "failureThreshold": 2, "degradationThreshold": 1, "resetTimeoutMs": 15000 },
        },
        "providerCooldown": { "enabled": false, "minRetryCooldownMs": 5000, "maxRetryCooldownMs": 300_000 },
        "streamStallCooldown": { "enabled": false },
        "modelLockout": {
            "enabled": false, "errorCodes": [403, 404, 429, 502, 503, 504], "baseCooldownMs": 120_000,
            "maxCooldownMs": 1_800_000, "maxBackoffSteps": 10, "useExponentialBackoff": true, "persist": true,
        },
    });
    assert_within(&expected, &tree(&world).await, "");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_change_is_all_or_nothing_and_keeps_the_rest() {
    // SP-02, SP-03, SP-04
    let world = World::start().await;
    for wrong in [
        json!({}),
        json!({ "providerBreakers": {} }),
        json!({ "providerBreaker": { "apikey": { "failureTreshold": 3 } } }),
        json!({ "connectionCooldown": { "apikey": { "baseCooldownMs": 7000 } }, "nonsense": 1 }),
        json!({ "connectionCooldown": { "apikey": { "baseCooldownMs": 7000, "maxBackoffSteps": 33 } } }),
        json!({ "connectionCooldown": { "apikey": { "baseCooldownMs": "5000" } } }),
        json!({ "connectionCooldown": { "apikey": { "baseCooldownMs": -1 } } }),
        json!({ "connectionCooldown": { "apikey": { "useUpstreamRetryHints": 1 } } }),
        json!({ "connectionCooldown": [] }),
    ] {
        assert_refused(&world, wrong).await;
    }
    let reply = world.manager().send(Method::PATCH, PATH, Some("{".into())).await;
    assert_eq!((reply.status.as_u16(), &reply.json()["error"]["details"][0]["field"]), (400, &json!("body")));
    let before = tree(&world).await;
    let reply = world
        .managed(Method::PATCH, PATH, Some(json!({ "connectionCooldown": { "apikey": { "baseCooldownMs": 7000 } } })))
        .await;
    assert_eq!((&reply["ok"], &reply["connectionCooldown"]["apikey"]["baseCooldownMs"]), (&json!(true), &json!(7000)));
    let mut expected = before;
    expected["connectionCooldown"]["apikey"]["baseCooldownMs"] = json!(7000);
    assert_eq!(tree(&world).await, expected);
    world.check_invariants().await;
}

#[tokio::test]
async fn every_bound_is_accepted_and_what_lies_beyond_is_not() {
    // SP-05, CB-34, GP-12
    let world = World::start().await;
    let bounds = [
        ("connectionCooldown.apikey.baseCooldownMs", 0, 86_400_000),
        ("connectionCooldown.oauth.baseCooldownMs", 0, 86_400_000),
        ("connectionCooldown.local.baseCooldownMs", 0, 86_400_000),
        ("connectionCooldown.apikey.maxBackoffSteps", 0, 32),
        ("providerBreaker.oauth.resetTimeoutMs", 1_000, 86_400_000),
        ("providerBreaker.local.resetTimeoutMs", 1_000, 86_400_000),
        ("providerCooldown.minRetryCooldownMs", 0, 300_000),
        ("providerCooldown.maxRetryCooldownMs", 300_000, 3_600_000),
        ("modelLockout.baseCooldownMs", 5_000, 600_000),
        ("modelLockout.maxCooldownMs", 600_000, 3_600_000),
        ("modelLockout.maxBackoffSteps", 0, 20),
    ];
    let change = |path: &str, value: i64| path.rsplit('.').fold(json!(value), |inner, name| json!({ name: inner }));
    for (path, least, most) in bounds {
        for value in [least, most] {
            world.resilience(change(path, value)).await;
        }
        for value in [least - 1, most + 1] {
            assert_refused(&world, change(path, value)).await;
        }
    }
    let thresholds = |failure: u32, degradation: u32| json!({ "providerBreaker": { "apikey": { "failureThreshold": failure, "degradationThreshold": degradation } } });
    for (failure, degradation) in [(1_000, 999), (2, 1)] {
        world.resilience(thresholds(failure, degradation)).await;
    }
    for (failure, degradation) in [(0, 1), (1_001, 1), (12, 0), (12, 12), (12, 13)] {
        assert_refused(&world, thresholds(failure, degradation)).await;
    }
    assert_refused(
        &world,
        json!({ "providerCooldown": { "minRetryCooldownMs": 10_000, "maxRetryCooldownMs": 5_000 } }),
    )
    .await;
    world.check_invariants().await;
}

#[tokio::test]
async fn a_hint_switch_can_be_unset_again() {
    // SP-12
    let world = World::start().await;
    let hint = |value: Value| json!({ "connectionCooldown": { "apikey": { "useUpstream429BreakerHints": value } } });
    let unset = tree(&world).await;
    for value in [json!(true), json!(false)] {
        world.resilience(hint(value.clone())).await;
        assert_eq!(tree(&world).await["connectionCooldown"]["apikey"]["useUpstream429BreakerHints"], value);
    }
    world.resilience(hint(Value::Null)).await;
    assert_eq!(tree(&world).await, unset);
    world.check_invariants().await;
}

#[tokio::test]
async fn changing_what_kinds_of_failures_mean_closes_every_breaker() {
    let world = start().await;
    let node = world.node(LO, "local").await;
    let c1 = uncooled(&world, &node, "c1").await;
    world.script(&c1).then(Step::error(503, "down"));
    world
        .resilience(json!({ "providerBreaker": { "local": { "failureThreshold": 2, "degradationThreshold": 1 } } }))
        .await;
    send(&world, LO, 2).await;
    assert_eq!(world.breaker_state(&node).0, "OPEN");
    world.resilience(json!({ "providerBreaker": { "local": { "resetTimeoutMs": 20_000 } } })).await;
    assert_eq!(world.breaker_state(&node).0, "OPEN");
    world.resilience(json!({ "connectionCooldown": { "local": { "useUpstream429BreakerHints": true } } })).await;
    assert_eq!(world.breaker_state(&node).0, "CLOSED");
    world.check_invariants().await;
}

#[tokio::test]
async fn the_local_profile_is_as_editable_as_the_others() {
    // SP-13, SP-07, specification's decision 16
    let world = start().await;
    world.resilience(json!({ "providerBreaker": { "local": { "failureThreshold": 3 } } })).await;
    let node = world.node(LO, "local").await;
    let c1 = uncooled(&world, &node, "c1").await;
    world.script(&c1).then(Step::error(503, "down"));
    send(&world, LO, 2).await;
    assert_eq!(world.breaker_state(&node).0, "DEGRADED");
    send(&world, LO, 1).await;
    assert_eq!(world.breaker_state(&node).0, "OPEN");
    world.check_invariants().await;
}

#[tokio::test]
async fn only_the_token_opens_the_resilience_api_and_anybody_may_see_health() {
    // SP-08, SP-09, SP-11
    let world = start().await;
    for (method, path) in [
        (Method::GET, PATH),
        (Method::PATCH, PATH),
        (Method::POST, "/api/resilience/reset"),
        (Method::GET, "/api/resilience/cooldowns"),
        (Method::POST, "/api/resilience/cooldowns"),
        (Method::GET, "/api/resilience/connections"),
        (Method::GET, "/api/resilience/explain?model=openai/m1"),
        (Method::DELETE, "/api/monitoring/health"),
    ] {
        for client in [world.stranger(), world.agent()] {
            let reply = client.send(method.clone(), path, None).await;
            assert_eq!(reply.status, 401, "{method} {path}: {}", reply.text());
        }
        world.advance(Millis::minutes(1));
    }
    let c1 = world.connect(AK, "a private name").await;
    world.script(&c1).then(Step::error(503, "private words"));
    post_m1(&world, AK).await;
    let reply = world.monitoring().await;
    assert_eq!(reply.status, 200);
    for private in ["private", "127.0.0.1", c1.credential.as_str(), "http:"] {
        assert!(!reply.text().contains(private), "{private}: {}", reply.text());
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn health_shows_an_open_breaker() {
    // SP-10
    let world = World::start().await;
    open(&world, AK, 12).await;
    world.advance(Millis::seconds(2));
    let health = world.monitoring().await.json();
    let breakers = health["providerBreakers"].as_array().expect("breakers");
    let breaker = breakers.iter().find(|breaker| breaker["provider"] == AK).expect("the breaker");
    assert_eq!((&breaker["state"], &breaker["failureCount"]), (&json!("OPEN"), &json!(12)), "{breaker}");
    assert_eq!(breaker["retryAfterMs"], 28_000, "{breaker}");
    let at = breaker["lastFailure"].as_str().and_then(control::view::Instant::parse).expect("an instant");
    assert_eq!(at.timestamp(), world.now() - Millis::seconds(2));
    assert_eq!(health["circuitBreakers"]["open"], 1, "{health}");
    world.check_invariants().await;
}

#[tokio::test]
async fn the_environment_gives_defaults_and_what_is_stored_wins() {
    // GP-11; resilience specification, 26.
    for (value, expected) in [("3", 3), ("0", 15), ("-1", 15), ("abc", 15)] {
        let world = World::start_with(&[("OMNIROUTE_PROVIDER_BREAKER_API_KEY_FAILURE_THRESHOLD", value)]).await;
        let shown = world.managed(Method::GET, "/api/settings", None).await;
        let window = &shown["resilienceSettings"]["providerCooldown"]["apikey"];
        assert_eq!(window["failureThreshold"], expected, "{value}");
        world.check_invariants().await;
    }
    let environment = [
        ("OMNIROUTE_CIRCUIT_BREAKER_API_KEY_THRESHOLD", "20"),
        ("OMNIROUTE_CIRCUIT_BREAKER_API_KEY_RESET_MS", "45000"),
        ("PROVIDER_COOLDOWN_ENABLED", "on"),
    ];
    let mut world = World::start_with(&environment).await;
    let shown = tree(&world).await;
    assert_eq!(shown["providerBreaker"]["apikey"]["failureThreshold"], 20);
    assert_eq!(shown["providerBreaker"]["apikey"]["resetTimeoutMs"], 45_000);
    assert_eq!(shown["providerCooldown"]["enabled"], true);
    world.resilience(json!({ "providerBreaker": { "apikey": { "failureThreshold": 9 } } })).await;
    world.restart().await;
    assert_eq!(tree(&world).await["providerBreaker"]["apikey"]["failureThreshold"], 9);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_direct_request_does_not_ask_the_provider_cooldown() {
    // GP-09, GP-10
    let world = World::start().await;
    world.resilience(json!({ "providerCooldown": { "enabled": true } })).await;
    let c1 = uncooled(&world, AK, "c1").await;
    world.script(&c1).then(Step::error(429, "slow down"));
    send(&world, AK, 20).await;
    assert_eq!(world.calls(&c1).len(), 20);
    assert_eq!((world.cooling(&c1), world.breaker_state(AK)), (None, ("CLOSED", 0)));
    world.check_invariants().await;
}
