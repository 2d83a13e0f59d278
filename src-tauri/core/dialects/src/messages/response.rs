//! Looks at whole Messages answers and token counts.

use serde::Deserialize;

use crate::error::no_answer;
use crate::event::PartKind;
use crate::lenient::{Whole, count, some_string, str_of};
use crate::response::{Inspection, parse};

use super::wire::{Block, Message, TokenCounts, stop_reason};

pub(crate) fn inspect(body: &[u8]) -> serde_json::Result<Inspection> {
    let answer: Message<'_> = parse(body)?;
    let mut found = Inspection {
        usage: answer.usage.map(TokenCounts::usage).unwrap_or_default(),
        model: some_string(&answer.model),
        ..Inspection::default()
    };
    if answer.error.is_some() || answer.content.is_none() {
        found.error = Some(no_answer(body));
        return Ok(found);
    }
    let mut has_calls = false;
    for block in answer.content.iter().flatten() {
        match block.part_kind() {
            PartKind::Text | PartKind::Refusal => found.has_output |= has_text(block),
            PartKind::Reasoning | PartKind::RedactedReasoning => found.has_reasoning = true,
            PartKind::ToolCall { .. } => has_calls = true,
            PartKind::Opaque => found.has_output = true,
        }
    }
    found.has_output |= has_calls;
    let reason = some_string(&answer.stop_reason).map(|reason| stop_reason(&reason));
    found.finish = reason.map(|reason| if has_calls { reason.with_tool_calls() } else { reason });
    Ok(found)
}

pub(crate) fn inspect_count(body: &[u8]) -> serde_json::Result<Inspection> {
    #[derive(Deserialize)]
    struct Count {
        input_tokens: Option<Whole>,
    }
    let answer: Count = parse(body)?;
    let has_output = count(answer.input_tokens).is_some();
    Ok(Inspection { has_output, error: (!has_output).then(|| no_answer(body)), ..Inspection::default() })
}

fn has_text(block: &Block<'_>) -> bool {
    !str_of(&block.text).is_empty()
}
