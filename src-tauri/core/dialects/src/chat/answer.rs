//! Whole answers of this dialect, read into events and written from a folded answer.

use bytes::Bytes;

use crate::canonical::Answer;
use crate::error::UpstreamError;
use crate::event::Event;
use crate::translate::Reply;

pub(crate) fn read(_body: &[u8]) -> Result<Vec<Event>, UpstreamError> {
    Err(UpstreamError::garbled("is not read yet"))
}

pub(crate) fn write(_answer: &Answer, _reply: &Reply) -> Bytes {
    Bytes::new()
}
