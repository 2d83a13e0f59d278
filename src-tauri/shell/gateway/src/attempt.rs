//! The guard around a permit: settles exactly once, also on panic, cancellation and early return.

use domain::{Millis, Neutral, Outcome, Timestamp};
use http::HeaderMap;
use resilience::Permit;

use crate::engine_handle::EngineHandle;

/// Everything an admitted attempt holds at the Engine. Dropped without a verdict it counts for nobody.
pub(crate) struct Attempt {
    engine: EngineHandle,
    permit: Option<Permit>,
    overrun: Option<Overrun>,
}

/// How long an attempt may take altogether.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overrun {
    pub(crate) limit: Millis,
    pub(crate) at: Timestamp,
}

impl Attempt {
    /// It begins now, and so does its execution limit.
    pub(crate) fn new(engine: EngineHandle, permit: Permit, now: Timestamp) -> Self {
        let overrun = permit.execution_limit().map(|limit| Overrun { limit, at: now + limit });
        Attempt { engine, permit: Some(permit), overrun }
    }

    /// What the headers of its reply announced about the account.
    pub(crate) fn observe(&self, headers: &HeaderMap) {
        if let Some(permit) = &self.permit {
            self.engine.observe(permit, headers);
        }
    }

    /// When it is cut off (resilience specification, 16.2); none, it may take as long as it likes.
    pub(crate) fn overrun(&self) -> Option<Overrun> {
        self.overrun
    }

    /// The one verdict.
    pub(crate) fn settle(mut self, outcome: &Outcome) {
        if let Some(permit) = self.permit.take() {
            self.engine.settle(permit, outcome);
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if let Some(permit) = self.permit.take() {
            self.engine.settle(permit, &Outcome::Neutral(Neutral::Abandoned));
        }
    }
}
