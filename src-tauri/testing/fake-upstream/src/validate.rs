//! The checks a real provider makes on a request.
//!
//! Lenient, only what cannot be answered is refused: bodies that are not JSON. Strict, also what real providers refuse
//! and gateways get wrong: required fields, tool results without their call, calls without their result, thinking
//! whose signature was never issued.

use std::collections::BTreeSet;

use domain::Operation;
use serde_json::Value;

use crate::dialects::SIGNATURE;
use crate::request::Ask;

/// Refuses a request with the reason to tell its sender.
pub(crate) fn check(ask: &Ask, operation: Operation, strict: bool) -> Result<(), String> {
    if !ask.well_formed {
        return Err("the body is not valid JSON".to_owned());
    }
    if !strict {
        return Ok(());
    }
    if ask.model.is_none() {
        return Err("model: field required".to_owned());
    }
    let body = ask.json();
    match operation {
        Operation::ChatCompletions => chat(&body),
        Operation::Responses => responses(&body),
        Operation::Messages => messages(ask, &body),
        Operation::GenerateContent | Operation::StreamGenerateContent => gemini(&body),
        Operation::CountTokens => list(&body, "messages").map(drop),
        Operation::GeminiCountTokens => Ok(()),
        Operation::Embeddings => require(!body["input"].is_null(), "input: field required"),
        Operation::EmbedContent | Operation::BatchEmbedContents => Ok(()),
    }
}

fn require(condition: bool, message: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(message.to_owned()) }
}

fn list<'v>(body: &'v Value, name: &str) -> Result<&'v [Value], String> {
    match body[name].as_array() {
        Some(items) if !items.is_empty() => Ok(items),
        _ => Err(format!("{name}: a list with at least one entry is required")),
    }
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

fn chat(body: &Value) -> Result<(), String> {
    let mut open = BTreeSet::new();
    for message in list(body, "messages")? {
        let role = text(message, "role");
        if role == "tool" {
            let id = text(message, "tool_call_id");
            require(open.remove(id), &format!("messages: tool_call_id `{id}` answers no call before it"))?;
            continue;
        }
        all_answered(&open)?;
        require(
            ["system", "developer", "user", "assistant", "function"].contains(&role),
            &format!("messages: unknown role `{role}`"),
        )?;
        let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
        require(
            !calls.is_empty() || !message["content"].is_null() || role == "assistant",
            "messages: content is required",
        )?;
        for call in calls {
            require(call["function"]["arguments"].is_string(), "messages: tool call arguments must be a string")?;
            open.insert(text(call, "id"));
        }
    }
    all_answered(&open)
}

fn all_answered(open: &BTreeSet<&str>) -> Result<(), String> {
    match open.first() {
        Some(id) => Err(format!("the tool call `{id}` has no result right after it")),
        None => Ok(()),
    }
}

fn responses(body: &Value) -> Result<(), String> {
    if body["input"].is_string() {
        return Ok(());
    }
    let mut open = BTreeSet::new();
    for item in list(body, "input")? {
        match text(item, "type") {
            "function_call" | "custom_tool_call" => {
                open.insert(text(item, "call_id"));
            }
            "function_call_output" | "custom_tool_call_output" => {
                let id = text(item, "call_id");
                require(open.remove(id), &format!("input: no tool call found for call_id `{id}`"))?;
            }
            _ => {}
        }
    }
    all_answered(&open)
}

fn messages(ask: &Ask, body: &Value) -> Result<(), String> {
    require(ask.versioned, "anthropic-version: header is required")?;
    require(body["max_tokens"].as_u64().is_some_and(|count| count > 0), "max_tokens: field required")?;
    let mut open = BTreeSet::new();
    for message in list(body, "messages")? {
        let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        require(!message["content"].is_null(), "messages: content: field required")?;
        match text(message, "role") {
            "user" => {
                for block in blocks.iter().filter(|block| block["type"] == "tool_result") {
                    let id = text(block, "tool_use_id");
                    require(open.remove(id), &format!("messages: unexpected tool_use_id `{id}` in tool_result"))?;
                }
                all_answered(&open)?;
            }
            "assistant" => {
                for block in blocks {
                    match text(block, "type") {
                        "tool_use" => {
                            require(block["input"].is_object(), "messages: tool_use input must be an object")?;
                            open.insert(text(block, "id"));
                        }
                        "thinking" => require(
                            text(block, "signature") == SIGNATURE,
                            "messages: invalid `signature` in `thinking` block",
                        )?,
                        _ => {}
                    }
                }
            }
            "system" => {}
            role => return Err(format!("messages: unexpected role `{role}`")),
        }
    }
    all_answered(&open)
}

fn gemini(body: &Value) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    for content in list(body, "contents")? {
        let parts = content["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
        require(!parts.is_empty(), "contents: parts must not be empty")?;
        for part in parts {
            if let Some(call) = part.get("functionCall") {
                open.push(text(call, "name"));
            }
            if let Some(response) = part.get("functionResponse") {
                let name = text(response, "name");
                require(response["response"].is_object(), "contents: functionResponse.response must be an object")?;
                let at = open.iter().position(|called| *called == name);
                let at = at.ok_or_else(|| format!("contents: function response `{name}` follows no call of it"))?;
                open.remove(at);
            }
        }
    }
    require(open.is_empty(), "contents: every function call needs its response")
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::Request;

    use super::*;

    fn refusal(uri: &str, body: &str) -> Option<String> {
        let request = Request::post(uri).header("anthropic-version", "2023-06-01").body(()).unwrap();
        let ask = Ask::read(&request.into_parts().0, Bytes::from(body.to_owned()));
        let crate::Endpoint::Run(operation) = ask.endpoint else { panic!("{uri} is no operation") };
        check(&ask, operation, true).err()
    }

    #[test]
    fn what_real_providers_refuse_is_refused() {
        let gemini = "/v1beta/models/m:generateContent";
        for (uri, body, part) in [
            ("/v1/chat/completions", "{", "JSON"),
            ("/v1/chat/completions", r#"{"messages":[{"role":"user","content":"x"}]}"#, "model"),
            ("/v1/chat/completions", r#"{"model":"m","messages":[]}"#, "messages"),
            (
                "/v1/chat/completions",
                r#"{"model":"m","messages":[{"role":"tool","tool_call_id":"1","content":"x"}]}"#,
                "answers no call",
            ),
            (
                "/v1/chat/completions",
                r#"{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"1","function":{"arguments":"{}"}}]},{"role":"user","content":"x"}]}"#,
                "no result",
            ),
            (
                "/v1/responses",
                r#"{"model":"m","input":[{"type":"function_call_output","call_id":"1","output":"x"}]}"#,
                "call_id",
            ),
            ("/v1/messages", r#"{"model":"m","messages":[{"role":"user","content":"x"}]}"#, "max_tokens"),
            (
                "/v1/messages",
                r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}]}"#,
                "tool_use_id",
            ),
            (
                "/v1/messages",
                r#"{"model":"m","max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"made up"}]}]}"#,
                "signature",
            ),
            (
                gemini,
                r#"{"contents":[{"parts":[{"functionResponse":{"name":"f","response":{}}}]}]}"#,
                "follows no call",
            ),
            (gemini, r#"{"contents":[{"parts":[{"functionCall":{"name":"f"}}]}]}"#, "needs its response"),
        ] {
            let message = refusal(uri, body).unwrap_or_default();
            assert!(message.contains(part), "{uri} {body}: `{message}`");
        }
    }

    #[test]
    fn a_full_tool_round_trip_is_accepted() {
        for (uri, body) in [
            (
                "/v1/chat/completions",
                r#"{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"x"}]}"#,
            ),
            (
                "/v1/responses",
                r#"{"model":"m","input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"1"},{"type":"function_call_output","call_id":"1","output":"x"}]}"#,
            ),
            (
                "/v1/messages",
                r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"x"}]}]}"#,
            ),
            (
                "/v1beta/models/m:generateContent",
                r#"{"contents":[{"parts":[{"functionCall":{"name":"f"}}]},{"parts":[{"functionResponse":{"name":"f","response":{}}}]}]}"#,
            ),
        ] {
            assert_eq!(refusal(uri, body), None, "{uri}");
        }
    }
}
