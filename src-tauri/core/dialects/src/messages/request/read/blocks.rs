//! Blocks of a conversation.

use domain::Dialect;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::parse;
use super::wire::{Block, CacheControl, Content, MediaSource, Nested};
use crate::canonical::{CacheMark, Media, Origin, Part, Source, ToolKind, arguments, media, reasoning};
use crate::lenient::{some_string, str_of};
use crate::translate::Refusal;

/// Longest summary of a block that only Anthropic knows, in bytes.
const LONGEST_SUMMARY: usize = 4096;

/// The parts of some content. `at` says where it stands, for an error.
pub(super) fn parts(content: Content<'_>, at: &str) -> Result<Vec<Part>, Refusal> {
    match content {
        Content::Text(text) => Ok(vec![Part::Text { text: text.into_string(), cache: None }]),
        Content::Blocks(blocks) => {
            blocks.into_iter().enumerate().map(|(place, block)| part(block, &format!("{at}.{place}"))).collect()
        }
    }
}

fn part(raw: &RawValue, at: &str) -> Result<Part, Refusal> {
    if raw.get().starts_with('"') {
        let text = parse(at, raw.get())?;
        return Ok(Part::Text { text, cache: None });
    }
    let mut block: Block<'_> = parse(at, raw.get())?;
    let cache = mark(block.cache_control.as_ref());
    Ok(match str_of(&block.kind) {
        "text" => Part::Text { text: block.text.take().unwrap_or_default().into_string(), cache },
        "image" => Part::Image { media: medium(&block, at)?, cache },
        "document" => Part::Document { media: medium(&block, at)?, cache },
        "thinking" => thinking(&block),
        "redacted_thinking" => redacted(&block),
        "tool_use" => call(&block, cache, at)?,
        "tool_result" => result(block, raw, cache, at)?,
        kind => Part::Opaque { dialect: Dialect::Messages, json: raw.to_owned(), summary: summary(kind, raw) },
    })
}

pub(super) fn mark(control: Option<&CacheControl<'_>>) -> Option<CacheMark> {
    control.map(|control| CacheMark { ttl: some_string(&control.ttl) })
}

fn thinking(block: &Block<'_>) -> Part {
    let text = str_of(&block.thinking).to_owned();
    let (origin, proof) = match reasoning::unseal(str_of(&block.signature), Dialect::Messages) {
        (_, proof) if proof.is_empty() => (Origin::Anyone, None),
        (origin, proof) => (origin, Some(proof.into_owned())),
    };
    // OpenAI's proof is the encrypted thinking itself.
    let (signature, encrypted) = if origin == Origin::OpenAi { (None, proof) } else { (proof, None) };
    Part::Reasoning { text, signature, encrypted, item_id: None, origin }
}

fn redacted(block: &Block<'_>) -> Part {
    let (origin, data) = reasoning::unseal(str_of(&block.data), Dialect::Messages);
    Part::Reasoning { text: String::new(), signature: None, encrypted: Some(data.into_owned()), item_id: None, origin }
}

fn call(block: &Block<'_>, cache: Option<CacheMark>, at: &str) -> Result<Part, Refusal> {
    Ok(Part::ToolCall {
        id: some_string(&block.id).ok_or_else(|| Refusal::new(format!("{at}.id"), "a tool_use block needs its id"))?,
        name: some_string(&block.name)
            .ok_or_else(|| Refusal::new(format!("{at}.name"), "a tool_use block needs the tool's name"))?,
        arguments: block.input.map_or_else(|| "{}".to_owned(), arguments::to_text),
        kind: ToolKind::Function,
        signature: None,
        cache,
    })
}

/// `raw` is the text of the block.
fn result(block: Block<'_>, raw: &RawValue, cache: Option<CacheMark>, at: &str) -> Result<Part, Refusal> {
    let call_id = some_string(&block.tool_use_id)
        .ok_or_else(|| Refusal::new(format!("{at}.tool_use_id"), "a tool_result block needs the id of its call"))?;
    let content = match block.content {
        Some(Nested::Content(content)) => parts(content, &format!("{at}.content"))?,
        Some(Nested::Other) => return Err(no_content(raw, at)),
        None => Vec::new(),
    };
    Ok(Part::ToolResult { call_id, content, is_error: block.is_error.unwrap_or(false), cache })
}

/// What is wrong with the content of a block that must have some: it is read again as nothing else.
fn no_content(block: &RawValue, at: &str) -> Refusal {
    #[derive(Deserialize)]
    struct Holder<'a> {
        #[serde(borrow, rename = "content")]
        _content: Content<'a>,
    }
    match parse::<Holder<'_>>(at, block.get()) {
        Err(refusal) => refusal,
        Ok(_) => Refusal::new(format!("{at}.content"), "must be a text or a list of blocks"),
    }
}

fn medium(block: &Block<'_>, at: &str) -> Result<Media, Refusal> {
    let raw = block.source.ok_or_else(|| Refusal::new(format!("{at}.source"), "is missing"))?;
    let source: MediaSource<'_> = parse(format_args!("{at}.source"), raw.get())?;
    let source = match str_of(&source.kind) {
        "base64" => media::from_base64(str_of(&source.media_type), str_of(&source.data)),
        "url" => media::from_url(str_of(&source.url)),
        "file" => Source::File(str_of(&source.file_id).to_owned()),
        "text" => Source::Text(str_of(&source.data).to_owned()),
        "content" => Source::Text(str_of(&source.content).to_owned()),
        other => return Err(Refusal::new(format!("{at}.source.type"), format!("`{other}` is not known"))),
    };
    Ok(Media { source, name: some_string(&block.title), detail: None })
}

/// What can be said in text of a block that only Anthropic knows: its kind, and the words in it that were meant to be
/// read.
fn summary(kind: &str, raw: &RawValue) -> String {
    let mut said = Vec::new();
    if let Ok(block) = serde_json::from_str::<Value>(raw.get()) {
        collect(&block, &mut said);
    }
    let mut text = format!("[{kind}] {}", said.join("\n"));
    if text.len() > LONGEST_SUMMARY {
        text.truncate(text.floor_char_boundary(LONGEST_SUMMARY));
        text.push('…');
    }
    text.trim_end().to_owned()
}

fn collect(value: &Value, said: &mut Vec<String>) {
    const READABLE: [&str; 11] =
        ["name", "query", "title", "url", "source", "text", "code", "command", "stdout", "stderr", "error_code"];
    match value {
        Value::Array(list) => list.iter().for_each(|item| collect(item, said)),
        Value::Object(members) => {
            for (key, member) in members {
                match member {
                    Value::String(text) if READABLE.contains(&key.as_str()) && !text.is_empty() => {
                        said.push(text.clone())
                    }
                    Value::Array(_) | Value::Object(_) => collect(member, said),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
