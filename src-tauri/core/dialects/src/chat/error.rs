//! The OpenAI error envelope: whole replies of Chat, Responses, embeddings and model lists, and Chat streams.

use bytes::Bytes;
use serde::Serialize;

use crate::error::{ErrorBody, Hints, StreamProgress, openai_type, sse_frame, to_json};

#[derive(Serialize)]
struct Envelope<'a> {
    error: Inner<'a>,
    #[serde(flatten)]
    beside: Option<&'a serde_json::Map<String, serde_json::Value>>,
}

#[derive(Serialize)]
struct Inner<'a> {
    message: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    code: &'a str,
    /// Always there, mostly null: SDKs read it.
    param: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
    #[serde(flatten)]
    hints: Option<Hints<'a>>,
    #[serde(flatten)]
    details: Option<&'a serde_json::Map<String, serde_json::Value>>,
}

fn envelope<'a>(body: &ErrorBody<'a>) -> Envelope<'a> {
    let code = body.code_or_usual();
    Envelope {
        error: Inner {
            message: body.message,
            kind: body.own_kind().or(body.kind).unwrap_or_else(|| openai_type(body.status, code)),
            code,
            param: body.own.and_then(|own| own.param.as_deref()),
            retry_after: body.retry_after_seconds.filter(|_| !body.details_say_when()),
            hints: body.own_hints(),
            details: body.details,
        },
        beside: body.beside,
    }
}

pub(crate) fn write(body: &ErrorBody<'_>) -> Bytes {
    Bytes::from(to_json(&envelope(body)))
}

pub(crate) fn write_stream(body: &ErrorBody<'_>, progress: StreamProgress<'_>) -> Bytes {
    match progress {
        StreamProgress::NothingSent | StreamProgress::Opened { .. } => sse_frame(None, &envelope(body)),
        StreamProgress::ContentSent => Bytes::new(),
    }
}
