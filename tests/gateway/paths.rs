//! Clients disagree on the base URL: every spelling of gateway specification 1.1 arrives.

use acceptance::{World, chat_body, gemini_body, messages_body, responses_body};
use http::Method;

#[tokio::test]
async fn every_spelling_of_a_path_reaches_its_operation() {
    let world = World::start().await;
    world.connect_all().await;
    let chat = chat_body("openai/m1", false);
    let responses = responses_body("openai/m1", false);
    let messages = messages_body("anthropic/m1", false);
    for (path, body, arrives_at) in [
        ("/v1/messages", &messages, "/v1/messages"),
        ("/messages", &messages, "/v1/messages"),
        ("/api/v1/messages", &messages, "/v1/messages"),
        ("/v1/messages/", &messages, "/v1/messages"),
        ("/v1/chat/completions", &chat, "/v1/chat/completions"),
        ("/chat/completions", &chat, "/v1/chat/completions"),
        ("/v1/v1/chat/completions", &chat, "/v1/chat/completions"),
        ("//v1//chat//completions//", &chat, "/v1/chat/completions"),
        ("/V1/Chat/Completions", &chat, "/v1/chat/completions"),
        ("/v1/%63hat/completions", &chat, "/v1/chat/completions"),
        ("/v1/responses", &responses, "/v1/responses"),
        ("/responses", &responses, "/v1/responses"),
        ("/codex/responses", &responses, "/v1/responses"),
        ("/v1/codex/responses", &responses, "/v1/responses"),
        ("/v1beta/models/gemini/m1:generateContent", &gemini_body(), "/v1beta/models/m1:generateContent"),
        ("/v1/models/gemini/m1:generateContent", &gemini_body(), "/v1beta/models/m1:generateContent"),
        ("/v1/v1beta/models/gemini/m1:generateContent", &gemini_body(), "/v1beta/models/m1:generateContent"),
        ("/v1beta/models/gemini%2Fm1:generateContent", &gemini_body(), "/v1beta/models/m1:generateContent"),
        ("/v1beta/models/gemini/org/M-1:generateContent", &gemini_body(), "/v1beta/models/org/M-1:generateContent"),
        ("/v1beta/models/gemini/a%20b:generateContent", &gemini_body(), "/v1beta/models/a%20b:generateContent"),
    ] {
        let before = world.upstream.calls(None).len();
        let reply = world.agent().post(path, body.clone()).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        assert_eq!(world.upstream.calls(None)[before].path, arrives_at, "{path}");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn probes_are_answered_without_a_key_and_without_data() {
    let world = World::start().await;
    for path in ["/", "/health"] {
        let reply = world.stranger().get(path).await;
        assert_eq!(reply.status, 200, "{path}");
        let json = reply.json();
        assert_eq!((&json["status"], &json["name"]), (&"ok".into(), &"OmniRoute".into()), "{path}");
        assert_eq!(json.as_object().map(serde_json::Map::len), Some(3), "{path}: {json}");
        let reply = world.stranger().send(Method::HEAD, path, None).await;
        assert_eq!((reply.status.as_u16(), reply.body.len()), (200, 0), "HEAD {path}");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn an_unknown_path_and_a_wrong_method_say_what_is_right() {
    let world = World::start().await;
    // Each is told in the words of whoever asks there.
    for (path, word) in [
        ("/v1", "unknown_endpoint"),
        ("/v1/nothing", "unknown_endpoint"),
        ("/anything", "unknown_endpoint"),
        ("/v1/api/providers", "unknown_endpoint"),
        ("/v1/messages/batches", "not_found_error"),
        ("/v1beta", "NOT_FOUND"),
    ] {
        let reply = world.agent().get(path).await;
        assert_eq!(reply.status, 404, "{path}");
        assert_eq!(reply.error_word(), word, "{path}");
    }
    let reply = world.agent().post("/v1beta/models/m:dream", "{}").await;
    assert_eq!((reply.status.as_u16(), &*reply.error_word()), (404, "NOT_FOUND"), "{}", reply.text());
    for (method, path, allow, word) in [
        (Method::GET, "/v1/messages", "POST", "invalid_request_error"),
        (Method::PUT, "/v1/chat/completions", "POST", "method_not_allowed"),
        (Method::DELETE, "/v1/responses", "POST", "method_not_allowed"),
        (Method::POST, "/v1/models", "GET, HEAD", "method_not_allowed"),
        (Method::GET, "/v1beta/models/m:generateContent", "POST", "INVALID_ARGUMENT"),
        (Method::POST, "/health", "GET, HEAD", "method_not_allowed"),
    ] {
        let reply = world.agent().send(method.clone(), path, None).await;
        assert_eq!(reply.status, 405, "{method} {path}: {}", reply.text());
        assert_eq!(reply.header("allow"), Some(allow), "{method} {path}");
        assert_eq!(reply.error_word(), word, "{method} {path}");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_path_that_cannot_be_read_safely_is_refused() {
    let world = World::start().await;
    for path in ["/v1/%zz", "/v1/%4", "/v1/%"] {
        let request = format!("GET {path} HTTP/1.1");
        let reply = acceptance::Wire::request(world.address(), &request, &[("Host", "localhost")], b"").await;
        assert_eq!(reply.status(), 400, "{path}: {}", reply.text());
    }
    world.check_invariants().await;
}
