//! The threads that serve connections.
//!
//! Each has a runtime of its own, and a connection stays on the thread it was given to: the agent's socket, the upstream's,
//! and the tasks in between wake each other without waking another thread, which for a streamed event would cost more than
//! everything else that is done with it. Threads share no connections to upstreams either ([`upstream::HttpTransport`] keeps
//! a client per runtime), so a thread gets a neighbour only when it has a few connections already: an agent that opens two
//! or three finds the upstream's connection of its last request still open.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Connections that a thread gets before its neighbour gets as many.
const TOGETHER: usize = 4;
/// What one person's agents can ask for is served by fewer; models on the same computer need the processors more.
const MOST: usize = 8;

/// Dropping it ends the threads, and with them whatever they still serve.
pub(crate) struct Workers {
    workers: Vec<Worker>,
}

struct Worker {
    runtime: Handle,
    connections: Arc<AtomicUsize>,
    _end: DropGuard,
}

/// A connection's place with a thread; dropping it frees the place.
pub(crate) struct Seat {
    runtime: Handle,
    connections: Arc<AtomicUsize>,
}

/// As many threads as suit this machine: half of its processors, but two where there are two.
pub fn suitable_workers() -> NonZeroUsize {
    let processors = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let half = processors.get().div_ceil(2).clamp(2, MOST);
    NonZeroUsize::new(half).map_or(processors, |half| half.min(processors))
}

impl Workers {
    /// Starts `count` threads. With none, connections are served where they were accepted.
    pub(crate) fn start(count: usize) -> io::Result<Workers> {
        Ok(Workers { workers: (0..count).map(Worker::start).collect::<io::Result<_>>()? })
    }

    /// A place with the thread that has the fewest connections, counted by [`TOGETHER`]; `None` without threads.
    pub(crate) fn seat(&self) -> Option<Seat> {
        let load = |worker: &&Worker| worker.connections.load(Ordering::Relaxed) / TOGETHER;
        let worker = self.workers.iter().min_by_key(load)?;
        worker.connections.fetch_add(1, Ordering::Relaxed);
        Some(Seat { runtime: worker.runtime.clone(), connections: Arc::clone(&worker.connections) })
    }
}

impl Worker {
    fn start(index: usize) -> io::Result<Worker> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let end = CancellationToken::new();
        let ended = end.clone();
        thread::Builder::new().name(format!("serve-{index}")).spawn(move || runtime.block_on(ended.cancelled()))?;
        Ok(Worker { runtime: handle, connections: Arc::default(), _end: end.drop_guard() })
    }
}

impl Seat {
    /// The runtime of the thread.
    pub(crate) fn runtime(&self) -> &Handle {
        &self.runtime
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_each(workers: &Workers) -> Vec<usize> {
        workers.workers.iter().map(|worker| worker.connections.load(Ordering::Relaxed)).collect()
    }

    #[test]
    fn a_few_connections_share_a_thread_and_many_are_spread() {
        let workers = Workers::start(2).unwrap();
        let mut seats: Vec<Seat> = (0..TOGETHER).filter_map(|_| workers.seat()).collect();
        assert_eq!(on_each(&workers), [4, 0]);
        seats.extend((0..60).filter_map(|_| workers.seat()));
        assert_eq!(on_each(&workers), [32, 32]);
        seats.truncate(2);
        assert_eq!(on_each(&workers), [2, 0]);
    }

    #[test]
    fn without_threads_there_is_no_seat() {
        assert!(Workers::start(0).unwrap().seat().is_none());
    }

    #[test]
    fn what_a_thread_serves_ends_with_it() {
        let workers = Workers::start(1).unwrap();
        let (held, ends) = std::sync::mpsc::channel::<()>();
        let seat = workers.seat().unwrap();
        let task = async move {
            let _held = held;
            std::future::pending::<()>().await;
        };
        drop(seat.runtime().spawn(task));
        drop(workers);
        assert!(ends.recv().is_err(), "the task was dropped");
    }
}
