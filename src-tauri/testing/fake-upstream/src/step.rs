//! What the upstream does with one request.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::sync::Semaphore;

use crate::answer::Answer;
use crate::load::Load;

/// One step of a script (acceptance list, 0.1).
///
/// Steps that answer (`Ok`, `Answer`, `Object`, `Load`) do so in the dialect and the form, stream or whole, that the request
/// asks for. Requests that do not generate text (embeddings, counting, lists) get vectors, counts and lists instead of
/// such an answer; every other step applies to them as it stands.
#[derive(Clone, Debug)]
pub enum Step {
    /// An answer with this text.
    Ok(String),
    /// An answer in full detail.
    Answer(Answer),
    /// This object: as the input of the tool that the request forces, otherwise as text.
    Object(serde_json::Value),
    /// An HTTP error in the dialect's own shape. `code` replaces the dialect's usual word for the status.
    Error { status: u16, message: String, code: Option<String>, headers: HeaderMap },
    /// This status and body; `Content-Type: application/json` unless the headers say otherwise.
    Status { status: u16, headers: HeaderMap, body: Bytes },
    /// This status, these headers and no others except the framing, this body.
    Raw { status: u16, headers: HeaderMap, body: Bytes },
    /// The step, after which the connection takes no further requests: `connection: close`, or GOAWAY on HTTP/2.
    Last(Box<Step>),
    /// TCP reset before any byte of the head; on HTTP/2, of this stream alone.
    Reset,
    /// The request is read and never answered.
    Hang,
    /// A wait, then the step.
    Latency(Duration, Box<Step>),
    /// The step, once the gate is open.
    Held(Gate, Box<Step>),
    /// A stream that repeats this chunk: the first at once, the others every so often. `None` never ends.
    Drip { chunk: Bytes, every: Duration, count: Option<u64> },
    /// A stream of exactly these bytes, each after what stands before it; it may lack the dialect's end marker.
    Sse(Vec<(Bytes, Pause)>),
    /// The step's reply, broken off after so many bytes of its body. More than the body has: a stream breaks after
    /// its last event, without the end of its framing; a whole body lacks its last byte.
    Cut { after_bytes: usize, how: Break, step: Box<Step> },
    /// These bytes on the wire, each after what stands before it, instead of a response that HTTP made; then the connection
    /// ends like this. On HTTP/2 there is no such wire: the stream is reset.
    Wire(Vec<(Bytes, Pause)>, Break),
    /// The first step while the conversation does not end in a tool result, otherwise the second.
    ToolTurn { call: Box<Step>, result: Box<Step> },
    /// An answer made for load: rendered once, then sent again and again.
    Load(Load),
}

/// What stands before a piece of a reply. Whoever moves a clock in between wants a gate: a length of time may be over before.
#[derive(Clone, Debug, Default)]
pub enum Pause {
    #[default]
    None,
    For(Duration),
    Until(Gate),
}

impl From<Duration> for Pause {
    fn from(length: Duration) -> Pause {
        if length.is_zero() { Pause::None } else { Pause::For(length) }
    }
}

impl From<&Gate> for Pause {
    fn from(gate: &Gate) -> Pause {
        Pause::Until(gate.clone())
    }
}

impl Pause {
    pub(crate) async fn over(self) {
        match self {
            Pause::None => {}
            Pause::For(length) => tokio::time::sleep(length).await,
            Pause::Until(gate) => gate.passed().await,
        }
    }
}

/// What replies, or pieces of them, wait at until a test opens it: everything that arrives before is under way together.
/// Clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate(Arc<Semaphore>);

impl Gate {
    /// A closed one.
    pub fn closed() -> Gate {
        Gate(Arc::new(Semaphore::new(0)))
    }

    /// Lets everything through, from now on.
    pub fn open(&self) {
        self.0.close();
    }

    pub(crate) async fn passed(&self) {
        // There is never a permit: the only answer is that the gate was opened.
        drop(self.0.acquire().await);
    }
}

/// How a reply breaks off, or the connection under it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// TCP reset.
    Reset,
    /// The connection closes in good order, but the body is incomplete.
    Close,
    /// The connection stays open and silent.
    Stall,
}

impl Step {
    pub fn ok(text: impl Into<String>) -> Step {
        Step::Ok(text.into())
    }

    pub fn answer(answer: Answer) -> Step {
        Step::Answer(answer)
    }

    /// An HTTP error in the dialect's own shape.
    pub fn error(status: u16, message: impl Into<String>) -> Step {
        Step::Error { status, message: message.into(), code: None, headers: HeaderMap::new() }
    }

    /// An HTTP status with this body.
    pub fn status(status: u16, body: impl Into<Bytes>) -> Step {
        Step::Status { status, headers: HeaderMap::new(), body: body.into() }
    }

    pub fn raw(status: u16, headers: HeaderMap, body: impl Into<Bytes>) -> Step {
        Step::Raw { status, headers, body: body.into() }
    }

    /// Bytes that are no HTTP, and the end.
    pub fn garbage(bytes: impl Into<Bytes>) -> Step {
        Step::wire([bytes], Break::Close)
    }

    /// Exactly these bytes on the wire, head and framing included, without delays.
    pub fn wire<P: Into<Bytes>>(pieces: impl IntoIterator<Item = P>, then: Break) -> Step {
        Step::paced_wire(pieces.into_iter().map(|piece| (piece, Duration::ZERO)), then)
    }

    /// The same, each piece after what stands before it. An empty one puts off the end.
    pub fn paced_wire<P: Into<Bytes>, W: Into<Pause>>(pieces: impl IntoIterator<Item = (P, W)>, then: Break) -> Step {
        Step::Wire(pieces.into_iter().map(|(piece, pause)| (piece.into(), pause.into())).collect(), then)
    }

    pub fn drip(chunk: impl Into<Bytes>, every: Duration, count: impl Into<Option<u64>>) -> Step {
        Step::Drip { chunk: chunk.into(), every, count: count.into() }
    }

    /// A stream of these frames without delays. Each is sent as it is: write its line ends yourself.
    pub fn sse<F: Into<Bytes>>(frames: impl IntoIterator<Item = F>) -> Step {
        Step::paced(frames.into_iter().map(|frame| (frame, Duration::ZERO)))
    }

    /// The same, each frame after what stands before it.
    pub fn paced<F: Into<Bytes>, W: Into<Pause>>(frames: impl IntoIterator<Item = (F, W)>) -> Step {
        Step::Sse(frames.into_iter().map(|(frame, pause)| (frame.into(), pause.into())).collect())
    }

    /// A tool round trip: a call first, the answer once its result came back.
    pub fn tool_turn(call: Answer, result: Answer) -> Step {
        Step::ToolTurn { call: Box::new(Step::Answer(call)), result: Box::new(Step::Answer(result)) }
    }

    /// The step after a wait.
    #[must_use]
    pub fn after(self, wait: Duration) -> Step {
        Step::Latency(wait, Box::new(self))
    }

    /// The step once this gate is open.
    #[must_use]
    pub fn held(self, gate: &Gate) -> Step {
        Step::Held(gate.clone(), Box::new(self))
    }

    /// The step, broken off by a TCP reset.
    #[must_use]
    pub fn cut(self, after_bytes: usize) -> Step {
        self.broken(after_bytes, Break::Reset)
    }

    #[must_use]
    pub fn broken(self, after_bytes: usize, how: Break) -> Step {
        Step::Cut { after_bytes, how, step: Box::new(self) }
    }

    /// The step, as the last one of its connection.
    #[must_use]
    pub fn last(self) -> Step {
        Step::Last(Box::new(self))
    }

    /// Adds a header to an `Error`, `Status` or `Raw` step, or to the one inside a wrapping step; others stay as they
    /// are.
    ///
    /// The name and value are a test's own constants, so one that HTTP cannot carry is a panic and not an error.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a script that cannot be sent is a mistake of its author")]
    pub fn with_header(mut self, name: &'static str, value: &str) -> Step {
        match &mut self {
            Step::Error { headers, .. } | Step::Status { headers, .. } | Step::Raw { headers, .. } => {
                let value = HeaderValue::from_str(value).expect("a header value of visible characters");
                headers.append(HeaderName::from_static(name), value);
            }
            Step::Latency(_, step) | Step::Held(_, step) | Step::Last(step) | Step::Cut { step, .. } => {
                let inner = std::mem::replace(&mut **step, Step::Hang);
                **step = inner.with_header(name, value);
            }
            Step::Ok(_)
            | Step::Answer(_)
            | Step::Object(_)
            | Step::Reset
            | Step::Hang
            | Step::Drip { .. }
            | Step::Sse(_)
            | Step::Wire(..)
            | Step::ToolTurn { .. }
            | Step::Load(_) => {}
        }
        self
    }

    /// Replaces the code, Anthropic's type or Gemini's status word of an `Error` step; others stay as they are.
    #[must_use]
    pub fn with_code(mut self, word: impl Into<String>) -> Step {
        if let Step::Error { code, .. } = &mut self {
            *code = Some(word.into());
        }
        self
    }
}

impl Default for Step {
    fn default() -> Step {
        Step::Answer(Answer::default())
    }
}
