//! Request-queue admission (resilience specification, 16).
//!
//! Scope: one account, and everything together. Question: *may this request be sent yet, and is it worth waiting?* Two
//! clocks that never touch: the queue budget runs while a request waits and stops the moment it is dispatched, the
//! execution limit runs from there. Nothing here is the upstream's doing, so nothing here hurts anyone's health.
//!
//! Off unless asked for (decision 21): an agent with parallel tools is not slowed down by a number nobody chose.

use domain::{Millis, section};

section! {
    /// How requests wait for their turn at one account.
    pub struct Config {
        /// Whether every account with a key has a queue with the numbers below; otherwise only those that ask for one.
        pub auto_enable_api_key_providers: bool, env "RATE_LIMIT_AUTO_ENABLE";
        /// Requests that one account gets within a minute.
        pub requests_per_minute: u32 = 60, in 1..=1_000_000;
        /// Shortest time between two requests to one account.
        pub min_time_between_requests: Millis = Millis::new(350), in Millis::ZERO..=Millis::hours(1);
        /// Requests under way at one account.
        pub concurrent_requests: u32 = 6, in 1..=10_000;
        /// Requests under way in all; 0 is no limit.
        pub global_concurrent_requests: u32, in 0..=100_000;
        /// How long a request waits in a queue at most.
        pub max_wait: Millis = Millis::seconds(30), in Millis::new(1)..=Millis::hours(24), env "RATE_LIMIT_MAX_WAIT_MS";
        /// How long a request may take once it is sent. A longer time for the response to begin extends it.
        pub execution_max_wait: Millis = Millis::seconds(600), in Millis::new(1)..=Millis::hours(24),
            env "RATE_LIMIT_EXECUTION_MAX_WAIT_MS";
        /// Requests that may wait at one account; further ones are refused at once. 0 is no limit.
        pub max_queue_depth: u32, in 0..=100_000, env "RATE_LIMIT_MAX_QUEUE_DEPTH";
    }
}
