//! Local keys over the management API: made once, changed, rotated, revoked, all at once.

use acceptance::World;
use http::Method;
use serde_json::{Value, json};

use crate::events::{listen, until_topic};
use crate::rules::assert_error;

async fn status(world: &World, key: &str) -> u16 {
    world.advance(domain::Millis::minutes(1));
    world.stranger().with_key(key).get("/v1/models").await.status.as_u16()
}

async fn id_of(world: &World, name: &str) -> String {
    let keys = world.managed(Method::GET, "/api/keys", None).await;
    let found = keys["keys"].as_array().expect("keys").iter().find(|key| key["name"] == name).cloned();
    found.expect("the key")["id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn a_key_is_shown_once_and_works_at_once() {
    let world = World::start().await;
    let reply =
        world.manage(Method::POST, "/api/keys", Some(json!({"name": "laptop", "scopes": ["self:usage"]}))).await;
    assert_eq!(reply.status, 201);
    let made = reply.json();
    let key = made["key"].as_str().expect("a key");
    assert!(key.starts_with("sk-omni-") && key.len() == "sk-omni-".len() + 43, "{key}");
    assert_eq!(made["record"]["tail"].as_str(), key.get(key.len() - 4..));
    assert_eq!(status(&world, key).await, 200);
    let list = world.managed(Method::GET, "/api/keys", None).await;
    assert!(!list.to_string().contains(key));
    assert!(list["keys"].as_array().expect("keys").iter().all(|key| key.get("hash").is_none()));
    let database = std::fs::read(world.folder().join("omniroute.sqlite")).expect("a database");
    let log = std::fs::read(world.folder().join("omniroute.sqlite-wal")).unwrap_or_default();
    assert!(![database, log].iter().any(|bytes| bytes.windows(key.len()).any(|window| window == key.as_bytes())));
}

#[tokio::test]
async fn rotating_and_revoking_take_effect_at_once() {
    let mut world = World::start().await;
    let old = world.make_key(json!({"name": "one"})).await;
    let id = id_of(&world, "one").await;
    let rotated = world.managed(Method::POST, &format!("/api/keys/{id}/rotate"), None).await;
    let new = rotated["key"].as_str().expect("a key").to_owned();
    assert_eq!(rotated["record"]["id"], json!(id));
    assert_eq!((status(&world, &old).await, status(&world, &new).await), (401, 200));
    world.managed(Method::PATCH, &format!("/api/keys/{id}"), Some(json!({"isActive": false}))).await;
    assert_eq!(status(&world, &new).await, 401);
    world.managed(Method::PATCH, &format!("/api/keys/{id}"), Some(json!({"isActive": true}))).await;
    assert_eq!(status(&world, &new).await, 200);
    assert_eq!(world.managed(Method::DELETE, &format!("/api/keys/{id}"), None).await, json!({"ok": true}));
    assert_eq!(status(&world, &new).await, 401);
    world.restart().await;
    assert_eq!(status(&world, &new).await, 401);
    let first = world.key.clone();
    assert_eq!(status(&world, &first).await, 200);
}

#[tokio::test]
async fn an_expiry_is_set_changed_and_unset() {
    let world = World::start().await;
    let key = world.make_key(json!({"name": "one", "expiresAt": "2026-01-01T00:00:00.000Z"})).await;
    assert_eq!(status(&world, &key).await, 401);
    let path = format!("/api/keys/{}", id_of(&world, "one").await);
    world.managed(Method::PATCH, &path, Some(json!({"expiresAt": "2100-01-01T00:00:00.000Z"}))).await;
    assert_eq!(status(&world, &key).await, 200);
    let record =
        world.managed(Method::PATCH, &path, Some(json!({"expiresAt": null, "name": "renamed"}))).await["record"]
            .clone();
    assert_eq!((&record["expiresAt"], &record["name"]), (&Value::Null, &json!("renamed")));
    assert_eq!(status(&world, &key).await, 200);
}

#[tokio::test]
async fn limits_are_checked_when_they_are_set() {
    let world = World::start().await;
    for (body, field) in [
        (json!({"name": "a", "allowedConnections": ["nobody"]}), "allowedConnections"),
        (json!({"name": "a", "scopes": ["lease:exclusive"]}), "allowedConnections"),
        (json!({"name": "a", "allowedModels": [""]}), "allowedModels"),
    ] {
        let reply = world.manage(Method::POST, "/api/keys", Some(body.clone())).await;
        assert_error(&reply, 400, "invalid_request");
        let found = reply.json()["error"]["details"][0]["field"].clone();
        assert!(found.as_str().is_some_and(|found| found.starts_with(field)), "{body}: {}", reply.text());
    }
}

#[tokio::test]
async fn what_a_key_may_spend_is_kept_changed_and_unset() {
    let mut world = World::start().await;
    let connection = world.connect("openai", "c1").await;
    let limits = json!({
        "allowedModels": ["openai/*"], "allowedCombos": ["auto/coding"], "allowedConnections": [connection.id],
        "preferredConnections": [connection.id],
        "excludedAutoCandidates": { "coding": [{ "connectionId": connection.id, "model": "m1" }] },
        "budgetDailyUsd": 1.5, "budgetWeeklyUsd": 5.0, "budgetMonthlyUsd": 20.0, "warningThreshold": 0.5,
        "resetInterval": "weekly", "resetTime": "06:30",
        "tokenLimits": [
            { "scopeType": "global", "scopeValue": null, "tokenLimit": 100, "resetInterval": null },
            { "scopeType": "provider", "scopeValue": "openai", "tokenLimit": 90, "resetInterval": "daily" },
            { "scopeType": "model", "scopeValue": "openai/m*", "tokenLimit": 80, "resetInterval": "monthly" },
        ],
    });
    let mut body = limits.clone();
    body["name"] = "one".into();
    world.make_key(body).await;
    let path = format!("/api/keys/{}", id_of(&world, "one").await);
    world.restart().await;
    let record = world.managed(Method::GET, "/api/keys", None).await["keys"][1].clone();
    for (member, value) in limits.as_object().expect("members") {
        assert_eq!(&record[member], value, "{member}");
    }
    let intervals: Vec<&str> =
        record["limitUse"].as_array().expect("limits").iter().filter_map(|limit| limit["interval"].as_str()).collect();
    assert_eq!(intervals, ["daily", "weekly", "monthly", "weekly", "daily", "monthly"]);

    let change =
        json!({ "budgetDailyUsd": null, "budgetWeeklyUsd": 6.0, "tokenLimits": null, "warningThreshold": null });
    let record = world.managed(Method::PATCH, &path, Some(change)).await["record"].clone();
    assert_eq!((&record["budgetDailyUsd"], &record["budgetWeeklyUsd"]), (&Value::Null, &json!(6.0)));
    assert_eq!((&record["budgetMonthlyUsd"], &record["warningThreshold"]), (&json!(20.0), &json!(0.8)));
    assert_eq!((&record["tokenLimits"], &record["resetTime"]), (&json!([]), &json!("06:30")));
    let unset =
        json!({ "resetInterval": null, "resetTime": null, "excludedAutoCandidates": null, "allowedCombos": null });
    let record = world.managed(Method::PATCH, &path, Some(unset)).await["record"].clone();
    assert_eq!((&record["resetInterval"], &record["resetTime"]), (&json!("daily"), &json!("00:00")));
    assert_eq!((&record["excludedAutoCandidates"], &record["allowedCombos"]), (&json!({}), &json!([])));
}

#[tokio::test]
async fn limits_that_make_no_sense_are_refused_by_name_and_change_nothing() {
    let world = World::start().await;
    let [first, second] = [world.connect("openai", "c1").await.id, world.connect("openai", "c2").await.id];
    let tokens = |limit: Value| json!({ "tokenLimits": [{ "scopeType": "global", "tokenLimit": 1 }, limit] });
    world.make_key(json!({ "name": "one", "allowedConnections": [first] })).await;
    let path = format!("/api/keys/{}", id_of(&world, "one").await);
    let before = world.managed(Method::GET, "/api/keys", None).await;
    for (change, field) in [
        (json!({ "budgetDailyUsd": 0 }), "budgetDailyUsd"),
        (json!({ "budgetWeeklyUsd": -1.0 }), "budgetWeeklyUsd"),
        (json!({ "budgetMonthlyUsd": 1e9 }), "budgetMonthlyUsd"),
        (json!({ "warningThreshold": 80 }), "warningThreshold"),
        (json!({ "warningThreshold": 0 }), "warningThreshold"),
        (json!({ "resetTime": "24:00" }), "resetTime"),
        (json!({ "resetInterval": "yearly" }), "resetInterval"),
        (json!({ "allowedCombos": ["nobody"] }), "allowedCombos"),
        (json!({ "preferredConnections": [second] }), "preferredConnections"),
        (json!({ "preferredConnections": ["nobody"] }), "preferredConnections"),
        (json!({ "preferredConnections": [first], "allowedConnections": [second] }), "preferredConnections"),
        (json!({ "excludedAutoCandidates": { "coding:nonsense": [] } }), "excludedAutoCandidates"),
        (
            json!({ "excludedAutoCandidates": { "auto": [{ "connectionId": "x", "model": "m" }] } }),
            "excludedAutoCandidates",
        ),
        (tokens(json!({ "scopeType": "global", "tokenLimit": 0 })), "tokenLimits[1].tokenLimit"),
        (tokens(json!({ "scopeType": "global", "scopeValue": "x", "tokenLimit": 1 })), "tokenLimits[1].scopeValue"),
        (tokens(json!({ "scopeType": "model", "tokenLimit": 1 })), "tokenLimits[1].scopeValue"),
        (tokens(json!({ "scopeType": "provider", "scopeValue": "x", "tokenLimit": 1 })), "tokenLimits[1].scopeValue"),
        (tokens(json!({ "scopeType": "planet", "tokenLimit": 1 })), "tokenLimits[1].scopeType"),
    ] {
        let reply = world.manage(Method::PATCH, &path, Some(change.clone())).await;
        assert_error(&reply, 400, "invalid_request");
        let found = reply.json()["error"]["details"][0]["field"].clone();
        assert!(found.as_str().is_some_and(|found| found.starts_with(field)), "{change}: {}", reply.text());
    }
    assert_eq!(world.managed(Method::GET, "/api/keys", None).await, before);
}

#[tokio::test]
async fn whoever_looks_is_told_when_a_key_comes_near_its_limit() {
    let world = World::start().await;
    world.connect("openai", "c1").await;
    let limit = json!([{ "scopeType": "global", "tokenLimit": 40 }]);
    let key = world.make_key(json!({ "name": "one", "tokenLimits": limit, "warningThreshold": 0.9 })).await;
    let mut events = listen(&world, "?topics=keys").await;
    let ask = || async {
        let body = acceptance::chat_body("openai/m1", false);
        let reply = world.stranger().with_key(&key).post("/v1/chat/completions", body).await;
        (reply.status.as_u16(), world.managed(Method::GET, "/api/keys", None).await["keys"][1]["limitUse"][0].clone())
    };
    let (status, used) = ask().await;
    assert_eq!((status, &used["level"], &used["used"]), (200, &json!("within"), &json!(19.0)));
    let (status, used) = ask().await;
    assert_eq!((status, &used["level"], &used["used"]), (200, &json!("warning"), &json!(38.0)));
    until_topic(&world, &mut events, "keys").await;
    let (status, used) = ask().await;
    assert_eq!((status, &used["level"], &used["limit"]), (200, &json!("exceeded"), &json!(40.0)));
    until_topic(&world, &mut events, "keys").await;
    assert_eq!(ask().await.0, 429);
}
