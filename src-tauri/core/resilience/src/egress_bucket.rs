//! Accounts that share an exhausted outgoing address (resilience specification, 20).
