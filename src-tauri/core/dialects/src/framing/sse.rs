//! Server-sent events, after the WHATWG rules, with the exact bytes kept.
//!
//! Lines end with LF, CR or CRLF, mixed as they come; a blank line ends a frame. The one hard case is a blank line that
//! ends with CR at the edge of a chunk: the LF that may follow belongs to this frame. Where the line before ended with a
//! bare CR the sender writes bare CRs, and the frame ends at once; otherwise the decoder waits for the next byte. Either
//! way the cut depends on the bytes alone, never on where the network split them.
//!
//! Two things are more lenient than the standard: a last frame without its blank line is yielded by `finish`, and a
//! frame without a single known field is taken as data as it stands, because servers that fail like to write their error
//! object, or a whole HTML page, bare into the stream.

use bytes::{Bytes, BytesMut};
use memchr::{memchr, memchr2};

use super::{BOM, Frame, FramingError, trimmed};

/// Decoder of server-sent events.
#[derive(Debug)]
pub struct SseDecoder {
    /// Bytes of the unfinished frame that came with earlier chunks.
    pending: BytesMut,
    cut: Cut,
    max_frame: usize,
    is_first: bool,
}

/// Where the scan stands in the unfinished frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// At the first byte of a line; how the line before ended.
    LineStart(Ending),
    /// Inside a line.
    Line,
    /// After a CR that ended a line with content.
    AfterCr,
    /// After a CR that ended a blank line, not knowing yet whether an LF belongs to it.
    AfterBlankCr,
}

/// How the line before ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// There is none, or with LF or CRLF.
    Other,
    BareCr,
}

impl SseDecoder {
    /// `max_frame` bounds one frame and therefore the buffer, in bytes; see [`super::MAX_FRAME`].
    pub fn new(max_frame: usize) -> SseDecoder {
        SseDecoder { pending: BytesMut::new(), cut: Cut::LineStart(Ending::Other), max_frame, is_first: true }
    }

    /// Adds a chunk and yields the frames it completes. Frames that lie wholly inside the chunk are slices of it.
    ///
    /// # Errors
    /// [`FramingError::TooLarge`] when one frame exceeds the limit; the decoder is of no further use then.
    pub fn push(&mut self, mut chunk: Bytes, out: &mut Vec<Frame>) -> Result<(), FramingError> {
        loop {
            let end = self.scan(&chunk);
            let length = end.unwrap_or(chunk.len());
            if self.pending.len() + length > self.max_frame {
                return Err(FramingError::TooLarge { limit: self.max_frame });
            }
            if end.is_none() {
                self.pending.extend_from_slice(&chunk);
                return Ok(());
            }
            let part = chunk.split_to(length);
            let raw = self.complete(part);
            self.emit(raw, out);
        }
    }

    /// The stream ended: yields the last frame when its blank line is missing.
    pub fn finish(&mut self, out: &mut Vec<Frame>) {
        self.cut = Cut::LineStart(Ending::Other);
        if !self.pending.is_empty() {
            let raw = self.pending.split().freeze();
            self.emit(raw, out);
        }
    }

    /// Bytes held back because their frame is unfinished.
    pub fn buffered(&self) -> usize {
        self.pending.len()
    }

    /// Finds the end of the current frame in `chunk`, continuing where the last chunk stopped.
    fn scan(&mut self, chunk: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(&byte) = chunk.get(at) {
            match self.cut {
                Cut::AfterCr => {
                    let ending = if byte == b'\n' { Ending::Other } else { Ending::BareCr };
                    at += usize::from(byte == b'\n');
                    self.cut = Cut::LineStart(ending);
                }
                Cut::AfterBlankCr => {
                    self.cut = Cut::LineStart(Ending::Other);
                    return Some(at + usize::from(byte == b'\n'));
                }
                Cut::LineStart(ending) => match (byte, ending) {
                    (b'\n', _) | (b'\r', Ending::BareCr) => {
                        self.cut = Cut::LineStart(Ending::Other);
                        return Some(at + 1);
                    }
                    (b'\r', Ending::Other) => {
                        at += 1;
                        self.cut = Cut::AfterBlankCr;
                    }
                    _ => self.cut = Cut::Line,
                },
                Cut::Line => {
                    let length = memchr2(b'\n', b'\r', &chunk[at..])?;
                    at += length + 1;
                    self.cut = if chunk[at - 1] == b'\n' { Cut::LineStart(Ending::Other) } else { Cut::AfterCr };
                }
            }
        }
        None
    }

    fn complete(&mut self, rest: Bytes) -> Bytes {
        if self.pending.is_empty() {
            return rest;
        }
        self.pending.extend_from_slice(&rest);
        self.pending.split().freeze()
    }

    fn emit(&mut self, raw: Bytes, out: &mut Vec<Frame>) {
        let is_first = std::mem::replace(&mut self.is_first, false);
        out.push(frame(raw, is_first));
    }
}

/// Reads the fields of one complete frame.
fn frame(raw: Bytes, is_first: bool) -> Frame {
    let mut text: &[u8] = &raw;
    if is_first {
        text = text.strip_prefix(BOM).unwrap_or(text);
    }
    let mut event = None;
    let mut first_line: Option<&[u8]> = None;
    let mut joined: Option<BytesMut> = None;
    let mut knows_a_field = false;
    for line in Lines(text) {
        let (name, value) = field(line);
        knows_a_field |= matches!(name, b"" | b"data" | b"event" | b"id" | b"retry");
        match (name, first_line) {
            (b"event", _) => event = Some(String::from_utf8_lossy(value).into_owned()),
            (b"data", None) => first_line = Some(value),
            (b"data", Some(first)) => {
                let joined = joined.get_or_insert_with(|| BytesMut::from(first));
                joined.extend_from_slice(b"\n");
                joined.extend_from_slice(value);
            }
            _ => {}
        }
    }
    let data = match (joined, first_line) {
        (Some(joined), _) => joined.freeze(),
        (None, Some(line)) => raw.slice_ref(line),
        (None, None) if knows_a_field => Bytes::new(),
        (None, None) => trimmed(&raw.slice_ref(text)),
    };
    let is_comment = data.is_empty() && event.is_none();
    Frame { raw, event, data, is_comment }
}

/// Name and value of a line. A comment has the empty name.
fn field(line: &[u8]) -> (&[u8], &[u8]) {
    match memchr(b':', line) {
        Some(colon) => {
            let value = &line[colon + 1..];
            (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
        }
        None => (line, b""),
    }
}

/// The non-empty lines of a text, without their ends.
struct Lines<'a>(&'a [u8]);

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        while !self.0.is_empty() {
            let end = memchr2(b'\n', b'\r', self.0).unwrap_or(self.0.len());
            let line = &self.0[..end];
            self.0 = self.0.get(end + 1..).unwrap_or_default();
            if !line.is_empty() {
                return Some(line);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(chunks: &[&str]) -> Vec<Frame> {
        let mut decoder = SseDecoder::new(1024);
        let mut out = Vec::new();
        for chunk in chunks {
            decoder.push(Bytes::copy_from_slice(chunk.as_bytes()), &mut out).unwrap();
        }
        decoder.finish(&mut out);
        assert_eq!(decoder.buffered(), 0);
        out
    }

    fn seen(frames: &[Frame]) -> Vec<(&str, Option<&str>, &str, bool)> {
        frames
            .iter()
            .map(|frame| {
                let raw = std::str::from_utf8(&frame.raw).unwrap();
                (raw, frame.event.as_deref(), std::str::from_utf8(&frame.data).unwrap(), frame.is_comment)
            })
            .collect()
    }

    #[test]
    fn fields_follow_the_standard() {
        for (input, event, data, is_comment) in [
            ("data: a\n\n", None, "a", false),
            ("data:a\n\n", None, "a", false),
            ("data:  a\n\n", None, " a", false),
            ("data\n\n", None, "", true),
            ("data: a\ndata: b\n\n", None, "a\nb", false),
            ("data: a\r\ndata:\r\ndata: b\r\n\r\n", None, "a\n\nb", false),
            ("event: x\ndata: a\n\n", Some("x"), "a", false),
            ("event: x\nevent: y\ndata: a\n\n", Some("y"), "a", false),
            ("event: x\n\n", Some("x"), "", false),
            (": hello\n\n", None, "", true),
            (": hello\ndata: a\n\n", None, "a", false),
            ("id: 7\nretry: 10\n\n", None, "", true),
            ("\u{feff}data: a\n\n", None, "a", false),
            ("data: a", None, "a", false),
            ("data: a\n", None, "a", false),
            ("data: a\rdata: b\r\r", None, "a\nb", false),
            ("{\"error\":{\"message\":\"x\"}}\n", None, "{\"error\":{\"message\":\"x\"}}", false),
            ("unknown: a\n\n", None, "unknown: a", false),
            ("<html>\n<body>\n", None, "<html>\n<body>", false),
            ("\n", None, "", true),
        ] {
            let frames = decode(&[input]);
            assert_eq!(seen(&frames), [(input, event, data, is_comment)], "{input:?}");
        }
    }

    #[test]
    fn a_blank_line_ends_a_frame_whatever_its_line_end() {
        for (input, raws) in [
            ("data: a\n\ndata: b\n\n", vec!["data: a\n\n", "data: b\n\n"]),
            ("data: a\r\n\r\ndata: b\r\n\r\n", vec!["data: a\r\n\r\n", "data: b\r\n\r\n"]),
            ("data: a\r\rdata: b\r\r", vec!["data: a\r\r", "data: b\r\r"]),
            ("data: a\n\r\ndata: b\r\n\n", vec!["data: a\n\r\n", "data: b\r\n\n"]),
            ("data: a\n\n\n\ndata: b", vec!["data: a\n\n", "\n", "\n", "data: b"]),
        ] {
            let bytes = input.as_bytes();
            for cut in 0..=bytes.len() {
                let (left, right) = input.split_at(cut);
                let frames = decode(&[left, right]);
                let found: Vec<_> = frames.iter().map(|frame| std::str::from_utf8(&frame.raw).unwrap()).collect();
                assert_eq!(found, raws, "{input:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn a_frame_with_bare_carriage_returns_does_not_wait_for_the_next() {
        let mut decoder = SseDecoder::new(1024);
        let mut out = Vec::new();
        decoder.push(Bytes::from_static(b"data: a\r\r"), &mut out).unwrap();
        assert_eq!(out.len(), 1);
    }

    #[test]
    fn a_frame_inside_one_chunk_is_not_copied() {
        let chunk = Bytes::from_static(b"data: a\n\ndata: b\n\n");
        let mut out = Vec::new();
        SseDecoder::new(1024).push(chunk.clone(), &mut out).unwrap();
        assert_eq!(out[1].raw.as_ptr(), chunk[9..].as_ptr());
        assert_eq!(out[1].data.as_ptr(), chunk[15..].as_ptr());
    }

    #[test]
    fn a_frame_beyond_the_limit_is_refused() {
        let mut decoder = SseDecoder::new(16);
        let mut out = Vec::new();
        decoder.push(Bytes::from_static(b"data: 0123\n\ndata: 45"), &mut out).unwrap();
        assert_eq!((out.len(), decoder.buffered()), (1, 8));
        let error = decoder.push(Bytes::from_static(b"678901234"), &mut out);
        assert_eq!(error, Err(FramingError::TooLarge { limit: 16 }));
    }
}
