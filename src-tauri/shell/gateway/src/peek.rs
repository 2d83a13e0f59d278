//! What kind of body a good reply has, by its first bytes (gateway specification, 1.9).
//!
//! Servers send a stream under any media type or none, a whole answer where a stream was asked, and lines of JSON. So the
//! media type is only a hint: what the body begins with decides. As little as possible is read ahead for that, usually the
//! first chunk, and nothing of it is lost. Only an object has to be followed to its end, because one alone is a whole answer
//! and one of several is a line.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use dialects::framing::MAX_FRAME;
use dialects::{Framing, Remainder};
use domain::{Dialect, Operation};
use futures_util::Stream;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use upstream::TransportError;

use crate::hold::StreamFailure;
use crate::ingress::ClientRequest;
use crate::patience::{Patience, Waited};

const BOM: &[u8] = b"\xEF\xBB\xBF";
/// What a line of server-sent events begins with.
const FIELDS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];

/// A body, of which the beginning was read already.
pub(crate) struct Peeked {
    read: VecDeque<Bytes>,
    body: upstream::Body,
    /// Nothing is read of it beyond that.
    ends_there: bool,
}

impl Stream for Peeked {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(chunk) = self.read.pop_front() {
            return Poll::Ready(Some(Ok(chunk)));
        }
        if self.ends_there { Poll::Ready(None) } else { self.body.as_mut().poll_next(context) }
    }
}

/// What is known before the first byte.
#[derive(Clone, Copy)]
pub(crate) struct Hint {
    media: Media,
    /// The client wants a stream.
    streams: bool,
    /// A list holds the chunks of a stream, and is no whole answer.
    lists: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Media {
    Events,
    Lines,
    Other,
}

impl Hint {
    pub(crate) fn new(request: &ClientRequest, upstream: Operation, headers: &HeaderMap) -> Hint {
        let media = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("").to_ascii_lowercase();
        let media = match () {
            () if media.starts_with("text/event-stream") => Media::Events,
            () if media.contains("ndjson") || media.contains("jsonl") => Media::Lines,
            () => Media::Other,
        };
        Hint { media, streams: request.stream, lists: request.stream && upstream.dialect() == Dialect::Gemini }
    }

    /// The reply says that it is a stream, or ought to be one.
    pub(crate) fn promises_stream(self) -> bool {
        self.streams || self.media != Media::Other
    }
}

/// How a body is cut into frames; none, it is one answer.
type Kind = Option<Framing>;

/// Looks at the beginning of a body.
///
/// # Errors
/// Nothing came in time, or the body broke.
pub(crate) async fn peek(
    body: upstream::Body,
    hint: Hint,
    patience: &mut Patience,
) -> Result<(Kind, Peeked), StreamFailure> {
    let mut peeked = Peeked { read: VecDeque::new(), body, ends_there: false };
    // What was read is put back only once the kind is known: until then it would be read again.
    let (mut read, mut look) = (VecDeque::new(), Look::new(hint));
    patience.begin();
    let kind = loop {
        match patience.next(&mut peeked).await? {
            Waited::Chunk(chunk) => {
                let known = look.at(&chunk);
                read.push_back(chunk);
                if let Some(kind) = known {
                    break kind;
                }
                if look.has_value() {
                    // Whatever follows, follows soon.
                    patience.note_remainder(Remainder::Counts);
                }
            }
            Waited::Quiet => {}
            Waited::Closed => break look.at_end(),
            Waited::Enough => {
                peeked.ends_there = true;
                break look.at_end();
            }
            Waited::Broken(error) => {
                return Err(StreamFailure::Broken { reason: error.reason(), message: error.to_string() });
            }
        }
    };
    patience.go_on();
    peeked.read = read;
    Ok((kind, peeked))
}

/// Looks at the bytes of a body until they tell its kind.
struct Look {
    hint: Hint,
    stage: Stage,
    seen: usize,
}

enum Stage {
    /// Before the first telling byte; what came of it.
    Beginning(Vec<u8>),
    /// In the first object.
    Object { depth: usize, in_string: bool, escaped: bool },
    /// Behind it; what follows.
    Behind(Vec<u8>),
}

impl Look {
    fn new(hint: Hint) -> Look {
        Look { hint, stage: Stage::Beginning(Vec::new()), seen: 0 }
    }

    /// The first object has ended.
    fn has_value(&self) -> bool {
        matches!(self.stage, Stage::Behind(_))
    }

    /// The kind, once the bytes up to these tell.
    fn at(&mut self, chunk: &[u8]) -> Option<Kind> {
        self.seen += chunk.len();
        if self.seen > MAX_FRAME {
            return Some(self.at_end());
        }
        chunk.iter().find_map(|byte| self.step(*byte))
    }

    fn step(&mut self, byte: u8) -> Option<Kind> {
        match &mut self.stage {
            Stage::Beginning(begun) => {
                begun.push(byte);
                match first(begun)? {
                    First::Events => Some(Some(Framing::Sse)),
                    First::Object => match self.hint.media {
                        Media::Lines => Some(Some(Framing::JsonLines)),
                        Media::Other if !self.hint.streams => Some(None),
                        Media::Other | Media::Events => {
                            self.stage = Stage::Object { depth: 1, in_string: false, escaped: false };
                            None
                        }
                    },
                    First::List => Some(self.hint.lists.then_some(Framing::JsonArray)),
                    First::Other => Some(self.unknown()),
                }
            }
            Stage::Object { depth, in_string, escaped } => {
                match byte {
                    _ if *escaped => *escaped = false,
                    b'\\' if *in_string => *escaped = true,
                    b'"' => *in_string = !*in_string,
                    b'{' | b'[' if !*in_string => *depth += 1,
                    b'}' | b']' if !*in_string => *depth -= 1,
                    _ => {}
                }
                if *depth == 0 {
                    self.stage = Stage::Behind(Vec::new());
                }
                None
            }
            Stage::Behind(follows) => {
                follows.push(byte);
                match first(follows)? {
                    First::Object | First::List => Some(Some(Framing::JsonLines)),
                    First::Events => Some(Some(Framing::Sse)),
                    First::Other => Some(None),
                }
            }
        }
    }

    /// The kind, where nothing follows.
    fn at_end(&self) -> Kind {
        match self.stage {
            Stage::Beginning(_) => self.unknown(),
            Stage::Object { .. } | Stage::Behind(_) => None,
        }
    }

    /// The kind by the media type alone.
    fn unknown(&self) -> Kind {
        (self.hint.media == Media::Events).then_some(Framing::Sse)
    }
}

enum First {
    Events,
    Object,
    List,
    Other,
}

/// What a text begins with; none, as long as that is open.
fn first(text: &[u8]) -> Option<First> {
    if text.len() < BOM.len() && BOM.starts_with(text) {
        return None;
    }
    let text = text.strip_prefix(BOM).unwrap_or(text).trim_ascii_start();
    match text.first()? {
        b'{' => return Some(First::Object),
        b'[' => return Some(First::List),
        _ => {}
    }
    if FIELDS.iter().any(|field| text.starts_with(field)) {
        return Some(First::Events);
    }
    let may_become = FIELDS.iter().any(|field| field.starts_with(text));
    (!may_become).then_some(First::Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(media: Media, streams: bool, lists: bool, text: &str) -> Kind {
        let hint = Hint { media, streams, lists };
        let mut look = Look::new(hint);
        look.at(text.as_bytes()).unwrap_or_else(|| look.at_end())
    }

    #[test]
    fn the_beginning_of_a_body_tells_its_kind_whatever_its_media_type_says() {
        use Media::{Events, Lines, Other};
        let (sse, lines, array) = (Some(Framing::Sse), Some(Framing::JsonLines), Some(Framing::JsonArray));
        for (media, streams, lists, text, expected) in [
            (Events, true, false, "data: {}\n\n", sse),
            (Events, true, false, "oops\n\n", sse),
            (Events, true, false, "", sse),
            (Events, true, false, "{\"a\":\"}\\\"{\"}\n", None),
            (Events, true, false, "{\"error\":{}}\n\ndata: x\n\n", sse),
            (Other, true, false, "\u{feff}\r\n event: x\n", sse),
            (Other, false, false, ": ping\n\n", sse),
            (Other, true, false, "retry: 1\n", sse),
            (Other, true, false, "<html>", None),
            (Other, true, false, "dat", None),
            (Other, true, false, "", None),
            (Other, true, false, "{\"a\":1}", None),
            (Other, true, false, "{\"a\":1}\n{\"a\":2}\n", lines),
            (Other, false, false, "{\"a\":1}\n{\"a\":2}\n", None),
            (Lines, true, false, "{\"a\":1}", lines),
            (Other, true, true, "[{\"a\":1}", array),
            (Other, true, false, "[1]", None),
        ] {
            assert_eq!(kind(media, streams, lists, text), expected, "{text}");
        }
    }
}
