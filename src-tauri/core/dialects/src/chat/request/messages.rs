//! The messages of a request, read into system text and turns.

use domain::Dialect;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::wire::{CacheControl, Call, ContentPart, ImageUrl, Message, ReasoningDetail};
use crate::canonical::ids::minted;
use crate::canonical::reasoning::unseal;
use crate::canonical::{CacheMark, Media, Origin, Part, Request, Role, Source, ToolKind, Turn, media};
use crate::chat::wire::{arguments_text, thought_signature};
use crate::fields;
use crate::lenient::{Content, Text, some_string, str_of};
use crate::translate::Refusal;

/// Reads the list of messages into `request`.
pub(super) fn read(mut messages: Vec<Message<'_>>, request: &mut Request) -> Result<(), Refusal> {
    request.turns.reserve(messages.len());
    let mut reader = Reader { request, legacy_calls: 0 };
    messages.iter_mut().enumerate().try_for_each(|(place, message)| reader.message(place, message))
}

struct Reader<'r> {
    request: &'r mut Request,
    /// Legacy calls so far: they have no ids, and a result belongs to the one before it.
    legacy_calls: usize,
}

impl Reader<'_> {
    fn message(&mut self, place: usize, message: &mut Message<'_>) -> Result<(), Refusal> {
        let field = || format!("messages[{place}]");
        let said = message.content.take();
        let role = str_of(&message.role);
        match role {
            // A developer's word counts from the start wherever it stands; system text in the middle stays there.
            "developer" => {
                let parts = content(said, &field, message.cache_control)?;
                self.request.system.extend(parts);
            }
            "system" => {
                let parts = content(said, &field, message.cache_control)?;
                if self.request.turns.is_empty() {
                    self.request.system.extend(parts);
                } else {
                    self.request.turns.push(Turn { role: Role::System, parts });
                }
            }
            "assistant" | "model" => {
                let parts = self.assistant(place, message, said, &field)?;
                self.request.turns.push(Turn { role: Role::Assistant, parts });
            }
            "tool" | "function" => {
                let call_id = match some_string(&message.tool_call_id) {
                    Some(id) => id,
                    None => legacy_id(self.legacy_calls.saturating_sub(1)),
                };
                let content = content(said, &field, None)?;
                let cache = message.cache_control.map(cache_mark);
                self.result(Part::ToolResult { call_id, content, is_error: false, cache });
            }
            "user" => {
                let parts = content(said, &field, message.cache_control)?;
                self.user(parts);
            }
            _ => {
                let message =
                    format!("the role `{role}` is unknown: use `system`, `developer`, `user`, `assistant` or `tool`");
                return Err(Refusal::new(format!("{}.role", field()), message));
            }
        }
        if message.name.is_some() && role != "function" {
            super::read::note_dropped(self.request, "messages.name");
        }
        Ok(())
    }

    /// Adds to the results before it.
    fn result(&mut self, result: Part) {
        match self.request.turns.last_mut() {
            Some(turn) if turn.role == Role::User && only_results(turn) => turn.parts.push(result),
            _ => self.request.turns.push(Turn { role: Role::User, parts: vec![result] }),
        }
    }

    /// Goes on after results: they are said by the same speaker.
    fn user(&mut self, parts: Vec<Part>) {
        match self.request.turns.last_mut() {
            Some(turn) if turn.role == Role::User && only_results(turn) => turn.parts.extend(parts),
            _ => self.request.turns.push(Turn { role: Role::User, parts }),
        }
    }

    fn assistant(
        &mut self,
        place: usize,
        message: &Message<'_>,
        said: Option<Content<'_>>,
        field: &dyn Fn() -> String,
    ) -> Result<Vec<Part>, Refusal> {
        let mut parts = content(said, field, message.cache_control)?;
        parts.splice(..0, reasoning(message));
        if let Some(text) = some_string(&message.refusal) {
            parts.push(Part::Refusal { text });
        }
        for (index, call) in message.tool_calls.iter().flatten().enumerate() {
            parts.push(tool_call(place, index, call));
        }
        if let Some(function) = &message.function_call {
            parts.push(Part::ToolCall {
                id: legacy_id(self.legacy_calls),
                name: str_of(&function.name).to_owned(),
                arguments: function.arguments.map(arguments_text).unwrap_or_default().into_string(),
                kind: ToolKind::Function,
                signature: None,
                cache: None,
            });
            self.legacy_calls += 1;
        }
        Ok(parts)
    }
}

fn only_results(turn: &Turn) -> bool {
    turn.parts.iter().all(|part| matches!(part, Part::ToolResult { .. }))
}

fn legacy_id(number: usize) -> String {
    format!("call_legacy_{number}")
}

fn tool_call(place: usize, index: usize, call: &Call<'_>) -> Part {
    let (name, arguments, kind) = match (&call.function, &call.custom) {
        (Some(function), _) => {
            let arguments = function.arguments.map(arguments_text).unwrap_or_default().into_string();
            (str_of(&function.name), arguments, ToolKind::Function)
        }
        (None, Some(custom)) => (str_of(&custom.name), str_of(&custom.input).to_owned(), ToolKind::Custom),
        (None, None) => ("", String::new(), ToolKind::Function),
    };
    Part::ToolCall {
        id: some_string(&call.id).unwrap_or_else(|| minted(&format!("{place} {arguments}"), index, name)),
        name: name.to_owned(),
        arguments,
        kind,
        signature: call.extra_content.and_then(thought_signature),
        cache: None,
    }
}

/// The thinking of a turn: structured where it came so, else the plain text.
fn reasoning(message: &Message<'_>) -> Vec<Part> {
    let details = message.reasoning_details.as_deref().unwrap_or_default();
    let mut parts: Vec<Part> = Vec::new();
    for detail in details {
        let part = detailed(detail);
        // Text and its proof come as two entries.
        if let (
            Some(Part::Reasoning { signature: earlier @ None, origin, encrypted: None, .. }),
            Part::Reasoning { text, signature: Some(proof), origin: maker, .. },
        ) = (parts.last_mut(), &part)
            && text.is_empty()
        {
            *earlier = Some(proof.clone());
            *origin = *maker;
        } else {
            parts.push(part);
        }
    }
    let plain = [&message.reasoning_content, &message.reasoning].map(str_of).into_iter().find(|text| !text.is_empty());
    let Some(plain) = plain else { return parts };
    match parts.first_mut() {
        // The plain text repeats what the details say, or is all the text there is.
        Some(Part::Reasoning { text, .. }) if text.is_empty() => plain.clone_into(text),
        Some(_) => {}
        None => parts.push(Part::Reasoning {
            text: plain.to_owned(),
            signature: None,
            encrypted: None,
            item_id: None,
            origin: Origin::Anyone,
        }),
    }
    parts
}

fn detailed(detail: &ReasoningDetail<'_>) -> Part {
    let maker = |proof: &str| {
        let (maker, proof) = unseal(proof, Dialect::Chat);
        let maker = if maker == Origin::Anyone { stated_maker(str_of(&detail.format)) } else { maker };
        (maker, proof.into_owned())
    };
    let proof = some_string(&detail.signature).map(|proof| maker(&proof));
    let data = some_string(&detail.data).map(|data| maker(&data));
    let origin = proof.as_ref().or(data.as_ref()).map_or(Origin::Anyone, |(maker, _)| *maker);
    // What OpenAI signs with is its encrypted form.
    let (signature, encrypted) = match (proof, data) {
        (Some((Origin::OpenAi, proof)), None) => (None, Some(proof)),
        (proof, data) => (proof.map(|(_, proof)| proof), data.map(|(_, data)| data)),
    };
    Part::Reasoning {
        text: [&detail.text, &detail.summary].map(str_of).concat(),
        signature,
        encrypted,
        item_id: some_string(&detail.id),
        origin,
    }
}

/// The maker that OpenRouter's `format` names.
fn stated_maker(format: &str) -> Origin {
    match format.split('-').next().unwrap_or_default() {
        "anthropic" => Origin::Anthropic,
        "openai" | "azure" => Origin::OpenAi,
        "google" => Origin::Google,
        _ => Origin::Anyone,
    }
}

/// Content is a text, a list of parts or nothing. A mark on the message means its last part.
fn content(
    said: Option<Content<'_>>,
    field: &dyn Fn() -> String,
    mark: Option<&RawValue>,
) -> Result<Vec<Part>, Refusal> {
    let mut parts = match said {
        Some(Content::Text(text)) if !text.as_str().is_empty() => {
            vec![Part::Text { text: text.into_string(), cache: None }]
        }
        Some(Content::Text(_)) | None => Vec::new(),
        Some(Content::Parts(list)) => {
            list.into_iter().map(|part| content_part(part, field)).collect::<Result<_, _>>()?
        }
        Some(Content::Part(part)) => vec![content_part(&part, field)?],
    };
    if let (Some(mark), Some(Part::Text { cache, .. } | Part::Image { cache, .. } | Part::Document { cache, .. })) =
        (mark, parts.last_mut())
    {
        *cache = Some(cache_mark(mark));
    }
    Ok(parts)
}

fn content_part(raw: &RawValue, field: &dyn Fn() -> String) -> Result<Part, Refusal> {
    if raw.get().starts_with('"') {
        let text = serde_json::from_str::<Text<'_>>(raw.get()).unwrap_or_default().into_string();
        return Ok(Part::Text { text, cache: None });
    }
    let refuse = |message: String| Refusal::new(format!("{}.content", field()), message);
    let part: ContentPart<'_> = fields::parse(format_args!("{}.content", field()), raw.get())?;
    let cache = part.cache_control.map(cache_mark);
    Ok(match str_of(&part.kind) {
        "text" | "input_text" | "output_text" | "" => {
            Part::Text { text: part.text.unwrap_or_default().into_string(), cache }
        }
        "refusal" => Part::Refusal { text: str_of(&part.refusal).to_owned() },
        "image_url" | "input_image" => {
            let image = image(&part);
            Part::Image { media: image.ok_or_else(|| refuse("an image needs `image_url.url`".to_owned()))?, cache }
        }
        "file" | "input_file" => {
            let media = part.file.as_ref().and_then(document);
            let missing = || refuse("a file needs `file.file_id` or `file.file_data`".to_owned());
            Part::Document { media: media.ok_or_else(missing)?, cache }
        }
        "input_audio" => {
            let audio = part.input_audio.as_ref().ok_or_else(|| refuse("sound needs `input_audio`".to_owned()))?;
            let mime = match str_of(&audio.format) {
                "mp3" => "audio/mpeg".to_owned(),
                format => format!("audio/{format}"),
            };
            let source = media::from_base64(&mime, str_of(&audio.data));
            Part::Audio { media: Media { source, name: None, detail: None } }
        }
        kind => {
            let summary = format!("[{kind}]");
            Part::Opaque { dialect: Dialect::Chat, json: raw.to_owned(), summary }
        }
    })
}

fn image(part: &ContentPart<'_>) -> Option<Media> {
    let raw = part.image_url?;
    let (url, detail) = if raw.get().starts_with('{') {
        let image: ImageUrl<'_> = serde_json::from_str(raw.get()).ok()?;
        (some_string(&image.url)?, some_string(&image.detail))
    } else {
        (serde_json::from_str::<String>(raw.get()).ok()?, some_string(&part.detail))
    };
    Some(Media { source: media::from_url(&url), name: None, detail })
}

fn document(file: &super::wire::File<'_>) -> Option<Media> {
    let source = match (some_string(&file.file_id), some_string(&file.file_data)) {
        (Some(id), _) => Source::File(id),
        (None, Some(data)) if data.starts_with("https://") || data.starts_with("http://") => Source::Url(data),
        (None, Some(data)) => media::from_base64("", &data),
        (None, None) => return None,
    };
    Some(Media { source, name: some_string(&file.filename), detail: None })
}

pub(super) fn cache_mark(raw: &RawValue) -> CacheMark {
    let ttl = CacheControl::deserialize(&mut serde_json::Deserializer::from_str(raw.get())).ok();
    CacheMark { ttl: ttl.and_then(|control| some_string(&control.ttl)) }
}
