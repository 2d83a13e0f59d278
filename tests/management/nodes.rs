//! Custom providers: what they are, and which addresses they may have (gateway specification, 4.2 and 8.6).

use acceptance::{World, chat_body};
use domain::Dialect;
use http::Method;
use serde_json::{Value, json};

use crate::rules::assert_error;

fn draft(base_url: &str) -> Value {
    json!({"name": "Mine", "prefix": "mine", "apiType": "chat", "baseUrl": base_url})
}

#[tokio::test]
async fn a_node_is_made_used_changed_and_removed() {
    let world = World::start().await;
    let base = world.upstream.base_url(Dialect::Chat);
    let reply = world.manage(Method::POST, "/api/provider-nodes", Some(draft(&base))).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
    let node = reply.json()["node"].clone();
    assert_eq!(
        (&node["prefix"], &node["providerClass"], &node["baseUrl"]),
        (&json!("mine"), &json!("local"), &json!(base))
    );
    let id = node["id"].as_str().expect("an id");
    let path = format!("/api/provider-nodes/{id}");
    let connection = world.connect(id, "c1").await;
    let reply = world.agent().post("/v1/chat/completions", chat_body("mine/m1", false)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let reply = world.agent().post("/v1/chat/completions", chat_body(&format!("{id}/m1"), false)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    world.managed(Method::PATCH, &path, Some(json!({"name": "Renamed", "providerClass": "apikey"}))).await;
    let node = world.managed(Method::GET, &path, None).await["node"].clone();
    assert_eq!((&node["name"], &node["providerClass"]), (&json!("Renamed"), &json!("apikey")));
    assert_error(&world.manage(Method::DELETE, &path, None).await, 409, "conflict");
    world.managed(Method::DELETE, &format!("/api/providers/{}", connection.id), None).await;
    assert_eq!(world.managed(Method::DELETE, &path, None).await, json!({"ok": true}));
    let reply = world.agent().post("/v1/chat/completions", chat_body("mine/m1", false)).await;
    assert_eq!(reply.status, 404, "{}", reply.text());
    world.check_invariants().await;
}

#[tokio::test]
async fn a_prefix_is_taken_once_and_by_no_builtin_provider() {
    let world = World::start().await;
    let base = world.upstream.base_url(Dialect::Chat);
    world.managed(Method::POST, "/api/provider-nodes", Some(draft(&base))).await;
    assert_error(&world.manage(Method::POST, "/api/provider-nodes", Some(draft(&base))).await, 409, "conflict");
    for prefix in ["openai", "Upper", "a b", "", "a/b"] {
        let mut body = draft(&base);
        body["prefix"] = json!(prefix);
        let reply = world.manage(Method::POST, "/api/provider-nodes", Some(body)).await;
        assert!(matches!(reply.status.as_u16(), 400 | 409), "{prefix}: {}", reply.text());
    }
    let mut body = draft(&base);
    body["prefix"] = json!("other");
    body["type"] = json!("anthropic-compatible");
    assert_error(&world.manage(Method::POST, "/api/provider-nodes", Some(body)).await, 400, "invalid_request");
}

#[tokio::test]
async fn addresses_that_reach_inside_are_refused_in_every_spelling() {
    let world = World::start().await;
    let own = world.url();
    let own_name = own.replace("127.0.0.1", "localhost");
    for base in [
        own.as_str(),
        &own_name,
        "http://169.254.169.254/v1",
        "http://[fe80::1]/v1",
        "http://metadata.google.internal/v1",
        "http://10.0.0.1/v1",
        "http://192.168.1.1/v1",
        "http://172.16.0.1/v1",
        "http://[fd00::1]/v1",
        "http://[::ffff:10.0.0.1]/v1",
        "http://0x0a000001/v1",
        "http://167772161/v1",
        "http://012.0.0.1/v1",
        "http://0.0.0.0/v1",
        "http://224.0.0.1/v1",
        "ftp://example.com/v1",
        "file:///etc/passwd",
        "http://user:secret@example.com/v1",
        "example.com/v1",
        "",
    ] {
        let reply = world.manage(Method::POST, "/api/provider-nodes", Some(draft(base))).await;
        assert_error(&reply, 400, "invalid_request");
        assert_eq!(reply.json()["error"]["details"][0]["field"], "baseUrl", "{base}: {}", reply.text());
        let specific =
            json!({"provider": "openai", "name": "x", "apiKey": "k", "providerSpecificData": {"baseUrl": base}});
        let reply = world.manage(Method::POST, "/api/providers", Some(specific)).await;
        assert_error(&reply, 400, "invalid_request");
    }
    let mut body = draft("http://192.168.1.1/v1");
    body["allowPrivateNetwork"] = json!(true);
    let reply = world.manage(Method::POST, "/api/provider-nodes", Some(body)).await;
    assert_eq!(reply.status, 201, "a private address may be allowed on purpose: {}", reply.text());
    assert!(world.connections().await.is_empty());
}

#[tokio::test]
async fn a_node_can_be_asked_for_its_models() {
    let world = World::start().await;
    world.upstream.set_models([fake_upstream::ModelCard::new("a"), fake_upstream::ModelCard::new("b")]);
    let node =
        world.managed(Method::POST, "/api/provider-nodes", Some(draft(&world.upstream.base_url(Dialect::Chat)))).await;
    let path = format!("/api/provider-nodes/{}/test", node["node"]["id"].as_str().expect("an id"));
    let reply = world.managed(Method::POST, &path, Some(json!({"apiKey": "some-credential"}))).await;
    assert_eq!((&reply["ok"], &reply["models"], &reply["error"]), (&json!(true), &json!(2), &Value::Null), "{reply}");
    assert_eq!(world.upstream.calls("some-credential").len(), 1);
}
