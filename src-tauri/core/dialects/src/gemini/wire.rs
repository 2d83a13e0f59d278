//! The parts of Gemini answers that are read. Stream chunks and whole answers have one shape; Cloud Code wraps it once
//! more.

use domain::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::event::FinishReason;
use crate::lenient::{Text, Whole, count, some_string, str_of};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer<'a> {
    /// Cloud Code puts the answer in here.
    #[serde(borrow)]
    pub(super) response: Option<Box<Answer<'a>>>,
    #[serde(borrow)]
    pub(super) candidates: Option<Vec<Candidate<'a>>>,
    #[serde(borrow)]
    pub(super) prompt_feedback: Option<PromptFeedback<'a>>,
    pub(super) usage_metadata: Option<TokenCounts>,
    #[serde(borrow)]
    pub(super) model_version: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) response_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptFeedback<'a> {
    #[serde(borrow)]
    pub(super) block_reason: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    pub(super) index: Option<Whole>,
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) finish_message: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Content<'a> {
    #[serde(borrow)]
    pub(super) parts: Option<Vec<Part<'a>>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    pub(super) thought: Option<bool>,
    #[serde(borrow)]
    pub(super) thought_signature: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) function_call: Option<FunctionCall<'a>>,
    #[serde(borrow)]
    pub(super) inline_data: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) file_data: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) executable_code: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) code_execution_result: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FunctionCall<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) args: Option<&'a RawValue>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TokenCounts {
    prompt_token_count: Option<Whole>,
    tool_use_prompt_token_count: Option<Whole>,
    cached_content_token_count: Option<Whole>,
    candidates_token_count: Option<Whole>,
    thoughts_token_count: Option<Whole>,
}

impl<'a> Answer<'a> {
    /// The answer itself, unwrapped.
    pub(super) fn inner(&self) -> &Answer<'a> {
        self.response.as_deref().unwrap_or(self)
    }

    /// Whether this is JSON that has nothing of an answer.
    pub(super) fn is_foreign(&self) -> bool {
        let has_name = self.response_id.is_some() || self.model_version.is_some();
        let has_content = self.candidates.is_some() || self.prompt_feedback.is_some() || self.usage_metadata.is_some();
        !has_name && !has_content
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.prompt_feedback.as_ref().is_some_and(|feedback| !str_of(&feedback.block_reason).is_empty())
    }

    pub(super) fn model(&self) -> Option<String> {
        some_string(&self.model_version)
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        self.usage_metadata.map(TokenCounts::usage).filter(|usage| *usage != Usage::default())
    }
}

impl Part<'_> {
    pub(super) fn is_thought(&self) -> bool {
        self.thought == Some(true)
    }

    pub(super) fn is_opaque(&self) -> bool {
        self.inline_data.or(self.file_data).or(self.executable_code).or(self.code_execution_result).is_some()
    }
}

impl FunctionCall<'_> {
    pub(super) fn arguments(&self) -> &str {
        self.args.map_or("{}", |args| if args.get() == "null" { "{}" } else { args.get() })
    }
}

impl TokenCounts {
    fn usage(self) -> Usage {
        let sum = |left: Option<u64>, right: Option<u64>| match (left, right) {
            (None, None) => None,
            (left, right) => Some(left.unwrap_or(0) + right.unwrap_or(0)),
        };
        let cache_read = count(self.cached_content_token_count);
        let input = sum(count(self.prompt_token_count), count(self.tool_use_prompt_token_count));
        let reasoning = count(self.thoughts_token_count);
        Usage {
            input_fresh: input.map(|input| input.checked_sub(cache_read.unwrap_or(0)).unwrap_or(input)),
            cache_read,
            output: sum(count(self.candidates_token_count), reasoning),
            reasoning,
            ..Usage::default()
        }
    }
}

/// What `finishReason` says: `None` when nothing, `Err` for the values that mean a broken call. Unknown values mean a
/// plain end.
pub(super) fn finish_reason(value: &str) -> Option<Result<FinishReason, &str>> {
    Some(match value {
        "" | "FINISH_REASON_UNSPECIFIED" => return None,
        "MAX_TOKENS" => Ok(FinishReason::Length),
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY" => {
            Ok(FinishReason::Filter)
        }
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" => Err(value),
        _ => Ok(FinishReason::End),
    })
}
