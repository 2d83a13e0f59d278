//! Who may use the agent surface: local keys, their carriers and their limits (gateway specification, 1.3).

use acceptance::{Ask, World, chat_body, gemini_body};
use domain::{Dialect, Millis};
use futures_util::poll;
use http::Method;
use serde_json::json;
use std::pin::pin;
use std::time::Duration;

use crate::fixtures::assert_refused;

#[tokio::test]
async fn every_carrier_opens_the_door_in_every_dialect() {
    let world = World::start().await;
    world.connect_all().await;
    for ask in Ask::all(false) {
        let bearer = format!("Bearer {}", world.key);
        for (name, value) in
            [("authorization", bearer.as_str()), ("x-api-key", &world.key), ("x-goog-api-key", &world.key)]
        {
            let reply = world.stranger().with(name, value).post(&ask.path, ask.body.clone()).await;
            assert_eq!(reply.status, 200, "{name} {}: {}", ask.path, reply.text());
        }
        let lower = format!("bearer {}", world.key);
        assert_eq!(world.stranger().with("authorization", &lower).post(&ask.path, ask.body.clone()).await.status, 200);
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_key_in_the_query_counts_under_v1beta_only() {
    let world = World::start().await;
    world.connect_all().await;
    let key = &world.key;
    for (path, body, status) in [
        (format!("/v1beta/models/gemini/m1:generateContent?key={key}"), gemini_body(), 200),
        (format!("/v1/models/gemini/m1:generateContent?key={key}"), gemini_body(), 401),
        (format!("/v1/chat/completions?key={key}"), chat_body("openai/m1", false), 401),
    ] {
        let reply = world.stranger().post(&path, body).await;
        assert_eq!(reply.status, status, "{path}: {}", reply.text());
    }
    assert_eq!(world.stranger().get(&format!("/v1beta/models?key={key}")).await.status, 200);
    assert_eq!(world.stranger().get(&format!("/v1/models?key={key}")).await.status, 401);
    world.check_invariants().await;
}

#[tokio::test]
async fn the_first_known_key_counts_and_other_values_are_ignored() {
    let world = World::start().await;
    world.connect("anthropic", "c1").await;
    let ask = Ask::new(Dialect::Messages, false);
    let agent = world.stranger().with("authorization", "Bearer oauth-of-somewhere-else").with("x-api-key", &world.key);
    assert_eq!(agent.post(&ask.path, ask.body).await.status, 200);
    world.check_invariants().await;
}

#[tokio::test]
async fn an_absent_wrong_disabled_or_expired_key_is_a_401_in_the_dialect() {
    let world = World::start().await;
    world.connect_all().await;
    let off = world.make_key(json!({"name": "off"})).await;
    let old = world.make_key(json!({"name": "old", "expiresAt": "2026-09-22T00:00:00.000Z"})).await;
    let gone = world.make_key(json!({"name": "gone"})).await;
    let keys = world.managed(Method::GET, "/api/keys", None).await;
    let id = |name: &str| {
        let keys = keys["keys"].as_array().expect("keys");
        keys.iter().find(|key| key["name"] == name).and_then(|key| key["id"].as_str()).expect("a key").to_owned()
    };
    world.managed(Method::PATCH, &format!("/api/keys/{}", id("off")), Some(json!({"isActive": false}))).await;
    world.managed(Method::DELETE, &format!("/api/keys/{}", id("gone")), None).await;
    world.advance(Millis::hours(24 * 30));
    for ask in Ask::all(false) {
        for (key, hint) in [
            ("", "no local key"),
            ("dummy", "not known"),
            (off.as_str(), "switched off"),
            (&old, "expired"),
            (&gone, "not known"),
        ] {
            // Each in a minute of its own, so that the throttle stays out of it.
            world.advance(Millis::minutes(1));
            let agent = if key.is_empty() { world.stranger() } else { world.stranger().with_key(key) };
            let reply = agent.post(&ask.path, ask.body.clone()).await;
            assert_refused(&ask, &reply, 401);
            assert!(reply.error_message().contains(hint), "{}", reply.text());
        }
    }
    assert!(world.upstream.calls(None).is_empty());
    world.check_invariants().await;
}

#[tokio::test]
async fn a_first_start_without_keys_says_how_to_make_one() {
    let world = World::start_without_key(&[]).await;
    let ask = Ask::new(Dialect::Chat, false);
    let reply = world.stranger().with_key("dummy").post(&ask.path, ask.body.clone()).await;
    assert_refused(&ask, &reply, 401);
    assert!(reply.error_message().contains("omniroute key create"), "{}", reply.text());
    world.check_invariants().await;
}

#[tokio::test]
async fn keys_can_be_left_out_when_the_owner_says_so() {
    let world = World::start().await;
    world.connect("openai", "c1").await;
    let ask = Ask::new(Dialect::Chat, false);
    world.set(json!({"gateway": {"requireApiKey": false}})).await;
    assert_eq!(world.stranger().post(&ask.path, ask.body.clone()).await.status, 200);
    assert_eq!(world.stranger().get("/v1/models").await.status, 200);
    let row = world.last_request().await;
    assert_eq!((&row["keyId"], &row["keyName"]), (&json!(null), &json!(null)));
    // A placeholder is a wrong key and not an absent one.
    assert_refused(&ask, &world.stranger().with_key("dummy").post(&ask.path, ask.body.clone()).await, 401);
    // A key that is known still counts, with its limits.
    let narrow = world.make_key(json!({"name": "narrow", "allowedModels": ["openai/other"]})).await;
    let reply = world.stranger().with_key(&narrow).post(&ask.path, ask.body.clone()).await;
    assert_refused(&ask, &reply, 403);
    world.set(json!({"gateway": {"requireApiKey": true}})).await;
    assert_refused(&ask, &world.stranger().post(&ask.path, ask.body.clone()).await, 401);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_management_token_is_no_local_key() {
    let world = World::start().await;
    world.connect("openai", "c1").await;
    let ask = Ask::new(Dialect::Chat, false);
    assert_refused(&ask, &world.manager().post(&ask.path, ask.body.clone()).await, 401);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_key_reaches_only_its_models() {
    let world = World::start().await;
    let connection = world.connect("openai", "c1").await;
    world.managed(Method::POST, "/api/models/aliases", Some(json!({"alias": "fast", "target": "openai/m1"}))).await;
    let key = world.make_key(json!({"name": "narrow", "allowedModels": ["openai/m*", "nothing/*"]})).await;
    let agent = world.stranger().with_key(&key);
    for (model, status) in [("openai/m1", 200), ("fast", 200), ("openai/m22", 200), ("openai/other", 403)] {
        let reply = agent.post("/v1/chat/completions", chat_body(model, false)).await;
        assert_eq!(reply.status, status, "{model}: {}", reply.text());
        if status == 403 {
            assert_eq!(reply.json()["error"]["type"], "permission_error");
        }
    }
    assert_eq!(world.calls(&connection).len(), 3);
    let listed = agent.get("/v1/models").await;
    assert!(
        listed.json()["data"]
            .as_array()
            .expect("models")
            .iter()
            .all(|model| { model["id"].as_str().is_some_and(|id| id.trim_start_matches("openai/").starts_with('m')) })
    );
    world.check_invariants().await;
}

#[tokio::test]
async fn a_key_reaches_only_its_connections() {
    let world = World::start().await;
    let first = world.connect("openai", "first").await;
    let second = world.connect("openai", "second").await;
    world.connect("anthropic", "third").await;
    let key = world.make_key(json!({"name": "narrow", "allowedConnections": [second.id]})).await;
    let agent = world.stranger().with_key(&key);
    let reply = agent.post("/v1/chat/completions", chat_body("openai/m1", false)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!((world.calls(&first).len(), world.calls(&second).len()), (0, 1));
    // Not even when its own one fails.
    world.script(&second).then(fake_upstream::Step::error(503, "down"));
    assert_eq!(agent.post("/v1/chat/completions", chat_body("openai/m1", false)).await.status, 503);
    assert!(world.calls(&first).is_empty());
    let ask = Ask::new(Dialect::Messages, false);
    assert_refused(&ask, &agent.post(&ask.path, ask.body.clone()).await, 403);
    let listed = agent.get("/v1/models").await;
    assert!(!listed.text().contains("anthropic"), "{}", listed.text());
    world.check_invariants().await;
}

#[tokio::test]
async fn wrong_keys_are_slowed_down_and_a_valid_one_never_is() {
    let world = World::start().await;
    world.connect("openai", "c1").await;
    let ask = Ask::new(Dialect::Chat, false);
    let guesser = world.stranger().with_key("sk-omni-guess");
    for _ in 0..20 {
        assert_eq!(guesser.post(&ask.path, ask.body.clone()).await.status, 401);
    }
    let reply = guesser.post(&ask.path, ask.body.clone()).await;
    assert_refused(&ask, &reply, 429);
    assert_eq!(reply.header("retry-after"), Some("60"));
    assert_eq!(world.agent().post(&ask.path, ask.body.clone()).await.status, 200);
    // Wrong management tokens are counted with them.
    assert_eq!(guesser.get("/api/keys").await.status, 429);
    assert_eq!(world.manager().get("/api/keys").await.status, 200);
    world.advance(Millis::minutes(1));
    assert_eq!(guesser.post(&ask.path, ask.body.clone()).await.status, 401);
    world.check_invariants().await;
}

#[tokio::test]
async fn the_last_use_of_a_key_is_remembered() {
    let world = World::start().await;
    world.connect("openai", "c1").await;
    let ask = Ask::new(Dialect::Chat, false);
    world.agent().post(&ask.path, ask.body.clone()).await;
    world.requests().await;
    let keys = world.managed(Method::GET, "/api/keys", None).await;
    assert!(keys["keys"][0]["lastUsedAt"].is_string(), "{keys}");
    assert_eq!(keys["keys"][0]["tail"].as_str().map(str::len), Some(4));
    assert!(!keys.to_string().contains(&world.key));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_reading_of_the_keys_that_began_before_one_was_revoked_does_not_bring_it_back() {
    let world = World::start().await;
    world.connect("openai", "c1").await;
    for polls in 0..12 {
        let text = world.make_key(json!({ "name": format!("k{polls}") })).await;
        let keys = world.managed(Method::GET, "/api/keys", None).await;
        let id = keys["keys"].as_array().and_then(|keys| keys.last()?["id"].as_str()).expect("an id").to_owned();
        let mut reading = pin!(world.gateway().reload_keys());
        // It gets so far, and no further until the key is gone, or its revocation waits.
        let mut is_over = false;
        for _ in 0..polls {
            is_over = is_over || poll!(reading.as_mut()).is_ready();
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let manager = world.manager();
        let mut revoking =
            tokio::spawn(async move { manager.send(Method::DELETE, &format!("/api/keys/{id}"), None).await });
        let revoked = tokio::time::timeout(Duration::from_millis(250), &mut revoking).await.ok();
        if !is_over {
            reading.await.expect("keys");
        }
        let reply = match revoked {
            Some(reply) => reply,
            None => revoking.await,
        };
        assert_eq!(reply.expect("a reply").status, 200);
        let agent = world.stranger().with_key(&text);
        let status = agent.post("/v1/chat/completions", chat_body("openai/m1", false)).await.status;
        assert_eq!(status, 401, "after {polls} steps");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn changes_of_one_key_at_the_same_time_all_hold() {
    let world = World::start().await;
    world.connect("openai", "c1").await;
    for round in 0..10 {
        let text = world.make_key(json!({ "name": format!("k{round}") })).await;
        let keys = world.managed(Method::GET, "/api/keys", None).await;
        let id = keys["keys"].as_array().and_then(|keys| keys.last()?["id"].as_str()).expect("an id").to_owned();
        let (path, rotation) = (format!("/api/keys/{id}"), format!("/api/keys/{id}/rotate"));
        let change = |body: serde_json::Value| world.managed(Method::PATCH, &path, Some(body));
        let (_, _, rotated, _) = tokio::join!(
            change(json!({ "budgetDailyUsd": 5.0 })),
            change(json!({ "allowedModels": ["openai/*"] })),
            world.manage(Method::POST, &rotation, None),
            change(json!({ "name": format!("renamed {round}") })),
        );
        assert_eq!(rotated.status, 200, "{}", rotated.text());
        let status = world.stranger().with_key(&text).get("/v1/models").await.status;
        assert_eq!(status, 401, "the old text stays stopped");
        let keys = world.managed(Method::GET, "/api/keys", None).await;
        let key = keys["keys"].as_array().and_then(|keys| keys.last()).expect("the key");
        let found = (&key["name"], &key["budgetDailyUsd"], &key["allowedModels"]);
        assert_eq!(found, (&json!(format!("renamed {round}")), &json!(5.0), &json!(["openai/*"])), "{key}");
    }
    world.check_invariants().await;
}
