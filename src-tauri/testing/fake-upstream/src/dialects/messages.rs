//! Anthropic Messages.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{SIGNATURE, Turn, event};
use crate::answer::Finish;

/// A content block: how it opens, the deltas it is streamed in, how it stands in a whole body.
struct Block {
    start: Value,
    deltas: Vec<Value>,
    whole: Value,
}

pub(super) fn whole(turn: &Turn<'_>) -> Value {
    let content: Vec<Value> = blocks(turn).into_iter().map(|block| block.whole).collect();
    let mut message = message(turn, content);
    let (reason, sequence) = stop(turn);
    message["stop_reason"] = json!(reason);
    message["stop_sequence"] = json!(sequence);
    message["usage"] = usage(turn, turn.answer.usage.and_then(|usage| usage.output).unwrap_or(0));
    message
}

pub(super) fn frames(turn: &Turn<'_>) -> Vec<Bytes> {
    let mut start = message(turn, Vec::new());
    start["usage"] = usage(turn, 1);
    let mut events = vec![json!({ "type": "message_start", "message": start })];
    for (index, block) in blocks(turn).into_iter().enumerate() {
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": block.start }));
        if index == 0 {
            events.push(json!({ "type": "ping" }));
        }
        let deltas = block.deltas.into_iter();
        events.extend(deltas.map(|delta| json!({ "type": "content_block_delta", "index": index, "delta": delta })));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let (reason, sequence) = stop(turn);
    let output = turn.answer.usage.and_then(|usage| usage.output).unwrap_or(0);
    events.push(json!({
        "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": sequence },
        "usage": { "output_tokens": output },
    }));
    events.push(json!({ "type": "message_stop" }));
    events.iter().map(|value| event(value["type"].as_str(), value)).collect()
}

fn message(turn: &Turn<'_>, content: Vec<Value>) -> Value {
    json!({
        "id": turn.id("msg_"), "type": "message", "role": "assistant", "model": turn.model, "content": content,
        "stop_reason": null, "stop_sequence": null,
    })
}

fn blocks(turn: &Turn<'_>) -> Vec<Block> {
    let answer = turn.answer;
    let mut blocks = Vec::new();
    if !answer.reasoning.is_empty() {
        let thinking = answer.pieces(&answer.reasoning).into_iter();
        let thinking = thinking.map(|piece| json!({ "type": "thinking_delta", "thinking": piece }));
        let signature = json!({ "type": "signature_delta", "signature": SIGNATURE });
        blocks.push(Block {
            start: json!({ "type": "thinking", "thinking": "", "signature": "" }),
            deltas: thinking.chain([signature]).collect(),
            whole: json!({ "type": "thinking", "thinking": answer.reasoning, "signature": SIGNATURE }),
        });
    }
    if !turn.text.is_empty() {
        let pieces = answer.pieces(&turn.text).into_iter();
        blocks.push(Block {
            start: json!({ "type": "text", "text": "" }),
            deltas: pieces.map(|piece| json!({ "type": "text_delta", "text": piece })).collect(),
            whole: json!({ "type": "text", "text": turn.text }),
        });
    }
    blocks.extend((0..answer.tool_calls.len()).map(|index| tool_use(turn, index)));
    blocks
}

fn tool_use(turn: &Turn<'_>, index: usize) -> Block {
    let call = &turn.answer.tool_calls[index];
    let block = |input: Value| json!({ "type": "tool_use", "id": turn.call_id("toolu_", index), "name": call.name, "input": input });
    let arguments = call.json_arguments();
    // The service opens every input with an empty fragment.
    let fragments = [""].into_iter().chain(turn.answer.pieces(&arguments));
    Block {
        start: block(json!({})),
        deltas: fragments.map(|piece| json!({ "type": "input_json_delta", "partial_json": piece })).collect(),
        whole: block(call.object_arguments()),
    }
}

fn stop<'a>(turn: &'a Turn<'_>) -> (&'a str, Option<&'a str>) {
    match &turn.answer.finish {
        Finish::Natural if turn.answer.tool_calls.is_empty() => ("end_turn", None),
        Finish::Natural => ("tool_use", None),
        Finish::StopSequence(sequence) => ("stop_sequence", Some(sequence)),
        Finish::Length => ("max_tokens", None),
        Finish::Filter => ("refusal", None),
        Finish::Other(word) => (word, None),
    }
}

fn usage(turn: &Turn<'_>, output: u64) -> Value {
    let usage = turn.answer.usage.unwrap_or_default();
    let written = usage.cache_write.unwrap_or(0);
    json!({
        "input_tokens": usage.input_fresh.unwrap_or(0), "output_tokens": output,
        "cache_read_input_tokens": usage.cache_read.unwrap_or(0), "cache_creation_input_tokens": written,
        "cache_creation": { "ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0 },
        "service_tier": "standard",
    })
}
