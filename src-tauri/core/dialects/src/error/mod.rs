//! Errors, read in every shape upstreams use and written in the one shape a client's SDK expects (gateway
//! specification, 1.8, 1.9 and 2.14).
//!
//! Reading is generous: the same refusal comes as five kinds of JSON, an HTML page or nothing. Writing is strict: SDKs
//! map an error by status, type and code, and some crash on a number where a string belongs. Text that came from
//! outside passes [`sanitize`] before it leaves.

use bytes::Bytes;
use domain::Dialect;
use domain::wire::code;
use serde::Serialize;

mod own_shape;
mod own_words;
mod passed_on;
mod read;
mod sanitize;

pub use own_shape::is_in_own_shape;
pub use own_words::{OwnWords, word};
pub use passed_on::pass_stream;
pub(crate) use read::no_answer;
pub use read::{read, read_in_stream};
pub use sanitize::{sanitize, without_secrets};

use crate::{chat, gemini, messages, responses};

/// An error to be written.
#[derive(Clone, Copy, Debug)]
pub struct ErrorBody<'a> {
    /// HTTP status, before [`status_for`]. Gemini repeats it in the body.
    pub status: u16,
    /// Stable code ([`domain::wire::code`]); when empty, the usual one of the status.
    pub code: &'a str,
    /// One line, already sanitised.
    pub message: &'a str,
    /// When trying again may help, in seconds; the `Retry-After` header says the same.
    pub retry_after_seconds: Option<u64>,
    pub request_id: Option<&'a str>,
    /// Further members of the error object, shown in OpenAI and Anthropic envelopes. A `retry_after` among them stands
    /// instead of the seconds.
    pub details: Option<&'a serde_json::Map<String, serde_json::Value>>,
    /// Members beside the error object, shown in OpenAI and Anthropic envelopes.
    pub beside: Option<&'a serde_json::Map<String, serde_json::Value>>,
    /// The error's type in OpenAI envelopes, where it is not the usual one of its status.
    pub kind: Option<&'static str>,
    /// What an upstream of this very dialect said: it stands instead of the usual words of the status.
    pub own: Option<&'a OwnWords>,
}

/// How far a client's stream has come when it must be told of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamProgress<'a> {
    /// The status at most, and keep-alives.
    NothingSent,
    /// Responses: the response object was announced, whatever came after it.
    Opened {
        response_id: &'a str,
        model: &'a str,
        /// Seconds since the epoch, as it was announced.
        created_at: u64,
        /// The number the next event must carry.
        sequence_number: u64,
    },
    /// Content was forwarded.
    ContentSent,
}

/// Who says that something went wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorOrigin {
    /// The upstream does.
    #[default]
    Stated,
    /// The reader: the stream ended before its terminal event.
    Cut,
    /// The reader: the answer is not of the dialect at all.
    Garbled,
}

/// What an upstream reported, or what a reader made of it. Not sanitised: rules match on the original text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpstreamError {
    pub origin: ErrorOrigin,
    /// HTTP status, or the one the error object states or implies.
    pub status: Option<u16>,
    /// `code`, also when it was a number; Gemini's `status` word.
    pub code: Option<String>,
    /// `type`.
    pub kind: Option<String>,
    /// The text, at most [`MAX_MESSAGE`] bytes.
    pub message: String,
    /// The wait the body asks for, as written: `37s`, `1500ms`, an ISO instant.
    pub retry_after_text: Option<String>,
    /// The JSON that says so, at most [`MAX_MESSAGE`] bytes of it; empty where it is none.
    pub body: Box<str>,
}

/// Bound of [`UpstreamError::message`], in bytes.
pub const MAX_MESSAGE: usize = 16 * 1024;

/// The whole body of an error reply.
pub fn write(dialect: Dialect, body: &ErrorBody<'_>) -> Bytes {
    match dialect {
        Dialect::Chat | Dialect::Responses => chat::error::write(body),
        Dialect::Messages => messages::error::write(body),
        Dialect::Gemini => gemini::error::write(body),
    }
}

/// The frame that ends an SSE stream after its status was sent; nothing may follow it.
///
/// Empty for a chat client that has received content: some of those clients take an error chunk for text or crash, so
/// the stream just ends without `[DONE]`. For one known to accept it, pass [`StreamProgress::NothingSent`].
pub fn write_stream(dialect: Dialect, body: &ErrorBody<'_>, progress: StreamProgress<'_>) -> Bytes {
    match dialect {
        Dialect::Chat => chat::error::write_stream(body, progress),
        Dialect::Responses => responses::error::write_stream(body, progress),
        Dialect::Messages => messages::error::write_stream(body),
        Dialect::Gemini => gemini::error::write_stream(body),
    }
}

/// The HTTP status to send: 529 is a word only Anthropic clients know, the others get 503.
pub const fn status_for(dialect: Dialect, status: u16) -> u16 {
    match (dialect, status) {
        (Dialect::Chat | Dialect::Responses | Dialect::Gemini, 529) => 503,
        (Dialect::Chat | Dialect::Responses | Dialect::Messages | Dialect::Gemini, status) => status,
    }
}

/// `error.type` of the OpenAI envelope.
pub fn openai_type(status: u16, code: &str) -> &'static str {
    if code.starts_with("LEASE_") {
        return "lease_error";
    }
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        408 => "timeout_error",
        409 => "conflict",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}

/// `error.type` of the Anthropic envelope.
pub const fn anthropic_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 | 406 | 410 => "not_found_error",
        408 | 504 => "timeout_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        503 | 529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

/// `error.status` of the Gemini envelope.
pub const fn gemini_status(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        402 => "FAILED_PRECONDITION",
        403 => "PERMISSION_DENIED",
        404 | 406 | 410 => "NOT_FOUND",
        408 | 504 => "DEADLINE_EXCEEDED",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        502 | 503 | 529 => "UNAVAILABLE",
        500.. => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    }
}

impl UpstreamError {
    /// The code for a client of another dialect, empty where the usual one of the status says as much: Google's words for
    /// statuses mean nothing to other clients.
    pub fn code_for_others(&self) -> &str {
        let code = self.code.as_deref().unwrap_or_default();
        if read::is_google_status(code) { "" } else { code }
    }

    /// A stream that ended too early.
    pub(crate) fn stream_cut() -> UpstreamError {
        UpstreamError {
            origin: ErrorOrigin::Cut,
            message: "the stream ended before its terminal event".to_owned(),
            ..UpstreamError::default()
        }
    }

    /// An answer that is not of the dialect.
    pub fn garbled(message: &str) -> UpstreamError {
        UpstreamError { origin: ErrorOrigin::Garbled, message: message.to_owned(), ..UpstreamError::default() }
    }

    /// A terminal value of the dialect that means failure.
    pub(crate) fn failed_finish(value: &str) -> UpstreamError {
        UpstreamError {
            status: Some(502),
            code: Some(value.to_ascii_lowercase()),
            message: format!("the upstream ended the answer with `{value}`"),
            ..UpstreamError::default()
        }
    }
}

impl<'a> ErrorBody<'a> {
    /// An error with nothing beside its message.
    pub const fn new(status: u16, code: &'a str, message: &'a str) -> Self {
        ErrorBody {
            status,
            code,
            message,
            retry_after_seconds: None,
            request_id: None,
            details: None,
            beside: None,
            kind: None,
            own: None,
        }
    }

    pub(crate) fn code_or_usual(&self) -> &'a str {
        if self.code.is_empty() { code::of_status(self.status) } else { self.code }
    }

    /// The upstream's own word for the kind of error.
    pub(crate) fn own_kind(&self) -> Option<&'a str> {
        self.own?.kind.as_deref()
    }

    /// The upstream's own members that say when to come back, without what is said anew.
    pub(crate) fn own_hints(&self) -> Option<Hints<'a>> {
        let hides = |name: &str| name == "retry_after" && self.retry_after_seconds.is_some();
        Some(
            self.own?
                .hints
                .iter()
                .filter(|(name, _)| !hides(name))
                .map(|(name, value)| (name.as_str(), value))
                .collect(),
        )
    }

    pub(crate) fn details_say_when(&self) -> bool {
        self.details.is_some_and(|details| details.contains_key("retry_after"))
    }
}

/// Members of an error object, by name.
pub(crate) type Hints<'a> = std::collections::BTreeMap<&'a str, &'a serde_json::Value>;

/// One SSE frame around `payload`.
pub(crate) fn sse_frame(event: Option<&str>, payload: &impl Serialize) -> Bytes {
    let mut frame = Vec::with_capacity(256);
    if let Some(event) = event {
        frame.extend_from_slice(b"event: ");
        frame.extend_from_slice(event.as_bytes());
        frame.push(b'\n');
    }
    frame.extend_from_slice(b"data: ");
    frame.extend_from_slice(&to_json(payload));
    frame.extend_from_slice(b"\n\n");
    Bytes::from(frame)
}

#[expect(clippy::expect_used, reason = "writing plain structs with string keys into memory has no way to fail")]
pub(crate) fn to_json(payload: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(payload).expect("plain structs with string keys are always JSON")
}

#[cfg(test)]
mod tests;
