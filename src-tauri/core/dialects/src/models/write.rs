//! Model lists as clients want them.

use bytes::Bytes;
use serde::Serialize;

use super::{Capabilities, DEFAULT_CONTEXT, ListShape, ModelEntry, ModelPrice, Page};
use crate::error::to_json;

/// The part of `entries` that `page` asks for, as a list in `shape`.
pub fn write_list(shape: ListShape, entries: &[ModelEntry], page: &Page) -> Bytes {
    let (entries, has_more) = cut(entries, page);
    let json = match shape {
        ListShape::OpenAi => to_json(&OpenAiList { object: "list", data: entries.iter().map(open_ai).collect() }),
        ListShape::Anthropic => to_json(&AnthropicList {
            data: entries.iter().map(anthropic).collect(),
            has_more,
            first_id: entries.first().map(|entry| entry.id.as_str()),
            last_id: entries.last().map(|entry| entry.id.as_str()),
        }),
        ListShape::Gemini => to_json(&GeminiList { models: entries.iter().map(gemini).collect() }),
    };
    Bytes::from(json)
}

/// One model in `shape`.
pub fn write_one(shape: ListShape, entry: &ModelEntry) -> Bytes {
    Bytes::from(match shape {
        ListShape::OpenAi => to_json(&open_ai(entry)),
        ListShape::Anthropic => to_json(&anthropic(entry)),
        ListShape::Gemini => to_json(&gemini(entry)),
    })
}

/// The entries of a page, and whether more lie in the direction of paging.
fn cut<'a>(entries: &'a [ModelEntry], page: &Page) -> (&'a [ModelEntry], bool) {
    let position = |id: &Option<String>| id.as_ref().and_then(|id| entries.iter().position(|entry| entry.id == *id));
    let limit = page.limit.unwrap_or(entries.len()).max(1);
    let start = position(&page.after_id).map_or(0, |at| at + 1);
    let end = position(&page.before_id).unwrap_or(entries.len()).max(start);
    let range = &entries[start..end];
    if range.len() <= limit {
        return (range, false);
    }
    // Paging backwards, the nearest are the last ones.
    let is_backwards = page.before_id.is_some() && page.after_id.is_none();
    (if is_backwards { &range[range.len() - limit..] } else { &range[..limit] }, true)
}

#[derive(Serialize)]
struct OpenAiList<'a> {
    object: &'static str,
    data: Vec<OpenAiModel<'a>>,
}

#[derive(Serialize)]
struct OpenAiModel<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    owned_by: &'a str,
    name: &'a str,
    #[serde(flatten)]
    extras: Extras<'a>,
}

#[derive(Serialize)]
struct AnthropicList<'a> {
    data: Vec<AnthropicModel<'a>>,
    has_more: bool,
    first_id: Option<&'a str>,
    last_id: Option<&'a str>,
}

#[derive(Serialize)]
struct AnthropicModel<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    id: &'a str,
    display_name: &'a str,
    created_at: String,
    /// Newer Anthropic SDKs insist on it.
    lifecycle: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(flatten)]
    extras: Extras<'a>,
}

#[derive(Serialize)]
struct GeminiList<'a> {
    models: Vec<GeminiModel<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiModel<'a> {
    name: String,
    version: &'static str,
    display_name: &'a str,
    description: String,
    input_token_limit: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_token_limit: Option<u64>,
    supported_generation_methods: [&'static str; 3],
}

/// What both OpenAI and Anthropic entries carry beside their own fields. The context has three names because agents
/// disagree about it.
#[derive(Serialize)]
struct Extras<'a> {
    context_length: u64,
    context_window: u64,
    max_input_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    /// Left out of the Anthropic shape, whose own field of that name means something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    capabilities: Option<Capabilities>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pricing: Option<ModelPrice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
}

fn open_ai(entry: &ModelEntry) -> OpenAiModel<'_> {
    OpenAiModel {
        id: &entry.id,
        object: "model",
        created: entry.created,
        owned_by: &entry.owned_by,
        name: name(entry),
        extras: extras(entry),
    }
}

fn anthropic(entry: &ModelEntry) -> AnthropicModel<'_> {
    let created = i64::try_from(entry.created).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    AnthropicModel {
        kind: "model",
        id: &entry.id,
        display_name: name(entry),
        created_at: created.unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string(),
        lifecycle: "active",
        max_tokens: entry.max_output,
        extras: Extras { capabilities: None, ..extras(entry) },
    }
}

fn gemini(entry: &ModelEntry) -> GeminiModel<'_> {
    GeminiModel {
        name: format!("models/{}", entry.id),
        version: "1",
        display_name: name(entry),
        description: format!("{} by {}", name(entry), entry.owned_by),
        input_token_limit: context(entry),
        output_token_limit: entry.max_output,
        supported_generation_methods: ["generateContent", "streamGenerateContent", "countTokens"],
    }
}

fn extras(entry: &ModelEntry) -> Extras<'_> {
    let context = context(entry);
    Extras {
        context_length: context,
        context_window: context,
        max_input_tokens: context,
        max_output_tokens: entry.max_output,
        capabilities: Some(entry.capabilities),
        pricing: entry.price,
        parent: entry.parent.as_deref(),
    }
}

fn name(entry: &ModelEntry) -> &str {
    if entry.display_name.is_empty() { &entry.id } else { &entry.display_name }
}

fn context(entry: &ModelEntry) -> u64 {
    entry.context.filter(|context| *context > 0).unwrap_or(DEFAULT_CONTEXT)
}
