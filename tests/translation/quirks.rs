//! What one provider takes and another refuses (gateway specification, 2.16): each flag of the catalogue is seen in the
//! request that arrives there.

use acceptance::World;
use domain::Dialect;
use http::Method;
use serde_json::{Value, json};

/// What arrives at `provider` when a client of this dialect asks its model, with a tool, its call and result in the history.
async fn arrives(world: &World, provider: &'static str, client: Dialect, model: &str, more: Value) -> Value {
    let connection = world.connect(provider, &format!("{provider}-{client}-{model}")).await;
    let (path, mut body) = match client {
        Dialect::Messages => ("/v1/messages".to_owned(), asked_in_messages()),
        _ => ("/v1/chat/completions".to_owned(), asked_in_chat()),
    };
    body["model"] = json!(format!("{provider}/{model}"));
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    let reply = world.agent().post(&path, body.to_string()).await;
    assert_eq!(reply.status, 200, "{provider}: {}", reply.text());
    let sent = world.calls(&connection)[0].json();
    world.managed(Method::DELETE, &format!("/api/providers/{}", connection.id), None).await;
    sent
}

fn asked_in_messages() -> Value {
    json!({
        "max_tokens": 64,
        "tools": [{ "name": "ls", "input_schema": { "type": "object", "properties": {} } }],
        "messages": [
            { "role": "user", "content": "Look." },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "toolu_01-odd", "name": "ls", "input": {} }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "toolu_01-odd", "content": "a b" }] },
        ],
    })
}

fn asked_in_chat() -> Value {
    json!({ "max_tokens": 64, "messages": [{ "role": "user", "content": "Look." }] })
}

#[tokio::test]
async fn mistral_gets_ids_of_nine_letters_and_no_stream_options() {
    let world = World::start().await;
    let sent = arrives(&world, "mistral", Dialect::Messages, "m1", json!({ "stream": true })).await;
    let id = sent["messages"][1]["tool_calls"][0]["id"].as_str().expect("an id");
    assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{sent}");
    assert_eq!(sent["messages"][2]["tool_call_id"], id, "{sent}");
    assert_eq!(sent["stream_options"], Value::Null, "{sent}");
    let others = arrives(&world, "deepseek", Dialect::Messages, "m1", json!({ "stream": true })).await;
    assert_eq!(others["stream_options"]["include_usage"], true, "{others}");
}

#[tokio::test]
async fn openai_gets_one_limit_under_its_newer_name_and_others_the_older() {
    let world = World::start().await;
    for (provider, named, not) in
        [("openai", "max_completion_tokens", "max_tokens"), ("deepseek", "max_tokens", "max_completion_tokens")]
    {
        let sent = arrives(&world, provider, Dialect::Messages, "m1", json!({})).await;
        assert_eq!((&sent[named], &sent[not]), (&json!(64), &Value::Null), "{provider}: {sent}");
    }
}

#[tokio::test]
async fn local_servers_are_not_told_about_parallel_calls() {
    let world = World::start().await;
    let one = json!({ "tool_choice": { "type": "auto", "disable_parallel_tool_use": true } });
    for (provider, flag) in [("vllm", Value::Null), ("llama-cpp", Value::Null), ("deepseek", json!(false))] {
        let sent = arrives(&world, provider, Dialect::Messages, "m1", one.clone()).await;
        assert_eq!(sent["parallel_tool_calls"], flag, "{provider}: {sent}");
    }
}

#[tokio::test]
async fn top_k_goes_where_it_is_taken_and_is_told_missing_elsewhere() {
    let world = World::start().await;
    for (provider, top_k) in [("openrouter", json!(40)), ("openai", Value::Null)] {
        let sent = arrives(&world, provider, Dialect::Messages, "m1", json!({ "top_k": 40 })).await;
        assert_eq!(sent["top_k"], top_k, "{provider}: {sent}");
        let warned = world.last_request().await["trace"]["changes"].to_string().contains("top_k");
        assert_eq!(warned, top_k.is_null(), "{provider}");
    }
}

#[tokio::test]
async fn a_model_that_thinks_gets_no_temperature() {
    let world = World::start().await;
    let sent = arrives(&world, "openai", Dialect::Messages, "gpt-5.5", json!({ "temperature": 0.2 })).await;
    assert_eq!(sent["temperature"], Value::Null, "{sent}");
    assert!(world.last_request().await["trace"]["changes"].to_string().contains("temperature"));
}

#[tokio::test]
async fn a_model_of_one_endpoint_is_asked_there_whatever_the_client_speaks() {
    let world = World::start().await;
    for client in [Dialect::Chat, Dialect::Messages] {
        let sent = arrives(&world, "openai", client, "gpt-5.5-pro", json!({})).await;
        assert!(sent["input"].is_array() && sent["messages"].is_null(), "{client}: {sent}");
    }
}

#[tokio::test]
async fn several_answers_are_refused_by_whoever_cannot_give_them() {
    // decision 0005
    let world = World::start().await;
    for provider in ["anthropic", "codex"] {
        let connection = world.connect(provider, provider).await;
        let body =
            json!({ "model": format!("{provider}/m1"), "n": 2, "messages": [{ "role": "user", "content": "Hello." }] });
        let reply = world.agent().post("/v1/chat/completions", body.to_string()).await;
        assert_eq!(reply.status, 400, "{provider}: {}", reply.text());
        assert!(reply.error_message().starts_with("n: "), "{}", reply.text());
        assert!(world.calls(&connection).is_empty(), "{provider}");
    }
    let sent = arrives(&world, "deepseek", Dialect::Chat, "m1", json!({ "n": 2 })).await;
    assert_eq!(sent["n"], 2, "who speaks the client's own format answers for itself");
}
