//! The parts of Chat answers that are read. Whole answers and stream chunks share one shape: `message` and `delta`.
//! `T` is what is read of what the model says: its text, or only whether there is any.

use domain::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::event::FinishReason;
use crate::lenient::{Amount, Text, Whole, count, some_string};

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub(super) struct Chunk<'a, T = Text<'a>> {
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) model: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) object: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) choices: Option<Vec<Choice<'a, T>>>,
    pub(super) usage: Option<TokenCounts>,
    /// Groq repeats usage here.
    pub(super) x_groq: Option<Groq>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    pub(super) base_resp: Option<BaseResponse>,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub(super) struct Choice<'a, T = Text<'a>> {
    pub(super) index: Option<Whole>,
    #[serde(borrow)]
    pub(super) delta: Option<Message<'a, T>>,
    #[serde(borrow)]
    pub(super) message: Option<Message<'a, T>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Text<'a>>,
    /// OpenRouter reports a failing provider here.
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub(super) struct Message<'a, T = Text<'a>> {
    pub(super) content: Option<T>,
    pub(super) reasoning_content: Option<T>,
    pub(super) reasoning: Option<T>,
    #[serde(borrow)]
    pub(super) reasoning_details: Option<Vec<ReasoningDetail<'a>>>,
    pub(super) refusal: Option<T>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<ToolCall<'a>>>,
    #[serde(borrow)]
    pub(super) function_call: Option<Function<'a>>,
    #[serde(borrow)]
    pub(super) audio: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) images: Option<&'a RawValue>,
}

/// OpenRouter's structured reasoning: text, summary or encrypted data.
#[derive(Debug, Deserialize)]
pub(super) struct ReasoningDetail<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) summary: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) data: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ToolCall<'a> {
    pub(super) index: Option<Whole>,
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) function: Option<Function<'a>>,
    #[serde(borrow)]
    pub(super) custom: Option<Custom<'a>>,
    #[serde(borrow)]
    extra_content: Option<&'a RawValue>,
}

impl ToolCall<'_> {
    /// Google's proof of the call, which its own Chat endpoint sends.
    pub(super) fn thought_signature(&self) -> Option<String> {
        thought_signature(self.extra_content?)
    }
}

/// `google.thought_signature` of `extra_content`.
pub(super) fn thought_signature(extra_content: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct ExtraContent<'a> {
        #[serde(borrow)]
        google: Option<Google<'a>>,
    }
    #[derive(Deserialize)]
    struct Google<'a> {
        #[serde(borrow)]
        thought_signature: Option<Text<'a>>,
    }
    let extra: ExtraContent<'_> = serde_json::from_str(extra_content.get()).ok()?;
    some_string(&extra.google?.thought_signature)
}

#[derive(Debug, Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    /// A string by rule, an object with some servers.
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Custom<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Groq {
    pub(super) usage: Option<TokenCounts>,
}

/// MiniMax: a status of its own inside a 200.
#[derive(Debug, Deserialize)]
pub(super) struct BaseResponse {
    pub(super) status_code: Option<Whole>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct TokenCounts {
    prompt_tokens: Option<Whole>,
    completion_tokens: Option<Whole>,
    total_tokens: Option<Whole>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek.
    prompt_cache_hit_tokens: Option<Whole>,
    /// Moonshot.
    cached_tokens: Option<Whole>,
    /// OpenRouter, in US dollars.
    cost: Option<Amount>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct PromptDetails {
    cached_tokens: Option<Whole>,
    /// OpenRouter.
    cache_write_tokens: Option<Whole>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<Whole>,
}

impl<T> Chunk<'_, T> {
    /// Whether this is an error object and no answer.
    pub(super) fn is_error(&self) -> bool {
        let states_error =
            self.error.is_some() || self.object.as_ref().is_some_and(|object| object.as_str() == "error");
        states_error
            || self.base_resp.as_ref().and_then(|base| count(base.status_code)).is_some_and(|status| status != 0)
    }

    /// Whether this is JSON that has nothing of a chunk.
    pub(super) fn is_foreign(&self) -> bool {
        let has_name = self.id.is_some() || self.object.is_some();
        !has_name && self.choices.is_none() && self.usage.is_none() && self.x_groq.is_none()
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        let counts = self.usage.or(self.x_groq.and_then(|groq| groq.usage))?;
        Some(counts.usage()).filter(|usage| *usage != Usage::default())
    }
}

impl TokenCounts {
    pub(super) fn usage(self) -> Usage {
        let details = self.prompt_tokens_details;
        let cache_read = details
            .and_then(|details| count(details.cached_tokens))
            .or(count(self.prompt_cache_hit_tokens))
            .or(count(self.cached_tokens));
        let cache_write = details.and_then(|details| count(details.cache_write_tokens));
        let reasoning = self.completion_tokens_details.and_then(|details| count(details.reasoning_tokens));
        let (prompt, completion) = (count(self.prompt_tokens), count(self.completion_tokens));
        // Some providers count reasoning beside the completion, which only the total gives away.
        let beside = prompt.zip(completion).zip(reasoning).is_some_and(|((prompt, completion), reasoning)| {
            reasoning > 0 && count(self.total_tokens) == Some(prompt + completion + reasoning)
        });
        Usage {
            input_fresh: prompt.map(|prompt| fresh(prompt, cache_read.unwrap_or(0), cache_write.unwrap_or(0))),
            cache_read,
            cache_write,
            output: if beside { completion.zip(reasoning).map(|(left, right)| left + right) } else { completion },
            reasoning,
            provider_cost: self.cost.and_then(|cost| cost.0),
            estimated: false,
        }
    }
}

/// The prompt without its cached parts, as far as the provider counted them in.
fn fresh(prompt: u64, read: u64, write: u64) -> u64 {
    let without_read = prompt.checked_sub(read).unwrap_or(prompt);
    without_read.checked_sub(write).unwrap_or(without_read)
}

/// The text of tool arguments: a string's content, any other value as it is written.
pub(super) fn arguments_text(raw: &RawValue) -> Text<'_> {
    let raw = raw.get();
    match raw.as_bytes().first() {
        Some(b'"') => serde_json::from_str(raw).unwrap_or_default(),
        _ if raw == "null" => Text::default(),
        _ => Text(raw.into()),
    }
}

/// What `finish_reason` says; `Err` for the values that mean failure. Unknown values mean a plain end.
pub(super) fn finish_reason(value: &str) -> Result<FinishReason, &str> {
    match value {
        "tool_calls" | "function_call" => Ok(FinishReason::ToolCalls),
        "length" | "max_output_tokens" | "max_tokens" => Ok(FinishReason::Length),
        "content_filter" => Ok(FinishReason::Filter),
        "insufficient_system_resource" | "error" | "network_error" => Err(value),
        _ => Ok(FinishReason::End),
    }
}
