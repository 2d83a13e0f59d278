//! Blocks, written.

use std::borrow::Cow;

use base64::prelude::{BASE64_STANDARD, Engine};
use domain::Dialect;

use super::wire::{Block, CacheControl, Content, Known, MediaSource, Message};
use crate::canonical::ids::{IdRule, ToolNames, tool_id};
use crate::canonical::{CacheMark, CacheMarks, Media, Part, Role, Source, Target, Turn, Warning, arguments, tools};
use crate::client::Client;

/// The most cache marks that one request may carry.
const MOST_MARKS: usize = 4;
/// Images that are read.
const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Writes the blocks of one request, in the order of the prompt.
pub(super) struct Writer<'a> {
    pub(super) source: Client,
    pub(super) target: &'a Target,
    pub(super) names: &'a ToolNames,
    /// Marks to leave out before the first that is written: the last four cover the longest prefixes.
    pub(super) marks_to_skip: usize,
    pub(super) warnings: Vec<Warning>,
}

/// How many marks some parts carry, those within tool results included.
pub(super) fn count_marks(parts: &[Part]) -> usize {
    let marks = |part: &Part| match part {
        Part::Text { cache, .. }
        | Part::Image { cache, .. }
        | Part::Document { cache, .. }
        | Part::ToolCall { cache, .. } => usize::from(cache.is_some()),
        Part::ToolResult { cache, content, .. } => usize::from(cache.is_some()) + count_marks(content),
        Part::Audio { .. } | Part::Reasoning { .. } | Part::Refusal { .. } | Part::Opaque { .. } => 0,
    };
    parts.iter().map(marks).sum()
}

/// Marks a part, if it can be.
pub(super) fn mark(part: Option<&mut Part>) {
    match part {
        Some(
            Part::Text { cache, .. }
            | Part::Image { cache, .. }
            | Part::Document { cache, .. }
            | Part::ToolCall { cache, .. }
            | Part::ToolResult { cache, .. },
        ) => *cache = Some(CacheMark { ttl: None }),
        Some(Part::Audio { .. } | Part::Reasoning { .. } | Part::Refusal { .. } | Part::Opaque { .. }) | None => {}
    }
}

impl<'a> Writer<'a> {
    /// Keeps to the allowed number of marks, of all that the request carries.
    pub(super) fn allow_marks(&mut self, all: usize) {
        self.marks_to_skip = all.saturating_sub(MOST_MARKS);
        if self.marks_to_skip > 0 {
            self.warn("DROPPED_PART", "cache_control");
        }
    }

    pub(super) fn warn(&mut self, code: &'static str, about: &str) {
        self.warnings.push(Warning { code, about: about.to_owned() });
    }

    pub(super) fn cache(&mut self, mark: Option<&'a CacheMark>) -> Option<CacheControl<'a>> {
        let mark = mark.filter(|_| self.target.cache_marks != CacheMarks::Dropped)?;
        if self.marks_to_skip > 0 {
            self.marks_to_skip -= 1;
            return None;
        }
        Some(CacheControl { ttl: mark.ttl.as_deref() })
    }

    pub(super) fn message(&mut self, turn: &'a Turn) -> Message<'a> {
        let role = match turn.role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        Message { role, content: self.content(&turn.parts) }
    }

    /// One text without a mark as itself, anything else as blocks.
    pub(super) fn content(&mut self, parts: &'a [Part]) -> Content<'a> {
        if let [Part::Text { text, cache: None }] = parts {
            return Content::Text(Cow::Borrowed(text));
        }
        Content::Blocks(parts.iter().filter_map(|part| self.block(part)).collect())
    }

    fn block(&mut self, part: &'a Part) -> Option<Block<'a>> {
        Some(Block::Known(match part {
            Part::Text { text, cache } => {
                let cache_control = self.cache(cache.as_ref());
                if text.trim().is_empty() {
                    return None;
                }
                Known::Text { text: Cow::Borrowed(text), cache_control }
            }
            Part::Image { media, cache } => self.image(media, cache.as_ref()),
            Part::Document { media, cache } => self.document(media, cache.as_ref()),
            Part::Audio { .. } => self.omitted("audio", None),
            Part::Reasoning { text, signature: Some(signature), .. } => Known::Thinking { thinking: text, signature },
            Part::Reasoning { encrypted: Some(data), .. } => Known::RedactedThinking { data },
            // Thinking without proof is refused; whoever calls has left it out.
            Part::Reasoning { .. } => return None,
            Part::ToolCall { id, name, arguments: text, kind, cache, .. } => {
                let is_native = tools::is_native(kind, Dialect::Messages, self.source);
                let text = if is_native { Cow::Borrowed(text.as_str()) } else { tools::emulated_arguments(kind, text) };
                let (input, warning) = arguments::to_object(name, &text);
                self.warnings.extend(warning);
                Known::ToolUse {
                    id: tool_id(id, IdRule::Messages),
                    name: self.names.sent(name),
                    input,
                    cache_control: self.cache(cache.as_ref()),
                }
            }
            Part::ToolResult { call_id, content, is_error, cache } => {
                let content = (!content.is_empty()).then(|| self.content(content));
                let is_empty = match &content {
                    Some(Content::Text(text)) => text.trim().is_empty(),
                    Some(Content::Blocks(blocks)) => blocks.is_empty(),
                    None => true,
                };
                Known::ToolResult {
                    tool_use_id: tool_id(call_id, IdRule::Messages),
                    content: content.filter(|_| !is_empty),
                    is_error: *is_error,
                    cache_control: self.cache(cache.as_ref()),
                }
            }
            Part::Refusal { text } if text.trim().is_empty() => return None,
            Part::Refusal { text } => Known::Text { text: Cow::Borrowed(text), cache_control: None },
            Part::Opaque { dialect: Dialect::Messages, json, .. } => return Some(Block::Raw(json)),
            Part::Opaque { summary, .. } if summary.trim().is_empty() => return None,
            Part::Opaque { summary, .. } => Known::Text { text: Cow::Borrowed(summary), cache_control: None },
        }))
    }

    fn image(&mut self, media: &'a Media, cache: Option<&'a CacheMark>) -> Known<'a> {
        let source = match &media.source {
            _ if !self.target.takes_images => None,
            Source::Inline { mime, data } => {
                IMAGES.contains(&mime.as_str()).then_some(MediaSource::Base64 { media_type: mime, data })
            }
            Source::Url(url) => Some(MediaSource::Url { url }),
            Source::File(file_id) if self.source == Dialect::Messages => Some(MediaSource::File { file_id }),
            Source::File(_) | Source::Text(_) => None,
        };
        let cache_control = self.cache(cache);
        match source {
            Some(source) => Known::Image { source, cache_control },
            None => self.omitted("image", None),
        }
    }

    fn document(&mut self, media: &'a Media, cache: Option<&'a CacheMark>) -> Known<'a> {
        let source = match &media.source {
            Source::Inline { mime, data } if mime == "application/pdf" => {
                Some(MediaSource::Base64 { media_type: mime, data })
            }
            Source::Inline { mime, data } if mime.starts_with("text/") || mime == "application/json" => {
                let text = BASE64_STANDARD.decode(data).ok().and_then(|bytes| String::from_utf8(bytes).ok());
                text.map(|text| MediaSource::Text { media_type: "text/plain", data: Cow::Owned(text) })
            }
            Source::Text(text) => Some(MediaSource::Text { media_type: "text/plain", data: Cow::Borrowed(text) }),
            Source::Url(url) => Some(MediaSource::Url { url }),
            Source::File(file_id) if self.source == Dialect::Messages => Some(MediaSource::File { file_id }),
            Source::Inline { .. } | Source::File(_) => None,
        };
        let cache_control = self.cache(cache);
        match source {
            Some(source) => Known::Document { source, title: media.name.as_deref(), cache_control },
            None => self.omitted("document", media.name.as_deref()),
        }
    }

    /// Says that something was here which cannot be shown: a model that is told so does not make it up.
    fn omitted(&mut self, what: &str, name: Option<&str>) -> Known<'a> {
        self.warn("DROPPED_PART", what);
        let text = name.map_or_else(|| format!("[{what} omitted]"), |name| format!("[{what} omitted: {name}]"));
        Known::Text { text: Cow::Owned(text), cache_control: None }
    }
}
