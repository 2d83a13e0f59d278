//! Requests of this dialect, read and written.
//!
//! Model and `stream` stand in the path, so neither is in the body. Calls often have no ids: the reader mints them from
//! what was called where, and the writer leaves it to the order of calls and results unless the receiver is known to
//! accept ids.

mod options;
mod read;
#[cfg(test)]
mod tests;
mod tools;
mod wire;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;
