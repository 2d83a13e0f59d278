//! The body of a reply: frames in their own time, and the three ways to break off.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;

use crate::connection::{Broken, Fate, FateSlot};
use crate::journal::{Ending, Ticket};
use crate::step::{Break, Pause};

/// The pause before a break, in which the bytes written so far reach the peer: a reset may discard what it has not
/// read yet.
const GRACE: Duration = Duration::from_millis(20);

/// Where the bytes come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// Frames that many replies may share, each but the first after the same delay.
    Shared { frames: Arc<[Bytes]>, at: usize, delay: Duration },
    /// Each frame after what stands before it.
    Paced(VecDeque<(Bytes, Pause)>),
    /// The same chunk again and again, `left` times or for ever.
    Repeat { chunk: Bytes, every: Duration, left: Option<u64>, first: bool },
}

pub(crate) struct ReplyBody {
    source: Source,
    /// A frame that waits for its time.
    next: Option<Bytes>,
    wait: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// Bytes allowed before the break.
    left: usize,
    how: Option<Break>,
    grace_over: bool,
    finished: bool,
    slot: FateSlot,
    ticket: Ticket,
}

/// What follows the last byte of a body.
enum End {
    NotYet,
    Over,
    Stall,
    Break,
}

impl Source {
    pub(crate) fn whole(body: Bytes) -> Source {
        Source::Shared { frames: Arc::new([body]), at: 0, delay: Duration::ZERO }
    }

    /// How many bytes there are, when that is fixed and shared.
    pub(crate) fn whole_length(&self) -> Option<usize> {
        match self {
            Source::Shared { frames, .. } => Some(frames.iter().map(Bytes::len).sum()),
            Source::Paced(_) | Source::Repeat { .. } => None,
        }
    }

    fn next(&mut self) -> Option<(Bytes, Pause)> {
        match self {
            Source::Shared { frames, at, delay } => {
                let frame = frames.get(*at)?.clone();
                let delay = if *at == 0 { Duration::ZERO } else { *delay };
                *at += 1;
                Some((frame, delay.into()))
            }
            Source::Paced(frames) => frames.pop_front(),
            Source::Repeat { chunk, every, left, first } => {
                if let Some(left) = left {
                    *left = left.checked_sub(1)?;
                }
                let delay = if std::mem::take(first) { Duration::ZERO } else { *every };
                Some((chunk.clone(), delay.into()))
            }
        }
    }

    fn is_exhausted(&self) -> bool {
        match self {
            Source::Shared { frames, at, .. } => *at >= frames.len(),
            Source::Paced(frames) => frames.is_empty(),
            Source::Repeat { left, .. } => *left == Some(0),
        }
    }
}

impl ReplyBody {
    /// `cut`: after how many bytes the body breaks off, and how.
    pub(crate) fn new(source: Source, cut: Option<(usize, Break)>, slot: FateSlot, ticket: Ticket) -> ReplyBody {
        let (left, how) = cut.map_or((usize::MAX, None), |(left, how)| (left, Some(how)));
        ReplyBody { source, next: None, wait: None, left, how, grace_over: false, finished: false, slot, ticket }
    }

    /// The part of a frame that may still be sent. Notes the end with the last one, because hyper does not ask again
    /// once a body of known length is complete.
    fn release(&mut self, mut frame: Bytes) -> Bytes {
        frame.truncate(self.left);
        self.left -= frame.len();
        if self.how.is_none() && self.source.is_exhausted() {
            self.finished = true;
            self.ticket.end(Ending::Completed);
        }
        frame
    }

    /// What follows the last byte.
    fn finish(&mut self) -> End {
        let fate = match self.how {
            None => {
                self.finished = true;
                self.ticket.end(Ending::Completed);
                return End::Over;
            }
            Some(Break::Stall) => return End::Stall,
            Some(Break::Reset) => Fate::Reset,
            Some(Break::Close) => Fate::Close,
        };
        if !std::mem::replace(&mut self.grace_over, true) {
            self.wait = Some(Box::pin(Pause::For(GRACE).over()));
            return End::NotYet;
        }
        self.slot.set(fate);
        self.ticket.end(Ending::Broken);
        End::Break
    }
}

impl http_body::Body for ReplyBody {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let body = self.get_mut();
        loop {
            if let Some(wait) = &mut body.wait {
                ready!(wait.as_mut().poll(context));
                body.wait = None;
            }
            if body.finished {
                return Poll::Ready(None);
            }
            if let Some(frame) = body.next.take() {
                return Poll::Ready(Some(Ok(Frame::data(body.release(frame)))));
            }
            let next = if body.left == 0 { None } else { body.source.next() };
            match next {
                Some((frame, pause)) => {
                    body.next = Some(frame);
                    body.wait = match pause {
                        Pause::None => None,
                        pause @ (Pause::For(_) | Pause::Until(_)) => Some(Box::pin(pause.over())),
                    };
                }
                None => match body.finish() {
                    End::NotYet => {}
                    End::Over => return Poll::Ready(None),
                    // Nothing wakes it: hyper notices when the peer leaves and drops the body.
                    End::Stall => return Poll::Pending,
                    End::Break => return Poll::Ready(Some(Err(Broken))),
                },
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.finished
    }
}
