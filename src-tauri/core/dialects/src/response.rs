//! Whole answers, looked at without being rebuilt: what was consumed, whether there is anything in them, how they ended.

use bytes::Bytes;
use domain::{Operation, Usage};
use serde::Deserialize;

use crate::error::UpstreamError;
use crate::event::FinishReason;
use crate::mended::mended;
use crate::{chat, gemini, messages, responses};

/// What a whole answer says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inspection {
    pub usage: Usage,
    /// Text, a refusal, a tool call or output of a kind not interpreted here. For operations that do not generate text:
    /// the expected result is there.
    pub has_output: bool,
    /// Thinking, in the clear or encrypted. Alone it is no output.
    pub has_reasoning: bool,
    pub finish: Option<FinishReason>,
    /// An error although the status was good, or an answer that is not of the dialect
    /// ([`Garbled`](crate::error::ErrorOrigin::Garbled)).
    pub error: Option<UpstreamError>,
    pub model: Option<String>,
    /// The body as the JSON that was read, where it had to be mended first.
    pub mended: Option<Bytes>,
}

/// Looks at the whole body of a 2xx answer.
pub fn inspect(operation: Operation, body: &[u8]) -> Inspection {
    let read = inspect_strictly(operation, body).or_else(|strictly| {
        let mended = Bytes::from(mended(body).map_err(|_| strictly)?);
        let inspection = inspect_strictly(operation, &mended)?;
        Ok(Inspection { mended: Some(mended), ..inspection })
    });
    read.unwrap_or_else(|_: serde_json::Error| Inspection {
        error: Some(UpstreamError::garbled("the answer is not what this endpoint returns")),
        ..Inspection::default()
    })
}

fn inspect_strictly(operation: Operation, body: &[u8]) -> serde_json::Result<Inspection> {
    match operation {
        Operation::ChatCompletions => chat::response::inspect(body),
        Operation::Embeddings => chat::response::inspect_embeddings(body),
        Operation::Responses => responses::response::inspect(body),
        Operation::Messages => messages::response::inspect(body),
        Operation::CountTokens => messages::response::inspect_count(body),
        Operation::GenerateContent | Operation::StreamGenerateContent => gemini::response::inspect(body),
        Operation::GeminiCountTokens => gemini::response::inspect_count(body),
        Operation::EmbedContent | Operation::BatchEmbedContents => gemini::response::inspect_embeddings(body),
    }
}

/// Reads a body. Where all of it is UTF-8, as it should be, its texts are not looked at for that one by one.
pub(crate) fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> serde_json::Result<T> {
    match std::str::from_utf8(body) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_slice(body),
    }
}

#[cfg(test)]
mod tests;
