//! Letters outside the first plane that were cut in half.
//!
//! JSON may write such a letter as two escapes, and a program that cuts texts by UTF-16 units sends one half without the
//! other: servers at the border of two chunks, agents at the border of what they keep of a file. Neither half is text, and
//! a reader would lose all that stands in the same JSON. Two halves in two frames are joined; a half that stays alone
//! becomes the replacement character.
//!
//! Whether a first half at the end of a piece stays alone is known only later. Until then its place is kept open, and
//! nothing else waits for it: what comes next of its part, or the end of that, tells.

use std::borrow::Cow;

use bytes::{BufMut, Bytes, BytesMut};
use memchr::{memchr, memmem};

use crate::error::StreamProgress;
use crate::event::{DeltaKind, Event, Remainder, StreamReader};
use crate::framing::Frame;

/// Bytes of an escape: `\uXXXX`.
const ESCAPE: usize = 6;
const REPLACEMENT: &[u8] = b"\\ufffd";

/// The same as a letter.
const REPLACED: char = char::REPLACEMENT_CHARACTER;

type Escape = [u8; ESCAPE];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    First,
    Second,
}

/// The JSON with the replacement character for every half that stands alone.
pub(crate) fn mended(json: &[u8]) -> Cow<'_, [u8]> {
    joined(json, None).map_or(Cow::Borrowed(json), |joined| Cow::Owned(joined.json.into()))
}

/// Whether a half stands alone in the JSON.
pub(crate) fn has_half(json: &[u8]) -> bool {
    joined(json, None).is_some()
}

/// A reader for frames whose letters may be cut in half.
pub(crate) fn joining(inner: Box<dyn StreamReader + Send>) -> Box<dyn StreamReader + Send> {
    Box::new(Reader { inner, cut: None })
}

/// A text without halves.
struct Joined {
    json: Bytes,
    /// The half that it began with was the second of the one before.
    completes: bool,
    /// The first half that it ended with, and which is replaced in it: the second may follow.
    open: Option<Escape>,
}

/// The text without halves; none where no half stands alone. `first`: what stood at the end of the text before it.
fn joined(json: &[u8], first: Option<Escape>) -> Option<Joined> {
    // Most texts hold no such escape, and are looked through once.
    let mut escapes = memmem::find_iter(json, b"\\u");
    if !escapes.any(|place| matches!(json.get(place + 2), Some(b'd' | b'D'))) {
        return None;
    }
    let (mut out, mut from, mut at) = (BytesMut::new(), 0, 0);
    let (mut completes, mut open) = (false, None);
    while let Some((place, half, escape)) = next_alone(json, at) {
        out.put_slice(&json[from..place]);
        match first {
            Some(first) if half == Half::Second && !completes && json[..place].ends_with(b"\"") => {
                out.put_slice(&first);
                out.put_slice(&escape);
                completes = true;
            }
            Some(_) | None => out.put_slice(REPLACEMENT),
        }
        (from, at) = (place + ESCAPE, place + ESCAPE);
        open = (half == Half::First && json.get(at) == Some(&b'"')).then_some(escape);
    }
    if from == 0 {
        return None;
    }
    out.put_slice(&json[from..]);
    Some(Joined { json: out.freeze(), completes, open })
}

/// The next half from `at` on that has no other beside it, and where it stands.
fn next_alone(json: &[u8], mut at: usize) -> Option<(usize, Half, Escape)> {
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
fn half_at(json: &[u8], place: usize) -> Option<(Half, Escape)> {
    let escape: Escape = json.get(place..place + ESCAPE)?.try_into().ok()?;
    let digits = std::str::from_utf8(escape.strip_prefix(b"\\u")?).ok()?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xD800..0xDC00 => Some((Half::First, escape)),
        0xDC00..0xE000 => Some((Half::Second, escape)),
        _ => None,
    }
}

struct Reader {
    inner: Box<dyn StreamReader + Send>,
    /// Where a letter was cut off after its first half.
    cut: Option<Cut>,
}

/// A first half whose second has not come, and where it stood: at the end of what a part says so far.
struct Cut {
    escape: Escape,
    index: u32,
    kind: DeltaKind,
}

impl Cut {
    /// Takes the half that was replaced out of what the events say; none where it is no part's text.
    fn taken(escape: Escape, events: &mut Vec<Event>, from: usize) -> Option<Cut> {
        let ends_so = |event: &Event| matches!(event, Event::Delta { text, .. } if text.ends_with(REPLACED));
        let at = from + events[from..].iter().rposition(ends_so)?;
        let Event::Delta { index, kind, text } = &mut events[at] else { return None };
        text.pop();
        let cut = Cut { escape, index: *index, kind: *kind };
        if text.is_empty() {
            events.remove(at);
        }
        Some(cut)
    }

    /// Its second half would have to stand before this.
    fn is_past(&self, event: &Event) -> bool {
        match event {
            Event::Delta { index, text, .. } => *index == self.index && !text.is_empty(),
            Event::PartEnded { index } => *index == self.index,
            Event::Finished(_) | Event::Failed(_) => true,
            Event::Started { .. } | Event::PartStarted { .. } | Event::Usage(_) | Event::KeepAlive => false,
        }
    }

    /// It stays alone.
    fn replaced(&self) -> Event {
        Event::Delta { index: self.index, kind: self.kind, text: REPLACED.to_string() }
    }
}

impl StreamReader for Reader {
    fn push(&mut self, frame: &Frame, out: &mut Vec<Event>) {
        let mut from = out.len();
        let mut open = None;
        match joined(&frame.data, self.cut.as_ref().map(|cut| cut.escape)) {
            None => self.inner.push(frame, out),
            Some(joined) => {
                if joined.completes {
                    self.cut = None;
                }
                open = joined.open;
                self.inner.push(&Frame { data: joined.json, ..frame.clone() }, out);
            }
        }
        let Some(cut) = &self.cut else {
            self.cut = open.and_then(|escape| Cut::taken(escape, out, from));
            return;
        };
        // One letter is waited for at a time.
        let past = if open.is_some() { Some(0) } else { out[from..].iter().position(|event| cut.is_past(event)) };
        if let Some(at) = past {
            out.insert(from + at, cut.replaced());
            from += at + 1;
            self.cut = open.and_then(|escape| Cut::taken(escape, out, from));
        }
    }

    fn end(&mut self, out: &mut Vec<Event>) {
        out.extend(self.cut.take().map(|cut| cut.replaced()));
        self.inner.end(out);
    }

    fn dropped(&self) -> u32 {
        self.inner.dropped()
    }

    fn is_garbled(&self) -> bool {
        self.inner.is_garbled()
    }

    fn remainder(&self) -> Remainder {
        self.inner.remainder()
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

    /// What the frames of a Chat stream with these pieces of text say.
    fn read(pieces: &[&str]) -> Vec<Event> {
        let delta =
            |text: &&str| format!(r#"data: {{"id":"c","choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#);
        let mut frames: Vec<String> = pieces.iter().map(delta).collect();
        frames.push(r#"data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#.to_owned());
        let stream = Bytes::from(frames.join("\n\n") + "\n\n");
        let mut decoder = crate::SseDecoder::new(crate::framing::MAX_FRAME);
        let (mut frames, mut events) = (Vec::new(), Vec::new());
        decoder.push(stream, &mut frames).expect("frames");
        let mut reader = crate::reader(Dialect::Chat);
        frames.iter().for_each(|frame| reader.push(frame, &mut events));
        reader.end(&mut events);
        assert_eq!(reader.dropped(), 0);
        events
    }

    #[test]
    fn a_letter_cut_between_two_frames_is_whole_again() {
        let events = read(&["Hi \\ud83d", "", "\\udc4b!"]);
        let has_none = |event: &Event| !matches!(event, Event::Delta { text, .. } if text.contains('\u{fffd}'));
        assert!(events.iter().all(has_none), "{events:?}");
        assert_eq!(Answer::fold(events).expect("an answer").parts[0].text, "Hi 👋!");
    }

    #[test]
    fn a_first_half_whose_second_never_comes_is_replaced_where_it_stood() {
        for (pieces, expected) in [
            (&["Hi \\ud83d", "you"][..], "Hi \u{fffd}you"),
            (&["Hi \\ud83d", "", "you \\ud83d", "\\udc4b"], "Hi \u{fffd}you 👋"),
            (&["\\ud83d", "\\ud83d", "\\udc4b"], "\u{fffd}👋"),
            (&["a\\ud83db", "\\udc4bc"], "a\u{fffd}b\u{fffd}c"),
            (&["Hi \\ud83d", "you\\udc4b"], "Hi \u{fffd}you\u{fffd}"),
            (&["Hi \\ud83d"], "Hi \u{fffd}"),
        ] {
            assert_eq!(Answer::fold(read(pieces)).expect("an answer").parts[0].text, expected, "{pieces:?}");
        }
    }
}
