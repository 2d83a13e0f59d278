//! Reads Chat streams, of OpenAI and of the many servers that imitate it more or less.
//!
//! The dialect has no part boundaries: a part of text or reasoning ends when another kind begins, tool calls end with
//! the answer. A tool call is announced once, when its name is certainly complete: with the first of its arguments, or
//! when something else follows. Until then its pieces are held, because id and name may come in any order, grow, or
//! repeat.

use crate::error::{StreamProgress, read_in_stream};
use crate::event::{DeltaKind, Event, FinishReason, PartKind, Remainder, StreamReader};
use crate::framing::Frame;
use crate::lenient::{Text, Whole, position, some_string, str_of};
use crate::mended::{self, Unread};
use crate::parts::{Course, END_MARKER, Parts, delta};

use super::arguments::Arguments;
use super::wire::{Choice, Chunk, Function, Message, ToolCall, arguments_text, finish_reason};

#[derive(Default)]
pub(crate) struct Reader {
    course: Course,
    parts: Parts<Key>,
    calls: Vec<Call>,
}

/// What a part is known by. The number is the choice, or for tools the position in `calls`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Text(u32),
    Reasoning(u32),
    Refusal(u32),
    Opaque(u32),
    Tool(usize),
}

/// A tool call being put together.
#[derive(Debug, Default)]
struct Call {
    choice: u32,
    /// The upstream's number for it.
    index: Option<u32>,
    id: Option<String>,
    name: String,
    arguments: Arguments,
    /// Arguments that came before the name.
    waiting: String,
    /// Google's proof of it.
    signature: String,
    state: CallState,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CallState {
    #[default]
    Held,
    Started(u32),
    Ended,
}

impl StreamReader for Reader {
    fn push(&mut self, frame: &Frame, out: &mut Vec<Event>) {
        let from = out.len();
        if frame.data.is_empty() {
            return;
        }
        if frame.data.trim_ascii() == END_MARKER {
            if !self.course.is_over() {
                self.finish(FinishReason::End, out);
            }
            self.course.mark();
        } else if frame.event.as_deref() == Some("error") {
            self.course.fail(read_in_stream(&frame.data), out);
        } else {
            let mut room = String::new();
            match mended::read::<Chunk<'_>>(&frame.data, &mut room) {
                Ok(chunk) if chunk.is_error() => self.course.fail(read_in_stream(&frame.data), out),
                Ok(chunk) if !chunk.is_foreign() => self.chunk(&chunk, out),
                Ok(_) => return self.course.drop_frame(Unread::Foreign),
                Err(why) => return self.course.drop_frame(why),
            }
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

impl Reader {
    /// Reads a whole answer: it needs no word for its end, and each of its calls is one by itself.
    pub(super) fn whole(&mut self, mut answer: Chunk<'_>, out: &mut Vec<Event>) {
        for choice in answer.choices.iter_mut().flatten() {
            let calls = choice.message.iter_mut().flat_map(|message| message.tool_calls.iter_mut().flatten());
            for (number, call) in calls.enumerate() {
                call.index = Some(Whole(u64::try_from(number).ok()));
            }
        }
        self.chunk(&answer, out);
        self.finish(FinishReason::End, out);
    }

    fn chunk(&mut self, chunk: &Chunk<'_>, out: &mut Vec<Event>) {
        let choices = chunk.choices.as_deref().unwrap_or_default();
        if !self.course.has_started() {
            let (id, model) = (some_string(&chunk.id), some_string(&chunk.model));
            if id.is_some() || model.is_some() || !choices.is_empty() {
                self.course.start(id, model, out);
            }
        }
        if let Some(usage) = chunk.usage() {
            out.push(Event::Usage(usage));
        }
        for choice in choices {
            self.choice(choice, out);
        }
    }

    fn choice(&mut self, choice: &Choice<'_>, out: &mut Vec<Event>) {
        let (number, finish) = (position(choice.index).unwrap_or(0), str_of(&choice.finish_reason));
        self.course.note_answer(number, !finish.is_empty());
        if self.course.is_over() {
            return;
        }
        if let Some(error) = choice.error {
            self.course.fail(read_in_stream(error.get().as_bytes()), out);
            return;
        }
        if let Some(message) = choice.delta.as_ref().or(choice.message.as_ref()) {
            self.message(number, message, out);
        }
        if !finish.is_empty() {
            match finish_reason(finish) {
                Ok(reason) => self.finish(reason, out),
                Err(value) => self.course.fail(crate::UpstreamError::failed_finish(value), out),
            }
        }
    }

    fn message(&mut self, choice: u32, message: &Message<'_>, out: &mut Vec<Event>) {
        self.reasoning(choice, message, out);
        self.text(Key::Text(choice), PartKind::Text, DeltaKind::Text, str_of(&message.content), out);
        self.text(Key::Refusal(choice), PartKind::Refusal, DeltaKind::Refusal, str_of(&message.refusal), out);
        if message.audio.or(message.images).is_some() {
            self.parts.ensure(Key::Opaque(choice), PartKind::Opaque, out);
        }
        for call in message.tool_calls.iter().flatten() {
            self.tool_call(choice, call, out);
        }
        if let Some(function) = &message.function_call {
            let at = self.locate(choice, Some(0), None, "");
            self.function(at, function, out);
        }
    }

    fn reasoning(&mut self, choice: u32, message: &Message<'_>, out: &mut Vec<Event>) {
        let details = message.reasoning_details.as_deref().unwrap_or_default();
        let plain =
            [&message.reasoning_content, &message.reasoning].map(str_of).into_iter().find(|text| !text.is_empty());
        let (key, kind) = (Key::Reasoning(choice), PartKind::Reasoning);
        match plain {
            Some(text) => self.text(key, kind, DeltaKind::Reasoning, text, out),
            None => {
                for detail in details {
                    let text = [&detail.text, &detail.summary].map(str_of).concat();
                    self.text(key, kind.clone(), DeltaKind::Reasoning, &text, out);
                }
            }
        }
        for detail in details {
            for proof in [&detail.signature, &detail.data] {
                self.text(key, PartKind::Reasoning, DeltaKind::Signature, str_of(proof), out);
            }
        }
    }

    /// Adds to the part of this kind, ending a part of another kind that is open.
    fn text(&mut self, key: Key, kind: PartKind, delta_kind: DeltaKind, text: &str, out: &mut Vec<Event>) {
        if text.is_empty() {
            return;
        }
        let index = match self.parts.find(key) {
            Some(index) => index,
            None => {
                self.start_held(self.calls.len(), out);
                self.parts.end_where(|open| !matches!(open, Key::Tool(_)) && choice_of(open) == choice_of(key), out);
                self.parts.start(key, kind, out)
            }
        };
        delta(index, delta_kind, text, out);
    }

    fn tool_call(&mut self, choice: u32, call: &ToolCall<'_>, out: &mut Vec<Event>) {
        let custom = call.custom.as_ref().map(|custom| Function { name: custom.name.clone(), arguments: custom.input });
        let function = call.function.as_ref().or(custom.as_ref());
        let name = function.map_or("", |function| str_of(&function.name));
        let at = self.locate(choice, position(call.index), call.id.as_ref(), name);
        if self.calls[at].id.is_none() {
            self.calls[at].id = some_string(&call.id);
        }
        if let Some(signature) = call.thought_signature() {
            self.calls[at].signature = signature;
        }
        if let Some(function) = function {
            self.function(at, function, out);
        }
    }

    /// The call a piece belongs to: by index, else by id, else the last one. A known index with another id is a new
    /// call, as is a named piece after a complete call where the server uses neither.
    fn locate(&mut self, choice: u32, index: Option<u32>, id: Option<&Text<'_>>, name: &str) -> usize {
        let id = id.map(Text::as_str).filter(|id| !id.is_empty());
        let last = |test: &dyn Fn(&Call) -> bool| {
            self.calls.iter().enumerate().rev().find(|(_, call)| call.choice == choice && test(call))
        };
        let found = match (index, id) {
            (Some(index), _) => last(&|call| call.index == Some(index))
                .filter(|(_, call)| id.is_none() || call.id.is_none() || call.id.as_deref() == id),
            (None, Some(id)) => last(&|call| call.id.as_deref() == Some(id)),
            (None, None) => {
                last(&|_| true).filter(|(_, call)| name.is_empty() || call.name.is_empty() || call.arguments.is_empty())
            }
        };
        if let Some((at, _)) = found {
            return at;
        }
        self.calls.push(Call { choice, index, ..Call::default() });
        self.calls.len() - 1
    }

    fn function(&mut self, at: usize, function: &Function<'_>, out: &mut Vec<Event>) {
        let call = &mut self.calls[at];
        if call.state == CallState::Held {
            grow_name(&mut call.name, str_of(&function.name));
        }
        let Some(raw) = function.arguments else { return };
        let piece = arguments_text(raw);
        let more = call.arguments.push(piece.as_str());
        if more.is_empty() {
            return;
        }
        match call.state {
            CallState::Started(index) => delta(index, DeltaKind::Arguments, more, out),
            CallState::Held => {
                call.waiting.push_str(more);
                if !call.name.is_empty() {
                    self.start_held(at + 1, out);
                }
            }
            CallState::Ended => {}
        }
    }

    /// Announces the calls before position `end` that are still held, in order.
    fn start_held(&mut self, end: usize, out: &mut Vec<Event>) {
        for at in 0..end {
            let call = &mut self.calls[at];
            let is_known = !call.name.is_empty() || !call.waiting.is_empty();
            if call.state != CallState::Held || !is_known {
                continue;
            }
            let choice = call.choice;
            let kind = PartKind::ToolCall { id: call.id.clone(), name: call.name.clone() };
            let waiting = std::mem::take(&mut call.waiting);
            self.parts.end_where(|open| !matches!(open, Key::Tool(_)) && choice_of(open) == Some(choice), out);
            let index = self.parts.start(Key::Tool(at), kind, out);
            self.calls[at].state = CallState::Started(index);
            if !waiting.is_empty() {
                delta(index, DeltaKind::Arguments, &waiting, out);
            }
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Vec<Event>) {
        self.start_held(self.calls.len(), out);
        let mut has_calls = false;
        for call in &mut self.calls {
            if let CallState::Started(index) = call.state {
                has_calls = true;
                if let Some(text) = call.arguments.finish() {
                    delta(index, DeltaKind::Arguments, &text, out);
                }
                if !call.signature.is_empty() {
                    delta(index, DeltaKind::Signature, &call.signature, out);
                }
                call.state = CallState::Ended;
            }
        }
        self.parts.end_all(out);
        self.course.finish(if has_calls { reason.with_tool_calls() } else { reason }, out);
    }
}

fn choice_of(key: Key) -> Option<u32> {
    match key {
        Key::Text(choice) | Key::Reasoning(choice) | Key::Refusal(choice) | Key::Opaque(choice) => Some(choice),
        Key::Tool(_) => None,
    }
}

/// A name may come whole, again and again, longer each time, or in pieces.
fn grow_name(name: &mut String, piece: &str) {
    if piece.starts_with(name.as_str()) {
        name.clear();
    }
    name.push_str(piece);
}
