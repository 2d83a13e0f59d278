//! Streams of this dialect, written from events.
//!
//! Clients of this dialect take one block at a time: numbered without gaps, never touched again after its stop. Upstreams
//! interleave. So the first open part is told as it comes, and what belongs to later parts waits until it ends; text and
//! reasoning end as soon as another part begins, so that only parallel calls ever wait for each other. The closing words
//! wait for the end of the upstream, because true token counts may follow the finish.

use std::collections::VecDeque;

use bytes::{BufMut, BytesMut};
use domain::{Dialect, Usage};
use serde::Serialize;

use super::answer::ended;
use super::spoken::{CallIds, Counts, carried, estimate, message_id};
use super::wire::stop_word;
use crate::error::StreamProgress;
use crate::event::{DeltaKind, Event, FinishReason, PartKind};
use crate::keep_alive::keep_alive;
use crate::translate::{Reply, StreamWriter};

pub(crate) struct Writer {
    reply: Reply,
    message_id: String,
    is_open: bool,
    /// Parts that have not been told to their end, in order; the first is being told.
    parts: VecDeque<Waiting>,
    /// Kinds of all parts, by their index: text that ended here may go on upstream.
    kinds: Vec<PartKind>,
    calls: CallIds,
    next_block: u32,
    called_tools: bool,
    told: u64,
    usage: Usage,
    finish: Option<FinishReason>,
}

/// A part on its way to the client.
struct Waiting {
    index: u32,
    form: Form,
    /// Its block was started.
    is_told: bool,
    has_ended: bool,
    /// Text, thinking or arguments that were not told yet.
    text: String,
    /// Grows to the end of the part: a proof is told whole.
    signature: String,
}

/// What becomes of a part.
enum Form {
    Text,
    Thinking,
    Redacted,
    Tool {
        id: Option<String>,
        name: String,
    },
    /// Has no words in this dialect.
    Silent,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Told<'a> {
    MessageStart { message: Message<'a> },
    ContentBlockStart { index: u32, content_block: Block<'a> },
    ContentBlockDelta { index: u32, delta: Delta<'a> },
    ContentBlockStop { index: u32 },
    MessageDelta { delta: Closing, usage: Counts },
    MessageStop,
}

#[derive(Serialize)]
struct Message<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    role: &'static str,
    model: &'a str,
    content: [u8; 0],
    stop_reason: Option<&'a str>,
    stop_sequence: Option<&'a str>,
    usage: Counts,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text { text: &'a str },
    Thinking { thinking: &'a str, signature: &'a str },
    RedactedThinking { data: &'a str },
    ToolUse { id: &'a str, name: &'a str, input: Empty },
}

#[derive(Serialize)]
struct Empty {}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Delta<'a> {
    #[serde(rename = "text_delta")]
    Text { text: &'a str },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: &'a str },
    #[serde(rename = "signature_delta")]
    Signature { signature: &'a str },
    #[serde(rename = "input_json_delta")]
    Input { partial_json: &'a str },
}

#[derive(Serialize)]
struct Closing {
    stop_reason: &'static str,
    stop_sequence: Option<&'static str>,
}

impl Told<'_> {
    const fn name(&self) -> &'static str {
        match self {
            Told::MessageStart { .. } => "message_start",
            Told::ContentBlockStart { .. } => "content_block_start",
            Told::ContentBlockDelta { .. } => "content_block_delta",
            Told::ContentBlockStop { .. } => "content_block_stop",
            Told::MessageDelta { .. } => "message_delta",
            Told::MessageStop => "message_stop",
        }
    }
}

impl Writer {
    pub(crate) fn new(reply: Reply) -> Self {
        Writer {
            message_id: message_id(None, &reply),
            reply,
            is_open: false,
            parts: VecDeque::new(),
            kinds: Vec::new(),
            calls: CallIds::default(),
            next_block: 0,
            called_tools: false,
            told: 0,
            usage: Usage::default(),
            finish: None,
        }
    }

    fn open(&mut self, id: Option<&str>, model: Option<&str>, out: &mut BytesMut) {
        if self.is_open {
            return;
        }
        self.is_open = true;
        self.message_id = message_id(id, &self.reply);
        let message = Message {
            id: &self.message_id,
            kind: "message",
            role: "assistant",
            model: model.filter(|model| !model.is_empty()).unwrap_or(&self.reply.model),
            content: [],
            stop_reason: None,
            stop_sequence: None,
            usage: Counts::at_start(&self.usage, &self.reply),
        };
        send(&Told::MessageStart { message }, out);
        out.extend_from_slice(&keep_alive(Dialect::Messages, "", ""));
    }

    fn start(&mut self, index: u32, kind: &PartKind, out: &mut BytesMut) {
        self.kinds.push(kind.clone());
        self.enqueue(index, kind);
        self.advance(out);
    }

    fn enqueue(&mut self, index: u32, kind: &PartKind) {
        if let Some(waiting) = self.parts.back_mut().filter(|waiting| !matches!(waiting.form, Form::Tool { .. })) {
            waiting.has_ended = true;
        }
        let form = match kind {
            PartKind::Text | PartKind::Refusal => Form::Text,
            PartKind::Reasoning => Form::Thinking,
            PartKind::RedactedReasoning => Form::Redacted,
            PartKind::ToolCall { name, .. } if self.reply.ids.format_tool.as_ref() == Some(name) => Form::Text,
            PartKind::ToolCall { id, name } => {
                self.called_tools = true;
                Form::Tool { id: id.clone(), name: name.clone() }
            }
            PartKind::Opaque => Form::Silent,
        };
        let (text, signature) = (String::new(), String::new());
        self.parts.push_back(Waiting { index, form, is_told: false, has_ended: false, text, signature });
    }

    fn more(&mut self, index: u32, kind: DeltaKind, text: &str, out: &mut BytesMut) {
        if text.is_empty() {
            return;
        }
        let is_waiting = |waiting: &&mut Waiting| waiting.index == index && !waiting.has_ended;
        match (self.parts.iter_mut().find(is_waiting), kind) {
            (Some(waiting), DeltaKind::Signature) => waiting.signature.push_str(text),
            (Some(waiting), _) => waiting.text.push_str(text),
            // A proof without its text proves nothing.
            (None, DeltaKind::Signature) => return,
            (None, _) => self.reopen(index, text),
        }
        self.advance(out);
    }

    /// Text that goes on after something else began is a block of its own.
    fn reopen(&mut self, index: u32, text: &str) {
        let kind = usize::try_from(index).ok().and_then(|index| self.kinds.get(index));
        let Some(kind @ (PartKind::Text | PartKind::Refusal | PartKind::Reasoning)) = kind.cloned() else { return };
        self.enqueue(index, &kind);
        if let Some(waiting) = self.parts.back_mut() {
            waiting.text.push_str(text);
        }
    }

    /// Tells as much as can be told.
    fn advance(&mut self, out: &mut BytesMut) {
        while let Some(mut waiting) = self.parts.pop_front() {
            self.tell(&mut waiting, out);
            if !waiting.has_ended {
                self.parts.push_front(waiting);
                return;
            }
            self.stop(&waiting, out);
        }
    }

    fn tell(&mut self, waiting: &mut Waiting, out: &mut BytesMut) {
        if !waiting.is_told && self.begin(waiting, out) {
            waiting.is_told = true;
        }
        if waiting.text.is_empty() {
            return;
        }
        let delta = match waiting.form {
            Form::Text => Delta::Text { text: &waiting.text },
            Form::Thinking => Delta::Thinking { thinking: &waiting.text },
            Form::Tool { .. } => Delta::Input { partial_json: &waiting.text },
            Form::Redacted | Form::Silent => return waiting.text.clear(),
        };
        send(&Told::ContentBlockDelta { index: self.next_block, delta }, out);
        self.told = self.told.saturating_add(u64::try_from(waiting.text.len()).unwrap_or(u64::MAX));
        waiting.text.clear();
    }

    /// Starts the block of a part that has something in it; an empty text would be refused when it comes back.
    fn begin(&mut self, waiting: &Waiting, out: &mut BytesMut) -> bool {
        let id;
        let content_block = match &waiting.form {
            Form::Text if !waiting.text.is_empty() => Block::Text { text: "" },
            Form::Thinking if !waiting.text.is_empty() => Block::Thinking { thinking: "", signature: "" },
            Form::Tool { id: upstream, name } => {
                let place = usize::try_from(waiting.index).unwrap_or(usize::MAX);
                id = self.calls.take(upstream.as_deref(), &self.message_id, place, name);
                Block::ToolUse { id: &id, name: self.reply.ids.name(name), input: Empty {} }
            }
            Form::Text | Form::Thinking | Form::Redacted | Form::Silent => return false,
        };
        send(&Told::ContentBlockStart { index: self.next_block, content_block }, out);
        true
    }

    fn stop(&mut self, waiting: &Waiting, out: &mut BytesMut) {
        let proof = carried(&waiting.signature, &self.reply.ids);
        let index = self.next_block;
        match waiting.form {
            Form::Redacted if !proof.is_empty() => {
                let content_block = Block::RedactedThinking { data: &proof };
                send(&Told::ContentBlockStart { index, content_block }, out);
            }
            Form::Thinking if !proof.is_empty() => {
                if !waiting.is_told {
                    let content_block = Block::Thinking { thinking: "", signature: "" };
                    send(&Told::ContentBlockStart { index, content_block }, out);
                }
                send(&Told::ContentBlockDelta { index, delta: Delta::Signature { signature: &proof } }, out);
            }
            _ if !waiting.is_told => return,
            Form::Text | Form::Thinking | Form::Redacted | Form::Tool { .. } | Form::Silent => {}
        }
        send(&Told::ContentBlockStop { index }, out);
        self.next_block += 1;
    }

    fn end_all(&mut self, out: &mut BytesMut) {
        for waiting in &mut self.parts {
            waiting.has_ended = true;
        }
        self.advance(out);
    }
}

impl StreamWriter for Writer {
    fn push(&mut self, event: &Event, out: &mut BytesMut) {
        match event {
            Event::Started { id, model } => self.open(id.as_deref(), model.as_deref(), out),
            Event::PartStarted { index, kind } => {
                self.open(None, None, out);
                self.start(*index, kind, out);
            }
            Event::Delta { index, kind, text } => self.more(*index, *kind, text, out),
            Event::PartEnded { index } => {
                for waiting in self.parts.iter_mut().filter(|waiting| waiting.index == *index) {
                    waiting.has_ended = true;
                }
                self.advance(out);
            }
            Event::Usage(usage) => self.usage.absorb(usage),
            Event::Finished(reason) => {
                self.finish = self.finish.or(Some(*reason));
                self.end_all(out);
            }
            // The one who drives the stream writes the error, in the shape that `progress` calls for.
            Event::Failed(_) => {}
            Event::KeepAlive => out.extend_from_slice(&keep_alive(Dialect::Messages, "", "")),
        }
    }

    fn end(&mut self, out: &mut BytesMut) {
        self.open(None, None, out);
        self.end_all(out);
        if self.next_block == 0 {
            // Some clients cannot take a message without any block.
            let index = self.next_block;
            send(&Told::ContentBlockStart { index, content_block: Block::Text { text: "" } }, out);
            send(&Told::ContentBlockStop { index }, out);
            self.next_block += 1;
        }
        let reason = ended(self.finish.unwrap_or(FinishReason::End), self.called_tools);
        let delta = Closing { stop_reason: stop_word(reason), stop_sequence: None };
        let usage = Counts::new(&self.usage, &self.reply, estimate(self.told));
        send(&Told::MessageDelta { delta, usage }, out);
        send(&Told::MessageStop, out);
    }

    fn progress(&self) -> StreamProgress<'_> {
        let has_told = self.next_block > 0 || self.parts.front().is_some_and(|waiting| waiting.is_told);
        if has_told { StreamProgress::ContentSent } else { StreamProgress::NothingSent }
    }
}

#[expect(clippy::expect_used, reason = "writing plain structs with string keys into memory has no way to fail")]
fn send(told: &Told<'_>, out: &mut BytesMut) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(told.name().as_bytes());
    out.extend_from_slice(b"\ndata: ");
    serde_json::to_writer(out.writer(), told).expect("plain structs with string keys are always JSON");
    out.extend_from_slice(b"\n\n");
}
