//! OpenAI Responses.

pub(crate) mod answer;
pub(crate) mod error;
mod output;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod stream;
pub(crate) mod stream_writer;
mod wire;
