//! Marks that a provider is to cache by (gateway specification, 2.6): set for whoever cannot, kept or taken off as its owner
//! wants, and never touched where nothing is translated.

use acceptance::{Connection, World};
use domain::Dialect;
use http::Method;
use serde_json::{Value, json};

use crate::world::{DIALECTS, Upstreams};

/// Sends a conversation of three turns with system text and two tools; what the provider gets of it.
async fn arrives(world: &World, at: &Connection, client: Dialect) -> Value {
    let (path, body) = conversation(client);
    let reply = world.agent().post(path, body.to_string()).await;
    assert_eq!(reply.status, 200, "{client}: {}", reply.text());
    world.calls(at).last().expect("a call").json()
}

fn conversation(client: Dialect) -> (&'static str, Value) {
    let model = "anthropic/m1";
    let schema = json!({"type": "object", "properties": {}});
    match client {
        Dialect::Chat => (
            "/v1/chat/completions",
            json!({
                "model": model, "max_tokens": 64,
                "tools": two(|name| json!({"type": "function", "function": {"name": name, "parameters": schema}})),
                "messages": [
                    {"role": "system", "content": "Be brief"}, {"role": "system", "content": "Be kind"},
                    {"role": "user", "content": "one"}, {"role": "assistant", "content": "1"},
                    {"role": "user", "content": [{"type": "text", "text": "two"}, {"type": "text", "text": "and a half"}]},
                    {"role": "assistant", "content": null,
                     "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]},
                    {"role": "tool", "tool_call_id": "call_1", "content": "a b"},
                ],
            }),
        ),
        Dialect::Responses => (
            "/v1/responses",
            json!({
                "model": model, "max_output_tokens": 64, "store": false, "instructions": "Be brief",
                "tools": two(|name| json!({"type": "function", "name": name, "parameters": schema, "strict": false})),
                "input": [
                    {"role": "system", "content": "Be kind"},
                    {"role": "user", "content": "one"}, {"role": "assistant", "content": "1"},
                    {"role": "user", "content": [{"type": "input_text", "text": "two"}, {"type": "input_text", "text": "and a half"}]},
                    {"type": "function_call", "call_id": "call_1", "name": "ls", "arguments": "{}"},
                    {"type": "function_call_output", "call_id": "call_1", "output": "a b"},
                ],
            }),
        ),
        Dialect::Messages => (
            "/v1/messages",
            json!({
                "model": model, "max_tokens": 64,
                "system": [{"type": "text", "text": "Be brief"}, {"type": "text", "text": "Be kind"}],
                "tools": two(|name| json!({"name": name, "input_schema": schema})),
                "messages": [
                    {"role": "user", "content": "one"}, {"role": "assistant", "content": "1"},
                    {"role": "user", "content": [{"type": "text", "text": "two"}, {"type": "text", "text": "and a half"}]},
                    {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {}}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a b"}]},
                ],
            }),
        ),
        Dialect::Gemini => (
            "/v1beta/models/anthropic/m1:generateContent",
            json!({
                "systemInstruction": {"parts": [{"text": "Be brief"}, {"text": "Be kind"}]},
                "tools": [{"functionDeclarations": two(|name| json!({"name": name, "parametersJsonSchema": schema}))}],
                "contents": [
                    {"role": "user", "parts": [{"text": "one"}]}, {"role": "model", "parts": [{"text": "1"}]},
                    {"role": "user", "parts": [{"text": "two"}, {"text": "and a half"}]},
                    {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {}}}]},
                    {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "a b"}}}]},
                ],
            }),
        ),
    }
}

fn two(tool: impl Fn(&str) -> Value) -> Value {
    ["ls", "cat"].iter().map(|name| tool(name)).collect()
}

/// Where marks stand: the path of each marked block.
fn marks(value: &Value, path: &str) -> Vec<String> {
    match value {
        Value::Object(members) => {
            let own = members.get("cache_control").map(|mark| {
                assert_eq!(*mark, json!({"type": "ephemeral"}), "{path}");
                path.to_owned()
            });
            let inner = members.iter().flat_map(|(name, value)| marks(value, &format!("{path}/{name}")));
            own.into_iter().chain(inner).collect()
        }
        Value::Array(entries) => {
            let inner = entries.iter().enumerate();
            inner.flat_map(|(index, value)| marks(value, &format!("{path}/{index}"))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// Behind the tools, behind the system text, behind the turn before and behind this one.
const WORTH_CACHING: [&str; 4] = ["/system/1", "/tools/1", "/messages/2/content/1", "/messages/4/content/0"];

#[tokio::test]
async fn a_conversation_from_another_dialect_is_marked_where_the_next_turn_begins_again() {
    let upstreams = Upstreams::start().await;
    let (world, claude) = (&upstreams.world, upstreams.of(Dialect::Messages));
    for client in DIALECTS {
        let sent = arrives(world, claude, client).await;
        let expected: &[&str] = if client == Dialect::Messages { &[] } else { &WORTH_CACHING };
        assert_eq!(marks(&sent, ""), expected, "{client}: {sent}");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn no_provider_of_another_dialect_is_told_of_a_mark() {
    let upstreams = Upstreams::start().await;
    for upstream in [Dialect::Chat, Dialect::Responses, Dialect::Gemini] {
        for client in DIALECTS {
            let ask = Upstreams::ask(client, upstream, false);
            assert_eq!(upstreams.post(&ask).await.status, 200, "{client} over {upstream}");
            let sent = upstreams.world.calls(upstreams.of(upstream)).last().expect("a call").json();
            assert_eq!(marks(&sent, ""), [""; 0], "{client} over {upstream}: {sent}");
        }
    }
}

#[tokio::test]
async fn marks_are_set_as_the_setting_says_unless_the_connection_says_otherwise() {
    let upstreams = Upstreams::start().await;
    let (world, claude) = (&upstreams.world, upstreams.of(Dialect::Messages));
    for (setting, own, marked) in [
        ("auto", Value::Null, true),
        ("passthrough", Value::Null, false),
        ("off", Value::Null, false),
        ("off", json!("auto"), true),
        ("passthrough", json!("auto"), true),
        ("auto", json!("off"), false),
        ("auto", json!("passthrough"), false),
    ] {
        world.set(json!({"translation": {"cacheControlMode": setting}})).await;
        world.change(claude, json!({"providerSpecificData": {"cacheControlMode": own}})).await;
        let sent = arrives(world, claude, Dialect::Chat).await;
        let expected: &[&str] = if marked { &WORTH_CACHING } else { &[] };
        assert_eq!(marks(&sent, ""), expected, "{setting}, {own}: {sent}");
    }
    let path = format!("/api/providers/{}", claude.id);
    let wrong = json!({"providerSpecificData": {"cacheControlMode": "always"}});
    let reply = world.manage(Method::PATCH, &path, Some(wrong)).await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    assert!(reply.text().contains("providerSpecificData.cacheControlMode"), "{}", reply.text());
    assert!(reply.text().contains("auto, off or passthrough"), "{}", reply.text());
}

#[tokio::test]
async fn the_clients_own_marks_stand_alone_and_are_taken_off_where_none_are_wanted() {
    let upstreams = Upstreams::start().await;
    let (world, claude) = (&upstreams.world, upstreams.of(Dialect::Messages));
    let (path, mut body) = conversation(Dialect::Chat);
    body["messages"][4]["content"][0]["cache_control"] = json!({"type": "ephemeral"});
    for (mode, expected) in
        [("auto", &["/messages/2/content/0"][..]), ("passthrough", &["/messages/2/content/0"]), ("off", &[])]
    {
        world.set(json!({"translation": {"cacheControlMode": mode}})).await;
        let reply = world.agent().post(path, body.to_string()).await;
        assert_eq!(reply.status, 200, "{mode}: {}", reply.text());
        let sent = world.calls(claude).last().expect("a call").json();
        assert_eq!(marks(&sent, ""), expected, "{mode}: {sent}");
    }
}

#[tokio::test]
async fn a_search_as_the_only_tool_carries_the_mark_of_the_tools() {
    let upstreams = Upstreams::start().await;
    let (world, claude) = (&upstreams.world, upstreams.of(Dialect::Messages));
    let body = json!({"model": "anthropic/m1", "input": "News?", "store": false, "tools": [{"type": "web_search"}]});
    let reply = world.agent().post("/v1/responses", body.to_string()).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let sent = world.calls(claude).last().expect("a call").json();
    assert_eq!(marks(&sent, ""), ["/tools/0", "/messages/0/content/0"], "{sent}");
}

#[tokio::test]
async fn a_request_in_the_providers_own_words_keeps_its_marks_whatever_the_setting() {
    let upstreams = Upstreams::start().await;
    let (world, claude) = (&upstreams.world, upstreams.of(Dialect::Messages));
    let text = json!([{"type": "text", "text": "long", "cache_control": {"type": "ephemeral"}}]);
    let body = json!({"model": "anthropic/m1", "max_tokens": 64, "messages": [{"role": "user", "content": text}]});
    for mode in ["auto", "off", "passthrough"] {
        world.set(json!({"translation": {"cacheControlMode": mode}})).await;
        assert_eq!(world.agent().post("/v1/messages", body.to_string()).await.status, 200, "{mode}");
        let sent = world.calls(claude).last().expect("a call").json();
        assert_eq!(marks(&sent, ""), ["/messages/0/content/0"], "{mode}: {sent}");
    }
}
