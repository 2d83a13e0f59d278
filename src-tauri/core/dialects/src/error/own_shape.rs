//! Errors within a stream that an upstream told in the shape of its dialect.

use domain::Dialect;
use serde_json::{Map, Value};

use crate::framing::Frame;

/// Whether a frame that means failure tells it so that the clients of its dialect raise an error of theirs (gateway
/// specification, 1.8 and 1.9).
pub fn is_in_own_shape(dialect: Dialect, frame: &Frame) -> bool {
    let Ok(Value::Object(told)) = serde_json::from_slice::<Value>(&frame.data) else { return false };
    let error = told.get("error");
    let is_error = told.get("type").is_some_and(|kind| kind == "error");
    match dialect {
        Dialect::Chat => is_openai(error),
        // Documented flat, sent as an envelope, and read both ways.
        Dialect::Responses if is_error => is_openai(error) || has_words(&told),
        Dialect::Responses => {
            let response =
                told.get("response").filter(|_| told.get("type").is_some_and(|kind| kind == "response.failed"));
            is_openai(response.and_then(|response| response.get("error")))
        }
        Dialect::Messages => {
            let is_named = frame.event.as_deref().is_none_or(|name| matches!(name, "error" | "message" | ""));
            is_error
                && is_named
                && error.is_some_and(|error| is_text(error.get("type")) && is_text(error.get("message")))
        }
        Dialect::Gemini => {
            let inner = told.get("response").and_then(|response| response.get("error"));
            match error {
                // A reason for the end, which is the dialect's own way to say so.
                None => inner.is_none(),
                Some(error) => is_first(&frame.data, b"\"error\"") && is_google(error),
            }
        }
    }
}

fn is_openai(error: Option<&Value>) -> bool {
    error.and_then(Value::as_object).is_some_and(has_words)
}

/// A message, and a code that is a text: typed clients fail on a number.
fn has_words(error: &Map<String, Value>) -> bool {
    is_text(error.get("message")) && error.get("code").is_none_or(|code| code.is_string() || code.is_null())
}

fn is_google(error: &Value) -> bool {
    let code = error.get("code").and_then(Value::as_u64);
    code.is_some_and(|code| (400..600).contains(&code)) && is_text(error.get("message")) && is_text(error.get("status"))
}

fn is_text(value: Option<&Value>) -> bool {
    value.is_some_and(Value::is_string)
}

/// The object begins with this member: Google's library for Python looks no further.
fn is_first(object: &[u8], member: &[u8]) -> bool {
    let inner = object.trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
    inner.trim_ascii_start().starts_with(member)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::SseDecoder;

    #[test]
    fn only_what_a_library_raises_is_in_its_shape() {
        use Dialect::{Chat, Gemini, Messages, Responses};
        for (dialect, frame, expected) in [
            (Chat, r#"data: {"error":{"message":"x","type":"server_error","code":null}}"#, true),
            (Chat, r#"data: {"id":"c","choices":[],"error":{"message":"x","code":"y"}}"#, true),
            (Chat, r#"data: {"error":{"message":"x","code":429}}"#, false),
            (Chat, r#"data: {"error":"x"}"#, false),
            (Chat, r#"data: {"object":"error","message":"x","code":429}"#, false),
            (Chat, r#"data: {"choices":[{"error":{"message":"x"}}]}"#, false),
            (Chat, r#"data: {"error":{"mess"#, false),
            (Responses, r#"data: {"type":"error","code":"x","message":"x","param":null}"#, true),
            (Responses, r#"data: {"type":"error","error":{"code":"x","message":"x"}}"#, true),
            (Responses, r#"data: {"type":"response.failed","response":{"error":{"code":"x","message":"x"}}}"#, true),
            (Responses, r#"data: {"type":"response.failed","response":{"error":null}}"#, false),
            (Responses, r#"data: {"type":"response.cancelled","response":{"error":{"message":"x"}}}"#, false),
            (Responses, r#"data: {"error":{"message":"x"}}"#, false),
            (Messages, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"x\",\"message\":\"x\"}}", true),
            (Messages, r#"data: {"type":"error","error":{"type":"x","message":"x"}}"#, true),
            (Messages, "event: y\ndata: {\"type\":\"error\",\"error\":{\"type\":\"x\",\"message\":\"x\"}}", false),
            (Messages, "event: error\ndata: {\"error\":{\"type\":\"x\",\"message\":\"x\"}}", false),
            (Messages, "event: error\ndata: {\"type\":\"error\",\"message\":\"x\"}", false),
            (Gemini, r#"data: {"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}"#, true),
            (Gemini, r#"data: {"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#, true),
            (Gemini, r#"data: {"a":1,"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}"#, false),
            (Gemini, r#"data: {"error":{"code":"503","message":"x","status":"UNAVAILABLE"}}"#, false),
            (Gemini, r#"data: {"response":{"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}}"#, false),
        ] {
            let mut frames = Vec::new();
            SseDecoder::new(1024).push(format!("{frame}\n\n").into(), &mut frames).unwrap();
            assert_eq!(is_in_own_shape(dialect, &frames[0]), expected, "{dialect} {frame}");
        }
    }
}
