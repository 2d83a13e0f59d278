//! Seeded simulation of the core over virtual time.
