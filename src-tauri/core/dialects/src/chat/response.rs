//! Looks at whole Chat answers and embeddings.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::error::{UpstreamError, no_answer, read_in_stream};
use crate::lenient::{Said, Text, some_string, str_of};
use crate::mended;
use crate::response::{Inspection, parse};

use super::wire::{Chunk, Message, TokenCounts, finish_reason};

pub(crate) fn inspect(body: &[u8]) -> serde_json::Result<Inspection> {
    let answer: Chunk<'_, Said> = parse(body)?;
    let mut found = Inspection {
        usage: answer.usage().unwrap_or_default(),
        model: some_string(&answer.model),
        ..Inspection::default()
    };
    let Some(choices) = answer.choices.as_ref().filter(|_| !answer.is_error()) else {
        found.error = Some(no_answer(body));
        return Ok(found);
    };
    let mut has_calls = false;
    for choice in choices {
        if let Some(error) = choice.error {
            found.error = Some(read_in_stream(error.get().as_bytes()));
        }
        if let Some(message) = choice.message.as_ref().or(choice.delta.as_ref()) {
            let calls =
                message.function_call.is_some() || message.tool_calls.as_ref().is_some_and(|calls| !calls.is_empty());
            has_calls |= calls;
            found.has_output |= calls || says_something(message);
            found.has_reasoning |= thinks(message);
        }
        match finish_reason(str_of(&choice.finish_reason)) {
            Ok(_) if choice.finish_reason.is_none() => {}
            Ok(reason) => found.finish = found.finish.or(Some(reason)),
            Err(value) => found.error = Some(UpstreamError::failed_finish(value)),
        }
    }
    if has_calls {
        found.finish = found.finish.map(|reason| reason.with_tool_calls());
    }
    Ok(found)
}

/// Whether this is a piece of a stream and no whole answer.
pub(crate) fn is_piece(body: &[u8]) -> bool {
    let mut room = String::new();
    let Ok(chunk) = mended::read::<Chunk<'_>>(body, &mut room) else { return false };
    let mut choices = chunk.choices.iter().flatten();
    str_of(&chunk.object) == "chat.completion.chunk" || choices.any(|choice| choice.delta.is_some())
}

pub(crate) fn inspect_embeddings(body: &[u8]) -> serde_json::Result<Inspection> {
    #[derive(Deserialize)]
    struct Embeddings<'a> {
        #[serde(borrow)]
        model: Option<Text<'a>>,
        data: Option<Vec<IgnoredAny>>,
        usage: Option<TokenCounts>,
    }
    let answer: Embeddings<'_> = parse(body)?;
    Ok(Inspection {
        usage: answer.usage.map(TokenCounts::usage).unwrap_or_default(),
        has_output: answer.data.as_ref().is_some_and(|data| !data.is_empty()),
        error: answer.data.is_none().then(|| no_answer(body)),
        model: some_string(&answer.model),
        ..Inspection::default()
    })
}

fn says_something(message: &Message<'_, Said>) -> bool {
    says([message.content, message.refusal]) || message.audio.or(message.images).is_some()
}

fn thinks(message: &Message<'_, Said>) -> bool {
    let details = message.reasoning_details.as_ref().is_some_and(|details| !details.is_empty());
    details || says([message.reasoning_content, message.reasoning])
}

fn says(texts: [Option<Said>; 2]) -> bool {
    texts.contains(&Some(Said(true)))
}
