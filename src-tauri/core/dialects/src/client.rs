//! What a client speaks: a dialect that upstreams speak too, or one that only clients do.
//!
//! Ollama's own protocol is of the second kind. Its servers speak Chat as well, and are asked in Chat; so the protocol is
//! read and written on the client's side alone, and [`Dialect`] stays the list of what an upstream may be asked in. The
//! verbs here are those of [`translate`], [`error`] and [`keep_alive`](crate::keep_alive()), for any client.

use bytes::Bytes;
use domain::{Dialect, Timestamp};

use crate::canonical::{Answer, Request};
use crate::error::{self, ErrorBody, StreamProgress};
use crate::ollama::{self, Form};
use crate::surrogates;
use crate::translate::{self, Refusal, Reply, StreamWriter};

/// In whose words a client asks and is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    Shared(Dialect),
    Ollama(Form),
}

/// When a request arrived and what time it is now: Ollama's answers say how long they took.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub arrived: Timestamp,
    pub now: Timestamp,
}

impl From<Dialect> for Client {
    fn from(dialect: Dialect) -> Client {
        Client::Shared(dialect)
    }
}

impl PartialEq<Dialect> for Client {
    fn eq(&self, dialect: &Dialect) -> bool {
        *self == Client::Shared(*dialect)
    }
}

impl Client {
    /// One of OpenAI's two dialects, which share many values.
    pub const fn is_openai(self) -> bool {
        matches!(self, Client::Shared(Dialect::Chat | Dialect::Responses))
    }

    /// Reads a request. `model` and `stream` are what path and defaults say where the body is silent.
    ///
    /// # Errors
    /// What is wrong with it, by field.
    pub fn read_request(self, body: &[u8], model: &str, stream: bool) -> Result<Request, Refusal> {
        match self {
            Client::Shared(dialect) => translate::read_request(dialect, body, model, stream),
            Client::Ollama(form) => ollama::request::read(form, &surrogates::mended(body), model, stream),
        }
    }

    /// Writes a whole answer.
    pub fn write_answer(self, answer: &Answer, reply: &Reply, times: Times) -> Bytes {
        match self {
            Client::Shared(dialect) => translate::write_answer(dialect, answer, reply),
            Client::Ollama(form) => ollama::answer::write(form, answer, reply, times),
        }
    }

    /// A fresh writer for one answer to a request that came at `arrived`.
    pub fn writer(self, reply: Reply, arrived: Timestamp) -> Box<dyn StreamWriter> {
        match self {
            Client::Shared(dialect) => translate::writer(dialect, reply),
            Client::Ollama(form) => Box::new(ollama::stream_writer::Writer::new(form, reply, arrived)),
        }
    }

    /// The whole body of an error reply.
    pub fn write_error(self, body: &ErrorBody<'_>) -> Bytes {
        match self {
            Client::Shared(dialect) => error::write(dialect, body),
            Client::Ollama(_) => ollama::error::write(body),
        }
    }

    /// What ends a stream after its status was sent; nothing may follow it ([`error::write_stream`]).
    pub fn write_stream_error(self, body: &ErrorBody<'_>, progress: StreamProgress<'_>) -> Bytes {
        match self {
            Client::Shared(dialect) => error::write_stream(dialect, body, progress),
            Client::Ollama(_) => ollama::error::write_stream(body),
        }
    }

    /// What ends such a stream with an upstream's refusal in its own words ([`error::pass_stream`]).
    pub fn pass_stream_error(
        self,
        status: u16,
        body: &[u8],
        retry_after_seconds: Option<u64>,
        progress: StreamProgress<'_>,
    ) -> Option<Bytes> {
        match self {
            Client::Shared(dialect) => error::pass_stream(dialect, status, body, retry_after_seconds, progress),
            Client::Ollama(_) => None,
        }
    }

    /// The HTTP status to send ([`error::status_for`]).
    pub const fn status_for(self, status: u16) -> u16 {
        match self {
            Client::Shared(dialect) => error::status_for(dialect, status),
            Client::Ollama(_) => error::status_for(Dialect::Chat, status),
        }
    }

    /// One sign of life before an answer. `id` names the request, `model` is the one it asked for.
    pub fn keep_alive(self, id: &str, model: &str, now: Timestamp) -> Bytes {
        match self {
            Client::Shared(dialect) => crate::keep_alive(dialect, id, ""),
            Client::Ollama(form) => ollama::stream_writer::keep_alive(form, model, now),
        }
    }

    /// One sign of life within an answer of that name by that model, between two of its frames.
    pub fn heartbeat(self, id: &str, model: &str, now: Timestamp) -> Bytes {
        match self {
            Client::Shared(dialect) => crate::keep_alive(dialect, id, model),
            Client::Ollama(form) => ollama::stream_writer::keep_alive(form, model, now),
        }
    }

    /// The media type of a stream.
    pub const fn stream_type(self) -> &'static str {
        match self {
            Client::Shared(_) => "text/event-stream; charset=utf-8",
            Client::Ollama(_) => "application/x-ndjson",
        }
    }
}
