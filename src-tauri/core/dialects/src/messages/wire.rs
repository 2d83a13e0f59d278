//! The parts of Messages events and answers that are read.

use domain::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::event::{FinishReason, PartKind};
use crate::lenient::{Text, Whole, count, some_string, str_of};

/// Any event of a stream.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    pub(super) index: Option<Whole>,
    #[serde(borrow)]
    pub(super) message: Option<Message<'a>>,
    #[serde(borrow)]
    pub(super) content_block: Option<Block<'a>>,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    pub(super) usage: Option<TokenCounts>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// A whole answer; in `message_start` one without content.
#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) model: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) content: Option<Vec<Block<'a>>>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<Text<'a>>,
    pub(super) usage: Option<TokenCounts>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) data: Option<Text<'a>>,
}

/// The delta of a block, or of the message.
#[derive(Debug, Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) partial_json: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<Text<'a>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct TokenCounts {
    input_tokens: Option<Whole>,
    cache_read_input_tokens: Option<Whole>,
    cache_creation_input_tokens: Option<Whole>,
    output_tokens: Option<Whole>,
}

impl Block<'_> {
    pub(super) fn part_kind(&self) -> PartKind {
        match str_of(&self.kind) {
            "text" => PartKind::Text,
            "thinking" => PartKind::Reasoning,
            "redacted_thinking" => PartKind::RedactedReasoning,
            "tool_use" => PartKind::ToolCall { id: some_string(&self.id), name: str_of(&self.name).to_owned() },
            _ => PartKind::Opaque,
        }
    }

    /// Arguments that came complete with the block's start.
    pub(super) fn whole_input(&self) -> Option<&str> {
        self.input.map(RawValue::get).filter(|input| !matches!(*input, "{}" | "null" | "\"\""))
    }
}

impl TokenCounts {
    pub(super) fn usage(self) -> Usage {
        Usage {
            input_fresh: count(self.input_tokens),
            cache_read: count(self.cache_read_input_tokens),
            cache_write: count(self.cache_creation_input_tokens),
            output: count(self.output_tokens),
            ..Usage::default()
        }
    }
}

/// The word for a reason.
pub(super) const fn stop_word(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::End => "end_turn",
        FinishReason::StopSequence => "stop_sequence",
        FinishReason::ToolCalls => "tool_use",
        FinishReason::Length => "max_tokens",
        FinishReason::ContextFull => "model_context_window_exceeded",
        FinishReason::Filter => "refusal",
        FinishReason::Paused => "pause_turn",
    }
}

/// What `stop_reason` says. Unknown values mean a plain end.
pub(super) fn stop_reason(value: &str) -> FinishReason {
    match value {
        "stop_sequence" => FinishReason::StopSequence,
        "tool_use" => FinishReason::ToolCalls,
        "max_tokens" => FinishReason::Length,
        "model_context_window_exceeded" => FinishReason::ContextFull,
        "refusal" => FinishReason::Filter,
        "pause_turn" => FinishReason::Paused,
        _ => FinishReason::End,
    }
}
