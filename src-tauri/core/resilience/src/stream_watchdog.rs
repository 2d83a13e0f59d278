//! Stream watchdogs: readiness, idle, content stall (resilience specification, 17.1 and 17.2).

use domain::section;

section! {
    /// What a stream that stays alive without output costs its account.
    pub struct StallCooldown {
        /// Whether a stalled stream rests the account; otherwise it is only noted.
        pub enabled: bool;
    }
}
