//! Throughput watchdog (resilience specification, 17.3).
//!
//! Scope: one attempt's stream. Question: *does useful output come fast enough to be worth the wait?* Different from the idle
//! timer, which silence alone trips, and from the content stall, which ends with the first output: this one watches a
//! stream that goes on and on and says next to nothing.

use domain::{Millis, section};

section! {
    /// When a stream that brings too little is given up.
    pub struct Config {
        /// Whether streams are watched.
        pub enabled: bool, env "ENABLED";
        /// How long after its beginning a stream is not judged.
        pub warmup: Millis = Millis::seconds(30), in Millis::ZERO..=Millis::minutes(10), env "WARMUP_MS";
        /// The span over which output is counted.
        pub window: Millis = Millis::seconds(30), in Millis::seconds(1)..=Millis::minutes(10), env "WINDOW_MS";
        /// Slower than this within the window, and the stream is given up.
        pub min_useful_bytes_per_second: u32 = 4, in 1..=1_000_000, env "MIN_BYTES_PER_SECOND";
        /// So much must have come within the window, or nothing at all, for its speed to be judged.
        pub min_useful_bytes: u32 = 1, in 1..=1_000_000, env "MIN_USEFUL_BYTES";
    }
}
