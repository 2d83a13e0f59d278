//! The parts of Responses events and answers that are read.

use domain::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::event::FinishReason;
use crate::lenient::{Text, Whole, count, str_of};

/// Any event of a stream: the fields of all kinds, of which each has a few.
#[derive(Debug, Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    pub(super) sequence_number: Option<Whole>,
    pub(super) output_index: Option<Whole>,
    pub(super) content_index: Option<Whole>,
    #[serde(borrow)]
    pub(super) item_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) delta: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) refusal: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) arguments: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) input: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) item: Option<Item<'a>>,
    #[serde(borrow)]
    pub(super) response: Option<Response<'a>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Response<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) model: Option<Text<'a>>,
    pub(super) created_at: Option<Whole>,
    #[serde(borrow)]
    pub(super) status: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) output: Option<Vec<Item<'a>>>,
    pub(super) usage: Option<TokenCounts>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) incomplete_details: Option<IncompleteDetails<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct IncompleteDetails<'a> {
    #[serde(borrow)]
    reason: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Item<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) call_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) arguments: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) input: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) content: Option<Vec<Content<'a>>>,
    #[serde(borrow)]
    pub(super) summary: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) encrypted_content: Option<Text<'a>>,
    /// `local_shell_call`: what to run.
    #[serde(borrow)]
    pub(super) action: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Content<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) refusal: Option<Text<'a>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct TokenCounts {
    input_tokens: Option<Whole>,
    input_tokens_details: Option<InputDetails>,
    output_tokens: Option<Whole>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct InputDetails {
    cached_tokens: Option<Whole>,
    cache_write_tokens: Option<Whole>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct OutputDetails {
    reasoning_tokens: Option<Whole>,
}

/// What an output item is to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    Message,
    Reasoning,
    /// A call the client has to execute.
    Call,
    Opaque,
}

impl Item<'_> {
    pub(super) fn kind(&self) -> ItemKind {
        match str_of(&self.kind) {
            "message" => ItemKind::Message,
            "reasoning" => ItemKind::Reasoning,
            "function_call" | "custom_tool_call" | "local_shell_call" | "shell_call" | "apply_patch_call"
            | "computer_call" => ItemKind::Call,
            _ => ItemKind::Opaque,
        }
    }

    /// The name of the tool called; built-in tools are called by their item's type.
    pub(super) fn tool_name(&self) -> String {
        let name = str_of(&self.name);
        let kind = str_of(&self.kind);
        if name.is_empty() { kind.strip_suffix("_call").unwrap_or(kind).to_owned() } else { name.to_owned() }
    }

    /// Everything a call passes to its tool.
    pub(super) fn call_text(&self) -> &str {
        let texts = [&self.arguments, &self.input].map(str_of);
        let text = texts.into_iter().find(|text| !text.is_empty());
        text.or(self.action.map(RawValue::get)).unwrap_or_default()
    }
}

impl Response<'_> {
    /// How an answer ended that did not fail.
    pub(super) fn finish(&self) -> FinishReason {
        let reason = self.incomplete_details.as_ref().map_or("", |details| str_of(&details.reason));
        match reason {
            "max_output_tokens" => FinishReason::Length,
            "content_filter" => FinishReason::Filter,
            _ => FinishReason::End,
        }
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        self.usage.map(TokenCounts::usage)
    }
}

impl TokenCounts {
    fn usage(self) -> Usage {
        let cache_read = self.input_tokens_details.and_then(|details| count(details.cached_tokens));
        let cache_write = self.input_tokens_details.and_then(|details| count(details.cache_write_tokens));
        let cached = cache_read.unwrap_or(0).saturating_add(cache_write.unwrap_or(0));
        let input = count(self.input_tokens);
        Usage {
            input_fresh: input.map(|input| input.checked_sub(cached).unwrap_or(input)),
            cache_read,
            cache_write,
            output: count(self.output_tokens),
            reasoning: self.output_tokens_details.and_then(|details| count(details.reasoning_tokens)),
            ..Usage::default()
        }
    }
}
