//! Terminal states: banned, expired, without credit; the refusal streak and bounded retries (resilience specification, 7).
