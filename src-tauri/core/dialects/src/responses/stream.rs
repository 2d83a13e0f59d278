//! Reads Responses streams.
//!
//! Everything arrives twice: as deltas, and complete in the `done` events and the final response. Deltas are read as
//! they come; complete texts only fill what the deltas left out. So each open part remembers how much of it has been
//! passed on, and items that were seen are not read again from the final response.

use crate::error::{StreamProgress, UpstreamError, read_in_stream};
use crate::event::{DeltaKind, Event, FinishReason, PartKind, Remainder, StreamReader};
use crate::framing::Frame;
use crate::lenient::{count, position, some_string, str_of};
use crate::mended::{self, Unread};
use crate::parts::{Course, END_MARKER, Parts, delta};

use super::wire::{self, Item, ItemKind, Response};

#[derive(Default)]
pub(crate) struct Reader {
    course: Course,
    parts: Parts<Key>,
    /// Bytes passed on of each open part that can be filled up.
    passed: Vec<(Key, usize)>,
    /// Items announced, by the upstream's id, with their position.
    items: Vec<(String, u32)>,
    has_items: bool,
    has_calls: bool,
    announced: Option<Announced>,
    next_sequence_number: u64,
}

/// What a failed end of the stream has to repeat.
struct Announced {
    id: String,
    model: String,
    created_at: u64,
}

/// The events of a whole answer.
pub(super) fn read_whole(response: &Response<'_>) -> Vec<Event> {
    let mut events = Vec::new();
    Reader::default().complete(Some(response), &mut events);
    events
}

/// A part: the item's position in the output, and for messages the position of the content in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Text(u32, u32),
    Refusal(u32, u32),
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
        let from = out.len();
        let mut room = String::new();
        let event = match mended::read::<wire::Event<'_>>(&frame.data, &mut room) {
            Ok(event) => event,
            // Its name says enough, whatever the rest looks like.
            Err(_) if matches!(frame.event.as_deref(), Some("error" | "response.failed")) => {
                self.course.fail(read_in_stream(&frame.data), out);
                return self.course.note(&out[from..]);
            }
            Err(why) => return self.course.drop_frame(why),
        };
        if let Some(number) = count(event.sequence_number) {
            self.next_sequence_number = number.saturating_add(1);
        }
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
        match &self.announced {
            Some(Announced { id, model, created_at }) => StreamProgress::Opened {
                response_id: id,
                model,
                created_at: *created_at,
                sequence_number: self.next_sequence_number,
            },
            None => self.course.progress(),
        }
    }
}

impl Reader {
    /// Reads an event; false when its kind is unknown.
    fn event(&mut self, kind: &str, event: &wire::Event<'_>, frame: &Frame, out: &mut Vec<Event>) -> bool {
        if self.course.is_over() {
            return true;
        }
        let at = self.item_position(event);
        let content = position(event.content_index).unwrap_or(0);
        match kind {
            "response.created" | "response.in_progress" | "response.queued" => self.open(event, out),
            "response.output_item.added" => {
                if let Some(item) = &event.item {
                    self.item_added(at, item, out);
                }
            }
            "response.output_item.done" => {
                if let Some(item) = &event.item {
                    self.item_done(at, item, out);
                }
            }
            "response.output_text.delta" => self.add(Key::Text(at, content), str_of(&event.delta), out),
            "response.output_text.done" => self.fill(Key::Text(at, content), str_of(&event.text), out),
            "response.refusal.delta" => self.add(Key::Refusal(at, content), str_of(&event.delta), out),
            "response.refusal.done" => self.fill(Key::Refusal(at, content), str_of(&event.refusal), out),
            "response.content_part.added" | "response.output_text.annotation.added" => {}
            "response.content_part.done" => {
                self.end_part(Key::Text(at, content), out);
                self.end_part(Key::Refusal(at, content), out);
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                self.add(Key::Call(at), str_of(&event.delta), out);
            }
            "response.function_call_arguments.done" => self.fill(Key::Call(at), str_of(&event.arguments), out),
            "response.custom_tool_call_input.done" => self.fill(Key::Call(at), str_of(&event.input), out),
            "response.completed" | "response.incomplete" | "response.done" => {
                self.complete(event.response.as_ref(), out);
                self.course.mark();
            }
            "response.failed" | "response.cancelled" | "error" => self.fail(kind, event, frame, out),
            "keepalive" | "ping" => out.push(Event::KeepAlive),
            "" if event.error.is_some() => self.fail(kind, event, frame, out),
            _ => return self.reasoning(kind, at, event, out),
        }
        true
    }

    /// Any event about reasoning is a sign that the model thinks, whether or not it shows what.
    fn reasoning(&mut self, kind: &str, at: u32, event: &wire::Event<'_>, out: &mut Vec<Event>) -> bool {
        if !kind.starts_with("response.reasoning") {
            return false;
        }
        let key = Key::Reasoning(at);
        if kind.ends_with(".delta") {
            self.add(key, str_of(&event.delta), out);
        } else if kind.ends_with("text.done") && self.passed_of(key) == 0 {
            self.add(key, str_of(&event.text), out);
        } else {
            let index = self.parts.ensure(key, PartKind::Reasoning, out);
            delta(index, DeltaKind::Reasoning, "", out);
        }
        true
    }

    fn open(&mut self, event: &wire::Event<'_>, out: &mut Vec<Event>) {
        let Some(response) = &event.response else { return };
        if self.announced.is_none() {
            let model = some_string(&response.model).unwrap_or_default();
            let created_at = count(response.created_at).unwrap_or(0);
            self.announced = some_string(&response.id).map(|id| Announced { id, model, created_at });
            // Also where its events are not numbered, this was one.
            self.next_sequence_number = self.next_sequence_number.max(1);
        }
        self.course.start(some_string(&response.id), some_string(&response.model), out);
    }

    /// Where the item of an event stands in the output. Some servers leave the number out of some events.
    fn item_position(&self, event: &wire::Event<'_>) -> u32 {
        if let Some(at) = position(event.output_index) {
            return at;
        }
        let id = match event.item.as_ref().map(|item| str_of(&item.id)) {
            Some(id) => id,
            None => str_of(&event.item_id),
        };
        let known = self.items.iter().rev().find(|(known, _)| known == id && !id.is_empty());
        let last = self.items.last();
        known.or(last).map_or(0, |(_, at)| *at)
    }

    fn item_added(&mut self, at: u32, item: &Item<'_>, out: &mut Vec<Event>) {
        self.has_items = true;
        self.items.push((str_of(&item.id).to_owned(), at));
        match item.kind() {
            ItemKind::Message => {}
            ItemKind::Reasoning => {
                self.parts.ensure(Key::Reasoning(at), PartKind::Reasoning, out);
            }
            ItemKind::Call => self.start_call(at, item, out),
            ItemKind::Opaque => {
                self.parts.ensure(Key::Opaque(at), PartKind::Opaque, out);
            }
        }
    }

    fn item_done(&mut self, at: u32, item: &Item<'_>, out: &mut Vec<Event>) {
        let is_known = self.items.iter().any(|(_, known)| *known == at);
        if !is_known {
            self.item_added(at, item, out);
        }
        match item.kind() {
            ItemKind::Message => self.message_done(at, item, is_known, out),
            ItemKind::Reasoning => self.reasoning_done(at, item, out),
            ItemKind::Call => {
                self.fill(Key::Call(at), item.call_text(), out);
                self.end_part(Key::Call(at), out);
            }
            ItemKind::Opaque => self.end_part(Key::Opaque(at), out),
        }
    }

    /// Contents that were streamed have ended with their own events; a message never announced is read from here.
    fn message_done(&mut self, at: u32, item: &Item<'_>, is_known: bool, out: &mut Vec<Event>) {
        for (content, place) in item.content.iter().flatten().zip(0_u32..) {
            for (key, text) in [(Key::Text(at, place), &content.text), (Key::Refusal(at, place), &content.refusal)] {
                if !is_known || self.parts.find(key).is_some() {
                    self.fill(key, str_of(text), out);
                    self.end_part(key, out);
                }
            }
        }
    }

    fn reasoning_done(&mut self, at: u32, item: &Item<'_>, out: &mut Vec<Event>) {
        let key = Key::Reasoning(at);
        if self.passed_of(key) == 0 {
            let content: String = item.content.iter().flatten().map(|content| str_of(&content.text)).collect();
            let text = if content.is_empty() { str_of(&item.summary) } else { &content };
            self.add(key, text, out);
        }
        let proof = str_of(&item.encrypted_content);
        if !proof.is_empty() {
            let index = self.parts.ensure(key, PartKind::Reasoning, out);
            delta(index, DeltaKind::Signature, proof, out);
        }
        self.end_part(key, out);
    }

    fn start_call(&mut self, at: u32, item: &Item<'_>, out: &mut Vec<Event>) {
        if self.parts.find(Key::Call(at)).is_none() {
            self.has_calls = true;
            let kind = PartKind::ToolCall { id: some_string(&item.call_id), name: item.tool_name() };
            self.parts.start(Key::Call(at), kind, out);
        }
    }

    /// Adds to a part. Calls must have been announced, because only the item knows their name.
    fn add(&mut self, key: Key, text: &str, out: &mut Vec<Event>) {
        let (part, kind) = match key {
            Key::Text(..) => (PartKind::Text, DeltaKind::Text),
            Key::Refusal(..) => (PartKind::Refusal, DeltaKind::Refusal),
            Key::Reasoning(_) => (PartKind::Reasoning, DeltaKind::Reasoning),
            Key::Call(_) | Key::Opaque(_) => {
                let Some(index) = self.parts.find(key).filter(|_| !text.is_empty()) else { return };
                self.pass(key, text.len());
                return delta(index, DeltaKind::Arguments, text, out);
            }
        };
        if text.is_empty() && kind != DeltaKind::Reasoning {
            return;
        }
        let index = self.parts.ensure(key, part, out);
        self.pass(key, text.len());
        delta(index, kind, text, out);
    }

    /// Adds what of the complete `text` the deltas left out.
    fn fill(&mut self, key: Key, text: &str, out: &mut Vec<Event>) {
        let missing = text.get(self.passed_of(key)..).unwrap_or_default();
        if !missing.is_empty() {
            self.add(key, missing, out);
        }
    }

    fn end_part(&mut self, key: Key, out: &mut Vec<Event>) {
        self.parts.end(key, out);
        self.passed.retain(|(known, _)| *known != key);
    }

    fn pass(&mut self, key: Key, length: usize) {
        match self.passed.iter_mut().find(|(known, _)| *known == key) {
            Some((_, passed)) => *passed += length,
            None => self.passed.push((key, length)),
        }
    }

    fn passed_of(&self, key: Key) -> usize {
        self.passed.iter().find(|(known, _)| *known == key).map_or(0, |(_, passed)| *passed)
    }

    fn complete(&mut self, response: Option<&Response<'_>>, out: &mut Vec<Event>) {
        let mut reason = FinishReason::End;
        if let Some(response) = response {
            self.course.start(some_string(&response.id), some_string(&response.model), out);
            if !self.has_items {
                for (item, at) in response.output.iter().flatten().zip(0_u32..) {
                    self.item_done(at, item, out);
                }
            }
            if let Some(usage) = response.usage() {
                out.push(Event::Usage(usage));
            }
            reason = response.finish();
        }
        self.parts.end_all(out);
        self.course.finish(if self.has_calls { reason.with_tool_calls() } else { reason }, out);
    }

    fn fail(&mut self, kind: &str, event: &wire::Event<'_>, frame: &Frame, out: &mut Vec<Event>) {
        if let Some(usage) = event.response.as_ref().and_then(Response::usage) {
            out.push(Event::Usage(usage));
        }
        let error = match event.response.as_ref().map(|response| response.error) {
            Some(Some(error)) => read_in_stream(error.get().as_bytes()),
            Some(None) => UpstreamError::failed_finish(kind),
            None => read_in_stream(&frame.data),
        };
        self.course.fail(error, out);
    }
}
