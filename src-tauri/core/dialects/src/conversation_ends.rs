//! A request without the middle of a long conversation, for whoever weighs a request and does not send it: what it began
//! with, what it ends with, and what stands beside the conversation say what kind of request it is.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use bytes::Bytes;
use domain::Dialect;
use memchr::memmem;

use crate::splice::{Removable, removals, splice};
use crate::thoughts::elements_of;

/// Shorter requests are read whole, in bytes.
const LONG: usize = 64 * 1_024;
/// So many entries stay at either end.
const KEPT: usize = 8;
/// Media, and instructions that count from the start wherever they stand. Within texts a quote has a stroke before it.
static NEVER_LEFT_OUT: LazyLock<Words> = LazyLock::new(|| {
    Words::new(&[
        "\"image\"",
        "\"image_url\"",
        "\"input_image\"",
        "\"document\"",
        "\"file\"",
        "\"input_file\"",
        "\"audio\"",
        "\"input_audio\"",
        "\"inlineData\"",
        "\"inline_data\"",
        "\"fileData\"",
        "\"file_data\"",
        "\"developer\"",
        "\"system\"",
    ])
});
/// What tools brought.
static RESULTS: LazyLock<Words> = LazyLock::new(|| {
    Words::new(&["tool_call_id\"", "tool_use_id\"", "_output\"", "functionResponse\"", "function_response\""])
});

/// Words that are looked for in one pass, because what is searched is long.
struct Words(Option<AhoCorasick>);

impl Words {
    fn new(words: &[&str]) -> Words {
        // Refused are only words beyond count.
        Words(AhoCorasick::new(words).ok())
    }

    /// Whether one of them stands there.
    fn are_in(&self, bytes: &[u8]) -> bool {
        self.0.as_ref().is_none_or(|words| words.is_match(bytes))
    }
}

/// A request that says less and is of the same kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ends {
    pub body: Bytes,
    /// What was left out holds results of tools.
    pub without_results: bool,
}

/// The request with its conversation's ends alone; nothing where it is short, is not of the dialect, or what would be left
/// out matters.
pub fn ends(dialect: Dialect, body: &Bytes) -> Option<Ends> {
    if body.len() < LONG {
        return None;
    }
    let list = match dialect {
        Dialect::Chat | Dialect::Messages => "messages",
        Dialect::Responses => "input",
        Dialect::Gemini => "contents",
    };
    let entries = elements_of(body, 0..body.len(), list)?;
    let middle = KEPT..entries.len().checked_sub(KEPT)?;
    let left_out = entries.get(middle.clone()).filter(|left_out| !left_out.is_empty())?;
    let (first, last) = (left_out.first()?, left_out.last()?);
    let bytes = &body[first.start..last.end];
    let begins = &body[entries.first()?.start..first.start];
    if memmem::find(begins, b"\"user\"").is_none() || NEVER_LEFT_OUT.are_in(bytes) {
        return None;
    }
    let judged: Vec<Removable> = entries
        .iter()
        .enumerate()
        .map(|(place, range)| Removable { range: range.clone(), is_removed: middle.contains(&place) })
        .collect();
    Some(Ends { body: splice(body, &mut removals(&judged)), without_results: RESULTS.are_in(bytes) })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn conversation(turns: usize, odd: &Value) -> Bytes {
        let long = "word ".repeat(400);
        let mut messages: Vec<Value> = (0..turns)
            .flat_map(|n| {
                [
                    json!({"role": "user", "content": format!("{n} {long}")}),
                    json!({"role": "assistant", "content": long}),
                ]
            })
            .collect();
        messages.insert(turns, odd.clone());
        Bytes::from(json!({"model": "m", "messages": messages, "tools": []}).to_string())
    }

    #[test]
    fn the_ends_of_a_long_conversation_stay_and_all_that_stands_beside_it() {
        let body = conversation(40, &json!({"role": "tool", "tool_call_id": "c", "content": "found"}));
        let Ends { body: ends, without_results } = ends(Dialect::Chat, &body).expect("ends");
        assert!(without_results);
        let read: Value = serde_json::from_slice(&ends).expect("JSON");
        let messages = read["messages"].as_array().expect("messages");
        assert_eq!((messages.len(), &read["model"], &read["tools"]), (2 * KEPT, &json!("m"), &json!([])));
        let begins =
            |n: usize, number: &str| messages[n]["content"].as_str().is_some_and(|text| text.starts_with(number));
        assert!(begins(0, "0 ") && begins(2 * KEPT - 2, "39 "), "{read}");
    }

    #[test]
    fn what_matters_is_never_left_out() {
        let plain = json!({"role": "assistant", "tool_calls": [{"function": {"name": "read_file", "arguments": "{\"image\": 1}"}}]});
        assert!(ends(Dialect::Chat, &conversation(40, &plain)).is_some_and(|ends| !ends.without_results));
        for odd in [
            json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}]}),
            json!({"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}),
            json!({"role": "user", "content": [{"type": "document", "source": {}}]}),
            json!({"role": "user", "parts": [{"inlineData": {"data": "aaaa"}}]}),
            json!({"role": "developer", "content": "be brief"}),
        ] {
            assert_eq!(ends(Dialect::Chat, &conversation(40, &odd)), None, "{odd}");
        }
        assert_eq!(ends(Dialect::Chat, &conversation(4, &plain)), None, "short");
        assert_eq!(ends(Dialect::Gemini, &conversation(40, &plain)), None, "of another dialect");
        assert_eq!(ends(Dialect::Chat, &Bytes::from("{".repeat(LONG))), None, "no request");
    }
}
