//! What a model name means (gateway specification, 1.4).

use acceptance::{Ask, World, chat_body, messages_body};
use domain::Dialect;
use http::Method;
use serde_json::json;

use crate::fixtures::assert_refused;

/// A model that the catalogue lists for Anthropic.
const KNOWN: &str = "claude-opus-5-5";

#[tokio::test]
async fn a_name_is_resolved_by_alias_then_provider_then_bare_id() {
    let world = World::start().await;
    let [_, anthropic, _] = world.connect_all().await;
    world
        .managed(
            Method::POST,
            "/api/models/aliases",
            Some(json!({"alias": "fast", "target": "anthropic/some-new-model"})),
        )
        .await;
    for (name, model, rule) in [
        ("anthropic/m1", "m1", 7),
        ("Anthropic/m1", "m1", 7),
        ("anthropic/org/model", "org/model", 7),
        ("fast", "some-new-model", 6),
        (KNOWN, KNOWN, 8),
        ("claude-opus-5-5-20991231", KNOWN, 8),
        ("claude-opus-5-5[1m]", KNOWN, 8),
        ("anthropic/m1[1m]", "m1", 7),
    ] {
        let before = world.calls(&anthropic).len();
        let reply = world.agent().post("/v1/messages", messages_body(name, false)).await;
        assert_eq!(reply.status, 200, "{name}: {}", reply.text());
        assert_eq!(world.calls(&anthropic)[before].model.as_deref(), Some(model), "{name}");
        let row = world.last_request().await;
        assert_eq!(
            (&row["requestedModel"], &row["model"], &row["trace"]["rule"]),
            (&json!(name), &json!(model), &json!(rule))
        );
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn an_alias_wins_over_a_model_of_the_same_name_and_stops_when_removed() {
    let world = World::start().await;
    let [_, anthropic, _] = world.connect_all().await;
    let alias = json!({"alias": KNOWN, "target": "anthropic/m2"});
    let made = world.managed(Method::POST, "/api/models/aliases", Some(alias)).await;
    let id = made["alias"]["id"].as_str().expect("an id");
    world.agent().post("/v1/messages", messages_body(KNOWN, false)).await;
    world.managed(Method::DELETE, &format!("/api/models/aliases/{id}"), None).await;
    world.agent().post("/v1/messages", messages_body(KNOWN, false)).await;
    let asked: Vec<_> = world.calls(&anthropic).into_iter().filter_map(|call| call.model).collect();
    assert_eq!(asked, ["m2", KNOWN]);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_bare_id_of_several_providers_follows_the_order_of_the_settings() {
    let world = World::start().await;
    let openai = world.connect("openai", "openai").await;
    let listed = world.agent().get("/v1/models?prefix=canonical").await.json();
    let id = listed["data"][0]["id"].as_str().expect("a model").trim_start_matches("openai/").to_owned();
    let reply = world.agent().post("/v1/chat/completions", chat_body(&id, false)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    // Beside the call there is the look at the provider's own list.
    assert_eq!(world.calls(&openai).last().and_then(|call| call.model.clone()), Some(id.clone()));
    // The same id at a second provider, which is preferred.
    let node =
        json!({"name": "Mine", "prefix": "mine", "apiType": "chat", "baseUrl": world.upstream.base_url(Dialect::Chat)});
    let node = world.managed(Method::POST, "/api/provider-nodes", Some(node)).await["node"]["id"].clone();
    let node = node.as_str().expect("an id");
    let mine = world.connect(node, "mine").await;
    world.upstream.set_models([fake_upstream::ModelCard::new(id.as_str())]);
    world.agent().get("/v1/models").await;
    world.set(json!({"routing": {"providerOrder": [node]}})).await;
    world.agent().post("/v1/chat/completions", chat_body(&id, false)).await;
    let preferred = world.calls(&mine).into_iter().filter(|call| call.path == "/v1/chat/completions").count();
    assert_eq!(preferred, 1, "the preferred provider was asked");
    world.check_invariants().await;
}

#[tokio::test]
async fn an_unknown_name_is_a_404_in_the_dialect_with_near_names() {
    let world = World::start().await;
    world.connect_all().await;
    for ask in Ask::all(false) {
        let wrong = "claude-opus-5-6";
        let (path, body) = match ask.dialect {
            Dialect::Gemini => (format!("/v1beta/models/{wrong}:generateContent"), ask.body.clone()),
            _ => (ask.path.clone(), ask.body.replace(&format!("{}/m1", ask.provider), wrong)),
        };
        let reply = world.agent().post(&path, body).await;
        assert_refused(&ask, &reply, 404);
        let message = reply.error_message();
        assert!(message.contains(wrong) && message.contains(KNOWN), "{message}");
        assert!(message.matches('`').count() / 2 <= 6, "at most five near names: {message}");
    }
    assert!(world.upstream.calls(None).is_empty());
    world.check_invariants().await;
}

#[tokio::test]
async fn a_request_without_a_model_says_so_or_takes_the_default() {
    let world = World::start().await;
    let connection = world.connect("openai", "c1").await;
    let body = r#"{"messages":[{"role":"user","content":"x"}]}"#;
    let reply = world.agent().post("/v1/chat/completions", body).await;
    assert_refused(&Ask::new(Dialect::Chat, false), &reply, 400);
    assert!(reply.error_message().contains("model"), "{}", reply.text());
    world.set(json!({"routing": {"defaultModel": "openai/m9"}})).await;
    let reply = world.agent().post("/v1/chat/completions", body).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(world.calls(&connection)[0].model.as_deref(), Some("m9"));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_model_of_another_dialect_is_a_clear_501_until_translation_lands() {
    let world = World::start().await;
    world.connect_all().await;
    for (path, body, word) in [
        ("/v1/messages", messages_body("openai/m1", false), "api_error"),
        ("/v1/chat/completions", chat_body("gemini/m1", false), "dialect_not_supported"),
    ] {
        let reply = world.agent().post(path, body).await;
        // Providers may serve more than one dialect; only a true mismatch is refused.
        if reply.status == 200 {
            continue;
        }
        assert_eq!(reply.status, 501, "{path}: {}", reply.text());
        assert_eq!(reply.error_word(), word, "{}", reply.text());
        assert_eq!(reply.header("x-should-retry"), Some("false"));
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_name_with_line_breaks_cannot_write_headers() {
    let world = World::start().await;
    world.connect("openai", "c1").await;
    let body = r#"{"model":"openai/m\r\nset-cookie: a=b\r\n\u0000é","messages":[]}"#;
    let reply = world.agent().post("/v1/chat/completions", body).await;
    assert!(reply.header("set-cookie").is_none());
    let model = reply.header("x-omniroute-model").unwrap_or_default();
    assert!(model.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '), "{model:?}");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_gemini_name_cannot_leave_its_path() {
    let world = World::start().await;
    let connection = world.connect("gemini", "c1").await;
    for name in ["gemini%2F..%2F..%2Fadmin", "gemini%2F..", "gemini%2F%2E%2E"] {
        let ask = Ask::new(Dialect::Gemini, false);
        let reply = world.agent().post(&format!("/v1beta/models/{name}:generateContent"), ask.body.clone()).await;
        assert_refused(&ask, &reply, 400);
    }
    assert!(world.calls(&connection).is_empty());
    assert_eq!(world.connection(&connection).await["lastError"], json!(null), "the name was the client's");
    world.check_invariants().await;
}
