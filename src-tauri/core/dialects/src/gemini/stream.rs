//! Reads Gemini streams, as server-sent events or as the elements of a JSON array.
//!
//! Chunks repeat the shape of a whole answer and add to it: text continues the part of its kind that is open, function
//! calls come whole. A signature belongs to the part it came with; one that comes alone, in an empty text, to the part
//! that is open.

use bytes::Bytes;
use serde_json::value::RawValue;

use crate::error::{StreamProgress, UpstreamError, read_in_stream};
use crate::event::{DeltaKind, Event, FinishReason, PartKind, Remainder, StreamReader};
use crate::framing::Frame;
use crate::lenient::{position, some_string, str_of};
use crate::mended::{self, Unread};
use crate::parts::{Course, END_MARKER, Parts, delta};

use super::wire::{Answer, Candidate, FunctionCall, Part, finish_reason};

#[derive(Default)]
pub(crate) struct Reader {
    course: Course,
    parts: Parts<Key>,
    has_calls: bool,
}

/// A part, by the candidate it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Text(u32),
    Reasoning(u32),
    Call(u32),
    Opaque(u32),
}

impl StreamReader for Reader {
    fn push(&mut self, frame: &Frame, out: &mut Vec<Event>) {
        if frame.data.is_empty() {
            return;
        }
        if frame.data.trim_ascii() == END_MARKER {
            self.course.mark();
            return;
        }
        if let Some(elements) = elements(&frame.data) {
            for element in elements {
                let frame = Frame { raw: element.clone(), event: None, data: element, is_comment: false };
                self.push(&frame, out);
            }
            return;
        }
        let from = out.len();
        let mut room = String::new();
        match mended::read::<Answer<'_>>(&frame.data, &mut room) {
            Ok(chunk) if chunk.error.is_some() || chunk.inner().error.is_some() => {
                self.course.fail(read_in_stream(&frame.data), out);
            }
            Ok(chunk) if !chunk.inner().is_foreign() => self.chunk(chunk.inner(), out),
            Ok(_) => return self.course.drop_frame(Unread::Foreign),
            Err(why) => return self.course.drop_frame(why),
        }
        self.course.note(&out[from..]);
    }

    fn end(&mut self, out: &mut Vec<Event>) {
        self.course.end(out);
    }

    fn dropped(&self) -> u32 {
        self.course.dropped()
    }

    fn is_garbled(&self) -> bool {
        self.course.is_garbled()
    }

    fn remainder(&self) -> Remainder {
        self.course.remainder()
    }

    fn progress(&self) -> StreamProgress<'_> {
        self.course.progress()
    }
}

/// The elements of a list that stands where a chunk should: errors above all come so.
fn elements(data: &Bytes) -> Option<Vec<Bytes>> {
    if data.trim_ascii_start().first() != Some(&b'[') {
        return None;
    }
    let elements: Vec<&RawValue> = serde_json::from_slice(data).ok()?;
    Some(elements.into_iter().map(|element| data.slice_ref(element.get().as_bytes())).collect())
}

impl Reader {
    fn chunk(&mut self, chunk: &Answer<'_>, out: &mut Vec<Event>) {
        self.course.start(some_string(&chunk.response_id), chunk.model(), out);
        if let Some(usage) = chunk.usage() {
            out.push(Event::Usage(usage));
        }
        for candidate in chunk.candidates.iter().flatten() {
            self.candidate(candidate, out);
        }
        if chunk.is_blocked() {
            self.finish(FinishReason::Filter, out);
        }
    }

    fn candidate(&mut self, candidate: &Candidate<'_>, out: &mut Vec<Event>) {
        let (number, finish) = (position(candidate.index).unwrap_or(0), str_of(&candidate.finish_reason));
        self.course.note_answer(number, !finish.is_empty());
        if self.course.is_over() {
            return;
        }
        let parts = candidate.content.as_ref().and_then(|content| content.parts.as_ref());
        for part in parts.into_iter().flatten() {
            self.part(number, part, out);
        }
        match finish_reason(finish) {
            Some(Ok(reason)) => self.finish(reason, out),
            Some(Err(value)) => {
                let mut error = UpstreamError::failed_finish(value);
                if let Some(message) = some_string(&candidate.finish_message) {
                    error.message = message;
                }
                self.course.fail(error, out);
            }
            None => {}
        }
    }

    fn part(&mut self, candidate: u32, part: &Part<'_>, out: &mut Vec<Event>) {
        let proof = str_of(&part.thought_signature);
        if let Some(call) = &part.function_call {
            self.call(candidate, call, proof, out);
            return;
        }
        if part.is_opaque() {
            self.switch_to(Key::Opaque(candidate), out);
            self.parts.start(Key::Opaque(candidate), PartKind::Opaque, out);
            self.parts.end(Key::Opaque(candidate), out);
            return;
        }
        let (key, kind, delta_kind) = if part.is_thought() {
            (Key::Reasoning(candidate), PartKind::Reasoning, DeltaKind::Reasoning)
        } else {
            (Key::Text(candidate), PartKind::Text, DeltaKind::Text)
        };
        let text = str_of(&part.text);
        if !text.is_empty() || part.is_thought() {
            self.switch_to(key, out);
            let index = self.parts.ensure(key, kind, out);
            delta(index, delta_kind, text, out);
        }
        if !proof.is_empty() {
            let open = self.parts.find(key).or_else(|| self.parts.find(Key::Reasoning(candidate)));
            let index = open.unwrap_or_else(|| self.parts.ensure(key, PartKind::Text, out));
            delta(index, DeltaKind::Signature, proof, out);
        }
    }

    fn call(&mut self, candidate: u32, call: &FunctionCall<'_>, proof: &str, out: &mut Vec<Event>) {
        self.has_calls = true;
        let key = Key::Call(candidate);
        self.switch_to(key, out);
        let kind = PartKind::ToolCall { id: some_string(&call.id), name: str_of(&call.name).to_owned() };
        let index = self.parts.start(key, kind, out);
        if !proof.is_empty() {
            delta(index, DeltaKind::Signature, proof, out);
        }
        delta(index, DeltaKind::Arguments, call.arguments(), out);
        self.parts.end(key, out);
    }

    /// Ends what is open of another kind.
    fn switch_to(&mut self, key: Key, out: &mut Vec<Event>) {
        self.parts.end_where(|open| open != key, out);
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Vec<Event>) {
        self.parts.end_all(out);
        self.course.finish(if self.has_calls { reason.with_tool_calls() } else { reason }, out);
    }
}
