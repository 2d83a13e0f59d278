//! Whole answers of this dialect, read into events and written from a folded answer.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;

use domain::Usage;

use crate::canonical::{Answer, AnswerPart, Origin, arguments, reasoning};
use crate::error::{ErrorOrigin, UpstreamError, no_answer, to_json};
use crate::event::{Event, FinishReason, PartKind, StreamReader};
use crate::framing::{Decoder, Frame, Framing, MAX_FRAME};
use crate::translate::Reply;

use super::stream::Reader;

pub(crate) fn read(body: &[u8]) -> Result<Vec<Event>, UpstreamError> {
    let mut events = Vec::new();
    let mut reader = Reader::default();
    for frame in frames(body) {
        reader.push(&frame, &mut events);
    }
    reader.end(&mut events);
    match events.pop() {
        // A body that names no reason came to its end all the same: nothing of it can be missing.
        Some(Event::Failed(error)) if is_cut(&error) && events.iter().any(Event::is_progress) => {
            let calls = |event: &Event| matches!(event, Event::PartStarted { kind: PartKind::ToolCall { .. }, .. });
            let has_calls = events.iter().any(calls);
            events.push(Event::Finished(if has_calls { FinishReason::ToolCalls } else { FinishReason::End }));
            Ok(events)
        }
        Some(Event::Failed(error)) if is_cut(&error) => Err(no_answer(body)),
        last => {
            events.extend(last);
            match events.iter().find_map(failure) {
                Some(error) => Err(error),
                None => Ok(events),
            }
        }
    }
}

fn failure(event: &Event) -> Option<UpstreamError> {
    match event {
        Event::Failed(error) => Some(error.clone()),
        _ => None,
    }
}

fn is_cut(error: &UpstreamError) -> bool {
    error.origin == ErrorOrigin::Cut
}

/// The body as one frame, or the elements of the array that it is.
fn frames(body: &[u8]) -> Vec<Frame> {
    let bytes = Bytes::copy_from_slice(body);
    if !body.trim_ascii_start().starts_with(b"[") {
        return vec![Frame { raw: bytes.clone(), event: None, data: bytes, is_comment: false }];
    }
    let mut frames = Vec::new();
    let mut decoder = Decoder::new(Framing::JsonArray, MAX_FRAME.max(body.len() + 1));
    if decoder.push(bytes, &mut frames).is_ok() {
        decoder.finish(&mut frames);
    }
    frames
}

pub(crate) fn write(answer: &Answer, reply: &Reply) -> Bytes {
    let reason = answer.finish();
    let mut parts: Vec<Part<'_>> = answer.parts.iter().filter_map(|part| write_part(part, reason, reply)).collect();
    if parts.is_empty() {
        parts.push(Part::text(""));
    }
    let chunk = Chunk {
        candidates: [Candidate::new(parts, Some(reason))],
        usage_metadata: Some(TokenCounts::new(&answer.usage, reply)),
        model_version: answer.model.as_deref().unwrap_or(&reply.model),
        response_id: answer.id.as_deref().unwrap_or(&reply.id),
    };
    Bytes::from(to_json(&chunk))
}

fn write_part<'a>(part: &'a AnswerPart, reason: FinishReason, reply: &'a Reply) -> Option<Part<'a>> {
    let signed = |written: Part<'a>| written.signed(&part.signature, reply.ids.origin);
    Some(match &part.kind {
        PartKind::Text | PartKind::Refusal => signed(Part::text(&part.text)),
        PartKind::Reasoning => signed(Part::thought(&part.text)),
        PartKind::RedactedReasoning => signed(Part::text("")),
        PartKind::ToolCall { name, .. } if reply.ids.format_tool.as_ref() == Some(name) => Part::text(&part.text),
        PartKind::ToolCall { id, name } => signed(Part::call(id.as_deref(), name, &part.text, reason, reply)?),
        PartKind::Opaque => return None,
    })
    .filter(|written| !written.says_nothing())
}

/// A whole answer, or one frame of a stream.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Chunk<'a> {
    pub(super) candidates: [Candidate<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) usage_metadata: Option<TokenCounts>,
    pub(super) model_version: &'a str,
    pub(super) response_id: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finish_reason: Option<&'static str>,
    index: u8,
}

#[derive(Serialize)]
struct Content<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    args: Box<RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TokenCounts {
    prompt_token_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_content_token_count: Option<u64>,
    candidates_token_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    thoughts_token_count: Option<u64>,
    total_token_count: u64,
}

impl<'a> Candidate<'a> {
    pub(super) fn new(parts: Vec<Part<'a>>, reason: Option<FinishReason>) -> Self {
        Candidate { content: Content { role: "model", parts }, finish_reason: reason.map(finish_word), index: 0 }
    }
}

impl<'a> Part<'a> {
    pub(super) fn text(text: &'a str) -> Part<'a> {
        Part { text: Some(text), ..Part::default() }
    }

    pub(super) fn thought(text: &'a str) -> Part<'a> {
        Part { text: Some(text), thought: Some(true), ..Part::default() }
    }

    /// A call under the client's own name. One whose arguments were cut off with the answer must not be executed, so it
    /// is left out.
    pub(super) fn call(
        id: Option<&'a str>,
        name: &'a str,
        text: &str,
        reason: FinishReason,
        reply: &'a Reply,
    ) -> Option<Part<'a>> {
        let cut = matches!(reason, FinishReason::Length | FinishReason::ContextFull);
        if cut && !arguments::is_whole(text) {
            return None;
        }
        let name = reply.ids.name(name);
        let args = arguments::to_object(name, text).0;
        Some(Part { function_call: Some(Call { id, name, args }), ..Part::default() })
    }

    /// With its proof, marked when it is another vendor's.
    pub(super) fn signed(mut self, proof: &'a str, maker: Origin) -> Part<'a> {
        self.thought_signature = reasoning::seal(proof, maker, domain::Dialect::Gemini);
        self
    }

    fn says_nothing(&self) -> bool {
        self.function_call.is_none() && self.thought_signature.is_none() && self.text.is_none_or(str::is_empty)
    }
}

impl TokenCounts {
    /// What was consumed; the prompt by estimate where the upstream did not say, because clients size their context by it.
    pub(super) fn new(usage: &Usage, reply: &Reply) -> TokenCounts {
        let prompt = usage.input().unwrap_or(reply.estimated_input);
        let output = usage.output.unwrap_or(0);
        TokenCounts {
            prompt_token_count: prompt,
            cached_content_token_count: usage.cache_read,
            candidates_token_count: output.saturating_sub(usage.reasoning.unwrap_or(0)),
            thoughts_token_count: usage.reasoning,
            total_token_count: prompt.saturating_add(output),
        }
    }
}

const fn finish_word(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::End | FinishReason::StopSequence | FinishReason::ToolCalls | FinishReason::Paused => "STOP",
        FinishReason::Length | FinishReason::ContextFull => "MAX_TOKENS",
        FinishReason::Filter => "SAFETY",
    }
}
