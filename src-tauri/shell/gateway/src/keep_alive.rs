//! Signs of life before the first content (gateway specification, 1.9).
//!
//! Some clients give up when a stream stays silent, long before a slow model has read its prompt. Past a limit the
//! reply therefore begins with status 200 and keep-alives, while behind it the attempts go on: that is no commit.
//! Failover continues; only a final failure can no longer be a status and becomes an event in the stream.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::{Body, BodyDataStream};
use axum::response::Response;
use bytes::Bytes;
use dialects::StreamProgress;
use dialects::error::ErrorBody;
use domain::wire::code;
use domain::{Dialect, Millis};
use futures_util::StreamExt;
use http::HeaderValue;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::response::Parts;
use settings::gateway::KeepAliveAfter;

use crate::error::GatewayError;
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::response_headers;

/// The most of an error reply that is read to be told in-band.
const ERROR_BODY: usize = 64 * 1024;
const SHORTEST_INTERVAL: Millis = Millis::new(250);

/// The reply to a request, still being made.
pub(crate) type Answer = Pin<Box<dyn Future<Output = Response> + Send>>;

/// The answer itself if it comes in time, else a stream that stays alive until it does.
pub(crate) async fn accompany(gateway: &Gateway, request: &Arc<ClientRequest>, mut answer: Answer) -> Response {
    let after = keep_alive_after(&gateway.settings().gateway.keep_alive_after, request.dialect());
    if after.is_zero() || is_array(request) {
        return answer.await;
    }
    tokio::select! {
        biased;
        response = &mut answer => response,
        () = gateway.clock().sleep_until(request.arrived + after) => {
            let interval = gateway.settings().gateway.keep_alive_interval.max(SHORTEST_INTERVAL);
            begin(gateway, request, answer, interval)
        }
    }
}

fn keep_alive_after(after: &KeepAliveAfter, dialect: Dialect) -> Millis {
    match dialect {
        Dialect::Chat => after.chat,
        Dialect::Responses => after.responses,
        Dialect::Messages => after.messages,
        Dialect::Gemini => after.gemini,
    }
}

/// A JSON array has no place for a sign of life that every parser takes.
fn is_array(request: &ClientRequest) -> bool {
    request.dialect() == Dialect::Gemini && !request.gemini_sse
}

fn begin(gateway: &Gateway, request: &Arc<ClientRequest>, answer: Answer, interval: Millis) -> Response {
    let state = Waiting {
        gateway: gateway.clone(),
        request: Arc::clone(request),
        phase: Phase::Waiting(answer),
        interval,
        first: true,
    };
    let body = Body::from_stream(futures_util::stream::unfold(state, |mut state| async move {
        let bytes = state.next().await?;
        Some((Ok::<_, Infallible>(bytes), state))
    }));
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(request.client.stream_type()));
    response_headers::for_stream(headers);
    response_headers::identify(headers, gateway.version(), request.id.as_str());
    response
}

struct Waiting {
    gateway: Gateway,
    request: Arc<ClientRequest>,
    phase: Phase,
    interval: Millis,
    first: bool,
}

enum Phase {
    Waiting(Answer),
    Relaying(BodyDataStream),
    Telling(VecDeque<Bytes>),
}

impl Waiting {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            match &mut self.phase {
                Phase::Waiting(answer) => {
                    if std::mem::replace(&mut self.first, false) {
                        return Some(self.sign_of_life());
                    }
                    let next_sign = self.gateway.now() + self.interval;
                    let response = tokio::select! {
                        biased;
                        response = answer => response,
                        () = self.gateway.clock().sleep_until(next_sign) => return Some(self.sign_of_life()),
                    };
                    self.phase = after(Arc::clone(&self.request), response).await;
                }
                Phase::Relaying(body) => return body.next().await?.ok(),
                Phase::Telling(left) => return left.pop_front(),
            }
        }
    }

    fn sign_of_life(&self) -> Bytes {
        let request = &self.request;
        request.client.keep_alive(request.id.as_str(), request.requested_model(), self.gateway.now())
    }
}

async fn after(request: Arc<ClientRequest>, response: Response) -> Phase {
    let is_stream = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|media| media == request.client.stream_type() || media.starts_with("text/event-stream"));
    let (head, body) = response.into_parts();
    if head.status.is_success() && is_stream {
        return Phase::Relaying(body.into_data_stream());
    }
    let body = axum::body::to_bytes(body, ERROR_BODY).await.unwrap_or_default();
    Phase::Telling(VecDeque::from([told(&request, &head, &body)]))
}

/// A final reply that is no stream, as an event in the client's dialect: all that stood in it, and the wait that its head names.
fn told(request: &ClientRequest, head: &Parts, body: &[u8]) -> Bytes {
    let progress = progress(request);
    if let Some(error) = head.extensions.get::<GatewayError>() {
        return request.client.write_stream_error(&error.as_error_body(&request.id), progress);
    }
    let status = if head.status.is_success() { 502 } else { head.status.as_u16() };
    let wait = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    if let Some(event) = request.client.pass_stream_error(status, body, wait, progress) {
        return event;
    }
    let error = dialects::error::read(status, body);
    let code = error.code.as_deref().unwrap_or_else(|| code::of_status(status));
    let body = ErrorBody {
        retry_after_seconds: wait,
        request_id: Some(request.id.as_str()),
        ..ErrorBody::new(status, code, &error.message)
    };
    request.client.write_stream_error(&body, progress)
}

/// Only signs of life were sent. A Responses client knows of failed answers alone (1.9), so there is one, of the request's name:
/// it is announced with its failure (1.8).
fn progress(request: &ClientRequest) -> StreamProgress<'_> {
    StreamProgress::Opened {
        response_id: request.id.as_str(),
        model: request.requested_model(),
        created_at: request.arrived.as_millis() / 1_000,
        sequence_number: 0,
    }
}
