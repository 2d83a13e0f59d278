//! OpenAI Chat Completions.

pub(crate) mod answer;
mod arguments;
pub(crate) mod error;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod stream;
pub(crate) mod stream_writer;
mod wire;
mod written;
