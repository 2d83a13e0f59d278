//! Inserts of many rows in one statement.
//!
//! Their text depends only on the number of rows, and the writer knows few such numbers: each text is put together once.
//! To do so for every statement would cost more than to bind its values.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sqlx::AssertSqlSafe;

/// One insert, for any number of rows. A row whose key is there already changes nothing, so a repeated batch does no harm.
pub(crate) struct ManyRows {
    /// Table and columns: `INSERT INTO t (a, b)`.
    head: &'static str,
    texts: Mutex<BTreeMap<usize, Arc<str>>>,
}

impl ManyRows {
    pub(crate) const fn new(head: &'static str) -> Self {
        ManyRows { head, texts: Mutex::new(BTreeMap::new()) }
    }

    /// The statement for so many rows, at least one; a place for a value for each column of each.
    pub(crate) fn of(&self, rows: usize) -> AssertSqlSafe<Arc<str>> {
        let mut texts = self.texts.lock();
        let text = texts.entry(rows).or_insert_with(|| self.text(rows).into());
        // Nothing but constants and question marks.
        AssertSqlSafe(Arc::clone(text))
    }

    fn text(&self, rows: usize) -> String {
        let columns = self.head.matches(',').count() + 1;
        let row = format!("({})", vec!["?"; columns].join(", "));
        format!("{} VALUES {} ON CONFLICT (id) DO NOTHING", self.head, vec![row; rows].join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_place_for_every_column() {
        let insert = ManyRows::new("INSERT INTO t (id, a, b)");
        for (rows, values) in [(1, "(?, ?, ?)"), (2, "(?, ?, ?), (?, ?, ?)")] {
            let expected = format!("INSERT INTO t (id, a, b) VALUES {values} ON CONFLICT (id) DO NOTHING");
            assert_eq!(*insert.of(rows).0, *expected);
            assert_eq!(*insert.of(rows).0, *expected, "the same again");
        }
    }
}
