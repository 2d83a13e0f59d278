//! Streams, written from events: one line for each piece.
//!
//! Text and thinking go out as they come. A call is whole in one line, so its arguments are kept back until it ends; one
//! that does not look whole then waits for the end of the answer, which tells whether it was cut off. Reason, counts and
//! durations stand on the last line, because usage may come after the reason.

use bytes::{BufMut, Bytes, BytesMut};
use domain::{Timestamp, Usage};

use super::Form;
use super::written::{Call, Counts, Line, Said, done_reason};
use crate::canonical::arguments;
use crate::error::{StreamProgress, to_json};
use crate::event::{DeltaKind, Event, FinishReason, PartKind};
use crate::translate::{Reply, StreamWriter};

pub(crate) struct Writer {
    form: Form,
    reply: Reply,
    slots: Vec<Slot>,
    usage: Usage,
    finish: Option<FinishReason>,
    calls: usize,
    has_lines: bool,
    times: Course,
}

/// When things happened.
struct Course {
    arrived: Timestamp,
    first: Option<Timestamp>,
    now: Timestamp,
}

/// A part that began, by its index.
enum Slot {
    Text,
    Thinking,
    /// A call that is not written yet.
    Call(Box<Waiting>),
    /// Nothing of it is written, or no more.
    Over,
}

struct Waiting {
    id: Option<String>,
    name: String,
    arguments: String,
}

/// An empty line of an answer that has not begun.
pub(crate) fn keep_alive(form: Form, model: &str, now: Timestamp) -> Bytes {
    let mut out = BytesMut::new();
    put(&Line::new(form, model, now, Said::default()), &mut out);
    out.freeze()
}

fn put(line: &Line<'_>, out: &mut BytesMut) {
    out.put_slice(&to_json(line));
    out.put_u8(b'\n');
}

impl Writer {
    pub(crate) fn new(form: Form, reply: Reply, arrived: Timestamp) -> Self {
        Writer {
            form,
            reply,
            slots: Vec::new(),
            usage: Usage::default(),
            finish: None,
            calls: 0,
            has_lines: false,
            times: Course { arrived, first: None, now: arrived },
        }
    }

    fn slot(&mut self, index: u32) -> Option<&mut Slot> {
        usize::try_from(index).ok().and_then(|index| self.slots.get_mut(index))
    }

    fn start(&mut self, kind: &PartKind) {
        let slot = match kind {
            PartKind::Text | PartKind::Refusal => Slot::Text,
            PartKind::Reasoning => Slot::Thinking,
            PartKind::ToolCall { name, .. } if self.reply.ids.format_tool.as_ref() == Some(name) => Slot::Text,
            PartKind::ToolCall { id, name } => {
                Slot::Call(Box::new(Waiting { id: id.clone(), name: name.clone(), arguments: String::new() }))
            }
            PartKind::RedactedReasoning | PartKind::Opaque => Slot::Over,
        };
        self.slots.push(slot);
    }

    fn delta(&mut self, index: u32, kind: DeltaKind, text: &str, out: &mut BytesMut) {
        if kind == DeltaKind::Signature || text.is_empty() {
            return;
        }
        let said = match self.slot(index) {
            None | Some(Slot::Over) => return,
            Some(Slot::Call(call)) => {
                call.arguments.push_str(text);
                return;
            }
            Some(Slot::Thinking) => Said { thinking: Some(text), ..Said::default() },
            Some(Slot::Text) => Said { text, ..Said::default() },
        };
        self.begin();
        self.say(said, out);
    }

    /// Writes a call that has ended. `reason` is known at the end of the answer alone.
    fn end_call(&mut self, place: usize, reason: Option<FinishReason>, out: &mut BytesMut) {
        let Some(slot) = self.slots.get_mut(place) else { return };
        let waits = reason.is_none() && matches!(slot, Slot::Call(call) if !arguments::is_whole(&call.arguments));
        if waits {
            return;
        }
        let Slot::Call(call) = std::mem::replace(slot, Slot::Over) else { return };
        self.begin();
        let reason = reason.unwrap_or(FinishReason::ToolCalls);
        let written = Call::new(self.calls, call.id.as_deref(), &call.name, &call.arguments, reason, &self.reply);
        let Some(written) = written else { return };
        self.say(Said { calls: vec![written], ..Said::default() }, out);
        self.calls += 1;
    }

    /// The answer's first word.
    fn begin(&mut self) {
        self.has_lines = true;
        self.times.first.get_or_insert(self.times.now);
    }

    fn say(&self, said: Said<'_>, out: &mut BytesMut) {
        put(&Line::new(self.form, &self.reply.model, self.times.now, said), out);
    }
}

impl StreamWriter for Writer {
    fn at(&mut self, now: Timestamp) {
        self.times.now = now;
    }

    fn push(&mut self, event: &Event, out: &mut BytesMut) {
        match event {
            Event::Started { model, .. } => {
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
            Event::KeepAlive if self.has_lines => self.say(Said::default(), out),
            Event::Failed(_) | Event::KeepAlive => {}
        }
    }

    fn end(&mut self, out: &mut BytesMut) {
        let reason = self.finish.unwrap_or(FinishReason::End);
        for place in 0..self.slots.len() {
            self.end_call(place, Some(reason), out);
        }
        let reason = if self.calls > 0 { reason.with_tool_calls() } else { reason };
        let Course { arrived, first, now } = self.times;
        let first = first.unwrap_or(now);
        let counts = Counts::new(&self.usage, &self.reply, first.since(arrived), now.since(first));
        let line = Line::new(self.form, &self.reply.model, now, Said::default());
        put(&line.done(done_reason(reason), Some(counts)), out);
    }

    fn progress(&self) -> StreamProgress<'_> {
        if self.has_lines { StreamProgress::ContentSent } else { StreamProgress::NothingSent }
    }
}
