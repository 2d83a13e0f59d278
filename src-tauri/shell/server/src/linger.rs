//! Reading on after a refusal.
//!
//! A request may be refused before its body has come: a wrong key, an unknown path, too many bytes. Were the connection
//! closed then, the client, which is still sending, would see a broken connection and never the refusal. So what is left
//! of the body is read and forgotten first, up to a limit, and as long as it keeps coming.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use domain::{Clock, Millis};
use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use parking_lot::Mutex;

/// The most that is read on, in bytes: a body four times as large as the largest that is served.
const MOST: u64 = 256 * 1024 * 1024;
/// Who sends nothing for so long is not heard any longer.
const SILENCE: Millis = Millis::seconds(1);

/// A body on loan: when it is let go before its end, the lender has it back.
pub(crate) struct Lent {
    body: Option<Incoming>,
    back: Rest,
}

/// Where a body that was not read to its end turns up.
#[derive(Clone, Default)]
pub(crate) struct Rest(Arc<Mutex<Option<Incoming>>>);

impl Rest {
    /// `body`, which comes back here.
    pub(crate) fn lend(&self, body: Incoming) -> Lent {
        Lent { body: Some(body), back: self.clone() }
    }

    /// Reads and forgets what came back.
    pub(crate) async fn forget(&self, clock: &dyn Clock) {
        let Some(mut body) = self.0.lock().take() else { return };
        let mut read = 0;
        while read < MOST {
            let next = tokio::select! {
                biased;
                next = body.frame() => next,
                () = clock.sleep_until(clock.now() + SILENCE) => return,
            };
            let Some(Ok(frame)) = next else { return };
            read += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
    }
}

impl Body for Lent {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) {
            *self.back.0.lock() = Some(body);
        }
    }
}
