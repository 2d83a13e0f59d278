//! Stage 8: frames are kept back until the first meaningful one, so that an attempt that fails before it can be replaced
//! without the client noticing.
//!
//! Life-cycle frames, comments and empty deltas promise nothing; text, a tool call or reasoning does. What is held is
//! bounded: past 64 KiB the attempt commits whatever it has.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use dialects::canonical::Answer;
use dialects::error::STREAM_CUT;
use dialects::framing::MAX_FRAME;
use dialects::translate::StreamWriter;
use dialects::{
    Decoder, DeltaKind, Event, FinishReason, Frame, Framing, PartKind, StreamProgress, StreamReader, UpstreamError,
};
use domain::{Clock, Millis, Reason, Timestamp};
use futures_util::StreamExt;
use resilience::stream_watchdog::{Budgets, StreamWatchdog};
use resilience::throughput_watchdog::{self, ThroughputWatchdog};

use crate::attempt::Overrun;
use crate::deadline::Timer;
use crate::memo::Keepsake;
use crate::record::Recorder;
use crate::redaction::Redaction;

const HOLD_LIMIT: usize = 64 * 1024;

/// What went wrong in a stream.
#[derive(Clone, Debug)]
pub(crate) enum StreamFailure {
    /// The upstream said so, in a frame or by the absence of an end. The message is already redacted.
    Stated(UpstreamError),
    /// The connection broke, or fell silent for too long.
    Broken { reason: Reason, message: String },
    /// It went on and said next to nothing (resilience specification, 17.3). The message says how little.
    TooSlow(String),
    /// A limit of our own cut it off: nobody's doing.
    Overrun(Millis),
}

/// What one chunk of the upstream's brought.
#[derive(Default)]
pub(crate) struct Read {
    /// Whole frames, byte for byte; where one of them is an error, without the credential.
    pub(crate) bytes: Bytes,
    /// One of them holds text, a tool call or reasoning.
    pub(crate) meaningful: bool,
    /// One of them is an error in the upstream's own words.
    pub(crate) stated: Option<UpstreamError>,
}

/// The upstream's stream, read and not yet passed on.
pub(crate) struct UpstreamStream {
    body: upstream::Body,
    decoder: Decoder,
    reader: Box<dyn StreamReader + Send>,
    /// In whose words it is passed on; none, in the upstream's own bytes.
    writer: Option<Box<dyn StreamWriter>>,
    written: BytesMut,
    /// The answer so far, where a body is wanted or something of it is kept.
    folded: Option<Answer>,
    keepsake: Option<Keepsake>,
    redaction: Redaction,
    timer: Timer,
    /// Longest silence between chunks; zero, no limit.
    idle: Millis,
    watchdog: StreamWatchdog,
    budgets: Budgets,
    throughput: ThroughputWatchdog,
    pace: throughput_watchdog::Config,
    overrun: Option<Overrun>,
    /// Since when nobody asks for more.
    unasked_since: Timestamp,
    /// How long, altogether, nobody did: the client was not ready for more, and the upstream is not to blame for that.
    unasked: Millis,
    frames: Vec<Frame>,
    events: Vec<Event>,
    /// The terminal event, once it was seen: whatever follows, the answer is complete.
    pub(crate) finish: Option<FinishReason>,
    ended: bool,
}

impl UpstreamStream {
    pub(crate) fn new(
        body: upstream::Body,
        reader: Box<dyn StreamReader + Send>,
        framing: Framing,
        clock: Arc<dyn Clock>,
        limits: Limits,
        redaction: Redaction,
        writer: Option<Box<dyn StreamWriter>>,
    ) -> Self {
        let now = clock.now();
        UpstreamStream {
            body,
            decoder: Decoder::new(framing, MAX_FRAME),
            reader,
            writer,
            written: BytesMut::new(),
            folded: None,
            keepsake: None,
            redaction,
            watchdog: StreamWatchdog::new(now),
            throughput: ThroughputWatchdog::new(&limits.pace, now),
            pace: limits.pace,
            timer: Timer::new(clock),
            idle: limits.idle,
            budgets: limits.budgets,
            overrun: limits.overrun,
            unasked_since: now,
            unasked: Millis::ZERO,
            frames: Vec::new(),
            events: Vec::new(),
            finish: None,
            ended: false,
        }
    }

    /// The time as the watchdogs know it, which stands still while nobody asks for more.
    fn watched(&self) -> Timestamp {
        self.timer.now() - self.unasked
    }

    /// The next whole frames; `Ok(None)` at a good end.
    pub(crate) async fn next(&mut self, recorder: &mut Recorder) -> Result<Option<Read>, StreamFailure> {
        let now = self.timer.now();
        self.unasked = self.unasked + now.since(self.unasked_since);
        let read = self.read_on(now, recorder).await;
        self.unasked_since = self.timer.now();
        read
    }

    /// `heard`: when the upstream was last listened to.
    async fn read_on(&mut self, mut heard: Timestamp, recorder: &mut Recorder) -> Result<Option<Read>, StreamFailure> {
        while !self.ended {
            self.frames.clear();
            let mut in_one = None;
            let now = self.timer.now();
            if let Some(overrun) = self.overrun.filter(|overrun| now >= overrun.at) {
                return Err(StreamFailure::Overrun(overrun.limit));
            }
            let watched = self.watched();
            if self.finish.is_none() && self.throughput.check(&self.pace, watched) {
                return Err(self.too_slow());
            }
            let silent_at = (!self.idle.is_zero()).then(|| heard + self.idle);
            let stalled_at = self.watchdog.next_deadline(&self.budgets).map(|at| at + self.unasked);
            let judged_at = self.throughput.next_deadline(&self.pace, watched).map(|at| at + self.unasked);
            let ends_at = self.overrun.map(|overrun| overrun.at);
            let deadline = [silent_at, stalled_at, judged_at, ends_at].into_iter().flatten().min();
            match self.timer.limit(self.body.next(), deadline).await {
                None if let Some(overrun) = self.overrun.filter(|_| deadline == ends_at) => {
                    return Err(StreamFailure::Overrun(overrun.limit));
                }
                None if deadline == stalled_at => return Err(self.stalled()),
                None if deadline == silent_at => return Err(silent(self.idle)),
                None => continue,
                Some(None) => {
                    self.ended = true;
                    self.decoder.finish(&mut self.frames);
                }
                Some(Some(Ok(chunk))) => {
                    heard = self.timer.now();
                    in_one = (self.decoder.buffered() == 0).then(|| chunk.clone());
                    self.decoder.push(chunk, &mut self.frames).map_err(|error| StreamFailure::Broken {
                        reason: Reason::EmptyOrGarbled,
                        message: error.to_string(),
                    })?;
                }
                Some(Some(Err(_))) if self.finish.is_some() => self.ended = true,
                Some(Some(Err(error))) => {
                    return Err(StreamFailure::Broken { reason: error.reason(), message: error.to_string() });
                }
            }
            let read = self.read_frames(in_one, recorder);
            if !read.bytes.is_empty() || read.meaningful || read.stated.is_some() {
                return Ok(Some(read));
            }
        }
        self.at_end(recorder)
    }

    /// `in_one`: the chunk that holds all the frames' bytes, from its first on.
    fn read_frames(&mut self, in_one: Option<Bytes>, recorder: &mut Recorder) -> Read {
        let mut read = Read::default();
        if self.writer.is_none() {
            read.bytes = joined(&self.frames, in_one);
        }
        if let Some(writer) = &mut self.writer {
            writer.at(self.timer.now());
        }
        let frames = std::mem::take(&mut self.frames);
        for frame in &frames {
            self.events.clear();
            self.reader.push(frame, &mut self.events);
            for event in std::mem::take(&mut self.events) {
                self.pace_of(&event);
                if event.is_output() {
                    self.watchdog.on_output();
                } else if event.is_progress() {
                    self.watchdog.on_progress(self.watched());
                }
                self.pass_on(&event);
                note(event, recorder, &mut read, &mut self.finish);
            }
        }
        self.frames = frames;
        if self.writer.is_some() {
            read.bytes = self.written.split().freeze();
        }
        if read.meaningful {
            recorder.first_token();
        }
        if let Some(error) = read.stated.take() {
            read.stated = Some(self.redaction.error(error));
            read.bytes = self.redaction.bytes(read.bytes);
        }
        read
    }

    /// Text is what the throughput is measured by; thinking and tool calls are work without any.
    fn pace_of(&mut self, event: &Event) {
        if !self.pace.enabled {
            return;
        }
        match event {
            Event::Delta { kind: DeltaKind::Text | DeltaKind::Refusal, text, .. } => {
                self.throughput.on_text(&self.pace, text.len(), self.watched());
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

    fn too_slow(&self) -> StreamFailure {
        let floor = self.pace.min_useful_bytes_per_second;
        StreamFailure::TooSlow(format!("the stream brought less than {floor} bytes of text a second"))
    }

    fn stalled(&self) -> StreamFailure {
        let message = "the stream stayed open but brought no output in time".to_owned();
        StreamFailure::Broken { reason: Reason::ContentStall, message }
    }

    /// Asks the reader whether the answer was complete.
    fn at_end(&mut self, recorder: &mut Recorder) -> Result<Option<Read>, StreamFailure> {
        let mut read = Read::default();
        self.events.clear();
        self.reader.end(&mut self.events);
        for event in std::mem::take(&mut self.events) {
            self.pass_on(&event);
            note(event, recorder, &mut read, &mut self.finish);
        }
        match read.stated {
            Some(error) if self.finish.is_none() => return Err(StreamFailure::Stated(error)),
            Some(_) | None => {}
        }
        if let (Some(keepsake), Some(answer)) = (self.keepsake.take(), &self.folded) {
            keepsake.keep(answer);
        }
        // What the writer kept back, and its end marker: once.
        let Some(mut writer) = self.writer.take() else { return Ok(None) };
        writer.at(self.timer.now());
        writer.end(&mut self.written);
        let bytes = self.written.split().freeze();
        Ok((!bytes.is_empty()).then(|| Read { bytes, ..Read::default() }))
    }

    /// Whether the client is told in other words than the upstream's own.
    pub(crate) fn is_rewritten(&self) -> bool {
        self.writer.is_some()
    }

    /// How far the client has come that was given everything so far.
    pub(crate) fn progress(&self) -> StreamProgress<'_> {
        self.writer.as_ref().map_or_else(|| self.reader.progress(), |writer| writer.progress())
    }

    /// Something of the answer is kept once it is whole.
    pub(crate) fn keep(&mut self, keepsake: Keepsake) {
        self.folded = Some(Answer::default());
        self.keepsake = Some(keepsake);
    }

    /// The whole answer, for a client that wants a body.
    pub(crate) async fn fold(&mut self, recorder: &mut Recorder) -> Result<Answer, StreamFailure> {
        self.folded = Some(Answer::default());
        while let Some(read) = self.next(recorder).await? {
            if let Some(error) = read.stated {
                return Err(StreamFailure::Stated(error));
            }
        }
        Ok(self.folded.take().unwrap_or_default())
    }

    /// Shows an event to whoever keeps or rewrites the answer. An error is told by [`Read::stated`] instead.
    fn pass_on(&mut self, event: &Event) {
        if let Some(writer) = &mut self.writer {
            writer.push(event, &mut self.written);
        }
        if let (Some(answer), false) = (&mut self.folded, matches!(event, Event::Failed(_))) {
            // Only a failure is refused, and there is none.
            let _ = answer.take(event.clone());
        }
    }
}

fn note(event: Event, recorder: &mut Recorder, read: &mut Read, finish: &mut Option<FinishReason>) {
    if commits(&event) {
        read.meaningful = true;
    }
    match event {
        Event::Delta { text, .. } => recorder.output_bytes += text.len() as u64,
        Event::Usage(usage) => recorder.usage().absorb(&usage),
        Event::Finished(reason) => *finish = Some(reason),
        Event::Failed(error) => read.stated = Some(error),
        Event::Started { .. } | Event::PartStarted { .. } | Event::PartEnded { .. } | Event::KeepAlive => {}
    }
}

/// Text, a tool call or reasoning: an opened but still empty part promises nothing.
fn commits(event: &Event) -> bool {
    event.is_output() || matches!(event, Event::Delta { text, .. } if !text.is_empty() && event.is_progress())
}

/// The frames' bytes in one piece; only frames of several chunks are copied.
fn joined(frames: &[Frame], in_one: Option<Bytes>) -> Bytes {
    if let [only] = frames {
        return only.raw.clone();
    }
    let length = frames.iter().map(|frame| frame.raw.len()).sum();
    if let Some(chunk) = in_one {
        return chunk.slice(..length);
    }
    let mut all = BytesMut::with_capacity(length);
    frames.iter().for_each(|frame| all.extend_from_slice(&frame.raw));
    all.freeze()
}

fn silent(limit: Millis) -> StreamFailure {
    StreamFailure::Broken { reason: Reason::StreamIdleTimeout, message: format!("nothing came for {limit}") }
}

/// What was held, or why the attempt failed before it promised anything.
pub(crate) enum Held {
    /// A promise is due: the frames so far, and the error that one of them tells beside the content.
    Committed(Vec<Bytes>, Option<UpstreamError>),
    /// The stream ended well without anything meaningful; these are its frames.
    Empty(Vec<Bytes>),
    Failed(StreamFailure),
}

/// Reads until the first meaningful frame.
pub(crate) async fn hold(stream: &mut UpstreamStream, recorder: &mut Recorder) -> Held {
    let mut held = Vec::new();
    let mut size = 0;
    loop {
        match stream.next(recorder).await {
            Err(failure) => return Held::Failed(early_eof(failure)),
            Ok(None) => return Held::Empty(held),
            Ok(Some(Read { stated: Some(error), meaningful: false, .. })) => {
                return Held::Failed(StreamFailure::Stated(error));
            }
            Ok(Some(read)) => {
                size += read.bytes.len();
                if !read.bytes.is_empty() {
                    held.push(read.bytes);
                }
                if read.meaningful || size > HOLD_LIMIT {
                    return Held::Committed(held, read.stated);
                }
            }
        }
    }
}

/// A good status and then the end without any content, whatever the reader makes of it (resilience specification, 17.5).
fn early_eof(failure: StreamFailure) -> StreamFailure {
    match failure {
        StreamFailure::Stated(error) if error.code.as_deref() == Some(STREAM_CUT) => StreamFailure::Broken {
            reason: Reason::EarlyEof,
            message: "the stream ended before any content".to_owned(),
        },
        other @ (StreamFailure::Stated(_)
        | StreamFailure::Broken { .. }
        | StreamFailure::TooSlow(_)
        | StreamFailure::Overrun(_)) => other,
    }
}

/// How long a stream may take.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Without a single byte.
    pub(crate) idle: Millis,
    /// Without anything useful.
    pub(crate) budgets: Budgets,
    /// With too little.
    pub(crate) pace: throughput_watchdog::Config,
    /// Altogether, from the dispatch on.
    pub(crate) overrun: Option<Overrun>,
}
