//! The body of a request: pieces that travel one after the other.
//!
//! A large body in which one value was replaced is not put together anew: what stood before the value, the value, and
//! what stood behind it are handed to the connection as they are, under one `Content-Length`.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

/// What is sent. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    pieces: VecDeque<Bytes>,
}

impl Payload {
    /// In bytes.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// In one piece, copied together if need be.
    pub fn into_bytes(mut self) -> Bytes {
        match self.pieces.len() {
            0 | 1 => self.pieces.pop_front().unwrap_or_default(),
            _ => self.pieces.make_contiguous().concat().into(),
        }
    }

    /// One piece goes as it is, which spares the connection the asking.
    pub(crate) fn into_reqwest(self) -> reqwest::Body {
        if self.pieces.len() > 1 { reqwest::Body::wrap(self) } else { self.into_bytes().into() }
    }
}

impl From<Bytes> for Payload {
    fn from(bytes: Bytes) -> Self {
        Payload { pieces: VecDeque::from([bytes]) }
    }
}

impl From<Vec<Bytes>> for Payload {
    fn from(pieces: Vec<Bytes>) -> Self {
        Payload { pieces: pieces.into() }
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.pieces.pop_front().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.len() as u64)
    }
}
