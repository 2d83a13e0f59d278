//! Letters outside the first plane that were cut in half.
//!
//! JSON may write such a letter as two escapes, and a program that cuts texts by UTF-16 units sends one half without the
//! other: servers at the border of two chunks, agents at the border of what they keep of a file. Neither half is text, and
//! a reader would lose all that stands in the same JSON. Two halves in two frames are joined; a half that stays alone
//! becomes the replacement character.

use std::borrow::Cow;

use bytes::{BufMut, Bytes, BytesMut};
use memchr::{memchr, memmem};

use crate::error::StreamProgress;
use crate::event::{Event, StreamReader};
use crate::framing::Frame;

/// Bytes of an escape: `\uXXXX`.
const ESCAPE: usize = 6;
const REPLACEMENT: &[u8] = b"\\ufffd";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    First,
    Second,
}

/// The JSON with the replacement character for every half that stands alone.
pub(crate) fn mended(json: &[u8]) -> Cow<'_, [u8]> {
    let mut joiner = Joiner { first: None, replaces: true };
    joiner.joined(json).map_or(Cow::Borrowed(json), |bytes| Cow::Owned(bytes.into()))
}

/// A reader for frames whose letters may be cut in half.
pub(crate) fn joining(inner: Box<dyn StreamReader + Send>) -> Box<dyn StreamReader + Send> {
    Box::new(Reader { inner, joiner: Joiner::default() })
}

#[derive(Debug, Default)]
struct Joiner {
    /// The escape of a first half whose second has not come.
    first: Option<[u8; ESCAPE]>,
    /// Nothing comes after this text: first halves are not waited for.
    replaces: bool,
}

impl Joiner {
    /// The text with its halves joined; none where no half stands alone.
    fn joined(&mut self, json: &[u8]) -> Option<Bytes> {
        // Most texts hold no such escape, and are looked through once.
        let mut escapes = memmem::find_iter(json, b"\\u");
        if !escapes.any(|place| matches!(json.get(place + 2), Some(b'd' | b'D'))) {
            return None;
        }
        let (mut out, mut from, mut at) = (BytesMut::new(), 0, 0);
        while let Some((place, half, escape)) = next_alone(json, at) {
            out.put_slice(&json[from..place]);
            match (half, self.first.take()) {
                (Half::First, _) if self.replaces => out.put_slice(REPLACEMENT),
                (Half::First, _) => self.first = Some(escape),
                (Half::Second, Some(first)) => {
                    out.put_slice(&first);
                    out.put_slice(&escape);
                }
                (Half::Second, None) => out.put_slice(REPLACEMENT),
            }
            (from, at) = (place + ESCAPE, place + ESCAPE);
        }
        if from == 0 {
            return None;
        }
        out.put_slice(&json[from..]);
        Some(out.freeze())
    }
}

/// The next half from `at` on that has no other beside it, and where it stands.
fn next_alone(json: &[u8], mut at: usize) -> Option<(usize, Half, [u8; ESCAPE])> {
    loop {
        let place = at + memchr(b'\\', json.get(at..)?)?;
        let Some((half, escape)) = half_at(json, place) else {
            // The letter behind a backslash belongs to it, also if it is one.
            at = place + 2;
            continue;
        };
        let is_whole =
            half == Half::First && half_at(json, place + ESCAPE).is_some_and(|(next, _)| next == Half::Second);
        if !is_whole {
            return Some((place, half, escape));
        }
        at = place + 2 * ESCAPE;
    }
}

/// The half whose escape stands at `place`.
fn half_at(json: &[u8], place: usize) -> Option<(Half, [u8; ESCAPE])> {
    let escape: [u8; ESCAPE] = json.get(place..place + ESCAPE)?.try_into().ok()?;
    let digits = std::str::from_utf8(escape.strip_prefix(b"\\u")?).ok()?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xD800..0xDC00 => Some((Half::First, escape)),
        0xDC00..0xE000 => Some((Half::Second, escape)),
        _ => None,
    }
}

struct Reader {
    inner: Box<dyn StreamReader + Send>,
    joiner: Joiner,
}

impl StreamReader for Reader {
    fn push(&mut self, frame: &Frame, out: &mut Vec<Event>) {
        match self.joiner.joined(&frame.data) {
            None => self.inner.push(frame, out),
            Some(data) => self.inner.push(&Frame { data, ..frame.clone() }, out),
        }
    }

    fn end(&mut self, out: &mut Vec<Event>) {
        self.inner.end(out);
    }

    fn dropped(&self) -> u32 {
        self.inner.dropped()
    }

    fn progress(&self) -> StreamProgress<'_> {
        self.inner.progress()
    }
}

#[cfg(test)]
mod tests {
    use domain::Dialect;

    use super::*;
    use crate::canonical::Answer;

    #[test]
    fn a_half_that_stays_alone_becomes_the_replacement_character() {
        for (text, expected) in [
            (r#"{"a":"x\ud83d"}"#, r#"{"a":"x\ufffd"}"#),
            (r#"{"a":"\uDC4Bx"}"#, r#"{"a":"\ufffdx"}"#),
            (r#"{"a":"\ud83d\ud83d\udc4b\udc4b"}"#, r#"{"a":"\ufffd\ud83d\udc4b\ufffd"}"#),
            (r#"{"a":"\\ud83d \ud83d\n"}"#, r#"{"a":"\\ud83d \ufffd\n"}"#),
        ] {
            assert_eq!(String::from_utf8(mended(text.as_bytes()).into_owned()).expect("UTF-8"), expected);
            assert!(serde_json::from_str::<serde_json::Value>(expected).is_ok(), "{expected}");
        }
        for whole in [r#"{"a":"\ud83d\udc4b \\ud83d"}"#, r#"{"a":"\ud7ff\ue000\ud"}"#, "\\", "\\ud83"] {
            assert!(matches!(mended(whole.as_bytes()), Cow::Borrowed(_)), "{whole}");
        }
    }

    #[test]
    fn a_letter_cut_between_two_frames_is_whole_again() {
        let frames = [
            r#"data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hi \ud83d"}}]}"#,
            r#"data: {"id":"c","choices":[{"index":0,"delta":{"content":""}}]}"#,
            r#"data: {"id":"c","choices":[{"index":0,"delta":{"content":"\udc4b!"}}]}"#,
            r#"data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        ];
        let stream = Bytes::from(frames.join("\n\n") + "\n\n");
        let mut decoder = crate::SseDecoder::new(crate::framing::MAX_FRAME);
        let (mut frames, mut events) = (Vec::new(), Vec::new());
        decoder.push(stream, &mut frames).expect("frames");
        let mut reader = crate::reader(Dialect::Chat);
        frames.iter().for_each(|frame| reader.push(frame, &mut events));
        reader.end(&mut events);
        assert_eq!(reader.dropped(), 0);
        assert_eq!(Answer::fold(events).expect("an answer").parts[0].text, "Hi 👋!");
    }
}
