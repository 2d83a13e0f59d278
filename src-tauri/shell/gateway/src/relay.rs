//! Stages 9 to 11: status, headers and the first content go out; frames flow; the attempt is settled exactly once.
//!
//! From here nothing is repeated. A stream that breaks ends with a typed error event in the client's dialect, so that a
//! short answer is never mistaken for a complete one. There is no channel between the upstream and the client: a slow
//! client slows the upstream, and a client that leaves drops everything.

use std::collections::VecDeque;
use std::convert::Infallible;

use axum::body::Body;
use bytes::Bytes;
use dialects::UpstreamError;
use dialects::error::{EMPTY_OR_GARBLED, ErrorBody, STREAM_CUT};
use domain::request_log::RequestOutcome;
use domain::wire::code;
use domain::{Dialect, Outcome, Reason, RequestId, Success, Timestamp};
use resilience::failure::{Diagnosis, Reply};

use crate::attempt::Attempt;
use crate::hold::{StreamFailure, UpstreamStream};
use crate::record::{End, Recorder};

/// A committed stream on its way to the client.
pub(crate) struct Relay {
    stream: UpstreamStream,
    held: VecDeque<Bytes>,
    recorder: Recorder,
    attempt: Option<Attempt>,
    dialect: Dialect,
    /// Frames are elements of one JSON array: an error event would not be JSON.
    array: bool,
    request: RequestId,
    status: u16,
    /// The upstream already told the client what went wrong.
    told: bool,
    now: Box<dyn Fn() -> Timestamp + Send>,
}

/// What a relay needs to know of the request.
pub(crate) struct Destination {
    pub(crate) dialect: Dialect,
    pub(crate) array: bool,
    pub(crate) request: RequestId,
    pub(crate) status: u16,
    pub(crate) now: Box<dyn Fn() -> Timestamp + Send>,
}

impl Relay {
    pub(crate) fn new(
        stream: UpstreamStream,
        held: Vec<Bytes>,
        recorder: Recorder,
        attempt: Attempt,
        destination: Destination,
    ) -> Self {
        Relay {
            stream,
            held: held.into(),
            recorder,
            attempt: Some(attempt),
            dialect: destination.dialect,
            array: destination.array,
            request: destination.request,
            status: destination.status,
            told: false,
            now: destination.now,
        }
    }

    /// The held frames tell the client of an error themselves, and nothing follows them.
    pub(crate) fn fail_after_held(&mut self, error: UpstreamError) {
        self.told = true;
        self.fail(&StreamFailure::Stated(error));
    }

    /// The body of the client's reply.
    pub(crate) fn into_body(self) -> Body {
        Body::from_stream(futures_util::stream::unfold(self, |mut relay| async move {
            let bytes = relay.next().await?;
            Some((Ok::<_, Infallible>(bytes), relay))
        }))
    }

    async fn next(&mut self) -> Option<Bytes> {
        if let Some(held) = self.held.pop_front() {
            return Some(held);
        }
        self.attempt.as_ref()?;
        match self.stream.next(&mut self.recorder).await {
            Ok(Some(read)) => {
                self.told |= read.stated.is_some();
                if let Some(error) = read.stated {
                    self.fail(&StreamFailure::Stated(error));
                }
                Some(read.bytes)
            }
            Ok(None) => {
                self.succeed();
                None
            }
            Err(failure) => {
                let told = self.told;
                let message = self.fail(&failure);
                if told || self.array { None } else { Some(self.error_event(&message)) }
            }
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

    /// Settles as failed; returns the message for the client.
    fn fail(&mut self, failure: &StreamFailure) -> String {
        let diagnosis = diagnose(failure, (self.now)());
        let (kind, message) = describe(&diagnosis, failure);
        let Some(attempt) = self.attempt.take() else { return message };
        attempt.settle(&diagnosis.outcome);
        self.recorder.end_attempt(kind, "stop", Some(&message));
        self.recorder.finish(&End {
            status: self.status,
            outcome: RequestOutcome::Failure,
            error_code: Some(kind),
            error_summary: Some(&message),
        });
        message
    }

    fn error_event(&self, message: &str) -> Bytes {
        let body = ErrorBody {
            status: 502,
            code: code::BAD_GATEWAY,
            message,
            retry_after_seconds: None,
            request_id: Some(self.request.as_str()),
            diagnostics: None,
        };
        dialects::error::write_stream(self.dialect, &body, self.stream.reader.progress())
    }
}

/// The verdict over a broken stream.
pub(crate) fn diagnose(failure: &StreamFailure, context: &Context<'_>, now: Timestamp) -> Diagnosis {
    match failure {
        StreamFailure::Stated(error) => {
            let reply = match error.code.as_deref() {
                Some(STREAM_CUT) => Reply::Transport { reason: Reason::StreamCut, message: &error.message },
                Some(EMPTY_OR_GARBLED) => Reply::Transport { reason: Reason::EmptyOrGarbled, message: &error.message },
                code => Reply::Http {
                    status: error.status.unwrap_or(502),
                    headers: &HeaderMap::new(),
                    body: "",
                    message: &error.message,
                    code,
                    kind: error.kind.as_deref(),
                },
            };
            resilience::failure::diagnose(&reply, context, now)
        }
        StreamFailure::Broken { reason, message } => {
            resilience::failure::diagnose(&Reply::Transport { reason: *reason, message }, context, now)
        }
    }
}

fn describe(diagnosis: &Diagnosis, failure: &StreamFailure) -> (&'static str, String) {
    let kind = match &diagnosis.outcome {
        Outcome::Failure(failure) => failure.reason.kind(),
        Outcome::Neutral(_) => Reason::InvalidRequest.kind(),
        Outcome::Success(_) => "success",
    };
    let message = match failure {
        StreamFailure::Stated(error) => error.message.clone(),
        StreamFailure::Broken { message, .. } => format!("the upstream's stream broke: {message}"),
    };
    (kind, message)
}
