//! Whole answers, looked at without being rebuilt: what was consumed, whether there is anything in them, how they ended.

use domain::{Operation, Usage};

use crate::error::UpstreamError;
use crate::event::FinishReason;
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
    /// ([`EMPTY_OR_GARBLED`](crate::error::EMPTY_OR_GARBLED)).
    pub error: Option<UpstreamError>,
    pub model: Option<String>,
}

/// Looks at the whole body of a 2xx answer.
pub fn inspect(operation: Operation, body: &[u8]) -> Inspection {
    let read = match operation {
        Operation::ChatCompletions => chat::response::inspect(body),
        Operation::Embeddings => chat::response::inspect_embeddings(body),
        Operation::Responses => responses::response::inspect(body),
        Operation::Messages => messages::response::inspect(body),
        Operation::CountTokens => messages::response::inspect_count(body),
        Operation::GenerateContent | Operation::StreamGenerateContent => gemini::response::inspect(body),
        Operation::GeminiCountTokens => gemini::response::inspect_count(body),
        Operation::EmbedContent | Operation::BatchEmbedContents => gemini::response::inspect_embeddings(body),
    };
    read.unwrap_or_else(|_| Inspection {
        error: Some(UpstreamError::garbled("the answer is not what this endpoint returns")),
        ..Inspection::default()
    })
}

#[cfg(test)]
mod tests;
