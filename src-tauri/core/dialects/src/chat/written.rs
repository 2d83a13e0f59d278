//! What answers of this dialect are written in, whole or streamed.

use std::borrow::Cow;

use domain::{Dialect, Usage};
use serde::Serialize;

use crate::canonical::ids::minted;
use crate::canonical::reasoning::seal;
use crate::canonical::tools::native_arguments;
use crate::canonical::{Origin, ToolKind};
use crate::event::FinishReason;
use crate::translate::Reply;

#[derive(Serialize)]
pub(super) struct TokenCounts {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Serialize)]
struct PromptDetails {
    cached_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_write_tokens: Option<u64>,
}

#[derive(Serialize)]
struct CompletionDetails {
    reasoning_tokens: u64,
}

impl TokenCounts {
    /// What is not known of the prompt is estimated: clients size their context by it.
    pub(super) fn new(usage: &Usage, reply: &Reply) -> TokenCounts {
        let prompt_tokens = usage.input().unwrap_or(reply.estimated_input);
        let completion_tokens = usage.output.unwrap_or_default();
        let cached = usage.cache_read.or(usage.cache_write.map(|_| 0));
        TokenCounts {
            prompt_tokens,
            completion_tokens,
            total_tokens: prompt_tokens.saturating_add(completion_tokens),
            prompt_tokens_details: cached
                .map(|cached_tokens| PromptDetails { cached_tokens, cache_write_tokens: usage.cache_write }),
            completion_tokens_details: usage.reasoning.map(|reasoning_tokens| CompletionDetails { reasoning_tokens }),
        }
    }
}

/// A tool call, or in a stream a piece of one: later pieces have the index and what they add.
#[derive(Default, Serialize)]
pub(super) struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) function: Option<Function<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) custom: Option<Custom<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extra_content: Option<ExtraContent<'a>>,
}

#[derive(Serialize)]
pub(super) struct Function<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<&'a str>,
    pub(super) arguments: Cow<'a, str>,
}

#[derive(Serialize)]
pub(super) struct Custom<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<&'a str>,
    pub(super) input: Cow<'a, str>,
}

/// Google's own words for the proof of a call, which its clients bring back.
#[derive(Serialize)]
pub(super) struct ExtraContent<'a> {
    google: Google<'a>,
}

#[derive(Serialize)]
struct Google<'a> {
    thought_signature: &'a str,
}

/// Proof of reasoning, in the words of OpenRouter's clients, which bring it back.
#[derive(Serialize)]
#[serde(tag = "type")]
pub(super) enum ReasoningDetail<'a> {
    #[serde(rename = "reasoning.text")]
    Signed { signature: Cow<'a, str> },
    #[serde(rename = "reasoning.encrypted")]
    Encrypted { data: Cow<'a, str> },
}

/// The proof of a piece of reasoning, marked with its maker. Without a maker who could read it, it is of no use.
pub(super) fn proof<'a>(proof: &'a str, is_redacted: bool, reply: &Reply) -> Option<ReasoningDetail<'a>> {
    let sealed = seal(proof, reply.ids.origin, Dialect::Chat)?;
    let is_encrypted = is_redacted || reply.ids.origin == Origin::OpenAi;
    Some(if is_encrypted {
        ReasoningDetail::Encrypted { data: sealed }
    } else {
        ReasoningDetail::Signed { signature: sealed }
    })
}

/// The proof of a call, if Google made it.
pub(super) fn call_proof<'a>(proof: &'a str, reply: &Reply) -> Option<ExtraContent<'a>> {
    let is_googles = reply.ids.origin == Origin::Google && !proof.is_empty();
    is_googles.then_some(ExtraContent { google: Google { thought_signature: proof } })
}

/// What a tool is to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A function call.
    Function,
    /// A call with free text.
    Custom,
    /// No call: its arguments are the text of a structured answer.
    Format,
}

pub(super) fn meaning(sent: &str, reply: &Reply) -> Meaning {
    if reply.ids.format_tool.as_deref() == Some(sent) {
        return Meaning::Format;
    }
    match reply.ids.kind(sent) {
        ToolKind::Custom => Meaning::Custom,
        ToolKind::Function | ToolKind::LocalShell | ToolKind::Server(_) => Meaning::Function,
    }
}

/// The id of a call, made up where the upstream gave none.
pub(super) fn call_id<'a>(id: Option<&'a str>, number: usize, name: &str, reply: &Reply) -> Cow<'a, str> {
    match id.filter(|id| !id.is_empty()) {
        Some(id) => Cow::Borrowed(id),
        None => Cow::Owned(minted(&reply.id, number, name)),
    }
}

/// A whole call.
pub(super) fn whole_call<'a>(
    id: Cow<'a, str>,
    sent: &'a str,
    arguments: &'a str,
    signature: &'a str,
    reply: &'a Reply,
) -> Call<'a> {
    let name = Some(reply.ids.name(sent));
    let extra_content = call_proof(signature, reply);
    if meaning(sent, reply) == Meaning::Custom {
        let input = native_arguments(&ToolKind::Custom, arguments);
        let custom = Some(Custom { name, input });
        return Call { id: Some(id), kind: Some("custom"), custom, extra_content, ..Call::default() };
    }
    // Clients parse it, and nothing is no JSON.
    let arguments = Cow::Borrowed(if arguments.is_empty() { "{}" } else { arguments });
    let function = Some(Function { name, arguments });
    Call { id: Some(id), kind: Some("function"), function, extra_content, ..Call::default() }
}

/// The id of an answer.
pub(super) fn answer_id(upstream: Option<&str>, reply: &Reply) -> String {
    upstream.map_or_else(|| format!("chatcmpl-{}", reply.id), str::to_owned)
}

/// `finish_reason` of an answer with or without calls that the client sees.
pub(super) fn finish_word(reason: FinishReason, has_calls: bool) -> &'static str {
    let reason = if has_calls { reason.with_tool_calls() } else { reason };
    match reason {
        FinishReason::ToolCalls if has_calls => "tool_calls",
        FinishReason::End | FinishReason::StopSequence | FinishReason::ToolCalls | FinishReason::Paused => "stop",
        FinishReason::Length | FinishReason::ContextFull => "length",
        FinishReason::Filter => "content_filter",
    }
}
