//! What combos weigh of a request (gateway specification, 3.3 and 3.5). Nothing here is kept, logged or sent: texts become
//! hashes and guesses at once.

use dialects::canonical::{OutputFormat, Part, Request, Role};
use domain::hex;
use routing::score::task::guess;
use routing::view::{Needs, RequestFacts, Task};
use sha2::{Digest, Sha256};

use crate::ingress::ClientRequest;
use crate::session_name::{self, hashed_for_combos};

/// The longest `prompt_cache_key` that is taken for one, in bytes.
const CACHE_KEY: usize = 4_096;
/// So much of a text's beginning, and of its end, tells it from others, in bytes.
const HASHED: usize = 8 * 1_024;
/// Hexadecimal digits of a session's hash.
const SESSION_DIGITS: usize = 16;

/// Reads the facts; a request that cannot be read has only those that were glanced at. What it is about is only guessed for
/// who weighs it: that costs as much as all the rest.
pub(crate) fn of(request: &ClientRequest, weighs_task: bool) -> RequestFacts {
    let glance = &request.glance;
    let input = request.estimated_input();
    let mut facts = RequestFacts {
        needs: Needs { tools: glance.tool_count > 0, output: glance.max_output, input, ..Needs::default() },
        estimated_tokens: input.saturating_add(glance.max_output.unwrap_or(0)),
        tool_count: glance.tool_count,
        ..RequestFacts::default()
    };
    if !request.operation.generates() {
        return facts;
    }
    let Ok((asked, more_results)) = request.weighed() else { return facts };
    let asked = &*asked;
    facts.tool_results = more_results;
    parts(asked, &mut facts);
    facts.needs.structured_output = asked.output_format != OutputFormat::Text;
    facts.needs.reasoning = asked.reasoning.is_wanted();
    facts.tags = tags(asked);
    facts.session = session_name::stated(request).map(|name| hashed_for_combos(&name)).or_else(|| session(asked));
    facts.cache_key = cache_key(asked);
    if weighs_task {
        facts.task = task(asked);
    }
    facts
}

fn parts(asked: &Request, facts: &mut RequestFacts) {
    let mut see = |part: &Part| match part {
        Part::Image { .. } => facts.needs.vision = true,
        Part::Document { .. } => facts.needs.documents = true,
        Part::Audio { .. } => facts.needs.audio = true,
        Part::ToolResult { .. } => facts.tool_results = true,
        Part::Text { .. }
        | Part::Reasoning { .. }
        | Part::ToolCall { .. }
        | Part::Refusal { .. }
        | Part::Opaque { .. } => {}
    };
    for part in asked.turns.iter().flat_map(|turn| &turn.parts) {
        see(part);
        if let Part::ToolResult { content, .. } = part {
            content.iter().for_each(&mut see);
        }
    }
}

/// `metadata.tags`: a list of words, or words between commas.
fn tags(asked: &Request) -> Vec<String> {
    match asked.metadata.as_ref().and_then(|metadata| metadata.get("tags")) {
        Some(serde_json::Value::Array(tags)) => tags.iter().filter_map(|tag| tag.as_str().map(str::to_owned)).collect(),
        Some(serde_json::Value::String(tags)) => {
            tags.split(',').map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()).collect()
        }
        _ => Vec::new(),
    }
}

/// A conversation without a name: what it began with does not change while it goes on.
fn session(asked: &Request) -> Option<String> {
    let first = asked.turns.iter().find(|turn| turn.role == Role::User)?;
    let mut hash = Sha256::new();
    texts(&first.parts).for_each(|text| tell_apart(text, &mut hash));
    hash.update([0]);
    texts(&asked.system).for_each(|text| tell_apart(text, &mut hash));
    let mut digits = hex(&hash.finalize());
    digits.truncate(SESSION_DIGITS);
    Some(digits)
}

/// The client's own key, else the beginning of the prompt: system text, tools and first message.
fn cache_key(asked: &Request) -> Option<String> {
    let own = asked.cache_key.as_ref().filter(|key| !key.is_empty() && key.len() <= CACHE_KEY);
    if let Some(own) = own {
        return Some(own.clone());
    }
    let first = asked.turns.iter().find(|turn| turn.role == Role::User)?;
    let mut hash = Sha256::new();
    texts(&asked.system).for_each(|text| tell_apart(text, &mut hash));
    for tool in &asked.tools {
        hash.update([0]);
        hash.update(&tool.name);
        tell_apart(tool.description.as_deref().unwrap_or_default(), &mut hash);
    }
    hash.update([0]);
    texts(&first.parts).for_each(|text| tell_apart(text, &mut hash));
    Some(hex(&hash.finalize()))
}

/// A text by its length, its beginning and its end: a hash of all of a long one would take longer than the choice.
fn tell_apart(text: &str, hash: &mut Sha256) {
    let bytes = text.as_bytes();
    hash.update(bytes.len().to_le_bytes());
    match bytes.split_at_checked(HASHED) {
        Some((beginning, rest)) => {
            hash.update(beginning);
            hash.update(&rest[rest.len().saturating_sub(HASHED)..]);
        }
        None => hash.update(bytes),
    }
}

fn texts(parts: &[Part]) -> impl Iterator<Item = &str> {
    parts.iter().filter_map(|part| match part {
        Part::Text { text, .. } => Some(text.as_str()),
        _ => None,
    })
}

fn task(asked: &Request) -> Task {
    let last = asked.turns.iter().rev().find(|turn| turn.role == Role::User);
    let text = last.and_then(|turn| texts(&turn.parts).last()).unwrap_or_default();
    guess(text, !asked.tools.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_told_from_others_by_its_length_its_beginning_and_its_end() {
        let hashed = |text: &str| {
            let mut hash = Sha256::new();
            tell_apart(text, &mut hash);
            hex(&hash.finalize())
        };
        let long = |first: char, last: char, middle: usize| format!("{first}{}{last}", "-".repeat(middle));
        let one = hashed(&long('a', 'a', 100_000));
        assert_eq!(one, hashed(&long('a', 'a', 100_000)));
        for other in [long('b', 'a', 100_000), long('a', 'b', 100_000), long('a', 'a', 100_001)] {
            assert_ne!(one, hashed(&other));
        }
        for length in [0, 1, HASHED, HASHED + 1, 2 * HASHED] {
            assert_ne!(hashed(&"x".repeat(length)), hashed(&"x".repeat(length + 1)), "{length}");
        }
    }
}
