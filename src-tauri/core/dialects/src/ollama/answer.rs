//! Whole answers, written from a folded one.

use bytes::Bytes;
use domain::{Millis, Timestamp};

use super::Form;
use super::written::{Call, Counts, Line, Said, done_reason};
use crate::canonical::Answer;
use crate::client::Times;
use crate::error::to_json;
use crate::event::PartKind;
use crate::translate::Reply;

/// A whole answer tells one time for all of it, so that all of it counts as answering.
pub(crate) fn write(form: Form, answer: &Answer, reply: &Reply, times: Times) -> Bytes {
    let reason = answer.finish();
    let (mut text, mut thinking, mut calls) = (String::new(), String::new(), Vec::new());
    for part in &answer.parts {
        match &part.kind {
            PartKind::Text | PartKind::Refusal => text.push_str(&part.text),
            PartKind::Reasoning => thinking.push_str(&part.text),
            PartKind::ToolCall { name, .. } if reply.ids.format_tool.as_ref() == Some(name) => {
                text.push_str(&part.text)
            }
            PartKind::ToolCall { id, name } => {
                calls.extend(Call::new(calls.len(), id.as_deref(), name, &part.text, reason, reply));
            }
            PartKind::RedactedReasoning | PartKind::Opaque => {}
        }
    }
    let said = Said { text: &text, thinking: Some(thinking.as_str()).filter(|text| !text.is_empty()), calls };
    let model = answer.model.as_deref().unwrap_or(&reply.model);
    let counts = Counts::new(&answer.usage, reply, Millis::ZERO, times.now.since(times.arrived));
    let line = Line::new(form, model, times.now, said).done(done_reason(reason), Some(counts));
    Bytes::from(to_json(&line))
}

/// The answer to a request that only wants the model ready ([`loads_only`](super::loads_only)): it always is.
pub fn loaded(form: Form, model: &str, now: Timestamp, unloads: bool) -> Bytes {
    let reason = if unloads { "unload" } else { "load" };
    let mut line = to_json(&Line::new(form, model, now, Said::default()).done(reason, None));
    line.push(b'\n');
    Bytes::from(line)
}
