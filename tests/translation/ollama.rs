//! Clients that speak only Ollama's own protocol, over an upstream of every dialect.

use acceptance::Reply;
use domain::{Dialect, Millis};
use fake_upstream::{Answer, Endpoint, Finish, Step};
use http::Method;
use serde_json::{Value, json};

use crate::world::{DIALECTS, Upstreams};

fn model(upstream: Dialect) -> String {
    format!("{}/m1", Upstreams::provider(upstream))
}

/// `stream` absent is a stream.
fn chat(upstream: Dialect, stream: bool) -> Value {
    let mut body = json!({"model": model(upstream), "messages": [{"role": "user", "content": "Say hello."}]});
    if !stream {
        body["stream"] = json!(false);
    }
    body
}

async fn post(upstreams: &Upstreams, path: &str, body: &Value) -> Reply {
    upstreams.world.agent().post(path, body.to_string()).await
}

/// The lines of a good answer; a whole one is a single line.
fn lines(reply: &Reply, stream: bool) -> Vec<Value> {
    assert_eq!(reply.status, 200, "{}", reply.text());
    let media = if stream { "application/x-ndjson" } else { "application/json" };
    assert_eq!(reply.header("content-type"), Some(media));
    let lines: Vec<Value> =
        reply.text().lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let (last, before) = lines.split_last().expect("at least one line");
    assert!(last["done"] == true && before.iter().all(|line| line["done"] == false), "{}", reply.text());
    assert!(stream || before.is_empty(), "{}", reply.text());
    lines
}

fn told(lines: &[Value]) -> String {
    lines.iter().filter_map(|line| line["message"]["content"].as_str().or(line["response"].as_str())).collect()
}

fn cases() -> impl Iterator<Item = (Dialect, bool)> {
    DIALECTS.into_iter().flat_map(|upstream| [false, true].map(|stream| (upstream, stream)))
}

#[tokio::test]
async fn text_and_counts_come_from_every_provider_in_both_forms() {
    let upstreams = Upstreams::start().await;
    for (upstream, stream) in cases() {
        let connection = upstreams.of(upstream);
        for path in ["/api/chat", "/api/generate"] {
            upstreams.world.script_model(connection, "m1").then(Step::ok("Grüße 👋 from far"));
            let before = upstreams.world.calls(connection).len();
            let mut body = chat(upstream, stream);
            if path == "/api/generate" {
                body["prompt"] = json!("Say hello.");
                body.as_object_mut().expect("an object").remove("messages");
            }
            let reply = post(&upstreams, path, &body).await;
            let lines = lines(&reply, stream);
            let case = format!("{path} over {upstream}, stream {stream}: {}", reply.text());
            assert_eq!(told(&lines), "Grüße 👋 from far", "{case}");
            let last = lines.last().expect("a line");
            assert_eq!(last["done_reason"], "stop", "{case}");
            for name in ["prompt_eval_count", "eval_count", "total_duration", "eval_duration"] {
                assert!(last[name].as_u64() > Some(0), "{name}, {case}");
            }
            let calls = upstreams.world.calls(connection);
            let asked = matches!(calls[before].endpoint, Endpoint::Run(operation) if operation.dialect() == upstream);
            assert!(calls.len() == before + 1 && asked, "{case}");
            assert_eq!(reply.header("x-omniroute-provider"), Some(Upstreams::provider(upstream)), "{case}");
        }
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn a_tool_round_trip_by_name_works_over_every_provider() {
    let upstreams = Upstreams::start().await;
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}, "n": {"type": "integer"}}});
    let tools =
        json!([{"type": "function", "function": {"name": "get_weather", "description": "W", "parameters": schema}}]);
    for (upstream, stream) in cases() {
        let calls = Answer::tool_call("get_weather", &json!({"city": "Berlin"}))
            .with_tool_call("get_weather", &json!({"city": "Paris", "n": 9_007_199_254_740_993_u64}));
        let turn = Step::tool_turn(calls, Answer::text("The tool said: {tool_result}"));
        upstreams.world.script_model(upstreams.of(upstream), "m1").then(turn);
        let mut body = chat(upstream, stream);
        body["tools"] = tools.clone();
        let lines = lines(&post(&upstreams, "/api/chat", &body).await, stream);
        let case = format!("over {upstream}, stream {stream}: {lines:?}");
        let called: Vec<Value> = lines
            .iter()
            .flat_map(|line| line["message"]["tool_calls"].as_array().cloned().unwrap_or_default())
            .collect();
        let arguments: Vec<String> = called.iter().map(|call| call["function"]["arguments"].to_string()).collect();
        assert_eq!(arguments, [r#"{"city":"Berlin"}"#, r#"{"city":"Paris","n":9007199254740993}"#], "{case}");

        // As the older form of the protocol has it: without ids.
        let returned: Vec<Value> = called.iter().map(|call| json!({"function": call["function"]})).collect();
        let messages = body["messages"].as_array_mut().expect("messages");
        messages.push(json!({"role": "assistant", "content": "", "tool_calls": returned}));
        for result in ["21 degrees", "19 degrees"] {
            messages.push(json!({"role": "tool", "tool_name": "get_weather", "content": result}));
        }
        let reply = post(&upstreams, "/api/chat", &body).await;
        assert_eq!(told(&self::lines(&reply, stream)), "The tool said: 19 degrees", "{case}: {}", reply.text());
        upstreams.world.forgive(upstreams.of(upstream));
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn thinking_and_a_cut_by_the_limit_are_told() {
    let upstreams = Upstreams::start().await;
    for (upstream, stream) in cases() {
        let answer = Answer::text("half an ans").with_reasoning("Hm.").with_finish(Finish::Length);
        upstreams.world.script_model(upstreams.of(upstream), "m1").then(Step::answer(answer));
        let mut body = chat(upstream, stream);
        body["think"] = json!(true);
        body["options"] = json!({"num_predict": 2000, "num_ctx": 4096});
        let lines = lines(&post(&upstreams, "/api/chat", &body).await, stream);
        let thought: String = lines.iter().filter_map(|line| line["message"]["thinking"].as_str()).collect();
        assert_eq!((thought.as_str(), told(&lines).as_str()), ("Hm.", "half an ans"), "{upstream}, stream {stream}");
        assert_eq!(lines.last().expect("a line")["done_reason"], "length", "{upstream}, stream {stream}");
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn errors_are_one_sentence_under_the_right_status() {
    let upstreams = Upstreams::start().await;
    for upstream in DIALECTS {
        for (status, seen) in [(400, 400), (401, 502), (429, 429), (500, 500), (503, 503)] {
            let connection = upstreams.of(upstream);
            upstreams.world.script_model(connection, "m1").then(Step::error(status, "something odd happened"));
            let reply = post(&upstreams, "/api/chat", &chat(upstream, true)).await;
            assert_eq!(reply.status, seen, "{upstream}, {status}: {}", reply.text());
            let error = reply.json()["error"].as_str().expect("a sentence").to_owned();
            assert!(seen == 502 || error.contains("something odd happened"), "{upstream}, {status}: {error}");
            upstreams.world.reset(connection).await;
            upstreams.world.forgive(connection);
        }
    }
    let reply = upstreams.world.stranger().post("/api/chat", chat(Dialect::Chat, true).to_string()).await;
    assert!(reply.status == 401 && reply.json()["error"].is_string(), "{}", reply.text());
    let reply = post(
        &upstreams,
        "/api/chat",
        &json!({"model": "nobody/knows", "messages": [{"role": "user", "content": "a"}]}),
    )
    .await;
    assert!(reply.status == 404 && reply.json()["error"].is_string(), "{}", reply.text());
    let reply =
        post(&upstreams, "/api/generate", &json!({"model": model(Dialect::Chat), "prompt": "a", "suffix": "b"})).await;
    assert!(
        reply.status == 400 && reply.json()["error"].as_str().is_some_and(|it| it.contains("suffix")),
        "{}",
        reply.text()
    );
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn a_stream_that_breaks_off_ends_with_an_error_and_never_with_an_end() {
    let upstreams = Upstreams::start().await;
    for upstream in DIALECTS {
        let answer = Answer::text("one two three four five six").in_chunks(6, std::time::Duration::ZERO);
        let connection = upstreams.of(upstream);
        upstreams.world.script_model(connection, "m1").then(Step::answer(answer).cut(900));
        let reply = post(&upstreams, "/api/chat", &chat(upstream, true)).await;
        let case = format!("{upstream}: {}", reply.text());
        if reply.status == 200 {
            let last = reply.text().lines().last().expect("a line");
            let last: Value = serde_json::from_str(last).expect("a line of JSON");
            assert!(last["error"].is_string(), "{case}");
            assert!(!reply.text().contains("\"done\":true"), "{case}");
        } else {
            assert!(reply.json()["error"].is_string(), "{case}");
        }
        upstreams.world.reset(connection).await;
        upstreams.world.forgive(connection);
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn a_slow_answer_is_kept_alive_with_empty_lines() {
    let upstreams = Upstreams::start().await;
    upstreams.world.set(json!({"gateway": {"keepAliveAfterMs": {"chat": 1000}}})).await;
    let gate = fake_upstream::Gate::closed();
    let connection = upstreams.of(Dialect::Messages);
    upstreams.world.script_model(connection, "m1").then(Step::ok("late").held(&gate));
    let agent = upstreams.world.agent();
    let opened = agent.stream("/api/chat", chat(Dialect::Messages, true).to_string());
    let waited = async {
        upstreams.world.wait_for_calls(connection, 1).await;
        upstreams.world.advance(Millis::seconds(2));
    };
    let (mut reply, ()) = tokio::join!(opened, waited);
    let early = reply.until("\"done\":false").await;
    assert!(String::from_utf8_lossy(&early).contains("\"content\":\"\""), "a line that says nothing yet");
    gate.open();
    let rest = reply.rest().await;
    // The head was read with the first line.
    assert!(rest.header("content-type") == Some("application/x-ndjson") && rest.status == 200);
    assert_eq!(told(&lines(&rest, true)), "late");
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn the_server_speaks_of_itself_and_its_models() {
    let upstreams = Upstreams::start().await;
    let agent = upstreams.world.agent();
    let listed = agent.get("/v1/models").await.json();
    let names = |list: &Value, id: &str| -> Vec<String> {
        list.as_array().expect("a list").iter().filter_map(|entry| entry[id].as_str().map(str::to_owned)).collect()
    };
    let tags = agent.get("/api/tags").await.json();
    assert_eq!(names(&tags["models"], "name"), names(&listed["data"], "id"));
    let name = names(&tags["models"], "name")[0].clone();
    let shown = post(&upstreams, "/api/show", &json!({ "model": name })).await.json();
    assert!(shown["capabilities"].as_array().is_some_and(|it| it.contains(&json!("completion"))), "{shown}");
    let family = shown["model_info"]["general.architecture"].as_str().expect("an architecture").to_owned();
    assert!(shown["model_info"][format!("{family}.context_length")].as_u64() > Some(0), "{shown}");
    assert_eq!(post(&upstreams, "/api/show", &json!({"model": "nobody"})).await.status, 404);
    assert_eq!(agent.get("/api/ps").await.json(), json!({"models": []}));
    assert!(agent.get("/api/version").await.json()["version"].is_string());
    let load = post(&upstreams, "/api/generate", &json!({"model": model(Dialect::Chat)})).await;
    assert_eq!(load.json()["done_reason"], "load");
    let calls = upstreams.world.calls(upstreams.of(Dialect::Chat));
    assert!(!calls.iter().any(|call| matches!(call.endpoint, Endpoint::Run(_))), "nothing is loaded anywhere");
    for path in ["/api/tags", "/api/ps", "/api/version"] {
        assert_eq!(upstreams.world.stranger().get(path).await.status, 401, "{path}");
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn embeddings_are_told_in_both_forms() {
    let upstreams = Upstreams::start().await;
    upstreams.world.connect("openai", "vectors").await;
    let reply = post(&upstreams, "/api/embed", &json!({"model": "openai/m1", "input": ["a", "b"]})).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.json()["embeddings"].as_array().map(Vec::len), Some(2), "{}", reply.text());
    let reply = post(&upstreams, "/api/embeddings", &json!({"model": "openai/m1", "prompt": "a"})).await;
    assert!(reply.json()["embedding"][0].is_number(), "{}", reply.text());
    let reply = post(&upstreams, "/api/embed", &json!({"model": "anthropic/m1", "input": "a"})).await;
    assert!(reply.status == 501 && reply.json()["error"].is_string(), "{}", reply.text());
    upstreams.world.check_invariants().await;
}

/// Paths of the two surfaces lie side by side under `/api`; none may hide another, and each has a key of its own.
#[tokio::test]
async fn no_management_path_is_shadowed_and_the_keys_do_not_mix() {
    let upstreams = Upstreams::start().await;
    let world = &upstreams.world;
    let document = world.managed(Method::GET, "/api/openapi.json", None).await;
    let ours = ["chat", "generate", "embed", "embeddings", "show", "tags", "ps", "version"];
    for path in document["paths"].as_object().expect("paths").keys() {
        let name = path.strip_prefix("/api/").expect("a management path");
        assert!(!ours.contains(&name.to_ascii_lowercase().as_str()), "{path}");
    }
    let token = world.management_token();
    let with_token = world.stranger().with_key(&token).post("/api/chat", chat(Dialect::Chat, false).to_string()).await;
    assert_eq!(with_token.status, 401, "a management token is no local key: {}", with_token.text());
    let with_key = world.agent().get("/api/providers").await;
    assert!(with_key.status == 401 || with_key.status == 403, "{}", with_key.text());
    let page = world
        .agent()
        .with("origin", "https://evil.example")
        .post("/api/chat", chat(Dialect::Chat, false).to_string())
        .await;
    assert_eq!(page.status, 403, "{}", page.text());
    let other = world.agent().with("host", "evil.example").get("/api/tags").await;
    assert_eq!(other.status, 403, "{}", other.text());
    let get = world.agent().get("/api/chat").await;
    assert!(get.status == 405 && get.header("allow") == Some("POST"), "{}", get.text());
    world.check_invariants().await;
}
