//! Streams of this dialect, written from events.

use bytes::BytesMut;

use crate::error::StreamProgress;
use crate::event::Event;
use crate::translate::{Reply, StreamWriter};

pub(crate) struct Writer {
    _reply: Reply,
}

impl Writer {
    pub(crate) fn new(reply: Reply) -> Self {
        Writer { _reply: reply }
    }
}

impl StreamWriter for Writer {
    fn push(&mut self, _event: &Event, _out: &mut BytesMut) {}

    fn end(&mut self, _out: &mut BytesMut) {}

    fn progress(&self) -> StreamProgress<'_> {
        StreamProgress::NothingSent
    }
}
