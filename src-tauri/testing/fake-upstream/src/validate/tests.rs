use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};

use super::*;
use crate::dialects::SIGNATURE;

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const MESSAGES: &str = "/v1/messages";
const GEMINI: &str = "/v1beta/models/gemini-3-m:generateContent";

fn refusal(uri: &str, body: &str) -> Option<String> {
    let request = Request::post(uri).header("anthropic-version", "2023-06-01").body(()).unwrap();
    let ask = Ask::read(&request.into_parts().0, Bytes::from(body.to_owned()));
    let crate::Endpoint::Run(operation) = ask.endpoint else { panic!("{uri} is no operation") };
    check(&ask, operation, true).err()
}

/// A request that says "x", with these members.
fn body(uri: &str, members: Value) -> Value {
    let said = json!([{ "role": "user", "content": "x" }]);
    let mut body = match uri {
        CHAT => json!({ "model": "m", "messages": said }),
        RESPONSES => json!({ "model": "m", "input": said }),
        MESSAGES => json!({ "model": "m", "max_tokens": 2000, "messages": said }),
        _ => json!({ "contents": [{ "role": "user", "parts": [{ "text": "x" }] }] }),
    };
    if let (Value::Object(body), Value::Object(members)) = (&mut body, members) {
        body.extend(members);
    }
    body
}

fn assert_refused(cases: &[(&str, Value, &str)]) {
    for (uri, members, part) in cases {
        let body = body(uri, members.clone()).to_string();
        let message = refusal(uri, &body).unwrap_or_default();
        assert!(message.contains(part), "{uri} {body}: `{message}`");
    }
}

#[test]
fn a_plain_request_is_accepted() {
    for uri in [CHAT, RESPONSES, MESSAGES, GEMINI] {
        assert_eq!(refusal(uri, &body(uri, json!({})).to_string()), None, "{uri}");
    }
}

#[test]
fn what_cannot_be_read_is_refused() {
    for (uri, body, part) in [
        (CHAT, "{", "JSON"),
        (CHAT, r#"{"messages":[{"role":"user","content":"x"}]}"#, "model"),
        (CHAT, r#"{"model":"m","messages":[]}"#, "messages"),
        (MESSAGES, r#"{"model":"m","messages":[{"role":"user","content":"x"}]}"#, "max_tokens"),
    ] {
        let message = refusal(uri, body).unwrap_or_default();
        assert!(message.contains(part), "{uri} {body}: `{message}`");
    }
}

#[test]
fn members_that_a_vendor_does_not_know_are_refused() {
    assert_refused(&[
        (CHAT, json!({ "thinking": {} }), "unknown member `thinking`"),
        (RESPONSES, json!({ "messages": [] }), "unknown member `messages`"),
        (MESSAGES, json!({ "seed": 1 }), "unknown member `seed`"),
        (GEMINI, json!({ "stream": true }), "unknown member `stream`"),
        (GEMINI, json!({ "generationConfig": { "maxTokens": 1 } }), "unknown member `maxTokens`"),
        (
            MESSAGES,
            json!({ "messages": [{ "role": "user", "content": [{ "type": "text", "text": "x", "id": 1 }] }] }),
            "unknown member `id`",
        ),
    ]);
}

#[test]
fn options_out_of_bounds_or_against_each_other_are_refused() {
    let thinking = json!({ "type": "enabled", "budget_tokens": 1024 });
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    assert_refused(&[
        (CHAT, json!({ "max_tokens": 1, "max_completion_tokens": 1 }), "not together"),
        (CHAT, json!({ "stream_options": { "include_usage": true } }), "stream"),
        (CHAT, json!({ "stop": ["1", "2", "3", "4", "5"] }), "at most 4"),
        (CHAT, json!({ "tool_choice": "auto" }), "only allowed with tools"),
        (CHAT, json!({ "tools": [] }), "at least one entry"),
        (CHAT, json!({ "response_format": { "type": "json_object" } }), "word `json`"),
        (
            CHAT,
            json!({ "response_format": { "type": "json_schema", "json_schema": { "name": "n", "strict": true, "schema": schema } } }),
            "additionalProperties",
        ),
        (RESPONSES, json!({ "max_output_tokens": 15 }), "between 16"),
        (MESSAGES, json!({ "temperature": 1.5 }), "between 0 and 1"),
        (MESSAGES, json!({ "thinking": { "type": "enabled", "budget_tokens": 1023 } }), "at least 1024"),
        (MESSAGES, json!({ "thinking": { "type": "enabled", "budget_tokens": 2000 } }), "greater than"),
        (MESSAGES, json!({ "thinking": thinking, "temperature": 0.5 }), "temperature"),
        (MESSAGES, json!({ "thinking": thinking, "top_k": 5 }), "top_k"),
        (
            MESSAGES,
            json!({ "thinking": thinking, "tool_choice": { "type": "any" }, "tools": [{ "name": "f", "input_schema": schema }] }),
            "forces tool use",
        ),
        (MESSAGES, json!({ "stop_sequences": [" "] }), "non-whitespace"),
        (MESSAGES, json!({ "metadata": { "session": "s" } }), "unknown member `session`"),
        (GEMINI, json!({ "generationConfig": { "responseSchema": { "type": "object" } } }), "must be JSON"),
        (
            GEMINI,
            json!({ "generationConfig": { "thinkingConfig": { "thinkingBudget": 1, "thinkingLevel": "low" } } }),
            "exclude each other",
        ),
    ]);
}

#[test]
fn tools_that_a_vendor_does_not_take_are_refused() {
    let long = "f".repeat(65);
    let gemini = |parameters: Value| json!({ "tools": [{ "functionDeclarations": [{ "name": "f", "parameters": parameters }] }] });
    assert_refused(&[
        (CHAT, json!({ "tools": [{ "type": "function", "function": { "name": long } }] }), "not allowed"),
        (CHAT, json!({ "tools": [{ "type": "function", "function": { "name": "a.b" } }] }), "not allowed"),
        (RESPONSES, json!({ "tools": [{ "type": "function", "function": { "name": "f" } }] }), "flat"),
        (MESSAGES, json!({ "tools": [{ "name": "f", "input_schema": { "anyOf": [] } }] }), "type `object`"),
        (
            MESSAGES,
            json!({ "tools": [{ "name": "f", "input_schema": { "type": "object", "oneOf": [{}] } }] }),
            "top level",
        ),
        (GEMINI, json!({ "tools": [{ "functionDeclarations": [{ "name": "1f" }] }] }), "not allowed"),
        (GEMINI, gemini(json!({ "type": "object", "additionalProperties": false })), "additionalProperties"),
        (GEMINI, gemini(json!({ "type": ["string", "null"] })), "one type"),
        (GEMINI, gemini(json!({ "type": "string", "const": "a" })), "const"),
        (GEMINI, gemini(json!({ "type": "string", "format": "uri" })), "format"),
        (GEMINI, gemini(json!({ "type": "array" })), "items"),
        (GEMINI, gemini(json!({ "type": "integer", "enum": ["1"] })), "only allowed for strings"),
        (GEMINI, gemini(json!({ "type": "object", "required": ["a"] })), "not defined"),
        (
            GEMINI,
            json!({ "tools": [{ "googleSearch": {} }, { "functionDeclarations": [{ "name": "f" }] }] }),
            "cannot be combined",
        ),
    ]);
}

#[test]
fn calls_and_results_that_do_not_belong_together_are_refused() {
    let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "f", "arguments": "{}" } });
    let asked = json!({ "role": "user", "content": "x" });
    let used = json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "1", "name": "f", "input": {} }] });
    let tools = json!([{ "name": "f", "input_schema": { "type": "object" } }]);
    let result = json!({ "type": "tool_result", "tool_use_id": "1", "content": "x" });
    let words = json!({ "type": "text", "text": "x" });
    let said = json!({ "role": "user", "parts": [{ "text": "x" }] });
    let signed = json!({ "functionCall": { "name": "f" }, "thoughtSignature": SIGNATURE });
    let called = json!({ "role": "model", "parts": [signed] });
    let response = json!({ "functionResponse": { "name": "f", "response": {} } });
    assert_refused(&[
        (CHAT, json!({ "messages": [{ "role": "tool", "tool_call_id": "1", "content": "x" }] }), "answers no call"),
        (CHAT, json!({ "messages": [{ "role": "assistant", "tool_calls": [call("1")] }, asked] }), "no result"),
        (
            CHAT,
            json!({ "messages": [{ "role": "assistant", "tool_calls": [call(&"1".repeat(41))] }, asked] }),
            "longer than 40",
        ),
        (RESPONSES, json!({ "input": [{ "type": "function_call_output", "call_id": "1", "output": "x" }] }), "call_id"),
        (
            RESPONSES,
            json!({ "input": [{ "type": "function_call", "id": "x", "call_id": "1", "name": "f", "arguments": "" }] }),
            "begin with `fc`",
        ),
        (MESSAGES, json!({ "messages": [{ "role": "user", "content": [result] }] }), "tool_use_id"),
        (
            MESSAGES,
            json!({ "tools": tools, "messages": [asked, used, { "role": "user", "content": [words, result] }] }),
            "come first",
        ),
        (MESSAGES, json!({ "messages": [asked, used, { "role": "user", "content": [result] }] }), "tools: required"),
        (
            MESSAGES,
            json!({
                "tools": tools, "thinking": { "type": "enabled", "budget_tokens": 1024 },
                "messages": [asked, used, { "role": "user", "content": [result] }],
            }),
            "expected `thinking`",
        ),
        (GEMINI, json!({ "contents": [said, { "parts": [response] }] }), "number of function responses"),
        (GEMINI, json!({ "contents": [said, called] }), "needs its response"),
        (
            GEMINI,
            json!({ "contents": [said, { "role": "model", "parts": [{ "functionCall": { "name": "f" } }] }] }),
            "thought_signature",
        ),
        (GEMINI, json!({ "contents": [said, called, said] }), "number of function responses"),
    ]);
}

#[test]
fn content_that_a_vendor_does_not_take_is_refused() {
    let marked = json!({ "type": "text", "text": "x", "cache_control": { "type": "ephemeral" } });
    let asked = json!({ "role": "user", "content": "x" });
    let thought = |signature: &str| json!({ "role": "assistant", "content": [{ "type": "thinking", "thinking": "x", "signature": signature }] });
    assert_refused(&[
        (CHAT, json!({ "messages": [{ "role": "assistant", "content": null }] }), "content or tool_calls"),
        (
            CHAT,
            json!({ "messages": [{ "role": "user", "content": [{ "type": "image_url", "image_url": "https://x" }] }] }),
            "must be an object",
        ),
        (
            RESPONSES,
            json!({ "input": [{ "role": "assistant", "content": [{ "type": "input_text", "text": "x" }] }] }),
            "in a turn of `assistant`",
        ),
        (
            RESPONSES,
            json!({ "store": false, "input": [{ "type": "reasoning", "summary": [], "id": "rs_1" }] }),
            "not found",
        ),
        (MESSAGES, json!({ "messages": [{ "role": "assistant", "content": "x" }] }), "user role"),
        (MESSAGES, json!({ "messages": [asked, thought("made up")] }), "signature"),
        (
            MESSAGES,
            json!({ "messages": [{ "role": "user", "content": [{ "type": "text", "text": " " }] }] }),
            "non-whitespace",
        ),
        (MESSAGES, json!({ "messages": [asked, { "role": "assistant", "content": "x " }] }), "trailing whitespace"),
        (
            MESSAGES,
            json!({ "messages": [{ "role": "user", "content": [marked, marked, marked, marked, marked] }] }),
            "maximum of 4",
        ),
        (
            MESSAGES,
            json!({ "messages": [{ "role": "user", "content": [
                { "type": "image", "source": { "type": "base64", "media_type": "image/jpg", "data": "AAAA" } },
            ]}] }),
            "image/jpg",
        ),
        (GEMINI, json!({ "contents": [{ "parts": [{ "text": "x", "thoughtSignature": "x" }] }] }), "not valid"),
        (GEMINI, json!({ "contents": [{ "parts": [{ "inlineData": { "data": "AAAA" } }] }] }), "mimeType"),
        (
            GEMINI,
            json!({ "contents": [{ "parts": [{ "fileData": { "fileUri": "https://example.com/a.png" } }] }] }),
            "cannot fetch",
        ),
    ]);
}

#[test]
fn a_full_tool_round_trip_is_accepted() {
    let signed = json!({ "functionCall": { "name": "f" }, "thoughtSignature": SIGNATURE });
    for (uri, members) in [
        (
            CHAT,
            json!({ "messages": [
                { "role": "user", "content": "x" },
                { "role": "assistant", "content": null, "tool_calls": [
                    { "id": "1", "type": "function", "function": { "name": "f", "arguments": "{}" } },
                ]},
                { "role": "tool", "tool_call_id": "1", "content": "x" },
            ]}),
        ),
        (
            RESPONSES,
            json!({ "input": [
                { "role": "user", "content": "x" },
                { "type": "function_call", "call_id": "1", "name": "f", "arguments": "{}" },
                { "type": "function_call_output", "call_id": "1", "output": "x" },
            ]}),
        ),
        (
            MESSAGES,
            json!({
                "tools": [{ "name": "f", "input_schema": { "type": "object" } }],
                "messages": [
                    { "role": "user", "content": "x" },
                    { "role": "assistant", "content": [{ "type": "tool_use", "id": "1", "name": "f", "input": {} }] },
                    { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "1", "content": "x" }] },
                ],
            }),
        ),
        (
            GEMINI,
            json!({ "contents": [
                { "role": "user", "parts": [{ "text": "x" }] },
                { "role": "model", "parts": [signed] },
                { "role": "user", "parts": [{ "functionResponse": { "name": "f", "response": {} } }] },
            ]}),
        ),
    ] {
        assert_eq!(refusal(uri, &body(uri, members).to_string()), None, "{uri}");
    }
}
