//! One TCP connection: HTTP while it lasts, and the ways to end that HTTP does not know.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioIo};
use parking_lot::Mutex;
use socket2::SockRef;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::task::TaskTracker;

use crate::body::ReplyBody;
use crate::serve::serve;
use crate::server::Shared;
use crate::step::{Break, Pause};

const MAX_CONNECTIONS: usize = 20_000;
/// The pause after a failed accept, which mostly means that file descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// How a connection ends once HTTP lets go of it.
#[derive(Debug)]
pub(crate) enum Fate {
    /// Close in good order.
    Close,
    /// TCP reset.
    Reset,
    /// These bytes, each after what stands before it, then this end.
    Wire(Vec<(Bytes, Pause)>, Break),
}

/// Where a request leaves word about its connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct FateSlot {
    fate: Arc<Mutex<Option<Fate>>>,
    last: Arc<Notify>,
}

impl FateSlot {
    /// How the connection ends when HTTP lets go of it.
    pub(crate) fn set(&self, fate: Fate) {
        *self.fate.lock() = Some(fate);
    }

    /// The connection takes no request after this one.
    pub(crate) fn is_last(&self) {
        self.last.notify_one();
    }
}

/// The script breaks the connection: hyper drops it on this error, and its fate takes over.
#[derive(Debug, thiserror::Error)]
#[error("the script breaks the connection")]
pub(crate) struct Broken;

pub(crate) async fn accept(listener: TcpListener, shared: Arc<Shared>, tracker: TaskTracker) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let next = async {
            let place = places.clone().acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            () = shared.stopping.cancelled() => return,
            next = next => next,
        };
        match accepted {
            Ok((stream, peer)) => {
                let shared = shared.clone();
                let open = shared.open.clone();
                tracker.spawn(async move {
                    converse(stream, peer, shared).await;
                    drop((open, place));
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn converse(stream: TcpStream, peer: SocketAddr, shared: Arc<Shared>) {
    // An unusual socket that refuses the option still serves.
    drop(stream.set_nodelay(true));
    let Some(config) = shared.tls.clone() else { return converse_in_the_open(stream, peer, shared).await };
    // A handshake that fails is the client's verdict over the certificate.
    let Ok(stream) = TlsAcceptor::from(config).accept(stream).await else { return };
    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
        return converse_in_streams(stream, peer, shared).await;
    }
    let slot = FateSlot::default();
    let http = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), Answering { shared: shared.clone(), slot: slot.clone(), peer });
    tokio::select! {
        ended = http => drop(ended),
        () = shared.stopping.cancelled() => {}
    }
}

/// HTTP/2: many requests on one connection. A script that breaks off breaks one of them.
async fn converse_in_streams(stream: TlsStream<TcpStream>, peer: SocketAddr, shared: Arc<Shared>) {
    let slot = FateSlot::default();
    let builder = http2::Builder::new(TokioExecutor::new());
    let http =
        builder.serve_connection(TokioIo::new(stream), Answering { shared: shared.clone(), slot: slot.clone(), peer });
    let mut http = std::pin::pin!(http);
    loop {
        tokio::select! {
            ended = &mut http => return drop(ended),
            () = slot.last.notified() => http.as_mut().graceful_shutdown(),
            () = shared.stopping.cancelled() => return,
        }
    }
}

/// What answers the requests of one connection.
struct Answering {
    shared: Arc<Shared>,
    slot: FateSlot,
    peer: SocketAddr,
}

impl Service<Request<Incoming>> for Answering {
    type Response = Response<ReplyBody>;
    type Error = Broken;
    type Future = Pin<Box<dyn Future<Output = Result<Response<ReplyBody>, Broken>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        Box::pin(serve(self.shared.clone(), self.slot.clone(), self.peer, request))
    }
}

async fn converse_in_the_open(stream: TcpStream, peer: SocketAddr, shared: Arc<Shared>) {
    let slot = FateSlot::default();
    let mut http = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), Answering { shared: shared.clone(), slot: slot.clone(), peer });
    // How HTTP ended is in the fate and in the journal; the error itself says less.
    tokio::select! {
        ended = poll_fn(|context| http.poll_without_shutdown(context)) => drop(ended),
        () = shared.stopping.cancelled() => {}
    }
    let stream = http.into_parts().io.into_inner();
    let fate = slot.fate.lock().take();
    tokio::select! {
        () = end(stream, fate.unwrap_or(Fate::Close)) => {}
        () = shared.stopping.cancelled() => {}
    }
}

async fn end(mut stream: TcpStream, fate: Fate) {
    let how = match fate {
        Fate::Close => Break::Close,
        Fate::Reset => Break::Reset,
        Fate::Wire(pieces, then) => {
            for (piece, pause) in pieces {
                pause.over().await;
                // The peer may be gone already: nothing is left to do about it.
                drop(stream.write_all(&piece).await);
            }
            then
        }
    };
    match how {
        Break::Close => drop(stream.shutdown().await),
        Break::Reset => drop(SockRef::from(&stream).set_linger(Some(Duration::ZERO))),
        // Whatever comes is read and not answered, until the peer has had enough.
        Break::Stall => drop(tokio::io::copy(&mut stream, &mut tokio::io::sink()).await),
    }
}
