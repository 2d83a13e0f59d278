//! Errors in each dialect's own shape (gateway specification, 1.8).

use bytes::Bytes;
use domain::Dialect;
use serde_json::{Value, json};

use super::request_id;
use crate::request::Ask;

/// The body of an error. `code` replaces the dialect's word for the status: OpenAI's `code`, Anthropic's `type`,
/// Gemini's `status`.
pub(crate) fn body(ask: &Ask, status: u16, code: Option<&str>, message: &str, number: u64) -> Bytes {
    let value = match ask.dialect() {
        Dialect::Chat | Dialect::Responses => {
            let (kind, usual) = openai(status);
            let code = code.or(usual);
            json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
        }
        Dialect::Messages => json!({
            "type": "error",
            "error": { "type": code.unwrap_or_else(|| anthropic(status)), "message": message },
            "request_id": request_id(number),
        }),
        Dialect::Gemini => {
            let word = code.unwrap_or_else(|| gemini(status));
            let error = json!({ "error": { "code": status, "message": message, "status": word, "details": [] } });
            // A stream that would have been an array fails as an array.
            if ask.array() { Value::Array(vec![error]) } else { error }
        }
    };
    Bytes::from(value.to_string())
}

/// `type` and `code`.
fn openai(status: u16) -> (&'static str, Option<&'static str>) {
    match status {
        401 => ("authentication_error", Some("invalid_api_key")),
        402 => ("billing_error", Some("payment_required")),
        403 => ("permission_error", Some("permission_denied")),
        404 => ("invalid_request_error", Some("model_not_found")),
        408 => ("timeout_error", None),
        413 => ("invalid_request_error", Some("request_too_large")),
        429 => ("rate_limit_error", Some("rate_limit_exceeded")),
        400..=499 => ("invalid_request_error", None),
        _ => ("server_error", None),
    }
}

fn anthropic(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        408 | 504 => "timeout_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        503 | 529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    }
}

fn gemini(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        402 => "FAILED_PRECONDITION",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        408 | 504 => "DEADLINE_EXCEEDED",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        400..=499 => "INVALID_ARGUMENT",
        502 | 503 | 529 => "UNAVAILABLE",
        _ => "INTERNAL",
    }
}
