//! Reads a body to its end, into one buffer that is filled while the rest is still on its way.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use domain::{Clock, Millis};
use futures_util::{Stream, StreamExt};

use crate::deadline::Timer;

/// The most room made for a body on the word of its `Content-Length` alone, in bytes.
const RESERVED: u64 = 1024 * 1024;

/// How a body is read.
pub(crate) struct Terms<'a> {
    /// The length it announced, zero when it announced none.
    pub(crate) announced: u64,
    /// The most that is read, in bytes.
    pub(crate) limit: u64,
    /// The longest silence between two chunks.
    pub(crate) silence: Millis,
    pub(crate) clock: &'a Arc<dyn Clock>,
}

/// Why a body was not read to its end.
pub(crate) enum Unread<E> {
    Broken(E),
    /// Nothing came for too long.
    Silent,
    /// There is more than the limit; this is what came until then.
    TooLarge(Bytes),
}

/// The whole body. One that comes in one chunk is that chunk; of any other, `ahead` is shown what has come so far whenever
/// there is more of it.
pub(crate) async fn collect<E>(
    mut body: impl Stream<Item = Result<Bytes, E>> + Unpin,
    terms: Terms<'_>,
    mut ahead: impl FnMut(&[u8]),
) -> Result<Bytes, Unread<E>> {
    let mut timer = Timer::new(Arc::clone(terms.clock));
    let mut only = Bytes::new();
    let mut collected = BytesMut::new();
    loop {
        let silent_at = timer.now() + terms.silence;
        let Some(next) = timer.limit(body.next(), Some(silent_at)).await else { return Err(Unread::Silent) };
        let Some(chunk) = next else { break };
        let chunk = chunk.map_err(Unread::Broken)?;
        let so_far = only.len() + collected.len();
        if only.is_empty() && collected.is_empty() {
            only = chunk;
        } else {
            if collected.is_empty() {
                let announced = usize::try_from(terms.announced.min(terms.limit).min(RESERVED)).unwrap_or(0);
                collected.reserve(announced.max(so_far + chunk.len()));
                collected.extend_from_slice(&std::mem::take(&mut only));
            }
            collected.extend_from_slice(&chunk);
        }
        if (only.len() + collected.len()) as u64 > terms.limit {
            return Err(Unread::TooLarge(whole(only, collected)));
        }
        if !collected.is_empty() {
            ahead(&collected);
        }
    }
    Ok(whole(only, collected))
}

fn whole(only: Bytes, collected: BytesMut) -> Bytes {
    if collected.is_empty() { only } else { collected.freeze() }
}
