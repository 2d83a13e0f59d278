//! Taking earlier thinking out of a request without rebuilding it.
//!
//! Two occasions (gateway specification, 2.7, rules 1 and 3). A conversation that was served by several vendors carries
//! proofs of reasoning marked with their maker: in a request that passes as bytes, those of other makers must go. And a
//! vendor that calls its own proofs invalid is asked once more without any.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use domain::Dialect;
use memchr::memmem;
use serde::Deserialize;

use crate::canonical::reasoning::{SEALS, is_sealed};
use crate::json::{Kind, Scanner};
use crate::splice::{Edit, Removable, removals, remove_member, splice};

/// What is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thoughts {
    /// Those that bear the mark of another maker.
    Foreign,
    /// All of them; and thinking is no longer asked for where the dialect would insist on them.
    All,
}

/// Whether a body carries thinking of another maker than its dialect's own.
pub fn has_foreign_thoughts(body: &[u8]) -> bool {
    SEALS.iter().any(|seal| {
        memmem::find_iter(body, seal.as_bytes()).any(|at| {
            let is_begin = at > 0 && body[at - 1] == b'"';
            is_begin && memchr::memchr(b'"', &body[at..]).is_some_and(|end| is_sealed_text(&body[at..at + end]))
        })
    })
}

fn is_sealed_text(text: &[u8]) -> bool {
    str::from_utf8(text).is_ok_and(is_sealed)
}

/// `body` without `thoughts`; the same bytes where there are none, or where it is not of the dialect.
pub fn without_thoughts(dialect: Dialect, body: &Bytes, thoughts: Thoughts) -> Bytes {
    let mut edits = edits(dialect, body, thoughts);
    let body = splice(body, &mut edits);
    match remove_member(&body, "thinking") {
        Some(asking) if dialect == Dialect::Messages && thoughts == Thoughts::All => splice(&body, &mut [asking]),
        _ => body,
    }
}

/// Whether an upstream refuses a request for the thinking in it. `message` is its own text.
pub fn is_refusal_of_thoughts(message: &str) -> bool {
    let text = message.to_ascii_lowercase();
    let about = text.contains("thinking") || text.contains("thought") || text.contains("reasoning");
    let invalid = text.contains("signature") && (text.contains("invalid") || text.contains("missing"));
    let order = text.contains("expected `thinking`") || text.contains("expected thinking");
    let changed = text.contains("thinking") && text.contains("cannot be modified");
    let unreadable = text.contains("encrypted content") && text.contains("could not be");
    (about && invalid) || order || changed || unreadable
}

/// What of a part tells whether it is thinking, in the words of every dialect.
#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    signature: Option<Cow<'a, str>>,
    #[serde(borrow)]
    data: Option<Cow<'a, str>>,
    #[serde(borrow)]
    encrypted_content: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "thoughtSignature", alias = "thought_signature")]
    thought_signature: Option<Cow<'a, str>>,
    thought: Option<bool>,
}

impl Part<'_> {
    fn is_thought(&self, dialect: Dialect) -> bool {
        let kind = self.kind.as_deref();
        match dialect {
            Dialect::Messages => matches!(kind, Some("thinking" | "redacted_thinking")),
            Dialect::Responses => kind == Some("reasoning"),
            Dialect::Gemini => self.thought == Some(true),
            Dialect::Chat => false,
        }
    }

    fn is_foreign(&self) -> bool {
        [&self.signature, &self.data, &self.encrypted_content, &self.thought_signature]
            .into_iter()
            .flatten()
            .any(|proof| is_sealed(proof))
    }
}

/// Where a dialect keeps the conversation, and within one of its elements the parts; none, the elements are the parts.
const fn places(dialect: Dialect) -> Option<(&'static str, Option<&'static str>)> {
    match dialect {
        Dialect::Messages => Some(("messages", Some("content"))),
        Dialect::Responses => Some(("input", None)),
        Dialect::Gemini => Some(("contents", Some("parts"))),
        Dialect::Chat => None,
    }
}

fn edits(dialect: Dialect, body: &[u8], thoughts: Thoughts) -> Vec<Edit> {
    let Some((conversation, parts)) = places(dialect) else { return Vec::new() };
    let Some(elements) = elements_of(body, 0..body.len(), conversation) else { return Vec::new() };
    let judge = |range: &Range<usize>| verdict(dialect, &body[range.clone()], range.start, thoughts);
    let mut inner = Vec::new();
    let mut outer = Vec::new();
    for element in elements {
        let verdicts: Vec<(Range<usize>, Verdict)> = match parts {
            None => vec![(element.clone(), judge(&element))],
            Some(name) => {
                let ranges = elements_of(body, element.clone(), name).unwrap_or_default();
                ranges.into_iter().map(|range| (range.clone(), judge(&range))).collect()
            }
        };
        // A turn that was thinking alone goes with it: no dialect takes an empty one.
        let is_removed = !verdicts.is_empty() && verdicts.iter().all(|(_, verdict)| matches!(verdict, Verdict::Remove));
        if !is_removed {
            let removables: Vec<Removable> = verdicts
                .iter()
                .map(|(range, verdict)| Removable {
                    range: range.clone(),
                    is_removed: matches!(verdict, Verdict::Remove),
                })
                .collect();
            inner.extend(removals(&removables));
            inner.extend(verdicts.into_iter().filter_map(|(_, verdict)| match verdict {
                Verdict::Change(edit) => Some(edit),
                Verdict::Keep | Verdict::Remove => None,
            }));
        }
        outer.push(Removable { range: element, is_removed });
    }
    inner.extend(removals(&outer));
    inner
}

enum Verdict {
    Keep,
    Remove,
    Change(Edit),
}

/// `part` begins at byte `start` of the body.
fn verdict(dialect: Dialect, part: &[u8], start: usize, thoughts: Thoughts) -> Verdict {
    let Ok(read) = serde_json::from_slice::<Part<'_>>(part) else { return Verdict::Keep };
    let concerned = thoughts == Thoughts::All || read.is_foreign();
    if concerned && read.is_thought(dialect) {
        return Verdict::Remove;
    }
    // A proof that travels on a part which is no thinking itself: the part stays.
    if concerned && dialect == Dialect::Gemini && read.thought_signature.is_some() {
        let edit = remove_member(part, "thoughtSignature").or_else(|| remove_member(part, "thought_signature"));
        if let Some(Edit { range, with }) = edit {
            return Verdict::Change(Edit { range: range.start + start..range.end + start, with });
        }
    }
    Verdict::Keep
}

/// Ranges of the elements of the array `name` of the object that stands at `object`.
pub(crate) fn elements_of(body: &[u8], object: Range<usize>, name: &str) -> Option<Vec<Range<usize>>> {
    let mut found = None;
    let mut scanner = Scanner::resume(&body[..object.end], object.start, 0);
    scanner
        .object(|scanner, key| {
            if scanner.is(&key, name) && scanner.peek()? == Kind::Array {
                let mut ranges = Vec::new();
                scanner.array(|scanner| {
                    ranges.push(scanner.skip()?);
                    Ok(())
                })?;
                found = Some(ranges);
            } else {
                scanner.skip()?;
            }
            Ok(())
        })
        .ok()?;
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(dialect: Dialect, body: &'static str, thoughts: Thoughts) -> String {
        let body = without_thoughts(dialect, &Bytes::from_static(body.as_bytes()), thoughts);
        String::from_utf8(body.to_vec()).expect("text")
    }

    #[test]
    fn only_what_another_maker_thought_is_taken_out() {
        let cases = [
            (
                Dialect::Messages,
                r#"{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"omr1.openai.x"}, {"type":"text","text":"b"}]}],"thinking":{"type":"enabled"}}"#,
                r#"{"messages":[{"role":"assistant","content":[{"type":"text","text":"b"}]}],"thinking":{"type":"enabled"}}"#,
            ),
            (
                Dialect::Messages,
                r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"redacted_thinking","data":"omr1.openai.x"}]},{"role":"user","content":"r"}]}"#,
                r#"{"messages":[{"role":"user","content":"q"},{"role":"user","content":"r"}]}"#,
            ),
            (
                Dialect::Responses,
                r#"{"input":[{"type":"reasoning","encrypted_content":"omr1.anthropic.x"},{"type":"reasoning","encrypted_content":"gAAA"}]}"#,
                r#"{"input":[{"type":"reasoning","encrypted_content":"gAAA"}]}"#,
            ),
            (
                Dialect::Gemini,
                r#"{"contents":[{"role":"model","parts":[{"text":"t","thought":true,"thoughtSignature":"b21yMS5vcGVuYWkueQ=="},{"thoughtSignature":"b21yMS5vcGVuYWkueA==","functionCall":{"name":"f"}}]}]}"#,
                r#"{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f"}}]}]}"#,
            ),
        ];
        for (dialect, body, expected) in cases {
            assert!(has_foreign_thoughts(body.as_bytes()));
            assert_eq!(without(dialect, body, Thoughts::Foreign), expected);
        }
    }

    #[test]
    fn what_the_vendor_itself_thought_stays_byte_for_byte() {
        let body =
            r#"{"messages":[{"content":[{"type":"thinking","thinking":"omr1.","signature":"EqQ="}]}], "x": 1.50}"#;
        assert!(!has_foreign_thoughts(br#"{"content":"omr1 and omr1.", "thoughtSignature": "b21yMSBpcyBub25l"}"#));
        assert_eq!(without(Dialect::Messages, body, Thoughts::Foreign), body);
        assert_eq!(without(Dialect::Chat, body, Thoughts::All), body);
        assert_eq!(without(Dialect::Messages, "[1]", Thoughts::All), "[1]");
    }

    #[test]
    fn without_any_thinking_none_is_asked_for() {
        let body = r#"{"thinking":{"type":"enabled"},"messages":[{"content":[{"type":"thinking","thinking":"a","signature":"s"},{"type":"tool_use"}]}]}"#;
        assert_eq!(
            without(Dialect::Messages, body, Thoughts::All),
            r#"{"messages":[{"content":[{"type":"tool_use"}]}]}"#
        );
    }

    #[test]
    fn a_refusal_of_thinking_is_told_from_others() {
        for (message, expected) in [
            ("messages.1.content.0: Invalid `signature` in `thinking` block", true),
            ("messages.5.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`", true),
            ("`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified", true),
            ("Function call is missing a thought_signature in functionCall parts", true),
            ("The encrypted content gAAA could not be verified", true),
            ("thinking.budget_tokens: must be at least 1024", false),
            ("Invalid signature of the request", false),
            ("prompt is too long", false),
        ] {
            assert_eq!(is_refusal_of_thoughts(message), expected, "{message}");
        }
    }
}
