//! The shapes of a request that are read. Whatever is free or comes in several forms stays raw until it is looked at.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::lenient::{Amount, Content, Text};

#[derive(Deserialize)]
pub(super) struct Body<'a> {
    #[serde(borrow)]
    pub(super) model: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) messages: Option<Vec<Message<'a>>>,
    #[serde(borrow)]
    pub(super) tools: Option<&'a RawValue>,
    /// Legacy.
    #[serde(borrow)]
    pub(super) functions: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) web_search_options: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_choice: Option<&'a RawValue>,
    /// Legacy.
    #[serde(borrow)]
    pub(super) function_call: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) parallel_tool_calls: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) stream: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) stream_options: Option<&'a RawValue>,
    pub(super) temperature: Option<Amount>,
    pub(super) top_p: Option<Amount>,
    pub(super) top_k: Option<Amount>,
    pub(super) seed: Option<Amount>,
    pub(super) frequency_penalty: Option<Amount>,
    pub(super) presence_penalty: Option<Amount>,
    #[serde(borrow)]
    pub(super) stop: Option<&'a RawValue>,
    pub(super) n: Option<Amount>,
    #[serde(borrow)]
    pub(super) logprobs: Option<Text<'a>>,
    pub(super) top_logprobs: Option<Amount>,
    #[serde(borrow)]
    pub(super) logit_bias: Option<&'a RawValue>,
    pub(super) max_tokens: Option<Amount>,
    pub(super) max_completion_tokens: Option<Amount>,
    #[serde(borrow)]
    pub(super) reasoning_effort: Option<Text<'a>>,
    /// OpenRouter.
    #[serde(borrow)]
    pub(super) reasoning: Option<&'a RawValue>,
    /// DeepSeek, GLM, Kimi.
    #[serde(borrow)]
    pub(super) thinking: Option<&'a RawValue>,
    /// Qwen.
    #[serde(borrow)]
    pub(super) enable_thinking: Option<Text<'a>>,
    pub(super) thinking_budget: Option<Amount>,
    /// vLLM, SGLang.
    #[serde(borrow)]
    pub(super) chat_template_kwargs: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) response_format: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) verbosity: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) user: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) safety_identifier: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) prompt_cache_key: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) service_tier: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) store: Option<Text<'a>>,
    #[serde(flatten)]
    pub(super) rest: BTreeMap<String, IgnoredAny>,
}

/// A switch, whatever it is written as.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(from = "Text<'_>")]
pub(super) struct Flag(pub(super) Option<bool>);

impl From<Text<'_>> for Flag {
    fn from(text: Text<'_>) -> Flag {
        Flag(match text.as_str() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        })
    }
}

#[derive(Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) role: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
    /// Legacy: whose result this is.
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) tool_call_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<Call<'a>>>,
    #[serde(borrow)]
    pub(super) function_call: Option<Function<'a>>,
    #[serde(borrow)]
    pub(super) refusal: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) reasoning_content: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) reasoning: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) reasoning_details: Option<Vec<ReasoningDetail<'a>>>,
    #[serde(borrow)]
    pub(super) cache_control: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Call<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) function: Option<Function<'a>>,
    #[serde(borrow)]
    pub(super) custom: Option<Custom<'a>>,
    #[serde(borrow)]
    pub(super) extra_content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Custom<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) input: Option<Text<'a>>,
}

#[derive(Deserialize)]
pub(super) struct ReasoningDetail<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) summary: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) data: Option<Text<'a>>,
    /// OpenRouter: the maker, such as `anthropic-claude-v1`.
    #[serde(borrow)]
    pub(super) format: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
}

/// One part of a content list.
#[derive(Deserialize)]
pub(super) struct ContentPart<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) refusal: Option<Text<'a>>,
    /// An object by rule, a string with some clients.
    #[serde(borrow)]
    pub(super) image_url: Option<&'a RawValue>,
    /// Beside a string `image_url`, as Responses has it.
    #[serde(borrow)]
    pub(super) detail: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) file: Option<File<'a>>,
    #[serde(borrow)]
    pub(super) input_audio: Option<Audio<'a>>,
    #[serde(borrow)]
    pub(super) cache_control: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct ImageUrl<'a> {
    #[serde(borrow)]
    pub(super) url: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) detail: Option<Text<'a>>,
}

#[derive(Deserialize)]
pub(super) struct File<'a> {
    #[serde(borrow)]
    pub(super) file_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) filename: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) file_data: Option<Text<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Audio<'a> {
    #[serde(borrow)]
    pub(super) data: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) format: Option<Text<'a>>,
}

#[derive(Deserialize)]
pub(super) struct CacheControl<'a> {
    #[serde(borrow)]
    pub(super) ttl: Option<Text<'a>>,
}
