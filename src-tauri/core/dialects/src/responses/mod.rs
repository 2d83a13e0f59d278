//! OpenAI Responses.

pub(crate) mod error;
pub(crate) mod response;
pub(crate) mod stream;
mod wire;
