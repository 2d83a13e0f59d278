//! Composition root: configuration and clock in, running gateway out.
