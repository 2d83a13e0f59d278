//! The checks a real provider makes on a request.
//!
//! Lenient, only what cannot be answered is refused: bodies that are not JSON. Strict, also what real providers refuse
//! and gateways get wrong: members they do not know, required fields and limits, tool results without their call, calls
//! without their result, thinking whose signature was never issued. One file per dialect holds the vendor's rules.

mod chat;
mod gemini;
mod messages;
mod responses;
mod rules;
#[cfg(test)]
mod tests;

use domain::Operation;

use crate::request::Ask;
use rules::{list, require};

/// Refuses a request with the reason to tell its sender.
pub(crate) fn check(ask: &Ask, operation: Operation, strict: bool) -> Result<(), String> {
    if !ask.well_formed {
        return Err("the body is not valid JSON".to_owned());
    }
    if !strict {
        return Ok(());
    }
    if ask.model.is_none() {
        return Err("model: field required".to_owned());
    }
    let body = ask.json();
    match operation {
        Operation::ChatCompletions => chat::check(&body),
        Operation::Responses => responses::check(&body),
        Operation::Messages => messages::check(ask.versioned, &body),
        Operation::GenerateContent | Operation::StreamGenerateContent => {
            gemini::check(ask.model.as_deref().unwrap_or_default(), &body)
        }
        Operation::CountTokens => list(&body, "messages").map(drop),
        Operation::GeminiCountTokens => Ok(()),
        Operation::Embeddings => require(!body["input"].is_null(), || "input: field required"),
        Operation::EmbedContent | Operation::BatchEmbedContents => Ok(()),
    }
}
