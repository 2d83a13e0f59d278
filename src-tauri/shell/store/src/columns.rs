//! Between domain values and what a column holds.
//!
//! SQLite's integers are signed: instants, lengths and counts beyond `i64::MAX` are stored as `i64::MAX`, which is as
//! good as never. Closed sets of words are stored as their wire names.

use domain::{Millis, Timestamp};
use serde::de::IntoDeserializer;
use serde::de::value::{Error as WordError, StrDeserializer};
use serde::{Deserialize, Serialize};

use crate::Error;

/// Names a column and a row, for errors.
#[derive(Clone, Copy)]
pub(crate) struct Cell<'a> {
    pub table: &'static str,
    pub column: &'static str,
    pub id: &'a str,
}

pub(crate) fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(crate) fn natural(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

pub(crate) fn from_instant(at: Timestamp) -> i64 {
    integer(at.as_millis())
}

pub(crate) fn to_instant(column: i64) -> Timestamp {
    Timestamp::from_millis(natural(column))
}

pub(crate) fn from_length(length: Millis) -> i64 {
    integer(length.as_millis())
}

pub(crate) fn to_length(column: i64) -> Millis {
    Millis::new(natural(column))
}

impl Cell<'_> {
    pub(crate) fn write_json(self, value: &impl Serialize) -> Result<String, Error> {
        serde_json::to_string(value).map_err(|source| Error::Unwritable {
            table: self.table,
            column: self.column,
            source,
        })
    }

    pub(crate) fn read_json<T: for<'de> Deserialize<'de>>(self, text: &str) -> Result<T, Error> {
        serde_json::from_str(text).map_err(|source| self.unreadable(source))
    }

    /// A struct as the JSON object it is written as.
    pub(crate) fn object(self, value: &impl Serialize) -> Result<serde_json::Map<String, serde_json::Value>, Error> {
        match serde_json::to_value(value) {
            Ok(serde_json::Value::Object(object)) => Ok(object),
            Ok(other) => Err(self.unwritable(format!("{other} is not an object"))),
            Err(source) => Err(self.unwritable(source.to_string())),
        }
    }

    /// Writes a variant of a closed set as its wire name.
    pub(crate) fn write_word(self, value: &impl Serialize) -> Result<String, Error> {
        match serde_json::to_value(value) {
            Ok(serde_json::Value::String(word)) => Ok(word),
            Ok(other) => Err(self.unwritable(format!("{other} is not a word"))),
            Err(source) => Err(self.unwritable(source.to_string())),
        }
    }

    pub(crate) fn read_word<T: for<'de> Deserialize<'de>>(self, word: &str) -> Result<T, Error> {
        let deserializer: StrDeserializer<'_, WordError> = word.into_deserializer();
        T::deserialize(deserializer).map_err(|error| self.unreadable(serde::de::Error::custom(error)))
    }

    pub(crate) fn read_array<const N: usize>(self, bytes: &[u8]) -> Result<[u8; N], Error> {
        bytes.try_into().map_err(|_| {
            let reason = format!("{} bytes instead of {N}", bytes.len());
            self.unreadable(serde::de::Error::custom(reason))
        })
    }

    fn unreadable(self, source: serde_json::Error) -> Error {
        Error::Unreadable { table: self.table, column: self.column, id: self.id.to_owned(), source }
    }

    fn unwritable(self, reason: String) -> Error {
        Error::Unwritable { table: self.table, column: self.column, source: serde::ser::Error::custom(reason) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::connection::AuthType;

    const CELL: Cell<'static> = Cell { table: "t", column: "c", id: "1" };

    #[test]
    fn numbers_saturate_in_both_directions() {
        assert_eq!(from_instant(Timestamp::MAX), i64::MAX);
        assert_eq!(from_length(Millis::MAX), i64::MAX);
        assert_eq!(to_instant(-1), Timestamp::ZERO);
        assert_eq!(to_length(-1), Millis::ZERO);
        assert_eq!(to_instant(7), Timestamp::from_millis(7));
    }

    #[test]
    fn words_are_wire_names_and_unknown_ones_are_errors_that_name_the_cell() {
        assert_eq!(CELL.write_word(&AuthType::Apikey).unwrap(), "apikey");
        assert_eq!(CELL.read_word::<AuthType>("oauth").unwrap(), AuthType::Oauth);
        let error = CELL.read_word::<AuthType>("magic").unwrap_err();
        assert_eq!(error.to_string(), "the value of t.c in row 1 is not readable");
        assert!(CELL.write_word(&1).is_err());
    }
}
