//! The Google error envelope, whole and as a data frame. Code and wait stand in `details`, in Google's own types, where
//! its clients look for them.

use bytes::Bytes;
use domain::Dialect;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::{ErrorBody, gemini_status, sse_frame, status_for, to_json};

#[derive(Serialize)]
struct Envelope<'a> {
    error: Inner<'a>,
}

#[derive(Serialize)]
struct Inner<'a> {
    code: u16,
    message: &'a str,
    status: &'a str,
    details: Vec<Detail<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "@type")]
enum Detail<'a> {
    #[serde(rename = "type.googleapis.com/google.rpc.ErrorInfo")]
    ErrorInfo { reason: &'a str, domain: &'static str },
    #[serde(rename = "type.googleapis.com/google.rpc.RetryInfo")]
    RetryInfo {
        #[serde(rename = "retryDelay")]
        retry_delay: String,
    },
    /// An upstream's own, of whatever type.
    #[serde(untagged)]
    Own(&'a Value),
}

const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";

/// Where the reason of an error is from that this gateway wrote.
pub(crate) const OWN_DOMAIN: &str = "omniroute";

fn envelope<'a>(body: &ErrorBody<'a>) -> Envelope<'a> {
    let mut details = match body.own {
        Some(own) => own.details.iter().map(Detail::Own).collect(),
        None => vec![Detail::ErrorInfo { reason: body.code_or_usual(), domain: OWN_DOMAIN }],
    };
    let says_when = |detail: &Detail<'_>| matches!(detail, Detail::Own(own) if own["@type"] == RETRY_INFO);
    if let Some(seconds) = body.retry_after_seconds
        && !details.iter().any(says_when)
    {
        details.push(Detail::RetryInfo { retry_delay: format!("{seconds}s") });
    }
    let (code, usual) = (status_for(Dialect::Gemini, body.status), gemini_status(body.status));
    // The upstream's word goes with the upstream's status.
    let own = body.own_kind().filter(|_| code == body.status);
    Envelope { error: Inner { code, message: body.message, status: own.unwrap_or(usual), details } }
}

/// Adds when trying again may help to an error that does not say so itself.
pub(crate) fn say_when(inner: &mut Map<String, Value>, seconds: u64) {
    let Some(details) = inner.entry("details").or_insert_with(|| json!([])).as_array_mut() else { return };
    if details.iter().all(|detail| detail["@type"] != RETRY_INFO) {
        details.push(json!({ "@type": RETRY_INFO, "retryDelay": format!("{seconds}s") }));
    }
}

pub(crate) fn write(body: &ErrorBody<'_>) -> Bytes {
    Bytes::from(to_json(&envelope(body)))
}

pub(crate) fn write_stream(body: &ErrorBody<'_>) -> Bytes {
    sse_frame(None, &envelope(body))
}
