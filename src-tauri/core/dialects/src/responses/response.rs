//! Looks at whole Responses answers.

use crate::error::{UpstreamError, no_answer, read_in_stream};
use crate::lenient::{some_string, str_of};
use crate::response::{Inspection, parse};

use super::wire::{Item, ItemKind, Response};

pub(crate) fn inspect(body: &[u8]) -> serde_json::Result<Inspection> {
    let answer: Response<'_> = parse(body)?;
    let mut found = Inspection {
        usage: answer.usage().unwrap_or_default(),
        model: some_string(&answer.model),
        ..Inspection::default()
    };
    let status = str_of(&answer.status);
    if let Some(error) = answer.error {
        found.error = Some(read_in_stream(error.get().as_bytes()));
    } else if matches!(status, "failed" | "cancelled") {
        found.error = Some(UpstreamError::failed_finish(status));
    } else if answer.output.is_none() {
        found.error = Some(no_answer(body));
    }
    let mut has_calls = false;
    for item in answer.output.iter().flatten() {
        match item.kind() {
            ItemKind::Message => found.has_output |= says_something(item),
            ItemKind::Reasoning => found.has_reasoning = true,
            ItemKind::Call => has_calls = true,
            ItemKind::Opaque => found.has_output = true,
        }
    }
    found.has_output |= has_calls;
    if found.error.is_none() && matches!(status, "completed" | "incomplete" | "") {
        let reason = answer.finish();
        found.finish = Some(if has_calls { reason.with_tool_calls() } else { reason });
    }
    Ok(found)
}

fn says_something(item: &Item<'_>) -> bool {
    item.content
        .iter()
        .flatten()
        .any(|content| [&content.text, &content.refusal].iter().any(|text| !str_of(text).is_empty()))
}
