//! Anthropic Messages.

pub(crate) mod answer;
pub(crate) mod error;
pub(crate) mod request;
pub(crate) mod response;
mod spoken;
pub(crate) mod stream;
pub(crate) mod stream_writer;
mod wire;
