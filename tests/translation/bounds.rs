//! What a translation keeps and when it is made: conversations to be continued are bounded, and who finds no place is
//! turned away before anything is translated.

use acceptance::chat_body;
use domain::{Dialect, Millis};
use fake_upstream::{Gate, Step};
use serde_json::{Value, json};

use crate::world::Upstreams;

/// An answer, and the id under which it can be continued.
async fn answered(upstreams: &Upstreams, words: &str) -> String {
    let body = json!({"model": "deepseek/m1", "input": words}).to_string();
    let reply = upstreams.world.agent().post("/v1/responses", body).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["id"].as_str().expect("an id").to_owned()
}

/// The code with which continuing an answer is refused; null where it is not.
async fn continued(upstreams: &Upstreams, id: &str) -> Value {
    let body = json!({"model": "deepseek/m1", "input": "more", "previous_response_id": id, "store": false}).to_string();
    let reply = upstreams.world.agent().post("/v1/responses", body).await;
    assert_eq!(reply.status.as_u16(), if reply.json()["error"].is_object() { 400 } else { 200 }, "{}", reply.text());
    reply.json()["error"]["code"].clone()
}

const GONE: &str = "previous_response_not_found";

#[tokio::test]
async fn of_many_conversations_the_last_thousand_can_be_continued() {
    // docs/decisions/0009
    let upstreams = Upstreams::start().await;
    let mut ids = Vec::new();
    for number in 0..1_001 {
        ids.push(answered(&upstreams, &format!("question {number}")).await);
    }
    assert_eq!(continued(&upstreams, &ids[0]).await, GONE);
    assert_eq!(continued(&upstreams, &ids[1]).await, Value::Null);
    assert_eq!(continued(&upstreams, &ids[1_000]).await, Value::Null);
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn a_conversation_can_be_continued_for_a_day() {
    let upstreams = Upstreams::start().await;
    let id = answered(&upstreams, "a question").await;
    upstreams.world.advance(Millis::hours(23));
    assert_eq!(continued(&upstreams, &id).await, Value::Null);
    upstreams.world.advance(Millis::hours(1));
    assert_eq!(continued(&upstreams, &id).await, GONE);
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn a_full_queue_refuses_what_could_not_be_translated_either() {
    // Gateway specification, 1.11: places first, translation behind them.
    let upstreams = Upstreams::start().await;
    let world = &upstreams.world;
    let queue = json!({
        "autoEnableApiKeyProviders": true, "minTimeBetweenRequestsMs": 0, "concurrentRequests": 1, "maxQueueDepth": 1,
    });
    world.resilience(json!({"requestQueue": queue})).await;
    let connection = upstreams.of(Dialect::Messages);
    // Anthropic gives one answer at a time: this cannot be said to it.
    let body = chat_body("anthropic/m1", false).replace("\"stream\":false", "\"n\":2");
    let reply = world.agent().post("/v1/chat/completions", body.clone()).await;
    assert_eq!((reply.status.as_u16(), reply.error_message().starts_with("n:")), (400, true), "{}", reply.text());

    let gate = Gate::closed();
    world.script_model(connection, "m1").then(Step::ok("fine").held(&gate));
    let ask = Upstreams::ask(Dialect::Messages, Dialect::Messages, false);
    let post = || {
        let (agent, ask) = (world.agent(), ask.clone());
        tokio::spawn(async move { agent.post(&ask.path, ask.body).await })
    };
    let first = post();
    world.wait_for_calls(connection, 1).await;
    let second = post();
    world.wait_for_waiting(1).await;
    let reply = world.agent().post("/v1/chat/completions", body).await;
    assert_eq!(reply.status, 429, "{}", reply.text());
    assert_eq!(reply.json()["error"]["code"], "RATE_LIMIT_QUEUE_FULL", "{}", reply.text());
    gate.open();
    for asking in [first, second] {
        assert_eq!(asking.await.expect("a reply").status, 200);
    }
    world.check_invariants().await;
}

/// A Chat stream without an end, eight mebibytes of text at a time.
fn endless() -> Step {
    let text = "x".repeat(8 << 20);
    let piece =
        format!("data: {{\"id\":\"c\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
    Step::drip(piece, std::time::Duration::ZERO, None)
}

const TOO_LARGE: &str = "the answer is larger than 268435456 bytes";

/// As large as a body may be and a little more, told in pieces: nobody puts that together.
#[tokio::test]
async fn a_stream_that_outgrows_a_body_is_no_answer_to_who_wants_one() {
    let upstreams = Upstreams::start().await;
    let (world, account) = (&upstreams.world, upstreams.of(Dialect::Chat));
    world.script_model(account, "m1").then(endless());
    let reply = world.agent().post("/v1/chat/completions", chat_body("deepseek/m1", false)).await;
    assert_eq!((reply.status.as_u16(), reply.error_word().as_str()), (502, "bad_gateway"), "{}", reply.text());
    assert!(reply.error_message().contains(TOO_LARGE), "{}", reply.text());
    let row = world.last_request().await;
    assert_eq!((&row["outcome"], &row["errorCode"]), (&json!("failure"), &json!("bad_gateway")), "{row}");
    assert_eq!(row["trace"]["attempts"][0]["kind"], "empty_or_garbled", "{row}");
    world.check_invariants().await;
}

/// A stream in Responses' words repeats its answer at the end, so its writer keeps it.
#[tokio::test]
async fn a_stream_that_would_have_to_be_told_twice_ends_as_failed_where_it_outgrows_a_body() {
    let upstreams = Upstreams::start().await;
    let (world, account) = (&upstreams.world, upstreams.of(Dialect::Chat));
    world.script_model(account, "m1").then(endless());
    let ask = Upstreams::ask(Dialect::Responses, Dialect::Chat, true);
    let mut reply = world.agent().stream(&ask.path, ask.body).await;
    let mut end = Vec::new();
    while let Some(piece) = reply.next().await {
        end.extend_from_slice(&piece);
        end.drain(..end.len().saturating_sub(4_096));
    }
    let end = String::from_utf8_lossy(&end);
    assert!(end.contains("event: response.failed") && end.contains(TOO_LARGE), "{end}");
    let row = world.last_request().await;
    assert_eq!((&row["outcome"], &row["errorCode"]), (&json!("failure"), &json!("empty_or_garbled")), "{row}");
}
