//! One TCP connection: HTTP while it lasts, and the ways to end that HTTP does not know.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use socket2::SockRef;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::serve::serve;
use crate::server::Shared;

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
    /// These bytes, then close.
    Garbage(Bytes),
}

/// Where a request leaves word about the fate of its connection.
pub(crate) type FateSlot = Arc<Mutex<Option<Fate>>>;

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
                tracker.spawn(async move {
                    converse(stream, peer, shared).await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn converse(stream: TcpStream, peer: SocketAddr, shared: Arc<Shared>) {
    // An unusual socket that refuses the option still serves.
    drop(stream.set_nodelay(true));
    let slot = FateSlot::default();
    let service = {
        let (shared, slot) = (shared.clone(), slot.clone());
        service_fn(move |request| Box::pin(serve(shared.clone(), slot.clone(), peer, request)))
    };
    let mut http = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    // How HTTP ended is in the fate and in the journal; the error itself says less.
    tokio::select! {
        ended = poll_fn(|context| http.poll_without_shutdown(context)) => drop(ended),
        () = shared.stopping.cancelled() => {}
    }
    let stream = http.into_parts().io.into_inner();
    let fate = slot.lock().take();
    end(stream, fate.unwrap_or(Fate::Close)).await;
}

async fn end(mut stream: TcpStream, fate: Fate) {
    // The peer may be gone already: nothing is left to do about it.
    match fate {
        Fate::Close => drop(stream.shutdown().await),
        Fate::Reset => drop(SockRef::from(&stream).set_linger(Some(Duration::ZERO))),
        Fate::Garbage(bytes) => {
            drop(stream.write_all(&bytes).await);
            drop(stream.shutdown().await);
        }
    }
}
