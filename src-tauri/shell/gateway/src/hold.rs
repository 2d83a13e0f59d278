//! Stage 8: frames are kept back until the first meaningful one, so that an attempt that fails before it can be replaced
//! without the client noticing.
//!
//! Life-cycle frames, comments and empty deltas promise nothing; text, a tool call or reasoning does. What is held is
//! bounded: past 64 KiB the attempt commits whatever it has.

use bytes::{Bytes, BytesMut};
use dialects::canonical::Answer;
use dialects::error::ErrorOrigin;
use dialects::framing::MAX_FRAME;
use dialects::translate::StreamWriter;
use dialects::{
    Client, Decoder, Event, FinishReason, Frame, Framing, FramingError, Remainder, StreamProgress, StreamReader,
    UpstreamError, end_marker, wire_form,
};
use domain::{Dialect, Millis, Reason};

use crate::folded::{Folded, Room};
use crate::heartbeat::Heartbeat;
use crate::memo::Keepsake;
use crate::patience::{Patience, Waited};
use crate::peek::Peeked;
use crate::record::Recorder;
use crate::redaction::Redaction;
use crate::upstream_body::{WHOLE_BODY, too_large};

const HOLD_LIMIT: usize = 64 * 1024;

/// What went wrong in a stream.
#[derive(Clone, Debug)]
pub(crate) enum StreamFailure {
    /// The upstream said so, or the reader did who missed an end or could make nothing of it. The message is already redacted.
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
    body: Peeked,
    decoder: Decoder,
    reader: Box<dyn StreamReader + Send>,
    /// In whose words it is passed on; none, in the upstream's own bytes.
    writer: Option<Box<dyn StreamWriter>>,
    /// There is a writer, or was one until it had written the end.
    is_rewritten: bool,
    /// Whose clients are given the upstream's own bytes; none, nobody is.
    passed_in: Option<Dialect>,
    framing: Framing,
    /// What they were given tells them of the error, after which nothing follows.
    has_told: bool,
    /// The end of a JSON array in the upstream's own bytes, kept back until nothing can go wrong any more.
    array_end: Option<BytesMut>,
    written: BytesMut,
    /// The answer so far, where a body is wanted or something of it is kept.
    folded: Option<Folded>,
    keepsake: Option<Keepsake>,
    heartbeat: Heartbeat,
    /// For what the writer keeps; none, where that is nothing.
    writers_room: Option<Room>,
    /// There is more of it than a body may hold, and the client cannot be given it without that.
    is_too_large: bool,
    redaction: Redaction,
    patience: Patience,
    frames: Vec<Frame>,
    events: Vec<Event>,
    /// The terminal event, once it was seen: whatever follows, the answer is complete.
    pub(crate) finish: Option<FinishReason>,
    /// The client was given all that is its due.
    is_complete: bool,
    /// The upstream closed, or is listened to no longer.
    ended: bool,
}

impl UpstreamStream {
    pub(crate) fn new(
        body: Peeked,
        reader: Box<dyn StreamReader + Send>,
        framing: Framing,
        patience: Patience,
        redaction: Redaction,
        writer: Option<Box<dyn StreamWriter>>,
    ) -> Self {
        UpstreamStream {
            body,
            decoder: Decoder::new(framing, MAX_FRAME),
            reader,
            writers_room: writer.as_ref().is_some_and(|writer| writer.keeps_answer()).then(|| Room::new(WHOLE_BODY)),
            is_rewritten: writer.is_some(),
            passed_in: None,
            framing,
            has_told: false,
            array_end: (framing == Framing::JsonArray && writer.is_none()).then(BytesMut::new),
            written: BytesMut::new(),
            folded: None,
            writer,
            keepsake: None,
            heartbeat: Heartbeat::default(),
            is_too_large: false,
            redaction,
            patience,
            frames: Vec::new(),
            events: Vec::new(),
            finish: None,
            is_complete: false,
            ended: false,
        }
    }

    /// The next whole frames; `Ok(None)` at a good end. The upstream may not have closed by then: see [`Self::linger`].
    pub(crate) async fn next(&mut self, recorder: &mut Recorder) -> Result<Option<Read>, StreamFailure> {
        self.patience.begin();
        let read = self.read_on(recorder).await;
        if matches!(&read, Ok(Some(read)) if !read.bytes.is_empty()) {
            self.patience.note_told();
        }
        self.patience.pause();
        read
    }

    /// Reads on after the end, so that the connection can be used again: until the upstream closes, or for as long as it is
    /// given. What still comes is the client's where it is told in the upstream's own bytes.
    pub(crate) async fn linger(&mut self) -> Option<Bytes> {
        self.patience.begin();
        let mut late = Bytes::new();
        while late.is_empty() && !self.ended {
            self.frames.clear();
            match self.patience.next(&mut self.body).await {
                Ok(Waited::Chunk(chunk)) => self.ended = self.decoder.push(chunk, &mut self.frames).is_err(),
                Ok(Waited::Closed) => self.end_last_frame(),
                Ok(Waited::Quiet) => {}
                Ok(Waited::Broken(_) | Waited::Enough) | Err(_) => self.ended = true,
            }
            if !self.is_rewritten {
                self.amend();
                late = joined(&self.frames, None);
            }
        }
        self.patience.pause();
        (!late.is_empty()).then_some(late)
    }

    /// Lingers to the end.
    pub(crate) async fn drained(mut self) {
        while self.linger().await.is_some() {}
    }

    async fn read_on(&mut self, recorder: &mut Recorder) -> Result<Option<Read>, StreamFailure> {
        while !self.ended && !self.is_complete {
            self.frames.clear();
            let mut in_one = None;
            match self.patience.next(&mut self.body).await? {
                Waited::Chunk(chunk) => {
                    in_one = (self.decoder.buffered() == 0).then(|| chunk.clone());
                    match self.decoder.push(chunk, &mut self.frames) {
                        Err(_) if self.finish.is_some() => self.ended = true,
                        Err(error) => return Err(garbled(&error)),
                        Ok(()) => {}
                    }
                }
                Waited::Closed => self.end_last_frame(),
                Waited::Enough => self.ended = true,
                Waited::Quiet => return Ok(Some(self.sign_of_life())),
                Waited::Broken(_) if self.finish.is_some() => self.ended = true,
                Waited::Broken(error) => {
                    return Err(StreamFailure::Broken { reason: error.reason(), message: error.to_string() });
                }
            }
            let read = self.read_frames(in_one, recorder);
            if self.is_too_large {
                return Err(too_large());
            }
            if !read.bytes.is_empty() || read.meaningful || read.stated.is_some() {
                return Ok(Some(read));
            }
        }
        self.at_end(recorder)
    }

    /// The client is told that the answer goes on, as long as it does.
    fn sign_of_life(&mut self) -> Read {
        if self.finish.is_none() {
            self.heartbeat.beat(self.writer.as_deref_mut(), self.patience.now(), &mut self.written);
        }
        Read { bytes: self.written.split().freeze(), ..Read::default() }
    }

    /// The upstream closed. Of what is passed on in its own bytes, a frame that broke off is none.
    fn end_last_frame(&mut self) {
        self.ended = true;
        self.decoder.finish(&mut self.frames);
        let (Some(dialect), Some(last)) = (self.passed_in, self.frames.first_mut()) else { return };
        match self.framing {
            Framing::Sse => last.raw = wire_form::completed(dialect, last),
            Framing::JsonArray if last.is_comment || wire_form::is_whole(&last.data) => {}
            Framing::JsonArray | Framing::JsonLines => last.raw = Bytes::new(),
        }
    }

    /// Gives the frames the form that the client reads; whether one of them had another.
    fn amend(&mut self) -> bool {
        let Some(dialect) = self.passed_in.filter(|_| self.framing == Framing::Sse) else { return false };
        let mut is_changed = false;
        for frame in self.frames.iter_mut().filter(|frame| !frame.raw.is_empty()) {
            if let Some(raw) = wire_form::amended(dialect, frame) {
                frame.raw = raw;
                is_changed = true;
            }
        }
        is_changed
    }

    /// `in_one`: the chunk that holds all the frames' bytes, from its first on.
    fn read_frames(&mut self, in_one: Option<Bytes>, recorder: &mut Recorder) -> Read {
        let mut read = Read::default();
        self.keep_array_open();
        let in_one = if self.amend() { None } else { in_one };
        let mut passed = self.frames.len();
        if let Some(writer) = &mut self.writer {
            writer.at(self.patience.now());
        }
        let frames = std::mem::take(&mut self.frames);
        for (place, frame) in frames.iter().enumerate() {
            let was_well = read.stated.is_none();
            self.events.clear();
            self.reader.push(frame, &mut self.events);
            for event in std::mem::take(&mut self.events) {
                self.patience.note(&event);
                self.pass_on(&event);
                self.heartbeat.note(&event);
                note(event, recorder, &mut read, &mut self.finish);
            }
            if let (true, Some(_), Some(dialect)) = (was_well, &read.stated, self.passed_in) {
                self.has_told = dialects::error::is_in_own_shape(dialect, frame);
                if !self.has_told {
                    passed = place;
                }
            }
            if read.stated.is_none() && self.has_gap() {
                read.stated = Some(UpstreamError::garbled("a frame of the stream could not be read"));
                break;
            }
        }
        if !self.is_rewritten {
            read.bytes = joined(&frames[..passed], in_one);
        }
        self.frames = frames;
        if read.stated.is_none() {
            self.note_remainder();
        }
        if self.is_rewritten {
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

    /// An array is closed when its answer has ended, or with an error as its last element; an element that broke off is none.
    fn keep_array_open(&mut self) {
        let Some(end) = &mut self.array_end else { return };
        let elements = self.frames.iter().rposition(|frame| !frame.is_comment).map_or(0, |last| last + 1);
        self.frames.drain(elements..).for_each(|frame| end.extend_from_slice(&frame.raw));
    }

    /// A piece of the answer could not be read, and nobody would miss it. The upstream's own bytes are passed on as they are, a
    /// frame that breaks off at the end is a stream that does, and after the end of the answer no piece of it can be missing.
    fn has_gap(&self) -> bool {
        let retold = self.is_rewritten || self.folded.is_some();
        retold && !self.ended && self.finish.is_none() && self.reader.is_garbled()
    }

    /// The client has its end as soon as the upstream said that nothing follows, whenever that closes.
    fn note_remainder(&mut self) {
        let remainder = self.reader.remainder();
        self.patience.note_remainder(remainder);
        if remainder == Remainder::Nothing && !self.is_complete {
            self.complete();
        }
    }

    /// The answer is whole: what the writer kept back is written, and its end marker.
    fn complete(&mut self) {
        self.is_complete = true;
        if let (Some(keepsake), Some(answer)) = (self.keepsake.take(), &self.folded) {
            keepsake.keep(answer.answer());
        }
        if let Some(mut writer) = self.writer.take() {
            writer.at(self.patience.now());
            writer.end(&mut self.written);
        } else if let Some(end) = self.array_end.take() {
            self.written.extend_from_slice(if end.contains(&b']') { &end } else { b"]" });
        } else if let (Some(dialect), Remainder::Counts) = (self.passed_in, self.reader.remainder()) {
            self.written.extend_from_slice(end_marker(dialect).as_bytes());
        }
    }

    /// Asks the reader whether the answer was complete.
    fn at_end(&mut self, recorder: &mut Recorder) -> Result<Option<Read>, StreamFailure> {
        if self.is_complete {
            return Ok(None);
        }
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
        self.complete();
        let bytes = self.written.split().freeze();
        Ok((!bytes.is_empty()).then(|| Read { bytes, ..Read::default() }))
    }

    /// Whether the client is told in other words than the upstream's own.
    pub(crate) fn is_rewritten(&self) -> bool {
        self.is_rewritten
    }

    /// Whether all of a good answer was handed out: nothing that comes now can change it.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// How far the client has come that was given everything so far.
    pub(crate) fn progress(&self) -> StreamProgress<'_> {
        self.writer.as_ref().map_or_else(|| self.reader.progress(), |writer| writer.progress())
    }

    /// Whether the client was told of an error in the upstream's own bytes.
    pub(crate) fn has_told(&self) -> bool {
        self.has_told
    }

    /// A client of this dialect is told in the upstream's own bytes. It waits for the end marker also where the upstream
    /// leaves that out.
    pub(crate) fn pass_in(&mut self, dialect: Dialect) {
        self.passed_in = Some(dialect);
    }

    /// From now on `client` is given a sign of life whenever it hears nothing for so long; zero, never. `id` names an answer
    /// that has no name.
    pub(crate) fn keep_alive(&mut self, client: Client, id: &str, every: Millis) {
        self.heartbeat.begin(client, id);
        self.patience.keep_alive(every);
    }

    /// Something of the answer is kept once it is whole, unless it is too large for that.
    pub(crate) fn keep(&mut self, keepsake: Keepsake) {
        self.folded = Some(Folded::new(WHOLE_BODY));
        self.keepsake = Some(keepsake);
    }

    /// The whole answer, for a client that wants a body.
    ///
    /// # Errors
    /// The stream failed, or there is more of it than a body may hold.
    pub(crate) async fn fold(&mut self, recorder: &mut Recorder) -> Result<Answer, StreamFailure> {
        self.folded = Some(Folded::new(WHOLE_BODY));
        while let Some(read) = self.next(recorder).await? {
            if let Some(error) = read.stated {
                return Err(StreamFailure::Stated(error));
            }
        }
        Ok(self.folded.take().map(Folded::into_answer).unwrap_or_default())
    }

    /// Shows an event to whoever keeps or rewrites the answer. An error is told by [`Read::stated`] instead.
    fn pass_on(&mut self, event: &Event) {
        if let Some(writer) = &mut self.writer {
            writer.push(event, &mut self.written);
            self.is_too_large |= self.writers_room.as_mut().is_some_and(|room| room.take(event).is_err());
        }
        if let (Some(folded), false) = (&mut self.folded, matches!(event, Event::Failed(_)))
            && folded.take(event).is_err()
        {
            self.is_too_large |= self.keepsake.is_none();
            (self.folded, self.keepsake) = (None, None);
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

fn garbled(error: &FramingError) -> StreamFailure {
    StreamFailure::Broken { reason: Reason::EmptyOrGarbled, message: error.to_string() }
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
        StreamFailure::Stated(error) if error.origin == ErrorOrigin::Cut => StreamFailure::Broken {
            reason: Reason::EarlyEof,
            message: "the stream ended before any content".to_owned(),
        },
        other @ (StreamFailure::Stated(_)
        | StreamFailure::Broken { .. }
        | StreamFailure::TooSlow(_)
        | StreamFailure::Overrun(_)) => other,
    }
}
