//! Bodies of requests that come compressed.
//!
//! A few bytes may become the largest body there is, so what is decompressed is, but for the shortest, decompressed aside.

use std::io;

use async_compression::tokio::bufread::{GzipDecoder, ZstdDecoder};
use bytes::Bytes;
use futures_util::FutureExt;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use tokio::io::AsyncReadExt;
use tokio_util::io::StreamReader;
use tokio_util::task::TaskTracker;

use crate::aside;
use crate::error::GatewayError;
use crate::ingress::unsupported;

/// The `Content-Encoding` of a body that is not compressed.
pub(crate) const NONE: &str = "identity";

/// What a body is compressed with.
#[derive(Clone, Copy)]
enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    /// How many times as long as it came a body may become, at the very most: two bits for 258 bytes, or four bytes for a block
    /// of 128 KiB.
    const fn ratio(self) -> usize {
        match self {
            Compression::Gzip => 1_032,
            Compression::Zstd => 32 * 1024,
        }
    }
}

/// What a request says its body is compressed with.
pub(crate) fn stated(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or(NONE).trim()
}

/// Undoes a `Content-Encoding`, with the size limit applied to what comes out.
pub(crate) async fn decompress(
    tracker: &TaskTracker,
    encoding: &str,
    raw: Bytes,
    limit: u64,
) -> Result<Bytes, GatewayError> {
    let compression = if encoding.eq_ignore_ascii_case("gzip") {
        Compression::Gzip
    } else if encoding.eq_ignore_ascii_case("zstd") {
        Compression::Zstd
    } else {
        return Err(unsupported("this Content-Encoding is not understood: send gzip, zstd or no encoding"));
    };
    let length = raw.len().saturating_mul(compression.ratio()).min(usize::try_from(limit).unwrap_or(usize::MAX));
    let out = aside::compute(tracker, length, move || decompressed(compression, raw, limit)).await;
    let out = out.map_err(|_| GatewayError::bad_request("the request body does not match its Content-Encoding"))?;
    if out.len() as u64 > limit { Err(GatewayError::too_large(limit)) } else { Ok(Bytes::from(out)) }
}

/// What was compressed, and no more of it than one byte beyond the limit.
fn decompressed(compression: Compression, raw: Bytes, limit: u64) -> io::Result<Vec<u8>> {
    let reader = StreamReader::new(futures_util::stream::iter([Ok::<_, io::Error>(raw)]));
    let most = limit.saturating_add(1);
    let reading = async {
        let mut out = Vec::new();
        match compression {
            Compression::Gzip => GzipDecoder::new(reader).take(most).read_to_end(&mut out).await?,
            Compression::Zstd => ZstdDecoder::new(reader).take(most).read_to_end(&mut out).await?,
        };
        Ok(out)
    };
    // All of it is here: nothing is waited for.
    reading.now_or_never().unwrap_or_else(|| Err(io::ErrorKind::WouldBlock.into()))
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use async_compression::tokio::write::{GzipEncoder, ZstdEncoder};
    use http::StatusCode;
    use tokio::io::AsyncWriteExt;

    use super::*;

    async fn compressed(encoding: &str, plain: &[u8]) -> Bytes {
        let mut out = Vec::new();
        if encoding == "gzip" {
            let mut encoder = GzipEncoder::new(&mut out);
            encoder.write_all(plain).await.expect("written");
            encoder.shutdown().await.expect("finished");
        } else {
            let mut encoder = ZstdEncoder::new(&mut out);
            encoder.write_all(plain).await.expect("written");
            encoder.shutdown().await.expect("finished");
        }
        out.into()
    }

    /// Text that does not get much shorter.
    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn what_may_become_long_is_decompressed_aside_and_comes_out_as_it_was() {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.max_blocking_threads(1).build().expect("a runtime");
        let tracker = TaskTracker::new();
        runtime.block_on(async {
            for (encoding, few) in [("gzip", false), ("zstd", true)] {
                for (plain, limit, is_aside) in [
                    (noise(100), 4_000_000, few),
                    (noise(100), 200_000, false),
                    (vec![b' '; 4_000_000], 4_000_000, true),
                    (noise(300_000), 4_000_000, true),
                ] {
                    let raw = compressed(encoding, &plain).await;
                    // While the only thread aside is busy, nothing is done there.
                    let (free, busy) = std::sync::mpsc::channel::<()>();
                    let held_up = tracker.spawn_blocking(move || busy.recv());
                    let mut work = Box::pin(decompress(&tracker, encoding, raw, limit));
                    let at_once = futures_util::poll!(&mut work);
                    drop(free);
                    assert_eq!(at_once.is_pending(), is_aside, "{encoding}, {}", plain.len());
                    let out = match at_once {
                        Poll::Ready(out) => out,
                        Poll::Pending => work.await,
                    };
                    assert!(out.is_ok_and(|out| out == plain), "{encoding}, {}", plain.len());
                    assert!(held_up.await.is_ok_and(|word| word.is_err()), "nobody sent a word");
                }
            }
        });
    }

    #[tokio::test]
    async fn what_does_not_fit_or_is_not_compressed_is_refused() {
        let tracker = TaskTracker::new();
        let raw = compressed("gzip", &vec![b' '; 4_000_000]).await;
        for (encoding, raw, limit, status) in [
            ("gzip", raw.clone(), 3_999_999, StatusCode::PAYLOAD_TOO_LARGE),
            ("zstd", raw.clone(), 4_000_000, StatusCode::BAD_REQUEST),
            ("gzip", raw.slice(..raw.len() / 2), 4_000_000, StatusCode::BAD_REQUEST),
            ("br", raw, 4_000_000, StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ] {
            let refused = decompress(&tracker, encoding, raw, limit).await.map_err(|error| error.status);
            assert_eq!(refused.err(), Some(status), "{encoding}");
        }
    }
}
