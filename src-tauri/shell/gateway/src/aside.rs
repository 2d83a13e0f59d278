//! Long computing, done aside.
//!
//! A thread that serves has other streams to pass on ([architecture, 18](../../../../docs/architecture.md)). What takes
//! milliseconds because a body is long is therefore computed on a thread that serves nobody; for a short one the way there
//! would take longer than the work.

use tokio_util::task::TaskTracker;

/// The longest body, in bytes, that is computed with on the spot: one or two milliseconds.
const ON_THE_SPOT: usize = 256 * 1024;

/// Does `work` with a body of `length` bytes, on the spot or aside.
pub(crate) async fn compute<T: Send + 'static>(
    tracker: &TaskTracker,
    length: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    if length <= ON_THE_SPOT {
        return work();
    }
    match tracker.spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The program ends, and with it whoever waits here.
            Err(_) => std::future::pending().await,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[tokio::test]
    async fn only_a_long_body_goes_elsewhere() {
        let (tracker, here) = (TaskTracker::new(), thread::current().id());
        for (length, is_here) in [(0, true), (ON_THE_SPOT, true), (ON_THE_SPOT + 1, false)] {
            let there = compute(&tracker, length, || thread::current().id()).await;
            assert_eq!(there == here, is_here, "{length}");
        }
    }

    #[tokio::test]
    async fn a_panic_elsewhere_is_one_here() {
        let tracker = TaskTracker::new();
        let other = tracker.clone();
        let here = tracker.spawn(async move { compute(&other, usize::MAX, || panic!("oh")).await });
        assert!(here.await.expect_err("it panicked").is_panic());
    }
}
