//! Streams as hosts really send them, to every client: calls in odd pieces, usage in odd places, lines in odd forms.

use acceptance::Reply;
use bytes::Bytes;
use dialects::canonical::Answer;
use dialects::{FinishReason, PartKind};
use domain::Dialect;
use fake_upstream::Step;
use serde_json::Value;

use crate::world::{DIALECTS, Upstreams, chunks_of, heard, text};

/// A Chat stream of these deltas; the last chunk is written by hand.
fn chat(deltas: &[&str], last: &str) -> String {
    let chunk = |delta: &&str| {
        format!(
            "data: {{\"id\":\"c1\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":null}}]}}\n\n"
        )
    };
    deltas.iter().map(chunk).chain([last.to_owned()]).collect()
}

fn finish(reason: &str) -> String {
    format!(
        "data: {{\"id\":\"c1\",\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\ndata: [DONE]\n\n"
    )
}

/// What each of the four clients hears of these bytes.
async fn heard_by_all(upstream: Dialect, chunks: Vec<Bytes>) -> Vec<(Dialect, Answer)> {
    let upstreams = Upstreams::start().await;
    let mut answers = Vec::new();
    for client in DIALECTS {
        upstreams.world.script_model(upstreams.of(upstream), "m1").then(Step::sse(chunks.clone()));
        let reply = upstreams.post(&Upstreams::ask(client, upstream, true)).await;
        answers.push((client, heard(client, &reply, true)));
    }
    upstreams.world.check_invariants().await;
    answers
}

fn calls(answer: &Answer) -> Vec<(String, Value)> {
    let call = |part: &dialects::canonical::AnswerPart| match &part.kind {
        PartKind::ToolCall { name, .. } => {
            let arguments = if part.text.is_empty() { "{}" } else { &part.text };
            Some((name.clone(), serde_json::from_str(arguments).expect("an object")))
        }
        _ => None,
    };
    answer.parts.iter().filter_map(call).collect()
}

/// Every client hears these calls.
async fn all_hear_calls(stream: String, expected: &[(&str, Value)]) {
    let expected: Vec<_> = expected.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    for (client, answer) in heard_by_all(Dialect::Chat, vec![Bytes::from(stream)]).await {
        assert_eq!((calls(&answer), answer.finish()), (expected.clone(), FinishReason::ToolCalls), "{client}");
    }
}

#[tokio::test]
async fn arguments_before_the_name_find_their_call() {
    let deltas = [
        r#"{"tool_calls":[{"index":0,"id":"call_1","function":{"arguments":"{\"a\":"}}]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"name":"ls"}}]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}"#,
    ];
    all_hear_calls(chat(&deltas, &finish("tool_calls")), &[("ls", serde_json::json!({"a": 1}))]).await;
}

#[tokio::test]
async fn a_tool_without_parameters_is_called_with_empty_arguments() {
    let deltas =
        [r#"{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"ls","arguments":""}}]}"#];
    all_hear_calls(chat(&deltas, &finish("tool_calls")), &[("ls", serde_json::json!({}))]).await;
}

#[tokio::test]
async fn two_calls_under_one_index_are_two() {
    let deltas = [
        r#"{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"ls","arguments":"{\"n\":1}"}}]}"#,
        r#"{"tool_calls":[{"index":0,"id":"call_2","function":{"name":"ls","arguments":"{\"n\":2}"}}]}"#,
    ];
    let expected = [("ls", serde_json::json!({"n": 1})), ("ls", serde_json::json!({"n": 2}))];
    all_hear_calls(chat(&deltas, &finish("tool_calls")), &expected).await;
}

#[tokio::test]
async fn calls_whose_pieces_interleave_and_a_wrong_end_are_told_as_calls() {
    let deltas = [
        r#"{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"ls","arguments":"{\"n\""}}]}"#,
        r#"{"tool_calls":[{"index":1,"id":"call_2","function":{"name":"cat","arguments":"{\"n\""}}]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":":9007199254740993}"}}]}"#,
        r#"{"tool_calls":[{"index":1,"function":{"arguments":":2}"}}]}"#,
    ];
    let expected = [("ls", serde_json::json!({"n": 9_007_199_254_740_993_u64})), ("cat", serde_json::json!({"n": 2}))];
    all_hear_calls(chat(&deltas, &finish("stop")), &expected).await;
}

#[tokio::test]
async fn an_end_without_a_reason_is_an_end() {
    let stream = chat(&[r#"{"role":"assistant","content":"Hello"}"#], "data: [DONE]\n\n");
    for (client, answer) in heard_by_all(Dialect::Chat, vec![Bytes::from(stream)]).await {
        // Bytes pass to a client of the same dialect.
        assert_eq!((text(&answer).as_str(), answer.finish()), ("Hello", FinishReason::End), "{client}");
    }
}

#[tokio::test]
async fn usage_in_a_chunk_without_choices_reaches_every_client_once() {
    let last = format!(
        "{}data: {{\"id\":\"c1\",\"choices\":[],\"usage\":{{\"prompt_tokens\":12,\"completion_tokens\":7,\"total_tokens\":19,\"prompt_tokens_details\":{{\"cached_tokens\":5}}}}}}\n\ndata: [DONE]\n\n",
        finish("stop").trim_end_matches("data: [DONE]\n\n"),
    );
    let stream = chat(&[r#"{"content":"Hello"}"#], &last);
    for (client, answer) in heard_by_all(Dialect::Chat, vec![Bytes::from(stream)]).await {
        // A Chat client hears of usage when it asks for it. A Messages client is told an estimate first, and the truth at
        // the end; this reader keeps the larger of the two.
        let usage = answer.usage;
        match client {
            Dialect::Chat => {}
            Dialect::Messages => assert_eq!((usage.cache_read, usage.output), (Some(5), Some(7)), "{client}"),
            Dialect::Responses | Dialect::Gemini => {
                assert_eq!((usage.input(), usage.cache_read, usage.output), (Some(12), Some(5), Some(7)), "{client}");
            }
        }
    }
}

#[tokio::test]
async fn reasoning_beside_the_text_and_a_refusal_are_told_as_what_they_are() {
    let deltas = [r#"{"reasoning_content":"hm"}"#, r#"{"content":"Well."}"#, r#"{"refusal":"I will not"}"#];
    let stream = chat(&deltas, &finish("stop"));
    for (client, answer) in heard_by_all(Dialect::Chat, vec![Bytes::from(stream)]).await {
        let reasoning: String = answer
            .parts
            .iter()
            .filter(|part| part.kind == PartKind::Reasoning)
            .map(|part| part.text.as_str())
            .collect();
        let all: String = answer.parts.iter().map(|part| part.text.as_str()).collect();
        assert_eq!(reasoning, "hm", "{client}");
        assert!(all.contains("Well.") && all.contains("I will not"), "{client}: {all}");
    }
}

#[tokio::test]
async fn letters_cut_in_the_middle_and_lines_of_every_form_give_the_same_answer() {
    let lines =
        chat(&[r#"{"content":"Grüße "}"#, r#"{"content":"\ud83d\udc4b"}"#, r#"{"content":" 👩‍👩‍👧 𝕏"}"#], &finish("stop"));
    let with_comments = format!(": processing\r\n\r\n{}", lines.replace('\n', "\r\n"));
    let bytes = Bytes::from(with_comments);
    let one_by_one = (0..bytes.len()).map(|at| bytes.slice(at..=at)).collect();
    for (client, answer) in heard_by_all(Dialect::Chat, one_by_one).await {
        assert_eq!(text(&answer), "Grüße 👋 👩‍👩‍👧 𝕏", "{client}");
    }
}

#[tokio::test]
async fn a_letter_whose_halves_come_in_two_chunks_is_one_letter() {
    let stream = chat(&[r#"{"content":"Hi \ud83d"}"#, r#"{"content":"\udc4b!"}"#], &finish("stop"));
    for (client, answer) in heard_by_all(Dialect::Chat, vec![Bytes::from(stream)]).await {
        assert_eq!(text(&answer), "Hi 👋!", "{client}");
    }
}

#[tokio::test]
async fn counts_that_begin_at_zero_end_at_their_totals() {
    let stream = concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"model\":\"m\",\"usage\":{\"input_tokens\":0,\"output_tokens\":0}}}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n",
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"input_tokens\":20,\"cache_read_input_tokens\":100,\"output_tokens\":7}}\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    );
    for (client, answer) in heard_by_all(Dialect::Messages, vec![Bytes::from(stream)]).await {
        let usage = answer.usage;
        if client != Dialect::Chat {
            assert_eq!((usage.input(), usage.cache_read, usage.output), (Some(120), Some(100), Some(7)), "{client}");
        }
        assert_eq!(text(&answer), "Hello", "{client}");
    }
}

/// A Responses stream whose only item refuses in two pieces.
const REFUSING: &str = concat!(
    "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\",\"model\":\"m\",\"status\":\"in_progress\",\"output\":[]}}\n\n",
    "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"sequence_number\":1,\"output_index\":0,\"item\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}}\n\n",
    "event: response.content_part.added\ndata: {\"type\":\"response.content_part.added\",\"sequence_number\":2,\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"part\":{\"type\":\"refusal\",\"refusal\":\"\"}}\n\n",
    "event: response.refusal.delta\ndata: {\"type\":\"response.refusal.delta\",\"sequence_number\":3,\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":\"I will \"}\n\n",
    "event: response.refusal.delta\ndata: {\"type\":\"response.refusal.delta\",\"sequence_number\":4,\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":\"not\"}\n\n",
    "event: response.refusal.done\ndata: {\"type\":\"response.refusal.done\",\"sequence_number\":5,\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"refusal\":\"I will not\"}\n\n",
    "event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"sequence_number\":6,\"output_index\":0,\"item\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"refusal\",\"refusal\":\"I will not\"}]}}\n\n",
    "event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":7,\"response\":{\"id\":\"resp_1\",\"model\":\"m\",\"status\":\"completed\",\"output\":[{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"refusal\",\"refusal\":\"I will not\"}]}],\"usage\":{\"input_tokens\":3,\"output_tokens\":4,\"total_tokens\":7}}}\n\n",
);

/// The words of a refusal in a client's own members, which SDKs show apart from an answer's text, or as text where the
/// dialect has none.
fn refused_in(client: Dialect, reply: &Reply) -> String {
    let chunks = chunks_of(reply);
    let words = chunks.iter().filter_map(|chunk| match client {
        Dialect::Chat => chunk["choices"][0]["delta"]["refusal"].as_str(),
        Dialect::Responses => chunk["delta"].as_str().filter(|_| chunk["type"] == "response.refusal.delta"),
        Dialect::Messages => chunk["delta"]["text"].as_str(),
        Dialect::Gemini => chunk["candidates"][0]["content"]["parts"][0]["text"].as_str(),
    });
    words.collect()
}

#[tokio::test]
async fn a_streamed_refusal_reaches_every_client_in_its_own_members() {
    let deltas = [r#"{"role":"assistant","refusal":"I will "}"#, r#"{"refusal":"not"}"#];
    let upstreams = Upstreams::start().await;
    for (upstream, stream) in
        [(Dialect::Chat, chat(&deltas, &finish("stop"))), (Dialect::Responses, REFUSING.to_owned())]
    {
        for client in DIALECTS {
            for whole in [false, true] {
                let case = format!("{client} over {upstream}, whole {whole}");
                upstreams.world.script_model(upstreams.of(upstream), "m1").then(Step::sse([stream.clone()]));
                let reply = upstreams.post(&Upstreams::ask(client, upstream, !whole)).await;
                let answer = heard(client, &reply, !whole);
                let said: String = answer.parts.iter().map(|part| part.text.as_str()).collect();
                assert_eq!(said, "I will not", "{case}: {}", reply.text());
                let has_words = matches!(client, Dialect::Chat | Dialect::Responses);
                let kinds: Vec<_> = answer.parts.iter().map(|part| part.kind.clone()).collect();
                let kind = if has_words { PartKind::Refusal } else { PartKind::Text };
                assert_eq!(kinds, [kind], "{case}: {}", reply.text());
                if !whole {
                    assert_eq!(refused_in(client, &reply), "I will not", "{case}: {}", reply.text());
                }
            }
        }
    }
    upstreams.world.check_invariants().await;
}
