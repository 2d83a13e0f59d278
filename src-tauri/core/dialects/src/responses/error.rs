//! Errors inside a Responses stream. Codex takes a stream without one of the two for broken and repeats the request.

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use super::output::{Fault, Response};
use crate::error::{ErrorBody, StreamProgress, sse_frame};

#[derive(Serialize)]
struct OfResponse<'a> {
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
            let fault = Fault {
                code,
                message: body.message,
                retry_after: body.retry_after_seconds.filter(|_| !body.details_say_when()),
                details: body.details,
            };
            // The announcement has the number 0: where that is still free, nobody knows of the response that fails.
            let opening = (sequence_number == 0).then(|| {
                let response = Response::new(response_id, model, created_at, None, &[], None);
                event("response.created", 0, response)
            });
            let response = Response::failed(response_id, model, created_at, fault);
            let failed = event("response.failed", sequence_number.max(1), response);
            opening.map_or(failed.clone(), |opening| [opening, failed].concat().into())
        }
        StreamProgress::NothingSent | StreamProgress::ContentSent => {
            let (code, message) = (body.code_or_usual(), body.message);
            sse_frame(Some("error"), &Unopened { kind: "error", code, message, param: None, sequence_number: 0 })
        }
    }
}

fn event(kind: &'static str, sequence_number: u64, response: Response<'_>) -> Bytes {
    sse_frame(Some(kind), &OfResponse { kind, sequence_number, response })
}

/// The same with the members of an upstream's own error.
pub(crate) fn pass_stream(status: u16, error: &Map<String, Value>, progress: StreamProgress<'_>) -> Bytes {
    let own = |member: &str| error.get(member).and_then(Value::as_str).unwrap_or_default();
    let others = error.iter().filter(|(member, _)| !matches!(member.as_str(), "code" | "message"));
    let others = others.map(|(member, value)| (member.clone(), value.clone())).collect();
    let body = ErrorBody { details: Some(&others), ..ErrorBody::new(status, own("code"), own("message")) };
    write_stream(&body, progress)
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
