//! What kind of body a good reply has, by its first bytes (gateway specification, 1.9).
//!
//! Servers send a stream under any media type or none, a whole answer where a stream was asked, and lines of JSON. So the
//! media type is only a hint: what the body begins with decides. As little as possible is read ahead for that, usually the
//! first chunk, and nothing of it is lost. Only an object has to be followed to its end, because one alone is a whole answer
//! and one of several is a line. Where nothing follows it yet, what it says decides, and never how long it is waited: the
//! second line of a slow stream is not late.

use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use dialects::framing::MAX_FRAME;
use dialects::{FirstObject, Framing, Remainder, first_object};
use domain::{Dialect, Operation};
use futures_util::Stream;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use tokio_util::task::TaskTracker;
use upstream::TransportError;

use crate::aside;
use crate::hold::StreamFailure;
use crate::ingress::ClientRequest;
use crate::patience::{Patience, Waited};

const BOM: &[u8] = b"\xEF\xBB\xBF";
/// What a line of server-sent events begins with.
const FIELDS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];

/// The longest piece, in bytes, in which what was read ahead is handed on: nobody is given thousands of frames at once.
const PIECE: usize = 256 * 1024;

/// A body, of which the beginning was read already.
pub(crate) struct Peeked {
    read: Bytes,
    body: upstream::Body,
    /// Nothing is read of it beyond that.
    ends_there: bool,
}

impl Stream for Peeked {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if !self.read.is_empty() {
            let length = self.read.len().min(PIECE);
            return Poll::Ready(Some(Ok(self.read.split_to(length))));
        }
        if self.ends_there { Poll::Ready(None) } else { self.body.as_mut().poll_next(context) }
    }
}

/// What is known before the first byte.
#[derive(Clone, Copy)]
pub(crate) struct Hint {
    /// What the upstream was asked for.
    operation: Operation,
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
        let lists = request.stream && upstream.dialect() == Dialect::Gemini;
        Hint { operation: upstream, media, streams: request.stream, lists }
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
    tracker: &TaskTracker,
) -> Result<(Kind, Peeked), StreamFailure> {
    let mut peeked = Peeked { read: Bytes::new(), body, ends_there: false };
    // What was read is put back only once the kind is known: until then it would be read again.
    let (mut read, mut look) = (ReadAhead::default(), Look::new(hint));
    patience.begin();
    let kind = loop {
        match patience.next(&mut peeked).await? {
            Waited::Chunk(chunk) => {
                let known = look.at(&chunk);
                read.push(chunk);
                if let Some(kind) = known {
                    break kind;
                }
                if let Some(range) = look.value.take() {
                    let (operation, object) = (hint.operation, read.part(range));
                    let length = object.len();
                    match aside::compute(tracker, length, move || first_object(operation, &object)).await {
                        // Whatever follows, follows soon.
                        FirstObject::Ends => patience.note_remainder(Remainder::Counts),
                        FirstObject::Continues => break Some(Framing::JsonLines),
                        FirstObject::Open => {}
                    }
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
    peeked.read = read.whole();
    Ok((kind, peeked))
}

/// What was read so far, in one piece: the usual one chunk as it is, more of them copied.
#[derive(Default)]
struct ReadAhead {
    only: Bytes,
    more: BytesMut,
}

impl ReadAhead {
    fn push(&mut self, chunk: Bytes) {
        if self.only.is_empty() && self.more.is_empty() {
            self.only = chunk;
        } else {
            self.more.extend_from_slice(&std::mem::take(&mut self.only));
            self.more.extend_from_slice(&chunk);
        }
    }

    fn part(&self, range: Range<usize>) -> Bytes {
        if self.more.is_empty() { self.only.slice(range) } else { Bytes::copy_from_slice(&self.more[range]) }
    }

    fn whole(self) -> Bytes {
        if self.more.is_empty() { self.only } else { self.more.freeze() }
    }
}

/// Looks at the bytes of a body until they tell its kind. Each is looked at once, and of none but a few telling ones it
/// keeps anything.
struct Look {
    hint: Hint,
    stage: Stage,
    seen: usize,
    /// Where the first object stands, once it has ended.
    value: Option<Range<usize>>,
}

enum Stage {
    /// Before the first telling byte.
    Beginning(Sniff),
    /// In the first object.
    Object { from: usize, depth: usize, in_string: bool, escaped: bool },
    /// Behind it; what follows.
    Behind(Sniff),
}

impl Look {
    fn new(hint: Hint) -> Look {
        Look { hint, stage: Stage::Beginning(Sniff::default()), seen: 0, value: None }
    }

    /// The kind, once the bytes up to these tell.
    fn at(&mut self, chunk: &[u8]) -> Option<Kind> {
        if self.seen + chunk.len() > MAX_FRAME {
            return Some(self.at_end());
        }
        chunk.iter().find_map(|byte| {
            self.seen += 1;
            self.step(*byte)
        })
    }

    /// Looks at the byte that is the last of those seen.
    fn step(&mut self, byte: u8) -> Option<Kind> {
        match &mut self.stage {
            Stage::Beginning(sniff) => match sniff.push(byte)? {
                First::Events => Some(Some(Framing::Sse)),
                First::Object => match self.hint.media {
                    Media::Lines => Some(Some(Framing::JsonLines)),
                    Media::Other if !self.hint.streams => Some(None),
                    Media::Other | Media::Events => {
                        let from = self.seen - 1;
                        self.stage = Stage::Object { from, depth: 1, in_string: false, escaped: false };
                        None
                    }
                },
                First::List => Some(self.hint.lists.then_some(Framing::JsonArray)),
                First::Other => Some(self.unknown()),
            },
            Stage::Object { from, depth, in_string, escaped } => {
                match byte {
                    _ if *escaped => *escaped = false,
                    b'\\' if *in_string => *escaped = true,
                    b'"' => *in_string = !*in_string,
                    b'{' | b'[' if !*in_string => *depth += 1,
                    b'}' | b']' if !*in_string => *depth -= 1,
                    _ => {}
                }
                if *depth == 0 {
                    self.value = Some(*from..self.seen);
                    self.stage = Stage::Behind(Sniff::default());
                }
                None
            }
            Stage::Behind(sniff) => match sniff.push(byte)? {
                First::Object | First::List => Some(Some(Framing::JsonLines)),
                First::Events => Some(Some(Framing::Sse)),
                First::Other => Some(None),
            },
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

/// The longest of [`FIELDS`].
const LONGEST: usize = 6;

/// What a text begins with, byte by byte. Of white space nothing is kept, however much there is.
#[derive(Default)]
struct Sniff {
    /// The first bytes that tell something.
    begun: [u8; LONGEST],
    length: usize,
    /// White space, or a byte order mark, was passed.
    has_passed: bool,
}

impl Sniff {
    /// What the text begins with; none, as long as that is open.
    fn push(&mut self, byte: u8) -> Option<First> {
        if self.length == 0 && byte.is_ascii_whitespace() {
            self.has_passed = true;
            return None;
        }
        self.begun[self.length] = byte;
        self.length += 1;
        let text = &self.begun[..self.length];
        if !self.has_passed && BOM.starts_with(text) {
            if text == BOM {
                *self = Sniff { has_passed: true, ..Sniff::default() };
            }
            return None;
        }
        match text[0] {
            b'{' => return Some(First::Object),
            b'[' => return Some(First::List),
            _ => {}
        }
        if FIELDS.contains(&text) {
            return Some(First::Events);
        }
        let may_become = FIELDS.iter().any(|field| field.starts_with(text));
        (!may_become).then_some(First::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(media: Media, streams: bool, lists: bool, text: &str) -> Kind {
        let whole = kind_in(media, streams, lists, &[text.as_bytes()]);
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(kind_in(media, streams, lists, &bytes), whole, "{text}");
        whole
    }

    fn kind_in(media: Media, streams: bool, lists: bool, chunks: &[&[u8]]) -> Kind {
        let mut look = Look::new(Hint { operation: Operation::ChatCompletions, media, streams, lists });
        chunks.iter().find_map(|chunk| look.at(chunk)).unwrap_or_else(|| look.at_end())
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
            (Other, true, false, "\n\n data: {}", sse),
            (Other, true, false, "\n\u{feff}data: {}", None),
            (Other, true, false, "\u{feff}\u{feff}data: {}", None),
            (Other, true, false, "{\"a\":1}\n\n \r\n{\"a\":2}\n", lines),
            (Other, true, false, "{\"a\":1} retry: 5", sse),
            (Other, true, false, "{\"a\":1} retried", None),
        ] {
            assert_eq!(kind(media, streams, lists, text), expected, "{text}");
        }
    }

    /// However much there is of it, each byte is looked at once and forgotten: [`Sniff`] has room for a few.
    #[test]
    fn blank_space_is_passed_over_in_one_go_and_up_to_a_limit() {
        let most = vec![b'\n'; MAX_FRAME - 64];
        let object = b"{\"a\":1}".as_slice();
        for (size, length) in [(1, 1 << 20), (7, 1 << 18), (64 * 1024, most.len())] {
            let blank = &most[..length];
            let chunks = |rest: &'static [u8]| blank.chunks(size).chain([rest]).collect::<Vec<_>>();
            let events = chunks(b"data: {}\n\n");
            assert_eq!(kind_in(Media::Other, true, false, &events), Some(Framing::Sse), "in front, {size}");
            let lines = [[object].as_slice(), &chunks(b"{\"a\":2}")].concat();
            assert_eq!(kind_in(Media::Other, true, false, &lines), Some(Framing::JsonLines), "between, {size}");
        }
        let more = [most.as_slice(), &most[..64], b"data: {}\n\n"];
        assert_eq!(kind_in(Media::Other, true, false, &more), None, "not looked at any longer");
    }

    #[test]
    fn what_was_read_ahead_is_handed_on_whole_and_the_first_object_is_found_in_it() {
        let body = b"\n \xEF{\"a\":[1]}\n".as_slice();
        for size in 1..=body.len() {
            let mut read = ReadAhead::default();
            body.chunks(size).for_each(|chunk| read.push(Bytes::copy_from_slice(chunk)));
            assert_eq!(read.part(3..body.len() - 1), b"{\"a\":[1]}".as_slice(), "{size}");
            assert_eq!(read.whole(), body, "{size}");
        }
        let hint = Hint { operation: Operation::ChatCompletions, media: Media::Other, streams: true, lists: false };
        let mut look = Look::new(hint);
        for chunk in ["\u{feff} ", "{\"a\":", "\"}\"", "}", " "] {
            assert!(look.at(chunk.as_bytes()).is_none(), "{chunk}");
        }
        assert_eq!(look.value, Some(4..13));
    }
}
