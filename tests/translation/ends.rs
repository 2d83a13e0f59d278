//! Why an answer ended, in every client's word for it (gateway specification, 2.10).

use acceptance::Reply;
use domain::Dialect;
use fake_upstream::{Answer, Finish, Step};
use serde_json::{Value, json};

use crate::world::{DIALECTS, Upstreams, chunks_of};

/// What a client is told of the end: its word, and what more the dialect says of it.
fn told(client: Dialect, reply: &Reply, stream: bool) -> (Value, Value) {
    assert_eq!(reply.status, 200, "{client}: {}", reply.text());
    let chunks = if stream { chunks_of(reply) } else { vec![reply.json()] };
    let last = |words: Vec<&Value>| words.into_iter().rfind(|word| !word.is_null()).cloned().unwrap_or_default();
    match client {
        Dialect::Chat => {
            (last(chunks.iter().map(|chunk| &chunk["choices"][0]["finish_reason"]).collect()), Value::Null)
        }
        Dialect::Responses => {
            let end = chunks.last().expect("an end");
            let response = if stream { &end["response"] } else { end };
            if stream {
                let status = response["status"].as_str().expect("a status");
                assert_eq!(end["type"], format!("response.{status}"), "{}", reply.text());
            }
            (response["status"].clone(), response["incomplete_details"]["reason"].clone())
        }
        Dialect::Messages => {
            let of = |name: &str| -> Value {
                last(chunks.iter().map(|chunk| if stream { &chunk["delta"][name] } else { &chunk[name] }).collect())
            };
            (of("stop_reason"), of("stop_sequence"))
        }
        Dialect::Gemini => {
            (last(chunks.iter().map(|chunk| &chunk["candidates"][0]["finishReason"]).collect()), Value::Null)
        }
    }
}

/// A client's words for an end.
type Words = fn(Dialect) -> (Value, Value);

fn plain(client: Dialect) -> (Value, Value) {
    words(client, ["stop", "completed", "end_turn", "STOP"], Value::Null)
}

fn words(client: Dialect, [chat, responses, messages, gemini]: [&str; 4], reason: Value) -> (Value, Value) {
    match client {
        Dialect::Chat => (json!(chat), Value::Null),
        Dialect::Responses => (json!(responses), reason),
        Dialect::Messages => (json!(messages), Value::Null),
        Dialect::Gemini => (json!(gemini), Value::Null),
    }
}

fn cut(client: Dialect) -> (Value, Value) {
    words(client, ["length", "incomplete", "max_tokens", "MAX_TOKENS"], json!("max_output_tokens"))
}

fn filtered(client: Dialect) -> (Value, Value) {
    words(client, ["content_filter", "incomplete", "refusal", "SAFETY"], json!("content_filter"))
}

fn calling(client: Dialect) -> (Value, Value) {
    words(client, ["tool_calls", "completed", "tool_use", "STOP"], Value::Null)
}

async fn all_are_told(upstreams: &Upstreams, upstream: Dialect, answer: Answer, expected: Words) {
    for client in DIALECTS {
        for stream in [false, true] {
            let step = Step::answer(answer.clone());
            upstreams.world.script_model(upstreams.of(upstream), "m1").then(step);
            let reply = upstreams.post(&Upstreams::ask(client, upstream, stream)).await;
            let case = format!("{client} over {upstream}, stream {stream}: {}", reply.text());
            assert_eq!(told(client, &reply, stream), expected(client), "{case}");
        }
    }
}

#[tokio::test]
async fn every_end_has_its_word_at_every_client_from_every_provider() {
    let upstreams = Upstreams::start().await;
    let call = Answer::tool_call("ls", &json!({"n": 1}));
    let cases: [(Answer, Words); 5] = [
        (Answer::text("Hello"), plain),
        (Answer::text("Hel").with_finish(Finish::Length), cut),
        (Answer::text("Hel").with_finish(Finish::Filter), filtered),
        (call.clone(), calling),
        // Arguments that were cut off must not be carried out.
        (call.with_finish(Finish::Length), cut),
    ];
    for upstream in DIALECTS {
        for (answer, expected) in &cases {
            all_are_told(&upstreams, upstream, answer.clone(), *expected).await;
        }
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn ends_that_only_one_dialect_knows_are_told_by_the_nearest_word() {
    let upstreams = Upstreams::start().await;
    let at_word = |client| match client {
        Dialect::Messages => (json!("stop_sequence"), json!("END")),
        _ => plain(client),
    };
    let full = |client| match client {
        Dialect::Messages => (json!("model_context_window_exceeded"), Value::Null),
        _ => cut(client),
    };
    let paused = |client| match client {
        Dialect::Messages => (json!("pause_turn"), Value::Null),
        _ => plain(client),
    };
    let cases: [(Finish, Words); 3] = [
        (Finish::StopSequence("END".to_owned()), at_word),
        (Finish::Other("model_context_window_exceeded".to_owned()), full),
        (Finish::Other("pause_turn".to_owned()), paused),
    ];
    for (finish, expected) in cases {
        let answer = Answer::text("Hello").with_finish(finish);
        all_are_told(&upstreams, Dialect::Messages, answer, expected).await;
    }
    for word in ["RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"] {
        let answer = Answer::text("Hello").with_finish(Finish::Other(word.to_owned()));
        for client in [Dialect::Chat, Dialect::Responses, Dialect::Messages] {
            upstreams.world.script_model(upstreams.of(Dialect::Gemini), "m1").then(Step::answer(answer.clone()));
            let reply = upstreams.post(&Upstreams::ask(client, Dialect::Gemini, true)).await;
            assert_eq!(told(client, &reply, true), filtered(client), "{word}, {client}: {}", reply.text());
        }
    }
    upstreams.world.check_invariants().await;
}
