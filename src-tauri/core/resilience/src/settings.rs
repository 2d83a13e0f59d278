//! The configuration of every mechanism, in one struct.
//!
//! A mechanism's own numbers stand beside it; this file only gathers them. The mechanisms of this crate take their limits
//! from the connection itself, so the struct has no fields of its own.

/// Passed to every Engine call, so that a changed setting applies to the next call everywhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {}
