//! A refusal in its upstream's own words, told within a stream whose status was sent before it came.

use bytes::Bytes;
use domain::Dialect;
use serde_json::{Map, Value, json};

use super::{StreamProgress, sse_frame};
use crate::{gemini, responses};

/// The frame that ends a stream with this refusal, an upstream's reply of this dialect with this status: its members stay as
/// they are, and beside them stands the wait that the head of the reply names. Nothing may follow it. None where the body is not
/// the dialect's envelope: [`read`](super::read) then makes the best of it.
pub fn pass_stream(
    dialect: Dialect,
    status: u16,
    body: &[u8],
    retry_after_seconds: Option<u64>,
    progress: StreamProgress<'_>,
) -> Option<Bytes> {
    let mut envelope = envelope_of(body)?;
    let inner = envelope.get_mut("error")?.as_object_mut()?;
    if let Some(seconds) = retry_after_seconds {
        match dialect {
            Dialect::Gemini => gemini::error::say_when(inner, seconds),
            Dialect::Chat | Dialect::Responses | Dialect::Messages => {
                inner.entry("retry_after").or_insert(json!(seconds));
            }
        }
    }
    Some(match dialect {
        Dialect::Responses => responses::error::pass_stream(status, inner, progress),
        Dialect::Messages => {
            envelope.entry("type").or_insert(json!("error"));
            sse_frame(Some("error"), &envelope)
        }
        Dialect::Chat | Dialect::Gemini => sse_frame(None, &envelope),
    })
}

/// The object around the error; Google puts it into an array where a stream was asked for.
fn envelope_of(body: &[u8]) -> Option<Map<String, Value>> {
    match serde_json::from_slice(body).ok()? {
        Value::Object(envelope) => Some(envelope),
        Value::Array(elements) => match elements.into_iter().next()? {
            Value::Object(envelope) => Some(envelope),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
