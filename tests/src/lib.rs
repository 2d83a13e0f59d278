//! Acceptance: drives the headless server as a client would.
