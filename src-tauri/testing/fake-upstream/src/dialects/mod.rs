//! The four dialects: one answer, shaped as each of them sends it.

mod chat;
pub(crate) mod error;
mod figures;
mod gemini;
mod messages;
mod responses;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use domain::{Dialect, Operation};
use http::HeaderValue;
use serde_json::Value;

use crate::answer::Answer;
use crate::request::{Ask, Endpoint};
use crate::seen;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream; charset=utf-8");

/// The signature under every thinking block and function call; strict checks accept no other.
pub(crate) const SIGNATURE: &str = "RmFrZVVwc3RyZWFtU2lnbmF0dXJlMDEyMzQ1Njc4OTAxMjM0NTY3ODk=";
/// What Responses sends as encrypted reasoning.
pub(crate) const ENCRYPTED: &str = "RmFrZVVwc3RyZWFtRW5jcnlwdGVkUmVhc29uaW5nMDEyMzQ1Njc4OTA=";

/// A reply with status 200, ready to send.
#[derive(Clone, Debug)]
pub(crate) struct Rendered {
    pub content_type: HeaderValue,
    pub frames: Arc<[Bytes]>,
    pub delay: Duration,
    /// One body of known length, not a stream.
    pub whole: bool,
}

/// An answer in the course of one request.
struct Turn<'a> {
    ask: &'a Ask,
    answer: &'a Answer,
    text: Cow<'a, str>,
    model: &'a str,
    number: u64,
    /// Seconds since the epoch.
    created: u64,
}

/// An answer in the dialect and the form the request asks for.
pub(crate) fn render(ask: &Ask, answer: &Answer, number: u64) -> Rendered {
    if !ask.stream {
        return render_whole(ask, answer, number);
    }
    let turn = Turn::new(ask, answer, number);
    let (content_type, frames) = match ask.dialect() {
        Dialect::Chat => (EVENT_STREAM, chat::frames(&turn)),
        Dialect::Responses => (EVENT_STREAM, responses::frames(&turn)),
        Dialect::Messages => (EVENT_STREAM, messages::frames(&turn)),
        Dialect::Gemini if ask.sse => (HeaderValue::from_static("text/event-stream"), gemini::frames(&turn)),
        Dialect::Gemini => (HeaderValue::from_static("application/json; charset=UTF-8"), gemini::array(&turn)),
    };
    Rendered { content_type, frames: frames.into(), delay: answer.delay, whole: false }
}

/// An answer as one body, whatever the request asks for.
pub(crate) fn render_whole(ask: &Ask, answer: &Answer, number: u64) -> Rendered {
    let turn = Turn::new(ask, answer, number);
    Rendered::json(&match ask.dialect() {
        Dialect::Chat => chat::whole(&turn),
        Dialect::Responses => responses::whole(&turn),
        Dialect::Messages => messages::whole(&turn),
        Dialect::Gemini => gemini::whole(&turn),
    })
}

/// The reply to a request that does not generate text; `None` when it does.
pub(crate) fn without_text(ask: &Ask) -> Option<Rendered> {
    let Endpoint::Run(operation) = ask.endpoint else { return None };
    if operation.generates() {
        return None;
    }
    let value = match operation {
        Operation::Embeddings => figures::embeddings(ask),
        Operation::EmbedContent => figures::gemini_embedding(ask),
        Operation::BatchEmbedContents => figures::gemini_embeddings(ask),
        Operation::CountTokens => figures::count_tokens(ask),
        Operation::GeminiCountTokens => figures::gemini_count_tokens(ask),
        Operation::ChatCompletions
        | Operation::Responses
        | Operation::Messages
        | Operation::GenerateContent
        | Operation::StreamGenerateContent => return None,
    };
    Some(Rendered::json(&value))
}

/// The id a provider gives a request.
pub(crate) fn request_id(number: u64) -> String {
    format!("req_{number:024x}")
}

impl Rendered {
    fn json(value: &Value) -> Rendered {
        let frames = Arc::new([Bytes::from(value.to_string())]);
        Rendered { content_type: JSON, frames, delay: Duration::ZERO, whole: true }
    }
}

impl<'a> Turn<'a> {
    fn new(ask: &'a Ask, answer: &'a Answer, number: u64) -> Turn<'a> {
        const RESULT: &str = "{tool_result}";
        const SEEN: &str = "{seen}";
        let text = if answer.text.contains(RESULT) {
            Cow::Owned(answer.text.replace(RESULT, &ask.tool_result().unwrap_or_default()))
        } else if answer.text.contains(SEEN) {
            Cow::Owned(answer.text.replace(SEEN, &seen::seen(ask).to_string()))
        } else {
            Cow::Borrowed(answer.text.as_str())
        };
        let created = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Turn { ask, answer, text, model: ask.model.as_deref().unwrap_or("m1"), number, created }
    }

    fn id(&self, prefix: &str) -> String {
        format!("{prefix}{:024x}", self.number)
    }

    /// The id of the tool call at this place of the answer.
    fn call_id(&self, prefix: &str, index: usize) -> String {
        match self.answer.tool_calls.get(index).and_then(|call| call.id.clone()) {
            Some(id) => id,
            None => format!("{prefix}{:020x}{index:04x}", self.number),
        }
    }

    fn input_tokens(&self) -> u64 {
        self.answer.usage.and_then(|usage| usage.input()).unwrap_or(0)
    }
}

/// One server-sent event with line ends as `\n`.
fn event(name: Option<&str>, data: &Value) -> Bytes {
    Bytes::from(match name {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    })
}
