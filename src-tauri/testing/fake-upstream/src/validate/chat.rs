//! What OpenAI Chat Completions refuses. `reasoning_content` is let through: this upstream sends it, as DeepSeek does.

use serde_json::Value;

use super::rules::{
    Open, Verdict, base64, entries, known, list, media_url, name, object_schema, optional, require, strict_schema,
    text, within,
};

const MEMBERS: [&str; 35] = [
    "model",
    "messages",
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "metadata",
    "modalities",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];
const MESSAGE: [&str; 10] = [
    "role",
    "content",
    "name",
    "tool_calls",
    "tool_call_id",
    "refusal",
    "annotations",
    "audio",
    "function_call",
    "reasoning_content",
];
const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const LONGEST_NAME: usize = 64;
const LONGEST_ID: usize = 40;
const MOST_STOPS: usize = 4;

pub(super) fn check(body: &Value) -> Verdict {
    known("body", body, &MEMBERS)?;
    options(body)?;
    tools(body)?;
    let mut open = Open::default();
    for message in list(body, "messages")? {
        known("messages", message, &MESSAGE)?;
        if message["role"] == "tool" {
            let id = text(message, "tool_call_id");
            require(open.answer(id), || format!("messages: tool_call_id `{id}` answers no call before it"))?;
            content(message, &["text"])?;
            continue;
        }
        open.all_answered()?;
        spoken(message, &mut open)?;
    }
    open.all_answered()
}

fn options(body: &Value) -> Verdict {
    require(
        body["max_tokens"].is_null() || body["max_completion_tokens"].is_null(),
        || "max_tokens: not together with max_completion_tokens",
    )?;
    require(
        body["stream_options"].is_null() || body["stream"] == true,
        || "stream_options: only allowed when stream is enabled",
    )?;
    require(entries(&body["stop"]).len() <= MOST_STOPS, || "stop: at most 4")?;
    within(body, "temperature", 0.0, 2.0)?;
    within(body, "top_p", 0.0, 1.0)?;
    let effort = body["reasoning_effort"].as_str();
    require(effort.is_none_or(|word| EFFORTS.contains(&word)), || "reasoning_effort: unknown word")?;
    let format = &body["response_format"];
    match format["type"].as_str() {
        Some("json_schema") => {
            let schema = &format["json_schema"];
            name("response_format", text(schema, "name"), LONGEST_NAME)?;
            require(schema["strict"] != true || schema["schema"].is_object(), || "response_format: no schema")?;
            if schema["strict"] == true { strict_schema("response_format", &schema["schema"]) } else { Ok(()) }
        }
        Some("json_object") => require(
            body["messages"].to_string().to_ascii_lowercase().contains("json"),
            || "messages: must contain the word `json` to use json_object",
        ),
        _ => Ok(()),
    }
}

fn tools(body: &Value) -> Verdict {
    let tools = optional(body, "tools")?;
    for option in ["tool_choice", "parallel_tool_calls"] {
        require(body[option].is_null() || !tools.is_empty(), || format!("{option}: only allowed with tools"))?;
    }
    for tool in tools {
        match text(tool, "type") {
            "custom" => name("tools", text(&tool["custom"], "name"), LONGEST_NAME)?,
            "function" => {
                let function = &tool["function"];
                known("tools", function, &["name", "description", "parameters", "strict"])?;
                name("tools", text(function, "name"), LONGEST_NAME)?;
                if !function["parameters"].is_null() {
                    object_schema("tools", &function["parameters"])?;
                }
                if function["strict"] == true {
                    strict_schema("tools", &function["parameters"])?;
                }
            }
            kind => return Err(format!("tools: unknown type `{kind}`")),
        }
    }
    Ok(())
}

fn spoken<'v>(message: &'v Value, open: &mut Open<'v>) -> Verdict {
    match text(message, "role") {
        "system" | "developer" => content(message, &["text"]),
        "user" => content(message, &["text", "image_url", "input_audio", "file"]),
        "assistant" => {
            let calls = optional(message, "tool_calls")?;
            if calls.is_empty() || !message["content"].is_null() {
                let refused = message["refusal"].is_string() && message["content"].is_null();
                require(refused || !message["content"].is_null(), || "messages: content or tool_calls is required")?;
                content(message, &["text", "refusal"])?;
            }
            calls.iter().try_for_each(|call| tool_call(call, open))
        }
        "function" => Ok(()),
        role => Err(format!("messages: unknown role `{role}`")),
    }
}

fn tool_call<'v>(call: &'v Value, open: &mut Open<'v>) -> Verdict {
    require(["function", "custom"].contains(&text(call, "type")), || "messages: tool call without its type")?;
    let id = text(call, "id");
    require(id.len() <= LONGEST_ID, || format!("messages: the id `{id}` is longer than {LONGEST_ID}"))?;
    if call["type"] == "function" {
        name("messages", text(&call["function"], "name"), LONGEST_NAME)?;
        require(call["function"]["arguments"].is_string(), || "messages: tool call arguments must be a string")?;
    }
    open.call(id)
}

fn content(message: &Value, kinds: &[&str]) -> Verdict {
    match &message["content"] {
        Value::String(_) => return Ok(()),
        Value::Null if message["refusal"].is_string() => return Ok(()),
        Value::Array(parts) if !parts.is_empty() => {}
        _ => return Err("messages: content must be a text or a list of parts".to_owned()),
    }
    for part in entries(&message["content"]) {
        let kind = text(part, "type");
        require(kinds.contains(&kind), || format!("messages: a part of type `{kind}` is not allowed here"))?;
        match kind {
            "text" => {
                known("messages", part, &["type", "text"])?;
                require(part["text"].is_string(), || "messages: a text part without text")?;
            }
            "image_url" => {
                require(part["image_url"].is_object(), || "messages: image_url must be an object")?;
                media_url("messages", text(&part["image_url"], "url"))?;
            }
            "input_audio" => base64("messages", text(&part["input_audio"], "data"))?,
            _ => {}
        }
    }
    Ok(())
}
