//! Whole answers of this dialect, read into events and written from a folded answer.

use bytes::Bytes;
use serde::Serialize;

use super::stream::Reader;
use super::wire::Chunk;
use super::written::{Call, Meaning, ReasoningDetail, TokenCounts};
use super::written::{answer_id, call_id, finish_word, meaning, proof, whole_call};
use crate::canonical::Answer;
use crate::error::{UpstreamError, no_answer, to_json};
use crate::event::{Event, PartKind};
use crate::translate::Reply;

/// A whole answer has the shape of one chunk that brings everything, so the stream's reader reads it.
pub(crate) fn read(body: &[u8]) -> Result<Vec<Event>, UpstreamError> {
    let answer: Option<Chunk<'_>> = std::str::from_utf8(body).ok().and_then(|text| serde_json::from_str(text).ok());
    let has_choices = |answer: &Chunk<'_>| answer.choices.as_ref().is_some_and(|choices| !choices.is_empty());
    let Some(answer) = answer.filter(|answer| !answer.is_error() && has_choices(answer)) else {
        return Err(no_answer(body));
    };
    let mut events = Vec::new();
    Reader::default().whole(answer, &mut events);
    let failure = events.iter().find_map(|event| match event {
        Event::Failed(error) => Some(error.clone()),
        _ => None,
    });
    failure.map_or(Ok(events), Err)
}

#[derive(Serialize)]
struct Completion<'a> {
    id: String,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: [Choice<'a>; 1],
    usage: TokenCounts,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    message: Message<'a>,
    /// Always there, always null: SDKs read it.
    logprobs: Option<()>,
    finish_reason: &'static str,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<ReasoningDetail<'a>>,
    refusal: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
}

pub(crate) fn write(answer: &Answer, reply: &Reply) -> Bytes {
    let mut message = Message {
        role: "assistant",
        content: None,
        reasoning_content: None,
        reasoning_details: Vec::new(),
        refusal: None,
        tool_calls: Vec::new(),
    };
    for part in &answer.parts {
        match &part.kind {
            PartKind::Text => message.content.get_or_insert_default().push_str(&part.text),
            PartKind::Refusal => message.refusal.get_or_insert_default().push_str(&part.text),
            PartKind::Reasoning | PartKind::RedactedReasoning => {
                if !part.text.is_empty() {
                    message.reasoning_content.get_or_insert_default().push_str(&part.text);
                }
                let is_redacted = part.kind == PartKind::RedactedReasoning;
                message.reasoning_details.extend(proof(&part.signature, is_redacted, reply));
            }
            PartKind::ToolCall { name, .. } if meaning(name, reply) == Meaning::Format => {
                message.content.get_or_insert_default().push_str(&part.text);
            }
            PartKind::ToolCall { id, name } => {
                let id = call_id(id.as_deref(), message.tool_calls.len(), name, reply);
                message.tool_calls.push(whole_call(id, name, &part.text, &part.signature, reply));
            }
            PartKind::Opaque => {}
        }
    }
    let finish_reason = finish_word(answer.finish(), !message.tool_calls.is_empty());
    Bytes::from(to_json(&Completion {
        id: answer_id(answer.id.as_deref(), reply),
        object: "chat.completion",
        created: reply.created,
        model: answer.model.as_deref().unwrap_or(&reply.model),
        choices: [Choice { index: 0, message, logprobs: None, finish_reason }],
        usage: TokenCounts::new(&answer.usage, reply),
    }))
}
