//! Accounts: add, change, order, delete with undo, test.

use acceptance::{Reply, World, chat_body};
use domain::Millis;
use fake_upstream::Step;
use http::Method;
use serde_json::{Value, json};

use crate::rules::assert_error;

#[tokio::test]
async fn a_connection_is_added_shown_without_its_credential_and_used() {
    let world = World::start().await;
    let connection = world.connect("openai", "work").await;
    let shown = world.connection(&connection).await;
    assert_eq!((&shown["provider"], &shown["name"], &shown["priority"]), (&json!("openai"), &json!("work"), &json!(1)));
    assert_eq!((&shown["hasCredential"], &shown["isActive"]), (&json!(true), &json!(true)));
    let tail = &connection.credential[connection.credential.len() - 4..];
    assert_eq!(shown["credentialTail"], tail);
    assert!(!shown.to_string().contains(&connection.credential));
    for absent in ["email", "maxConcurrent", "proxyUrl", "rateLimitedUntil", "lastError"] {
        assert!(
            shown.as_object().is_some_and(|members| members.contains_key(absent)),
            "{absent} is null, not left out"
        );
        assert_eq!(shown[absent], Value::Null, "{absent}");
    }
    assert!(shown["createdAt"].as_str().is_some_and(|at| at.ends_with('Z') && at.len() == 24), "{shown}");
    assert_eq!(world.agent().post("/v1/chat/completions", chat_body("openai/m1", false)).await.status, 200);
    // At rest neither.
    world.requests().await;
    for entry in std::fs::read_dir(world.folder()).expect("a folder") {
        let bytes = std::fs::read(entry.expect("an entry").path()).unwrap_or_default();
        let secret = connection.credential.as_bytes();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret));
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_wrong_draft_adds_nothing() {
    let world = World::start().await;
    world.connect("openai", "taken").await;
    let base = world.upstream.base_url(domain::Dialect::Chat);
    for (body, status, field) in [
        (json!({"name": "a", "apiKey": "k"}), 400, "provider"),
        (json!({"provider": "nobody", "name": "a", "apiKey": "k"}), 400, "provider"),
        (json!({"provider": "openai", "name": " ", "apiKey": "k"}), 400, "name"),
        (json!({"provider": "openai", "name": "a", "apiKey": "line\nbreak"}), 400, "apiKey"),
        (json!({"provider": "openai", "name": "a", "apiKey": "k", "priority": 0}), 400, "priority"),
        (json!({"provider": "openai", "name": "a", "apiKey": "k", "maxConcurrent": 0}), 400, "maxConcurrent"),
        (json!({"provider": "openai", "name": "a", "apiKey": "k", "proxyUrl": "ftp://x"}), 400, "proxyUrl"),
        (
            json!({"provider": "openai", "name": "a", "apiKey": "k", "providerSpecificData": {"baseUrl": "no url"}}),
            400,
            "providerSpecificData.baseUrl",
        ),
        (
            json!({"provider": "openai", "name": "a", "apiKey": "k", "providerSpecificData": {"baseUrl": "http://169.254.169.254/v1"}}),
            400,
            "providerSpecificData.baseUrl",
        ),
        (
            json!({"provider": "openai", "name": "a", "apiKey": "k", "providerSpecificData": {"baseUrl": world.url()}}),
            400,
            "providerSpecificData.baseUrl",
        ),
        (json!({"provider": "openai", "name": "a", "apiKey": "k", "nonsense": base}), 400, "nonsense"),
    ] {
        let reply = world.manage(Method::POST, "/api/providers", Some(body.clone())).await;
        assert_error(&reply, status, "invalid_request");
        assert_eq!(reply.json()["error"]["details"][0]["field"], field, "{body}: {}", reply.text());
    }
    let again = json!({"provider": "openai", "name": "taken", "apiKey": "k"});
    assert_error(&world.manage(Method::POST, "/api/providers", Some(again)).await, 409, "conflict");
    assert_eq!(world.connections().await.len(), 1);
}

#[tokio::test]
async fn a_patch_merges_null_unsets_and_what_is_absent_stays() {
    let world = World::start().await;
    let connection = world.connect("openai", "c1").await;
    let path = format!("/api/providers/{}", connection.id);
    let first = json!({
        "maxConcurrent": 3, "tags": ["a", "b"], "defaultModel": "m1", "proxyUrl": "http://127.0.0.1:1",
        "providerSpecificData": {"disableCooling": true, "region": "eu"},
    });
    let shown = world.managed(Method::PATCH, &path, Some(first)).await["connection"].clone();
    assert_eq!((&shown["maxConcurrent"], &shown["tags"]), (&json!(3), &json!(["a", "b"])));
    let base = shown["providerSpecificData"]["baseUrl"].clone();
    assert!(base.is_string(), "what was not named stays: {shown}");

    let second =
        json!({"maxConcurrent": null, "tags": ["c"], "proxyUrl": null, "providerSpecificData": {"region": null}});
    let shown = world.managed(Method::PATCH, &path, Some(second)).await["connection"].clone();
    assert_eq!(
        (&shown["maxConcurrent"], &shown["tags"], &shown["defaultModel"]),
        (&Value::Null, &json!(["c"]), &json!("m1"))
    );
    let specific = &shown["providerSpecificData"];
    assert_eq!((&specific["baseUrl"], &specific["disableCooling"]), (&base, &json!(true)), "{specific}");
    assert!(specific.get("region").is_none_or(Value::is_null), "{specific}");

    let untouched = world.managed(Method::PATCH, &path, Some(json!({}))).await["connection"].clone();
    assert_eq!((&untouched["tags"], &untouched["hasCredential"]), (&shown["tags"], &json!(true)));
    let reply = world.manage(Method::PATCH, &path, Some(json!({"tags": ["d"], "priority": 0}))).await;
    assert_error(&reply, 400, "invalid_request");
    assert_eq!(world.connection(&connection).await["tags"], json!(["c"]), "all or nothing");
    assert_error(
        &world.manage(Method::PATCH, &path, Some(json!({"provider": "gemini"}))).await,
        400,
        "invalid_request",
    );
}

#[tokio::test]
async fn a_stale_change_is_refused() {
    let world = World::start().await;
    let connection = world.connect("openai", "c1").await;
    let path = format!("/api/providers/{}", connection.id);
    let seen = world.connection(&connection).await["updatedAt"].clone();
    let change = |name: &str| json!({"name": name, "updatedAt": seen});
    world.managed(Method::PATCH, &path, Some(change("first"))).await;
    assert_error(&world.manage(Method::PATCH, &path, Some(change("second"))).await, 409, "conflict");
    assert_eq!(world.connection(&connection).await["name"], "first");
}

#[tokio::test]
async fn a_change_is_live_when_the_reply_is_there() {
    let world = World::start().await;
    let first = world.connect("openai", "first").await;
    let second = world.connect("openai", "second").await;
    let ask = || async { world.agent().post("/v1/chat/completions", chat_body("openai/m1", false)).await };
    let served_by = |reply: &Reply| reply.header("x-omniroute-selected-connection-id").map(str::to_owned);
    assert_eq!(served_by(&ask().await).as_deref(), Some(first.id.as_str()));
    let path = format!("/api/providers/{}", first.id);
    world.managed(Method::PATCH, &path, Some(json!({"isActive": false}))).await;
    assert_eq!(served_by(&ask().await).as_deref(), Some(second.id.as_str()));
    world.managed(Method::PATCH, &path, Some(json!({"isActive": true, "apiKey": "another-credential"}))).await;
    assert_eq!(served_by(&ask().await).as_deref(), Some(first.id.as_str()));
    assert_eq!(world.upstream.calls("another-credential").len(), 1);
    world.managed(Method::DELETE, &path, None).await;
    assert_eq!(served_by(&ask().await).as_deref(), Some(second.id.as_str()));
}

#[tokio::test]
async fn a_deleted_connection_can_be_brought_back_as_it_was() {
    let mut world = World::start().await;
    let first = world.connect("openai", "first").await;
    world.connect("openai", "second").await;
    let path = format!("/api/providers/{}", first.id);
    let before = world.connection(&first).await;
    assert_eq!(world.managed(Method::DELETE, &path, None).await, json!({"ok": true}));
    assert_error(&world.manage(Method::GET, &path, None).await, 404, "not_found");
    assert_error(&world.manage(Method::DELETE, &path, None).await, 404, "not_found");
    assert_eq!(world.connections().await.len(), 1);
    world.restart().await;
    assert_eq!(world.connections().await.len(), 1);
    let back = world.managed(Method::POST, &format!("{path}/restore"), None).await["connection"].clone();
    for member in ["id", "name", "provider", "hasCredential", "credentialTail", "providerSpecificData", "createdAt"] {
        assert_eq!(back[member], before[member], "{member}");
    }
    let reply = world.agent().post("/v1/chat/completions", chat_body("openai/m1", false)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(world.calls(&first).len() + world.upstream.calls(None).len(), 2, "the credential came back too");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_name_that_was_taken_meanwhile_stands_in_the_way_of_a_restore() {
    let world = World::start().await;
    let first = world.connect("openai", "same").await;
    world.managed(Method::DELETE, &format!("/api/providers/{}", first.id), None).await;
    world.connect("openai", "same").await;
    let reply = world.manage(Method::POST, &format!("/api/providers/{}/restore", first.id), None).await;
    assert_error(&reply, 409, "conflict");
}

#[tokio::test]
async fn the_order_is_set_as_a_whole() {
    let world = World::start().await;
    let [a, b, c] =
        [world.connect("openai", "a").await, world.connect("openai", "b").await, world.connect("openai", "c").await];
    let other = world.connect("anthropic", "x").await;
    let order = |ids: &[&str]| json!({"provider": "openai", "connectionIds": ids});
    let reply = world.managed(Method::PUT, "/api/providers/order", Some(order(&[&c.id, &a.id, &b.id]))).await;
    let names: Vec<&Value> =
        reply["connections"].as_array().expect("connections").iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["c", "a", "b"]);
    for wrong in [
        vec![c.id.as_str(), &a.id],
        vec![&c.id, &a.id, &a.id],
        vec![&c.id, &a.id, &b.id, &other.id],
        vec![&c.id, &a.id, "nobody"],
    ] {
        let reply = world.manage(Method::PUT, "/api/providers/order", Some(order(&wrong))).await;
        assert!(matches!(reply.status.as_u16(), 400 | 404 | 409), "{wrong:?}: {}", reply.text());
    }
    let names: Vec<Value> = world.managed(Method::GET, "/api/providers?provider=openai", None).await["connections"]
        .as_array()
        .expect("connections")
        .iter()
        .map(|one| one["name"].clone())
        .collect();
    assert_eq!(names, ["c", "a", "b"], "a wrong order changes nothing");
}

#[tokio::test]
async fn a_test_says_exactly_what_is_wrong_and_changes_nothing_when_it_fails() {
    let world = World::start().await;
    let connection = world.connect("openai", "c1").await;
    let test = format!("/api/providers/{}/test", connection.id);
    world.upstream.script(connection.credential.as_str(), fake_upstream::LIST_MODELS).then(Step::error(401, "bad key"));
    world.script(&connection).then(Step::error(401, "bad key"));
    let reply = world.managed(Method::POST, &test, Some(json!({}))).await;
    assert_eq!((&reply["ok"], &reply["status"]), (&json!(false), &json!(401)), "{reply}");
    assert_eq!(reply["error"]["code"], "unauthorized", "{reply}");
    assert!(!reply.to_string().contains(&connection.credential), "{reply}");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let closed = format!("http://{}/v1", listener.local_addr().expect("an address"));
    drop(listener);
    for (base_url, code) in [(closed.as_str(), "refused"), ("https://does-not-exist.invalid/v1", "dns")] {
        let broken = world.connect_to("openai", code, base_url).await;
        let reply = world.managed(Method::POST, &format!("/api/providers/{}/test", broken.id), Some(json!({}))).await;
        assert_eq!((&reply["ok"], &reply["error"]["code"]), (&json!(false), &json!(code)), "{reply}");
    }
    world.upstream.reset();
    world.script(&connection).then(Step::ok("Hello"));
    let reply = world.managed(Method::POST, &test, Some(json!({"model": "m1"}))).await;
    assert_eq!((&reply["ok"], &reply["error"]), (&json!(true), &Value::Null), "{reply}");
    assert_eq!(world.requests().await.len(), 0, "a test is no request of an agent's");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_failure_is_shown_until_a_success_or_a_reset() {
    let world = World::start().await;
    let connection = world.connect("openai", "c1").await;
    world
        .script(&connection)
        .then(Step::error(503, "no capacity"))
        .then(Step::error(503, "no capacity"))
        .then(Step::ok("Hello"));
    let ask =
        || async { world.agent().post("/v1/chat/completions", chat_body("openai/m1", false)).await.status.as_u16() };
    assert_eq!(ask().await, 503);
    let shown = world.connection(&connection).await;
    assert_eq!((&shown["lastError"], &shown["errorCode"]), (&json!("no capacity"), &json!(503)), "{shown}");
    let reset = format!("/api/providers/{}/reset", connection.id);
    assert_eq!(world.managed(Method::POST, &reset, None).await["connection"]["lastError"], Value::Null);
    assert_eq!(ask().await, 503);
    world.advance(Millis::seconds(3));
    assert_eq!(ask().await, 200);
    assert_eq!(world.connection(&connection).await["lastError"], Value::Null);
    world.advance(Millis::seconds(1));
    world.check_invariants().await;
}

#[tokio::test]
async fn whatever_many_change_at_once_is_in_force_once_each_of_them_was_told() {
    let world = World::start().await;
    let account = world.connect("openai", "a").await;
    world.script(&account).then(Step::ok("fine"));
    let serves =
        async |name: &str| world.agent().post("/v1/chat/completions", chat_body(name, false)).await.status.as_u16();
    for round in 0..3 {
        let names: Vec<String> = (0..16).map(|n| format!("alias-{round}-{n}")).collect();
        let make = |name: &String| {
            let alias = json!({ "alias": name, "target": "openai/m1" });
            world.manage(Method::POST, "/api/models/aliases", Some(alias))
        };
        let made = futures_util::future::join_all(names.iter().map(make)).await;
        for name in &names {
            assert_eq!(serves(name).await, 200, "{name} was made");
        }
        let delete = |reply: &Reply| {
            let id = reply.json()["alias"]["id"].as_str().expect("an id").to_owned();
            let world = &world;
            async move { world.manage(Method::DELETE, &format!("/api/models/aliases/{id}"), None).await }
        };
        for gone in futures_util::future::join_all(made.iter().map(delete)).await {
            assert_eq!(gone.status, 200, "{}", gone.text());
        }
        for name in &names {
            assert_eq!(serves(name).await, 404, "{name} is gone");
        }
    }
    world.check_invariants().await;
}
