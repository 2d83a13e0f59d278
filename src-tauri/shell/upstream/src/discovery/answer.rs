//! Whose answer is this? The shape of a body tells which dialect its sender speaks.
//!
//! Discovery looks at a handful of answers in a program's life, so it may read them into a tree.

use domain::Dialect;
use serde_json::Value;

/// A vendor's way of writing lists, answers and errors. Two dialects can share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    OpenAi,
    Anthropic,
    Gemini,
}

impl Family {
    pub(super) const fn of(dialect: Dialect) -> Family {
        match dialect {
            Dialect::Chat | Dialect::Responses => Family::OpenAi,
            Dialect::Messages => Family::Anthropic,
            Dialect::Gemini => Family::Gemini,
        }
    }

    /// What a person chooses as the type of a custom provider.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Family::OpenAi => Dialect::Chat.label(),
            Family::Anthropic => Dialect::Messages.label(),
            Family::Gemini => Dialect::Gemini.label(),
        }
    }

    /// Of a model list. Ollama's own list counts as OpenAI's: the server speaks that dialect beside it.
    pub(super) fn of_list(body: &[u8]) -> Option<Family> {
        let body: Value = serde_json::from_slice(body).ok()?;
        if let Some(models) = body.get("models").and_then(Value::as_array) {
            let of_gemini = |model: &Value| text(model, "name").is_some_and(|name| name.starts_with("models/"));
            return models.first().map(|first| if of_gemini(first) { Family::Gemini } else { Family::OpenAi });
        }
        let entries = body.as_array().or_else(|| body.get("data").and_then(Value::as_array))?;
        let marked = entries.first().is_some_and(|entry| text(entry, "type") == Some("model"));
        let paged = body.get("has_more").is_some() && body.get("object").is_none();
        Some(if marked || paged { Family::Anthropic } else { Family::OpenAi })
    }

    /// Of an error body, where its form is unmistakable.
    pub(super) fn of_error(body: &[u8]) -> Option<Family> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let body = body.as_array().and_then(|errors| errors.first()).unwrap_or(&body);
        let error = body.get("error")?.as_object()?;
        if text(body, "type") == Some("error") {
            return Some(Family::Anthropic);
        }
        let numeric_code = error.get("code").is_some_and(Value::is_number);
        if numeric_code && error.get("status").is_some_and(Value::is_string) {
            return Some(Family::Gemini);
        }
        error.get("message").map(|_| Family::OpenAi)
    }
}

/// The dialect of a generated answer.
pub(super) fn generated_by(body: &[u8]) -> Option<Dialect> {
    let body: Value = serde_json::from_slice(body).ok()?;
    if body.get("choices").is_some_and(Value::is_array) {
        return Some(Dialect::Chat);
    }
    if text(&body, "object") == Some("response") || body.get("output").is_some_and(Value::is_array) {
        return Some(Dialect::Responses);
    }
    if text(&body, "type") == Some("message") {
        return Some(Dialect::Messages);
    }
    let gemini = ["candidates", "promptFeedback", "usageMetadata"].iter().any(|name| body.get(name).is_some());
    gemini.then_some(Dialect::Gemini)
}

/// A web page instead of an answer.
pub(super) fn is_html(body: &[u8]) -> bool {
    let start: Vec<u8> = body.iter().copied().skip_while(u8::is_ascii_whitespace).take(32).collect();
    let start = String::from_utf8_lossy(&start).to_ascii_lowercase();
    ["<!doctype html", "<html", "<head", "<body", "<!--"].iter().any(|tag| start.starts_with(tag))
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_show_whose_they_are() {
        let rows = [
            (r#"{"object":"list","data":[{"id":"m","object":"model"}]}"#, Some(Family::OpenAi)),
            (r#"{"object":"list","data":[]}"#, Some(Family::OpenAi)),
            (r#"[{"id":"m"}]"#, Some(Family::OpenAi)),
            (r#"{"models":[{"name":"llama3:8b","model":"llama3:8b"}]}"#, Some(Family::OpenAi)),
            (r#"{"data":[{"type":"model","id":"claude"}],"has_more":false}"#, Some(Family::Anthropic)),
            (r#"{"data":[],"has_more":false,"first_id":null}"#, Some(Family::Anthropic)),
            (r#"{"models":[{"name":"models/gemini-2.5-pro"}]}"#, Some(Family::Gemini)),
            (r#"{"hello":1}"#, None),
            ("<html>", None),
        ];
        for (body, expected) in rows {
            assert_eq!(Family::of_list(body.as_bytes()), expected, "{body}");
        }
    }

    #[test]
    fn errors_show_whose_they_are() {
        let rows = [
            (r#"{"error":{"message":"x","type":"y","code":null}}"#, Some(Family::OpenAi)),
            (r#"{"type":"error","error":{"type":"not_found_error","message":"x"}}"#, Some(Family::Anthropic)),
            (r#"{"error":{"code":404,"message":"x","status":"NOT_FOUND"}}"#, Some(Family::Gemini)),
            (r#"[{"error":{"code":400,"message":"x","status":"INVALID_ARGUMENT"}}]"#, Some(Family::Gemini)),
            (r#"{"error":{"code":404,"message":"x"}}"#, Some(Family::OpenAi)),
            (r#"{"error":"x"}"#, None),
            (r#"{"detail":"Not Found"}"#, None),
            ("", None),
        ];
        for (body, expected) in rows {
            assert_eq!(Family::of_error(body.as_bytes()), expected, "{body}");
        }
    }

    #[test]
    fn answers_show_their_dialect() {
        let rows = [
            (r#"{"choices":[]}"#, Some(Dialect::Chat)),
            (r#"{"object":"response","output":[]}"#, Some(Dialect::Responses)),
            (r#"{"type":"message","content":[]}"#, Some(Dialect::Messages)),
            (r#"{"candidates":[]}"#, Some(Dialect::Gemini)),
            (r#"{"ok":true}"#, None),
        ];
        for (body, expected) in rows {
            assert_eq!(generated_by(body.as_bytes()), expected, "{body}");
        }
        assert!(is_html(b"\n <!DOCTYPE HTML><html>") && !is_html(b"{\"a\":\"<html>\"}"));
    }
}
