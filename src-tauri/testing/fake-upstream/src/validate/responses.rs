//! What OpenAI Responses refuses.

use serde_json::Value;

use super::rules::{
    Open, Verdict, entries, known, list, media_url, name, object_schema, optional, require, strict_schema, text, within,
};
use crate::dialects::ENCRYPTED;

const MEMBERS: [&str; 31] = [
    "model",
    "input",
    "background",
    "client_metadata",
    "context_management",
    "conversation",
    "include",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
    "moderation",
];
const LONGEST_NAME: usize = 64;
const LEAST_OUTPUT: f64 = 16.0;

pub(super) fn check(body: &Value) -> Verdict {
    known("body", body, &MEMBERS)?;
    within(body, "max_output_tokens", LEAST_OUTPUT, f64::MAX)?;
    within(body, "temperature", 0.0, 2.0)?;
    within(body, "top_p", 0.0, 1.0)?;
    known("reasoning", &body["reasoning"], &["effort", "summary", "generate_summary", "context"])?;
    known("text", &body["text"], &["format", "verbosity"])?;
    format(&body["text"]["format"], body)?;
    tools(body)?;
    if body["input"].is_string() {
        return Ok(());
    }
    let mut open = Open::default();
    let mut thought = false;
    for item in list(body, "input")? {
        let kind = text(item, "type");
        let follows = !(kind.ends_with("_output") || item["role"] == "user");
        require(!thought || follows, || "input: reasoning without the item that must follow it")?;
        thought = kind == "reasoning";
        check_item(item, kind, body["store"] == false, &mut open)?;
    }
    require(!thought, || "input: reasoning without the item that must follow it")?;
    open.all_answered()
}

fn check_item<'v>(item: &'v Value, kind: &str, unstored: bool, open: &mut Open<'v>) -> Verdict {
    match kind {
        "" | "message" => message(item),
        "function_call" | "custom_tool_call" => {
            name("input", text(item, "name"), LONGEST_NAME)?;
            let given = if kind == "function_call" { &item["arguments"] } else { &item["input"] };
            require(given.is_string(), || "input: arguments must be a string")?;
            let prefix = if kind == "function_call" { "fc" } else { "ctc" };
            identified(item, prefix)?;
            let id = text(item, "call_id");
            require(id.len() <= LONGEST_NAME, || format!("input: the call_id `{id}` is longer than {LONGEST_NAME}"))?;
            open.call(id)
        }
        "function_call_output" | "custom_tool_call_output" => {
            let id = text(item, "call_id");
            require(open.answer(id), || format!("input: no tool call found for call_id `{id}`"))?;
            match &item["output"] {
                Value::String(_) => Ok(()),
                Value::Array(parts) => parts.iter().try_for_each(input_part),
                _ => Err("input: output must be a text or a list of parts".to_owned()),
            }
        }
        "reasoning" => reasoning(item, unstored),
        "item_reference" | "additional_tools" => Ok(()),
        kind => Err(format!("input: unknown item type `{kind}`")),
    }
}

fn reasoning(item: &Value, unstored: bool) -> Verdict {
    require(item["summary"].is_array(), || "input: reasoning without its summary")?;
    identified(item, "rs")?;
    match item["encrypted_content"].as_str() {
        Some(sealed) => require(sealed == ENCRYPTED, || "input: the encrypted content could not be verified"),
        None => require(!unstored && item["id"].is_string(), || {
            format!("input: item `{}` not found: items are not persisted", text(item, "id"))
        }),
    }
}

fn identified(item: &Value, prefix: &str) -> Verdict {
    let id = item["id"].as_str();
    require(id.is_none_or(|id| id.starts_with(prefix)), || {
        format!("input: the id `{}` must begin with `{prefix}`", id.unwrap_or_default())
    })
}

fn message(item: &Value) -> Verdict {
    let role = text(item, "role");
    require(["system", "developer", "user", "assistant"].contains(&role), || format!("input: unknown role `{role}`"))?;
    if item["content"].is_string() {
        return Ok(());
    }
    for part in list(item, "content")? {
        let kind = text(part, "type");
        let spoken = ["output_text", "refusal"].contains(&kind);
        require(spoken == (role == "assistant"), || format!("input: a part of type `{kind}` in a turn of `{role}`"))?;
        if !spoken {
            input_part(part)?;
        }
    }
    Ok(())
}

fn input_part(part: &Value) -> Verdict {
    match text(part, "type") {
        "input_text" => {
            known("input", part, &["type", "text"])?;
            require(part["text"].is_string(), || "input: a text part without text")
        }
        "input_image" if part["file_id"].is_string() => Ok(()),
        "input_image" => media_url("input", text(part, "image_url")),
        "input_file" | "input_audio" => Ok(()),
        kind => Err(format!("input: unknown part type `{kind}`")),
    }
}

fn format(format: &Value, body: &Value) -> Verdict {
    match format["type"].as_str() {
        Some("json_schema") => {
            name("text.format", text(format, "name"), LONGEST_NAME)?;
            require(format["schema"].is_object(), || "text.format: no schema")?;
            if format["strict"] == true { strict_schema("text.format", &format["schema"]) } else { Ok(()) }
        }
        Some("json_object") => {
            let said = format!("{}{}", body["input"], body["instructions"]).to_ascii_lowercase();
            require(said.contains("json"), || "input: must contain the word `json` to use json_object")
        }
        _ => Ok(()),
    }
}

fn tools(body: &Value) -> Verdict {
    for tool in entries(&body["tools"]) {
        let kind = text(tool, "type");
        require(!kind.is_empty() && tool["function"].is_null(), || "tools: a tool must be flat and have a type")?;
        if kind == "function" {
            known("tools", tool, &["type", "name", "description", "parameters", "strict", "defer_loading"])?;
            name("tools", text(tool, "name"), LONGEST_NAME)?;
            if tool["parameters"].is_object() {
                object_schema("tools", &tool["parameters"])?;
            }
            if tool["strict"] == true {
                strict_schema("tools", &tool["parameters"])?;
            }
        }
    }
    require(
        body["tool_choice"].is_null()
            || !optional(body, "tools")?.is_empty()
            || body["tool_choice"] == "none"
            || body["tool_choice"] == "auto",
        || "tool_choice: only allowed with tools",
    )
}
