//! Bytes pass: what the client wrote reaches the upstream, and what the upstream wrote reaches the client.

use acceptance::{Agent, Ask, World, chat_body, gemini_body, messages_body};
use async_compression::tokio::write::{GzipEncoder, ZstdEncoder};
use domain::Dialect;
use fake_upstream::Step;
use http::HeaderMap;
use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::fixtures::{in_chunks, odd_answer, odd_request, odd_stream};

const DIALECTS: [Dialect; 4] = [Dialect::Chat, Dialect::Responses, Dialect::Messages, Dialect::Gemini];

fn json_headers() -> HeaderMap {
    HeaderMap::from_iter([(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"))])
}

#[tokio::test]
async fn a_plain_request_is_answered_in_every_dialect() {
    let world = World::start().await;
    let connections = world.connect_all().await;
    for ask in Ask::all(false).into_iter().chain(Ask::all(true)) {
        let reply = world.agent().post(&ask.path, ask.body.clone()).await;
        assert_eq!(reply.status, 200, "{}: {}", ask.path, reply.text());
        assert!(reply.text().contains("Hello"), "{}: {}", ask.path, reply.text());
        assert_eq!(reply.header("x-omniroute-provider"), Some(ask.provider), "{}", ask.path);
        assert_eq!(reply.header("x-omniroute-model"), Some("m1"), "{}", ask.path);
        let served = connections.iter().find(|found| found.name == ask.provider).expect("a connection");
        assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(served.id.as_str()), "{}", ask.path);
        assert!(reply.header("x-omniroute-request-id").is_some() && reply.header("x-request-id").is_some());
        assert_eq!(reply.header("x-omniroute-version"), Some(server::VERSION));
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn every_byte_but_the_model_name_reaches_the_upstream_unchanged() {
    let world = World::start().await;
    let connections = world.connect_all().await;
    for stream in [false, true] {
        for dialect in DIALECTS {
            let ask = Ask::new(dialect, stream);
            let written = odd_request(dialect, stream);
            let sent = written.replace("{m}", &format!("{}/m1", ask.provider));
            let connection = connections.iter().find(|found| found.name == ask.provider).expect("a connection");
            let before = world.calls(connection).len();
            let reply = world.agent().post(&ask.path, sent).await;
            assert_eq!(reply.status, 200, "{dialect:?}: {}", reply.text());
            let calls = world.calls(connection);
            let body = std::str::from_utf8(&calls[before].body).expect("UTF-8");
            assert_eq!(body, written.replace("{m}", "m1"), "{dialect:?}");
        }
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_name_that_needs_no_change_is_not_touched() {
    let world = World::start().await;
    let connection = world.connect("openai", "c1").await;
    world.managed(http::Method::POST, "/api/models/aliases", Some(json!({"alias": "m1", "target": "openai/m1"}))).await;
    let body = r#"{"messages":[{"role":"user","content":"x"}],"model":"m\u0031"}"#;
    assert_eq!(world.agent().post("/v1/chat/completions", body).await.status, 200);
    let sent = &world.calls(&connection)[0].body;
    assert_eq!(serde_json::from_slice::<serde_json::Value>(sent).expect("JSON")["model"], "m1");
    world.check_invariants().await;
}

#[tokio::test]
async fn a_whole_answer_reaches_the_client_byte_for_byte() {
    let world = World::start().await;
    world.connect_all().await;
    for dialect in DIALECTS {
        let ask = Ask::new(dialect, false);
        world.upstream.set_default(Step::raw(200, json_headers(), odd_answer(dialect)));
        let reply = world.agent().post(&ask.path, ask.body).await;
        assert_eq!(reply.status, 200, "{dialect:?}: {}", reply.text());
        assert_eq!(reply.text(), odd_answer(dialect), "{dialect:?}");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_stream_reaches_the_client_byte_for_byte_however_it_is_cut() {
    let world = World::start().await;
    world.connect_all().await;
    for dialect in DIALECTS {
        let ask = Ask::new(dialect, true);
        let stream = odd_stream(dialect);
        for size in [1, 2, 3, 5, 7, 64, stream.len()] {
            world.upstream.set_default(Step::sse(in_chunks(stream, size)));
            let reply = world.agent().post(&ask.path, ask.body.clone()).await;
            assert_eq!(reply.text(), stream, "{dialect:?} in chunks of {size}");
        }
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_stream_may_be_split_in_two_at_any_byte() {
    let world = World::start().await;
    world.connect("gemini", "gemini").await;
    let ask = Ask::new(Dialect::Gemini, true);
    let stream = odd_stream(Dialect::Gemini);
    for at in 1..stream.len() {
        let (head, tail) = stream.as_bytes().split_at(at);
        world.upstream.set_default(Step::sse([head.to_vec(), tail.to_vec()]));
        let reply = world.agent().post(&ask.path, ask.body.clone()).await;
        assert_eq!(reply.text(), stream, "split at {at}");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_stream_is_sent_as_it_comes_and_nothing_holds_it_back() {
    let world = World::start().await;
    let connection = world.connect("anthropic", "c1").await;
    let beginning = crate::fixtures::beginning(Dialect::Messages);
    world.script(&connection).then(Step::sse([beginning]).broken(usize::MAX, fake_upstream::Break::Stall));
    let ask = Ask::new(Dialect::Messages, true);
    let mut reply = world.agent().stream(&ask.path, ask.body).await;
    assert_eq!(reply.headers["content-type"], "text/event-stream; charset=utf-8");
    assert_eq!(reply.headers["cache-control"], "no-cache, no-transform");
    assert_eq!(reply.headers["x-accel-buffering"], "no");
    assert!(!reply.headers.contains_key("content-length"));
    let text = reply.until("Once upon").await;
    assert_eq!(text, beginning.as_bytes());
    drop(reply);
    world.wait_for_endings(&connection, 1).await;
    world.check_invariants().await;
}

#[tokio::test]
async fn tokens_are_counted_by_the_upstream_where_it_can_and_estimated_where_it_cannot() {
    let world = World::start().await;
    let [_, anthropic, gemini] = world.connect_all().await;
    let body = messages_body("anthropic/m1", false);
    let reply = world.agent().post("/v1/messages/count_tokens?beta=true", body.clone()).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(reply.json()["input_tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{}", reply.text());
    assert_eq!(world.calls(&anthropic)[0].path, "/v1/messages/count_tokens");

    let reply = world.agent().post("/v1beta/models/gemini/m1:countTokens", gemini_body()).await;
    assert!(reply.json()["totalTokens"].as_u64().is_some_and(|tokens| tokens > 0), "{}", reply.text());
    assert_eq!(world.calls(&gemini)[0].path, "/v1beta/models/m1:countTokens");

    world
        .upstream
        .script(anthropic.credential.as_str(), fake_upstream::COUNT_TOKENS)
        .then(Step::error(404, "no such path"));
    let reply = world.agent().post("/v1/messages/count_tokens", body).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(reply.json()["input_tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{}", reply.text());
    assert_eq!(reply.header("x-omniroute-warnings"), Some("TOKENS_ESTIMATED:o200k_base"));
    world.check_invariants().await;
}

#[tokio::test]
async fn embeddings_pass() {
    let world = World::start().await;
    let connection = world.connect("openai", "c1").await;
    let body = r#"{"model":"openai/m1","input":["a","b"],"encoding_format":"float","dimensions":4}"#;
    let reply = world.agent().post("/v1/embeddings", body).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.json()["data"].as_array().map(Vec::len), Some(2), "{}", reply.text());
    let call = &world.calls(&connection)[0];
    assert_eq!((call.path.as_str(), &call.body[..]), ("/v1/embeddings", body.replace("openai/m1", "m1").as_bytes()));
    world.check_invariants().await;
}

#[tokio::test]
async fn a_gemini_stream_without_alt_sse_is_one_json_array() {
    let world = World::start().await;
    let connection = world.connect("gemini", "c1").await;
    let reply = world.agent().post("/v1beta/models/gemini/m1:streamGenerateContent", gemini_body()).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let elements = reply.json();
    assert!(elements.as_array().is_some_and(|elements| elements.len() > 1), "{}", reply.text());
    assert_eq!(world.calls(&connection)[0].query, None);
    assert_eq!(world.last_request().await["outcome"], "success");
    world.check_invariants().await;
}

#[tokio::test]
async fn the_query_of_the_client_goes_on_only_where_it_is_named() {
    let world = World::start().await;
    let [openai, anthropic, gemini] = world.connect_all().await;
    let agent = world.agent();
    agent.post("/v1/messages?beta=true&x=1", messages_body("anthropic/m1", false)).await;
    agent.post("/v1/messages", messages_body("anthropic/m1", false)).await;
    agent.post("/v1/chat/completions?beta=true&api-version=1", chat_body("openai/m1", false)).await;
    let path = format!("/v1beta/models/gemini/m1:streamGenerateContent?key={}&alt=sse&x=1", world.key);
    world.stranger().post(&path, gemini_body()).await;
    let queries = |calls: Vec<fake_upstream::Call>| calls.into_iter().map(|call| call.query).collect::<Vec<_>>();
    assert_eq!(queries(world.calls(&anthropic)), [Some("beta=true".to_owned()), None]);
    assert_eq!(queries(world.calls(&openai)), [None]);
    assert_eq!(queries(world.calls(&gemini)), [Some("alt=sse".to_owned())]);
    world.check_invariants().await;
}

#[tokio::test]
async fn a_compressed_request_body_is_understood() {
    let world = World::start().await;
    let connection = world.connect("openai", "c1").await;
    let body = chat_body("openai/m1", false);
    let mut gzip = GzipEncoder::new(Vec::new());
    gzip.write_all(body.as_bytes()).await.expect("written");
    gzip.shutdown().await.expect("finished");
    let mut zstd = ZstdEncoder::new(Vec::new());
    zstd.write_all(body.as_bytes()).await.expect("written");
    zstd.shutdown().await.expect("finished");
    for (encoding, bytes, status) in [
        ("gzip", gzip.into_inner(), 200),
        ("zstd", zstd.into_inner(), 200),
        ("identity", body.clone().into_bytes(), 200),
        ("br", body.clone().into_bytes(), 415),
        ("gzip", body.clone().into_bytes(), 400),
    ] {
        let reply = agent_sending(&world, encoding).post("/v1/chat/completions", bytes).await;
        assert_eq!(reply.status, status, "{encoding}: {}", reply.text());
    }
    let expected = chat_body("m1", false);
    assert!(
        world.calls(&connection).iter().all(|call| call.body == expected && call.header("content-encoding").is_none())
    );
    world.check_invariants().await;
}

fn agent_sending(world: &World, encoding: &str) -> Agent {
    world.agent().with("content-encoding", encoding)
}

#[tokio::test]
async fn a_tool_call_and_its_result_pass_in_every_dialect() {
    let world = World::start().await;
    world.connect_all().await;
    let call = fake_upstream::Answer::tool_call("get_time", &json!({"zone": "Europe/Rome"}));
    world.upstream.set_default(Step::answer(call.with_reasoning("The clock knows.")));
    for ask in Ask::all(false).into_iter().chain(Ask::all(true)) {
        let reply = world.agent().post(&ask.path, ask.body.clone()).await;
        assert_eq!(reply.status, 200, "{}: {}", ask.path, reply.text());
        assert!(reply.text().contains("get_time"), "{}: {}", ask.path, reply.text());
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn background_mode_is_taken_out_of_a_responses_request_and_said_so() {
    let world = World::start().await;
    let connection = world.connect("openai", "c1").await;
    let body = r#"{"model":"openai/m1","background":true,"input":"x","store":false}"#;
    let reply = world.agent().post("/v1/responses", body).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("x-omniroute-warnings"), Some("BACKGROUND_DEGRADE"));
    assert_eq!(&world.calls(&connection)[0].body[..], br#"{"model":"m1","input":"x","store":false}"#);
    world.check_invariants().await;
}
