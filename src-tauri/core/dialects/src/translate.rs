//! From one dialect to another: the six verbs that the gateway uses.

use bytes::{Bytes, BytesMut};
use domain::wire::code;
use domain::{Dialect, Timestamp};

use crate::canonical::{Answer, IdMap, Request, Target, Written};
use crate::error::UpstreamError;
use crate::event::Event;
use crate::{chat, gemini, messages, responses, surrogates};

/// Why a request cannot be read or written: `field` is the wire name of what is wrong, the message names the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct Refusal {
    pub field: String,
    pub message: String,
    /// `bad_request`, `previous_response_not_found`, `unsupported_tool`.
    pub code: &'static str,
}

impl Refusal {
    pub(crate) fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Refusal { field: field.into(), message: message.into(), code: code::BAD_REQUEST }
    }

    /// Something that only the vendor which stored it could look up.
    pub(crate) fn of_stored(field: impl Into<String>, id: &str) -> Self {
        Refusal {
            field: field.into(),
            message: format!("`{id}` is not stored here: send the whole conversation as `input`"),
            code: "previous_response_not_found",
        }
    }

    /// A tool that the receiving side cannot have.
    pub(crate) fn of_tool(name: &str) -> Self {
        Refusal {
            field: "tools".to_owned(),
            message: format!("the tool `{name}` does not exist at this provider: remove it, or choose another model"),
            code: "unsupported_tool",
        }
    }
}

/// Reads a request. `model` and `stream` stand in Gemini's path and not in its body.
///
/// # Errors
/// What is wrong with it, by field.
pub fn read_request(dialect: Dialect, body: &[u8], model: &str, stream: bool) -> Result<Request, Refusal> {
    let body = &surrogates::mended(body)[..];
    match dialect {
        Dialect::Chat => chat::request::read(body),
        Dialect::Responses => responses::request::read(body),
        Dialect::Messages => messages::request::read(body),
        Dialect::Gemini => gemini::request::read(body, model, stream),
    }
}

/// Writes a request in `dialect` for `target`.
///
/// Several answers at once exist in no other dialect than the request's own, and a client that waits for the second would
/// take their absence for its own fault.
///
/// # Errors
/// What the dialect has no words for and may not be left out silently.
pub fn write_request(dialect: Dialect, request: &Request, target: &Target) -> Result<Written, Refusal> {
    if let Some(id) = request.previous_response_id.as_deref().filter(|_| dialect != Dialect::Responses) {
        return Err(Refusal::of_stored("previous_response_id", id));
    }
    if request.source != dialect && request.sampling.n.is_some_and(|n| n > 1) {
        let field = if request.source == Dialect::Gemini { "generationConfig.candidateCount" } else { "n" };
        let message = "this provider gives one answer to a request: ask several times, or choose a provider that speaks \
                       your agent's own format";
        return Err(Refusal::new(field, message));
    }
    match dialect {
        Dialect::Chat => chat::request::write(request, target),
        Dialect::Responses => responses::request::write(request, target),
        Dialect::Messages => messages::request::write(request, target),
        Dialect::Gemini => gemini::request::write(request, target),
    }
}

/// Reads a whole answer into the events a stream of it would bring.
///
/// # Errors
/// The error it tells, or that it is not of the dialect.
pub fn read_answer(dialect: Dialect, body: &[u8]) -> Result<Vec<Event>, UpstreamError> {
    let body = &surrogates::mended(body)[..];
    match dialect {
        Dialect::Chat => chat::answer::read(body),
        Dialect::Responses => responses::answer::read(body),
        Dialect::Messages => messages::answer::read(body),
        Dialect::Gemini => gemini::answer::read(body),
    }
}

/// What the client's side of an answer needs to know of its request.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Fallback name of the answer, where the upstream gave none; without the dialect's prefix.
    pub id: String,
    /// Fallback name of the model.
    pub model: String,
    /// Seconds since the Unix epoch.
    pub created: u64,
    /// Chat: whether to send the trailing usage chunk.
    pub wants_usage_chunk: bool,
    /// Estimate of the prompt in tokens, never zero: some clients size their context by it.
    pub estimated_input: u64,
    pub ids: IdMap,
}

/// Writes a whole answer.
pub fn write_answer(dialect: Dialect, answer: &Answer, reply: &Reply) -> Bytes {
    match dialect {
        Dialect::Chat => chat::answer::write(answer, reply),
        Dialect::Responses => responses::answer::write(answer, reply),
        Dialect::Messages => messages::answer::write(answer, reply),
        Dialect::Gemini => gemini::answer::write(answer, reply),
    }
}

/// Writes the events of one answer as a stream. Sans I/O: events in, bytes out.
pub trait StreamWriter: Send {
    /// What is pushed from here on comes at this instant. Only Ollama's answers tell the time.
    fn at(&mut self, _now: Timestamp) {}

    /// Writes what the event means to the client; possibly nothing yet.
    fn push(&mut self, event: &Event, out: &mut BytesMut);

    /// The upstream ended well: writes what was kept back, and the end marker. Called once, after the last event.
    fn end(&mut self, out: &mut BytesMut);

    /// How far the client has come: decides the shape of an error written now.
    fn progress(&self) -> crate::error::StreamProgress<'_>;

    /// Whether it keeps all of the answer, to tell it once more at the end (docs/decisions/0010). Whoever pushes then minds how
    /// much that is.
    fn keeps_answer(&self) -> bool {
        false
    }
}

/// A fresh writer for one answer.
pub fn writer(dialect: Dialect, reply: Reply) -> Box<dyn StreamWriter> {
    match dialect {
        Dialect::Chat => Box::new(chat::stream_writer::Writer::new(reply)),
        Dialect::Responses => Box::new(responses::stream_writer::Writer::new(reply)),
        Dialect::Messages => Box::new(messages::stream_writer::Writer::new(reply)),
        Dialect::Gemini => Box::new(gemini::stream_writer::Writer::new(reply)),
    }
}

/// A writer for a Gemini client that asked without `alt=sse`: the frames are the elements of one JSON array.
pub fn gemini_array_writer(reply: Reply) -> Box<dyn StreamWriter> {
    Box::new(gemini::stream_writer::Writer::array(reply))
}
