//! Stages 9 to 11: status, headers and the first content go out; frames flow; the attempt is settled exactly once.
//!
//! From here nothing is repeated. A stream that breaks ends with a typed error event in the client's dialect, so that a
//! short answer is never mistaken for a complete one. There is no channel between the upstream and the client: a slow
//! client slows the upstream, and a client that leaves drops everything.

use std::collections::VecDeque;
use std::convert::Infallible;

use axum::body::Body;
use bytes::Bytes;
use dialects::error::ErrorBody;
use dialects::{Client, StreamProgress, UpstreamError};
use domain::request_log::RequestOutcome;
use domain::wire::code;
use domain::{Millis, Outcome, RequestId, Success};
use resilience::LocalLimit;
use resilience::failure::Diagnosis;

use crate::attempt::Attempt;
use crate::hold::{StreamFailure, UpstreamStream};
use crate::judge::{EXECUTION_TIMEOUT, Judge, kind, overrun_message};
use crate::record::{End, Recorder};

/// A committed stream on its way to the client.
pub(crate) struct Relay {
    stream: UpstreamStream,
    held: VecDeque<Bytes>,
    recorder: Box<Recorder>,
    attempt: Option<Attempt>,
    client: Client,
    /// Frames are elements of one JSON array: an error is its last.
    array: bool,
    request: RequestId,
    status: u16,
    /// The client reads an error between the chunks of its answer.
    reads_errors: bool,
    judge: Judge,
}

/// What a relay needs to know of the request.
pub(crate) struct Destination {
    pub(crate) client: Client,
    pub(crate) array: bool,
    pub(crate) request: RequestId,
    pub(crate) status: u16,
    /// The client reads an error between the chunks of its answer ([`reads_errors_in_stream`]).
    pub(crate) reads_errors: bool,
    /// How long the client is left without a word; zero, for ever.
    pub(crate) heartbeat: Millis,
    pub(crate) judge: Judge,
}

/// Libraries that raise an error which comes between the chunks of a Chat answer. Others end quietly at a close without
/// `[DONE]`, and some fail on a chunk that is none (gateway specification, 1.9).
const READ_ERRORS: [&str; 4] = ["openai/", "ai-sdk/", "litellm/", "opencode/"];

/// Whether a client of this `User-Agent` reads errors in a stream.
pub(crate) fn reads_errors_in_stream(user_agent: &str) -> bool {
    let agent = user_agent.to_ascii_lowercase();
    READ_ERRORS.iter().any(|name| agent.contains(name))
}

impl Relay {
    pub(crate) fn new(
        mut stream: UpstreamStream,
        held: Vec<Bytes>,
        recorder: Box<Recorder>,
        attempt: Attempt,
        destination: Destination,
    ) -> Self {
        // A JSON array has no place for a sign of life that every parser takes.
        let heartbeat = if destination.array { Millis::ZERO } else { destination.heartbeat };
        stream.keep_alive(destination.client, destination.request.as_str(), heartbeat);
        Relay {
            stream,
            held: held.into(),
            recorder,
            attempt: Some(attempt),
            client: destination.client,
            array: destination.array,
            request: destination.request,
            status: destination.status,
            reads_errors: destination.reads_errors,
            judge: destination.judge,
        }
    }

    /// An upstream's error comes after the held frames, or is told by them, and nothing follows it.
    pub(crate) fn fail_after_held(&mut self, error: UpstreamError) {
        let is_told = self.stream.has_told();
        // It stands in the place of what the upstream had sent there.
        self.reads_errors |= !self.stream.is_rewritten();
        let failure = StreamFailure::Stated(error);
        let end = self.fail(&failure);
        if !is_told {
            self.held.push_back(self.error_event(&end));
        } else if self.array {
            self.held.push_back(Bytes::from_static(b"]"));
        }
    }

    /// The body of the client's reply.
    pub(crate) fn into_body(self) -> Body {
        Body::from_stream(futures_util::stream::unfold(Box::new(self), |mut relay| async move {
            let bytes = relay.next().await?;
            Some((Ok::<_, Infallible>(bytes), relay))
        }))
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let bytes = self.next_piece().await?;
            if !bytes.is_empty() {
                return Some(bytes);
            }
        }
    }

    async fn next_piece(&mut self) -> Option<Bytes> {
        if let Some(held) = self.held.pop_front() {
            self.note_end();
            return Some(held);
        }
        if self.stream.is_complete() {
            self.note_end();
            return self.stream.linger().await;
        }
        self.attempt.as_ref()?;
        match self.stream.next(&mut self.recorder).await {
            Ok(Some(mut read)) => {
                if let Some(error) = read.stated.take() {
                    self.fail_after_held(error);
                }
                self.note_end();
                Some(read.bytes)
            }
            Ok(None) => {
                self.succeed();
                None
            }
            Err(failure) => {
                let end = self.fail(&failure);
                Some(self.error_event(&end))
            }
        }
    }

    /// The attempt has succeeded with the last of its answer, whenever its upstream closes and whether the client waits for
    /// that.
    fn note_end(&mut self) {
        if self.held.is_empty() && self.stream.is_complete() {
            self.succeed();
        }
    }

    fn succeed(&mut self) {
        let Some(attempt) = self.attempt.take() else { return };
        attempt.settle(&Outcome::Success(Success { usage: *self.recorder.usage() }));
        self.recorder.finish(&End {
            status: self.status,
            outcome: RequestOutcome::Success,
            error_code: None,
            error_summary: None,
        });
    }

    /// Settles as failed; returns what the client is told.
    fn fail<'f>(&mut self, failure: &'f StreamFailure) -> BadEnd<'f> {
        let mut diagnosis = self.judge.stream(failure);
        if let Outcome::Failure(failure) = &mut diagnosis.outcome {
            failure.after_output = true;
        }
        let (kind, message) = describe(&diagnosis, failure);
        let (status, code) = status_and_code(&diagnosis, failure);
        let Some(attempt) = self.attempt.take() else { return BadEnd { status, code, message } };
        attempt.settle(&diagnosis.outcome);
        self.recorder.end_attempt(kind, "stop", Some(&message));
        self.recorder.finish(&End {
            status: self.status,
            outcome: RequestOutcome::Failure,
            error_code: Some(own_code(failure).unwrap_or(kind)),
            error_summary: Some(&message),
        });
        BadEnd { status, code, message }
    }

    /// The error as the last element of the array, and its end.
    fn last_element(&self, error: &[u8]) -> Bytes {
        let has_elements = !self.stream.is_rewritten() || self.stream.progress() != StreamProgress::NothingSent;
        let before: &[u8] = if has_elements { b",\r\n" } else { b"[" };
        Bytes::from([before, error, b"]"].concat())
    }

    fn error_event(&self, end: &BadEnd<'_>) -> Bytes {
        let body =
            ErrorBody { request_id: Some(self.request.as_str()), ..ErrorBody::new(end.status, end.code, &end.message) };
        if self.array {
            return self.last_element(&self.client.write_error(&body));
        }
        let progress = match self.stream.progress() {
            StreamProgress::ContentSent if self.reads_errors => StreamProgress::NothingSent,
            progress => progress,
        };
        self.client.write_stream_error(&body, progress)
    }
}

/// How a client is told of the end.
struct BadEnd<'f> {
    status: u16,
    /// Empty: the usual one of the status.
    code: &'f str,
    message: String,
}

/// The limit of our own that ends a stream.
const OVERRUN: LocalLimit = LocalLimit::ExecutionTimeout;

/// The code of an end that this gateway made.
fn own_code(failure: &StreamFailure) -> Option<&'static str> {
    match failure {
        StreamFailure::Overrun(_) => Some(OVERRUN.code()),
        StreamFailure::TooSlow(_) => Some(code::STREAM_THROUGHPUT_TOO_LOW),
        StreamFailure::Stated(_) | StreamFailure::Broken { .. } => None,
    }
}

/// What an upstream states keeps its status and its code; where the status had to be repaired, the code was of the
/// wrong one. A fault of the credential is not the client's (specification's decision 3), and what merely broke has no
/// status of its own.
fn status_and_code<'f>(diagnosis: &Diagnosis, failure: &'f StreamFailure) -> (u16, &'f str) {
    const BROKEN: u16 = 502;
    match failure {
        StreamFailure::Overrun(_) => (OVERRUN.status(), OVERRUN.code()),
        StreamFailure::TooSlow(_) => (BROKEN, code::STREAM_THROUGHPUT_TOO_LOW),
        StreamFailure::Broken { .. } => (BROKEN, ""),
        StreamFailure::Stated(error) => match diagnosis.status {
            Some(401 | 403) => (BROKEN, code::UPSTREAM_AUTH_FAILED),
            Some(status) if error.status.is_some_and(|stated| stated != status) => (status, ""),
            status => (status.unwrap_or(BROKEN), error.code_for_others()),
        },
    }
}

fn describe(diagnosis: &Diagnosis, failure: &StreamFailure) -> (&'static str, String) {
    let message = match failure {
        StreamFailure::Stated(error) => error.message.clone(),
        StreamFailure::Broken { message, .. } => format!("the upstream's stream broke: {message}"),
        StreamFailure::TooSlow(message) => message.clone(),
        StreamFailure::Overrun(limit) => overrun_message(*limit),
    };
    let word = if matches!(failure, StreamFailure::Overrun(_)) { EXECUTION_TIMEOUT } else { kind(diagnosis) };
    (word, message)
}
