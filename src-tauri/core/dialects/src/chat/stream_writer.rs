//! Streams of this dialect, written from events (gateway specification, 2.13).
//!
//! The dialect has no boundaries of parts, so text and reasoning pass as they come, and calls may interleave: each piece
//! says which call it belongs to. Only what the client can use whole is kept back until its part ends: free-text
//! arguments that come wrapped in JSON, and proofs.

use bytes::{BufMut, BytesMut};
use domain::Usage;
use serde::Serialize;

use super::written::{Call, Custom, Function, Meaning, ReasoningDetail, TokenCounts};
use super::written::{answer_id, call_id, call_proof, finish_word, meaning, proof, whole_call};
use crate::error::{StreamProgress, to_json};
use crate::event::{DeltaKind, Event, FinishReason, PartKind};
use crate::translate::{Reply, StreamWriter};

#[derive(Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: &'a [Choice<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<TokenCounts>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    delta: Delta<'a>,
    /// Always there, null until the end: SDKs read it.
    finish_reason: Option<&'static str>,
}

#[derive(Default, Serialize)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_details: Option<[ReasoningDetail<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<[Call<'a>; 1]>,
}

pub(crate) struct Writer {
    head: Head,
    parts: Vec<Part>,
    calls: usize,
    usage: Usage,
    state: State,
    has_content: bool,
}

/// What is the same in every chunk.
struct Head {
    reply: Reply,
    id: String,
    model: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Fresh,
    Open,
    Finished,
    /// Failed, or ended: nothing more is written.
    Over,
}

/// A part that has begun.
struct Part {
    kind: Kind,
    signature: String,
    is_open: bool,
}

enum Kind {
    Text,
    Reasoning {
        is_redacted: bool,
    },
    Refusal,
    /// Number among the calls, and whether it has arguments.
    Function {
        number: usize,
        has_arguments: bool,
    },
    Custom {
        number: usize,
        id: String,
        name: String,
        arguments: String,
    },
    Opaque,
}

impl Writer {
    pub(crate) fn new(reply: Reply) -> Self {
        Writer {
            head: Head { id: answer_id(None, &reply), model: reply.model.clone(), reply },
            parts: Vec::new(),
            calls: 0,
            usage: Usage::default(),
            state: State::Fresh,
            has_content: false,
        }
    }
}

impl StreamWriter for Writer {
    fn push(&mut self, event: &Event, out: &mut BytesMut) {
        match (event, self.state) {
            (Event::Usage(usage), _) => self.usage.absorb(usage),
            (_, State::Finished | State::Over) | (Event::KeepAlive, State::Fresh) => return,
            (Event::Failed(_), _) => self.state = State::Over,
            (Event::Started { id, model }, State::Fresh) => {
                self.head.id = answer_id(id.as_deref(), &self.head.reply);
                if let Some(model) = model {
                    self.head.model.clone_from(model);
                }
                self.open(out);
            }
            (Event::Started { .. }, State::Open) => {}
            (Event::KeepAlive, State::Open) => self.head.delta(Delta::default(), out),
            (Event::PartStarted { kind, .. }, _) => {
                self.open(out);
                self.start(kind, out);
            }
            (Event::Delta { index, kind, text }, _) => {
                if let Some(part) = usize::try_from(*index).ok().and_then(|index| self.parts.get_mut(index)) {
                    part.take(*kind, text, &self.head, out);
                }
            }
            (Event::PartEnded { index }, _) => {
                if let Some(part) = usize::try_from(*index).ok().and_then(|index| self.parts.get_mut(index)) {
                    part.finish(&self.head, out);
                }
            }
            (Event::Finished(reason), _) => self.finish(*reason, out),
        }
        self.has_content |= event.is_progress();
    }

    fn end(&mut self, out: &mut BytesMut) {
        if self.state != State::Finished {
            return;
        }
        self.state = State::Over;
        if self.head.reply.wants_usage_chunk {
            self.head.chunk(&[], Some(TokenCounts::new(&self.usage, &self.head.reply)), out);
        }
        out.put_slice(b"data: [DONE]\n\n");
    }

    fn progress(&self) -> StreamProgress<'_> {
        if self.has_content { StreamProgress::ContentSent } else { StreamProgress::NothingSent }
    }
}

impl Writer {
    fn open(&mut self, out: &mut BytesMut) {
        if self.state == State::Fresh {
            self.state = State::Open;
            self.head.delta(Delta { role: Some("assistant"), content: Some(""), ..Delta::default() }, out);
        }
    }

    fn start(&mut self, kind: &PartKind, out: &mut BytesMut) {
        let kind = match kind {
            PartKind::Text => Kind::Text,
            PartKind::Reasoning => Kind::Reasoning { is_redacted: false },
            PartKind::RedactedReasoning => Kind::Reasoning { is_redacted: true },
            PartKind::Refusal => Kind::Refusal,
            PartKind::Opaque => Kind::Opaque,
            PartKind::ToolCall { id, name } => self.start_call(id.as_deref(), name, out),
        };
        self.parts.push(Part { kind, signature: String::new(), is_open: true });
    }

    fn start_call(&mut self, id: Option<&str>, name: &str, out: &mut BytesMut) -> Kind {
        let meaning = meaning(name, &self.head.reply);
        if meaning == Meaning::Format {
            return Kind::Text;
        }
        let number = self.calls;
        self.calls += 1;
        let id = call_id(id, number, name, &self.head.reply);
        if meaning == Meaning::Custom {
            return Kind::Custom { number, id: id.into_owned(), name: name.to_owned(), arguments: String::new() };
        }
        let function = Function { name: Some(self.head.reply.ids.name(name)), arguments: "".into() };
        let call = Call { id: Some(id), kind: Some("function"), function: Some(function), ..Call::default() };
        self.head.call(number, call, out);
        Kind::Function { number, has_arguments: false }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut BytesMut) {
        self.open(out);
        for part in &mut self.parts {
            part.finish(&self.head, out);
        }
        let finish_reason = Some(finish_word(reason, self.calls > 0));
        self.head.chunk(&[Choice { index: 0, delta: Delta::default(), finish_reason }], None, out);
        self.state = State::Finished;
    }
}

impl Part {
    fn take(&mut self, kind: DeltaKind, text: &str, head: &Head, out: &mut BytesMut) {
        if !self.is_open || text.is_empty() {
            return;
        }
        if kind == DeltaKind::Signature {
            self.signature.push_str(text);
            return;
        }
        let delta = match &mut self.kind {
            Kind::Text => Delta { content: Some(text), ..Delta::default() },
            Kind::Reasoning { .. } => Delta { reasoning_content: Some(text), ..Delta::default() },
            Kind::Refusal => Delta { refusal: Some(text), ..Delta::default() },
            Kind::Function { number, has_arguments } => {
                *has_arguments = true;
                return head.arguments(*number, text, out);
            }
            Kind::Custom { arguments, .. } => return arguments.push_str(text),
            Kind::Opaque => return,
        };
        head.delta(delta, out);
    }

    fn finish(&mut self, head: &Head, out: &mut BytesMut) {
        if !std::mem::replace(&mut self.is_open, false) {
            return;
        }
        match &self.kind {
            Kind::Text | Kind::Refusal | Kind::Opaque => {}
            Kind::Reasoning { is_redacted } => {
                if let Some(proof) = proof(&self.signature, *is_redacted, &head.reply) {
                    head.delta(Delta { reasoning_details: Some([proof]), ..Delta::default() }, out);
                }
            }
            Kind::Function { number, has_arguments } => {
                if !has_arguments {
                    // Clients parse it, and nothing is no JSON.
                    head.arguments(*number, "{}", out);
                }
                if let Some(proof) = call_proof(&self.signature, &head.reply) {
                    let function = Some(Function { name: None, arguments: "".into() });
                    head.call(*number, Call { function, extra_content: Some(proof), ..Call::default() }, out);
                }
            }
            Kind::Custom { number, id, name, arguments } => {
                let mut call = whole_call(id.into(), name, arguments, &self.signature, &head.reply);
                let input = call.custom.as_mut().map(|custom| std::mem::take(&mut custom.input));
                head.call(*number, call, out);
                let custom = input.map(|input| Custom { name: None, input });
                head.call(*number, Call { custom, ..Call::default() }, out);
            }
        }
    }
}

impl Head {
    fn arguments(&self, number: usize, text: &str, out: &mut BytesMut) {
        let function = Some(Function { name: None, arguments: text.into() });
        self.call(number, Call { function, ..Call::default() }, out);
    }

    fn call(&self, number: usize, call: Call<'_>, out: &mut BytesMut) {
        let call = Call { index: Some(number), ..call };
        self.delta(Delta { tool_calls: Some([call]), ..Delta::default() }, out);
    }

    fn delta(&self, delta: Delta<'_>, out: &mut BytesMut) {
        self.chunk(&[Choice { index: 0, delta, finish_reason: None }], None, out);
    }

    fn chunk(&self, choices: &[Choice<'_>], usage: Option<TokenCounts>, out: &mut BytesMut) {
        let chunk = Chunk {
            id: &self.id,
            object: "chat.completion.chunk",
            created: self.reply.created,
            model: &self.model,
            choices,
            usage,
        };
        out.put_slice(b"data: ");
        out.put_slice(&to_json(&chunk));
        out.put_slice(b"\n\n");
    }
}
