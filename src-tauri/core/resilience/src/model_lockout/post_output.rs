//! Answers that broke after output had reached the client (resilience specification, 11.4).
//!
//! One broken answer says little about a model: it did answer. Three in a row within ten minutes lock it, and a finished
//! answer ends the row.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::{ConnectionId, Millis, Timestamp};

use super::MAX_RECORDS;

/// Broken answers in a row that lock.
const ERRORS: usize = 3;
/// Within which time.
const WINDOW: Millis = Millis::minutes(10);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostOutputErrors {
    /// When answers of a model on an account broke, oldest first.
    rows: BTreeMap<ConnectionId, BTreeMap<Arc<str>, Vec<Timestamp>>>,
    /// Models in all rows.
    len: usize,
}

impl PostOutputErrors {
    /// One more answer broke. Says whether that is one too many; the row then begins anew.
    pub fn on_failure(&mut self, connection: &ConnectionId, model: &str, now: Timestamp) -> bool {
        let known = self.rows.get(connection).is_some_and(|models| models.contains_key(model));
        if !known && !self.has_room(now) {
            return false;
        }
        let row = self.rows.entry(connection.clone()).or_default().entry(model.into()).or_default();
        row.retain(|at| now < *at + WINDOW);
        row.push(now);
        let too_many = row.len() >= ERRORS;
        self.len += usize::from(!known);
        if too_many {
            self.on_success(connection, model);
        }
        too_many
    }

    /// An answer was finished.
    pub fn on_success(&mut self, connection: &ConnectionId, model: &str) {
        let Some(models) = self.rows.get_mut(connection) else { return };
        self.len -= usize::from(models.remove(model).is_some());
        if models.is_empty() {
            self.rows.remove(connection);
        }
    }

    pub fn forget(&mut self, connection: &ConnectionId) {
        self.len -= self.rows.remove(connection).map_or(0, |models| models.len());
    }

    fn has_room(&mut self, now: Timestamp) -> bool {
        if self.len >= MAX_RECORDS {
            for models in self.rows.values_mut() {
                models.retain(|_, row| row.last().is_some_and(|at| now < *at + WINDOW));
            }
            self.rows.retain(|_, models| !models.is_empty());
            self.len = self.rows.values().map(BTreeMap::len).sum();
        }
        self.len < MAX_RECORDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);

    #[test]
    fn the_third_broken_answer_in_a_row_within_ten_minutes_is_one_too_many() {
        // ST-27
        for (minutes, finished_before_last, expected) in
            [([0, 1, 9], false, true), ([0, 1, 10], false, false), ([0, 1, 2], true, false)]
        {
            let (mut errors, connection) = (PostOutputErrors::default(), ConnectionId::from("c1"));
            let mut found = false;
            for (n, minute) in minutes.into_iter().enumerate() {
                if n == 2 && finished_before_last {
                    errors.on_success(&connection, "m1");
                }
                found = errors.on_failure(&connection, "m1", START + Millis::minutes(minute));
                assert!(n == 2 || !found);
                assert!(!errors.on_failure(&connection, &format!("other {n}"), START));
            }
            assert_eq!(found, expected, "{minutes:?}");
        }
    }

    #[test]
    fn rows_are_bounded_and_make_room_when_they_are_old() {
        let mut errors = PostOutputErrors::default();
        for n in 0..MAX_RECORDS + 5 {
            errors.on_failure(&format!("c{n}").into(), "m1", START);
        }
        assert_eq!((errors.len, errors.rows.len()), (MAX_RECORDS, MAX_RECORDS));
        errors.on_failure(&"later".into(), "m1", START + WINDOW);
        assert_eq!((errors.len, errors.rows.len()), (1, 1));
        errors.forget(&"later".into());
        assert_eq!(errors, PostOutputErrors::default());
    }
}
