//! Streams of this dialect, written from events.
//!
//! Clients are strict here: every delta belongs to an item that was announced, an item ends before the next begins, and
//! what was streamed comes again, whole, at the end of the item and of the answer. So one item is open at a time. A call
//! that begins while another is open waits with its arguments until that one ends; reasoning and text give way to
//! whatever comes next, and open again if more of them follows.
//!
//! Because all of it is told again at the end, the writer holds the answer's text: once, as it came, whatever it is told in.

use std::collections::VecDeque;

use bytes::{BufMut, BytesMut};
use domain::Usage;
use serde::Serialize;

use crate::error::StreamProgress;
use crate::event::{DeltaKind, Event, FinishReason, PartKind};
use crate::translate::{Reply, StreamWriter};

use super::output::{Item, Kind, Made, Piece, Response, cut_short, response_id, tail};

/// The status of an item that came to its end.
const COMPLETED: &str = "completed";

pub(crate) struct Writer {
    reply: Reply,
    id: String,
    model: String,
    /// Whether the response was announced.
    is_open: bool,
    next_sequence_number: u64,
    current: Option<Open>,
    /// Parts that begin behind it, in order.
    waiting: VecDeque<Open>,
    /// Finished items.
    output: Vec<Made>,
    usage: Usage,
    finish: Option<FinishReason>,
    has_failed: bool,
}

/// A part on its way to the client.
struct Open {
    /// Of the part.
    index: u32,
    made: Made,
    /// Whether its content was announced: reasoning may end without any.
    has_content: bool,
    has_ended: bool,
}

/// Any event of a stream.
#[derive(Serialize)]
struct Frame<T> {
    #[serde(rename = "type")]
    kind: &'static str,
    sequence_number: u64,
    #[serde(flatten)]
    rest: T,
}

#[derive(Serialize)]
struct Whole<'a> {
    response: Response<'a>,
}

#[derive(Serialize)]
struct OfItem<T> {
    output_index: usize,
    item: T,
}

/// Where in an item something happens.
#[derive(Serialize)]
struct At<'a> {
    item_id: &'a str,
    output_index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_index: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary_index: Option<u32>,
    #[serde(flatten)]
    what: What<'a>,
    /// Stands in every event about text.
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<[(); 0]>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum What<'a> {
    Part(Piece<'a>),
    Delta(&'a str),
    Text(&'a str),
    Refusal(&'a str),
    Arguments(&'a str),
    Input(&'a str),
}

impl Writer {
    pub(crate) fn new(reply: Reply) -> Self {
        Writer {
            id: response_id(None, &reply),
            model: reply.model.clone(),
            reply,
            is_open: false,
            next_sequence_number: 0,
            current: None,
            waiting: VecDeque::new(),
            output: Vec::new(),
            usage: Usage::default(),
            finish: None,
            has_failed: false,
        }
    }

    /// Announces the response, the first time.
    fn open(&mut self, out: &mut BytesMut) {
        if self.is_open {
            return;
        }
        self.is_open = true;
        for kind in ["response.created", "response.in_progress"] {
            let response = Response::new(&self.id, &self.model, self.reply.created, None, &[], None);
            frame(kind, &mut self.next_sequence_number, Whole { response }, out);
        }
    }

    fn part_started(&mut self, index: u32, kind: &PartKind, out: &mut BytesMut) {
        // Text is announced with its first word: an item without content would be one message too many.
        if !matches!(kind, PartKind::Text | PartKind::Refusal) {
            self.start(index, kind, out);
        }
    }

    fn start(&mut self, index: u32, kind: &PartKind, out: &mut BytesMut) {
        let at = self.output.len() + usize::from(self.current.is_some()) + self.waiting.len();
        let Some(kind) = Kind::of(kind, &self.reply.ids, || format!("call_{}_{at}", tail(&self.id))) else { return };
        let id = kind.id(&self.id, at, &self.reply.ids);
        let made = Made { kind, id, text: String::new(), signature: String::new() };
        let part = Open { index, made, has_content: false, has_ended: false };
        match &self.current {
            Some(current) if matches!(current.made.kind, Kind::Call { .. }) => self.waiting.push_back(part),
            _ => {
                self.close_current(out);
                self.begin(part, out);
            }
        }
    }

    /// Opens a part, with what it has gathered while it waited.
    fn begin(&mut self, mut part: Open, out: &mut BytesMut) {
        let gathered = std::mem::take(&mut part.made.text);
        let item = part.made.opening(&self.reply.ids);
        let output_index = self.output.len();
        let number = &mut self.next_sequence_number;
        frame("response.output_item.added", number, OfItem { output_index, item }, out);
        self.current = Some(part);
        self.add(&gathered, out);
    }

    fn delta(&mut self, index: u32, kind: DeltaKind, text: &str, out: &mut BytesMut) {
        let is_current = self.current.as_ref().is_some_and(|current| current.index == index);
        if !is_current && !self.waiting.iter().any(|part| part.index == index) {
            let part = match kind {
                DeltaKind::Text => PartKind::Text,
                DeltaKind::Refusal => PartKind::Refusal,
                DeltaKind::Reasoning => PartKind::Reasoning,
                DeltaKind::Signature | DeltaKind::Arguments => return,
            };
            if text.is_empty() {
                return;
            }
            self.start(index, &part, out);
        }
        let current = self.current.as_mut().filter(|current| current.index == index);
        let is_current = current.is_some();
        let Some(part) = current.or_else(|| self.waiting.iter_mut().find(|part| part.index == index)) else { return };
        match (kind, is_current) {
            (DeltaKind::Signature, _) => part.made.signature.push_str(text),
            (_, true) => self.add(text, out),
            (_, false) => part.made.add(text),
        }
    }

    /// Adds to the open part.
    fn add(&mut self, text: &str, out: &mut BytesMut) {
        let output_index = self.output.len();
        let Some(current) = self.current.as_mut().filter(|_| !text.is_empty()) else { return };
        current.made.add(text);
        if !current.made.kind.flows(&self.reply.ids) {
            return;
        }
        // White space alone is no object: what follows decides whether these are arguments at all.
        if matches!(current.made.kind, Kind::Call { .. }) && current.made.text.trim().is_empty() {
            return;
        }
        let number = &mut self.next_sequence_number;
        let is_first = !std::mem::replace(&mut current.has_content, true);
        let text = if is_first { current.made.text.as_str() } else { text };
        let item_id = current.made.id.as_str();
        let at = |content_index, summary_index, what| At {
            item_id,
            output_index,
            content_index,
            summary_index,
            what,
            logprobs: None,
        };
        match &current.made.kind {
            Kind::Reasoning => {
                if is_first {
                    let part = What::Part(Piece::SummaryText { text: "" });
                    frame("response.reasoning_summary_part.added", number, at(None, Some(0), part), out);
                }
                let delta = at(None, Some(0), What::Delta(text));
                frame("response.reasoning_summary_text.delta", number, delta, out);
            }
            Kind::Text | Kind::Refusal => {
                let is_text = current.made.kind == Kind::Text;
                if is_first {
                    let part = What::Part(if is_text {
                        Piece::OutputText { text: "", annotations: [], logprobs: [] }
                    } else {
                        Piece::Refusal { refusal: "" }
                    });
                    frame("response.content_part.added", number, at(Some(0), None, part), out);
                }
                let kind = if is_text { "response.output_text.delta" } else { "response.refusal.delta" };
                let delta = At { logprobs: is_text.then_some([]), ..at(Some(0), None, What::Delta(text)) };
                frame(kind, number, delta, out);
            }
            Kind::Call { .. } => {
                frame("response.function_call_arguments.delta", number, at(None, None, What::Delta(text)), out);
            }
        }
    }

    fn part_ended(&mut self, index: u32, out: &mut BytesMut) {
        if self.current.as_ref().is_some_and(|current| current.index == index) {
            self.close_current(out);
            self.advance(out);
        } else if let Some(part) = self.waiting.iter_mut().find(|part| part.index == index) {
            part.has_ended = true;
        }
    }

    /// Lets those that wait come forward, up to one that goes on.
    fn advance(&mut self, out: &mut BytesMut) {
        while self.current.is_none() {
            let Some(part) = self.waiting.pop_front() else { return };
            let has_ended = part.has_ended;
            self.begin(part, out);
            if has_ended {
                self.close_current(out);
            }
        }
    }

    /// Tells the open item again, whole.
    fn close_current(&mut self, out: &mut BytesMut) {
        let Some(current) = self.current.take() else { return };
        let output_index = self.output.len();
        let number = &mut self.next_sequence_number;
        let made = &current.made;
        let item = made.item(&self.reply.ids, COMPLETED);
        let at = |content_index, summary_index, what| At {
            item_id: &made.id,
            output_index,
            content_index,
            summary_index,
            what,
            logprobs: None,
        };
        match (&item, made.piece()) {
            (Item::Message { .. }, Some(piece)) => {
                let (kind, what) = match made.kind {
                    Kind::Refusal => ("response.refusal.done", What::Refusal(&made.text)),
                    _ => ("response.output_text.done", What::Text(&made.text)),
                };
                let is_text = made.kind == Kind::Text;
                let done = At { logprobs: is_text.then_some([]), ..at(Some(0), None, what) };
                frame(kind, number, done, out);
                frame("response.content_part.done", number, at(Some(0), None, What::Part(piece)), out);
            }
            (Item::Reasoning { .. }, _) if current.has_content => {
                let text = &made.text;
                frame("response.reasoning_summary_text.done", number, at(None, Some(0), What::Text(text)), out);
                let part = What::Part(Piece::SummaryText { text });
                frame("response.reasoning_summary_part.done", number, at(None, Some(0), part), out);
            }
            (Item::FunctionCall { arguments, .. }, _) => {
                if !current.has_content {
                    let delta = at(None, None, What::Delta(arguments));
                    frame("response.function_call_arguments.delta", number, delta, out);
                }
                let done = at(None, None, What::Arguments(arguments));
                frame("response.function_call_arguments.done", number, done, out);
            }
            (Item::CustomToolCall { input, .. }, _) => {
                let delta = at(None, None, What::Delta(input));
                frame("response.custom_tool_call_input.delta", number, delta, out);
                frame("response.custom_tool_call_input.done", number, at(None, None, What::Input(input)), out);
            }
            _ => {}
        }
        frame("response.output_item.done", number, OfItem { output_index, item: &item }, out);
        drop(item);
        let mut made = current.made;
        made.text.shrink_to_fit();
        self.output.push(made);
    }

    fn close_all(&mut self, out: &mut BytesMut) {
        self.close_current(out);
        for part in &mut self.waiting {
            part.has_ended = true;
        }
        self.advance(out);
    }
}

impl StreamWriter for Writer {
    fn push(&mut self, event: &Event, out: &mut BytesMut) {
        if let Event::Started { id, model } = event
            && !self.is_open
        {
            self.id = response_id(id.as_deref(), &self.reply);
            self.model = model.clone().unwrap_or_else(|| self.reply.model.clone());
        }
        match event {
            Event::KeepAlive => {}
            Event::Usage(usage) => self.usage.absorb(usage),
            Event::Failed(_) => self.has_failed = true,
            Event::Finished(reason) => {
                self.open(out);
                self.finish = Some(*reason);
                self.close_all(out);
            }
            _ if self.finish.is_some() || self.has_failed => {}
            Event::Started { .. } => self.open(out),
            Event::PartStarted { index, kind } => {
                self.open(out);
                self.part_started(*index, kind, out);
            }
            Event::Delta { index, kind, text } => {
                self.open(out);
                self.delta(*index, *kind, text, out);
            }
            Event::PartEnded { index } => self.part_ended(*index, out),
        }
    }

    fn end(&mut self, out: &mut BytesMut) {
        if self.has_failed {
            return;
        }
        self.open(out);
        self.close_all(out);
        let finish = self.finish.unwrap_or(FinishReason::End);
        let kind = if cut_short(finish).is_some() { "response.incomplete" } else { "response.completed" };
        let (id, model, created) = (&self.id, &self.model, self.reply.created);
        let output: Vec<_> = self.output.iter().map(|made| made.item(&self.reply.ids, COMPLETED)).collect();
        let response = Response::new(id, model, created, Some(finish), &output, Some(&self.usage));
        frame(kind, &mut self.next_sequence_number, Whole { response }, out);
    }

    fn keeps_answer(&self) -> bool {
        true
    }

    fn progress(&self) -> StreamProgress<'_> {
        if self.is_open {
            StreamProgress::Opened {
                response_id: &self.id,
                model: &self.model,
                created_at: self.reply.created,
                sequence_number: self.next_sequence_number,
            }
        } else {
            StreamProgress::NothingSent
        }
    }
}

/// Writes one event under the next number.
fn frame(kind: &'static str, number: &mut u64, rest: impl Serialize, out: &mut BytesMut) {
    out.put_slice(b"event: ");
    out.put_slice(kind.as_bytes());
    out.put_slice(b"\ndata: ");
    // Plain structs with string keys are always JSON, and memory takes what is written to it.
    let _ = serde_json::to_writer((&mut *out).writer(), &Frame { kind, sequence_number: *number, rest });
    out.put_slice(b"\n\n");
    *number += 1;
}
