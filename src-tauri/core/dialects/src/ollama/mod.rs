//! Ollama's own protocol, for agents and editors that speak nothing else. Only clients speak it here: see
//! [`Client`](crate::client::Client).
//!
//! A stream is one JSON text per line, and the last says `done`. Calls have no ids of their own in the older form of the
//! protocol: a result names its tool.

pub(crate) mod answer;
pub mod embed;
pub(crate) mod error;
pub mod listing;
pub(crate) mod request;
pub(crate) mod stream_writer;
mod written;

pub use answer::loaded;
pub use request::loads_only;

/// The two ways to ask for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `/api/chat`: a conversation.
    Chat,
    /// `/api/generate`: one prompt.
    Generate,
}
