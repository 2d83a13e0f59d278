//! Errors: one sentence under `error`, as a body and as the last line of a stream.

use bytes::Bytes;
use serde::Serialize;

use crate::error::{ErrorBody, to_json};

#[derive(Serialize)]
struct Envelope<'a> {
    error: &'a str,
}

pub(crate) fn write(body: &ErrorBody<'_>) -> Bytes {
    Bytes::from(to_json(&Envelope { error: body.message }))
}

pub(crate) fn write_stream(body: &ErrorBody<'_>) -> Bytes {
    let mut line = to_json(&Envelope { error: body.message });
    line.push(b'\n');
    Bytes::from(line)
}
