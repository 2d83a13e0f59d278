//! Frames in their upstream's own bytes, in the form that the clients of their dialect read (gateway specification, 1.9).
//!
//! Upstreams frame as they like, and this gateway reads it all. The libraries of a dialect read less: Anthropic's passes over
//! an event without a name, Google's takes nothing but lines that begin with `data: `, OpenAI's stumbles over an event
//! without data. So a frame that its clients would lose or fail on is framed anew around the same data. One that is in the
//! usual form costs a glance at its lengths, and is neither copied nor looked into.

use bytes::{Bytes, BytesMut};
use domain::Dialect;
use memchr::memchr_iter;
use serde::Deserialize;

use crate::framing::{BOM, Frame};
use crate::lenient::{Text, str_of};
use crate::mended;
use crate::parts::END_MARKER;

const DATA: &[u8] = b"data: ";
const EVENT: &[u8] = b"event: ";

/// The bytes to pass on in place of the frame's own, which may be none; `None` where its own are right.
pub fn amended(dialect: Dialect, frame: &Frame) -> Option<Bytes> {
    let is_usual = match dialect {
        Dialect::Chat => frame.raw.starts_with(b"data:") && !frame.data.is_empty() && ends_plainly(&frame.raw),
        Dialect::Messages | Dialect::Responses => is_named(frame) && is_event_and_data(frame),
        Dialect::Gemini => is_one_data_line(frame) && is_json(&frame.data),
    };
    if is_usual { None } else { unusual(dialect, frame) }
}

/// The bytes to pass on for a last frame whose end is missing: one that lacks nothing but its blank line is given that, and
/// of any other nothing is left.
pub fn completed(dialect: Dialect, frame: &Frame) -> Bytes {
    if !is_whole(&frame.data) {
        return Bytes::new();
    }
    let closed = Frame { raw: [&frame.raw, closing(&frame.raw)].concat().into(), ..frame.clone() };
    // A name that was cut is none.
    let named = matches!(dialect, Dialect::Messages | Dialect::Responses);
    match kind(&frame.data).filter(|kind| named && frame.event.as_ref() != Some(kind)) {
        Some(kind) => framed(dialect, Some(&kind), &frame.data),
        None => amended(dialect, &closed).unwrap_or(closed.raw),
    }
}

/// Whether this is all of a frame's data: JSON, or the end marker.
pub fn is_whole(data: &[u8]) -> bool {
    data.trim_ascii() == END_MARKER || (is_json(data) && mended::mended(data).is_ok())
}

/// The data is meant to be JSON.
fn is_json(data: &[u8]) -> bool {
    let data = data.trim_ascii_start();
    matches!(data.first(), Some(b'{' | b'[')) && data != END_MARKER
}

/// The blank line that ends a frame of these bytes.
fn closing(raw: &[u8]) -> &'static [u8] {
    match raw {
        [.., b'\n', b'\r'] => b"\n",
        [.., b'\r', b'\n'] => b"\r\n",
        [.., b'\n'] => b"\n",
        [.., b'\r'] => b"\n\r\n",
        _ => b"\n\n",
    }
}

/// Libraries that look for the end of a frame look for one of these.
fn ends_plainly(raw: &[u8]) -> bool {
    raw.ends_with(b"\n\n") || raw.ends_with(b"\r\n\r\n") || raw.ends_with(b"\r\r")
}

/// The frame has a name of its own: `message` is what an event without any is called.
fn is_named(frame: &Frame) -> bool {
    frame.event.as_deref().is_some_and(|name| !name.is_empty() && name != "message")
}

/// A line with the event, one with the data, a blank one, and nothing else.
fn is_event_and_data(frame: &Frame) -> bool {
    let name = frame.event.as_ref().map_or(0, String::len);
    let around = frame.raw.len().wrapping_sub(name + frame.data.len() + EVENT.len() + DATA.len());
    !frame.data.is_empty()
        && frame.raw.starts_with(EVENT)
        && ((around == 3 && frame.raw.ends_with(b"\n\n")) || (around == 6 && frame.raw.ends_with(b"\r\n\r\n")))
}

/// A line with the data, a blank one, and nothing else.
fn is_one_data_line(frame: &Frame) -> bool {
    let around = frame.raw.len().wrapping_sub(frame.data.len() + DATA.len());
    !frame.data.is_empty()
        && frame.raw.starts_with(DATA)
        && ((around == 2 && frame.raw.ends_with(b"\n\n")) || (around == 4 && frame.raw.ends_with(b"\r\n\r\n")))
}

fn unusual(dialect: Dialect, frame: &Frame) -> Option<Bytes> {
    let text = frame.raw.strip_prefix(BOM).unwrap_or(&frame.raw);
    if frame.data.is_empty() {
        return without_data(dialect, text);
    }
    let is_bare = frame.data == text.trim_ascii();
    if !is_json(&frame.data) && (is_bare || dialect == Dialect::Gemini) {
        // Google's libraries fail on it, and others pass over what is no line of an event.
        return (dialect == Dialect::Gemini).then(Bytes::new);
    }
    let reads = !is_bare && text.len() == frame.raw.len() && ends_plainly(text);
    match dialect {
        Dialect::Gemini => Some(framed(dialect, None, &frame.data)),
        Dialect::Messages | Dialect::Responses if !is_named(frame) => match kind(&frame.data) {
            Some(kind) => Some(framed(dialect, Some(&kind), &frame.data)),
            None => (!reads).then(|| framed(dialect, None, &frame.data)),
        },
        // After an id OpenAI's library takes a comment for an event.
        Dialect::Responses if has_field(text, &[b"id", b"retry"]) => {
            Some(framed(dialect, frame.event.as_deref(), &frame.data))
        }
        Dialect::Chat | Dialect::Messages | Dialect::Responses => {
            (!reads).then(|| framed(dialect, frame.event.as_deref(), &frame.data))
        }
    }
}

/// Comments, blank lines, and fields that make no event: OpenAI's library fails on the last.
fn without_data(dialect: Dialect, text: &[u8]) -> Option<Bytes> {
    let fails = match dialect {
        Dialect::Gemini => true,
        Dialect::Messages => false,
        Dialect::Chat | Dialect::Responses => has_field(text, &[b"event", b"data", b"id", b"retry"]),
    };
    fails.then(Bytes::new)
}

fn has_field(text: &[u8], names: &[&[u8]]) -> bool {
    let mut lines = text.split(|byte| matches!(byte, b'\n' | b'\r'));
    lines.any(|line| names.contains(&line.split(|byte| *byte == b':').next().unwrap_or_default()))
}

/// What the data says that it is.
fn kind(data: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Typed<'a> {
        #[serde(borrow, rename = "type")]
        kind: Option<Text<'a>>,
    }
    let mut room = String::new();
    let typed = mended::read::<Typed<'_>>(data, &mut room).ok()?;
    let kind = str_of(&typed.kind);
    (!kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_graphic())).then(|| kind.to_owned())
}

/// A frame around the data. Where it has several lines each is one of the frame, but for Google's libraries, of which one
/// takes the first alone: between the words of JSON a space is as good.
fn framed(dialect: Dialect, event: Option<&str>, data: &[u8]) -> Bytes {
    let name = event.unwrap_or_default();
    let mut out = BytesMut::with_capacity(data.len() + name.len() + EVENT.len() + DATA.len() + 4);
    if dialect != Dialect::Gemini && !name.is_empty() {
        [EVENT, name.as_bytes(), b"\n"].iter().for_each(|piece| out.extend_from_slice(piece));
    }
    let between: &[u8] = if dialect == Dialect::Gemini { b" " } else { b"\ndata: " };
    let mut from = 0;
    out.extend_from_slice(DATA);
    for end in memchr_iter(b'\n', data) {
        out.extend_from_slice(&data[from..end]);
        out.extend_from_slice(between);
        from = end + 1;
    }
    out.extend_from_slice(&data[from..]);
    out.extend_from_slice(b"\n\n");
    out.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::SseDecoder;

    fn only_frame(text: &str, ends: bool) -> Frame {
        let mut frames = Vec::new();
        let mut decoder = SseDecoder::new(4096);
        decoder.push(Bytes::copy_from_slice(text.as_bytes()), &mut frames).unwrap();
        assert_eq!(frames.len(), usize::from(ends), "{text:?}");
        decoder.finish(&mut frames);
        frames.remove(0)
    }

    #[test]
    fn a_frame_that_its_clients_read_is_left_alone() {
        use Dialect::{Chat, Gemini, Messages, Responses};
        for (dialect, text) in [
            (Chat, "data: {}\n\n"),
            (Chat, "data:{}\r\n\r\n"),
            (Chat, "id: 7\rdata: {\rdata: }\r\r"),
            (Chat, ": ping\n\n"),
            (Chat, "data: [DONE]\n\n"),
            (Chat, "event: error\ndata: {}\n\n"),
            (Messages, "event: ping\ndata: {\"type\":\"ping\"}\n\n"),
            (Messages, "event: ping\r\ndata: {\"type\":\"ping\"}\r\n\r\n"),
            (Messages, "event:ping\ndata:{\"type\":\"ping\"}\n\n"),
            (Messages, "id: 1\nevent: ping\ndata: {\ndata: }\n\n"),
            (Messages, "event: ping\n\n"),
            (Messages, ": ping\n\n"),
            (Messages, "data: [DONE]\n\n"),
            (Responses, "event: x\ndata: {}\n\n"),
            (Responses, "data: {}\nevent: x\n\n"),
            (Responses, ": keep-alive\n\n"),
            (Responses, "\n"),
            (Gemini, "data: {}\n\n"),
            (Gemini, "data: {}\r\n\r\n"),
        ] {
            assert_eq!(amended(dialect, &only_frame(text, true)), None, "{dialect} {text:?}");
        }
    }

    #[test]
    fn a_frame_that_its_clients_would_lose_or_fail_on_is_framed_anew() {
        use Dialect::{Chat, Gemini, Messages, Responses};
        for (dialect, text, expected) in [
            (Chat, "\u{feff}data: {}\n\n", "data: {}\n\n"),
            (Chat, "{\"error\":{}}\n\n", "data: {\"error\":{}}\n\n"),
            (Chat, "data: {}\n\r\n", "data: {}\n\n"),
            (Chat, "data: {\r\ndata: }\n\r\n", "data: {\ndata: }\n\n"),
            (Chat, "retry: 3000\n\n", ""),
            (Chat, "data:\n\n", ""),
            (
                Messages,
                "data: {\"a\":[1],\"type\":\"ping\"}\n\n",
                "event: ping\ndata: {\"a\":[1],\"type\":\"ping\"}\n\n",
            ),
            (Messages, "event: message\ndata: {\"type\":\"x\"}\n\n", "event: x\ndata: {\"type\":\"x\"}\n\n"),
            (Messages, "{\"type\":\"error\"}\n\n", "event: error\ndata: {\"type\":\"error\"}\n\n"),
            (Messages, "data: {\"type\":\"a\\nb\"}\n\r\n", "data: {\"type\":\"a\\nb\"}\n\n"),
            (Responses, "data:{\"type\":\"x\"}\r\r", "event: x\ndata: {\"type\":\"x\"}\n\n"),
            (Responses, "id: 1\nevent: x\ndata: {}\n\n", "event: x\ndata: {}\n\n"),
            (Responses, "id: 1\n\n", ""),
            (Gemini, "data:{}\n\n", "data: {}\n\n"),
            (Gemini, "data: {}\r\r", "data: {}\n\n"),
            (Gemini, "id: 1\nevent: x\ndata: {}\n\n", "data: {}\n\n"),
            (Gemini, ": a\ndata: {}\n\n", "data: {}\n\n"),
            (Gemini, "data: {\ndata: \"a\":1}\n\n", "data: { \"a\":1}\n\n"),
            (Gemini, "{}\n\n", "data: {}\n\n"),
            (Gemini, ": a\n\n", ""),
            (Gemini, "id: 1\n\n", ""),
            (Gemini, "oops\n\n", ""),
            (Gemini, "data: [DONE]\n\n", ""),
            (Gemini, "data: ping\n\n", ""),
            (Gemini, "\u{feff}data: {}\n\n", "data: {}\n\n"),
        ] {
            let bytes = amended(dialect, &only_frame(text, true));
            assert_eq!(bytes.as_deref(), Some(expected.as_bytes()), "{dialect} {text:?}");
        }
    }

    #[test]
    fn a_last_frame_is_completed_or_dropped() {
        use Dialect::{Chat, Gemini, Messages, Responses};
        for (dialect, text, expected) in [
            (Chat, "data: {}", "data: {}\n\n"),
            (Chat, "data: {}\n", "data: {}\n\n"),
            (Chat, "data: {}\r", "data: {}\r\n\r\n"),
            (Chat, "data: {}\r\n", "data: {}\r\n\r\n"),
            (Chat, "data: {}\r\n\r", "data: {}\r\n\r\n"),
            (Chat, "data: {\"a\":NaN}", "data: {\"a\":NaN}\n\n"),
            (Chat, "data: [DONE]", "data: [DONE]\n\n"),
            (Chat, "data: [DON", ""),
            (Chat, "data: {\"a\":1", ""),
            (Chat, "data: 12", ""),
            (Chat, "dat", ""),
            (Chat, ": pin", ""),
            (Messages, "event: ping", ""),
            (Messages, "event: ping\ndata: {\"type\":\"ping\"}", "event: ping\ndata: {\"type\":\"ping\"}\n\n"),
            (Messages, "data: {\"type\":\"ping\"}\nevent: pi", "event: ping\ndata: {\"type\":\"ping\"}\n\n"),
            (Responses, "event: x\ndata: {}\n", "event: x\ndata: {}\n\n"),
            (Gemini, "data: {}\nda", "data: {}\n\n"),
            (Gemini, "data: {}\r\n\r", "data: {}\r\n\r\n"),
        ] {
            let bytes = completed(dialect, &only_frame(text, false));
            assert_eq!(bytes, expected.as_bytes(), "{dialect} {text:?}");
        }
    }
}
