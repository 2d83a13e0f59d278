//! The memory of one request: what was tried, what was left out, and why.

use domain::request_log::{AttemptRecord, ExclusionRecord};
use domain::{ConnectionId, Exclusion, Failure, Mechanism};

/// Becomes the diagnostics of the reply, one log line and one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Journey {
    pub rule: Option<u8>,
    pub attempts: Vec<AttemptRecord>,
    pub exclusions: Vec<ExclusionRecord>,
    pub warnings: Vec<String>,
    failed: Vec<(ConnectionId, Failure)>,
}

impl Journey {
    /// An attempt ended in a failure that is charged to its connection.
    pub fn failed(&mut self, connection: ConnectionId, failure: Failure) {
        self.failed.push((connection, failure));
    }

    pub fn failures(&self) -> impl Iterator<Item = &Failure> {
        self.failed.iter().map(|(_, failure)| failure)
    }

    /// The failure of the last attempt.
    pub fn last_failure(&self) -> Option<&Failure> {
        self.failed.last().map(|(_, failure)| failure)
    }

    /// Whether every exclusion is of this mechanism, and there is at least one.
    pub fn all_excluded_by(&self, mechanism: Mechanism) -> bool {
        !self.exclusions.is_empty() && self.exclusions.iter().all(|e| e.exclusion.mechanism == mechanism)
    }

    /// The first exclusion of this mechanism.
    pub fn excluded_by(&self, mechanism: Mechanism) -> Option<&Exclusion> {
        self.exclusions.iter().map(|record| &record.exclusion).find(|exclusion| exclusion.mechanism == mechanism)
    }
}
