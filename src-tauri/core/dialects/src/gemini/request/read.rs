//! Reads a request: the conversation here, tools and options beside it.
//!
//! A result names its call by id, or by its tool alone: then it answers the first call of that tool which has none yet.

use std::collections::BTreeMap;
use std::fmt::Display;

use domain::Dialect;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::wire::{Body, Content, Members, ReadBlob, ReadCall, ReadFile, ReadPart, ReadResponse};
use super::{options, tools};
use crate::canonical::{Media, Origin, Part, Request, Role, Source, ToolKind, Turn, arguments, ids, media, reasoning};
use crate::fields::{Elements, parse};
use crate::translate::Refusal;

pub(crate) fn read(body: &[u8], model: &str, stream: bool) -> Result<Request, Refusal> {
    let body = std::str::from_utf8(body).map_err(|_| Refusal::new("body", "is not UTF-8"))?;
    let body = members(body)?;
    let mut conversation = Conversation::default();
    let mut request = Request::new(model, Dialect::Gemini);
    request.stream = stream;
    let system = body.system.map(|system| parts_of("systemInstruction.parts", &system)).transpose()?;
    for (number, part) in system.into_iter().flatten().enumerate() {
        let part: ReadPart<'_> = parse(format_args!("systemInstruction.parts[{number}]"), part.get())?;
        let text = part.text.filter(|text| !text.is_empty());
        request.system.extend(text.map(|text| Part::Text { text, cache: None }));
    }
    for (place, content) in body.contents.iter().enumerate() {
        conversation.content(place, content)?;
    }
    request.turns = conversation.turns;
    request.tools = tools::read(&body.tools)?;
    request.tool_choice = body.tool_config.and_then(tools::read_choice);
    options::read(body.generation, &mut request);
    request.dropped = body.dropped;
    Ok(request)
}

fn members(body: &str) -> Result<Body<'_>, Refusal> {
    let Members { contents, others } = parse("", body)?;
    let mut read = Body { contents, ..Body::default() };
    for (name, value) in others {
        match name.as_str() {
            "systemInstruction" | "system_instruction" => read.system = Some(parse("systemInstruction", value.get())?),
            "tools" => read.tools = list("tools", value)?,
            "toolConfig" | "tool_config" => read.tool_config = parse("toolConfig", value.get())?,
            "generationConfig" | "generation_config" => {
                read.generation = options::parse_config(value, &mut read.dropped)?;
            }
            // Whoever counts tokens may send the whole request so.
            "generateContentRequest" | "generate_content_request" => return members(value.get()),
            "model" => {}
            _ => read.dropped.push(name),
        }
    }
    Ok(read)
}

/// A list, one element that should stand in a list, or nothing.
pub(super) fn list<'a, T: Deserialize<'a>>(field: impl Display, json: &'a RawValue) -> Result<Vec<T>, Refusal> {
    match json.get().as_bytes().first() {
        Some(b'[') => parse(field, json.get()),
        Some(b'n') => Ok(Vec::new()),
        _ => Ok(vec![parse(field, json.get())?]),
    }
}

fn parts_of<'a>(at: impl Display, content: &Content<'a>) -> Result<Vec<&'a RawValue>, Refusal> {
    content.parts.map_or_else(|| Ok(Vec::new()), |parts| list(at, parts))
}

#[derive(Default)]
struct Conversation {
    turns: Vec<Turn>,
    /// Calls without a result so far: id and name.
    open: Vec<(String, String)>,
}

/// The parts of one turn; results stand before the others.
#[derive(Default)]
struct Parts {
    results: Vec<Part>,
    others: Vec<Part>,
    calls: usize,
}

impl Conversation {
    fn content(&mut self, place: usize, content: &Content<'_>) -> Result<(), Refusal> {
        let role = match content.role.as_deref() {
            Some("model" | "assistant") => Role::Assistant,
            Some("system") => Role::System,
            _ => Role::User,
        };
        let mut parts = Parts::default();
        match content.parts.filter(|list| list.get() != "null") {
            Some(list) if list.get().starts_with('[') => {
                let mut elements = Elements::of(format_args!("contents[{place}].parts"), list)?;
                while elements.peek().is_some() {
                    let (part, json) = elements.read()?;
                    self.part(part, json, &mut parts)?;
                }
            }
            Some(one) => {
                let part = parse(format_args!("contents[{place}].parts[0]"), one.get())?;
                self.part(part, one.get(), &mut parts)?;
            }
            None => {}
        }
        parts.results.append(&mut parts.others);
        if role == Role::Assistant {
            join_texts(&mut parts.results);
        }
        if !parts.results.is_empty() {
            self.turns.push(Turn { role, parts: parts.results });
        }
        Ok(())
    }

    /// Takes a part; `json` is its text.
    fn part(&mut self, part: ReadPart<'_>, json: &str, parts: &mut Parts) -> Result<(), Refusal> {
        let proof = part.thought_signature.filter(|proof| !proof.is_empty());
        if let Some(call) = part.function_call {
            self.call(call, proof, parts);
        } else if let Some(response) = part.function_response {
            let result = self.result(response)?;
            parts.results.push(result);
        } else if let Some(blob) = part.inline_data {
            parts.others.push(inline(blob));
            parts.others.extend(proof.map(|proof| thought(String::new(), Some(&proof), false)));
        } else if let Some(file) = part.file_data {
            parts.others.push(linked(file));
        } else if part.text.is_some() || proof.is_some() {
            let text = part.text.unwrap_or_default();
            text_or_thought(text, part.thought == Some(true), proof, &mut parts.others);
        } else {
            let code = part.executable_code.map(|code| code.code);
            let summary = code.or(part.code_execution_result.map(|result| result.output)).unwrap_or_default();
            parts.others.push(Part::Opaque { dialect: Dialect::Gemini, json: parse("contents", json)?, summary });
        }
        Ok(())
    }

    fn call(&mut self, call: ReadCall<'_>, proof: Option<String>, parts: &mut Parts) {
        let args = call.args.filter(|args| args.get() != "null").map_or_else(|| "{}".to_owned(), arguments::to_text);
        let id = call.id.filter(|id| !id.is_empty());
        let id = id.unwrap_or_else(|| ids::minted(&format!("{}:{args}", self.turns.len()), parts.calls, &call.name));
        parts.calls += 1;
        self.open.push((id.clone(), call.name.clone()));
        let mut signature = None;
        if let Some(proof) = &proof {
            match reasoning::unseal(proof, Dialect::Gemini) {
                (Origin::Google, proof) => signature = Some(proof.into_owned()),
                _ => parts.others.push(thought(String::new(), Some(proof), true)),
            }
        }
        parts.others.push(Part::ToolCall {
            id,
            name: call.name,
            arguments: args,
            kind: ToolKind::Function,
            signature,
            cache: None,
        });
    }

    fn result(&mut self, response: ReadResponse<'_>) -> Result<Part, Refusal> {
        let named = response.id.filter(|id| !id.is_empty());
        let by_id = named.as_ref().and_then(|named| self.open.iter().position(|(id, _)| id == named));
        let place = by_id.or_else(|| self.open.iter().position(|(_, name)| *name == response.name));
        let call_id = match place {
            Some(place) => self.open.remove(place).0,
            None => named.unwrap_or_else(|| ids::minted("orphan", self.turns.len(), &response.name)),
        };
        let (text, is_error) = response.response.map(outcome).unwrap_or_default();
        let mut content = Vec::new();
        if !text.is_empty() {
            content.push(Part::Text { text, cache: None });
        }
        let media = response.parts.map_or_else(|| Ok(Vec::new()), |parts| list("functionResponse.parts", parts))?;
        for part in media {
            let part: ReadPart<'_> = part;
            content.extend(part.inline_data.map(inline));
            content.extend(part.file_data.map(linked));
        }
        Ok(Part::ToolResult { call_id, content, is_error, cache: None })
    }
}

fn text_or_thought(text: String, is_thought: bool, proof: Option<String>, out: &mut Vec<Part>) {
    if is_thought {
        out.push(thought(text, proof.as_deref(), true));
        return;
    }
    if !text.is_empty() {
        out.push(Part::Text { text, cache: None });
    }
    out.extend(proof.map(|proof| thought(String::new(), Some(&proof), false)));
}

/// What a model said in pieces is one text: clients keep the pieces of a stream as they came.
fn join_texts(parts: &mut Vec<Part>) {
    parts.dedup_by(|next, before| match (before, next) {
        (Part::Text { text, .. }, Part::Text { text: more, .. }) => {
            text.push_str(more);
            true
        }
        // The proof of a thought that was streamed stands on its last piece, which may hold nothing else.
        (
            Part::Reasoning { text, signature: signature @ None, encrypted: encrypted @ None, origin, .. },
            Part::Reasoning { text: more, signature: proof, encrypted: data, origin: maker, .. },
        ) => {
            text.push_str(more);
            (*signature, *encrypted, *origin) = (proof.take(), data.take(), *maker);
            true
        }
        _ => false,
    });
}

/// Reasoning under its maker. A foreign proof outside a thought is reasoning that only its maker can read.
fn thought(text: String, proof: Option<&str>, is_thought: bool) -> Part {
    let (origin, proof) = match proof {
        Some(proof) => {
            let (origin, proof) = reasoning::unseal(proof, Dialect::Gemini);
            (origin, Some(proof.into_owned()))
        }
        None => (Origin::Anyone, None),
    };
    let is_encrypted = match origin {
        Origin::OpenAi => true,
        Origin::Anthropic => !is_thought,
        Origin::Google | Origin::Anyone => false,
    };
    let (signature, encrypted) = if is_encrypted { (None, proof) } else { (proof, None) };
    Part::Reasoning { text, signature, encrypted, item_id: None, origin }
}

fn inline(blob: ReadBlob) -> Part {
    let source = media::from_base64(&blob.mime_type, &blob.data);
    let mime = match &source {
        Source::Inline { mime, .. } => mime.clone(),
        Source::Url(_) | Source::File(_) | Source::Text(_) => blob.mime_type,
    };
    of_mime(&mime, Media { source, name: blob.display_name, detail: None })
}

fn linked(file: ReadFile) -> Part {
    let source =
        if is_kept_by_google(&file.file_uri) { Source::File(file.file_uri) } else { Source::Url(file.file_uri) };
    of_mime(&file.mime_type, Media { source, name: file.display_name, detail: None })
}

fn of_mime(mime: &str, media: Media) -> Part {
    match mime.split('/').next() {
        Some("image") => Part::Image { media, cache: None },
        Some("audio") => Part::Audio { media },
        _ => Part::Document { media, cache: None },
    }
}

/// Files uploaded to Google, which only Google can open.
pub(super) fn is_kept_by_google(uri: &str) -> bool {
    ["https://generativelanguage.googleapis.com/", "gs://", "files/"].iter().any(|start| uri.starts_with(start))
}

/// What most agents wrap the result of a tool in: an object with one text.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum PlainOutcome {
    #[serde(alias = "result")]
    Output(String),
    Error(String),
}

/// What a tool brought, as text, and whether that was an error. Agents wrap it in different ways; an object of another
/// shape is the result itself.
fn outcome(response: &RawValue) -> (String, bool) {
    match serde_json::from_str(response.get()) {
        Ok(PlainOutcome::Output(text)) => return (text, false),
        Ok(PlainOutcome::Error(text)) => return (text, true),
        Err(_) => {}
    }
    let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(response.get()) else {
        return (plain(response), false);
    };
    let names: Vec<&str> = members.keys().map(String::as_str).collect();
    let (member, is_error) = match names.as_slice() {
        ["output" | "result"] => (members.values().next(), false),
        ["error"] => (members.values().next(), true),
        ["content", "name"] => (members.get("content"), false),
        [] => return (String::new(), false),
        _ => return (arguments::to_text(response), false),
    };
    (member.map(|member| plain(member)).unwrap_or_default(), is_error)
}

/// A string as its text, anything else as JSON.
fn plain(value: &RawValue) -> String {
    serde_json::from_str::<String>(value.get()).unwrap_or_else(|_| arguments::to_text(value))
}
