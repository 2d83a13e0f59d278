//! One JSON text per line. A line ends with LF; a CR before it is white space.

use bytes::{Bytes, BytesMut};
use memchr::memchr;

use super::{Frame, FramingError, trimmed};

/// Decoder of JSON lines.
#[derive(Debug)]
pub struct JsonLinesDecoder {
    pending: BytesMut,
    max_frame: usize,
}

impl JsonLinesDecoder {
    /// `max_frame` bounds one frame and therefore the buffer, in bytes; see [`super::MAX_FRAME`].
    pub fn new(max_frame: usize) -> JsonLinesDecoder {
        JsonLinesDecoder { pending: BytesMut::new(), max_frame }
    }

    /// Adds a chunk and yields the frames it completes.
    ///
    /// # Errors
    /// [`FramingError::TooLarge`] when one frame exceeds the limit; the decoder is of no further use then.
    pub fn push(&mut self, mut chunk: Bytes, out: &mut Vec<Frame>) -> Result<(), FramingError> {
        while let Some(end) = memchr(b'\n', &chunk) {
            let line = chunk.split_to(end + 1);
            self.check(line.len())?;
            out.push(frame(self.complete(line)));
        }
        self.check(chunk.len())?;
        self.pending.extend_from_slice(&chunk);
        Ok(())
    }

    /// The stream ended: yields what is left as a last frame.
    pub fn finish(&mut self, out: &mut Vec<Frame>) {
        if !self.pending.is_empty() {
            out.push(frame(self.pending.split().freeze()));
        }
    }

    /// Bytes held back because their frame is unfinished.
    pub fn buffered(&self) -> usize {
        self.pending.len()
    }

    fn complete(&mut self, rest: Bytes) -> Bytes {
        if self.pending.is_empty() {
            return rest;
        }
        self.pending.extend_from_slice(&rest);
        self.pending.split().freeze()
    }

    fn check(&self, more: usize) -> Result<(), FramingError> {
        if self.pending.len() + more > self.max_frame {
            return Err(FramingError::TooLarge { limit: self.max_frame });
        }
        Ok(())
    }
}

fn frame(raw: Bytes) -> Frame {
    let data = trimmed(&raw);
    Frame { event: None, is_comment: data.is_empty(), data, raw }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_frame_with_its_line_end() {
        let mut decoder = JsonLinesDecoder::new(64);
        let mut out = Vec::new();
        for chunk in ["{\"a\":", "1}\r\n\n{\"b\":2}\n{\"c\"", ":3}"] {
            decoder.push(Bytes::from_static(chunk.as_bytes()), &mut out).unwrap();
        }
        assert_eq!(decoder.buffered(), 7);
        decoder.finish(&mut out);
        let seen: Vec<_> =
            out.iter().map(|frame| (frame.raw.as_ref(), frame.data.as_ref(), frame.is_comment)).collect();
        assert_eq!(
            seen,
            [
                (&b"{\"a\":1}\r\n"[..], &b"{\"a\":1}"[..], false),
                (b"\n", b"", true),
                (b"{\"b\":2}\n", b"{\"b\":2}", false),
                (b"{\"c\":3}", b"{\"c\":3}", false),
            ]
        );
    }

    #[test]
    fn a_line_without_end_is_refused_at_the_limit() {
        let mut decoder = JsonLinesDecoder::new(8);
        let mut out = Vec::new();
        decoder.push(Bytes::from_static(b"12345"), &mut out).unwrap();
        let error = decoder.push(Bytes::from_static(b"6789"), &mut out);
        assert_eq!(error, Err(FramingError::TooLarge { limit: 8 }));
    }
}
