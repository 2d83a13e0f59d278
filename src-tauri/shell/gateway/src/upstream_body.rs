//! Bodies of upstreams that are no streams, read whole and within bounds.

use bytes::Bytes;
use domain::{Millis, Reason};
use futures_util::Stream;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use upstream::TransportError;

use crate::gateway::Gateway;
use crate::hold::StreamFailure;
use crate::whole_body::{self, Terms, Unread};

/// The most of an error body that is read.
const ERROR_BODY: u64 = 16 * 1024;
/// How long an error body is read: its status and headers have said what matters to whoever is asked next.
const ERROR_BODY_TIME: Millis = Millis::seconds(5);
/// The largest whole answer in bytes, whether it came as a body or is put together; a larger one is an upstream gone wrong.
pub(crate) const WHOLE_BODY: u64 = 256 * 1024 * 1024;

/// A whole answer.
pub(crate) async fn collect(
    gateway: &Gateway,
    headers: &HeaderMap,
    body: impl Stream<Item = Result<Bytes, TransportError>> + Unpin,
) -> Result<Bytes, StreamFailure> {
    let idle = gateway.settings().network.stream_idle_timeout;
    let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok()).unwrap_or(0);
    let terms = Terms { announced, limit: WHOLE_BODY, silence: idle, clock: gateway.clock() };
    whole_body::collect(body, terms, |_| {}).await.map_err(|unread| match unread {
        Unread::Broken(error) => StreamFailure::Broken { reason: error.reason(), message: error.to_string() },
        Unread::Silent => {
            let message = format!("nothing came for {idle}");
            StreamFailure::Broken { reason: Reason::StreamIdleTimeout, message }
        }
        Unread::TooLarge(_) => too_large(),
    })
}

/// An answer beyond [`WHOLE_BODY`].
pub(crate) fn too_large() -> StreamFailure {
    let message = format!("the answer is larger than {WHOLE_BODY} bytes");
    StreamFailure::Broken { reason: Reason::EmptyOrGarbled, message }
}

/// The beginning of an error body; nothing when it broke off, or did not arrive in time.
pub(crate) async fn error_body(gateway: &Gateway, body: upstream::Body) -> Bytes {
    let idle = gateway.settings().network.stream_idle_timeout;
    let terms = Terms { announced: 0, limit: ERROR_BODY, silence: idle, clock: gateway.clock() };
    let late = gateway.clock().sleep_until(gateway.now() + ERROR_BODY_TIME);
    tokio::select! {
        biased;
        read = whole_body::collect(body, terms, |_| {}) => match read {
            Ok(body) | Err(Unread::TooLarge(body)) => body,
            Err(Unread::Broken(_) | Unread::Silent) => Bytes::new(),
        },
        () = late => Bytes::new(),
    }
}
