//! Bytes in, frames out, at any split.
//!
//! A frame keeps its exact bytes beside what they mean, so a stream can be read and passed on at once: the raw bytes of
//! all frames, joined, are the input. Decoders never look into the JSON, hold at most one unfinished frame, and copy
//! only what crosses a chunk boundary.

use bytes::Bytes;
use thiserror::Error;

mod json_array;
mod json_lines;
mod sse;

pub use json_array::JsonArrayDecoder;
pub use json_lines::JsonLinesDecoder;
pub use sse::SseDecoder;

/// The largest frame accepted by default, in bytes (gateway specification, 1.9).
pub const MAX_FRAME: usize = 16 * 1024 * 1024;

/// What some servers write before the first frame.
pub(crate) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// One unit of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The exact bytes, with comments, separators and the terminating blank line.
    pub raw: Bytes,
    /// The event name, where the framing has one and the frame states it.
    pub event: Option<String>,
    /// The payload: joined data lines of SSE, the element of an array, the line. Empty when there is none.
    pub data: Bytes,
    /// Nothing in it is meant for a reader: comments, blank lines, brackets and commas.
    pub is_comment: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FramingError {
    #[error("a frame of the stream is larger than {limit} bytes")]
    TooLarge { limit: usize },
}

/// How a stream is cut into frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// One JSON array, elements as they come: Gemini without `alt=sse`.
    JsonArray,
    /// One JSON text per line: Ollama.
    JsonLines,
}

/// A decoder for any framing.
#[derive(Debug)]
pub enum Decoder {
    Sse(SseDecoder),
    JsonArray(JsonArrayDecoder),
    JsonLines(JsonLinesDecoder),
}

impl Decoder {
    /// `max_frame` bounds one frame and therefore the buffer, in bytes; see [`MAX_FRAME`].
    pub fn new(framing: Framing, max_frame: usize) -> Decoder {
        match framing {
            Framing::Sse => Decoder::Sse(SseDecoder::new(max_frame)),
            Framing::JsonArray => Decoder::JsonArray(JsonArrayDecoder::new(max_frame)),
            Framing::JsonLines => Decoder::JsonLines(JsonLinesDecoder::new(max_frame)),
        }
    }

    /// Adds a chunk and yields the frames it completes.
    ///
    /// # Errors
    /// [`FramingError::TooLarge`] when one frame exceeds the limit; the decoder is of no further use then.
    pub fn push(&mut self, chunk: Bytes, out: &mut Vec<Frame>) -> Result<(), FramingError> {
        match self {
            Decoder::Sse(decoder) => decoder.push(chunk, out),
            Decoder::JsonArray(decoder) => decoder.push(chunk, out),
            Decoder::JsonLines(decoder) => decoder.push(chunk, out),
        }
    }

    /// The stream ended: yields what is left as a last frame.
    pub fn finish(&mut self, out: &mut Vec<Frame>) {
        match self {
            Decoder::Sse(decoder) => decoder.finish(out),
            Decoder::JsonArray(decoder) => decoder.finish(out),
            Decoder::JsonLines(decoder) => decoder.finish(out),
        }
    }

    /// Bytes held back because their frame is unfinished.
    pub fn buffered(&self) -> usize {
        match self {
            Decoder::Sse(decoder) => decoder.buffered(),
            Decoder::JsonArray(decoder) => decoder.buffered(),
            Decoder::JsonLines(decoder) => decoder.buffered(),
        }
    }
}

/// `part` of `raw` as a slice of it, without the white space around.
fn trimmed(raw: &Bytes) -> Bytes {
    raw.slice_ref(raw.trim_ascii())
}
