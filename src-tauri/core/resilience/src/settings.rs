//! The configuration of every mechanism, in one section.
//!
//! A mechanism's own numbers stand beside it; this file only gathers them. The mechanisms of this crate take their limits
//! from the connection itself, so the section has no fields of its own.

domain::section! {
    /// Passed to every Engine call, so that a changed setting applies to the next call everywhere.
    pub struct Settings {}
}
