//! What one turn leaves for the next: answers continued by id, proofs of reasoning, reasoning that is wanted back.

use domain::Dialect;
use fake_upstream::{Answer, Step};
use serde_json::{Value, json};

use crate::world::{Upstreams, heard, text};

fn responses(model: &str, more: Value) -> String {
    let mut body = json!({"model": model});
    for (name, value) in more.as_object().expect("an object") {
        body[name] = value.clone();
    }
    body.to_string()
}

#[tokio::test]
async fn an_answer_is_continued_by_its_id_at_a_provider_that_stores_none() {
    let upstreams = Upstreams::start().await;
    for upstream in [Dialect::Chat, Dialect::Messages, Dialect::Gemini] {
        for stream in [false, true] {
            let model = format!("{}/m1", Upstreams::provider(upstream));
            let connection = upstreams.of(upstream);
            upstreams.world.script_model(connection, "m1").then(Step::ok("The first answer")).then(Step::ok("Hello"));
            let first = responses(&model, json!({"input": "The first question", "stream": stream}));
            let reply = upstreams.world.agent().post("/v1/responses", first).await;
            let answer = heard(Dialect::Responses, &reply, stream);
            let id = answer.id.clone().expect("an id");
            let next = json!({"input": "The second question", "previous_response_id": id, "stream": stream});
            let reply = upstreams.world.agent().post("/v1/responses", responses(&model, next)).await;
            assert!(text(&heard(Dialect::Responses, &reply, stream)).contains("Hello"), "{upstream}");
            let calls = upstreams.world.calls(connection);
            let sent = calls.last().expect("a call").json().to_string();
            let place = |words: &str| sent.find(words).unwrap_or_else(|| panic!("{upstream}: `{words}` in {sent}"));
            assert!(place("The first question") < place("The first answer"), "{upstream}");
            assert!(place("The first answer") < place("The second question"), "{upstream}");
        }
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn an_item_named_by_its_id_is_found_at_a_provider_that_stores_none() {
    let upstreams = Upstreams::start().await;
    for upstream in [Dialect::Chat, Dialect::Messages, Dialect::Gemini] {
        let model = format!("{}/m1", Upstreams::provider(upstream));
        let connection = upstreams.of(upstream);
        upstreams.world.script_model(connection, "m1").then(Step::ok("The first answer")).then(Step::ok("Hello"));
        let reply = upstreams.world.agent().post("/v1/responses", responses(&model, json!({"input": "x"}))).await;
        let item = reply.json()["output"][0]["id"].clone();
        let reference = json!({"type": "item_reference", "id": item});
        let next = json!({"input": [reference, {"role": "user", "content": "The second question"}]});
        let reply = upstreams.world.agent().post("/v1/responses", responses(&model, next.clone())).await;
        assert_eq!(reply.status, 200, "{upstream}: {}", reply.text());
        let sent = upstreams.world.calls(connection).last().expect("a call").json().to_string();
        assert!(sent.contains("The first answer"), "{upstream}: {sent}");
        let other = upstreams.world.make_key(json!({"name": format!("other {upstream}")})).await;
        let reply = upstreams.world.stranger().with_key(&other).post("/v1/responses", responses(&model, next)).await;
        assert_eq!(reply.json()["error"]["code"], "previous_response_not_found", "{}", reply.text());
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn what_was_not_kept_cannot_be_continued() {
    let upstreams = Upstreams::start().await;
    let first = responses("deepseek/m1", json!({"input": "x", "store": false}));
    let reply = upstreams.world.agent().post("/v1/responses", first).await;
    let id = reply.json()["id"].as_str().expect("an id").to_owned();
    for id in [id.as_str(), "resp_unknown"] {
        let next = responses("deepseek/m1", json!({"input": "y", "previous_response_id": id}));
        let reply = upstreams.world.agent().post("/v1/responses", next).await;
        assert_eq!(reply.status, 400, "{}", reply.text());
        assert_eq!(reply.json()["error"]["code"], "previous_response_not_found");
    }
    assert_eq!(upstreams.world.calls(upstreams.of(Dialect::Chat)).len(), 1);
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn nobody_continues_the_conversation_of_another_key() {
    let upstreams = Upstreams::start().await;
    let other = upstreams.world.make_key(json!({"name": "other"})).await;
    let first = responses("deepseek/m1", json!({"input": "a secret"}));
    let reply = upstreams.world.agent().post("/v1/responses", first).await;
    let id = reply.json()["id"].as_str().expect("an id").to_owned();
    let next = responses("deepseek/m1", json!({"input": "y", "previous_response_id": id}));
    let reply = upstreams.world.stranger().with_key(&other).post("/v1/responses", next).await;
    assert_eq!(reply.json()["error"]["code"], "previous_response_not_found", "{}", reply.text());
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn thinking_of_one_maker_never_reaches_another() {
    let upstreams = Upstreams::start().await;
    let body = json!({
        "model": "anthropic/m1", "max_tokens": 64,
        "messages": [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "their own", "signature": "EqQB"},
                {"type": "thinking", "thinking": "of another", "signature": "omr1.openai.gAAA"},
                {"type": "text", "text": "a"},
            ]},
            {"role": "user", "content": "r"},
        ],
    });
    let reply = upstreams.world.agent().post("/v1/messages", body.to_string()).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let sent = upstreams.world.calls(upstreams.of(Dialect::Messages))[0].json();
    let blocks = sent["messages"][1]["content"].as_array().expect("blocks");
    assert_eq!(blocks.len(), 2, "{sent}");
    assert_eq!((&blocks[0]["signature"], &blocks[1]["text"]), (&json!("EqQB"), &json!("a")));
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn an_account_that_refuses_old_thinking_is_asked_once_more_without_it() {
    let upstreams = Upstreams::start().await;
    let connection = upstreams.of(Dialect::Messages);
    let refusal = "messages.1.content.0: Invalid `signature` in `thinking` block";
    let body = json!({
        "model": "anthropic/m1", "max_tokens": 2048, "thinking": {"type": "enabled", "budget_tokens": 1024},
        "messages": [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "t", "signature": "old"},
                {"type": "text", "text": "a"},
            ]},
            {"role": "user", "content": "r"},
        ],
    });
    upstreams.world.script_model(connection, "m1").then(Step::error(400, refusal)).then(Step::ok("Hello"));
    let reply = upstreams.world.agent().post("/v1/messages", body.to_string()).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("x-omniroute-warnings"), Some("DROPPED_REASONING"));
    let calls = upstreams.world.calls(connection);
    assert_eq!(calls.len(), 2);
    assert!(!calls[1].json().to_string().contains("thinking"), "{}", calls[1].json());
    assert_eq!(upstreams.world.cooling(connection), None);

    // Once is enough: the second refusal is the client's to read.
    upstreams.world.script_model(connection, "m1").times(2, Step::error(400, refusal));
    let reply = upstreams.world.agent().post("/v1/messages", body.to_string()).await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    assert_eq!(upstreams.world.calls(connection).len(), 4);
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn a_combo_asks_a_target_that_refuses_old_thinking_once_more_without_it_before_the_next() {
    let upstreams = Upstreams::start().await;
    let world = &upstreams.world;
    let (first, second) = (upstreams.of(Dialect::Messages), upstreams.of(Dialect::Chat));
    let steps = json!({ "name": "two", "strategy": "priority", "models": ["anthropic/m1", "deepseek/m1"] });
    world.managed(http::Method::POST, "/api/combos", Some(steps)).await;
    let refusal = || Step::error(400, "messages.1.content.0: Invalid `signature` in `thinking` block");
    let body = json!({
        "model": "two", "max_tokens": 2048, "thinking": {"type": "enabled", "budget_tokens": 1024},
        "messages": [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "t", "signature": "old"},
                {"type": "text", "text": "a"},
            ]},
            {"role": "user", "content": "r"},
        ],
    });
    world.script_model(first, "m1").then(refusal()).then(Step::ok("Hello"));
    let reply = world.agent().post("/v1/messages", body.to_string()).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("x-omniroute-warnings"), Some("DROPPED_REASONING"));
    let calls = world.calls(first);
    assert_eq!((calls.len(), world.calls(second).len()), (2, 0));
    assert!(!calls[1].json().to_string().contains("thinking"), "{}", calls[1].json());
    let row = world.last_request().await;
    assert_eq!(row["trace"]["attempts"][0]["decision"], "retry_without_thinking", "{row}");

    // Once for each target: the second refusal sends the request on.
    world.script_model(first, "m1").times(2, refusal());
    let reply = world.agent().post("/v1/messages", body.to_string()).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!((world.calls(first).len(), world.calls(second).len()), (4, 1));
    world.check_invariants().await;
}

/// One step of an agent's work: the model calls `ls`, and the client keeps of it what the Messages dialect shows of a call.
async fn called(upstreams: &Upstreams, model: &str) -> (Value, String) {
    let first = json!({
        "model": model, "max_tokens": 64, "tools": tools(),
        "messages": [{"role": "user", "content": "q"}],
    });
    let reply = upstreams.world.agent().post("/v1/messages", first.to_string()).await.json();
    let blocks = reply["content"].as_array().expect("blocks");
    let call = blocks.iter().find(|block| block["type"] == "tool_use").expect("a call").clone();
    let id = call["id"].as_str().expect("an id").to_owned();
    (call, id)
}

/// The next step, from a client that kept the call and lost the thought.
async fn goes_on(upstreams: &Upstreams, model: &str, (call, id): (Value, String)) {
    let next = json!({
        "model": model, "max_tokens": 64, "tools": tools(),
        "messages": [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "a.txt"}]},
        ],
    });
    let reply = upstreams.world.agent().post("/v1/messages", next.to_string()).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
}

fn tools() -> Value {
    json!([{"name": "ls", "input_schema": {"type": "object", "properties": {}}}])
}

#[tokio::test]
async fn reasoning_goes_back_to_a_host_that_wants_it_on_calls() {
    let upstreams = Upstreams::start().await;
    let connection = upstreams.of(Dialect::Chat);
    let answer = Answer::tool_call("ls", &json!({})).with_reasoning("I should look around");
    upstreams.world.script_model(connection, "m1").then(Step::answer(answer));
    let call = called(&upstreams, "deepseek/m1").await;
    goes_on(&upstreams, "deepseek/m1", call).await;
    let sent = upstreams.world.calls(connection)[1].json();
    assert_eq!(sent["messages"][1]["reasoning_content"], "I should look around", "{sent}");
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn a_restart_between_two_steps_of_an_agents_work_loses_neither_reasoning_nor_proof() {
    let mut upstreams = Upstreams::start().await;
    let thoughtful = Answer::tool_call("ls", &json!({})).with_reasoning("I should look around");
    upstreams.world.script_model(upstreams.of(Dialect::Chat), "m1").then(Step::answer(thoughtful.clone()));
    upstreams.world.script_model(upstreams.of(Dialect::Gemini), "m1").then(Step::answer(thoughtful));
    let with_reasoning = called(&upstreams, "deepseek/m1").await;
    let with_proof = called(&upstreams, "gemini/m1").await;
    upstreams.world.crash().await;

    goes_on(&upstreams, "deepseek/m1", with_reasoning).await;
    let sent = upstreams.world.calls(upstreams.of(Dialect::Chat))[1].json();
    assert_eq!(sent["messages"][1]["reasoning_content"], "I should look around", "{sent}");
    goes_on(&upstreams, "gemini/m1", with_proof).await;
    let calls = upstreams.world.calls(upstreams.of(Dialect::Gemini));
    let parts = calls[1].json()["contents"][1]["parts"].clone();
    let proof = parts[0]["thoughtSignature"].as_str().unwrap_or_else(|| panic!("a proof in {parts}"));
    assert_ne!(proof, "skip_thought_signature_validator", "{parts}");
    upstreams.world.check_invariants().await;
}
