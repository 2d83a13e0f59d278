//! What an upstream says when it refuses, from any of the shapes seen in the wild (gateway specification, 2.14).

use serde_json::Value;

use super::{ErrorOrigin, MAX_MESSAGE, UpstreamError};
use crate::gemini::error::OWN_DOMAIN;
use crate::mended::mended;

/// Reads the body of an error reply with HTTP `status`. Never fails: what is no known shape is taken as text.
pub fn read(status: u16, body: &[u8]) -> UpstreamError {
    let mut error = read_any(body);
    error.status = Some(status);
    if error.message.is_empty() {
        error.message = format!("the upstream answered {status} and said nothing more");
    }
    error
}

/// Reads an error that came inside a good answer. `status` is the one the error states or implies, if any.
pub fn read_in_stream(body: &[u8]) -> UpstreamError {
    let mut error = read_any(body);
    if error.message.is_empty() {
        error.message = "the upstream reported an error and said nothing more".to_owned();
    }
    error
}

/// Reads a whole body that came with a good status and is no answer: the error it hides, or at least that fact.
pub(crate) fn no_answer(body: &[u8]) -> UpstreamError {
    let mut error = read_in_stream(body);
    if error.code.is_none() && error.kind.is_none() && error.status.is_none() {
        error.origin = ErrorOrigin::Garbled;
    }
    error
}

fn read_any(body: &[u8]) -> UpstreamError {
    let strictly = serde_json::from_slice::<Value>(body);
    let is_cut = strictly.as_ref().is_err_and(serde_json::Error::is_eof);
    let value = strictly.ok().or_else(|| {
        let mended = mended(&body[..body.len().min(4 * MAX_MESSAGE)]).ok()?;
        serde_json::from_str(&mended).ok()
    });
    let mut error = match value {
        Some(value) => UpstreamError { body: beginning(body), ..read_value(&value) },
        None => {
            let message = Some(body).filter(|_| is_cut).and_then(cut_message);
            UpstreamError { message: message.unwrap_or_else(|| plain_text(body)), ..UpstreamError::default() }
        }
    };
    shorten(&mut error.message);
    error
}

fn read_value(value: &Value) -> UpstreamError {
    let value = match value {
        Value::Array(elements) => elements.first().unwrap_or(&Value::Null),
        Value::Object(_) | Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => value,
    };
    if let Value::String(text) = value {
        return UpstreamError { message: text.clone(), ..UpstreamError::default() };
    }
    let inner = match value.get("error") {
        Some(inner @ Value::Object(_)) => inner,
        _ => value,
    };
    let mut error = UpstreamError {
        origin: ErrorOrigin::Stated,
        code: word(inner, &["code"]).or_else(|| minimax_code(value)),
        kind: word(inner, &["type"]).filter(|kind| kind != "error"),
        message: message(value, inner),
        retry_after_text: retry_after(inner).or_else(|| retry_after(value)),
        status: None,
        body: Box::default(),
    };
    error.status = implied_status(inner, &error);
    // Gemini repeats the HTTP status as `code`; the telling word is `status`, and where another gateway of this kind
    // answered, the reason among the details.
    let word = inner.get("status").and_then(Value::as_str).map(str::to_owned);
    error.code = own_reason(inner).or(word).or(error.code);
    error
}

fn own_reason(inner: &Value) -> Option<String> {
    let details = inner.get("details")?.as_array()?;
    let own = details.iter().find(|detail| detail.get("domain").and_then(Value::as_str) == Some(OWN_DOMAIN))?;
    word(own, &["reason"])
}

/// Whether this is a word of Google's for a status, of those that `google.rpc.Code` lists.
pub(super) fn is_google_status(word: &str) -> bool {
    const WORDS: [&str; 16] = [
        "ABORTED",
        "ALREADY_EXISTS",
        "CANCELLED",
        "DATA_LOSS",
        "DEADLINE_EXCEEDED",
        "FAILED_PRECONDITION",
        "INTERNAL",
        "INVALID_ARGUMENT",
        "NOT_FOUND",
        "OUT_OF_RANGE",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "UNAUTHENTICATED",
        "UNAVAILABLE",
        "UNIMPLEMENTED",
        "UNKNOWN",
    ];
    WORDS.contains(&word)
}

fn message(value: &Value, inner: &Value) -> String {
    let text = |value: &Value| value.as_str().map(str::to_owned).filter(|text| !text.trim().is_empty());
    let listed = |value: &Value| {
        let first = value.as_array()?.first()?;
        text(first).or_else(|| word(first, &["message", "msg"]))
    };
    let detail = |value: &Value| text(value).or_else(|| listed(value)).or_else(|| word(value, &["message", "msg"]));
    word(inner, &["message", "msg"])
        .or_else(|| value.get("error").and_then(text))
        .or_else(|| value.get("detail").and_then(detail))
        .or_else(|| value.get("errors").and_then(detail))
        .or_else(|| word(value, &["message", "msg", "error_description"]))
        .or_else(|| value.get("base_resp").and_then(|base| word(base, &["status_msg"])))
        .or_else(|| word(inner, &["type", "code", "status"]))
        .unwrap_or_default()
}

/// The first of `names` that holds a string or a number, as text.
fn word(value: &Value, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| match value.get(name)? {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    })
}

fn minimax_code(value: &Value) -> Option<String> {
    word(value.get("base_resp")?, &["status_code"])
}

fn retry_after(value: &Value) -> Option<String> {
    let details = value.get("details").and_then(Value::as_array);
    let google = details.and_then(|details| details.iter().find_map(|detail| word(detail, &["retryDelay"])));
    let seconds =
        |text: String| if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') { text + "s" } else { text };
    google
        .or_else(|| word(value, &["retry_after_ms", "retryAfterMs"]).map(|text| text + "ms"))
        .or_else(|| word(value, &["retryAfter", "retry_after", "resets_in_seconds"]).map(seconds))
}

/// The HTTP status an error object stands for: a number it states, else what its type or code means.
fn implied_status(inner: &Value, error: &UpstreamError) -> Option<u16> {
    let stated = ["status", "code", "status_code", "http_code"].iter().find_map(|name| {
        let value = inner.get(name)?;
        let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
        u16::try_from(number).ok().filter(|status| (400..600).contains(status))
    });
    let word = inner.get("status").and_then(Value::as_str);
    stated
        .or_else(|| word.and_then(status_of_word))
        .or_else(|| error.code.as_deref().and_then(status_of_word))
        .or_else(|| error.kind.as_deref().and_then(status_of_word))
}

fn status_of_word(word: &str) -> Option<u16> {
    Some(match word {
        "invalid_request_error"
        | "bad_request"
        | "INVALID_ARGUMENT"
        | "FAILED_PRECONDITION"
        | "OUT_OF_RANGE"
        | "context_length_exceeded"
        | "invalid_prompt"
        | "unsupported_parameter"
        | "unsupported_value" => 400,
        "authentication_error" | "invalid_api_key" | "UNAUTHENTICATED" => 401,
        "billing_error" | "payment_required" => 402,
        "permission_error" | "permission_denied" | "PERMISSION_DENIED" => 403,
        "not_found_error" | "model_not_found" | "NOT_FOUND" => 404,
        "ABORTED" | "ALREADY_EXISTS" => 409,
        "request_too_large" => 413,
        "rate_limit_error"
        | "rate_limit_exceeded"
        | "rate_limited"
        | "insufficient_quota"
        | "usage_limit_reached"
        | "RESOURCE_EXHAUSTED" => 429,
        "api_error" | "server_error" | "internal_server_error" | "internal_error" | "INTERNAL" | "UNKNOWN" => 500,
        "bad_gateway" => 502,
        "service_unavailable" | "server_is_overloaded" | "slow_down" | "UNAVAILABLE" => 503,
        "timeout_error" | "gateway_timeout" | "DEADLINE_EXCEEDED" => 504,
        "overloaded_error" | "overloaded" => 529,
        _ => return None,
    })
}

/// Text as it is, an HTML page by its title.
fn plain_text(body: &[u8]) -> String {
    // Enough for any title and any message, however large the page.
    let body = &body[..body.len().min(4 * MAX_MESSAGE)];
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    if !text.starts_with('<') {
        return text.to_owned();
    }
    let lower = text.to_ascii_lowercase();
    let title = lower.find("<title").and_then(|tag| {
        let start = tag + lower[tag..].find('>')? + 1;
        let end = start + lower[start..].find("</title")?;
        Some(text[start..end].split_whitespace().collect::<Vec<_>>().join(" "))
    });
    title.filter(|title| !title.is_empty()).unwrap_or_else(|| "the upstream answered with an HTML page".to_owned())
}

/// The message of a JSON body whose end is missing: only so much of an error is read.
fn cut_message(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let (_, after) = text.split_once("\"message\"")?;
    let text = after.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let mut escaped = false;
    let end = text.find(|character| {
        let ends = character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
        ends
    });
    let whole = &text[..end.unwrap_or(text.len())];
    // What was cut within an escape is whole again without it.
    let pieces = [whole.len()].into_iter().chain(whole.rfind('\\'));
    pieces.into_iter().find_map(|length| serde_json::from_str(&format!("\"{}\"", &whole[..length])).ok())
}

/// The body, or as much of it as is kept.
fn beginning(body: &[u8]) -> Box<str> {
    String::from_utf8_lossy(&body[..body.len().min(MAX_MESSAGE)]).into()
}

fn shorten(message: &mut String) {
    let mut end = MAX_MESSAGE.min(message.len());
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_seen_in_the_wild_is_read() {
        for (body, code, kind, message, retry) in [
            (
                r#"{"error":{"message":"slow down","type":"rate_limit_error","code":"rate_limit_exceeded","param":null}}"#,
                Some("rate_limit_exceeded"),
                Some("rate_limit_error"),
                "slow down",
                None,
            ),
            (r#"{"error":"no"}"#, None, None, "no", None),
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#,
                None,
                Some("overloaded_error"),
                "Overloaded",
                None,
            ),
            (
                r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"quota","details":[{"@type":"x"},
                    {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"37s"}]}}"#,
                Some("RESOURCE_EXHAUSTED"),
                None,
                "quota",
                Some("37s"),
            ),
            (
                r#"[{"error":{"code":503,"status":"UNAVAILABLE","message":"busy"}}]"#,
                Some("UNAVAILABLE"),
                None,
                "busy",
                None,
            ),
            (r#"{"detail":"Not Found"}"#, None, None, "Not Found", None),
            (r#"{"detail":[{"loc":["body"],"msg":"field required","type":"x"}]}"#, None, None, "field required", None),
            (r#"{"message":"nope","code":1302}"#, Some("1302"), None, "nope", None),
            (r#"{"errors":[{"message":"bad"}]}"#, None, None, "bad", None),
            (r#"{"errors":["bad"]}"#, None, None, "bad", None),
            (r#"{"success":false,"msg":"unknown account"}"#, None, None, "unknown account", None),
            (r#"{"base_resp":{"status_code":1004,"status_msg":"login fail"}}"#, Some("1004"), None, "login fail", None),
            (
                r#"{"error":{"message":"wait","retry_after_ms":1500},"retryAfter":7}"#,
                None,
                None,
                "wait",
                Some("1500ms"),
            ),
            (
                r#"{"error":{"message":"wait"},"retryAfter":"2030-01-01T00:00:00Z"}"#,
                None,
                None,
                "wait",
                Some("2030-01-01T00:00:00Z"),
            ),
            (
                r#"{"error":{"type":"usage_limit_reached","resets_in_seconds":60}}"#,
                None,
                Some("usage_limit_reached"),
                "usage_limit_reached",
                Some("60s"),
            ),
            (r#"{"error":{}}"#, None, None, "the upstream answered 500 and said nothing more", None),
            ("<html><head><TITLE>\n 502 Bad\n Gateway</title>", None, None, "502 Bad Gateway", None),
            ("<html><body>oops", None, None, "the upstream answered with an HTML page", None),
            ("upstream connect error\n", None, None, "upstream connect error", None),
            ("\"text\"", None, None, "text", None),
            ("", None, None, "the upstream answered 500 and said nothing more", None),
            ("[]", None, None, "the upstream answered 500 and said nothing more", None),
        ] {
            let error = read(500, body.as_bytes());
            assert_eq!(error.status, Some(500));
            let seen = (
                error.code.as_deref(),
                error.kind.as_deref(),
                error.message.as_str(),
                error.retry_after_text.as_deref(),
            );
            assert_eq!(seen, (code, kind, message, retry), "{body}");
        }
    }

    #[test]
    fn inside_an_answer_the_status_comes_from_the_error_itself() {
        for (body, expected) in [
            (r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#, Some(529)),
            (r#"{"error":{"code":429,"message":"x"}}"#, Some(429)),
            (r#"{"error":{"code":"502","message":"x"}}"#, Some(502)),
            (r#"{"error":{"status":"UNAVAILABLE","message":"x"}}"#, Some(503)),
            (r#"{"code":"rate_limit_exceeded","message":"x"}"#, Some(429)),
            (r#"{"error":{"code":1302,"message":"x"}}"#, None),
            (r#"{"error":"x"}"#, None),
        ] {
            assert_eq!(read_in_stream(body.as_bytes()).status, expected, "{body}");
        }
    }

    #[test]
    fn of_a_body_that_was_cut_the_message_is_told_as_far_as_it_came() {
        for (body, message) in [
            (r#"{"error":{"message":"too much of it"#, "too much of it"),
            (r#"{"error":{"code":1,"message" : "a \"b\" c","stack":"at /x"#, "a \"b\" c"),
            (r#"{"error":{"message":"a\u00"#, "a"),
            (r#"{"error":{"message":"a\"#, "a"),
            (r#"{"error":{"message":[1"#, r#"{"error":{"message":[1"#),
            (r#"{"error":{"code"#, r#"{"error":{"code"#),
        ] {
            assert_eq!(read(500, body.as_bytes()).message, message, "{body}");
        }
    }

    #[test]
    fn a_long_message_is_cut_at_a_character() {
        let body = format!("{{\"error\":\"a{}\"}}", "é".repeat(MAX_MESSAGE));
        let message = read(500, body.as_bytes()).message;
        assert_eq!(message.len(), MAX_MESSAGE - 1);
    }
}
