//! The guard around a permit: settles exactly once, also on panic, cancellation and early return.

use domain::{ConnectionId, Millis, Neutral, Outcome, Timestamp};
use http::HeaderMap;
use resilience::{GateKey, KeptPlaces, Permit};

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

    /// Takes its places at gates out of it, for the next attempt of the same request.
    pub(crate) fn keep_places(&mut self) -> Option<Kept> {
        let kept = self.permit.as_mut()?.keep_places()?;
        Some(Kept { engine: self.engine.clone(), kept: Some(kept) })
    }

    /// It goes on in places that were kept.
    pub(crate) fn put_back(&mut self, mut kept: Kept) {
        if let Some(permit) = &mut self.permit
            && let Some(kept) = kept.kept.take()
        {
            permit.put_back(kept);
        }
    }

    /// The one verdict.
    pub(crate) fn settle(mut self, outcome: &Outcome) {
        self.settle_early(outcome);
    }

    /// The one verdict, before it is known whether what the attempt brought is the answer; the places are given back, and a
    /// later verdict says nothing.
    pub(crate) fn settle_early(&mut self, outcome: &Outcome) {
        if let Some(permit) = self.permit.take() {
            self.engine.settle(permit, outcome);
        }
    }
}

/// Places between two attempts; dropped, they are the next one's.
pub(crate) struct Kept {
    engine: EngineHandle,
    kept: Option<KeptPlaces>,
}

impl Kept {
    /// Whether they are at this account.
    pub(crate) fn is_at(&self, account: &ConnectionId) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.connection() == account)
    }

    /// The gates they are at.
    pub(crate) fn gates(&self) -> &[GateKey] {
        self.kept.as_ref().map_or(&[], KeptPlaces::gates)
    }

    /// The request goes elsewhere and may come back: its place among the quota-share requests of the account. All others
    /// are given back.
    pub(crate) fn share_alone(mut self) -> Option<Kept> {
        let share = self.kept.as_mut()?.take_share()?;
        Some(Kept { engine: self.engine.clone(), kept: Some(share) })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(kept) = self.kept.take() {
            self.engine.give_back(kept);
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
