//! The elements of one JSON array, as they come: Gemini's answer to a stream asked for without `alt=sse`.
//!
//! A frame is an element with everything before it: bracket, comma, white space. The closing bracket is a frame of its
//! own, without data, and so is what may follow it. An error object in place of the array is one frame. The scan knows
//! strings and brackets and nothing more; whether an element is JSON is the reader's question.

use bytes::{Bytes, BytesMut};
use memchr::memchr2;

use super::{Frame, FramingError, trimmed};

/// Decoder of a JSON array.
#[derive(Debug)]
pub struct JsonArrayDecoder {
    pending: BytesMut,
    max_frame: usize,
    /// The outer bracket was seen.
    is_open: bool,
    place: Place,
}

/// Where the scan stands in the unfinished frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before an element, or before anything.
    Between,
    /// In an element that began at `start` of the frame, inside so many brackets.
    Element { start: usize, depth: usize },
    /// In a string of such an element; `escaped` after a backslash.
    Text { start: usize, depth: usize, escaped: bool },
    /// After the array: nothing is meant for a reader.
    After,
}

/// A frame's end in a chunk, and where its element begins in the frame, if it has one.
struct Cut {
    end: usize,
    element: Option<usize>,
}

impl JsonArrayDecoder {
    /// `max_frame` bounds one frame and therefore the buffer, in bytes; see [`super::MAX_FRAME`].
    pub fn new(max_frame: usize) -> JsonArrayDecoder {
        JsonArrayDecoder { pending: BytesMut::new(), max_frame, is_open: false, place: Place::Between }
    }

    /// Adds a chunk and yields the frames it completes.
    ///
    /// # Errors
    /// [`FramingError::TooLarge`] when one frame exceeds the limit; the decoder is of no further use then.
    pub fn push(&mut self, mut chunk: Bytes, out: &mut Vec<Frame>) -> Result<(), FramingError> {
        loop {
            let cut = self.scan(&chunk);
            let length = cut.as_ref().map_or(chunk.len(), |cut| cut.end);
            if self.pending.len() + length > self.max_frame {
                return Err(FramingError::TooLarge { limit: self.max_frame });
            }
            let Some(cut) = cut else {
                self.pending.extend_from_slice(&chunk);
                return Ok(());
            };
            let raw = self.complete(chunk.split_to(length));
            let data = cut.element.map_or_else(Bytes::new, |start| raw.slice(start..));
            out.push(frame(raw, data));
        }
    }

    /// The stream ended: yields what is left as a last frame.
    pub fn finish(&mut self, out: &mut Vec<Frame>) {
        if self.pending.is_empty() {
            return;
        }
        let raw = self.pending.split().freeze();
        let data = match self.place {
            Place::Between | Place::After => Bytes::new(),
            Place::Element { start, .. } | Place::Text { start, .. } => trimmed(&raw.slice(start..)),
        };
        out.push(frame(raw, data));
    }

    /// Bytes held back because their frame is unfinished.
    pub fn buffered(&self) -> usize {
        self.pending.len()
    }

    /// Finds the end of the current frame in `chunk`, continuing where the last chunk stopped.
    fn scan(&mut self, chunk: &[u8]) -> Option<Cut> {
        let before = self.pending.len();
        let mut at = 0;
        while let Some(&byte) = chunk.get(at) {
            match self.place {
                Place::After => return None,
                Place::Between => match byte {
                    b'[' if !self.is_open => self.is_open = true,
                    b']' if self.is_open => {
                        self.place = Place::After;
                        return Some(Cut { end: at + 1, element: None });
                    }
                    b' ' | b'\n' | b'\r' | b'\t' | b',' => {}
                    _ => {
                        self.place = Place::Element { start: before + at, depth: 0 };
                        continue;
                    }
                },
                Place::Element { start, depth } => match byte {
                    b'"' => self.place = Place::Text { start, depth, escaped: false },
                    b'{' | b'[' => self.place = Place::Element { start, depth: depth + 1 },
                    b'}' | b']' if depth > 1 => self.place = Place::Element { start, depth: depth - 1 },
                    b'}' | b']' => {
                        self.place = if self.is_open { Place::Between } else { Place::After };
                        return Some(Cut { end: at + 1, element: Some(start) });
                    }
                    _ => {}
                },
                Place::Text { start, depth, escaped: true } => {
                    self.place = Place::Text { start, depth, escaped: false };
                }
                Place::Text { start, depth, escaped: false } => {
                    at += memchr2(b'"', b'\\', &chunk[at..])?;
                    self.place = if chunk[at] == b'"' {
                        Place::Element { start, depth }
                    } else {
                        Place::Text { start, depth, escaped: true }
                    };
                }
            }
            at += 1;
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
}

fn frame(raw: Bytes, data: Bytes) -> Frame {
    Frame { event: None, is_comment: data.is_empty(), data, raw }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(chunks: &[&[u8]]) -> Vec<(String, String)> {
        let mut decoder = JsonArrayDecoder::new(1024);
        let mut out = Vec::new();
        for chunk in chunks {
            decoder.push(Bytes::copy_from_slice(chunk), &mut out).unwrap();
        }
        decoder.finish(&mut out);
        let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
        out.iter().map(|frame| (text(&frame.raw), text(&frame.data))).collect()
    }

    #[test]
    fn elements_come_with_what_stands_before_them_at_any_split() {
        for (input, expected) in [
            (
                "[{\"a\":\"}]\\\"\"}\n,\r\n{\"b\":[{}]}\n]\n",
                vec![
                    ("[{\"a\":\"}]\\\"\"}", "{\"a\":\"}]\\\"\"}"),
                    ("\n,\r\n{\"b\":[{}]}", "{\"b\":[{}]}"),
                    ("\n]", ""),
                    ("\n", ""),
                ],
            ),
            ("{\"error\":{}}\n", vec![("{\"error\":{}}", "{\"error\":{}}"), ("\n", "")]),
            ("[]", vec![("[]", "")]),
            (" [ {\"a\":1", vec![(" [ {\"a\":1", "{\"a\":1")]),
            ("<html>", vec![("<html>", "<html>")]),
        ] {
            let expected: Vec<_> = expected.iter().map(|(raw, data)| ((*raw).to_owned(), (*data).to_owned())).collect();
            let bytes = input.as_bytes();
            for cut in 0..=bytes.len() {
                assert_eq!(decode(&[&bytes[..cut], &bytes[cut..]]), expected, "{input} cut at {cut}");
            }
        }
    }

    #[test]
    fn an_element_beyond_the_limit_is_refused() {
        let mut decoder = JsonArrayDecoder::new(8);
        let error = decoder.push(Bytes::from_static(b"[{\"a\":\"aaaaaaaa"), &mut Vec::new());
        assert_eq!(error, Err(FramingError::TooLarge { limit: 8 }));
    }
}
