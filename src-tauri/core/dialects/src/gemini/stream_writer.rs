//! Streams of this dialect, written from events.
//!
//! Text and thoughts go out as they come, each in a frame of its own. A call is whole in one frame, so its arguments are
//! kept back until it ends; one that does not look whole then waits for the end of the answer, which tells whether it was
//! cut off. Reason and usage stand on the last frame, because usage may come after the reason.

use bytes::{BufMut, BytesMut};
use domain::Usage;

use crate::canonical::arguments::is_whole;
use crate::error::{StreamProgress, to_json};
use crate::event::{DeltaKind, Event, FinishReason, PartKind};
use crate::translate::{Reply, StreamWriter};

use super::answer::{Candidate, Chunk, Part, TokenCounts};

pub(crate) struct Writer {
    reply: Reply,
    form: Form,
    slots: Vec<Slot>,
    usage: Usage,
    finish: Option<FinishReason>,
    has_calls: bool,
    has_frames: bool,
}

/// How frames are told apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Server-sent events (`alt=sse`).
    Sse,
    /// The elements of one JSON array.
    Array,
}

/// A part that began, by its index.
enum Slot {
    Text,
    Thought,
    /// A call that is not written yet.
    Call(Box<Call>),
    /// Nothing of it is written, or no more.
    Over,
}

struct Call {
    id: Option<String>,
    name: String,
    arguments: String,
    signature: String,
}

impl Writer {
    pub(crate) fn new(reply: Reply) -> Self {
        Writer {
            reply,
            form: Form::Sse,
            slots: Vec::new(),
            usage: Usage::default(),
            finish: None,
            has_calls: false,
            has_frames: false,
        }
    }

    /// For a client that asked without `alt=sse`.
    pub(crate) fn array(reply: Reply) -> Self {
        Writer { form: Form::Array, ..Writer::new(reply) }
    }

    fn slot(&mut self, index: u32) -> Option<&mut Slot> {
        usize::try_from(index).ok().and_then(|index| self.slots.get_mut(index))
    }

    fn start(&mut self, kind: &PartKind) {
        let slot = match kind {
            PartKind::Text | PartKind::Refusal | PartKind::RedactedReasoning => Slot::Text,
            PartKind::Reasoning => Slot::Thought,
            PartKind::ToolCall { name, .. } if self.reply.ids.format_tool.as_ref() == Some(name) => Slot::Text,
            PartKind::ToolCall { id, name } => {
                self.has_calls = true;
                let (arguments, signature) = (String::new(), String::new());
                Slot::Call(Box::new(Call { id: id.clone(), name: name.clone(), arguments, signature }))
            }
            PartKind::Opaque => Slot::Over,
        };
        self.slots.push(slot);
    }

    fn delta(&mut self, index: u32, kind: DeltaKind, text: &str, out: &mut BytesMut) {
        let is_proof = kind == DeltaKind::Signature;
        let is_thought = match self.slot(index) {
            None | Some(Slot::Over) => return,
            Some(Slot::Call(call)) => {
                let place = if is_proof { &mut call.signature } else { &mut call.arguments };
                place.push_str(text);
                return;
            }
            Some(Slot::Thought) => true,
            Some(Slot::Text) => false,
        };
        if text.is_empty() {
            return;
        }
        let of = if is_thought { Part::thought } else { Part::text };
        let origin = self.reply.ids.origin;
        let part = if is_proof { of("").signed(text, origin) } else { of(text) };
        let frame = self.frame(vec![part], None, None);
        self.write(&frame, out);
    }

    /// Writes a call that has ended. `reason` is known at the end of the answer alone.
    fn end_call(&mut self, place: usize, reason: Option<FinishReason>, out: &mut BytesMut) {
        let Some(slot) = self.slots.get_mut(place) else { return };
        let may_wait = reason.is_none() && matches!(slot, Slot::Call(call) if !is_whole(&call.arguments));
        if may_wait {
            return;
        }
        let Slot::Call(call) = std::mem::replace(slot, Slot::Over) else { return };
        let reason = reason.unwrap_or(FinishReason::ToolCalls);
        let Some(part) = Part::call(call.id.as_deref(), &call.name, &call.arguments, reason, &self.reply) else {
            return;
        };
        let part = part.signed(&call.signature, self.reply.ids.origin);
        let frame = self.frame(vec![part], None, None);
        self.write(&frame, out);
    }

    fn frame(&self, parts: Vec<Part<'_>>, reason: Option<FinishReason>, counts: Option<TokenCounts>) -> Vec<u8> {
        to_json(&Chunk {
            candidates: [Candidate::new(parts, reason)],
            usage_metadata: counts,
            model_version: &self.reply.model,
            response_id: &self.reply.id,
        })
    }

    fn write(&mut self, frame: &[u8], out: &mut BytesMut) {
        match self.form {
            Form::Sse => {
                out.put_slice(b"data: ");
                out.put_slice(frame);
                out.put_slice(b"\n\n");
            }
            Form::Array => {
                out.put_slice(if self.has_frames { b",\r\n" } else { b"[" });
                out.put_slice(frame);
            }
        }
        self.has_frames = true;
    }
}

impl StreamWriter for Writer {
    fn push(&mut self, event: &Event, out: &mut BytesMut) {
        match event {
            Event::Started { id, model } => {
                if let Some(id) = id {
                    self.reply.id.clone_from(id);
                }
                if let Some(model) = model {
                    self.reply.model.clone_from(model);
                }
            }
            Event::PartStarted { kind, .. } => self.start(kind),
            Event::Delta { index, kind, text } => self.delta(*index, *kind, text, out),
            Event::PartEnded { index } => {
                if let Ok(place) = usize::try_from(*index) {
                    self.end_call(place, None, out);
                }
            }
            Event::Usage(usage) => self.usage.absorb(usage),
            Event::Finished(reason) => self.finish = self.finish.or(Some(*reason)),
            Event::Failed(_) | Event::KeepAlive => {}
        }
    }

    fn end(&mut self, out: &mut BytesMut) {
        let reason = self.finish.unwrap_or(FinishReason::End);
        let reason = if self.has_calls { reason.with_tool_calls() } else { reason };
        for place in 0..self.slots.len() {
            self.end_call(place, Some(reason), out);
        }
        let counts = TokenCounts::new(&self.usage, &self.reply);
        let frame = self.frame(vec![Part::text("")], Some(reason), Some(counts));
        self.write(&frame, out);
        if self.form == Form::Array {
            out.put_slice(b"]");
        }
    }

    fn progress(&self) -> StreamProgress<'_> {
        if self.has_frames { StreamProgress::ContentSent } else { StreamProgress::NothingSent }
    }
}
