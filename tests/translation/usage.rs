//! What an answer used: the same figures at every client, and in the request's row (gateway specification, 2.11).

use acceptance::{Ask, Reply};
use domain::{Dialect, Usage};
use fake_upstream::{Answer, Step};
use serde_json::{Value, json};

use crate::world::{DIALECTS, Upstreams, chunks_of};

/// Some of everything, no two figures alike.
const USED: Usage = Usage {
    input_fresh: Some(20),
    cache_read: Some(100),
    cache_write: Some(30),
    output: Some(17),
    reasoning: Some(9),
    ..Answer::DEFAULT_USAGE
};

/// A request whose client wants to hear of usage.
fn ask(client: Dialect, upstream: Dialect, stream: bool) -> Ask {
    let mut ask = Upstreams::ask(client, upstream, stream);
    if client == Dialect::Chat && stream {
        ask.body = ask.body.replace("\"stream\":true", "\"stream\":true,\"stream_options\":{\"include_usage\":true}");
    }
    ask
}

/// The figures that a client is told at the end, as they stand there.
fn told(client: Dialect, reply: &Reply, stream: bool) -> Value {
    assert_eq!(reply.status, 200, "{client}: {}", reply.text());
    if !stream {
        return reply.json()[if client == Dialect::Gemini { "usageMetadata" } else { "usage" }].clone();
    }
    let chunks = chunks_of(reply);
    let counted = |name: &str| -> Vec<Value> {
        chunks.iter().map(|chunk| chunk[name].clone()).filter(|usage| !usage.is_null()).collect()
    };
    match client {
        Dialect::Chat => {
            let all = counted("usage");
            assert_eq!(all.len(), 1, "once, {client}: {}", reply.text());
            all[0].clone()
        }
        Dialect::Responses => chunks.last().expect("an end")["response"]["usage"].clone(),
        Dialect::Messages => {
            // What the end does not repeat is told at the start.
            let mut told = chunks[0]["message"]["usage"].clone();
            let last = counted("usage").pop().expect("usage at the end");
            let members = told.as_object_mut().expect("usage at the start");
            members.extend(last.as_object().expect("an object").clone());
            told
        }
        Dialect::Gemini => counted("usageMetadata").pop().expect("usage at the end"),
    }
}

/// These figures in a client's words: the members that have to stand there with these very values.
fn in_words_of(client: Dialect, usage: &Usage) -> Value {
    let (input, read, write) = (usage.input(), usage.cache_read.unwrap_or(0), usage.cache_write.unwrap_or(0));
    let (output, reasoning) = (usage.output.unwrap_or(0), usage.reasoning.unwrap_or(0));
    let total = input.unwrap_or(0) + output;
    match client {
        Dialect::Chat => json!({
            "prompt_tokens": input, "completion_tokens": output, "total_tokens": total,
            "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": write},
            "completion_tokens_details": {"reasoning_tokens": reasoning},
        }),
        Dialect::Responses => json!({
            "input_tokens": input, "output_tokens": output, "total_tokens": total,
            "input_tokens_details": {"cached_tokens": read, "cache_write_tokens": write},
            "output_tokens_details": {"reasoning_tokens": reasoning},
        }),
        Dialect::Messages => json!({
            "input_tokens": usage.input_fresh, "cache_read_input_tokens": read,
            "cache_creation_input_tokens": write, "output_tokens": output,
        }),
        Dialect::Gemini => json!({
            "promptTokenCount": input, "cachedContentTokenCount": read, "totalTokenCount": total,
            "candidatesTokenCount": output - reasoning, "thoughtsTokenCount": reasoning,
        }),
    }
}

/// Every expected member stands in what was told; a count of nothing may be left out.
fn assert_told(told: &Value, expected: &Value, case: &str) {
    for (name, value) in expected.as_object().expect("an object") {
        match value {
            Value::Object(_) => assert_told(&told[name], value, case),
            _ if *value == 0 && told[name].is_null() => {}
            _ => assert_eq!(&told[name], value, "{name}, {case}: {told}"),
        }
    }
}

async fn assert_recorded(upstreams: &Upstreams, usage: &Usage, case: &str) {
    let row = upstreams.world.last_request().await;
    for (name, count) in [
        ("tokensInput", usage.input()),
        ("tokensCacheRead", usage.cache_read),
        ("tokensCacheCreation", usage.cache_write),
        ("tokensOutput", usage.output),
        ("tokensReasoning", usage.reasoning),
    ] {
        assert_eq!(row[name].as_u64().filter(|count| *count > 0), count, "{name}, {case}: {row}");
    }
    assert_eq!(row["estimated"], false, "{case}");
}

/// What a provider of this dialect can say of [`USED`].
fn sayable(upstream: Dialect) -> Usage {
    match upstream {
        Dialect::Chat | Dialect::Responses => USED,
        // Anthropic does not count thinking apart, Google does not count what it writes to its cache.
        Dialect::Messages => Usage { reasoning: None, ..USED },
        Dialect::Gemini => Usage { input_fresh: Some(50), cache_write: None, ..USED },
    }
}

#[tokio::test]
async fn every_figure_reaches_every_client_from_every_provider_and_the_record() {
    let upstreams = Upstreams::start().await;
    for client in DIALECTS {
        for upstream in DIALECTS {
            for stream in [false, true] {
                let case = format!("{client} over {upstream}, stream {stream}");
                let answer = Answer::text("Hello").with_reasoning("Hm.").with_usage(USED);
                upstreams.world.script_model(upstreams.of(upstream), "m1").then(Step::answer(answer));
                let reply = upstreams.post(&ask(client, upstream, stream)).await;
                let usage = sayable(upstream);
                assert_told(&told(client, &reply, stream), &in_words_of(client, &usage), &case);
                assert_recorded(&upstreams, &usage, &case).await;
            }
        }
    }
    upstreams.world.check_invariants().await;
}

/// Every client is told these figures of this stream, and so is the record.
async fn all_are_told(upstream: Dialect, stream: &str, usage: &Usage) {
    let upstreams = Upstreams::start().await;
    for client in DIALECTS {
        let case = format!("{client} over {upstream}");
        upstreams.world.script_model(upstreams.of(upstream), "m1").then(Step::sse([stream.to_owned()]));
        let reply = upstreams.post(&ask(client, upstream, true)).await;
        assert_told(&told(client, &reply, true), &in_words_of(client, usage), &case);
        assert_recorded(&upstreams, usage, &case).await;
    }
    upstreams.world.check_invariants().await;
}

/// A Chat stream that says hello; `usage` stands in its own chunk of this form, behind the end.
fn chat_with(last: &str) -> String {
    format!(
        "data: {{\"id\":\"c1\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"Hello\"}},\"finish_reason\":null}}]}}\n\n\
         data: {{\"id\":\"c1\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\n\
         data: {last}\n\ndata: [DONE]\n\n"
    )
}

#[tokio::test]
async fn usage_in_a_chunk_without_choices_is_told_exactly() {
    let usage = Usage { input_fresh: Some(7), cache_read: Some(5), output: Some(7), ..Usage::default() };
    let counts = r#""usage":{"prompt_tokens":12,"completion_tokens":7,"total_tokens":19,"prompt_tokens_details":{"cached_tokens":5}}"#;
    for choices in [r#""choices":[],"#, "", r#""choices":[{"index":0,"delta":{}}],"#] {
        all_are_told(Dialect::Chat, &chat_with(&format!("{{\"id\":\"c1\",{choices}{counts}}}")), &usage).await;
    }
}

#[tokio::test]
async fn counts_that_begin_at_zero_are_told_as_their_totals() {
    let stream = concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":\"m\",\"usage\":{\"input_tokens\":0,\"output_tokens\":0}}}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n",
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"input_tokens\":20,\"cache_read_input_tokens\":100,\"cache_creation_input_tokens\":30,\"output_tokens\":17}}\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    );
    all_are_told(Dialect::Messages, stream, &Usage { reasoning: None, ..USED }).await;
}
