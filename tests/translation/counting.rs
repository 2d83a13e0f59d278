//! Counts of tokens for whoever asks, where the upstream has none (gateway specification, 2.15).

use acceptance::World;
use domain::Millis;
use serde_json::{Value, json};

const BY_VOCABULARY: &str = "TOKENS_ESTIMATED:o200k_base";

async fn count(world: &World, content: Value) -> (u64, String) {
    let body = json!({"model": "deepseek/m1", "messages": [{"role": "user", "content": content}]});
    let reply = world.agent().post("/v1/messages/count_tokens", body.to_string()).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let tokens = reply.json()["input_tokens"].as_u64().expect("a number");
    (tokens, reply.header("x-omniroute-warnings").unwrap_or_default().to_owned())
}

#[tokio::test]
async fn texts_are_counted_with_a_vocabulary_and_the_reply_names_it() {
    let world = World::start().await;
    world.connect("deepseek", "chat").await;
    // Four for the message; the words are tokens of `o200k_base`, and eight letters of it are one.
    let sentence = json!("The quick brown fox jumps over the lazy dog.");
    assert_eq!(count(&world, sentence).await, (4 + 10, BY_VOCABULARY.to_owned()));
    let image = json!([{"type": "image", "source": {"type": "base64", "media_type": "image/jpeg",
        "data": format!("/9j/{}", "A".repeat(400_000))}}]);
    assert_eq!(count(&world, image).await, (4 + 1_600, BY_VOCABULARY.to_owned()));
    // The vocabulary is given back, and is there again when it is needed.
    world.advance(Millis::hours(1));
    world.settle().await;
    assert_eq!(count(&world, json!("hello")).await, (4 + 1, BY_VOCABULARY.to_owned()));
    world.check_invariants().await;
}

#[tokio::test]
async fn what_is_too_long_for_the_vocabulary_is_estimated_by_characters_and_says_so() {
    let world = World::start().await;
    world.connect("deepseek", "chat").await;
    let length = 9 * 1024 * 1024;
    let (tokens, warning) = count(&world, json!("x".repeat(length))).await;
    assert_eq!((tokens, warning.as_str()), (4 + length as u64 / 4, "TOKENS_ESTIMATED:characters"));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_gemini_client_may_send_the_whole_request_that_it_counts() {
    let world = World::start().await;
    world.connect("deepseek", "chat").await;
    let contents = json!([{"role": "user", "parts": [{"text": "hello"}]}]);
    let whole = json!({"generateContentRequest": {"model": "models/deepseek/m1", "contents": contents,
        "systemInstruction": {"parts": [{"text": "hello"}]}}});
    for (body, expected) in [(json!({"contents": contents}), 5), (whole, 6)] {
        let reply = world.agent().post("/v1beta/models/deepseek/m1:countTokens", body.to_string()).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(reply.json()["totalTokens"], expected, "{}", reply.text());
        assert_eq!(reply.header("x-omniroute-warnings"), Some(BY_VOCABULARY));
    }
    world.check_invariants().await;
}
