//! One vocabulary for what a stream says, whatever its dialect (architecture, 8).
//!
//! Readers turn frames into events; watchdogs and the hold stage ask [`Event::is_output`] and [`Event::is_progress`]
//! and nothing else. A reader never repairs a stream and never fails on something it does not know: unknown events are
//! counted ([`StreamReader::dropped`]) and passed over. What it does insist on is an end: a stream without a terminal
//! event is reported as failed by [`StreamReader::end`], because a short answer that looks complete is the one fault a
//! client cannot see for itself.

use domain::{Dialect, Usage};

use crate::error::{StreamProgress, UpstreamError};
use crate::framing::Frame;
use crate::{chat, gemini, messages, responses, surrogates};

/// One step of an answer. Part indexes are dense, in order of first appearance, and never reused.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The upstream named its answer. At most once, before anything else that is not [`Event::KeepAlive`].
    Started {
        id: Option<String>,
        model: Option<String>,
    },
    /// A part begins. A tool call begins once, when its name is complete.
    PartStarted {
        index: u32,
        kind: PartKind,
    },
    /// More of an open part. `text` may be empty for reasoning that is hidden but going on.
    Delta {
        index: u32,
        kind: DeltaKind,
        text: String,
    },
    PartEnded {
        index: u32,
    },
    /// Counts so far. Cumulative: combine with [`Usage::absorb`], never add.
    Usage(Usage),
    /// The terminal event of a good stream. Exactly once; usage may still follow.
    Finished(FinishReason),
    /// The upstream reported an error inside the stream, or the stream ended too early.
    Failed(UpstreamError),
    /// A sign of life without content.
    KeepAlive,
}

/// What a part holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartKind {
    Text,
    /// Thinking, in the clear or summarised.
    Reasoning,
    /// Thinking the provider shows only in encrypted form; its data comes as [`DeltaKind::Signature`].
    RedactedReasoning,
    Refusal,
    /// A call the client has to execute. Arguments follow as [`DeltaKind::Arguments`].
    ToolCall {
        id: Option<String>,
        name: String,
    },
    /// Output this crate does not interpret: searches run by the provider, images, executed code.
    Opaque,
}

/// What a delta adds to its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeltaKind {
    Text,
    Reasoning,
    /// Opaque proof that belongs to the part: `signature`, `thoughtSignature`, `encrypted_content`.
    Signature,
    Refusal,
    /// Raw text of tool arguments, usually JSON, cut anywhere.
    Arguments,
}

/// Why an answer ended (gateway specification, 2.10). Failures are [`Event::Failed`] instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    End,
    StopSequence,
    ToolCalls,
    Length,
    ContextFull,
    Filter,
    Paused,
}

/// What of an answer may still come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remainder {
    /// More of the answer itself.
    Answer,
    /// It has ended, each of the answers side by side with a reason; counts and an end marker may follow.
    Counts,
    /// Nothing: the end marker was seen. Gemini has none of its own.
    Nothing,
}

/// Reads the frames of one answer. Sans I/O: frames in, events out.
pub trait StreamReader: Send {
    /// Reads one frame. Comment frames and frames that cannot be read yield no event.
    fn push(&mut self, frame: &Frame, out: &mut Vec<Event>);

    /// The upstream closed. Yields [`Event::Failed`] when no terminal event was seen, of the origin
    /// [`Cut`](crate::error::ErrorOrigin::Cut), or [`Garbled`](crate::error::ErrorOrigin::Garbled) when not one frame could be
    /// read.
    fn end(&mut self, out: &mut Vec<Event>);

    /// Frames passed over because their kind is unknown or they are not JSON.
    fn dropped(&self) -> u32;

    /// A frame was meant to be JSON and is none, however it is mended: a piece of the answer is missing.
    fn is_garbled(&self) -> bool;

    /// What may still come after the frames read so far.
    fn remainder(&self) -> Remainder;

    /// How far a client has come that received every frame read so far: decides the shape of an error written now.
    fn progress(&self) -> StreamProgress<'_>;
}

/// A fresh reader for one answer in `dialect`.
pub fn reader(dialect: Dialect) -> Box<dyn StreamReader + Send> {
    surrogates::joining(match dialect {
        Dialect::Chat => Box::new(chat::stream::Reader::default()),
        Dialect::Responses => Box::new(responses::stream::Reader::default()),
        Dialect::Messages => Box::new(messages::stream::Reader::default()),
        Dialect::Gemini => Box::new(gemini::stream::Reader::default()),
    })
}

impl Event {
    /// Real output: non-empty text or refusal, a tool call, or output of a kind not interpreted here. Reasoning is not
    /// output: an answer of reasoning alone is empty (resilience specification, 17.2).
    pub fn is_output(&self) -> bool {
        match self {
            Event::PartStarted { kind, .. } => match kind {
                PartKind::ToolCall { .. } | PartKind::Opaque => true,
                PartKind::Text | PartKind::Reasoning | PartKind::RedactedReasoning | PartKind::Refusal => false,
            },
            Event::Delta { kind, text, .. } => match kind {
                DeltaKind::Text | DeltaKind::Refusal | DeltaKind::Arguments => !text.is_empty(),
                DeltaKind::Reasoning | DeltaKind::Signature => false,
            },
            Event::Started { .. }
            | Event::PartEnded { .. }
            | Event::Usage(_)
            | Event::Finished(_)
            | Event::Failed(_)
            | Event::KeepAlive => false,
        }
    }

    /// The model is at work: output, or reasoning in any form, also hidden or empty. Life-cycle events, usage and
    /// keep-alives are not progress.
    pub fn is_progress(&self) -> bool {
        match self {
            Event::PartStarted { kind, .. } => match kind {
                PartKind::Reasoning | PartKind::RedactedReasoning => true,
                PartKind::Text | PartKind::Refusal | PartKind::ToolCall { .. } | PartKind::Opaque => self.is_output(),
            },
            Event::Delta { kind: DeltaKind::Reasoning | DeltaKind::Signature, .. } => true,
            Event::Delta { .. }
            | Event::Started { .. }
            | Event::PartEnded { .. }
            | Event::Usage(_)
            | Event::Finished(_)
            | Event::Failed(_)
            | Event::KeepAlive => self.is_output(),
        }
    }
}

impl FinishReason {
    /// Low-cardinality word for logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            FinishReason::End => "end",
            FinishReason::StopSequence => "stop_sequence",
            FinishReason::ToolCalls => "tool_calls",
            FinishReason::Length => "length",
            FinishReason::ContextFull => "context_full",
            FinishReason::Filter => "filter",
            FinishReason::Paused => "paused",
        }
    }

    /// Whether an answer may end like this with nothing in it: something stopped the model before its first word. One that
    /// merely came to its end has said nothing.
    pub const fn explains_emptiness(self) -> bool {
        match self {
            FinishReason::StopSequence
            | FinishReason::Length
            | FinishReason::ContextFull
            | FinishReason::Filter
            | FinishReason::Paused => true,
            FinishReason::End | FinishReason::ToolCalls => false,
        }
    }

    /// The reason to report when the turn holds tool calls: always [`FinishReason::ToolCalls`], except when the answer
    /// was cut off, because cut-off arguments must not be executed.
    pub const fn with_tool_calls(self) -> FinishReason {
        match self {
            FinishReason::Length | FinishReason::ContextFull => self,
            FinishReason::End
            | FinishReason::StopSequence
            | FinishReason::ToolCalls
            | FinishReason::Filter
            | FinishReason::Paused => FinishReason::ToolCalls,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta(kind: DeltaKind, text: &str) -> Event {
        Event::Delta { index: 0, kind, text: text.to_owned() }
    }

    #[test]
    fn reasoning_is_progress_but_not_output() {
        let call = PartKind::ToolCall { id: None, name: "ls".to_owned() };
        for (event, output, progress) in [
            (Event::Started { id: None, model: None }, false, false),
            (Event::KeepAlive, false, false),
            (Event::Usage(Usage::default()), false, false),
            (Event::Finished(FinishReason::End), false, false),
            (Event::PartStarted { index: 0, kind: PartKind::Text }, false, false),
            (Event::PartStarted { index: 0, kind: PartKind::Reasoning }, false, true),
            (Event::PartStarted { index: 0, kind: PartKind::RedactedReasoning }, false, true),
            (Event::PartStarted { index: 0, kind: call }, true, true),
            (Event::PartStarted { index: 0, kind: PartKind::Opaque }, true, true),
            (delta(DeltaKind::Text, ""), false, false),
            (delta(DeltaKind::Text, "a"), true, true),
            (delta(DeltaKind::Refusal, "no"), true, true),
            (delta(DeltaKind::Arguments, "{"), true, true),
            (delta(DeltaKind::Reasoning, ""), false, true),
            (delta(DeltaKind::Reasoning, "hm"), false, true),
            (delta(DeltaKind::Signature, "EqQ="), false, true),
        ] {
            assert_eq!((event.is_output(), event.is_progress()), (output, progress), "{event:?}");
        }
    }

    #[test]
    fn tool_calls_win_over_any_reason_but_a_cut() {
        assert_eq!(FinishReason::End.with_tool_calls(), FinishReason::ToolCalls);
        assert_eq!(FinishReason::Length.with_tool_calls(), FinishReason::Length);
    }
}
