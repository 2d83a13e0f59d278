//! Throughput watchdog (resilience specification, 17.3).
//!
//! Scope: one attempt's stream. Question: *does useful output come fast enough to be worth the wait?* Different from the idle
//! timer, which silence alone trips, and from the content stall, which ends with the first output: this one watches a
//! stream that goes on and on and says next to nothing.
//!
//! Only text counts. A model that thinks or writes a tool call is at work without any text, so the watch pauses then, and
//! the next text begins a window of its own. Nothing is judged before the warm-up and one whole window have passed: a slow
//! start is the content stall's business. Nor is a client that reads slowly the upstream's doing: whoever watches lets no
//! time pass here while nobody asks for more.

use std::collections::VecDeque;

use domain::{Millis, Timestamp, section};

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

/// How often a stream is looked at while nothing comes.
const EVERY: Millis = Millis::seconds(1);
/// The window is kept in so many parts at most, however small the pieces are.
const PARTS: u64 = 256;

/// Watches one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThroughputWatchdog {
    /// Before this instant nothing is judged, beside the window itself.
    begins: Timestamp,
    /// The model thinks, or writes a tool call.
    suspended: bool,
    /// Useful bytes and when they came, oldest first.
    seen: VecDeque<(Timestamp, u64)>,
}

impl ThroughputWatchdog {
    /// The stream opened.
    pub fn new(config: &Config, now: Timestamp) -> Self {
        ThroughputWatchdog { begins: now + config.warmup, suspended: false, seen: VecDeque::new() }
    }

    /// So many bytes of text came.
    pub fn on_text(&mut self, config: &Config, bytes: usize, now: Timestamp) {
        if bytes == 0 {
            return;
        }
        if std::mem::take(&mut self.suspended) {
            self.seen.clear();
            self.begins = self.begins.max(now);
        }
        let part = Millis::new(config.window.as_millis() / PARTS);
        let bytes = bytes as u64;
        match self.seen.back_mut() {
            Some((at, sum)) if now < *at + part => *sum = sum.saturating_add(bytes),
            Some(_) | None => self.seen.push_back((now, bytes)),
        }
        while self.seen.front().is_some_and(|(at, _)| *at + config.window < now) {
            self.seen.pop_front();
        }
    }

    /// The model is at work without any text.
    pub fn on_other_work(&mut self) {
        self.suspended = true;
    }

    /// Whether the stream is to be given up.
    pub fn check(&self, config: &Config, now: Timestamp) -> bool {
        if !config.enabled || self.suspended || now < self.begins + config.window {
            return false;
        }
        let within = self.seen.iter().filter(|(at, _)| *at + config.window >= now);
        let bytes = within.fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
        let judged = bytes == 0 || bytes >= u64::from(config.min_useful_bytes);
        // Bytes by second, without a fraction: both sides times the window in milliseconds.
        let needed = u64::from(config.min_useful_bytes_per_second).saturating_mul(config.window.as_millis());
        judged && bytes.saturating_mul(1_000) < needed
    }

    /// When to look again; none while there is nothing to judge.
    pub fn next_deadline(&self, config: &Config, now: Timestamp) -> Option<Timestamp> {
        (config.enabled && !self.suspended).then(|| (self.begins + config.window).max(now + EVERY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        Config { enabled: true, ..Config::default() }
    }

    fn s(seconds: u64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    /// A stream with so many bytes every second, until this second or until it is given up.
    fn trips_at(bytes: usize, end: u64) -> Option<u64> {
        let config = config();
        let mut watchdog = ThroughputWatchdog::new(&config, s(0));
        (1..=end).find(|second| {
            watchdog.on_text(&config, bytes, s(*second));
            watchdog.check(&config, s(*second))
        })
    }

    /// ST-11
    #[test]
    fn off_it_never_trips() {
        let off = Config::default();
        let watchdog = ThroughputWatchdog::new(&off, s(0));
        assert!(!watchdog.check(&off, s(600)));
        assert_eq!(watchdog.next_deadline(&off, s(600)), None);
    }

    /// ST-12, ST-13
    #[test]
    fn too_little_trips_after_warm_up_and_window_and_just_enough_never() {
        assert_eq!(trips_at(2, 600), Some(60));
        assert_eq!(trips_at(0, 600), Some(60));
        assert_eq!(trips_at(4, 3_600), None);
        assert_eq!(ThroughputWatchdog::new(&config(), s(0)).next_deadline(&config(), s(3)), Some(s(60)));
        assert_eq!(ThroughputWatchdog::new(&config(), s(0)).next_deadline(&config(), s(61)), Some(s(62)));
    }

    /// ST-15
    #[test]
    fn thinking_and_tool_calls_pause_the_watch_and_text_begins_a_window_anew() {
        let config = config();
        let mut watchdog = ThroughputWatchdog::new(&config, s(0));
        watchdog.on_other_work();
        assert!(!watchdog.check(&config, s(300)));
        assert_eq!(watchdog.next_deadline(&config, s(300)), None);
        watchdog.on_text(&config, 1, s(300));
        assert!(!watchdog.check(&config, s(329)));
        assert!(watchdog.check(&config, s(330)));
    }

    #[test]
    fn a_little_is_not_judged_where_more_is_needed_for_a_judgement() {
        let config = Config { min_useful_bytes: 10, ..config() };
        let mut watchdog = ThroughputWatchdog::new(&config, s(0));
        watchdog.on_text(&config, 9, s(59));
        assert!(!watchdog.check(&config, s(60)));
        watchdog.on_text(&config, 1, s(60));
        assert!(watchdog.check(&config, s(60)));
    }

    #[test]
    fn a_long_window_is_kept_in_few_parts() {
        let config = Config { window: Millis::minutes(10), ..config() };
        let mut watchdog = ThroughputWatchdog::new(&config, s(0));
        for tick in 0..1_000_000_u64 {
            watchdog.on_text(&config, 1, Timestamp::from_millis(tick));
        }
        assert!(watchdog.seen.len() as u64 <= PARTS + 2, "{}", watchdog.seen.len());
    }
}
