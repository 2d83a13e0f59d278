//! Accepting connections, serving them, and moving the door while people walk through it.
//!
//! Every connection is a task of its own. Three signals end things, in this order: *closed* stops one accept loop and
//! asks its connections to finish what they are doing; *cut*, after the drain limit, ends what is left.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use control::{ListenerMove, MoveRefused};
use domain::{Clock, Millis};
use gateway::FrontDoor;
use gateway::edge::Peer;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::linger::Rest;
use crate::place::{BindError, Bound, Place};
use crate::timer::ClockTimer;
use crate::workers::Workers;

/// How long a silent connection is kept, and with it the longest time for the head of a request. Longer than the 90 s for
/// which the connection pools of agents keep one: whoever closes first must not be the one that the other is writing to.
const IDLE_TIMEOUT: Duration = Duration::from_secs(95);
const HEADER_LIMIT: usize = 64 * 1024;
/// After a failure to accept that a moment may cure, such as too many open files.
const PAUSE: Millis = Millis::new(100);

/// Serves what is behind one door on whatever sockets it is given.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) front_door: FrontDoor,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tracker: TaskTracker,
    /// Ends every connection at once.
    pub(crate) cut: CancellationToken,
    pub(crate) connections: Arc<Semaphore>,
    pub(crate) workers: Arc<Workers>,
}

/// An open door; dropping it closes it.
pub(crate) struct Door {
    closed: CancellationToken,
    accepting: TaskTracker,
}

impl Server {
    /// Accepts on every socket until the door is closed.
    pub(crate) fn open(&self, listeners: Vec<TcpListener>) -> Door {
        let door = Door { closed: CancellationToken::new(), accepting: TaskTracker::new() };
        for listener in listeners {
            let loop_of = self.clone().accept(listener, door.closed.clone());
            self.tracker.spawn(door.accepting.track_future(loop_of));
        }
        door.accepting.close();
        door
    }

    async fn accept(self, listener: TcpListener, closed: CancellationToken) {
        loop {
            let Some(permit) = or_closed(&closed, Arc::clone(&self.connections).acquire_owned()).await else { return };
            let Some(accepted) = or_closed(&closed, listener.accept()).await else { return };
            match (permit, accepted) {
                (Ok(permit), Ok((stream, peer))) => {
                    self.hand_over(stream, Peer(peer), permit, closed.clone());
                }
                (Err(_), _) => return,
                (Ok(_), Err(error)) => self.pause(&error).await,
            }
        }
    }

    /// To a thread of its own, where there are such.
    fn hand_over(&self, stream: TcpStream, peer: Peer, permit: OwnedSemaphorePermit, closed: CancellationToken) {
        let server = self.clone();
        let Some(seat) = self.workers.seat() else {
            self.tracker.spawn(server.serve(stream, peer, permit, closed));
            return;
        };
        // A socket belongs to the runtime in which it was made.
        let Ok(stream) = stream.into_std() else { return };
        let runtime = seat.runtime().clone();
        let serving = async move {
            match TcpStream::from_std(stream) {
                Ok(stream) => server.serve(stream, peer, permit, closed).await,
                Err(error) => tracing::debug!(%error, "a connection could not be handed over"),
            }
            drop(seat);
        };
        self.tracker.spawn_on(serving, &runtime);
    }

    async fn pause(&self, error: &io::Error) {
        tracing::debug!(%error, "a connection could not be accepted");
        if !matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) {
            self.clock.sleep_until(self.clock.now() + PAUSE).await;
        }
    }

    async fn serve(self, stream: TcpStream, peer: Peer, permit: OwnedSemaphorePermit, closed: CancellationToken) {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "small writes may be delayed");
        }
        let (front_door, clock) = (self.front_door.clone(), Arc::clone(&self.clock));
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(peer);
            let (front_door, clock) = (front_door.clone(), Arc::clone(&clock));
            async move { Ok::<_, Infallible>(answer_to(front_door, request, clock.as_ref()).await) }
        });
        let connection = http1::Builder::new()
            .timer(ClockTimer::new(Arc::clone(&self.clock)))
            .header_read_timeout(IDLE_TIMEOUT)
            .max_header_size(HEADER_LIMIT)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let mut finishing = false;
        loop {
            tokio::select! {
                biased;
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "a connection ended early");
                    }
                    break;
                }
                () = closed.cancelled(), if !finishing => {
                    finishing = true;
                    connection.as_mut().graceful_shutdown();
                }
                () = self.cut.cancelled() => break,
            }
        }
        drop(permit);
    }
}

/// The answer, once the client is done with sending: see [`crate::linger`].
async fn answer_to(front_door: FrontDoor, request: hyper::Request<Incoming>, clock: &dyn Clock) -> Response {
    // Such a client sends its body only when it is asked for it.
    let asks_first = request.headers().contains_key(hyper::header::EXPECT);
    let rest = Rest::default();
    let response = front_door.answer(request.map(|body| Body::new(rest.lend(body)))).await;
    if !asks_first {
        rest.forget(clock).await;
    }
    response
}

impl Door {
    /// Stops accepting and waits until the sockets are closed. Requests under way go on.
    pub(crate) async fn close(self) {
        self.closed.cancel();
        self.accepting.wait().await;
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.closed.cancel();
    }
}

/// Serves requests to move the listener until `stop`; returns the door that is then open.
///
/// `moved` is told where the gateway listens now.
pub(crate) async fn keep(
    server: Server,
    mut door: Door,
    mut place: Place,
    mut moves: mpsc::Receiver<ListenerMove>,
    stop: CancellationToken,
    moved: impl Fn(&Bound),
) -> Door {
    loop {
        let Some(Some(wanted)) = or_closed(&stop, moves.recv()).await else { return door };
        let to = Place::new(&wanted.bind_address, wanted.port);
        // The old sockets stand in the way of new ones on the same port: those are bound when the old ones are closed.
        let reserved = if to.port == place.port { Ok(None) } else { to.bind().map(Some) };
        let reserved = match reserved {
            Ok(reserved) => reserved,
            Err(error) => {
                answer(wanted.reserved, Err(refused(&to, error)));
                continue;
            }
        };
        let (go, word) = oneshot::channel();
        answer(wanted.reserved, Ok(go));
        if word.await.is_err() {
            continue;
        }
        door.close().await;
        let bound = match reserved {
            Some(bound) => Ok(bound),
            None => to.bind(),
        };
        let (now_at, bound) = match bound {
            Ok(bound) => (to, bound),
            Err(error) => {
                tracing::error!(reason = %refused(&to, error), "the listener stays where it was");
                let Ok(bound) = place.bind() else {
                    tracing::error!("the old place is gone too: restart the gateway");
                    return Door { closed: CancellationToken::new(), accepting: TaskTracker::new() };
                };
                (place, bound)
            }
        };
        place = Place { port: bound.port, ..now_at };
        moved(&bound);
        door = server.open(bound.listeners);
    }
}

fn answer(
    to: oneshot::Sender<Result<oneshot::Sender<()>, MoveRefused>>,
    result: Result<oneshot::Sender<()>, MoveRefused>,
) {
    // Whoever asked may have gone; then nobody gives the word either, and nothing moves.
    let _ = to.send(result);
}

fn refused(place: &Place, error: BindError) -> MoveRefused {
    match error {
        BindError::Taken => MoveRefused::PortTaken { port: place.port },
        BindError::NotBindable(error) => {
            MoveRefused::NotBindable { address: place.address.to_string(), reason: error.to_string() }
        }
    }
}

async fn or_closed<T>(closed: &CancellationToken, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = closed.cancelled() => None,
        done = work => Some(done),
    }
}
