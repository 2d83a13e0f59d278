//! Putting text before everything the system says, in the request's own bytes (gateway specification, 3.1:
//! `system_message`).

use std::ops::Range;

use bytes::Bytes;
use domain::Dialect;
use serde_json::{Value, json};

use crate::json::Scanner;
use crate::splice::{Edit, splice};

/// `body` with `text` before its own system text; the same bytes where it is not of the dialect.
pub fn prepend_system(dialect: Dialect, body: &Bytes, text: &str) -> Bytes {
    let value = |name: &str| value_of(body, 0..body.len(), name);
    let edit = match dialect {
        Dialect::Chat => {
            value("messages").and_then(|list| first(body, list, &json!({ "role": "system", "content": text })))
        }
        Dialect::Responses => before(body, text, "instructions", |_| None),
        Dialect::Messages => {
            before(body, text, "system", |list| first(body, list, &json!({ "type": "text", "text": text })))
        }
        Dialect::Gemini => {
            let own = value("systemInstruction").or_else(|| value("system_instruction"));
            match own.and_then(|own| value_of(body, own, "parts")) {
                Some(parts) => first(body, parts, &json!({ "text": text })),
                None => member(body, "systemInstruction", &json!({ "parts": [{ "text": text }] })),
            }
        }
    };
    splice(body, edit.into_iter().collect::<Vec<_>>().as_mut_slice())
}

/// A text grows at its front; `null` becomes the text; another form is `otherwise`'s; an absent one becomes a member.
fn before(body: &Bytes, text: &str, name: &str, otherwise: impl FnOnce(Range<usize>) -> Option<Edit>) -> Option<Edit> {
    let Some(range) = value_of(body, 0..body.len(), name) else { return member(body, name, &Value::from(text)) };
    let with = match serde_json::from_slice::<Option<String>>(&body[range.clone()]) {
        Ok(Some(own)) => format!("{text}\n\n{own}"),
        Ok(None) => text.to_owned(),
        Err(_) => return otherwise(range),
    };
    Some(Edit { range, with: Value::from(with).to_string().into_bytes() })
}

/// Inserts an element at the front of the list that stands at `list`.
fn first(body: &Bytes, list: Range<usize>, element: &Value) -> Option<Edit> {
    let inside = body[list.clone()].strip_prefix(b"[")?;
    let comma = if inside.trim_ascii_start().starts_with(b"]") { "" } else { "," };
    let at = list.start + 1;
    Some(Edit { range: at..at, with: format!("{element}{comma}").into_bytes() })
}

/// Inserts a member at the front of the body's object.
fn member(body: &Bytes, name: &str, value: &Value) -> Option<Edit> {
    let open = body.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let rest = body[open..].strip_prefix(b"{")?;
    let comma = if rest.trim_ascii_start().starts_with(b"}") { "" } else { "," };
    let at = open + 1;
    Some(Edit { range: at..at, with: format!("\"{name}\":{value}{comma}").into_bytes() })
}

/// Where the value of the member `name` stands in the object at `object`.
fn value_of(body: &[u8], object: Range<usize>, name: &str) -> Option<Range<usize>> {
    let mut found = None;
    let mut scanner = Scanner::resume(&body[..object.end], object.start, 0);
    scanner
        .object(|scanner, key| {
            let is_wanted = scanner.is(&key, name);
            let value = scanner.skip()?;
            if is_wanted {
                found = Some(value);
            }
            Ok(())
        })
        .ok()?;
    found
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
