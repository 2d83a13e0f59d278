//! What the four readers share: numbering parts, and keeping account of how far a stream has come.

use crate::error::{StreamProgress, UpstreamError};
use crate::event::{DeltaKind, Event, FinishReason, PartKind, Remainder};
use crate::mended::Unread;

/// The data of the last frame of a Chat stream; servers of other dialects send it too.
pub(crate) const END_MARKER: &[u8] = b"[DONE]";

/// The open parts of an answer, each under the key by which its dialect refers to it.
#[derive(Debug)]
pub(crate) struct Parts<K> {
    open: Vec<(K, u32)>,
    next: u32,
}

impl<K> Default for Parts<K> {
    fn default() -> Self {
        Parts { open: Vec::new(), next: 0 }
    }
}

impl<K: PartialEq + Copy> Parts<K> {
    /// The index of the open part under `key`.
    pub(crate) fn find(&self, key: K) -> Option<u32> {
        self.open.iter().find(|(known, _)| *known == key).map(|(_, index)| *index)
    }

    /// Starts a part; one that is open under the same key ends first.
    pub(crate) fn start(&mut self, key: K, kind: PartKind, out: &mut Vec<Event>) -> u32 {
        self.end(key, out);
        let index = self.next;
        self.next += 1;
        self.open.push((key, index));
        out.push(Event::PartStarted { index, kind });
        index
    }

    /// The open part under `key`, started now if there is none.
    pub(crate) fn ensure(&mut self, key: K, kind: PartKind, out: &mut Vec<Event>) -> u32 {
        match self.find(key) {
            Some(index) => index,
            None => self.start(key, kind, out),
        }
    }

    pub(crate) fn end(&mut self, key: K, out: &mut Vec<Event>) {
        self.end_where(|known| known == key, out);
    }

    pub(crate) fn end_where(&mut self, test: impl Fn(K) -> bool, out: &mut Vec<Event>) {
        self.open.retain(|(key, index)| {
            let ends = test(*key);
            if ends {
                out.push(Event::PartEnded { index: *index });
            }
            !ends
        });
    }

    pub(crate) fn end_all(&mut self, out: &mut Vec<Event>) {
        self.end_where(|_| true, out);
    }
}

pub(crate) fn delta(index: u32, kind: DeltaKind, text: &str, out: &mut Vec<Event>) {
    out.push(Event::Delta { index, kind, text: text.to_owned() });
}

/// How far a stream has come.
#[derive(Debug, Default)]
pub(crate) struct Course {
    started: bool,
    has_progress: bool,
    is_over: bool,
    /// The dialect's own word for the end was seen.
    is_marked: bool,
    /// Answers that are told side by side, by number, and whether each has ended.
    answers: Vec<(u32, bool)>,
    /// At least one frame was of the dialect.
    has_read: bool,
    dropped: u32,
    /// One of those dropped was meant to be JSON.
    is_garbled: bool,
}

impl Course {
    /// [`Event::Started`], the first time.
    pub(crate) fn start(&mut self, id: Option<String>, model: Option<String>, out: &mut Vec<Event>) {
        if !self.started {
            self.started = true;
            out.push(Event::Started { id, model });
        }
    }

    pub(crate) fn has_started(&self) -> bool {
        self.started
    }

    /// [`Event::Finished`], the first time.
    pub(crate) fn finish(&mut self, reason: FinishReason, out: &mut Vec<Event>) {
        if !self.is_over {
            self.is_over = true;
            out.push(Event::Finished(reason));
        }
    }

    /// [`Event::Failed`], unless the stream is over.
    pub(crate) fn fail(&mut self, error: UpstreamError, out: &mut Vec<Event>) {
        if !self.is_over {
            self.is_over = true;
            out.push(Event::Failed(error));
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The end marker was seen.
    pub(crate) fn mark(&mut self) {
        self.is_marked = true;
    }

    /// One of the answers side by side was told more of, and has ended with this or not.
    pub(crate) fn note_answer(&mut self, number: u32, ends: bool) {
        match self.answers.iter_mut().find(|(known, _)| *known == number) {
            Some((_, has_ended)) => *has_ended |= ends,
            None => self.answers.push((number, ends)),
        }
    }

    pub(crate) fn remainder(&self) -> Remainder {
        if self.is_over && self.is_marked {
            Remainder::Nothing
        } else if self.is_over && self.answers.iter().all(|(_, has_ended)| *has_ended) {
            Remainder::Counts
        } else {
            Remainder::Answer
        }
    }

    pub(crate) fn drop_frame(&mut self, why: Unread) {
        self.dropped = self.dropped.saturating_add(1);
        self.is_garbled |= why == Unread::Garbled;
    }

    pub(crate) fn is_garbled(&self) -> bool {
        self.is_garbled
    }

    pub(crate) fn dropped(&self) -> u32 {
        self.dropped
    }

    /// Takes account of the events one readable frame yielded.
    pub(crate) fn note(&mut self, events: &[Event]) {
        self.has_read = true;
        self.has_progress = self.has_progress || events.iter().any(Event::is_progress);
    }

    /// The upstream closed.
    pub(crate) fn end(&mut self, out: &mut Vec<Event>) {
        if self.is_over {
            return;
        }
        let garbled = !self.has_read && self.dropped > 0;
        let error = if garbled {
            UpstreamError::garbled("the stream is not of the expected format")
        } else {
            UpstreamError::stream_cut()
        };
        self.fail(error, out);
    }

    pub(crate) fn progress(&self) -> StreamProgress<'static> {
        if self.has_progress { StreamProgress::ContentSent } else { StreamProgress::NothingSent }
    }
}
