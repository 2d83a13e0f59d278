//! Token counts where nobody counted (gateway specification, 2.11 and 2.15). Good to about a fifth; always marked.
//!
//! Two ways to the same figure. [`of_request`] looks at bytes alone and is quick enough for every request: filters,
//! budgets and the first event of an answer use it. [`of_asked`] weighs what the request says, part by part, with whatever
//! counts its texts; it answers those who ask for a count ([`token_count`](crate::token_count)).

use dialects::canonical::{Media, Part, Request, Source, media};
use domain::Usage;

const OVERHEAD_WITH_TOOLS: u64 = 500;
const PER_MESSAGE: u64 = 4;
/// An image of unknown size, or sound.
const PER_MEDIUM: u64 = 1_600;
/// Pixels of one token, up to [`PER_MEDIUM`]: vendors make larger images smaller.
const PIXELS: u64 = 750;
/// Bytes of a PDF that make a token: a page of 80 KiB is read as text and picture, about 2 000 of them.
const PDF_BYTES: u64 = 40;
/// How the base64 of a PDF begins.
const PDF: &[u8] = b"JVBERi0";

/// Base64 is recognised by its length: so many bytes without a space, a quote or a stop are no text.
const SHORTEST_MEDIUM: usize = 4_096;
/// A run of [`SHORTEST_MEDIUM`] bytes holds one of these places with [`PROBE`] bytes behind it.
const STRIDE: usize = 2_048;
const PROBE: usize = 64;

/// Tokens in a request body. JSON syntax counts as text, which roughly pays for the markup of a chat template; images in
/// base64 do not.
pub(crate) fn of_request(body: &[u8], messages: u32, tools: u32) -> u64 {
    let overhead = if tools > 0 { OVERHEAD_WITH_TOOLS } else { 0 };
    let media = InlineMedia::of(body);
    let text = of_text_bytes(body).saturating_sub(media.bytes.div_ceil(4));
    text + media.tokens + u64::from(messages) * PER_MESSAGE + overhead
}

/// Tokens of what a request says: the system text, the conversation, the tools. `count` counts a text.
pub(crate) fn of_asked(asked: &Request, count: &impl Fn(&str) -> u64) -> u64 {
    let system: u64 = asked.system.iter().map(|part| of_part(part, count)).sum();
    let turns: u64 = asked.turns.iter().flat_map(|turn| &turn.parts).map(|part| of_part(part, count)).sum::<u64>()
        + asked.turns.len() as u64 * PER_MESSAGE;
    let tools: u64 = asked
        .tools
        .iter()
        .map(|tool| {
            let schema = tool.schema.as_ref().map(ToString::to_string).unwrap_or_default();
            count(&tool.name) + count(tool.description.as_deref().unwrap_or_default()) + count(&schema)
        })
        .sum();
    system + turns + tools + if asked.tools.is_empty() { 0 } else { OVERHEAD_WITH_TOOLS }
}

fn of_part(part: &Part, count: &impl Fn(&str) -> u64) -> u64 {
    match part {
        Part::Text { text, .. } | Part::Reasoning { text, .. } | Part::Refusal { text } => count(text),
        Part::Image { media, .. } | Part::Document { media, .. } | Part::Audio { media } => of_media(media, count),
        Part::ToolCall { name, arguments, .. } => count(name) + count(arguments),
        Part::ToolResult { content, .. } => content.iter().map(|part| of_part(part, count)).sum(),
        Part::Opaque { json, .. } => count(json.get()),
    }
}

fn of_media(medium: &Media, count: &impl Fn(&str) -> u64) -> u64 {
    match &medium.source {
        Source::Text(text) => count(text),
        Source::Url(_) | Source::File(_) => PER_MEDIUM,
        Source::Inline { data, .. } => match media::dimensions(data) {
            Some((width, height)) => (u64::from(width) * u64::from(height)).div_ceil(PIXELS).clamp(1, PER_MEDIUM),
            None => of_base64(data.as_bytes()),
        },
    }
}

fn of_base64(data: &[u8]) -> u64 {
    if data.starts_with(PDF) { (data.len() as u64 * 3 / 4).div_ceil(PDF_BYTES) } else { PER_MEDIUM }
}

/// What of a body is base64.
#[derive(Default)]
struct InlineMedia {
    bytes: u64,
    tokens: u64,
}

impl InlineMedia {
    /// Looks at one place in every [`STRIDE`] bytes, and on from there only where that may be base64.
    fn of(body: &[u8]) -> InlineMedia {
        let (mut found, mut at, mut from) = (InlineMedia::default(), 0, 0);
        while let Some(probe) = body.get(at..at + PROBE) {
            if probe.iter().all(is_base64) {
                let start =
                    body[from..at].iter().rposition(|byte| !is_base64(byte)).map_or(from, |last| from + last + 1);
                let end = body[at..].iter().position(|byte| !is_base64(byte)).map_or(body.len(), |length| at + length);
                if end - start >= SHORTEST_MEDIUM {
                    found.bytes += (end - start) as u64;
                    found.tokens += of_base64(&body[start..end]);
                }
                from = end;
                at = at.max(end / STRIDE * STRIDE);
            }
            at += STRIDE;
        }
        found
    }
}

fn is_base64(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
}

/// A quarter of a token for a Latin letter, two thirds for a character of three or more bytes (CJK).
pub(crate) fn of_text_bytes(text: &[u8]) -> u64 {
    let (wide, continuation) = if text.is_ascii() {
        (0, 0)
    } else {
        (count(text, |byte| byte >= 0xE0), count(text, |byte| (0x80..0xC0).contains(&byte)))
    };
    let narrow = (text.len() as u64).saturating_sub(wide + continuation);
    narrow.div_ceil(4) + (wide * 2).div_ceil(3)
}

/// How many bytes are of a kind. Whole conversations are counted, so blocks are short enough for their count to fit a
/// byte: the compiler then counts many at once.
fn count(text: &[u8], kind: impl Fn(u8) -> bool) -> u64 {
    const BLOCK: usize = u8::MAX as usize;
    text.chunks(BLOCK).map(|block| u64::from(block.iter().map(|byte| u8::from(kind(*byte))).sum::<u8>())).sum()
}

/// Fills in what the upstream did not say.
pub(crate) fn complete(usage: &mut Usage, input: u64, output: u64) {
    if usage.input().is_none() {
        usage.input_fresh = Some(input);
        usage.estimated = true;
    }
    if usage.output.is_none() {
        usage.output = Some(output);
        usage.estimated = true;
    }
}

/// The same for an answer that broke off, or whose client left: what arrived was consumed, with the prompt it answers.
/// Nothing arrived, nothing is added.
pub(crate) fn complete_cut(usage: &mut Usage, input: u64, output: u64) {
    if output > 0 {
        complete_given_up(usage, input, output);
    }
}

/// The same for a call that this gateway itself gave up: its prompt was read, whether anything arrived or not. What the
/// upstream says before its last word counts less than what is there.
pub(crate) fn complete_given_up(usage: &mut Usage, input: u64, output: u64) {
    if usage.output.is_some_and(|stated| stated < output) {
        usage.output = None;
    }
    complete(usage, input, output);
}

#[cfg(test)]
mod tests {
    use domain::Dialect;

    use super::*;

    #[test]
    fn letters_and_characters() {
        for (text, expected) in [("", 0), ("abcd", 1), ("abcde", 2), ("漢字漢", 2), ("é", 1)] {
            assert_eq!(of_text_bytes(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn long_texts_count_like_short_ones() {
        assert_eq!(of_text_bytes("漢".repeat(3_000).as_bytes()), 2_000);
        assert_eq!(of_text_bytes("é".repeat(3_000).as_bytes()), 750);
    }

    #[test]
    fn an_image_in_base64_counts_as_an_image_wherever_it_stands() {
        let image = "aB3+/_-9".repeat(100_000);
        for before in [0, 1, 63, 2_000, 2_048, 5_000] {
            let text = "word ".repeat(before / 5 + 1);
            let body = format!(r#"{{"text":"{text}","data":"data:image/png;base64,{image}","more":"{text}"}}"#);
            let tokens = of_request(body.as_bytes(), 0, 0);
            let expected = 1_600 + (body.len() - image.len()) as u64 / 4;
            assert!(tokens.abs_diff(expected) < 8, "{before}: {tokens} for {expected}");
        }
    }

    #[test]
    fn two_images_are_two_and_a_document_goes_by_its_size() {
        let (image, document) = ("A".repeat(10_000), format!("JVBERi0{}", "A".repeat(159_993)));
        let body = format!(r#"["{image}","{image}","{document}"]"#);
        let tokens = of_request(body.as_bytes(), 0, 0);
        assert!(tokens.abs_diff(2 * 1_600 + 3_000) < 8, "{tokens}");
    }

    #[test]
    fn code_and_prose_hold_no_images() {
        let body = "let value = compute(first_argument, second_argument)?;\n".repeat(2_000);
        assert_eq!(InlineMedia::of(body.as_bytes()).bytes, 0);
        assert_eq!(InlineMedia::of(b"short").bytes, 0);
    }

    #[test]
    fn what_a_request_says_is_weighed_part_by_part() {
        let body = serde_json::json!({
            "model": "m", "system": "1234", "max_tokens": 1,
            "tools": [{"name": "ls", "description": "lists", "input_schema": {"type": "object"}}],
            "messages": [
                {"role": "user", "content": [
                    {"type": "text", "text": "12345"},
                    {"type": "image", "source": {"type": "url", "url": "https://a/b.png"}},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png",
                        "data": "iVBORw0KGgoAAAANSUhEUgAAASwAAADICAYAAAA="}},
                ]},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "ls", "input": {"a": 1}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "123"}]},
            ],
        });
        let asked = dialects::translate::read_request(Dialect::Messages, body.to_string().as_bytes(), "m", false)
            .expect("a request");
        let letters = |text: &str| text.len() as u64;
        // 300 × 200 pixels are 80 tokens.
        let parts = 4 + 5 + PER_MEDIUM + 80 + (2 + 7) + 3;
        let tools = 2 + 5 + r#"{"type":"object"}"#.len() as u64 + OVERHEAD_WITH_TOOLS;
        assert_eq!(of_asked(&asked, &letters), parts + tools + 3 * PER_MESSAGE);
    }

    #[test]
    fn what_the_upstream_said_stands() {
        let mut usage = Usage { input_fresh: Some(7), ..Usage::default() };
        complete(&mut usage, 99, 3);
        assert_eq!((usage.input(), usage.output, usage.estimated), (Some(7), Some(3), true));
        let mut known = Usage { input_fresh: Some(7), output: Some(2), ..Usage::default() };
        complete(&mut known, 99, 3);
        assert!(!known.estimated);
    }

    #[test]
    fn a_call_that_was_given_up_counts_its_prompt() {
        let mut usage = Usage::default();
        complete_given_up(&mut usage, 99, 0);
        assert_eq!((usage.input(), usage.output, usage.estimated), (Some(99), Some(0), true));
    }

    #[test]
    fn a_cut_answer_counts_what_arrived_and_nothing_where_nothing_did() {
        let mut usage = Usage { input_fresh: Some(7), output: Some(1), ..Usage::default() };
        complete_cut(&mut usage, 99, 0);
        assert_eq!((usage.input(), usage.output, usage.estimated), (Some(7), Some(1), false));
        complete_cut(&mut usage, 99, 30);
        assert_eq!((usage.input(), usage.output, usage.estimated), (Some(7), Some(30), true));
        let mut more = Usage { output: Some(40), ..Usage::default() };
        complete_cut(&mut more, 99, 30);
        assert_eq!((more.input(), more.output, more.estimated), (Some(99), Some(40), true));
    }
}
