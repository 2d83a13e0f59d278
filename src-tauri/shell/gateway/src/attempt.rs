//! The guard around a permit: settles exactly once, also on panic, cancellation and early return.

use domain::{Millis, Neutral, Outcome};
use http::HeaderMap;
use resilience::Permit;

use crate::engine_handle::EngineHandle;

/// Everything an admitted attempt holds at the Engine. Dropped without a verdict it counts for nobody.
pub(crate) struct Attempt {
    engine: EngineHandle,
    permit: Option<Permit>,
}

impl Attempt {
    pub(crate) fn new(engine: EngineHandle, permit: Permit) -> Self {
        Attempt { engine, permit: Some(permit) }
    }

    /// What the headers of its reply announced about the account.
    pub(crate) fn observe(&self, headers: &HeaderMap) {
        if let Some(permit) = &self.permit {
            self.engine.observe(permit, headers);
        }
    }

    /// How long it may take from now on; none, as long as it likes.
    pub(crate) fn execution_limit(&self) -> Option<Millis> {
        self.permit.as_ref().and_then(Permit::execution_limit)
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
