//! Token counts where nobody counted (gateway specification, 2.11 and 2.15). Good to about a fifth; always marked.

use domain::Usage;

const OVERHEAD_WITH_TOOLS: u64 = 500;
const PER_MESSAGE: u64 = 4;

/// Tokens in a request body. JSON syntax counts as text, which roughly pays for the markup of a chat template.
pub(crate) fn of_request(body: &[u8], messages: u32, tools: u32) -> u64 {
    let overhead = if tools > 0 { OVERHEAD_WITH_TOOLS } else { 0 };
    of_text_bytes(body) + u64::from(messages) * PER_MESSAGE + overhead
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

#[cfg(test)]
mod tests {
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
    fn what_the_upstream_said_stands() {
        let mut usage = Usage { input_fresh: Some(7), ..Usage::default() };
        complete(&mut usage, 99, 3);
        assert_eq!((usage.input(), usage.output, usage.estimated), (Some(7), Some(3), true));
        let mut known = Usage { input_fresh: Some(7), output: Some(2), ..Usage::default() };
        complete(&mut known, 99, 3);
        assert!(!known.estimated);
    }
}
