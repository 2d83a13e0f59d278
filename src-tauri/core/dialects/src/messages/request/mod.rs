//! Requests of this dialect, read and written.

mod read;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;

#[cfg(test)]
mod tests;
