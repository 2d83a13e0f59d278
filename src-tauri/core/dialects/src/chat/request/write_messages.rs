//! System text and turns, written as messages.

use std::borrow::Cow;

use domain::Dialect;
use serde::Serialize;

use super::write::Writer;
use super::write_content::{Content, ContentPart, TypedPart, joined, typed};
use crate::canonical::ids::{IdRule, tool_id};
use crate::canonical::reasoning::reads;
use crate::canonical::tools::{emulated_arguments, is_native};
use crate::canonical::{Origin, Part, Role, ToolKind, Turn, lines};

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
    pub(super) writer: &'w mut Writer<'r>,
    written: Vec<Message<'a>>,
    /// System text that waits for the first words of the user, where the server has no such role.
    waiting: Option<Cow<'a, str>>,
}

impl<'a, 'r: 'a> Messages<'a, '_, 'r> {
    /// Writes the whole conversation; `instruction` is added to the system text.
    pub(super) fn write(turns: &'a [Turn], instruction: Option<String>, writer: &mut Writer<'r>) -> Vec<Message<'a>> {
        let mut system: Vec<_> = writer.request.system.iter().collect();
        system.retain(|part| !matches!(part, Part::Text { text, .. } if text.trim().is_empty()));
        let mut messages = Messages { writer, written: Vec::with_capacity(turns.len() + 1), waiting: None };
        messages.system(&system, instruction);
        for turn in turns {
            match turn.role {
                Role::System => messages.system(&turn.parts.iter().collect::<Vec<_>>(), None),
                Role::User => messages.user(&turn.parts),
                Role::Assistant => messages.assistant(&turn.parts),
            }
        }
        messages.flush();
        messages.written
    }

    fn system(&mut self, parts: &[&'a Part], instruction: Option<String>) {
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
        self.waiting = Some(joined(content));
    }

    /// Results become messages of their own, and their images go behind the last of them: in between they would part it
    /// from its call.
    fn user(&mut self, parts: &'a [Part]) {
        let mut content: Vec<_> = self.waiting.take().into_iter().map(|text| typed(TypedPart::Text { text })).collect();
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
        let mut text = lines(texts);
        if is_error && !text.starts_with("Error") {
            text = Cow::Owned(format!("Error: {text}"));
        }
        let rule = self.id_rule();
        self.written
            .push(Message { tool_call_id: Some(tool_id(call_id, rule)), ..message("tool", Content::Text(text)) });
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
            self.writer.params.warn("DROPPED_REASONING", "reasoning");
        }
        let is_empty = texts.is_empty() && opaque.is_empty();
        told.content = match is_empty {
            // Some plain servers know no `null`.
            true if has_calls && !self.writer.target.string_content_only => Content::None,
            true if told.refusal.is_some() => Content::None,
            _ if opaque.is_empty() => Content::Text(lines(texts)),
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
            extra_content: signature.map(|thought_signature| ExtraContent { google: Google { thought_signature } }),
        }
    }

    fn id_rule(&self) -> IdRule {
        if self.writer.target.tool_ids_9_alnum { IdRule::NineAlnum } else { IdRule::Chat }
    }

    fn push(&mut self, role: &'static str, content: Content<'a>) {
        self.written.push(message(role, content));
    }

    /// Says what still waits: nobody else will.
    fn flush(&mut self) {
        if self.waiting.is_some() {
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
