//! Requests of this dialect, read and written.
//!
//! `input` is a flat list in which the turns of a conversation have to be found again: reasoning, text and calls of one
//! turn are items of their own. Reading gathers them; writing spreads them out.

mod read;
mod write;

pub(crate) use read::{read, server_kind};
pub(crate) use write::write;
