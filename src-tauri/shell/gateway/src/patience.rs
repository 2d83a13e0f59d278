//! How long a stream is waited for: bytes, something useful, enough of it, and at last its close.
//!
//! Every limit but the one on the whole attempt stands still while nobody asks for more: a slow client is not its upstream's
//! doing. Once the answer has ended none of them holds any longer. What is left is a short grace, in which the upstream may
//! send its counts and close, so that its connection can be used again.

use std::sync::Arc;

use bytes::Bytes;
use dialects::{DeltaKind, Event, PartKind, Remainder};
use domain::{Clock, Millis, Reason, Timestamp};
use futures_util::StreamExt;
use resilience::stream_watchdog::{Budgets, StreamWatchdog};
use resilience::throughput_watchdog::{self, ThroughputWatchdog};
use upstream::TransportError;

use crate::attempt::Overrun;
use crate::deadline::Timer;
use crate::hold::StreamFailure;
use crate::peek::Peeked;

/// How long an upstream may take to close a stream whose answer has ended, and to send the counts that may follow its end
/// (gateway specification, 2.13). One that keeps silent for longer loses its connection, and nothing else.
const GRACE: Millis = Millis::seconds(2);

/// How long a stream may take.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Without a single byte; zero, for ever.
    pub(crate) idle: Millis,
    /// Without anything useful.
    pub(crate) budgets: Budgets,
    /// With too little.
    pub(crate) pace: throughput_watchdog::Config,
    /// Altogether, from the dispatch on.
    pub(crate) overrun: Option<Overrun>,
}

/// Waits for one stream.
pub(crate) struct Patience {
    timer: Timer,
    limits: Limits,
    watchdog: StreamWatchdog,
    throughput: ThroughputWatchdog,
    /// When the upstream was last listened to, and brought something or was first asked.
    heard: Timestamp,
    /// Since when nobody asks for more.
    unasked_since: Timestamp,
    /// How long, altogether, nobody did.
    unasked: Millis,
    /// Since when nothing but counts and an end marker may come, by the watchdogs' time.
    answered_at: Option<Timestamp>,
    /// How long the client is left without a word; zero, for ever.
    heartbeat: Millis,
    /// When it was last given something.
    told: Timestamp,
}

/// What ends the wait for the next chunk.
#[derive(Clone, Copy)]
enum Limit {
    Overrun(Overrun),
    /// Nothing useful came in time.
    Stalled,
    /// Nothing at all came.
    Silent,
    /// The throughput is to be looked at.
    Judged,
    /// The answer has ended, the stream has not.
    Grace,
    /// The client has heard nothing for a while.
    Heartbeat,
}

/// What came of waiting.
pub(crate) enum Waited {
    Chunk(Bytes),
    /// The upstream closed.
    Closed,
    Broken(TransportError),
    /// The answer has ended, and for the rest nobody waits any longer.
    Enough,
    /// Nothing yet, and the client should be given a sign of life.
    Quiet,
}

impl Patience {
    pub(crate) fn new(clock: Arc<dyn Clock>, limits: Limits) -> Self {
        let now = clock.now();
        Patience {
            timer: Timer::new(clock),
            watchdog: StreamWatchdog::new(now),
            throughput: ThroughputWatchdog::new(&limits.pace, now),
            limits,
            heard: now,
            unasked_since: now,
            unasked: Millis::ZERO,
            answered_at: None,
            heartbeat: Millis::ZERO,
            told: now,
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.timer.now()
    }

    /// The time as the watchdogs know it, which stands still while nobody asks for more.
    fn watched(&self) -> Timestamp {
        self.timer.now() - self.unasked
    }

    /// Somebody asks for more.
    pub(crate) fn begin(&mut self) {
        let now = self.timer.now();
        let away = now.since(self.unasked_since);
        self.unasked = self.unasked + away;
        self.heard = self.heard + away;
    }

    /// Nobody does, until [`begin`](Self::begin).
    pub(crate) fn pause(&mut self) {
        self.unasked_since = self.timer.now();
    }

    /// From now on the client is not left without a word for longer than this.
    pub(crate) fn keep_alive(&mut self, heartbeat: Millis) {
        self.heartbeat = heartbeat;
        self.note_told();
    }

    /// The client was given something.
    pub(crate) fn note_told(&mut self) {
        self.told = self.timer.now();
    }

    /// The next chunk.
    ///
    /// # Errors
    /// The limit that passed first.
    pub(crate) async fn next(&mut self, body: &mut Peeked) -> Result<Waited, StreamFailure> {
        loop {
            self.check()?;
            let limit = self.limit();
            match self.timer.limit(body.next(), limit.map(|(at, _)| at)).await {
                Some(Some(Ok(chunk))) => {
                    self.heard = self.timer.now();
                    return Ok(Waited::Chunk(chunk));
                }
                Some(Some(Err(error))) => return Ok(Waited::Broken(error)),
                Some(None) => return Ok(Waited::Closed),
                None => match limit.map(|(_, limit)| limit) {
                    Some(Limit::Overrun(overrun)) => return Err(StreamFailure::Overrun(overrun.limit)),
                    Some(Limit::Stalled) => return Err(stalled()),
                    Some(Limit::Silent) => return Err(silent(self.limits.idle)),
                    Some(Limit::Grace) => return Ok(Waited::Enough),
                    Some(Limit::Heartbeat) => {
                        self.note_told();
                        return Ok(Waited::Quiet);
                    }
                    Some(Limit::Judged) | None => {}
                },
            }
        }
    }

    /// Which limit the wait meets first, and when.
    fn limit(&self) -> Option<(Timestamp, Limit)> {
        if let Some(since) = self.answered_at {
            return Some((since + GRACE + self.unasked, Limit::Grace));
        }
        let Limits { idle, budgets, pace, overrun } = &self.limits;
        let stalled_at = self.watchdog.next_deadline(budgets).map(|at| at + self.unasked);
        let judged_at = self.throughput.next_deadline(pace, self.watched()).map(|at| at + self.unasked);
        let limits = [
            overrun.map(|overrun| (overrun.at, Limit::Overrun(overrun))),
            stalled_at.map(|at| (at, Limit::Stalled)),
            (!idle.is_zero()).then(|| (self.heard + *idle, Limit::Silent)),
            judged_at.map(|at| (at, Limit::Judged)),
            (!self.heartbeat.is_zero()).then(|| (self.told + self.heartbeat, Limit::Heartbeat)),
        ];
        // Of two at once the first.
        limits.into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// Whether the stream has gone on for too long, or too slowly.
    fn check(&mut self) -> Result<(), StreamFailure> {
        if self.answered_at.is_some() {
            return Ok(());
        }
        let now = self.timer.now();
        if let Some(overrun) = self.limits.overrun.filter(|overrun| now >= overrun.at) {
            return Err(StreamFailure::Overrun(overrun.limit));
        }
        let watched = self.watched();
        if self.throughput.check(&self.limits.pace, watched) {
            return Err(too_slow(&self.limits.pace));
        }
        Ok(())
    }

    /// Takes note of what came. Text is what the throughput is measured by; thinking and tool calls are work without any.
    pub(crate) fn note(&mut self, event: &Event) {
        if event.is_output() {
            self.watchdog.on_output();
        } else if event.is_progress() {
            self.watchdog.on_progress(self.watched());
        }
        if !self.limits.pace.enabled {
            return;
        }
        match event {
            Event::Delta { kind: DeltaKind::Text | DeltaKind::Refusal, text, .. } => {
                self.throughput.on_text(&self.limits.pace, text.len(), self.watched());
            }
            Event::Delta { kind: DeltaKind::Reasoning | DeltaKind::Signature | DeltaKind::Arguments, .. }
            | Event::PartStarted {
                kind: PartKind::Reasoning | PartKind::RedactedReasoning | PartKind::ToolCall { .. } | PartKind::Opaque,
                ..
            } => self.throughput.on_other_work(),
            Event::PartStarted { kind: PartKind::Text | PartKind::Refusal, .. }
            | Event::Started { .. }
            | Event::PartEnded { .. }
            | Event::Usage(_)
            | Event::Finished(_)
            | Event::Failed(_)
            | Event::KeepAlive => {}
        }
    }

    /// More comes than was thought.
    pub(crate) fn go_on(&mut self) {
        self.answered_at = None;
        self.pause();
    }

    /// What may still come: once that is no more of the answer, only the grace is left.
    pub(crate) fn note_remainder(&mut self, remainder: Remainder) {
        if remainder != Remainder::Answer && self.answered_at.is_none() {
            self.answered_at = Some(self.watched());
        }
    }
}

fn too_slow(pace: &throughput_watchdog::Config) -> StreamFailure {
    let floor = pace.min_useful_bytes_per_second;
    StreamFailure::TooSlow(format!("the stream brought less than {floor} bytes of text a second"))
}

fn stalled() -> StreamFailure {
    let message = "the stream stayed open but brought no output in time".to_owned();
    StreamFailure::Broken { reason: Reason::ContentStall, message }
}

fn silent(limit: Millis) -> StreamFailure {
    StreamFailure::Broken { reason: Reason::StreamIdleTimeout, message: format!("nothing came for {limit}") }
}
