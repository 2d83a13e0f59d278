//! Gemini generateContent: lines end in CRLF; without `alt=sse` a stream is one JSON array.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{SIGNATURE, Turn};
use crate::answer::Finish;

pub(super) fn whole(turn: &Turn<'_>) -> Value {
    let answer = turn.answer;
    let mut parts = Vec::new();
    if !answer.reasoning.is_empty() {
        parts.push(json!({ "text": answer.reasoning, "thought": true }));
    }
    if !turn.text.is_empty() {
        parts.push(json!({ "text": turn.text }));
    }
    parts.extend(calls(turn));
    reply(turn, &parts, true)
}

pub(super) fn frames(turn: &Turn<'_>) -> Vec<Bytes> {
    replies(turn).iter().map(|reply| Bytes::from(format!("data: {reply}\r\n\r\n"))).collect()
}

pub(super) fn array(turn: &Turn<'_>) -> Vec<Bytes> {
    let mut frames = Vec::new();
    let mut opening = "[";
    for reply in replies(turn) {
        frames.push(Bytes::from(format!("{opening}{reply}")));
        opening = ",\r\n";
    }
    frames.push(Bytes::from_static(b"]"));
    frames
}

/// One reply per piece; calls come whole and together; the last reply says why it ends.
fn replies(turn: &Turn<'_>) -> Vec<Value> {
    let answer = turn.answer;
    let thoughts = answer.pieces(&answer.reasoning).into_iter();
    let texts = answer.pieces(&turn.text).into_iter();
    let mut contents: Vec<Vec<Value>> = thoughts
        .map(|piece| vec![json!({ "text": piece, "thought": true })])
        .chain(texts.map(|piece| vec![json!({ "text": piece })]))
        .collect();
    let calls = calls(turn);
    if !calls.is_empty() || contents.is_empty() {
        contents.push(calls);
    }
    let last = contents.len() - 1;
    contents.iter().enumerate().map(|(index, parts)| reply(turn, parts, index == last)).collect()
}

fn reply(turn: &Turn<'_>, parts: &[Value], last: bool) -> Value {
    let mut content = json!({ "role": "model" });
    if !parts.is_empty() {
        content["parts"] = json!(parts);
    }
    let mut candidate = json!({ "content": content, "index": 0 });
    if last {
        candidate["finishReason"] = json!(finish(turn));
    }
    let mut reply = json!({
        "candidates": [candidate], "modelVersion": turn.model, "responseId": turn.id("fake-"),
    });
    if let Some(usage) = usage(turn, last) {
        reply["usageMetadata"] = usage;
    }
    reply
}

/// The signature sits on the first call of a parallel group.
fn calls(turn: &Turn<'_>) -> Vec<Value> {
    let calls = turn.answer.tool_calls.iter().enumerate();
    calls
        .map(|(index, call)| {
            let id = turn.call_id("call_", index);
            let mut part = json!({
                "functionCall": { "id": id, "name": call.name, "args": call.object_arguments() },
            });
            if index == 0 {
                part["thoughtSignature"] = json!(SIGNATURE);
            }
            part
        })
        .collect()
}

fn finish<'a>(turn: &'a Turn<'_>) -> &'a str {
    match &turn.answer.finish {
        Finish::Natural | Finish::StopSequence(_) => "STOP",
        Finish::Length => "MAX_TOKENS",
        Finish::Filter => "SAFETY",
        Finish::Other(word) => word,
    }
}

/// Figures are cumulative: input from the start, output with the last reply.
fn usage(turn: &Turn<'_>, last: bool) -> Option<Value> {
    let usage = turn.answer.usage?;
    let input = turn.input_tokens();
    let output = if last { usage.output.unwrap_or(0) } else { 0 };
    let mut figures = json!({
        "promptTokenCount": input, "totalTokenCount": input + output,
        "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": input }],
    });
    if let Some(cached) = usage.cache_read {
        figures["cachedContentTokenCount"] = json!(cached);
    }
    if last {
        let thoughts = usage.reasoning.unwrap_or(0);
        figures["candidatesTokenCount"] = json!(output.saturating_sub(thoughts));
        if thoughts > 0 {
            figures["thoughtsTokenCount"] = json!(thoughts);
        }
    }
    Some(figures)
}
