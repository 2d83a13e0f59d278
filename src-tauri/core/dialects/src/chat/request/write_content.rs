//! What is said in a message: text, media, and what stands for those that a server cannot take (gateway specification,
//! 2.4).

use std::borrow::Cow;

use domain::Dialect;
use serde::Serialize;
use serde_json::value::RawValue;

use super::write_messages::Messages;
use crate::canonical::{CacheMark, Media, Part, Source, lines, media};

/// `None` is `null`.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    None,
    Text(Cow<'a, str>),
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ContentPart<'a> {
    Typed {
        #[serde(flatten)]
        part: TypedPart<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl<'a>>,
    },
    AsWritten(&'a RawValue),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum TypedPart<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl<'a> },
    File { file: File<'a> },
    InputAudio { input_audio: Audio<'a> },
}

#[derive(Serialize)]
pub(super) struct ImageUrl<'a> {
    url: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct File<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filename: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_data: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Audio<'a> {
    data: &'a str,
    format: &'a str,
}

#[derive(Serialize)]
pub(super) struct CacheControl<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'a str>,
}

impl<'a> CacheControl<'a> {
    pub(super) fn new(mark: &'a CacheMark) -> Self {
        CacheControl { kind: "ephemeral", ttl: mark.ttl.as_deref() }
    }
}

impl<'a, 'r: 'a> Messages<'a, '_, 'r> {
    /// One part of what a user or the system says.
    pub(super) fn part(&mut self, part: &'a Part) -> Option<ContentPart<'a>> {
        let keeps_marks = self.writer.target.chat_cache_marks;
        let cache_control = |mark: &'a Option<CacheMark>| mark.as_ref().filter(|_| keeps_marks).map(CacheControl::new);
        Some(match part {
            Part::Text { text, cache } => ContentPart::Typed {
                part: TypedPart::Text { text: Cow::Borrowed(text) },
                cache_control: cache_control(cache),
            },
            Part::Image { media, cache } => {
                ContentPart::Typed { part: self.image(media), cache_control: cache_control(cache) }
            }
            Part::Document { media, cache } => {
                ContentPart::Typed { part: self.document(media), cache_control: cache_control(cache) }
            }
            Part::Audio { media } => typed(self.audio(media)),
            Part::Refusal { text } => typed(TypedPart::Text { text: Cow::Borrowed(text) }),
            Part::Opaque { dialect: Dialect::Chat, json, .. } => ContentPart::AsWritten(json),
            Part::Opaque { summary, .. } => {
                self.writer.params.warn("DROPPED_PART", "content");
                if summary.is_empty() {
                    return None;
                }
                typed(TypedPart::Text { text: Cow::Borrowed(summary) })
            }
            Part::Reasoning { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => return None,
        })
    }

    fn image(&mut self, media: &'a Media) -> TypedPart<'a> {
        let target = self.writer.target;
        let url = match &media.source {
            Source::Inline { mime, data } => Some(Cow::Owned(media::data_url(mime, data))),
            Source::Url(url) => Some(Cow::Borrowed(url.as_str())),
            Source::File(_) | Source::Text(_) => None,
        };
        match url.filter(|_| target.takes_images && !target.string_content_only) {
            Some(url) => TypedPart::ImageUrl { image_url: ImageUrl { url, detail: media.detail.as_deref() } },
            None => self.omitted("image"),
        }
    }

    fn document(&mut self, media: &'a Media) -> TypedPart<'a> {
        let name = media.name.as_deref();
        let is_own = self.writer.request.source == Dialect::Chat;
        match &media.source {
            Source::Text(text) => TypedPart::Text { text: Cow::Borrowed(text) },
            Source::Inline { mime, data } if !self.writer.target.string_content_only => {
                let filename = name.or((mime == "application/pdf").then_some("document.pdf")).or(Some("document"));
                let file_data = Some(media::data_url(mime, data));
                TypedPart::File { file: File { file_id: None, filename, file_data } }
            }
            Source::File(id) if is_own => {
                TypedPart::File { file: File { file_id: Some(id), filename: name, file_data: None } }
            }
            Source::Url(url) => {
                self.writer.params.warn("DROPPED_PART", "file");
                TypedPart::Text { text: Cow::Owned(format!("[document at {url}]")) }
            }
            Source::Inline { .. } | Source::File(_) => self.omitted("file"),
        }
    }

    fn audio(&mut self, media: &'a Media) -> TypedPart<'a> {
        let target = self.writer.target;
        let format = match &media.source {
            Source::Inline { mime, data } => match mime.as_str() {
                "audio/wav" | "audio/x-wav" | "audio/wave" => Some(("wav", data)),
                "audio/mpeg" | "audio/mp3" => Some(("mp3", data)),
                other => other.strip_prefix("audio/").map(|format| (format, data)),
            },
            Source::Url(_) | Source::File(_) | Source::Text(_) => None,
        };
        match format.filter(|_| target.takes_audio && !target.string_content_only) {
            Some((format, data)) => TypedPart::InputAudio { input_audio: Audio { data, format } },
            None => self.omitted("audio"),
        }
    }

    /// What stands for a part that the model cannot be shown.
    fn omitted(&mut self, what: &str) -> TypedPart<'a> {
        self.writer.params.warn("DROPPED_PART", what);
        TypedPart::Text { text: Cow::Owned(format!("[{what} omitted]")) }
    }

    /// A lone text as text, anything more as a list of parts.
    pub(super) fn content(&self, mut parts: Vec<ContentPart<'a>>) -> Content<'a> {
        if self.writer.target.string_content_only {
            return Content::Text(joined(parts));
        }
        if parts.len() == 1 {
            return match parts.remove(0) {
                ContentPart::Typed { part: TypedPart::Text { text }, cache_control: None } => Content::Text(text),
                part => Content::Parts(vec![part]),
            };
        }
        Content::Parts(parts)
    }
}

pub(super) fn typed(part: TypedPart<'_>) -> ContentPart<'_> {
    ContentPart::Typed { part, cache_control: None }
}

pub(super) fn joined(parts: Vec<ContentPart<'_>>) -> Cow<'_, str> {
    let texts = parts.into_iter().filter_map(|part| match part {
        ContentPart::Typed { part: TypedPart::Text { text }, .. } => Some(text),
        _ => None,
    });
    lines(texts.collect())
}
