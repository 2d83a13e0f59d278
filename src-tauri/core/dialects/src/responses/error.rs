//! Errors inside a Responses stream. Codex takes a stream without one of the two for broken and repeats the request.

use bytes::Bytes;
use serde::Serialize;

use crate::error::{ErrorBody, StreamProgress, sse_frame};

#[derive(Serialize)]
struct Failed<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    sequence_number: u64,
    response: Response<'a>,
}

#[derive(Serialize)]
struct Response<'a> {
    id: &'a str,
    object: &'static str,
    status: &'static str,
    error: Inner<'a>,
    incomplete_details: Option<&'a str>,
    output: [&'a str; 0],
    usage: Option<u64>,
}

#[derive(Serialize)]
struct Inner<'a> {
    code: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct Unopened<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    code: &'a str,
    message: &'a str,
    param: Option<&'a str>,
    sequence_number: u64,
}

pub(crate) fn write_stream(body: &ErrorBody<'_>, progress: StreamProgress<'_>) -> Bytes {
    let error = Inner { code: body.code_or_usual(), message: body.message };
    match progress {
        StreamProgress::Opened { response_id, sequence_number } => {
            let response = Response {
                id: response_id,
                object: "response",
                status: "failed",
                error,
                incomplete_details: None,
                output: [],
                usage: None,
            };
            sse_frame(Some("response.failed"), &Failed { kind: "response.failed", sequence_number, response })
        }
        StreamProgress::NothingSent | StreamProgress::ContentSent => {
            let Inner { code, message } = error;
            sse_frame(Some("error"), &Unopened { kind: "error", code, message, param: None, sequence_number: 0 })
        }
    }
}
