//! OpenAI Chat Completions, as its own service writes it; reasoning in `reasoning_content` as others do.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Turn, event};
use crate::answer::Finish;

const FINGERPRINT: &str = "fp_fake0upstream";

pub(super) fn whole(turn: &Turn<'_>) -> Value {
    let calls: Vec<Value> = (0..turn.answer.tool_calls.len()).map(|index| call(turn, index)).collect();
    let content = if turn.text.is_empty() && !calls.is_empty() { Value::Null } else { json!(turn.text) };
    let mut message = json!({ "role": "assistant", "content": content, "refusal": null, "annotations": [] });
    if !turn.answer.reasoning.is_empty() {
        message["reasoning_content"] = json!(turn.answer.reasoning);
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let mut body = json!({
        "id": turn.id("chatcmpl-"), "object": "chat.completion", "created": turn.created, "model": turn.model,
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": finish(turn) }],
        "service_tier": "default", "system_fingerprint": FINGERPRINT,
    });
    if let Some(usage) = usage(turn) {
        body["usage"] = usage;
    }
    body
}

pub(super) fn frames(turn: &Turn<'_>) -> Vec<Bytes> {
    let answer = turn.answer;
    let mut frames = vec![delta(turn, json!({ "role": "assistant", "content": "", "refusal": null }), Value::Null)];
    let mut send = |value: Value| frames.push(delta(turn, value, Value::Null));
    for piece in answer.pieces(&answer.reasoning) {
        send(json!({ "reasoning_content": piece }));
    }
    for piece in answer.pieces(&turn.text) {
        send(json!({ "content": piece }));
    }
    for (index, tool_call) in answer.tool_calls.iter().enumerate() {
        send(json!({ "tool_calls": [{
            "index": index, "id": turn.call_id("call_", index), "type": "function",
            "function": { "name": tool_call.name, "arguments": "" },
        }]}));
        for piece in answer.pieces(&tool_call.json_arguments()) {
            send(json!({ "tool_calls": [{ "index": index, "function": { "arguments": piece } }] }));
        }
    }
    frames.push(delta(turn, json!({}), json!(finish(turn))));
    if let Some(usage) = usage(turn).filter(|_| turn.ask.include_usage) {
        frames.push(chunk(turn, json!([]), Some(usage)));
    }
    frames.push(Bytes::from_static(b"data: [DONE]\n\n"));
    frames
}

fn delta(turn: &Turn<'_>, delta: Value, finish: Value) -> Bytes {
    let choice = json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
    chunk(turn, json!([choice]), None)
}

fn chunk(turn: &Turn<'_>, choices: Value, usage: Option<Value>) -> Bytes {
    let mut chunk = json!({
        "id": turn.id("chatcmpl-"), "object": "chat.completion.chunk", "created": turn.created, "model": turn.model,
        "service_tier": "default", "system_fingerprint": FINGERPRINT, "choices": choices,
    });
    // Asked for usage, the service shows the field in every chunk and fills it in the last.
    if turn.ask.include_usage {
        chunk["usage"] = usage.unwrap_or_default();
    }
    event(None, &chunk)
}

fn call(turn: &Turn<'_>, index: usize) -> Value {
    let call = &turn.answer.tool_calls[index];
    json!({
        "id": turn.call_id("call_", index), "type": "function",
        "function": { "name": call.name, "arguments": call.json_arguments() },
    })
}

fn finish<'a>(turn: &'a Turn<'_>) -> &'a str {
    match &turn.answer.finish {
        Finish::Natural if turn.answer.tool_calls.is_empty() => "stop",
        Finish::Natural => "tool_calls",
        Finish::StopSequence(_) => "stop",
        Finish::Length => "length",
        Finish::Filter => "content_filter",
        Finish::Other(word) => word,
    }
}

fn usage(turn: &Turn<'_>) -> Option<Value> {
    let usage = turn.answer.usage?;
    let (input, output) = (turn.input_tokens(), usage.output.unwrap_or(0));
    let mut figures = json!({
        "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
        "prompt_tokens_details": { "cached_tokens": usage.cache_read.unwrap_or(0), "audio_tokens": 0 },
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning.unwrap_or(0), "audio_tokens": 0,
            "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
        },
    });
    if let Some(written) = usage.cache_write {
        figures["prompt_tokens_details"]["cache_write_tokens"] = json!(written);
    }
    Some(figures)
}
