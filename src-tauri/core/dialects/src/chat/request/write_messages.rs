//! System text and turns, written as messages.

use std::borrow::Cow;
use std::mem::take;

use serde::Serialize;
use serde_json::value::RawValue;

use domain::Dialect;

use super::write::Writer;
use crate::canonical::ids::{IdRule, tool_id};
use crate::canonical::reasoning::reads;
use crate::canonical::tools::{emulated_arguments, is_native};
use crate::canonical::{CacheMark, Media, Origin, Part, Role, Source, ToolKind, Turn, media};

#[derive(Serialize)]
pub(super) struct Message<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Cow<'a, str>>,
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<ReasoningDetail<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
}

/// `None` is `null`.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    None,
    Text(Cow<'a, str>),
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Serialize)]
#[serde(untagged)]
enum ContentPart<'a> {
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
enum TypedPart<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl<'a> },
    File { file: File<'a> },
    InputAudio { input_audio: Audio<'a> },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
}

#[derive(Serialize)]
struct File<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filename: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_data: Option<String>,
}

#[derive(Serialize)]
struct Audio<'a> {
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

#[derive(Serialize)]
struct Call<'a> {
    id: Cow<'a, str>,
    #[serde(flatten)]
    called: Called<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<ExtraContent<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Called<'a> {
    Function { function: Function<'a> },
    Custom { custom: Custom<'a> },
}

#[derive(Serialize)]
struct Function<'a> {
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

#[derive(Serialize)]
struct Custom<'a> {
    name: Cow<'a, str>,
    input: &'a str,
}

#[derive(Serialize)]
struct ExtraContent<'a> {
    google: Google<'a>,
}

#[derive(Serialize)]
struct Google<'a> {
    thought_signature: &'a str,
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum ReasoningDetail<'a> {
    #[serde(rename = "reasoning.text")]
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<&'a str>,
        format: &'static str,
    },
    #[serde(rename = "reasoning.encrypted")]
    Encrypted { data: &'a str, format: &'static str },
}

/// The messages as they come together.
pub(super) struct Messages<'a, 'w, 'r> {
    writer: &'w mut Writer<'r>,
    written: Vec<Message<'a>>,
    /// System text that waits for the next words of the user, where the server has no such role.
    waiting: Vec<Cow<'a, str>>,
}

impl<'a, 'r: 'a> Messages<'a, '_, 'r> {
    /// Writes the whole conversation; `instruction` is added to the system text.
    pub(super) fn write(turns: &'a [Turn], instruction: Option<String>, writer: &mut Writer<'r>) -> Vec<Message<'a>> {
        let mut system: Vec<_> = writer.request.system.iter().collect();
        system.retain(|part| !matches!(part, Part::Text { text, .. } if text.trim().is_empty()));
        let mut messages = Messages { writer, written: Vec::with_capacity(turns.len() + 1), waiting: Vec::new() };
        messages.system(&system, instruction, false);
        for turn in turns {
            match turn.role {
                Role::System => messages.system(&turn.parts.iter().collect::<Vec<_>>(), None, true),
                Role::User => messages.user(&turn.parts),
                Role::Assistant => messages.assistant(&turn.parts),
            }
        }
        messages.flush();
        messages.written
    }

    fn system(&mut self, parts: &[&'a Part], instruction: Option<String>, in_the_middle: bool) {
        let target = self.writer.target;
        let mut content: Vec<_> = parts.iter().filter_map(|part| self.part(part)).collect();
        content.extend(instruction.map(|text| typed(TypedPart::Text { text: Cow::Owned(text) })));
        if content.is_empty() {
            return;
        }
        if target.developer_role || target.system_role {
            let role = if target.developer_role { "developer" } else { "system" };
            let content = self.content(content);
            self.push(role, content);
            return;
        }
        let text = joined(content);
        self.waiting.push(if in_the_middle { Cow::Owned(format!("<system>\n{text}\n</system>")) } else { text });
    }

    /// Results become messages of their own, and their images go behind the last of them: in between they would part it
    /// from its call.
    fn user(&mut self, parts: &'a [Part]) {
        let mut content: Vec<_> =
            take(&mut self.waiting).into_iter().map(|text| typed(TypedPart::Text { text })).collect();
        for part in parts {
            match part {
                Part::ToolResult { call_id, content: said, is_error, .. } => {
                    content.extend(self.result(call_id, said, *is_error));
                }
                part => content.extend(self.part(part)),
            }
        }
        if !content.is_empty() {
            let content = self.content(content);
            self.push("user", content);
        }
    }

    /// Writes a result, and returns the media that belong behind it.
    fn result(&mut self, call_id: &'a str, said: &'a [Part], is_error: bool) -> Vec<ContentPart<'a>> {
        let (mut texts, mut media) = (Vec::new(), Vec::new());
        for part in said {
            match (part, self.part(part)) {
                (_, Some(ContentPart::Typed { part: TypedPart::Text { text }, .. })) => texts.push(text),
                (_, Some(other)) => {
                    texts.push(Cow::Borrowed("[the image or file of this result follows below]"));
                    media.push(other);
                }
                (_, None) => {}
            }
        }
        let mut text = join(texts);
        if is_error && !text.starts_with("Error") {
            text = Cow::Owned(format!("Error: {text}"));
        }
        let rule = self.id_rule();
        self.written.push(Message {
            tool_call_id: Some(tool_id(call_id, rule)),
            ..message("tool", Content::Text(text))
        });
        media
    }

    fn assistant(&mut self, parts: &'a [Part]) {
        self.flush();
        let mut told = message("assistant", Content::None);
        let (mut texts, mut thoughts, mut opaque) = (Vec::new(), String::new(), Vec::new());
        for part in parts {
            match part {
                Part::Text { text, .. } => texts.push(Cow::Borrowed(text.as_str())),
                Part::Refusal { text } => told.refusal.get_or_insert_default().push_str(text),
                Part::Reasoning { text, .. } => {
                    thoughts.push_str(text);
                    told.reasoning_details.extend(self.reasoning(part));
                }
                Part::ToolCall { id, name, arguments, kind, signature, .. } => {
                    let call = self.call(id, name, arguments, kind, signature.as_deref());
                    told.tool_calls.push(call);
                }
                Part::Opaque { dialect: Dialect::Chat, json, .. } => opaque.push(ContentPart::AsWritten(json)),
                part => {
                    if let Some(ContentPart::Typed { part: TypedPart::Text { text }, .. }) = self.part(part) {
                        texts.push(text);
                    }
                }
            }
        }
        let has_calls = !told.tool_calls.is_empty();
        if self.writer.target.reasoning_replay && (has_calls || !thoughts.is_empty()) {
            told.reasoning_content = Some(thoughts);
        } else if !thoughts.is_empty() && told.reasoning_details.is_empty() {
            self.writer.warn("DROPPED_REASONING", "reasoning");
        }
        let is_empty = texts.is_empty() && opaque.is_empty();
        told.content = match is_empty {
            // Some plain servers know no `null`.
            true if has_calls && !self.writer.target.string_content_only => Content::None,
            true if told.refusal.is_some() => Content::None,
            _ if opaque.is_empty() => Content::Text(join(texts)),
            _ => {
                let texts = texts.into_iter().map(|text| typed(TypedPart::Text { text }));
                Content::Parts(texts.chain(opaque).collect())
            }
        };
        if !is_empty || has_calls || told.refusal.is_some() {
            self.written.push(told);
        }
    }

    /// Proofs go back to the vendor that made them, in OpenRouter's words.
    fn reasoning(&self, part: &'a Part) -> Option<ReasoningDetail<'a>> {
        let Part::Reasoning { text, signature, encrypted, origin, .. } = part else { return None };
        if !reads(self.writer.target.origin, *origin) {
            return None;
        }
        let format = match origin {
            Origin::Anthropic => "anthropic-claude-v1",
            Origin::OpenAi => "openai-responses-v1",
            Origin::Google => "google-gemini-v1",
            Origin::Anyone => return None,
        };
        match (signature, encrypted) {
            (_, Some(data)) => Some(ReasoningDetail::Encrypted { data, format }),
            (Some(signature), None) => Some(ReasoningDetail::Text { text, signature: Some(signature), format }),
            (None, None) => None,
        }
    }

    fn call(
        &self,
        id: &'a str,
        name: &'a str,
        arguments: &'a str,
        kind: &ToolKind,
        signature: Option<&'a str>,
    ) -> Call<'a> {
        let names = self.writer.names;
        let called = if *kind == ToolKind::Custom && is_native(kind, Dialect::Chat, self.writer.request.source) {
            Called::Custom { custom: Custom { name: names.sent(name), input: arguments } }
        } else {
            let arguments = match arguments.trim() {
                "" if *kind == ToolKind::Function => Cow::Borrowed("{}"),
                _ => emulated_arguments(kind, arguments),
            };
            Called::Function { function: Function { name: names.sent(name), arguments } }
        };
        let signature = signature.filter(|_| self.writer.target.origin == Origin::Google);
        Call {
            id: tool_id(id, self.id_rule()),
            called,
            extra_content: signature
                .map(|thought_signature| ExtraContent { google: Google { thought_signature } }),
        }
    }

    fn id_rule(&self) -> IdRule {
        if self.writer.target.tool_ids_9_alnum { IdRule::NineAlnum } else { IdRule::Chat }
    }

    /// One part of what a user or the system says.
    fn part(&mut self, part: &'a Part) -> Option<ContentPart<'a>> {
        let keeps_marks = self.writer.target.chat_cache_marks;
        let cache_control = |mark: &'a Option<CacheMark>| {
            mark.as_ref().filter(|_| keeps_marks).map(CacheControl::new)
        };
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
                self.writer.warn("DROPPED_PART", "content");
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
                self.writer.warn("DROPPED_PART", "file");
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
        self.writer.warn("DROPPED_PART", what);
        TypedPart::Text { text: Cow::Owned(format!("[{what} omitted]")) }
    }

    /// A lone text as text, anything more as a list of parts.
    fn content(&self, mut parts: Vec<ContentPart<'a>>) -> Content<'a> {
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

    fn push(&mut self, role: &'static str, content: Content<'a>) {
        self.written.push(message(role, content));
    }

    /// Says what still waits: nobody else will.
    fn flush(&mut self) {
        if !self.waiting.is_empty() {
            self.user(&[]);
        }
    }
}

fn message<'a>(role: &'static str, content: Content<'a>) -> Message<'a> {
    Message {
        role,
        tool_call_id: None,
        content,
        reasoning_content: None,
        reasoning_details: Vec::new(),
        refusal: None,
        tool_calls: Vec::new(),
    }
}

fn typed(part: TypedPart<'_>) -> ContentPart<'_> {
    ContentPart::Typed { part, cache_control: None }
}

fn joined(parts: Vec<ContentPart<'_>>) -> Cow<'_, str> {
    let texts = parts.into_iter().filter_map(|part| match part {
        ContentPart::Typed { part: TypedPart::Text { text }, .. } => Some(text),
        _ => None,
    });
    join(texts.collect())
}

/// The texts, each on a line of its own.
fn join(mut texts: Vec<Cow<'_, str>>) -> Cow<'_, str> {
    if texts.len() == 1 {
        return texts.remove(0);
    }
    Cow::Owned(texts.join("\n"))
}
