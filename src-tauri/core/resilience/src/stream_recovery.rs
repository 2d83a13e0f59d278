//! Stream recovery (resilience specification, 17.4).
//!
//! Scope: one answer. Question: *can a stream that broke go on without the client noticing?* Before the client has seen
//! anything a repeated request is invisible; afterwards only plain text can be continued, because half a tool call cannot
//! be taken back.

use domain::section;

use crate::throughput_watchdog;

section! {
    /// What is done about a stream that breaks.
    pub struct Config {
        /// Whether a stream that breaks before its first output is opened again on the same account. Without effect yet: such a
        /// request goes to the next account.
        pub enabled: bool, env "STREAM_RECOVERY_ENABLED";
        /// Whether plain text that breaks off is continued by asking for the rest. Without effect yet: the client is told that it
        /// broke off.
        pub continue_mid_stream: bool, env "STREAM_RECOVERY_MIDSTREAM_ENABLED";
        /// When a stream that brings too little is given up.
        pub throughput_watchdog: throughput_watchdog::Config, env "STREAM_THROUGHPUT_WATCHDOG_";
    }
}
