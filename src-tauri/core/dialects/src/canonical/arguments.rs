//! Tool arguments between their two forms: text (Chat, Responses) and object (Messages, Gemini).

use serde_json::value::RawValue;

use super::target::Warning;

/// The arguments of a call of `tool` as a JSON object on one line, keys in their order and numbers as written. What
/// cannot be understood becomes `{"_raw":"…"}`, with a warning.
pub fn to_object(tool: &str, arguments: &str) -> (Box<RawValue>, Option<Warning>) {
    let raw = RawValue::from_string(arguments.to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned());
    let warning = Warning { code: "REPAIRED_ARGUMENTS", about: tool.to_owned() };
    (raw, Some(warning))
}

/// The text of an object: JSON without white space between its tokens.
pub fn to_text(object: &RawValue) -> String {
    object.get().to_owned()
}
