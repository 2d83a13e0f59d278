//! The fake upstream as a caller sees it: bytes on a socket.

use std::io;
use std::time::{Duration, Instant};

use domain::Usage;
use fake_upstream::{
    Answer, Break, COUNT_TOKENS, Ending, FakeUpstream, Gate, LIST_MODELS, Load, ModelCard, Options, Pause, Step,
    ToolCall,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const MESSAGES: &str = "/v1/messages";
const GENERATE: &str = "/v1beta/models/m1:generateContent";
const GENERATE_SSE: &str = "/v1beta/models/m1:streamGenerateContent?alt=sse";
const GENERATE_ARRAY: &str = "/v1beta/models/m1:streamGenerateContent";

/// Sends a request with this key on a connection of its own.
async fn send(upstream: &FakeUpstream, key: &str, path: &str, body: &Value) -> io::Result<TcpStream> {
    let method = if body.is_null() { "GET" } else { "POST" };
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut stream = TcpStream::connect(upstream.address()).await?;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    Ok(stream)
}

/// Everything that comes back until the connection closes, and whether it was reset instead.
async fn exchange(upstream: &FakeUpstream, key: &str, path: &str, body: &Value) -> io::Result<(String, bool)> {
    let mut stream = send(upstream, key, path, body).await?;
    let mut bytes = Vec::new();
    let reset = match stream.read_to_end(&mut bytes).await {
        Ok(_) => false,
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => true,
        Err(error) => return Err(error),
    };
    Ok((String::from_utf8_lossy(&bytes).into_owned(), reset))
}

/// The status and the body of a complete reply, chunks joined.
async fn reply(upstream: &FakeUpstream, path: &str, body: &Value) -> (u16, String) {
    let (text, reset) = exchange(upstream, "k", path, body).await.unwrap_or_default();
    assert!(!reset, "{path} was reset");
    let (head, rest) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    if !head.contains("transfer-encoding: chunked") {
        return (status, rest.to_owned());
    }
    let mut joined = String::new();
    let mut rest = rest;
    while let Some((size, tail)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap_or(0);
        joined.push_str(&tail[..size]);
        rest = &tail[(size + 2).min(tail.len())..];
    }
    (status, joined)
}

fn ask(stream: bool) -> Value {
    json!({
        "model": "m1", "stream": stream, "max_tokens": 9, "input": "hi", "messages": [{ "role": "user", "content": "hi" }],
        "contents": [{ "parts": [{ "text": "hi" }] }],
    })
}

fn events(body: &str) -> Vec<Value> {
    body.lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter_map(|data| serde_json::from_str(data).ok())
        .collect()
}

fn types(body: &str) -> Vec<String> {
    events(body).iter().filter_map(|event| event["type"].as_str()).map(str::to_owned).collect()
}

fn everything() -> Answer {
    Answer::text("one two three")
        .with_reasoning("why not")
        .with_tool_call("get", &json!({ "city": "Berlin" }))
        .with_tool_call("get", &json!({ "city": "Paris" }))
}

#[tokio::test]
async fn an_unscripted_request_is_answered_in_every_dialect_and_form() {
    let upstream = FakeUpstream::start().unwrap();
    for (path, stream) in [
        (CHAT, false),
        (CHAT, true),
        (RESPONSES, false),
        (RESPONSES, true),
        (MESSAGES, false),
        (MESSAGES, true),
        (GENERATE, false),
        (GENERATE_SSE, true),
        (GENERATE_ARRAY, true),
    ] {
        let (status, body) = reply(&upstream, path, &ask(stream)).await;
        assert_eq!(status, 200, "{path}");
        assert!(body.contains("Hello f"), "{path}: {body}");
    }
    assert_eq!(upstream.count("k").completed, 9);
}

#[tokio::test]
async fn a_chat_stream_has_role_reasoning_text_calls_finish_and_the_end_marker() {
    let upstream = FakeUpstream::start().unwrap();
    upstream.script("k", None).then(Step::answer(everything()));
    let (_, body) = reply(&upstream, CHAT, &ask(true)).await;
    assert!(body.ends_with("data: [DONE]\n\n"));
    let chunks = events(&body);
    assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
    assert!(chunks.iter().all(|chunk| chunk.get("usage").is_none()), "usage came unasked");
    let deltas = |name: &str| -> String {
        chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"][name].as_str()).collect()
    };
    assert_eq!((deltas("reasoning_content").as_str(), deltas("content").as_str()), ("why not", "one two three"));
    for (index, arguments) in [(0, r#"{"city":"Berlin"}"#), (1, r#"{"city":"Paris"}"#)] {
        let calls = chunks.iter().map(|chunk| &chunk["choices"][0]["delta"]["tool_calls"][0]);
        let fragments = calls.filter(|call| call["index"] == index);
        let joined: String = fragments.filter_map(|call| call["function"]["arguments"].as_str()).collect();
        assert_eq!(joined, arguments);
    }
    assert_eq!(chunks.last().unwrap()["choices"][0]["finish_reason"], "tool_calls");
}

#[tokio::test]
async fn a_chat_stream_ends_in_a_usage_chunk_when_asked() {
    let upstream = FakeUpstream::start().unwrap();
    let mut body = ask(true);
    body["stream_options"] = json!({ "include_usage": true });
    let (_, body) = reply(&upstream, CHAT, &body).await;
    let chunks = events(&body);
    let last = chunks.last().unwrap();
    assert_eq!((&last["choices"], &last["usage"]["total_tokens"]), (&json!([]), &json!(19)));
    assert_eq!(chunks[0]["usage"], Value::Null);
}

#[tokio::test]
async fn a_responses_stream_opens_fills_and_closes_each_item_in_numbered_events() {
    let upstream = FakeUpstream::start().unwrap();
    let mut answer = everything();
    answer.tool_calls[1] = ToolCall::custom("patch", "free text");
    answer.chunks = 1;
    upstream.script("k", None).then(Step::answer(answer));
    let (_, body) = reply(&upstream, RESPONSES, &ask(true)).await;
    let numbers: Vec<u64> = events(&body).iter().filter_map(|event| event["sequence_number"].as_u64()).collect();
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
    let expected = [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "output_item.added",
        "custom_tool_call_input.delta",
        "custom_tool_call_input.done",
        "output_item.done",
        "completed",
    ];
    assert_eq!(types(&body), expected.map(|name| format!("response.{name}")));
    assert_eq!(events(&body).last().unwrap()["response"]["output"].as_array().map(Vec::len), Some(4));
}

#[tokio::test]
async fn a_messages_stream_has_one_block_open_at_a_time() {
    let upstream = FakeUpstream::start().unwrap();
    let mut answer = everything();
    answer.chunks = 1;
    upstream.script("k", None).then(Step::answer(answer));
    let (_, body) = reply(&upstream, MESSAGES, &ask(true)).await;
    let block = |deltas: usize| {
        let middle = std::iter::repeat_n("content_block_delta", deltas);
        ["content_block_start"].into_iter().chain(middle).chain(["content_block_stop"])
    };
    let mut expected = vec!["message_start"];
    expected.extend([2, 1, 2, 2].into_iter().flat_map(block));
    expected.insert(2, "ping");
    expected.extend(["message_delta", "message_stop"]);
    assert_eq!(types(&body), expected);
    assert!(body.contains("signature_delta"));
}

#[tokio::test]
async fn gemini_streams_in_crlf_events_or_as_one_array() {
    let upstream = FakeUpstream::start().unwrap();
    upstream.script("k", None).then(Step::answer(everything()));
    let (_, sse) = reply(&upstream, GENERATE_SSE, &ask(true)).await;
    assert!(sse.ends_with("}\r\n\r\n") && !sse.replace("\r\n", "").contains('\n'));
    let (_, array) = reply(&upstream, GENERATE_ARRAY, &ask(true)).await;
    let array: Vec<Value> = serde_json::from_str(&array).unwrap();
    assert_eq!(array.len(), events(&sse).len());
    let last = array.last().unwrap();
    let parts = last["candidates"][0]["content"]["parts"].as_array().unwrap();
    assert_eq!(parts.iter().filter(|part| part.get("functionCall").is_some()).count(), 2);
    assert_eq!(last["candidates"][0]["finishReason"], "STOP");
}

#[tokio::test]
async fn cached_and_reasoning_tokens_are_told_in_the_words_of_each_dialect() {
    let upstream = FakeUpstream::start().unwrap();
    let usage =
        Usage { input_fresh: Some(10), cache_read: Some(90), output: Some(20), reasoning: Some(5), ..Usage::default() };
    upstream.script("k", None).then(Step::answer(Answer::text("x").with_usage(usage)));
    for (path, figures) in [
        (CHAT, [("/usage/prompt_tokens", 100), ("/usage/prompt_tokens_details/cached_tokens", 90)]),
        (RESPONSES, [("/usage/input_tokens", 100), ("/usage/output_tokens_details/reasoning_tokens", 5)]),
        (MESSAGES, [("/usage/input_tokens", 10), ("/usage/cache_read_input_tokens", 90)]),
        (GENERATE, [("/usageMetadata/promptTokenCount", 100), ("/usageMetadata/candidatesTokenCount", 15)]),
    ] {
        let (_, body) = reply(&upstream, path, &ask(false)).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        for (pointer, figure) in figures {
            assert_eq!(body.pointer(pointer), Some(&json!(figure)), "{path}{pointer}");
        }
    }
}

#[tokio::test]
async fn errors_take_the_shape_of_the_dialect() {
    let upstream = FakeUpstream::start().unwrap();
    upstream.script("k", None).then(Step::error(429, "slow down").with_header("retry-after", "7"));
    for (path, pointer, word) in [
        (CHAT, "/error/code", "rate_limit_exceeded"),
        (RESPONSES, "/error/type", "rate_limit_error"),
        (MESSAGES, "/error/type", "rate_limit_error"),
        (GENERATE, "/error/status", "RESOURCE_EXHAUSTED"),
        (GENERATE_SSE, "/error/status", "RESOURCE_EXHAUSTED"),
        (GENERATE_ARRAY, "/0/error/status", "RESOURCE_EXHAUSTED"),
    ] {
        let (status, body) = reply(&upstream, path, &ask(false)).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, body.pointer(pointer)), (429, Some(&json!(word))), "{path}");
    }
    let (text, _) = exchange(&upstream, "k", CHAT, &ask(false)).await.unwrap();
    assert!(text.contains("retry-after: 7\r\n"), "{text}");
}

#[tokio::test]
async fn an_unknown_key_is_refused_only_when_keys_must_be_known() {
    let upstream = FakeUpstream::start().unwrap();
    upstream.script("other", None).then(Step::ok("x"));
    assert_eq!(reply(&upstream, CHAT, &ask(false)).await.0, 200);
    upstream.require_known_keys(true);
    for path in [CHAT, RESPONSES, MESSAGES, GENERATE] {
        assert_eq!(reply(&upstream, path, &ask(false)).await.0, 401, "{path}");
    }
    assert_eq!(reply(&upstream, "/v1/models", &Value::Null).await.0, 401);
}

#[tokio::test]
async fn faults_reach_the_wire_as_what_they_are() {
    let upstream = FakeUpstream::start().unwrap();
    let whole = Step::ok("a text that is long enough to be cut in its middle");
    for (step, reset, part, ending) in [
        (Step::Reset, true, "", Ending::Broken),
        (Step::garbage("SSH-2.0-x\r\n"), false, "SSH-2.0-x\r\n", Ending::Broken),
        (whole.clone().cut(5), true, "\r\n\r\n{\"id\"", Ending::Broken),
        (whole.clone().broken(5, Break::Close), false, "\r\n\r\n{\"id\"", Ending::Broken),
        (whole.clone().cut(usize::MAX), true, "total_tokens\":19", Ending::Broken),
        (Step::status(200, "not json"), false, "\r\n\r\nnot json", Ending::Completed),
        (Step::sse(["data: x\n\n", ": no end"]), false, "data: x\n\n", Ending::Completed),
        (Step::drip(": ping\n\n", Duration::from_millis(1), 3), false, ": ping\n\n", Ending::Completed),
    ] {
        upstream.reset();
        upstream.script("k", None).then(step.clone());
        let (text, was_reset) = exchange(&upstream, "k", CHAT, &ask(false)).await.unwrap();
        assert_eq!(was_reset, reset, "{step:?}");
        let ends_right = if part.is_empty() { text.is_empty() } else { text.contains(part) };
        assert!(ends_right, "{step:?}: {text:?}");
        let calls = upstream.wait_for_endings("k", 1).await.unwrap();
        assert_eq!(calls[0].ending, ending, "{step:?}");
    }
}

#[tokio::test]
async fn a_piece_and_the_end_wait_at_their_gates() {
    let upstream = FakeUpstream::start().unwrap();
    for wire in [false, true] {
        let (second, end) = (Gate::closed(), Gate::closed());
        let pieces = [("data: a\n\n", Pause::None), ("data: b\n\n", (&second).into()), ("", (&end).into())];
        let step = if wire { Step::paced_wire(pieces, Break::Reset) } else { Step::paced(pieces).cut(usize::MAX) };
        upstream.script("k", None).then(step);
        let mut stream = send(&upstream, "k", CHAT, &ask(true)).await.unwrap();
        let mut seen = Vec::new();
        for (word, unseen, gate) in [("data: a", "data: b", Some(&second)), ("data: b", "data: c", None)] {
            while !String::from_utf8_lossy(&seen).contains(word) {
                assert_ne!(stream.read_buf(&mut seen).await.unwrap(), 0, "{word}");
            }
            assert!(!String::from_utf8_lossy(&seen).contains(unseen), "{seen:?}");
            gate.into_iter().for_each(Gate::open);
        }
        assert_eq!(upstream.connections(), 1, "the end waits as well");
        end.open();
        let reset = stream.read_to_end(&mut seen).await.unwrap_err();
        assert_eq!(reset.kind(), io::ErrorKind::ConnectionReset);
        while upstream.connections() > 0 {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_caller_that_leaves_is_noticed() {
    let upstream = FakeUpstream::start().unwrap();
    for step in [
        Step::Hang,
        Step::ok("x").broken(5, Break::Stall),
        Step::drip(": ping\n\n", Duration::from_millis(1), None),
        Step::ok("x").after(Duration::from_secs(3600)),
    ] {
        upstream.reset();
        upstream.script("k", None).then(step.clone());
        let stream = send(&upstream, "k", CHAT, &ask(true)).await.unwrap();
        let arrived = upstream.wait_for_calls("k", 1).await.unwrap();
        assert_eq!(arrived[0].ending, Ending::Open, "{step:?}");
        drop(stream);
        let ended = upstream.wait_for_endings("k", 1).await.unwrap();
        assert!(ended[0].cancelled(), "{step:?}: {:?}", ended[0].ending);
    }
}

#[tokio::test]
async fn stopping_ends_open_calls_and_frees_the_port() {
    let upstream = FakeUpstream::start().unwrap();
    upstream.script("k", None).then(Step::Hang);
    let mut endings = upstream.endings();
    let mut stream = send(&upstream, "k", CHAT, &ask(true)).await.unwrap();
    upstream.wait_for_calls("k", 1).await.unwrap();
    let port = upstream.address().port();
    upstream.stop().await;
    assert_eq!(endings.recv().await.unwrap().ending, Ending::Stopped);
    let mut rest = Vec::new();
    assert_eq!(stream.read_to_end(&mut rest).await.unwrap_or(0), 0);
    FakeUpstream::start_with(Options { port, ..Options::default() }).unwrap();
}

#[tokio::test]
async fn steps_follow_each_other_and_calls_are_recorded() {
    let upstream = FakeUpstream::start().unwrap();
    upstream.script("k", Some("m1")).then(Step::error(500, "x").after(Duration::from_millis(30))).then(Step::ok("y"));
    let started = Instant::now();
    let statuses = [reply(&upstream, CHAT, &ask(false)).await.0, reply(&upstream, CHAT, &ask(false)).await.0];
    assert_eq!(statuses, [500, 200]);
    assert!(started.elapsed() >= Duration::from_millis(30));
    let calls = upstream.calls("k");
    assert_eq!(calls.len(), 2);
    assert_eq!((calls[0].path.as_str(), calls[0].model.as_deref()), (CHAT, Some("m1")));
    assert_eq!((calls[0].json(), calls[0].header("host")), (ask(false), Some("x")));
    assert!(upstream.calls("nobody").is_empty());
}

#[tokio::test]
async fn a_tool_turn_calls_and_then_answers_with_the_result() {
    let upstream = FakeUpstream::start().unwrap();
    let call = Answer::tool_call("get", &json!({}));
    upstream.script("k", None).then(Step::tool_turn(call, Answer::text("it is {tool_result}")));
    let first = reply(&upstream, CHAT, &ask(false)).await.1;
    assert!(first.contains("\"finish_reason\":\"tool_calls\""), "{first}");
    let messages = json!([{ "role": "user", "content": "x" }, { "role": "tool", "content": "21" }]);
    let second = reply(&upstream, CHAT, &json!({ "model": "m1", "messages": messages })).await.1;
    assert!(second.contains("it is 21"), "{second}");
}

#[tokio::test]
async fn lists_and_counts_take_no_steps_unless_scripted_by_name() {
    let upstream = FakeUpstream::start().unwrap();
    upstream.script("k", Some("m7")).then(Step::error(500, "x"));
    upstream.script("k", None).then(Step::error(503, "x")).then(Step::ok("y"));
    let models = reply(&upstream, "/v1/models", &Value::Null).await;
    assert!(models.0 == 200 && models.1.contains("m7"), "{models:?}");
    let count = reply(&upstream, "/v1/messages/count_tokens", &ask(false)).await;
    assert!(count.0 == 200 && count.1.contains("input_tokens"), "{count:?}");
    assert_eq!(reply(&upstream, CHAT, &ask(false)).await.0, 503);

    upstream.set_models([ModelCard::new("named")]);
    assert!(reply(&upstream, "/v1beta/models", &Value::Null).await.1.contains("models/named"));
    assert!(reply(&upstream, "/api/tags", &Value::Null).await.1.contains("named"));
    assert_eq!(reply(&upstream, "/v1/models/other", &Value::Null).await.0, 404);
    upstream.script("k", Some(LIST_MODELS)).then(Step::error(403, "x"));
    upstream.script("k", Some(COUNT_TOKENS)).then(Step::error(404, "x"));
    assert_eq!(reply(&upstream, "/v1/models", &Value::Null).await.0, 403);
    assert_eq!(reply(&upstream, "/v1/messages/count_tokens", &ask(false)).await.0, 404);
}

#[tokio::test]
async fn an_answer_for_load_has_exactly_the_size_asked_for() {
    let upstream = FakeUpstream::start_with(Options::load(1)).unwrap();
    for size in [2_000, 100_000] {
        upstream.script("k", None).then(Step::Load(Load::bytes(size)));
        for path in [CHAT, RESPONSES, MESSAGES, GENERATE] {
            assert_eq!(reply(&upstream, path, &ask(false)).await.1.len(), size, "{path}");
        }
    }
    upstream.script("k", None).then(Step::Load(Load::events(500)));
    let (_, body) = reply(&upstream, MESSAGES, &ask(true)).await;
    assert_eq!(types(&body).iter().filter(|name| *name == "content_block_delta").count(), 500);
    assert!(upstream.calls(None).is_empty() && upstream.count(None).completed == 9);
}
