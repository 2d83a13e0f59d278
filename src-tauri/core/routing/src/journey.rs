//! The memory of one request: what was tried, what was left out, and why.

use std::collections::BTreeSet;

use domain::request_log::{AttemptRecord, ExclusionRecord};
use domain::{ConnectionId, Exclusion, Failure, Mechanism, ProviderId};

/// Becomes the diagnostics of the reply, one log line and one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Journey {
    pub rule: Option<u8>,
    pub attempts: Vec<AttemptRecord>,
    pub exclusions: Vec<ExclusionRecord>,
    pub warnings: Vec<String>,
    /// What already failed in this request.
    pub exhausted: Exhausted,
    /// The same refusal, again and again.
    pub streak: Streak,
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

    /// Takes the failures out, with their accounts.
    pub fn take_failures(&mut self) -> Vec<(ConnectionId, Failure)> {
        std::mem::take(&mut self.failed)
    }

    /// Somebody is not asked. What was said of the same account before no longer counts.
    pub fn exclude(&mut self, record: ExclusionRecord) {
        fn whom(record: &ExclusionRecord) -> (&ProviderId, &str, Option<&ConnectionId>) {
            (&record.provider, &record.model, record.connection.as_ref())
        }
        self.exclusions.retain(|known| whom(known) != whom(&record));
        self.exclusions.push(record);
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

/// What is not asked again in the same request (resilience specification, 15.5). Nothing of it outlives the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exhausted {
    providers: BTreeSet<ProviderId>,
    connections: BTreeSet<(ProviderId, ConnectionId)>,
    models: BTreeSet<(ProviderId, String)>,
    limited: BTreeSet<ProviderId>,
}

/// What a failure means for the rest of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Nothing of the provider.
    Provider(ProviderId),
    /// Not this account.
    Connection(ProviderId, ConnectionId),
    /// Not this model there.
    Model(ProviderId, String),
    /// The provider limits for a moment: later targets of it may take another account, and where none is free a limited
    /// one by force.
    Limited(ProviderId),
}

impl Exhausted {
    pub fn mark(&mut self, mark: Mark) {
        match mark {
            Mark::Provider(provider) => {
                self.providers.insert(provider);
            }
            Mark::Connection(provider, connection) => {
                self.connections.insert((provider, connection));
            }
            Mark::Model(provider, model) => {
                self.models.insert((provider, model));
            }
            Mark::Limited(provider) => {
                self.limited.insert(provider);
            }
        }
    }

    /// Whether a model is out of the question at a provider, whatever the account.
    pub fn excludes(&self, provider: &ProviderId, model: &str) -> bool {
        self.providers.contains(provider) || self.models.iter().any(|(p, m)| p == provider && m == model)
    }

    /// Whether an account is out of the question.
    pub fn excludes_connection(&self, provider: &ProviderId, connection: &ConnectionId) -> bool {
        self.connections.iter().any(|(p, c)| p == provider && c == connection)
    }

    /// Whether a limited account of the provider may be taken by force, where no other is free.
    pub fn may_force(&self, provider: &ProviderId) -> bool {
        self.limited.contains(provider)
    }
}

/// Identical refusals of the request's shape by different targets in a row: the request is wrong, not the targets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Streak {
    said: Option<(Option<u16>, String)>,
    targets: BTreeSet<String>,
}

impl Streak {
    /// So many targets in a row mean that nobody will take it (gateway specification, 3.2).
    pub const LIMIT: usize = 3;

    /// A target refused the request's shape in these words. How many in a row have.
    pub fn refused(&mut self, execution_key: &str, status: Option<u16>, message: &str) -> usize {
        let said = (status, message.to_owned());
        if self.said.as_ref() != Some(&said) {
            self.said = Some(said);
            self.targets.clear();
        }
        self.targets.insert(execution_key.to_owned());
        self.targets.len()
    }

    /// Something else happened.
    pub fn broken(&mut self) {
        *self = Streak::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_not_asked_again_in_this_request() {
        let mut exhausted = Exhausted::default();
        let [p, q] = ["p", "q"].map(ProviderId::from);
        let [a, b] = ["a", "b"].map(ConnectionId::from);
        exhausted.mark(Mark::Connection(p.clone(), a.clone()));
        assert!(exhausted.excludes_connection(&p, &a) && !exhausted.excludes_connection(&p, &b));
        assert!(!exhausted.excludes_connection(&q, &a), "an account is its provider's");
        exhausted.mark(Mark::Model(p.clone(), "m".to_owned()));
        assert!(exhausted.excludes(&p, "m") && !exhausted.excludes(&p, "n") && !exhausted.excludes(&q, "m"));
        exhausted.mark(Mark::Limited(p.clone()));
        assert!(exhausted.may_force(&p) && !exhausted.may_force(&q));
        exhausted.mark(Mark::Provider(p.clone()));
        assert!(exhausted.excludes(&p, "n"));
    }

    #[test]
    fn only_the_same_words_of_different_targets_in_a_row_count() {
        let mut streak = Streak::default();
        let mut say = |key: &str, message: &str| streak.refused(key, Some(400), message);
        assert_eq!([say("a", "no"), say("a", "no"), say("b", "no"), say("c", "nope"), say("d", "no")], [1, 1, 2, 1, 1]);
        streak.broken();
        assert_eq!(streak.refused("e", Some(400), "no"), 1);
    }
}
