//! What Anthropic Messages refuses.

use serde_json::Value;

use super::rules::{Open, Verdict, base64, distinct, entries, known, list, name, object_schema, require, text, within};
use crate::dialects::SIGNATURE;

const MEMBERS: [&str; 22] = [
    "model",
    "messages",
    "max_tokens",
    "cache_control",
    "container",
    "context_management",
    "inference_geo",
    "mcp_servers",
    "metadata",
    "output_config",
    "output_format",
    "service_tier",
    "speed",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];
const MOST_CACHE_MARKS: usize = 4;
const LONGEST_NAME: usize = 128;
const LEAST_BUDGET: u64 = 1024;
const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

pub(super) fn check(versioned: bool, body: &Value) -> Verdict {
    require(versioned, || "anthropic-version: header is required")?;
    known("body", body, &MEMBERS)?;
    require(body["max_tokens"].as_u64().is_some_and(|count| count > 0), || "max_tokens: field required")?;
    within(body, "temperature", 0.0, 1.0)?;
    within(body, "top_p", 0.0, 1.0)?;
    known("metadata", &body["metadata"], &["user_id"])?;
    let blank = entries(&body["stop_sequences"]).iter().any(|stop| stop.as_str().unwrap_or_default().trim().is_empty());
    require(!blank, || "stop_sequences: each must contain non-whitespace")?;
    require(cache_marks(body) <= MOST_CACHE_MARKS, || {
        format!("a maximum of {MOST_CACHE_MARKS} blocks with cache_control may be provided")
    })?;
    thinking(body)?;
    tools(body)?;
    blocks("system", &body["system"], &["text"])?;
    conversation(list(body, "messages")?, !entries(&body["tools"]).is_empty())?;
    resumed(body)
}

fn cache_marks(value: &Value) -> usize {
    match value {
        Value::Object(members) => {
            let own = usize::from(members.get("cache_control").is_some_and(Value::is_object));
            // A tool's input and a schema may have members of any name.
            let inner = members.iter().filter(|(name, _)| !matches!(name.as_str(), "input" | "input_schema"));
            own + inner.map(|(_, value)| cache_marks(value)).sum::<usize>()
        }
        Value::Array(entries) => entries.iter().map(cache_marks).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn thinks(body: &Value) -> bool {
    ["enabled", "adaptive"].contains(&text(&body["thinking"], "type"))
}

fn thinking(body: &Value) -> Verdict {
    let budget = &body["thinking"]["budget_tokens"];
    if body["thinking"]["type"] == "enabled" {
        require(budget.as_u64().is_some_and(|tokens| tokens >= LEAST_BUDGET), || {
            format!("thinking.budget_tokens: must be at least {LEAST_BUDGET}")
        })?;
        require(
            budget.as_u64() < body["max_tokens"].as_u64(),
            || "max_tokens: must be greater than thinking.budget_tokens",
        )?;
    }
    if !thinks(body) {
        return Ok(());
    }
    require(
        body["temperature"].as_f64().is_none_or(|value| (value - 1.0).abs() < f64::EPSILON),
        || "temperature: may only be 1 when thinking is enabled",
    )?;
    require(body["top_k"].is_null(), || "top_k: must be unset when thinking is enabled")?;
    within(body, "top_p", 0.95, 1.0)?;
    require(
        !["any", "tool"].contains(&text(&body["tool_choice"], "type")),
        || "thinking may not be enabled when tool_choice forces tool use",
    )
}

fn tools(body: &Value) -> Verdict {
    let tools = entries(&body["tools"]);
    require(body["tool_choice"].is_null() || !tools.is_empty(), || "tool_choice: only with tools")?;
    distinct("tools", tools.iter().map(|tool| text(tool, "name")))?;
    for tool in tools.iter().filter(|tool| tool["type"].is_null() || tool["type"] == "custom") {
        name("tools", text(tool, "name"), LONGEST_NAME)?;
        object_schema("tools", &tool["input_schema"])?;
        let combined = ["anyOf", "oneOf", "allOf"].iter().any(|word| !tool["input_schema"][word].is_null());
        require(!combined, || "tools: input_schema does not support oneOf, allOf, or anyOf at the top level")?;
    }
    Ok(())
}

fn conversation(messages: &[Value], has_tools: bool) -> Verdict {
    require(messages[0]["role"] == "user", || "messages: first message must use the user role")?;
    let mut open = Open::default();
    for (index, message) in messages.iter().enumerate() {
        match text(message, "role") {
            "user" => user(message, &mut open)?,
            "assistant" => {
                open.all_answered()?;
                assistant(message, &mut open, has_tools)?;
                if index + 1 == messages.len() {
                    prefilled(message)?;
                }
            }
            "system" => blocks("messages", &message["content"], &["text"])?,
            role => return Err(format!("messages: unexpected role `{role}`")),
        }
    }
    open.all_answered()
}

fn user(message: &Value, open: &mut Open<'_>) -> Verdict {
    blocks("messages", &message["content"], &["text", "image", "document", "tool_result", "search_result"])?;
    let mut others = false;
    for block in entries(&message["content"]) {
        if block["type"] != "tool_result" {
            others = true;
            continue;
        }
        let id = text(block, "tool_use_id");
        require(open.answer(id), || format!("messages: unexpected tool_use_id `{id}` in tool_result"))?;
        require(!others, || "messages: tool_result blocks must come first")?;
        if !block["content"].is_null() && block["content"] != "" {
            blocks("messages", &block["content"], &["text", "image", "document", "search_result"])?;
        }
    }
    open.all_answered()
}

fn assistant<'v>(message: &'v Value, open: &mut Open<'v>, has_tools: bool) -> Verdict {
    let content = &message["content"];
    let server = ["server_tool_use", "web_search_tool_result"];
    let kinds = [&["text", "thinking", "redacted_thinking", "tool_use"][..], &server].concat();
    blocks("messages", content, &kinds)?;
    for block in entries(content) {
        match text(block, "type") {
            "tool_use" => {
                require(has_tools, || "tools: required, because messages contain tool_use blocks")?;
                require(block["input"].is_object(), || "messages: tool_use input must be an object")?;
                name("messages", text(block, "name"), LONGEST_NAME)?;
                name("messages", text(block, "id"), usize::MAX)?;
                open.call(text(block, "id"))?;
            }
            "thinking" => {
                require(text(block, "signature") == SIGNATURE, || "messages: invalid `signature` in `thinking` block")?
            }
            "redacted_thinking" => return Err("messages: invalid `data` in `redacted_thinking` block".to_owned()),
            _ => {}
        }
    }
    Ok(())
}

/// The answer is to go on from here.
fn prefilled(message: &Value) -> Verdict {
    let content = &message["content"];
    let last = content.as_str().or_else(|| entries(content).last().and_then(|block| block["text"].as_str()));
    require(
        last.is_none_or(|text| text == text.trim_end()),
        || "messages: final assistant content cannot end with trailing whitespace",
    )
}

/// While a model thinks, a tool loop that is under way begins with its thinking.
fn resumed(body: &Value) -> Verdict {
    let messages = entries(&body["messages"]);
    let [.., turn, results] = messages else { return Ok(()) };
    let calls = entries(&turn["content"]).iter().any(|block| block["type"] == "tool_use");
    let goes_on = entries(&results["content"]).iter().any(|block| block["type"] == "tool_result");
    let first = entries(&turn["content"]).first().map(|block| text(block, "type")).unwrap_or_default();
    require(body["thinking"]["type"] != "enabled" || !calls || !goes_on || first == "thinking", || {
        format!("messages: expected `thinking` or `redacted_thinking`, but found `{first}`")
    })
}

fn blocks(place: &str, content: &Value, kinds: &[&str]) -> Verdict {
    match content {
        Value::Null if place == "system" => return Ok(()),
        Value::String(text) => return filled(place, text),
        Value::Array(blocks) if !blocks.is_empty() || place == "system" => {}
        _ => return Err(format!("{place}: content must be a text or a list of blocks")),
    }
    for block in entries(content) {
        let kind = text(block, "type");
        require(kinds.contains(&kind), || format!("{place}: a block of type `{kind}` is not allowed here"))?;
        let members: &[&str] = match kind {
            "text" => &["type", "text", "cache_control", "citations"],
            "image" => &["type", "source", "cache_control"],
            "thinking" => &["type", "thinking", "signature"],
            "tool_use" => &["type", "id", "name", "input", "cache_control", "caller"],
            "tool_result" => &["type", "tool_use_id", "content", "is_error", "cache_control"],
            _ => continue,
        };
        known(place, block, members)?;
        match kind {
            "text" => filled(place, text(block, "text"))?,
            "image" if block["source"]["type"] == "base64" => {
                let mime = text(&block["source"], "media_type");
                require(IMAGES.contains(&mime), || format!("{place}: images of type `{mime}` are not supported"))?;
                base64(place, text(&block["source"], "data"))?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn filled(place: &str, text: &str) -> Verdict {
    require(!text.trim().is_empty(), || format!("{place}: text content blocks must contain non-whitespace text"))
}
