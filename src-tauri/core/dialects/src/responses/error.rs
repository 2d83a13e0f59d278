//! Errors inside a Responses stream. Codex takes a stream without one of the two for broken and repeats the request.

use bytes::Bytes;
use serde::Serialize;

use super::output::{Fault, Response};
use crate::error::{ErrorBody, StreamProgress, sse_frame};

#[derive(Serialize)]
struct Failed<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    sequence_number: u64,
    response: Response<'a>,
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
    match progress {
        StreamProgress::Opened { response_id, model, created_at, sequence_number } => {
            let code = if body.code.is_empty() { usual_code(body.status) } else { body.code };
            let response = Response::failed(response_id, model, created_at, Fault { code, message: body.message });
            sse_frame(Some("response.failed"), &Failed { kind: "response.failed", sequence_number, response })
        }
        StreamProgress::NothingSent | StreamProgress::ContentSent => {
            let (code, message) = (body.code_or_usual(), body.message);
            sse_frame(Some("error"), &Unopened { kind: "error", code, message, param: None, sequence_number: 0 })
        }
    }
}

/// The code of a failed response that has none of its own. The official SDKs list what may stand there, and the usual
/// words of whole replies are not among it.
const fn usual_code(status: u16) -> &'static str {
    match status {
        429 => "rate_limit_exceeded",
        500.. => "server_error",
        _ => "invalid_prompt",
    }
}
