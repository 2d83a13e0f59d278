//! A request that waits for an account to come back (resilience specification, 15).
//!
//! Meanwhile it is to be seen, with what it waits for and until when; and it does not wait for what an operator has given
//! back in the meantime.

use domain::Timestamp;
use domain::request_log::ExclusionRecord;
use tokio::sync::watch;

use crate::gateway::Gateway;
use crate::record::Recorder;

/// A wait that is about to begin.
pub(crate) struct Pause<'a> {
    pub(crate) gateway: &'a Gateway,
    pub(crate) recorder: &'a Recorder,
    pub(crate) until: Timestamp,
    /// From before it was found that there is something to wait for ([`crate::EngineHandle::freed`]).
    pub(crate) freed: watch::Receiver<()>,
}

impl Pause<'_> {
    /// Waits. `kept_away` says what stands in the way at the moment, and nothing once somebody can be asked.
    pub(crate) async fn over(mut self, kept_away: impl Fn() -> Option<Vec<ExclusionRecord>>) {
        let soonest = |records: Vec<ExclusionRecord>| records.into_iter().min_by_key(|record| at(record));
        self.recorder.waits_for_rest(self.until, kept_away().and_then(soonest));
        loop {
            tokio::select! {
                biased;
                () = self.gateway.clock().sleep_until(self.until) => return,
                freed = self.freed.changed() => if freed.is_err() || kept_away().is_none() { return },
            }
        }
    }
}

fn at(record: &ExclusionRecord) -> Timestamp {
    record.exclusion.until.unwrap_or(Timestamp::MAX)
}
