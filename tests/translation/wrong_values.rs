//! Values that no request may have: each is a 400 that names the field, and nothing of it reaches a provider.

use domain::Dialect;
use serde_json::{Value, json};

use crate::world::{DIALECTS, Upstreams};

/// A plain request of a client, with these members set.
fn asked(client: Dialect, upstream: Dialect, wrong: &Value) -> (String, Value) {
    let model = format!("{}/m1", Upstreams::provider(upstream));
    let (path, mut body) = match client {
        Dialect::Chat => {
            ("/v1/chat/completions".to_owned(), json!({ "messages": [{ "role": "user", "content": "hi" }] }))
        }
        Dialect::Responses => ("/v1/responses".to_owned(), json!({ "input": "hi" })),
        Dialect::Messages => {
            ("/v1/messages".to_owned(), json!({ "max_tokens": 9, "messages": [{ "role": "user", "content": "hi" }] }))
        }
        Dialect::Gemini => (
            format!("/v1beta/models/{model}:generateContent"),
            json!({ "contents": [{ "parts": [{ "text": "hi" }] }] }),
        ),
    };
    if client != Dialect::Gemini {
        body["model"] = model.into();
    }
    body.as_object_mut().expect("an object").extend(wrong.as_object().expect("members").clone());
    (path, body)
}

/// What is wrong, by client, and the field that must be named.
fn wrong(client: Dialect) -> Vec<(Value, &'static str)> {
    match client {
        Dialect::Chat => vec![
            (json!({ "temperature": "hot" }), "temperature"),
            (json!({ "max_tokens": 1.5 }), "max_tokens"),
            (json!({ "stop": 5 }), "stop"),
            (json!({ "tool_choice": "maybe" }), "tool_choice"),
            (json!({ "tools": [{ "type": "function" }] }), "tools[0]"),
            (json!({ "parallel_tool_calls": "no" }), "parallel_tool_calls"),
            (json!({ "metadata": 5 }), "metadata"),
            (json!({ "messages": [5] }), "messages[0]"),
            (
                json!({ "messages": [{ "role": "user", "content": [{ "type": "file", "file": 5 }] }] }),
                "messages[0].content.file",
            ),
        ],
        Dialect::Responses => vec![
            (json!({ "temperature": [] }), "temperature"),
            (json!({ "max_output_tokens": "many" }), "max_output_tokens"),
            (json!({ "tool_choice": "maybe" }), "tool_choice"),
            (json!({ "tools": [{ "type": "function" }] }), "tools[0].name"),
            (json!({ "store": "perhaps" }), "store"),
            (json!({ "input": 5 }), "input"),
            (json!({ "input": [7] }), "input[0]"),
        ],
        Dialect::Messages => vec![
            (json!({ "max_tokens": "a" }), "max_tokens"),
            (json!({ "temperature": true }), "temperature"),
            (json!({ "stop_sequences": "x" }), "stop_sequences"),
            (json!({ "tool_choice": { "type": "maybe" } }), "tool_choice.type"),
            (json!({ "tools": [{ "name": "a", "strict": 3 }] }), "tools.0.strict"),
            (json!({ "thinking": { "type": "enabled", "budget_tokens": "x" } }), "thinking.budget_tokens"),
            (
                json!({ "messages": [{ "role": "user", "content": [{ "type": "image", "source": 1 }] }] }),
                "messages.0.content.0.source",
            ),
        ],
        Dialect::Gemini => vec![
            (json!({ "generationConfig": { "temperature": "hot" } }), "generationConfig.temperature"),
            (json!({ "generationConfig": { "maxOutputTokens": "x" } }), "generationConfig.maxOutputTokens"),
            (json!({ "contents": [{ "parts": [{ "text": 5 }] }] }), "contents[0].parts[0].text"),
            (json!({ "tools": [{ "functionDeclarations": [{}] }] }), "tools[0].functionDeclarations[0].name"),
        ],
    }
}

#[tokio::test]
async fn a_wrong_value_is_a_400_that_names_its_field_and_nothing_is_sent() {
    let upstreams = Upstreams::start().await;
    for client in DIALECTS {
        for upstream in DIALECTS.into_iter().filter(|upstream| *upstream != client) {
            for (members, field) in wrong(client) {
                let (path, body) = asked(client, upstream, &members);
                let reply = upstreams.world.agent().post(&path, body.to_string()).await;
                let case = format!("{client} over {upstream}: {members}: {}", reply.text());
                assert_eq!(reply.status, 400, "{case}");
                assert!(reply.error_message().starts_with(&format!("{field}: ")), "{case}");
                assert!(!reply.text().contains("struct"), "{case}");
            }
        }
    }
    for upstream in DIALECTS {
        assert!(upstreams.world.calls(upstreams.of(upstream)).is_empty(), "{upstream}");
    }
}

#[tokio::test]
async fn what_clients_write_in_their_own_way_is_still_taken() {
    let upstreams = Upstreams::start().await;
    for (client, members) in [
        // Local servers take -1 for "as long as it likes".
        (Dialect::Chat, json!({ "max_tokens": -1, "temperature": "0.5", "stop": null, "tool_choice": null })),
        (
            Dialect::Chat,
            json!({ "tools": [{ "type": "function", "function": { "name": "ls" } }], "tool_choice": { "type": "auto" } }),
        ),
        (Dialect::Responses, json!({ "max_output_tokens": "64", "store": null, "tools": null })),
        (Dialect::Messages, json!({ "temperature": 1, "top_k": 40.0, "metadata": null })),
    ] {
        let upstream = if client == Dialect::Gemini { Dialect::Chat } else { Dialect::Gemini };
        let (path, body) = asked(client, upstream, &members);
        let reply = upstreams.world.agent().post(&path, body.to_string()).await;
        assert_eq!(reply.status, 200, "{client}: {members}: {}", reply.text());
    }
}
