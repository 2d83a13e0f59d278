//! Asking for less output than the client did, where an upstream named its limit (gateway specification, 3.8).

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

/// `body` with its limit of output tokens lowered to `limit`; the same bytes where it names none.
pub fn limited_output(dialect: Dialect, body: &Bytes, limit: u64) -> Bytes {
    let Ok(limits) = serde_json::from_slice::<Limits<'_>>(body) else { return body.clone() };
    let values = match dialect {
        Dialect::Chat => [limits.max_tokens, limits.max_completion_tokens],
        Dialect::Responses => [limits.max_output_tokens, None],
        Dialect::Messages => [limits.max_tokens, None],
        Dialect::Gemini => [limits.generation.and_then(|generation| generation.max_output_tokens), None],
    };
    let mut edits: Vec<Edit> = values
        .into_iter()
        .flatten()
        .map(|value| {
            let start = value.get().as_ptr() as usize - body.as_ptr() as usize;
            Edit { range: start..start + value.get().len(), with: limit.to_string().into_bytes() }
        })
        .collect();
    splice(body, &mut edits)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            (Dialect::Gemini, r#"{"contents":[]}"#, r#"{"contents":[]}"#),
        ] {
            assert_eq!(limited_output(dialect, &Bytes::from_static(body.as_bytes()), 8), expected);
        }
    }
}
