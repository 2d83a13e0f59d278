//! Turns, spread out into the items of `input`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use domain::Dialect;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::canonical::ids::{IdRule, tool_id};
use crate::canonical::media::data_url;
use crate::canonical::reasoning::reads;
use crate::canonical::{Media, Origin, Part, Role, Source, Target, ToolKind, Turn, lines};

use super::Writer;

/// An item as the client wrote it, or one made here.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Entry<'a> {
    Raw(&'a RawValue),
    Made(Item<'a>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Item<'a> {
    Message {
        role: &'static str,
        content: Content<'a>,
    },
    FunctionCall {
        call_id: Cow<'a, str>,
        name: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<&'a str>,
        arguments: &'a str,
    },
    CustomToolCall {
        call_id: Cow<'a, str>,
        name: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<&'a str>,
        input: &'a str,
    },
    LocalShellCall {
        call_id: Cow<'a, str>,
        status: &'static str,
        action: &'a RawValue,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: Content<'a>,
    },
    CustomToolCallOutput {
        call_id: Cow<'a, str>,
        output: Content<'a>,
    },
    LocalShellCallOutput {
        id: Cow<'a, str>,
        output: Content<'a>,
    },
    Reasoning {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        summary: Vec<ContentPart<'a>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<ContentPart<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        encrypted_content: Option<&'a str>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ContentPart<'a> {
    InputText {
        text: Cow<'a, str>,
    },
    OutputText {
        text: Cow<'a, str>,
    },
    SummaryText {
        text: Cow<'a, str>,
    },
    ReasoningText {
        text: Cow<'a, str>,
    },
    Refusal {
        refusal: &'a str,
    },
    InputImage {
        #[serde(skip_serializing_if = "Option::is_none")]
        image_url: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_id: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<&'a str>,
    },
    InputFile {
        #[serde(skip_serializing_if = "Option::is_none")]
        file_id: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_url: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        filename: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_data: Option<String>,
    },
    InputAudio {
        input_audio: Audio<'a>,
    },
}

#[derive(Serialize)]
pub(super) struct Audio<'a> {
    data: &'a str,
    format: &'a str,
}

/// The items of a conversation.
pub(super) fn write<'t, 'a: 't>(turns: &'t [Turn], writer: &mut Writer<'a>) -> Vec<Entry<'t>> {
    let mut spread = Spread { kinds: kinds(turns), writer, items: Vec::new() };
    for turn in turns {
        match turn.role {
            Role::System => spread.system(turn),
            Role::User => spread.user(turn),
            Role::Assistant => spread.assistant(turn),
        }
    }
    spread.items
}

/// Words of the system in the middle of the conversation, in the role the target knows.
pub(super) fn system<'t>(text: impl Into<Cow<'t, str>>, target: &Target) -> Entry<'t> {
    let role = if target.developer_role { "developer" } else { "system" };
    message(role, vec![ContentPart::InputText { text: text.into() }], target)
}

struct Spread<'w, 't, 'a> {
    /// Kind of every call, by its id: the answer to a call is an item of the same kind.
    kinds: BTreeMap<&'t str, &'t ToolKind>,
    writer: &'w mut Writer<'a>,
    items: Vec<Entry<'t>>,
}

fn kinds(turns: &[Turn]) -> BTreeMap<&str, &ToolKind> {
    let calls = turns.iter().flat_map(|turn| &turn.parts).filter_map(|part| match part {
        Part::ToolCall { id, kind, .. } if *kind != ToolKind::Function => Some((id.as_str(), kind)),
        _ => None,
    });
    calls.collect()
}

impl<'t, 'a: 't> Spread<'_, 't, 'a> {
    fn system(&mut self, turn: &'t Turn) {
        let texts: Vec<&str> = turn.parts.iter().filter_map(super::text_of).collect();
        self.items.push(system(texts.join("\n\n"), self.writer.target));
    }

    /// Answers to calls stand before everything else the turn holds, images that do not fit into them behind.
    fn user(&mut self, turn: &'t Turn) {
        let mut content = Vec::new();
        for part in &turn.parts {
            match part {
                Part::ToolResult { call_id, content: result, is_error, .. } => {
                    let output = self.output(result, *is_error, &mut content);
                    let item = self.answer(call_id, output);
                    self.items.push(Entry::Made(item));
                }
                Part::Opaque { dialect: Dialect::Responses, json, .. } => self.items.push(Entry::Raw(json)),
                part => content.extend(self.part(part)),
            }
        }
        if !content.is_empty() {
            self.items.push(message("user", content, self.writer.target));
        }
    }

    fn answer(&self, call_id: &'t str, output: Content<'t>) -> Item<'t> {
        let id = tool_id(call_id, IdRule::Responses);
        match self.kinds.get(call_id) {
            Some(ToolKind::Custom) => Item::CustomToolCallOutput { call_id: id, output },
            Some(ToolKind::LocalShell) => Item::LocalShellCallOutput { id, output },
            Some(ToolKind::Function | ToolKind::Server(_)) | None => Item::FunctionCallOutput { call_id: id, output },
        }
    }

    /// What a call brought. Only the vendor itself takes images here; for others they go to `beside`.
    fn output(&mut self, result: &'t [Part], is_error: bool, beside: &mut Vec<ContentPart<'t>>) -> Content<'t> {
        let (mut texts, mut parts) = (Vec::new(), Vec::new());
        for part in result {
            match self.part(part) {
                Some(ContentPart::InputText { text }) => texts.push(text),
                part => parts.extend(part),
            }
        }
        let mut text = lines(texts);
        if is_error && !text.trim_start().starts_with("Error") {
            text.to_mut().insert_str(0, "Error: ");
        }
        if parts.is_empty() {
            return Content::Text(text);
        }
        if self.writer.target.origin == Origin::OpenAi {
            if !text.is_empty() {
                parts.insert(0, ContentPart::InputText { text });
            }
            return Content::Parts(parts);
        }
        beside.append(&mut parts);
        let note = "[the tool's images follow]";
        Content::Text(if text.is_empty() { Cow::Borrowed(note) } else { Cow::Owned(format!("{text}\n{note}")) })
    }

    fn assistant(&mut self, turn: &'t Turn) {
        let mut said = Vec::new();
        for (at, part) in turn.parts.iter().enumerate() {
            match part {
                Part::Text { text, .. } => said.push(ContentPart::OutputText { text: Cow::Borrowed(text) }),
                Part::Refusal { text } => said.push(ContentPart::Refusal { refusal: text }),
                Part::Opaque { dialect, summary, .. } if *dialect != Dialect::Responses => {
                    if !summary.is_empty() {
                        said.push(ContentPart::OutputText { text: Cow::Borrowed(summary) });
                    }
                }
                part => {
                    self.say(&mut said);
                    let rest = turn.parts.get(at + 1..).unwrap_or_default();
                    let item = self.item(part, rest);
                    self.items.extend(item);
                }
            }
        }
        self.say(&mut said);
    }

    fn say(&mut self, said: &mut Vec<ContentPart<'t>>) {
        if !said.is_empty() {
            self.items.push(message("assistant", std::mem::take(said), self.writer.target));
        }
    }

    fn item(&mut self, part: &'t Part, rest: &[Part]) -> Option<Entry<'t>> {
        match part {
            Part::ToolCall { id, name, arguments, kind, .. } => Some(Entry::Made(self.call(id, name, arguments, kind))),
            Part::Reasoning { .. } => self.reasoning(part, rest).map(Entry::Made),
            Part::Opaque { json, .. } => Some(Entry::Raw(json)),
            Part::Image { .. } | Part::Document { .. } | Part::Audio { .. } => {
                self.writer.params.warn("DROPPED_PART", "media of an assistant turn");
                None
            }
            Part::Text { .. } | Part::Refusal { .. } | Part::ToolResult { .. } => None,
        }
    }

    fn call(&self, id: &'t str, name: &'t str, arguments: &'t str, kind: &ToolKind) -> Item<'t> {
        let call_id = tool_id(id, IdRule::Responses);
        let (name, namespace) = self.writer.name(name);
        match kind {
            ToolKind::Custom => Item::CustomToolCall { call_id, name, namespace, input: arguments },
            ToolKind::LocalShell => {
                let action = serde_json::from_str(arguments).unwrap_or(RawValue::NULL);
                Item::LocalShellCall { call_id, status: "completed", action }
            }
            ToolKind::Function | ToolKind::Server(_) => {
                let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
                Item::FunctionCall { call_id, name, namespace, arguments }
            }
        }
    }

    /// Reasoning goes back to its maker alone, and only in front of what it led to. Without storage at the vendor an item
    /// that is not whole would be looked up there in vain.
    fn reasoning(&mut self, part: &'t Part, rest: &[Part]) -> Option<Item<'t>> {
        let Part::Reasoning { text, signature, encrypted, item_id, origin } = part else { return None };
        let target = self.writer.target;
        let leads_somewhere = rest.iter().any(|part| !matches!(part, Part::Reasoning { .. }));
        let proof = encrypted.as_deref().or(signature.as_deref());
        let is_stored = item_id.is_some() && self.writer.request.store != Some(false) && self.writer.is_own();
        if leads_somewhere && reads(target.origin, *origin) && (proof.is_some() || is_stored) {
            let summary = texts(text, |text| ContentPart::SummaryText { text });
            return Some(Item::Reasoning {
                id: item_id.as_deref(),
                summary,
                content: Vec::new(),
                encrypted_content: proof,
            });
        }
        if leads_somewhere && target.reasoning_replay && !text.is_empty() {
            let content = texts(text, |text| ContentPart::ReasoningText { text });
            return Some(Item::Reasoning { id: None, summary: Vec::new(), content, encrypted_content: None });
        }
        self.writer.params.warn("DROPPED_REASONING", "reasoning");
        None
    }

    /// A part of a user's message or of a call's result.
    fn part(&mut self, part: &'t Part) -> Option<ContentPart<'t>> {
        match part {
            Part::Text { text, .. } | Part::Refusal { text } | Part::Opaque { summary: text, .. } => {
                (!text.is_empty()).then_some(ContentPart::InputText { text: Cow::Borrowed(text) })
            }
            Part::Image { media, .. } => Some(self.image(media)),
            Part::Document { media, .. } => Some(document(media)),
            Part::Audio { media } => self.audio(media),
            Part::Reasoning { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => None,
        }
    }

    fn image(&mut self, media: &'t Media) -> ContentPart<'t> {
        if !self.writer.target.takes_images {
            self.writer.params.warn("DROPPED_PART", "image");
            return ContentPart::InputText { text: Cow::Borrowed("[image omitted]") };
        }
        let (image_url, file_id) = match &media.source {
            Source::Inline { mime, data } => (Some(Cow::Owned(data_url(mime, data))), None),
            Source::Url(url) => (Some(Cow::Borrowed(url.as_str())), None),
            Source::File(id) => (None, Some(id.as_str())),
            Source::Text(text) => return ContentPart::InputText { text: Cow::Borrowed(text) },
        };
        ContentPart::InputImage { image_url, file_id, detail: media.detail.as_deref() }
    }

    fn audio(&mut self, media: &'t Media) -> Option<ContentPart<'t>> {
        match &media.source {
            Source::Inline { mime, data } if self.writer.target.takes_audio => {
                let format = match mime.strip_prefix("audio/").unwrap_or(mime) {
                    "mpeg" => "mp3",
                    "x-wav" | "wave" => "wav",
                    other => other,
                };
                Some(ContentPart::InputAudio { input_audio: Audio { data, format } })
            }
            _ => {
                self.writer.params.warn("DROPPED_PART", "audio");
                None
            }
        }
    }
}

fn document(media: &Media) -> ContentPart<'_> {
    let (mut file_id, mut file_url, mut file_data) = (None, None, None);
    let mut filename = media.name.as_deref();
    match &media.source {
        Source::Inline { mime, data } => {
            file_data = Some(data_url(mime, data));
            filename = filename.or(Some("document.pdf"));
        }
        Source::Url(url) => file_url = Some(url.as_str()),
        Source::File(id) => file_id = Some(id.as_str()),
        Source::Text(text) => return ContentPart::InputText { text: Cow::Borrowed(text) },
    }
    ContentPart::InputFile { file_id, file_url, filename, file_data }
}

fn texts<'t>(text: &'t str, part: impl Fn(Cow<'t, str>) -> ContentPart<'t>) -> Vec<ContentPart<'t>> {
    if text.is_empty() { Vec::new() } else { vec![part(Cow::Borrowed(text))] }
}

/// A message; as plain text for servers that take no parts.
fn message<'t>(role: &'static str, parts: Vec<ContentPart<'t>>, target: &Target) -> Entry<'t> {
    let texts = || -> Option<Vec<&str>> {
        parts
            .iter()
            .map(|part| match part {
                ContentPart::InputText { text } | ContentPart::OutputText { text } => Some(&**text),
                _ => None,
            })
            .collect()
    };
    let plain = if target.string_content_only { texts().map(|texts| texts.join("\n")) } else { None };
    let content = plain.map_or_else(|| Content::Parts(parts), |text| Content::Text(Cow::Owned(text)));
    Entry::Made(Item::Message { role, content })
}
