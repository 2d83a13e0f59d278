//! SQLite, and the only SQL.
