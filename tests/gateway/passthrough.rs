//! Bytes pass: what the client wrote reaches the upstream, and what the upstream wrote reaches the client.

use acceptance::{World, chat_body, gemini_body, messages_body, responses_body};

/// Path, body and model-in-body of one plain request per dialect; `{m}` stands for the model.
fn plain(stream: bool) -> Vec<(&'static str, String, String)> {
    let action = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
    vec![
        ("openai", "/v1/chat/completions".to_owned(), chat_body("openai/m1", stream)),
        ("openai", "/v1/responses".to_owned(), responses_body("openai/m1", stream)),
        ("anthropic", "/v1/messages?beta=true".to_owned(), messages_body("anthropic/m1", stream)),
        ("gemini", format!("/v1beta/models/gemini/m1:{action}"), gemini_body()),
    ]
}

#[tokio::test]
async fn a_plain_request_is_answered_in_every_dialect() {
    let world = World::start().await;
    for provider in ["openai", "anthropic", "gemini"] {
        world.connect(provider, provider).await;
    }
    for stream in [false, true] {
        for (provider, path, body) in plain(stream) {
            let reply = world.agent().post(&path, body).await;
            assert_eq!(reply.status, 200, "{path}: {}", reply.text());
            assert!(reply.text().contains("Hello from"), "{path}: {}", reply.text());
            assert_eq!(reply.header("x-omniroute-provider"), Some(provider), "{path}");
            assert_eq!(reply.header("x-omniroute-model"), Some("m1"), "{path}");
        }
    }
    assert_eq!(world.in_flight(), 0);
}

#[tokio::test]
async fn every_byte_but_the_model_name_reaches_the_upstream_unchanged() {
    let world = World::start().await;
    world.connect("openai", "c1").await;
    let odd = r#"{ "unknown" : [1e400, 9007199254740993, -0.0, "é\u00e9\ud83d\ude00"],"model" : "openai/m1" , "messages":[{"content":"model\": \"openai/m1","role":"user"}],  "z":{"model":"openai/m1"}	}"#;
    let reply = world.agent().post("/v1/chat/completions", odd).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let sent = world.upstream.calls("c1");
    let expected = odd.replacen(r#""model" : "openai/m1""#, r#""model" : "m1""#, 1);
    assert_eq!(std::str::from_utf8(&sent[0].body).expect("UTF-8"), expected);
}
