//! A strategy ranks candidates; it does not try them. One file each.

pub mod auto;
pub mod priority;
