//! Whole answers of this dialect, read into events and written from a folded answer.

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;

use super::spoken::{CallIds, Counts, carried, estimate, message_id};
use super::stream::Reader;
use super::wire::{Message, stop_word};
use crate::canonical::{Answer, AnswerPart, arguments};
use crate::error::{UpstreamError, no_answer, to_json};
use crate::event::{Event, FinishReason, PartKind};
use crate::translate::Reply;

pub(crate) fn read(body: &[u8]) -> Result<Vec<Event>, UpstreamError> {
    let message: Message<'_> = serde_json::from_slice(body).map_err(|_| no_answer(body))?;
    if message.error.is_some() || message.content.is_none() {
        return Err(no_answer(body));
    }
    let mut events = Vec::new();
    Reader::default().whole(&message, &mut events);
    Ok(events)
}

#[derive(Serialize)]
struct Body<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    role: &'static str,
    model: &'a str,
    content: Vec<Block<'a>>,
    stop_reason: &'static str,
    stop_sequence: Option<&'a str>,
    usage: Counts,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text { text: &'a str },
    Thinking { thinking: &'a str, signature: std::borrow::Cow<'a, str> },
    RedactedThinking { data: std::borrow::Cow<'a, str> },
    ToolUse { id: String, name: &'a str, input: Box<RawValue> },
}

pub(crate) fn write(answer: &Answer, reply: &Reply) -> Bytes {
    let id = message_id(answer.id.as_deref(), reply);
    let mut calls = CallIds::default();
    let content: Vec<_> = answer
        .parts
        .iter()
        .enumerate()
        .filter_map(|(place, part)| block(part, place, &id, &mut calls, reply))
        .collect();
    let calls_tools = content.iter().any(|block| matches!(block, Block::ToolUse { .. }));
    let bytes: usize = answer.parts.iter().map(|part| part.text.len()).sum();
    let body = Body {
        id: &id,
        kind: "message",
        role: "assistant",
        model: answer.model.as_deref().unwrap_or(&reply.model),
        content,
        stop_reason: stop_word(ended(answer.finish(), calls_tools)),
        stop_sequence: None,
        usage: Counts::new(&answer.usage, reply, estimate(u64::try_from(bytes).unwrap_or(u64::MAX))),
    };
    Bytes::from(to_json(&body))
}

/// How an answer ended for a client who sees calls, or sees none because the one call was the answer itself.
pub(super) fn ended(reason: FinishReason, calls_tools: bool) -> FinishReason {
    match (reason, calls_tools) {
        (reason, true) => reason.with_tool_calls(),
        (FinishReason::ToolCalls, false) => FinishReason::End,
        (reason, false) => reason,
    }
}

fn block<'a>(
    part: &'a AnswerPart,
    place: usize,
    message_id: &str,
    calls: &mut CallIds,
    reply: &'a Reply,
) -> Option<Block<'a>> {
    match &part.kind {
        PartKind::Text | PartKind::Refusal => (!part.text.is_empty()).then_some(Block::Text { text: &part.text }),
        PartKind::Reasoning => {
            let signature = carried(&part.signature, &reply.ids);
            let is_empty = part.text.is_empty() && signature.is_empty();
            (!is_empty).then_some(Block::Thinking { thinking: &part.text, signature })
        }
        PartKind::RedactedReasoning => {
            let data = carried(&part.signature, &reply.ids);
            (!data.is_empty()).then_some(Block::RedactedThinking { data })
        }
        PartKind::ToolCall { name, .. } if reply.ids.format_tool.as_ref() == Some(name) => {
            (!part.text.is_empty()).then_some(Block::Text { text: &part.text })
        }
        PartKind::ToolCall { id, name } => Some(Block::ToolUse {
            id: calls.take(id.as_deref(), message_id, place, name),
            name: reply.ids.name(name),
            input: arguments::to_object(name, &part.text).0,
        }),
        PartKind::Opaque => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::{IdMap, Names, Origin, ToolKind};
    use domain::Usage;
    use serde_json::{Value, json};

    fn reply(ids: IdMap) -> Reply {
        Reply {
            id: "fallback".to_owned(),
            model: "asked".to_owned(),
            created: 0,
            wants_usage_chunk: false,
            estimated_input: 77,
            ids,
        }
    }

    fn part(kind: PartKind, text: &str, signature: &str) -> AnswerPart {
        AnswerPart { kind, text: text.to_owned(), signature: signature.to_owned() }
    }

    fn call(id: Option<&str>, name: &str) -> PartKind {
        PartKind::ToolCall { id: id.map(str::to_owned), name: name.to_owned() }
    }

    fn written(answer: &Answer, ids: IdMap) -> Value {
        serde_json::from_slice(&write(answer, &reply(ids))).unwrap()
    }

    #[test]
    fn an_official_answer_reads_and_writes_as_itself() {
        let body = json!({
            "id": "msg_01", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "EqQB"},
                {"type": "redacted_thinking", "data": "EmwK"},
                {"type": "text", "text": "two calls"},
                {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {"path": ".", "all": true}},
                {"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}},
            ],
            "stop_reason": "tool_use", "stop_sequence": null,
            "usage": {"input_tokens": 12, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 9},
        });
        let events = read(body.to_string().as_bytes()).unwrap();
        let answer = Answer::fold(events).unwrap();
        assert_eq!(written(&answer, IdMap { origin: Origin::Anthropic, ..IdMap::default() }), body);
    }

    #[test]
    fn ends_and_errors_are_read_as_such() {
        for (reason, finish) in [
            ("end_turn", FinishReason::End),
            ("stop_sequence", FinishReason::StopSequence),
            ("max_tokens", FinishReason::Length),
            ("model_context_window_exceeded", FinishReason::ContextFull),
            ("refusal", FinishReason::Filter),
            ("pause_turn", FinishReason::Paused),
        ] {
            let body =
                json!({"id": "msg_1", "model": "m", "content": [{"type": "text", "text": "a"}], "stop_reason": reason});
            let answer = Answer::fold(read(body.to_string().as_bytes()).unwrap()).unwrap();
            assert_eq!(answer.finish(), finish);
            assert_eq!(written(&answer, IdMap::default())["stop_reason"], reason);
        }
        for (body, status) in [
            (r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#, Some(529)),
            (r#"{"hello":1}"#, None),
            ("<html>", None),
        ] {
            assert_eq!(read(body.as_bytes()).unwrap_err().status, status, "{body}");
        }
    }

    #[test]
    fn what_the_upstream_left_out_is_filled_in() {
        let answer = Answer {
            id: Some("chatcmpl-9".to_owned()),
            parts: vec![
                part(PartKind::Reasoning, "", ""),
                part(PartKind::Text, "", ""),
                part(PartKind::Reasoning, "thought", "sig"),
                part(call(None, "ls"), "", ""),
                part(call(Some("call_0"), "ls"), "{\"a\":1", ""),
                part(call(Some("call_0"), "ls"), "{}", ""),
                part(call(Some("functions.ls:0"), "ls"), "{}", ""),
            ],
            finish: Some(FinishReason::End),
            ..Answer::default()
        };
        let body = written(&answer, IdMap::default());
        assert_eq!((&body["id"], &body["model"]), (&json!("msg_9"), &json!("asked")));
        assert_eq!(body["usage"]["input_tokens"], 77, "never zero");
        assert_eq!(body["stop_reason"], "tool_use", "calls win over a plain end");
        let content = body["content"].as_array().unwrap();
        assert_eq!(content[0], json!({"type": "thinking", "thinking": "thought", "signature": ""}));
        let ids: std::collections::BTreeSet<_> =
            content[1..].iter().map(|block| block["id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), 4, "ids are legal and each once");
        assert!(ids.iter().all(|id| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))));
        assert!(content[1..].iter().all(|block| block["input"].is_object()));
    }

    #[test]
    fn names_proofs_and_emulated_answers_find_their_way_back() {
        let names = Names { name: "mcp.fs/read".to_owned(), kind: ToolKind::Function, namespace: None };
        let ids = IdMap {
            names: [("mcp_fs_read".to_owned(), names)].into(),
            format_tool: Some("answer".to_owned()),
            origin: Origin::Google,
        };
        let answer = Answer {
            parts: vec![part(PartKind::RedactedReasoning, "", "blob"), part(call(None, "answer"), "{\"a\":1}", "")],
            usage: Usage { input_fresh: Some(0), cache_read: Some(50), output: Some(4), ..Usage::default() },
            finish: Some(FinishReason::ToolCalls),
            ..Answer::default()
        };
        let body = written(&answer, ids.clone());
        assert_eq!(body["content"][0]["data"], "omr1.google.blob");
        assert_eq!(body["content"][1], json!({"type": "text", "text": "{\"a\":1}"}));
        assert_eq!(body["stop_reason"], "end_turn");
        assert_eq!(
            (&body["usage"]["input_tokens"], &body["usage"]["cache_read_input_tokens"]),
            (&json!(0), &json!(50))
        );
        let answer = Answer { parts: vec![part(call(Some("a"), "mcp_fs_read"), "{}", "")], ..Answer::default() };
        assert_eq!(written(&answer, ids)["content"][0]["name"], "mcp.fs/read");
    }

    #[test]
    fn arguments_that_were_cut_off_are_not_to_be_executed() {
        let answer = Answer {
            parts: vec![part(call(Some("a"), "rm"), "{\"path\":\"/t", "")],
            finish: Some(FinishReason::Length),
            ..Answer::default()
        };
        assert_eq!(written(&answer, IdMap::default())["stop_reason"], "max_tokens");
    }
}
