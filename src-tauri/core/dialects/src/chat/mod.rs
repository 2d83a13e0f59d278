//! OpenAI Chat Completions.

mod arguments;
pub(crate) mod error;
pub(crate) mod response;
pub(crate) mod stream;
mod wire;
pub(crate) mod answer;
pub(crate) mod request;
pub(crate) mod stream_writer;
