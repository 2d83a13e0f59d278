//! Long computing, done aside.
//!
//! A thread that serves has other streams to pass on ([architecture, 18](../../../../docs/architecture.md)). What takes
//! milliseconds because a body is long is therefore computed on a thread that serves nobody; for a short one the way there
//! would take longer than the work.

use crate::gateway::Gateway;

/// The longest body, in bytes, that is computed with on the spot: one or two milliseconds.
const ON_THE_SPOT: usize = 256 * 1024;

/// Does `work` with a body of `length` bytes, on the spot or aside.
pub(crate) async fn compute<T: Send + 'static>(
    gateway: &Gateway,
    length: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    if length <= ON_THE_SPOT {
        return work();
    }
    match gateway.tracker().spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The program ends, and with it whoever waits here.
            Err(_) => std::future::pending().await,
        },
    }
}
