//! OpenAI Responses: items opened, filled and closed one after another, every event numbered.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{ENCRYPTED, Turn, event};
use crate::answer::{Finish, ToolCall, ToolKind};

/// An output item: how it opens, the events that fill it, how it stands when it is done. Events lack `output_index`
/// and `sequence_number`.
struct Item {
    added: Value,
    events: Vec<Value>,
    done: Value,
}

pub(super) fn whole(turn: &Turn<'_>) -> Value {
    finished(turn, items(turn).into_iter().map(|item| item.done).collect())
}

pub(super) fn frames(turn: &Turn<'_>) -> Vec<Bytes> {
    let opened = response(turn, "in_progress", Vec::new());
    let mut events = vec![
        json!({ "type": "response.created", "response": opened }),
        json!({ "type": "response.in_progress", "response": opened }),
    ];
    let mut output = Vec::new();
    for (index, item) in items(turn).into_iter().enumerate() {
        let Item { added, events: inner, done } = item;
        let first = json!({ "type": "response.output_item.added", "item": added });
        let last = json!({ "type": "response.output_item.done", "item": done });
        for mut event in [first].into_iter().chain(inner).chain([last]) {
            event["output_index"] = json!(index);
            events.push(event);
        }
        output.push(done);
    }
    let end = finished(turn, output);
    let name = match end["status"].as_str() {
        Some("incomplete") => "response.incomplete",
        Some("failed") => "response.failed",
        _ => "response.completed",
    };
    events.push(json!({ "type": name, "response": end }));
    let numbered = events.iter_mut().enumerate().map(|(number, value)| {
        value["sequence_number"] = json!(number);
        event(value["type"].as_str(), value)
    });
    numbered.collect()
}

/// The response object with the fields of the request it repeats.
fn response(turn: &Turn<'_>, status: &str, output: Vec<Value>) -> Value {
    let request = turn.ask.json();
    let field = |name: &str, otherwise: Value| request.get(name).cloned().unwrap_or(otherwise);
    json!({
        "id": turn.id("resp_"), "object": "response", "created_at": turn.created, "status": status,
        "background": false, "error": null, "incomplete_details": null, "model": turn.model, "output": output,
        "instructions": field("instructions", Value::Null),
        "max_output_tokens": field("max_output_tokens", Value::Null),
        "metadata": field("metadata", json!({})),
        "parallel_tool_calls": field("parallel_tool_calls", json!(true)),
        "previous_response_id": field("previous_response_id", Value::Null),
        "prompt_cache_key": field("prompt_cache_key", Value::Null),
        "reasoning": field("reasoning", json!({ "effort": null, "summary": null })),
        "service_tier": "default",
        "store": field("store", json!(true)),
        "temperature": field("temperature", json!(1.0)),
        "text": field("text", json!({ "format": { "type": "text" } })),
        "tool_choice": field("tool_choice", json!("auto")),
        "tools": field("tools", json!([])),
        "top_p": field("top_p", json!(1.0)),
        "truncation": field("truncation", json!("disabled")),
        "usage": null,
        "user": null,
    })
}

fn finished(turn: &Turn<'_>, output: Vec<Value>) -> Value {
    let (status, reason) = match &turn.answer.finish {
        Finish::Natural | Finish::StopSequence(_) => ("completed", None),
        Finish::Length => ("incomplete", Some("max_output_tokens")),
        Finish::Filter => ("incomplete", Some("content_filter")),
        Finish::Other(word) => (word.as_str(), None),
    };
    let mut response = response(turn, status, output);
    if let Some(reason) = reason {
        response["incomplete_details"] = json!({ "reason": reason });
    }
    if status == "failed" {
        response["error"] = json!({ "code": "server_error", "message": "the model failed" });
    }
    if let Some(usage) = usage(turn) {
        response["usage"] = usage;
    }
    response
}

fn items(turn: &Turn<'_>) -> Vec<Item> {
    let mut items = Vec::new();
    if !turn.answer.reasoning.is_empty() {
        items.push(reasoning(turn));
    }
    if !turn.text.is_empty() {
        items.push(message(turn));
    }
    let calls = turn.answer.tool_calls.iter().enumerate();
    items.extend(calls.map(|(index, call)| tool_call(turn, index, call)));
    items
}

fn reasoning(turn: &Turn<'_>) -> Item {
    let (id, text) = (turn.id("rs_"), &turn.answer.reasoning);
    let item = |summary: Value| {
        let mut item = json!({ "id": id, "type": "reasoning", "summary": summary });
        if turn.ask.encrypted_reasoning {
            item["encrypted_content"] = json!(ENCRYPTED);
        }
        item
    };
    let part = |text: &str| json!({ "type": "summary_text", "text": text });
    let event = |name: &str, field: &str, value: Value| {
        json!({
            "type": format!("response.reasoning_summary_{name}"), "item_id": id, "summary_index": 0, field: value,
        })
    };
    let mut events = vec![event("part.added", "part", part(""))];
    events.extend(turn.answer.pieces(text).into_iter().map(|piece| event("text.delta", "delta", json!(piece))));
    events.push(event("text.done", "text", json!(text)));
    events.push(event("part.done", "part", part(text)));
    Item { added: item(json!([])), events, done: item(json!([part(text)])) }
}

fn message(turn: &Turn<'_>) -> Item {
    let (id, text) = (turn.id("msg_"), turn.text.as_ref());
    let item = |status: &str, content: Value| json!({ "id": id, "type": "message", "status": status, "role": "assistant", "content": content });
    let part = |text: &str| json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] });
    let event = |name: &str, field: &str, value: Value| json!({ "type": format!("response.{name}"), "item_id": id, "content_index": 0, field: value });
    let logged = |mut event: Value| {
        event["logprobs"] = json!([]);
        event
    };
    let mut events = vec![event("content_part.added", "part", part(""))];
    let pieces = turn.answer.pieces(text).into_iter();
    events.extend(pieces.map(|piece| logged(event("output_text.delta", "delta", json!(piece)))));
    events.push(logged(event("output_text.done", "text", json!(text))));
    events.push(event("content_part.done", "part", part(text)));
    let status = if turn.answer.finish == Finish::Length { "incomplete" } else { "completed" };
    Item { added: item("in_progress", json!([])), events, done: item(status, json!([part(text)])) }
}

fn tool_call(turn: &Turn<'_>, index: usize, call: &ToolCall) -> Item {
    let (prefix, kind, field, stem) = match call.kind {
        ToolKind::Function => ("fc_", "function_call", "arguments", "function_call_arguments"),
        ToolKind::Custom => ("ctc_", "custom_tool_call", "input", "custom_tool_call_input"),
    };
    let id = format!("{prefix}{:020x}{index:04x}", turn.number);
    let item = |status: &str, input: &str| {
        json!({
            "id": id, "type": kind, "status": status, "call_id": turn.call_id("call_", index), "name": call.name,
            field: input,
        })
    };
    let pieces = turn.answer.pieces(&call.arguments).into_iter();
    let deltas = pieces.map(|piece| json!({ "type": format!("response.{stem}.delta"), "item_id": id, "delta": piece }));
    let done = json!({ "type": format!("response.{stem}.done"), "item_id": id, field: call.arguments });
    Item {
        added: item("in_progress", ""),
        events: deltas.chain([done]).collect(),
        done: item("completed", &call.arguments),
    }
}

fn usage(turn: &Turn<'_>) -> Option<Value> {
    let usage = turn.answer.usage?;
    let (input, output) = (turn.input_tokens(), usage.output.unwrap_or(0));
    Some(json!({
        "input_tokens": input, "output_tokens": output, "total_tokens": input + output,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read.unwrap_or(0), "cache_write_tokens": usage.cache_write.unwrap_or(0),
        },
        "output_tokens_details": { "reasoning_tokens": usage.reasoning.unwrap_or(0) },
    }))
}
