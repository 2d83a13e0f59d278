//! The same conversation through all sixteen pairs, whole and streamed.

use dialects::{FinishReason, PartKind};
use domain::Dialect;
use fake_upstream::{Answer, Endpoint, Finish, Step};
use serde_json::json;

use crate::world::{DIALECTS, Upstreams, heard, text};

fn pairs() -> impl Iterator<Item = (Dialect, Dialect, bool)> {
    DIALECTS
        .into_iter()
        .flat_map(|client| DIALECTS.into_iter().map(move |upstream| (client, upstream)))
        .flat_map(|(client, upstream)| [false, true].map(|stream| (client, upstream, stream)))
}

#[tokio::test]
async fn text_and_usage_reach_every_client_from_every_provider() {
    let upstreams = Upstreams::start().await;
    for (client, upstream, stream) in pairs() {
        let case = format!("{client} over {upstream}, stream {stream}");
        let connection = upstreams.of(upstream);
        upstreams.world.script_model(connection, "m1").then(Step::ok("Grüße 👋 from far"));
        let before = upstreams.world.calls(connection).len();
        let reply = upstreams.post(&Upstreams::ask(client, upstream, stream)).await;
        let answer = heard(client, &reply, stream);
        assert_eq!(text(&answer), "Grüße 👋 from far", "{case}");
        assert_eq!(answer.finish(), FinishReason::End, "{case}");
        let usage = answer.usage;
        if client != Dialect::Chat || !stream {
            assert!(usage.input() > Some(0) && usage.output > Some(0), "{case}: {usage:?}");
        }
        let calls = upstreams.world.calls(connection);
        let asked = matches!(calls[before].endpoint, Endpoint::Run(operation) if operation.dialect() == upstream);
        assert!(calls.len() == before + 1 && asked, "{case}: {:?}", calls[before].path);
        assert_eq!(reply.header("x-omniroute-provider"), Some(Upstreams::provider(upstream)), "{case}");
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn two_tool_calls_reach_every_client_whole() {
    let upstreams = Upstreams::start().await;
    for (client, upstream, stream) in pairs() {
        let case = format!("{client} over {upstream}, stream {stream}");
        let calls = Answer::tool_call("get_weather", &json!({"city": "Berlin"}))
            .with_tool_call("get_weather", &json!({"city": "Paris", "n": 9_007_199_254_740_993_u64}));
        upstreams.world.script_model(upstreams.of(upstream), "m1").then(Step::answer(calls));
        let mut ask = Upstreams::ask(client, upstream, stream);
        ask.body = with_tool(client, &ask.body);
        let reply = upstreams.post(&ask).await;
        let answer = heard(client, &reply, stream);
        let called: Vec<(&str, &str)> = answer
            .parts
            .iter()
            .filter_map(|part| match &part.kind {
                PartKind::ToolCall { name, .. } => Some((name.as_str(), part.text.as_str())),
                _ => None,
            })
            .collect();
        let expected =
            [("get_weather", r#"{"city":"Berlin"}"#), ("get_weather", r#"{"city":"Paris","n":9007199254740993}"#)];
        assert_eq!(called, expected, "{case}");
        assert_eq!(answer.finish(), FinishReason::ToolCalls, "{case}");
    }
    upstreams.world.check_invariants().await;
}

/// The body with one tool in the client's words.
fn with_tool(client: Dialect, body: &str) -> String {
    let mut body: serde_json::Value = serde_json::from_str(body).expect("JSON");
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}, "n": {"type": "integer"}}});
    let function = json!({"name": "get_weather", "description": "Weather", "parameters": schema});
    body["tools"] = match client {
        Dialect::Chat => json!([{"type": "function", "function": function}]),
        Dialect::Responses => json!([{"type": "function", "name": "get_weather", "parameters": schema}]),
        Dialect::Messages => json!([{"name": "get_weather", "input_schema": schema}]),
        Dialect::Gemini => json!([{"functionDeclarations": [function]}]),
    };
    body.to_string()
}

#[tokio::test]
async fn an_answer_that_was_cut_short_by_its_limit_says_so_everywhere() {
    let upstreams = Upstreams::start().await;
    for (client, upstream, stream) in pairs() {
        let step = Step::answer(Answer::text("half an ans").with_finish(Finish::Length));
        upstreams.world.script_model(upstreams.of(upstream), "m1").then(step);
        let reply = upstreams.post(&Upstreams::ask(client, upstream, stream)).await;
        let answer = heard(client, &reply, stream);
        assert_eq!(answer.finish(), FinishReason::Length, "{client} over {upstream}, stream {stream}");
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn a_gemini_client_without_sse_gets_one_json_array() {
    let upstreams = Upstreams::start().await;
    for upstream in DIALECTS {
        let path = format!("/v1beta/models/{}/m1:streamGenerateContent", Upstreams::provider(upstream));
        let reply = upstreams.world.agent().post(&path, acceptance::gemini_body()).await;
        assert_eq!(reply.status, 200, "{upstream}: {}", reply.text());
        assert!(reply.header("content-type").is_some_and(|it| it.starts_with("application/json")), "{upstream}");
        let elements = reply.json();
        let told: String = elements
            .as_array()
            .expect("an array")
            .iter()
            .filter_map(|element| element["candidates"][0]["content"]["parts"][0]["text"].as_str())
            .collect();
        assert!(told.contains("Hello"), "{upstream}: {elements}");
    }
    upstreams.world.check_invariants().await;
}
