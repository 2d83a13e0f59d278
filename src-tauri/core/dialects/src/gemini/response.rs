//! Looks at whole Gemini answers, token counts and embeddings. The body may be the array of a stream that was asked for
//! without `alt=sse`.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::error::{UpstreamError, no_answer};
use crate::event::FinishReason;
use crate::lenient::{Whole, count, str_of};
use crate::response::{Inspection, parse};

use super::wire::{Answer, Part, finish_reason};

pub(crate) fn inspect(body: &[u8]) -> serde_json::Result<Inspection> {
    let chunks: Vec<Answer<'_>> =
        if body.trim_ascii_start().starts_with(b"[") { parse(body)? } else { vec![parse(body)?] };
    let mut found = Inspection::default();
    let mut has_calls = false;
    let mut is_answer = false;
    for chunk in &chunks {
        let chunk = chunk.inner();
        is_answer |=
            chunk.error.is_none() && (chunk.candidates.is_some() || chunk.is_blocked() || chunk.usage().is_some());
        has_calls |= look(chunk, &mut found);
    }
    let has_error = chunks.iter().any(|chunk| chunk.error.is_some() || chunk.inner().error.is_some());
    if has_error || !is_answer {
        found.error = Some(no_answer(body));
    }
    if has_calls {
        found.finish = found.finish.map(FinishReason::with_tool_calls);
    }
    Ok(found)
}

/// Adds what one chunk says; true when it calls tools.
fn look(chunk: &Answer<'_>, found: &mut Inspection) -> bool {
    found.model = found.model.take().or_else(|| chunk.model());
    if let Some(usage) = chunk.usage() {
        found.usage.absorb(&usage);
    }
    if chunk.is_blocked() {
        found.finish = Some(FinishReason::Filter);
    }
    let mut has_calls = false;
    for candidate in chunk.candidates.iter().flatten() {
        for part in candidate.content.iter().flat_map(|content| content.parts.iter().flatten()) {
            has_calls |= part.function_call.is_some();
            found.has_output |= part.function_call.is_some() || part.is_opaque() || has_text(part);
            found.has_reasoning |= part.is_thought();
        }
        match finish_reason(str_of(&candidate.finish_reason)) {
            Some(Ok(reason)) => found.finish = found.finish.or(Some(reason)),
            Some(Err(value)) => found.error = Some(UpstreamError::failed_finish(value)),
            None => {}
        }
    }
    has_calls
}

pub(crate) fn inspect_count(body: &[u8]) -> serde_json::Result<Inspection> {
    #[derive(Deserialize)]
    struct Count {
        #[serde(rename = "totalTokens")]
        total_tokens: Option<Whole>,
    }
    let answer: Count = parse(body)?;
    Ok(result(count(answer.total_tokens).is_some(), body))
}

pub(crate) fn inspect_embeddings(body: &[u8]) -> serde_json::Result<Inspection> {
    #[derive(Deserialize)]
    struct Embeddings {
        embedding: Option<IgnoredAny>,
        embeddings: Option<Vec<IgnoredAny>>,
    }
    let answer: Embeddings = parse(body)?;
    Ok(result(answer.embedding.is_some() || answer.embeddings.is_some_and(|list| !list.is_empty()), body))
}

fn result(has_output: bool, body: &[u8]) -> Inspection {
    Inspection { has_output, error: (!has_output).then(|| no_answer(body)), ..Inspection::default() }
}

fn has_text(part: &Part<'_>) -> bool {
    !part.is_thought() && !str_of(&part.text).is_empty()
}
