//! Local keys over the management API: made once, changed, rotated, revoked, all at once.

use acceptance::World;
use http::Method;
use serde_json::{Value, json};

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
        (json!({"name": "a", "scopes": ["lease:exclusive"]}), "scopes"),
        (json!({"name": "a", "allowedModels": [""]}), "allowedModels"),
    ] {
        let reply = world.manage(Method::POST, "/api/keys", Some(body.clone())).await;
        assert_error(&reply, 400, "invalid_request");
        let found = reply.json()["error"]["details"][0]["field"].clone();
        assert!(found.as_str().is_some_and(|found| found.starts_with(field)), "{body}: {}", reply.text());
    }
}
