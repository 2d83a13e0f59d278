//! Whole answers of this dialect, read into events and written from a folded answer.

use bytes::Bytes;

use crate::canonical::{Answer, AnswerPart};
use crate::error::{UpstreamError, no_answer, read_in_stream, to_json};
use crate::event::{Event, FinishReason, PartKind};
use crate::lenient::str_of;
use crate::translate::Reply;

use super::output::{Kind, Made, Response, cut_short, response_id, tail};
use super::{stream, wire};

pub(crate) fn read(body: &[u8]) -> Result<Vec<Event>, UpstreamError> {
    let Ok(response) = serde_json::from_slice::<wire::Response<'_>>(body) else { return Err(no_answer(body)) };
    if let Some(error) = response.error {
        return Err(read_in_stream(error.get().as_bytes()));
    }
    match str_of(&response.status) {
        "completed" | "incomplete" | "" if response.output.is_some() => Ok(stream::read_whole(&response)),
        "completed" | "incomplete" | "" => Err(no_answer(body)),
        status => Err(UpstreamError::failed_finish(status)),
    }
}

pub(crate) fn write(answer: &Answer, reply: &Reply) -> Bytes {
    let id = response_id(answer.id.as_deref(), reply);
    let finish = finish(answer, reply);
    let status = if cut_short(finish).is_some() { "incomplete" } else { "completed" };
    let mut output: Vec<Made> = Vec::with_capacity(answer.parts.len());
    for part in &answer.parts {
        output.extend(made(part, output.len(), &id, reply));
    }
    let output: Vec<_> = output.iter().map(|made| made.item(&reply.ids, status)).collect();
    let model = answer.model.as_deref().unwrap_or(&reply.model);
    Bytes::from(to_json(&Response::new(&id, model, reply.created, Some(finish), &output, Some(&answer.usage))))
}

fn made(part: &AnswerPart, at: usize, id: &str, reply: &Reply) -> Option<Made> {
    let kind = Kind::of(&part.kind, &reply.ids, || format!("call_{}_{at}", tail(id)))?;
    if matches!(kind, Kind::Text | Kind::Refusal) && part.text.is_empty() {
        return None;
    }
    let id = kind.id(id, at, &reply.ids);
    Some(Made { kind, id, text: part.text.clone(), signature: part.signature.clone() })
}

/// How it ended. The call that stands for a structured answer is none to the client.
fn finish(answer: &Answer, reply: &Reply) -> FinishReason {
    let is_format = |part: &AnswerPart| matches!(&part.kind, PartKind::ToolCall { name, .. } if reply.ids.format_tool.as_ref() == Some(name));
    match answer.finish() {
        FinishReason::ToolCalls if answer.parts.iter().any(is_format) => FinishReason::End,
        finish => finish,
    }
}
