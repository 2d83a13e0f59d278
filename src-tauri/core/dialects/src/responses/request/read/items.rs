//! The items of `input`, gathered into turns.

use serde_json::value::RawValue;

use serde::Deserialize;

use crate::canonical::reasoning::unseal;
use crate::canonical::{Origin, Part, Request, Role, ToolKind, Turn};
use crate::fields::{self, Elements};
use crate::lenient::{Text, some_string, str_of};
use crate::translate::Refusal;

use super::{content, tools, wire};

/// Reads `input`: a text, one item, or a list of both.
pub(super) fn read(input: &RawValue, request: &mut Request) -> Result<(), Refusal> {
    match input.get().as_bytes().first() {
        Some(b'[') => {
            let mut items = Elements::of("input", input)?;
            while let Some(first) = items.peek() {
                let at = items.place();
                if first == b'"' {
                    text(items.read()?.0, request);
                } else {
                    let (item, json) = items.read()?;
                    one(item, json, at, request)?;
                }
            }
            Ok(())
        }
        Some(b'{') => one(fields::parse("input[0]", input.get())?, input.get(), 0, request),
        Some(b'"') => {
            text(fields::parse("input[0]", input.get())?, request);
            Ok(())
        }
        Some(b'n') => Ok(()),
        _ => Err(Refusal::new("input", "is neither a text nor a list of items")),
    }
}

/// A text in the place of an item is said by the user.
fn text(text: Text<'_>, request: &mut Request) {
    request.turns.push(Turn { role: Role::User, parts: vec![content::text(text.into_string())] });
}

/// Reads one item. `json` is its text.
fn one(mut item: wire::Item<'_>, json: &str, at: usize, request: &mut Request) -> Result<(), Refusal> {
    let place = || format!("input[{at}]");
    let (said, output) = (std::mem::take(&mut item.content), std::mem::take(&mut item.output));
    let item = &item;
    match str_of(&item.kind) {
        "message" | "" => message(str_of(&item.role), content::read(said), request),
        "function_call" => {
            let arguments = item.arguments.map(arguments).unwrap_or_default();
            call(item, ToolKind::Function, arguments, request);
        }
        "custom_tool_call" => call(item, ToolKind::Custom, str_of(&item.input).to_owned(), request),
        "local_shell_call" => {
            let action = item.action.map_or("{}", RawValue::get).to_owned();
            call(item, ToolKind::LocalShell, action, request);
        }
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => result(item, output, request),
        "reasoning" => reasoning(item, &said, request),
        "additional_tools" => {
            let at = format!("{}.tools", place());
            tools::read(&at, item.tools.as_deref().unwrap_or_default(), &mut request.tools)?;
        }
        "item_reference" => return Err(Refusal::of_stored(place(), str_of(&item.id))),
        kind if kind.starts_with("input_") => loose_part(json, request),
        kind => opaque(kind, fields::parse(format_args!("input[{at}]"), json)?, request),
    }
    Ok(())
}

fn message(role: &str, parts: Vec<Part>, request: &mut Request) {
    match role {
        "system" | "developer" if request.turns.is_empty() => request.system.extend(parts),
        "system" | "developer" => request.turns.push(Turn { role: Role::System, parts }),
        "assistant" | "model" => {
            let says = |part: &Part| matches!(part, Part::Text { .. } | Part::Refusal { .. });
            let last = request.turns.last_mut().filter(|turn| turn.role == Role::Assistant);
            match last.filter(|turn| !turn.parts.last().is_some_and(says)) {
                Some(turn) => turn.parts.extend(parts),
                None => request.turns.push(Turn { role: Role::Assistant, parts }),
            }
        }
        _ => request.turns.push(Turn { role: Role::User, parts }),
    }
}

/// A part of content that stands where an item belongs.
fn loose_part(json: &str, request: &mut Request) {
    let content: wire::Content<'_> = serde_json::from_str(json).unwrap_or_default();
    request.turns.push(Turn { role: Role::User, parts: content::read(content) });
}

fn call(item: &wire::Item<'_>, kind: ToolKind, arguments: String, request: &mut Request) {
    let name = match str_of(&item.name) {
        "" if kind == ToolKind::LocalShell => "local_shell",
        name => name,
    };
    let part = Part::ToolCall {
        id: some_string(&item.call_id).or_else(|| some_string(&item.id)).unwrap_or_default(),
        name: tools::name_of(&request.tools, str_of(&item.namespace), name).into_owned(),
        arguments,
        kind,
        signature: None,
        cache: None,
    };
    assistant(part, request);
}

/// Arguments are text; an object that stands in its place is taken as written.
fn arguments(raw: &RawValue) -> String {
    match raw.get().as_bytes().first() {
        Some(b'"') => serde_json::from_str(raw.get()).unwrap_or_default(),
        Some(b'n') => String::new(),
        _ => raw.get().to_owned(),
    }
}

fn result(item: &wire::Item<'_>, output: wire::Content<'_>, request: &mut Request) {
    let part = Part::ToolResult {
        call_id: some_string(&item.call_id).or_else(|| some_string(&item.id)).unwrap_or_default(),
        content: content::read(output),
        is_error: false,
        cache: None,
    };
    let is_result = |part: &Part| matches!(part, Part::ToolResult { .. });
    match request.turns.last_mut().filter(|turn| turn.role == Role::User && turn.parts.iter().all(is_result)) {
        Some(turn) => turn.parts.push(part),
        None => request.turns.push(Turn { role: Role::User, parts: vec![part] }),
    }
}

/// Encrypted reasoning is this vendor's, or another's that a translated answer carried here under a seal.
fn reasoning(item: &wire::Item<'_>, said: &wire::Content<'_>, request: &mut Request) {
    let summary = content::joined(&item.summary);
    let text = if summary.is_empty() { content::joined(said) } else { summary };
    let item_id = some_string(&item.id);
    let proof = str_of(&item.encrypted_content);
    let (origin, proof) = match unseal(proof, domain::Dialect::Responses) {
        (Origin::OpenAi, proof) if proof.is_empty() && item_id.is_none() => (Origin::Anyone, proof),
        known => known,
    };
    let proof = Some(proof.into_owned()).filter(|proof| !proof.is_empty());
    // Anthropic signs text it shows and encrypts the rest.
    let is_signature = matches!(origin, Origin::Anthropic | Origin::Google) && !text.is_empty();
    let (signature, encrypted) = if is_signature { (proof, None) } else { (None, proof) };
    assistant(Part::Reasoning { text, signature, encrypted, item_id, origin }, request);
}

/// Items of unknown kinds belong to the model, except what answers one of its calls.
fn opaque(kind: &str, raw: &RawValue, request: &mut Request) {
    let part = content::opaque(raw, summary(kind, raw));
    if kind.ends_with("_output") {
        request.turns.push(Turn { role: Role::User, parts: vec![part] });
    } else {
        assistant(part, request);
    }
}

/// What can be said in text of a tool that the vendor ran.
fn summary(kind: &str, raw: &RawValue) -> String {
    #[derive(Default, Deserialize)]
    struct Ran {
        action: Option<Search>,
        code: Option<String>,
    }
    #[derive(Deserialize)]
    struct Search {
        query: Option<String>,
    }
    let ran: Ran = serde_json::from_str(raw.get()).unwrap_or_default();
    match (kind, ran.action.and_then(|action| action.query), ran.code) {
        ("web_search_call", Some(query), _) => format!("[searched the web for: {query}]"),
        ("code_interpreter_call", _, Some(code)) => format!("[ran code]\n{code}"),
        _ => String::new(),
    }
}

fn assistant(part: Part, request: &mut Request) {
    match request.turns.last_mut().filter(|turn| turn.role == Role::Assistant) {
        Some(turn) => turn.parts.push(part),
        None => request.turns.push(Turn { role: Role::Assistant, parts: vec![part] }),
    }
}
