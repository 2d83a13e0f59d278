//! What a request and its answer said, kept where the gateway's owner switched that on (gateway specification, 5.6).
//!
//! It is taken down at the very edge, as the client wrote and read it, so that it is the same story whatever happened in
//! between: who was asked, in which dialect, how often. Nothing waits for it: a stream passes as it comes, and what was
//! collected is put together, redacted and written by a task of its own, after the last byte or when the client has gone.

use std::sync::Arc;

use axum::body::{Body, HttpBody};
use axum::response::Response;
use bytes::Bytes;
use dialects::canonical::{Answer, IdMap};
use dialects::client::Times;
use dialects::kept_body::{MOST_READ, kept_body};
use dialects::translate::Reply;
use dialects::{Client, Decoder, Framing};
use domain::Timestamp;
use domain::request_log::KeptBodies;
use futures_util::StreamExt;
use http::header::CONTENT_TYPE;

use crate::events::Topic;
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;

/// Writes itself when it is dropped.
pub(crate) struct Transcript {
    gateway: Gateway,
    request: Arc<ClientRequest>,
    /// The answer so far, up to [`MOST_READ`] bytes; none, it has not begun.
    taken: Option<Vec<u8>>,
    is_stream: bool,
}

impl Transcript {
    /// One for this request, where bodies are kept.
    pub(crate) fn begin(gateway: &Gateway, request: &Arc<ClientRequest>) -> Option<Transcript> {
        gateway.settings().logging.detailed.then(|| Transcript {
            gateway: gateway.clone(),
            request: Arc::clone(request),
            taken: None,
            is_stream: false,
        })
    }

    /// Takes the answer down while it passes.
    pub(crate) async fn follow(mut self, response: Response) -> Response {
        let (head, body) = response.into_parts();
        let media = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        self.is_stream = media.starts_with("text/event-stream");
        if body.size_hint().exact().is_some() {
            // In memory already: its length stays its length.
            let whole = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
            self.take(&whole);
            return Response::from_parts(head, Body::from(whole));
        }
        let passing = (body.into_data_stream(), self);
        let body = Body::from_stream(futures_util::stream::unfold(passing, |(mut body, mut transcript)| async move {
            let piece = body.next().await?;
            if let Ok(bytes) = &piece {
                transcript.take(bytes);
            }
            Some((piece, (body, transcript)))
        }));
        Response::from_parts(head, body)
    }

    fn take(&mut self, bytes: &Bytes) {
        let taken = self.taken.get_or_insert_default();
        let room = MOST_READ.saturating_sub(taken.len());
        taken.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

impl Drop for Transcript {
    fn drop(&mut self) {
        let store = self.gateway.store().clone();
        let Some(room) = store.room_for_bodies() else {
            tracing::warn!(request = %self.request.id.as_str(), "too many bodies wait to be written: one is left out");
            return;
        };
        let (request, taken, is_stream) = (Arc::clone(&self.request), self.taken.take(), self.is_stream);
        let (gateway, now) = (self.gateway.clone(), self.gateway.now());
        self.gateway.tracker().spawn_blocking(move || {
            let response = taken.map(|taken| match is_stream.then(|| assembled(&request, &taken, now)).flatten() {
                Some(whole) => kept_body(&whole),
                None => kept_body(&taken),
            });
            let bodies = KeptBodies { request: Some(kept_body(&request.body)), response };
            if let Err(error) = store.keep_bodies(&request.id, request.arrived, &bodies) {
                tracing::warn!(error = &error as &dyn std::error::Error, "the bodies of a request could not be kept");
            }
            // Whoever looks at the request sees them at once.
            gateway.announce(&[Topic::Requests]);
            drop(room);
        });
    }
}

/// The answer that a stream told, as the whole answer it would have been; none, it broke off or told of a failure.
fn assembled(request: &ClientRequest, taken: &[u8], now: Timestamp) -> Option<Bytes> {
    let Client::Shared(dialect) = request.client else { return None };
    let (mut decoder, mut reader) = (Decoder::new(Framing::Sse, MOST_READ), dialects::reader(dialect));
    let (mut frames, mut events) = (Vec::new(), Vec::new());
    decoder.push(Bytes::copy_from_slice(taken), &mut frames).ok()?;
    decoder.finish(&mut frames);
    frames.iter().for_each(|frame| reader.push(frame, &mut events));
    reader.end(&mut events);
    let answer = Answer::fold(events).ok()?;
    let reply = Reply {
        id: request.id.as_str().to_owned(),
        model: request.requested_model().to_owned(),
        created: now.as_millis() / 1_000,
        wants_usage_chunk: false,
        estimated_input: 1,
        ids: IdMap::default(),
    };
    Some(request.client.write_answer(&answer, &reply, Times { arrived: request.arrived, now }))
}
