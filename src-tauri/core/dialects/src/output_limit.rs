//! Asking for another amount of output than the client did: where an upstream named its limit, for the last resort, and for
//! models that think (gateway specification, 3.2 and 3.8).

use bytes::Bytes;
use domain::Dialect;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::splice::{Edit, splice};

/// Where each dialect says how much may be answered.
#[derive(Deserialize)]
struct Limits<'a> {
    #[serde(borrow)]
    max_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    max_completion_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    max_output_tokens: Option<&'a RawValue>,
    #[serde(borrow, rename = "generationConfig", alias = "generation_config")]
    generation: Option<Generation<'a>>,
}

#[derive(Deserialize)]
struct Generation<'a> {
    #[serde(borrow, rename = "maxOutputTokens", alias = "max_output_tokens")]
    max_output_tokens: Option<&'a RawValue>,
}

/// Where a limit of Gemini's belongs.
#[derive(Deserialize)]
struct Place<'a> {
    #[serde(borrow, rename = "generationConfig", alias = "generation_config")]
    generation: Option<&'a RawValue>,
}

/// `body` with its limit of output tokens at `limit`: replaced where it stands, added where it names none.
pub fn limited_output(dialect: Dialect, body: &Bytes, limit: u64) -> Bytes {
    let Ok(limits) = serde_json::from_slice::<Limits<'_>>(body) else { return body.clone() };
    let values = match dialect {
        Dialect::Chat => [limits.max_tokens, limits.max_completion_tokens],
        Dialect::Responses => [limits.max_output_tokens, None],
        Dialect::Messages => [limits.max_tokens, None],
        Dialect::Gemini => [limits.generation.as_ref().and_then(|generation| generation.max_output_tokens), None],
    };
    let place = |value: &RawValue| value.get().as_ptr() as usize - body.as_ptr() as usize;
    let mut edits: Vec<Edit> = values
        .into_iter()
        .flatten()
        .map(|value| {
            let start = place(value);
            Edit { range: start..start + value.get().len(), with: limit.to_string().into_bytes() }
        })
        .collect();
    if edits.is_empty() {
        edits.extend(added(dialect, body, limit));
    }
    splice(body, &mut edits)
}

/// The member as the first one of the object that it belongs to.
fn added(dialect: Dialect, body: &[u8], limit: u64) -> Option<Edit> {
    let within = match dialect {
        Dialect::Gemini => serde_json::from_slice::<Place<'_>>(body).ok()?.generation,
        Dialect::Chat | Dialect::Responses | Dialect::Messages => None,
    };
    let object = within.map_or(body, |within| within.get().as_bytes());
    let member = match (dialect, within) {
        (Dialect::Chat | Dialect::Messages, _) => format!("\"max_tokens\":{limit}"),
        (Dialect::Responses, _) => format!("\"max_output_tokens\":{limit}"),
        (Dialect::Gemini, Some(_)) => format!("\"maxOutputTokens\":{limit}"),
        (Dialect::Gemini, None) => format!("\"generationConfig\":{{\"maxOutputTokens\":{limit}}}"),
    };
    let open = object.iter().position(|byte| *byte == b'{')?;
    let is_empty = object[open + 1..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'}');
    let with = if is_empty { member } else { format!("{member},") };
    let at = object.as_ptr() as usize - body.as_ptr() as usize + open + 1;
    Some(Edit { range: at..at, with: with.into_bytes() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_added_where_none_stands() {
        for (dialect, body, expected) in [
            (Dialect::Chat, r#"{ "model":"m"}"#, r#"{"max_tokens":8, "model":"m"}"#),
            (Dialect::Responses, "{ }", r#"{"max_output_tokens":8 }"#),
            (Dialect::Messages, r#"{"model":"m"}"#, r#"{"max_tokens":8,"model":"m"}"#),
            (Dialect::Gemini, r#"{"contents":[]}"#, r#"{"generationConfig":{"maxOutputTokens":8},"contents":[]}"#),
            (
                Dialect::Gemini,
                r#"{"generationConfig":{"topK":1}}"#,
                r#"{"generationConfig":{"maxOutputTokens":8,"topK":1}}"#,
            ),
            (Dialect::Gemini, r#"{"generationConfig":{}}"#, r#"{"generationConfig":{"maxOutputTokens":8}}"#),
            (Dialect::Chat, "[1]", "[1]"),
        ] {
            assert_eq!(limited_output(dialect, &Bytes::from_static(body.as_bytes()), 8), expected);
        }
    }

    #[test]
    fn the_limit_is_lowered_where_it_stands() {
        for (dialect, body, expected) in [
            (Dialect::Chat, r#"{"max_tokens": 100, "x":1}"#, r#"{"max_tokens": 8, "x":1}"#),
            (Dialect::Chat, r#"{"max_completion_tokens":100}"#, r#"{"max_completion_tokens":8}"#),
            (Dialect::Responses, r#"{"max_output_tokens":100}"#, r#"{"max_output_tokens":8}"#),
            (
                Dialect::Messages,
                r#"{"messages":[{"max_tokens":1}],"max_tokens":100}"#,
                r#"{"messages":[{"max_tokens":1}],"max_tokens":8}"#,
            ),
            (
                Dialect::Gemini,
                r#"{"generationConfig":{"maxOutputTokens":100}}"#,
                r#"{"generationConfig":{"maxOutputTokens":8}}"#,
            ),
        ] {
            assert_eq!(limited_output(dialect, &Bytes::from_static(body.as_bytes()), 8), expected);
        }
    }
}
