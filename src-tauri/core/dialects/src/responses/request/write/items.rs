//! Turns, spread out into the items of `input`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use domain::Dialect;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::canonical::ids::{IdRule, tool_id};
use crate::canonical::media::data_url;
use crate::canonical::reasoning::reads;
use crate::canonical::{Media, Origin, Part, Role, Source, Target, ToolKind, Turn};

use super::Writer;

/// An item as the client wrote it, or one made here.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Entry<'a> {
    Raw(Box<RawValue>),
    Made(Item<'a>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Item<'a> {
    Message {
        role: &'static str,
        content: Content,
    },
    FunctionCall {
        call_id: String,
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<&'a str>,
        arguments: String,
    },
    CustomToolCall {
        call_id: String,
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<&'a str>,
        input: String,
    },
    LocalShellCall {
        call_id: String,
        status: &'static str,
        action: Box<RawValue>,
    },
    FunctionCallOutput {
        call_id: String,
        output: Content,
    },
    CustomToolCallOutput {
        call_id: String,
        output: Content,
    },
    LocalShellCallOutput {
        id: String,
        output: Content,
    },
    Reasoning {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        summary: Vec<ContentPart>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<ContentPart>,
        #[serde(skip_serializing_if = "Option::is_none")]
        encrypted_content: Option<String>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ContentPart {
    InputText {
        text: String,
    },
    OutputText {
        text: String,
    },
    SummaryText {
        text: String,
    },
    ReasoningText {
        text: String,
    },
    Refusal {
        refusal: String,
    },
    InputImage {
        #[serde(skip_serializing_if = "Option::is_none")]
        image_url: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_id: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    InputFile {
        #[serde(skip_serializing_if = "Option::is_none")]
        file_id: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_url: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_data: Option<String>,
    },
    InputAudio {
        input_audio: Audio,
    },
}

#[derive(Serialize)]
pub(super) struct Audio {
    data: String,
    format: String,
}

/// The items of a conversation.
pub(super) fn write<'a>(turns: &[Turn], writer: &mut Writer<'a>) -> Vec<Entry<'a>> {
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
pub(super) fn system<'a>(text: &str, target: &Target) -> Entry<'a> {
    let role = if target.developer_role { "developer" } else { "system" };
    message(role, vec![ContentPart::InputText { text: text.to_owned() }], target)
}

struct Spread<'w, 'a> {
    /// Kind of every call, by its id: the answer to a call is an item of the same kind.
    kinds: BTreeMap<String, ToolKind>,
    writer: &'w mut Writer<'a>,
    items: Vec<Entry<'a>>,
}

fn kinds(turns: &[Turn]) -> BTreeMap<String, ToolKind> {
    let calls = turns.iter().flat_map(|turn| &turn.parts).filter_map(|part| match part {
        Part::ToolCall { id, kind, .. } if *kind != ToolKind::Function => Some((id.clone(), kind.clone())),
        _ => None,
    });
    calls.collect()
}

impl<'a> Spread<'_, 'a> {
    fn system(&mut self, turn: &Turn) {
        let texts: Vec<&str> = turn.parts.iter().filter_map(super::text_of).collect();
        self.items.push(system(&texts.join("\n\n"), self.writer.target));
    }

    /// Answers to calls stand before everything else the turn holds, images that do not fit into them behind.
    fn user(&mut self, turn: &Turn) {
        let mut content = Vec::new();
        for part in &turn.parts {
            match part {
                Part::ToolResult { call_id, content: result, is_error, .. } => {
                    let output = self.output(result, *is_error, &mut content);
                    let item = self.answer(call_id, output);
                    self.items.push(Entry::Made(item));
                }
                Part::Opaque { dialect: Dialect::Responses, json, .. } => self.items.push(Entry::Raw(json.clone())),
                part => content.extend(self.part(part)),
            }
        }
        if !content.is_empty() {
            self.items.push(message("user", content, self.writer.target));
        }
    }

    fn answer(&self, call_id: &str, output: Content) -> Item<'a> {
        let id = tool_id(call_id, IdRule::Responses).into_owned();
        match self.kinds.get(call_id) {
            Some(ToolKind::Custom) => Item::CustomToolCallOutput { call_id: id, output },
            Some(ToolKind::LocalShell) => Item::LocalShellCallOutput { id, output },
            Some(ToolKind::Function | ToolKind::Server(_)) | None => Item::FunctionCallOutput { call_id: id, output },
        }
    }

    /// What a call brought. Only the vendor itself takes images here; for others they go to `beside`.
    fn output(&mut self, result: &[Part], is_error: bool, beside: &mut Vec<ContentPart>) -> Content {
        let (mut texts, mut parts) = (Vec::new(), Vec::new());
        for part in result {
            match self.part(part) {
                Some(ContentPart::InputText { text }) => texts.push(text),
                part => parts.extend(part),
            }
        }
        let mut text = texts.join("\n");
        if is_error && !text.trim_start().starts_with("Error") {
            text.insert_str(0, "Error: ");
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
        Content::Text(if text.is_empty() { note.to_owned() } else { format!("{text}\n{note}") })
    }

    fn assistant(&mut self, turn: &Turn) {
        let mut said = Vec::new();
        for (at, part) in turn.parts.iter().enumerate() {
            match part {
                Part::Text { text, .. } => said.push(ContentPart::OutputText { text: text.clone() }),
                Part::Refusal { text } => said.push(ContentPart::Refusal { refusal: text.clone() }),
                Part::Opaque { dialect, summary, .. } if *dialect != Dialect::Responses => {
                    if !summary.is_empty() {
                        said.push(ContentPart::OutputText { text: summary.clone() });
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

    fn say(&mut self, said: &mut Vec<ContentPart>) {
        if !said.is_empty() {
            self.items.push(message("assistant", std::mem::take(said), self.writer.target));
        }
    }

    fn item(&mut self, part: &Part, rest: &[Part]) -> Option<Entry<'a>> {
        match part {
            Part::ToolCall { id, name, arguments, kind, .. } => Some(Entry::Made(self.call(id, name, arguments, kind))),
            Part::Reasoning { .. } => self.reasoning(part, rest).map(Entry::Made),
            Part::Opaque { json, .. } => Some(Entry::Raw(json.clone())),
            Part::Image { .. } | Part::Document { .. } | Part::Audio { .. } => {
                self.writer.params.warn("DROPPED_PART", "media of an assistant turn");
                None
            }
            Part::Text { .. } | Part::Refusal { .. } | Part::ToolResult { .. } => None,
        }
    }

    fn call(&self, id: &str, name: &str, arguments: &str, kind: &ToolKind) -> Item<'a> {
        let call_id = tool_id(id, IdRule::Responses).into_owned();
        let (name, namespace) = self.writer.name(name);
        let name = name.into_owned();
        match kind {
            ToolKind::Custom => Item::CustomToolCall { call_id, name, namespace, input: arguments.to_owned() },
            ToolKind::LocalShell => {
                let action = RawValue::from_string(arguments.to_owned());
                let action = action.unwrap_or_else(|_| RawValue::NULL.to_owned());
                Item::LocalShellCall { call_id, status: "completed", action }
            }
            ToolKind::Function | ToolKind::Server(_) => {
                let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
                Item::FunctionCall { call_id, name, namespace, arguments: arguments.to_owned() }
            }
        }
    }

    /// Reasoning goes back to its maker alone, and only in front of what it led to. Without storage at the vendor an item
    /// that is not whole would be looked up there in vain.
    fn reasoning(&mut self, part: &Part, rest: &[Part]) -> Option<Item<'a>> {
        let Part::Reasoning { text, signature, encrypted, item_id, origin } = part else { return None };
        let target = self.writer.target;
        let leads_somewhere = rest.iter().any(|part| !matches!(part, Part::Reasoning { .. }));
        let proof = encrypted.clone().or_else(|| signature.clone());
        let is_stored = item_id.is_some() && self.writer.request.store != Some(false) && self.writer.is_own();
        if leads_somewhere && reads(target.origin, *origin) && (proof.is_some() || is_stored) {
            let summary = texts(text, |text| ContentPart::SummaryText { text });
            return Some(Item::Reasoning {
                id: item_id.clone(),
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
    fn part(&mut self, part: &Part) -> Option<ContentPart> {
        match part {
            Part::Text { text, .. } | Part::Refusal { text } | Part::Opaque { summary: text, .. } => {
                (!text.is_empty()).then(|| ContentPart::InputText { text: text.clone() })
            }
            Part::Image { media, .. } => Some(self.image(media)),
            Part::Document { media, .. } => Some(document(media)),
            Part::Audio { media } => self.audio(media),
            Part::Reasoning { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => None,
        }
    }

    fn image(&mut self, media: &Media) -> ContentPart {
        if !self.writer.target.takes_images {
            self.writer.params.warn("DROPPED_PART", "image");
            return ContentPart::InputText { text: "[image omitted]".to_owned() };
        }
        let (image_url, file_id) = match &media.source {
            Source::Inline { mime, data } => (Some(data_url(mime, data)), None),
            Source::Url(url) => (Some(url.clone()), None),
            Source::File(id) => (None, Some(id.clone())),
            Source::Text(text) => return ContentPart::InputText { text: text.clone() },
        };
        ContentPart::InputImage { image_url, file_id, detail: media.detail.clone() }
    }

    fn audio(&mut self, media: &Media) -> Option<ContentPart> {
        match &media.source {
            Source::Inline { mime, data } if self.writer.target.takes_audio => {
                let format = match mime.strip_prefix("audio/").unwrap_or(mime) {
                    "mpeg" => "mp3",
                    "x-wav" | "wave" => "wav",
                    other => other,
                };
                Some(ContentPart::InputAudio { input_audio: Audio { data: data.clone(), format: format.to_owned() } })
            }
            _ => {
                self.writer.params.warn("DROPPED_PART", "audio");
                None
            }
        }
    }
}

fn document(media: &Media) -> ContentPart {
    let (mut file_id, mut file_url, mut file_data) = (None, None, None);
    let mut filename = media.name.clone();
    match &media.source {
        Source::Inline { mime, data } => {
            file_data = Some(data_url(mime, data));
            filename.get_or_insert_with(|| "document.pdf".to_owned());
        }
        Source::Url(url) => file_url = Some(url.clone()),
        Source::File(id) => file_id = Some(id.clone()),
        Source::Text(text) => return ContentPart::InputText { text: text.clone() },
    }
    ContentPart::InputFile { file_id, file_url, filename, file_data }
}

fn texts(text: &str, part: impl Fn(String) -> ContentPart) -> Vec<ContentPart> {
    if text.is_empty() { Vec::new() } else { vec![part(text.to_owned())] }
}

/// A message; as plain text for servers that take no parts.
fn message<'a>(role: &'static str, parts: Vec<ContentPart>, target: &Target) -> Entry<'a> {
    let texts = || -> Option<Vec<Cow<'_, str>>> {
        parts
            .iter()
            .map(|part| match part {
                ContentPart::InputText { text } | ContentPart::OutputText { text } => {
                    Some(Cow::Borrowed(text.as_str()))
                }
                _ => None,
            })
            .collect()
    };
    let plain = if target.string_content_only { texts().map(|texts| texts.join("\n")) } else { None };
    let content = plain.map_or_else(|| Content::Parts(parts), Content::Text);
    Entry::Made(Item::Message { role, content })
}
