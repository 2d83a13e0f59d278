//! Models that write their reasoning into the text (gateway specification, 2.7, rule 6, and the quirks of 2.16).

use std::time::Duration;

use dialects::PartKind;
use domain::Dialect;
use fake_upstream::{Answer, Step};
use serde_json::json;

use crate::world::{DIALECTS, heard};

const SAID: &str = "<think>\nIs it Bern?\n</think>\n\nBern.";

fn in_pieces(text: &str) -> Step {
    Step::answer(Answer::text(text).in_chunks(text.len(), Duration::ZERO))
}

#[tokio::test]
async fn reasoning_between_tags_reaches_every_client_as_reasoning() {
    let world = acceptance::World::start().await;
    let connection = world.connect("vllm", "local").await;
    for client in DIALECTS.into_iter().filter(|client| *client != Dialect::Chat) {
        for stream in [false, true] {
            world.script_model(&connection, "m1").then(in_pieces(SAID));
            let ask = acceptance::Ask::of("vllm", "m1", client, stream);
            let reply = world.agent().post(&ask.path, ask.body.clone()).await;
            let answer = heard(client, &reply, stream);
            let parts: Vec<_> = answer.parts.iter().map(|part| (part.kind.clone(), part.text.trim_end())).collect();
            let expected = [(PartKind::Reasoning, "Is it Bern?"), (PartKind::Text, "Bern.")];
            assert_eq!(parts, expected, "{client}, stream {stream}: {}", reply.text());
        }
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_client_of_the_same_dialect_gets_the_bytes_as_they_are() {
    let world = acceptance::World::start().await;
    let connection = world.connect("vllm", "local").await;
    for stream in [false, true] {
        world.script_model(&connection, "m1").then(Step::ok(SAID));
        let ask = acceptance::Ask::of("vllm", "m1", Dialect::Chat, stream);
        let reply = world.agent().post(&ask.path, ask.body.clone()).await;
        let answer = heard(Dialect::Chat, &reply, stream);
        assert_eq!((answer.parts.len(), answer.parts[0].text.as_str()), (1, SAID), "stream {stream}");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn tags_of_a_provider_that_is_not_flagged_are_text() {
    let world = acceptance::World::start().await;
    let connection = world.connect("deepseek", "hosted").await;
    world.script_model(&connection, "m1").then(Step::ok(SAID));
    let body = json!({"model": "deepseek/m1", "max_tokens": 64, "messages": [{"role": "user", "content": "q"}]});
    let reply = world.agent().post("/v1/messages", body.to_string()).await;
    assert_eq!(reply.json()["content"][0]["text"], SAID, "{}", reply.text());
    world.check_invariants().await;
}

#[tokio::test]
async fn an_ollama_client_gets_the_thinking_beside_the_words() {
    let world = acceptance::World::start().await;
    let connection = world.connect("vllm", "local").await;
    world.script_model(&connection, "m1").then(in_pieces(SAID));
    let body = json!({"model": "vllm/m1", "stream": false, "messages": [{"role": "user", "content": "q"}]});
    let reply = world.agent().post("/api/chat", body.to_string()).await;
    let message = &reply.json()["message"];
    assert_eq!(message["content"], "Bern.", "{}", reply.text());
    assert_eq!(message["thinking"].as_str().map(str::trim_end), Some("Is it Bern?"), "{}", reply.text());
    world.check_invariants().await;
}
