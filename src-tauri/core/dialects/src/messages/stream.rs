//! Reads Messages streams.
//!
//! The dialect is well formed: numbered blocks that start, grow and stop. Left to care for: tool input that comes
//! complete with the start of its block, errors inside a good stream, and streams that stop after `message_delta`
//! without `message_stop`, which are complete all the same.

use domain::Usage;

use crate::error::{StreamProgress, read_in_stream};
use crate::event::{DeltaKind, Event, FinishReason, PartKind, Remainder, StreamReader};
use crate::framing::Frame;
use crate::lenient::{position, some_string, str_of};
use crate::mended::{self, Unread};
use crate::parts::{Course, END_MARKER, Parts, delta};

use super::wire::{self, Block, Delta, Message, TokenCounts, stop_reason};

#[derive(Default)]
pub(crate) struct Reader {
    course: Course,
    /// Blocks by the upstream's index.
    parts: Parts<u32>,
    /// Tool input that came whole, until deltas prove it a placeholder or the block stops.
    whole_inputs: Vec<(u32, String)>,
    has_calls: bool,
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
        let from = out.len();
        let mut room = String::new();
        let event = match mended::read::<wire::Event<'_>>(&frame.data, &mut room) {
            Ok(event) => event,
            // By its name it is an error, in whatever form.
            Err(_) if frame.event.as_deref() == Some("error") => wire::Event::default(),
            Err(why) => return self.course.drop_frame(why),
        };
        let kind = match str_of(&event.kind) {
            "" => frame.event.as_deref().unwrap_or_default(),
            kind => kind,
        };
        if self.event(kind, &event, frame, out) {
            self.course.note(&out[from..]);
        } else {
            self.course.drop_frame(Unread::Foreign);
        }
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

impl Reader {
    /// Reads a whole answer as the stream that would have brought it.
    pub(super) fn whole(mut self, message: &Message<'_>, out: &mut Vec<Event>) {
        self.message_start(Some(message), out);
        for (key, block) in (0..).zip(message.content.iter().flatten()) {
            self.block_start(key, block, out);
            self.block_stop(key, out);
        }
        let reason = str_of(&message.stop_reason);
        self.finish(stop_reason(reason), out);
    }

    /// Reads an event; false when its kind is unknown.
    fn event(&mut self, kind: &str, event: &wire::Event<'_>, frame: &Frame, out: &mut Vec<Event>) -> bool {
        if event.error.is_some() {
            self.course.fail(read_in_stream(&frame.data), out);
            return true;
        }
        let index = position(event.index).unwrap_or(0);
        match kind {
            "message_start" => self.message_start(event.message.as_ref(), out),
            "content_block_start" => {
                if let Some(block) = &event.content_block {
                    self.block_start(index, block, out);
                }
            }
            "content_block_delta" => {
                if let Some(change) = &event.delta {
                    return self.block_delta(index, change, out);
                }
            }
            "content_block_stop" => self.block_stop(index, out),
            "message_delta" => {
                usage(event.usage, out);
                let reason = event.delta.as_ref().map_or("", |delta| str_of(&delta.stop_reason));
                if !reason.is_empty() {
                    self.finish(stop_reason(reason), out);
                }
            }
            "message_stop" => {
                self.finish(FinishReason::End, out);
                self.course.mark();
            }
            "ping" => out.push(Event::KeepAlive),
            "error" => self.course.fail(read_in_stream(&frame.data), out),
            _ => return false,
        }
        true
    }

    fn message_start(&mut self, message: Option<&Message<'_>>, out: &mut Vec<Event>) {
        let Some(message) = message else { return };
        self.course.start(some_string(&message.id), some_string(&message.model), out);
        usage(message.usage, out);
    }

    fn block_start(&mut self, key: u32, block: &Block<'_>, out: &mut Vec<Event>) {
        let kind = block.part_kind();
        let is_call = matches!(kind, PartKind::ToolCall { .. });
        self.has_calls |= is_call;
        let index = self.parts.start(key, kind, out);
        if let Some(input) = block.whole_input().filter(|_| is_call) {
            self.whole_inputs.push((key, input.to_owned()));
        }
        for (kind, text) in [
            (DeltaKind::Text, &block.text),
            (DeltaKind::Reasoning, &block.thinking),
            (DeltaKind::Signature, &block.signature),
            (DeltaKind::Signature, &block.data),
        ] {
            let text = str_of(text);
            if !text.is_empty() {
                delta(index, kind, text, out);
            }
        }
    }

    /// Reads a delta; false when its kind is unknown. A delta of a block that is not open has nowhere to go.
    fn block_delta(&mut self, key: u32, change: &Delta<'_>, out: &mut Vec<Event>) -> bool {
        let (kind, text) = match str_of(&change.kind) {
            "text_delta" => (DeltaKind::Text, str_of(&change.text)),
            "thinking_delta" => (DeltaKind::Reasoning, str_of(&change.thinking)),
            "signature_delta" => (DeltaKind::Signature, str_of(&change.signature)),
            "input_json_delta" => (DeltaKind::Arguments, str_of(&change.partial_json)),
            "citations_delta" => return true,
            _ => return false,
        };
        if text.is_empty() && kind != DeltaKind::Reasoning {
            return true;
        }
        if kind == DeltaKind::Arguments {
            self.whole_inputs.retain(|(known, _)| *known != key);
        }
        if let Some(index) = self.parts.find(key) {
            delta(index, kind, text, out);
        }
        true
    }

    fn block_stop(&mut self, key: u32, out: &mut Vec<Event>) {
        let whole = self.whole_inputs.iter().position(|(known, _)| *known == key);
        if let Some(at) = whole {
            let (_, input) = self.whole_inputs.swap_remove(at);
            if let Some(index) = self.parts.find(key) {
                delta(index, DeltaKind::Arguments, &input, out);
            }
        }
        self.parts.end(key, out);
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Vec<Event>) {
        self.parts.end_all(out);
        self.course.finish(if self.has_calls { reason.with_tool_calls() } else { reason }, out);
    }
}

fn usage(counts: Option<TokenCounts>, out: &mut Vec<Event>) {
    let usage = counts.map(TokenCounts::usage).unwrap_or_default();
    if usage != Usage::default() {
        out.push(Event::Usage(usage));
    }
}
