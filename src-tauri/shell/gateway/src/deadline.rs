//! Waiting for many things in a row, each with a deadline, on one timer.
//!
//! Arming a timer for every chunk of a body would cost more than the chunk. Deadlines move forward as chunks come, so the
//! timer is left as it is, and armed anew only when it fires too early, or when a deadline lies before it.

use std::pin::Pin;
use std::sync::Arc;

use domain::{Clock, Timestamp};

pub(crate) struct Timer {
    clock: Arc<dyn Clock>,
    armed: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    armed_for: Timestamp,
}

impl Timer {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Timer { clock, armed: None, armed_for: Timestamp::ZERO }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The future's result; `None` when the deadline passed first.
    pub(crate) async fn limit<F>(&mut self, mut future: F, deadline: Option<Timestamp>) -> Option<F::Output>
    where
        F: Future + Unpin,
    {
        let Some(deadline) = deadline else { return Some(future.await) };
        loop {
            if self.armed.is_none() || self.armed_for > deadline {
                self.armed_for = deadline;
                self.armed = Some(self.clock.sleep_until(deadline));
            }
            let Some(timer) = &mut self.armed else { continue };
            tokio::select! {
                biased;
                output = &mut future => return Some(output),
                () = timer => {
                    let fired_for = self.armed_for;
                    self.armed = None;
                    if fired_for >= deadline {
                        return None;
                    }
                }
            }
        }
    }
}
