//! The Anthropic error envelope, whole and as the `error` event of a stream.

use bytes::Bytes;
use serde::Serialize;

use crate::error::{ErrorBody, Hints, anthropic_type, sse_frame, to_json};

#[derive(Serialize)]
struct Envelope<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    error: Inner<'a>,
    request_id: Option<&'a str>,
    #[serde(flatten)]
    beside: Option<&'a serde_json::Map<String, serde_json::Value>>,
}

#[derive(Serialize)]
struct Inner<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    message: &'a str,
    /// Not part of Anthropic's envelope, and harmless there: the stable word for scripts and logs.
    code: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
    #[serde(flatten)]
    hints: Option<Hints<'a>>,
    #[serde(flatten)]
    details: Option<&'a serde_json::Map<String, serde_json::Value>>,
}

fn envelope<'a>(body: &ErrorBody<'a>) -> Envelope<'a> {
    Envelope {
        kind: "error",
        error: Inner {
            kind: body.own_kind().unwrap_or_else(|| anthropic_type(body.status)),
            message: body.message,
            code: body.code_or_usual(),
            retry_after: body.retry_after_seconds.filter(|_| !body.details_say_when()),
            hints: body.own_hints(),
            details: body.details,
        },
        request_id: body.request_id,
        beside: body.beside,
    }
}

pub(crate) fn write(body: &ErrorBody<'_>) -> Bytes {
    Bytes::from(to_json(&envelope(body)))
}

pub(crate) fn write_stream(body: &ErrorBody<'_>) -> Bytes {
    sse_frame(Some("error"), &envelope(body))
}
