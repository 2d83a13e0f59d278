//! Putting text before everything the system says, in the request's own bytes (gateway specification, 3.1:
//! `system_message`).

use bytes::Bytes;
use domain::Dialect;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::splice::{Edit, splice};

#[derive(Deserialize)]
struct Places<'a> {
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    #[serde(borrow)]
    instructions: Option<&'a RawValue>,
    #[serde(borrow)]
    system: Option<&'a RawValue>,
    #[serde(borrow, rename = "systemInstruction", alias = "system_instruction")]
    instruction: Option<Instruction<'a>>,
}

#[derive(Deserialize)]
struct Instruction<'a> {
    #[serde(borrow)]
    parts: Option<&'a RawValue>,
}

/// `body` with `text` before its own system text; the same bytes where it is not of the dialect.
pub fn prepend_system(dialect: Dialect, body: &Bytes, text: &str) -> Bytes {
    let Ok(places) = serde_json::from_slice::<Places<'_>>(body) else { return body.clone() };
    let edit = match dialect {
        Dialect::Chat => {
            places.messages.and_then(|list| first(body, list, &json!({ "role": "system", "content": text })))
        }
        Dialect::Responses => before(body, places.instructions, text, "instructions", |_| None),
        Dialect::Messages => {
            let block = json!({ "type": "text", "text": text });
            before(body, places.system, text, "system", |list| first(body, list, &block))
        }
        Dialect::Gemini => match places.instruction.and_then(|instruction| instruction.parts) {
            Some(parts) => first(body, parts, &json!({ "text": text })),
            None => member(body, "systemInstruction", &json!({ "parts": [{ "text": text }] })),
        },
    };
    splice(body, edit.into_iter().collect::<Vec<_>>().as_mut_slice())
}

/// A text grows at its front; another form is `otherwise`'s; an absent one becomes a member.
fn before(
    body: &Bytes,
    value: Option<&RawValue>,
    text: &str,
    name: &str,
    otherwise: impl FnOnce(&RawValue) -> Option<Edit>,
) -> Option<Edit> {
    let Some(value) = value else { return member(body, name, &Value::from(text)) };
    match serde_json::from_str::<Option<String>>(value.get()) {
        Ok(Some(own)) => Some(replace(body, value, &Value::from(format!("{text}\n\n{own}")))),
        Ok(None) => Some(replace(body, value, &Value::from(text))),
        Err(_) => otherwise(value),
    }
}

fn replace(body: &Bytes, value: &RawValue, with: &Value) -> Edit {
    let start = offset(body, value);
    Edit { range: start..start + value.get().len(), with: with.to_string().into_bytes() }
}

/// Inserts an element at the front of a list.
fn first(body: &Bytes, list: &RawValue, element: &Value) -> Option<Edit> {
    let inside = list.get().strip_prefix('[')?;
    let comma = if inside.trim_start().starts_with(']') { "" } else { "," };
    let at = offset(body, list) + 1;
    Some(Edit { range: at..at, with: format!("{element}{comma}").into_bytes() })
}

/// Inserts a member at the front of the body's object.
fn member(body: &Bytes, name: &str, value: &Value) -> Option<Edit> {
    let at = body.iter().position(|byte| *byte == b'{')? + 1;
    let rest = body.get(at..)?.iter().find(|byte| !byte.is_ascii_whitespace())?;
    let comma = if *rest == b'}' { "" } else { "," };
    Some(Edit { range: at..at, with: format!("\"{name}\":{value}{comma}").into_bytes() })
}

fn offset(body: &Bytes, value: &RawValue) -> usize {
    value.get().as_ptr() as usize - body.as_ptr() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_comes_first_wherever_a_dialect_keeps_it() {
        for (dialect, body, expected) in [
            (
                Dialect::Chat,
                r#"{"messages": [{"role":"user"}]}"#,
                r#"{"messages": [{"role":"system","content":"S"},{"role":"user"}]}"#,
            ),
            (Dialect::Chat, r#"{"messages":[]}"#, r#"{"messages":[{"role":"system","content":"S"}]}"#),
            (Dialect::Responses, r#"{"input":"x"}"#, r#"{"instructions":"S","input":"x"}"#),
            (Dialect::Responses, r#"{"instructions":null}"#, r#"{"instructions":"S"}"#),
            (Dialect::Responses, r#"{"instructions":"o\n"}"#, r#"{"instructions":"S\n\no\n"}"#),
            (Dialect::Messages, r#"{"system":"o"}"#, r#"{"system":"S\n\no"}"#),
            (Dialect::Messages, r#"{"system":[{"x":1.50}]}"#, r#"{"system":[{"type":"text","text":"S"},{"x":1.50}]}"#),
            (Dialect::Messages, r#"{ }"#, r#"{"system":"S" }"#),
            (Dialect::Gemini, r#"{"contents":[]}"#, r#"{"systemInstruction":{"parts":[{"text":"S"}]},"contents":[]}"#),
            (
                Dialect::Gemini,
                r#"{"systemInstruction":{"parts":[{"text":"o"}]}}"#,
                r#"{"systemInstruction":{"parts":[{"text":"S"},{"text":"o"}]}}"#,
            ),
            (Dialect::Gemini, "[]", "[]"),
        ] {
            assert_eq!(
                prepend_system(dialect, &Bytes::from_static(body.as_bytes()), "S"),
                expected,
                "{dialect} {body}"
            );
        }
    }
}
