//! Requests on their way: one row each, from the first look at its model to its end, with what it does or waits for.
//!
//! The row belongs to the story of the request ([`crate::record::Recorder`]), which changes it as it goes on and takes it
//! away when it is dropped, whatever ended it. Each row has a lock of its own, so that requests never wait for each other;
//! the list is locked only to come, to leave, and to look.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::request_log::ExclusionRecord;
use domain::{Candidate, ConnectionId, ProviderId, RequestId, Timestamp};
use parking_lot::Mutex;

/// Rows that a look shows, the oldest first: what waits longest is what one looks for.
const SHOWN: usize = 50;

/// What a request does at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Nobody is asked yet, or the next one is chosen.
    Choosing,
    /// Its account has no free place: it waits for its turn.
    WaitsForPlace,
    /// Everyone rests: it waits for the first to come back, until then.
    WaitsForRest(Timestamp),
    /// It is with the provider, which has not answered.
    Asking,
    /// The answer arrives.
    Answering,
}

/// One request on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Underway {
    pub id: RequestId,
    pub arrived: Timestamp,
    pub requested_model: String,
    pub agent: Option<String>,
    pub key_name: Option<String>,
    pub combo_name: Option<String>,
    /// Who is asked or waited for.
    pub provider: Option<ProviderId>,
    pub model: Option<String>,
    pub connection: Option<ConnectionId>,
    pub connection_name: Option<String>,
    /// Attempts begun so far.
    pub attempts: u32,
    pub stage: Stage,
    /// Since when it is at this stage.
    pub since: Timestamp,
}

impl Underway {
    /// The account that is asked or waited for from now on.
    pub(crate) fn towards(&mut self, candidate: &Candidate, connection_name: &str) {
        self.provider = Some(candidate.provider.clone());
        self.model = Some(candidate.model.clone());
        self.connection = Some(candidate.connection.clone());
        self.connection_name = Some(connection_name.to_owned());
    }

    /// What keeps everybody away is over first here.
    pub(crate) fn wait_for(&mut self, first: &ExclusionRecord) {
        self.provider = Some(first.provider.clone());
        self.model = Some(first.model.clone());
        self.connection.clone_from(&first.connection);
        self.connection_name.clone_from(&first.connection_name);
    }
}

/// Every request on its way.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    listed: Mutex<Listed>,
}

#[derive(Debug, Default)]
struct Listed {
    next: u64,
    rows: BTreeMap<u64, Arc<Mutex<Underway>>>,
}

/// One row, for as long as anybody holds it.
#[derive(Debug)]
pub(crate) struct Row {
    rows: Arc<Rows>,
    number: u64,
    row: Arc<Mutex<Underway>>,
}

impl Rows {
    pub(crate) fn enter(self: &Arc<Self>, row: Underway) -> Row {
        let row = Arc::new(Mutex::new(row));
        let mut listed = self.listed.lock();
        let number = listed.next;
        listed.next += 1;
        listed.rows.insert(number, Arc::clone(&row));
        Row { rows: Arc::clone(self), number, row }
    }

    /// The oldest of them.
    pub(crate) fn look(&self) -> Vec<Underway> {
        let shown: Vec<_> = self.listed.lock().rows.values().take(SHOWN).map(Arc::clone).collect();
        shown.iter().map(|row| row.lock().clone()).collect()
    }
}

impl Row {
    /// Something about it changes.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Underway)) {
        change(&mut self.row.lock());
    }

    /// It does something else from now on.
    pub(crate) fn turn_to(&self, stage: Stage, now: Timestamp) {
        self.change(|row| {
            if row.stage != stage {
                row.stage = stage;
                row.since = now;
            }
        });
    }
}

impl Drop for Row {
    fn drop(&mut self) {
        self.rows.listed.lock().rows.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn underway(id: &str) -> Underway {
        Underway {
            id: RequestId::from(id),
            arrived: Timestamp::ZERO,
            requested_model: "openai/m1".to_owned(),
            agent: None,
            key_name: None,
            combo_name: None,
            provider: None,
            model: None,
            connection: None,
            connection_name: None,
            attempts: 0,
            stage: Stage::Choosing,
            since: Timestamp::ZERO,
        }
    }

    #[test]
    fn a_row_is_there_until_nobody_holds_it_the_oldest_first() {
        let rows = Arc::new(Rows::default());
        let first = rows.enter(underway("a"));
        let second = rows.enter(underway("b"));
        let ids = |rows: &Rows| rows.look().into_iter().map(|row| row.id.to_string()).collect::<Vec<_>>();
        assert_eq!(ids(&rows), ["a", "b"]);
        drop(first);
        assert_eq!(ids(&rows), ["b"]);
        drop(second);
        assert!(rows.look().is_empty());
    }

    #[test]
    fn a_stage_counts_from_when_it_began() {
        let rows = Arc::new(Rows::default());
        let row = rows.enter(underway("a"));
        let at = Timestamp::from_millis;
        row.turn_to(Stage::WaitsForPlace, at(5));
        row.turn_to(Stage::WaitsForPlace, at(9));
        assert_eq!((rows.look()[0].stage, rows.look()[0].since), (Stage::WaitsForPlace, at(5)));
        row.turn_to(Stage::Asking, at(11));
        assert_eq!(rows.look()[0].since, at(11));
    }

    #[test]
    fn a_look_has_an_end() {
        let rows = Arc::new(Rows::default());
        let held: Vec<_> = (0..SHOWN + 5).map(|n| rows.enter(underway(&n.to_string()))).collect();
        assert_eq!(rows.look().len(), SHOWN);
        drop(held);
    }
}
