//! Model lists as upstreams send them: OpenAI, Anthropic and Gemini lists, bare arrays, and Ollama's `/api/tags`.

use serde::Deserialize;
use thiserror::Error;

use crate::lenient::{Text, Whole};

/// A model an upstream offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedModel {
    /// What to send as `model`.
    pub id: String,
    /// A name for people, where the list has one.
    pub name: Option<String>,
    /// Context window in tokens.
    pub context: Option<u64>,
    pub max_output: Option<u64>,
}

#[derive(Debug, Error)]
pub enum ListError {
    #[error("the model list is not JSON")]
    NotJson(#[source] serde_json::Error),
    #[error("the answer holds no list of models")]
    NoList,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer<'a> {
    Bare(#[serde(borrow)] Vec<Entry<'a>>),
    Object(#[serde(borrow)] Listing<'a>),
}

#[derive(Deserialize)]
struct Listing<'a> {
    #[serde(borrow)]
    data: Option<Vec<Entry<'a>>>,
    #[serde(borrow)]
    models: Option<Vec<Entry<'a>>>,
}

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    model: Option<Text<'a>>,
    #[serde(borrow)]
    display_name: Option<Text<'a>>,
    #[serde(borrow, rename = "displayName")]
    display_name_camel: Option<Text<'a>>,
    context_length: Option<Whole>,
    context_window: Option<Whole>,
    max_model_len: Option<Whole>,
    max_context_length: Option<Whole>,
    max_input_tokens: Option<Whole>,
    #[serde(rename = "inputTokenLimit")]
    input_token_limit: Option<Whole>,
    max_output_tokens: Option<Whole>,
    max_completion_tokens: Option<Whole>,
    #[serde(rename = "outputTokenLimit")]
    output_token_limit: Option<Whole>,
    top_provider: Option<TopProvider>,
}

/// OpenRouter's figures of the provider it would choose.
#[derive(Deserialize)]
struct TopProvider {
    context_length: Option<Whole>,
    max_completion_tokens: Option<Whole>,
}

/// Reads a list in any of the known shapes. Entries without an id are left out.
///
/// # Errors
/// [`ListError::NotJson`], or [`ListError::NoList`] when the JSON holds no list.
pub fn read_list(body: &[u8]) -> Result<Vec<ListedModel>, ListError> {
    let text = std::str::from_utf8(body).map_err(|_| ListError::NoList)?;
    serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(ListError::NotJson)?;
    let entries = match serde_json::from_str::<Answer<'_>>(text) {
        Ok(Answer::Bare(entries)) => entries,
        Ok(Answer::Object(listing)) => listing.data.or(listing.models).ok_or(ListError::NoList)?,
        Err(_) => return Err(ListError::NoList),
    };
    Ok(entries.into_iter().filter_map(listed).collect())
}

fn listed(entry: Entry<'_>) -> Option<ListedModel> {
    let words = |text: Option<Text<'_>>| text.map(Text::into_string).filter(|text| !text.is_empty());
    let (own_id, plain_name, tag) = (words(entry.id), words(entry.name), words(entry.model));
    let has_id = own_id.is_some();
    let id = own_id.or(tag).or_else(|| plain_name.clone())?;
    let id = id.strip_prefix("models/").map(str::to_owned).unwrap_or(id);
    let label = words(entry.display_name).or_else(|| words(entry.display_name_camel)).or(plain_name.filter(|_| has_id));
    let (top_context, top_output) =
        entry.top_provider.map_or((None, None), |top| (top.context_length, top.max_completion_tokens));
    Some(ListedModel {
        name: label.filter(|label| *label != id),
        context: first_positive([
            entry.context_length,
            entry.context_window,
            entry.max_model_len,
            entry.max_context_length,
            entry.input_token_limit,
            entry.max_input_tokens,
            top_context,
        ]),
        max_output: first_positive([
            entry.max_output_tokens,
            entry.max_completion_tokens,
            entry.output_token_limit,
            top_output,
        ]),
        id,
    })
}

fn first_positive<const N: usize>(counts: [Option<Whole>; N]) -> Option<u64> {
    counts.into_iter().flatten().filter_map(|count| count.0).find(|count| *count > 0)
}
