//! Stream watchdogs: readiness and content stall (resilience specification, 17.1 and 17.2).
//!
//! Scope: one stream. Question: *is anything useful still coming?* A stream can be alive, with pings and life-cycle frames,
//! and yet never answer; silence on the wire is another fault, and the idle timer's business.
//!
//! The budget runs from the opening of the stream. Reasoning restarts it, because a model that thinks is at work; the first
//! real output ends the watch for good. Pings, usage and life-cycle frames do neither.

use domain::{Millis, Timestamp, section};

section! {
    /// What a stream that stays alive without output costs its account.
    pub struct StallCooldown {
        /// Whether a stalled stream rests the account; otherwise it is only noted.
        pub enabled: bool;
    }
}

/// How large a request is, as far as it lengthens the time to the first output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub messages: u32,
    pub tools: u32,
    pub bytes: u64,
}

/// The time a stream has until its first useful content: `base` and what the request adds, at most `ceiling`. A base of
/// zero is off.
pub fn readiness(base: Millis, ceiling: Millis, size: Size) -> Millis {
    if base.is_zero() {
        return base;
    }
    let messages = match size.messages {
        401.. => 45,
        151.. => 20,
        _ => 0,
    };
    let tools = if size.tools >= 15 { 15 } else { 0 };
    let bytes = match size.bytes {
        750_001.. => 45,
        250_001.. => 20,
        _ => 0,
    };
    let extended = Millis::new(base.as_millis().saturating_add(1_000 * (messages + tools + bytes)));
    extended.min(ceiling.max(base))
}

/// Watches one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamWatchdog {
    /// Absent once real output was seen.
    watching_since: Option<Timestamp>,
    /// Since the last sign of thinking, once there was one.
    stall: Option<Timestamp>,
}

/// How long each phase may take; zero is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// Until anything useful comes.
    pub readiness: Millis,
    /// From the last sign of thinking.
    pub stall: Millis,
}

impl StreamWatchdog {
    /// The stream opened.
    pub fn new(now: Timestamp) -> Self {
        StreamWatchdog { watching_since: Some(now), stall: None }
    }

    /// The model is at work, without output yet.
    pub fn on_progress(&mut self, now: Timestamp) {
        self.stall = Some(now);
    }

    /// Real output: the watch is over.
    pub fn on_output(&mut self) {
        self.watching_since = None;
    }

    /// When the stream counts as stalled, unless something useful comes before.
    pub fn next_deadline(&self, budgets: &Budgets) -> Option<Timestamp> {
        let opened = self.watching_since?;
        let (since, budget) = match self.stall {
            Some(last) => (last, budgets.stall.max(budgets.readiness)),
            None => (opened, budgets.readiness),
        };
        (!budget.is_zero()).then(|| since + budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGETS: Budgets = Budgets { readiness: Millis::seconds(80), stall: Millis::seconds(300) };

    fn s(seconds: u64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn the_first_output_ends_the_watch_for_good() {
        let mut watchdog = StreamWatchdog::new(s(0));
        assert_eq!(watchdog.next_deadline(&BUDGETS), Some(s(80)));
        watchdog.on_output();
        watchdog.on_progress(s(5));
        assert_eq!(watchdog.next_deadline(&BUDGETS), None);
    }

    /// ST-03, ST-05
    #[test]
    fn thinking_restarts_the_budget_and_silence_after_it_trips() {
        let mut watchdog = StreamWatchdog::new(s(0));
        for minute in 1..20 {
            watchdog.on_progress(s(60 * minute));
            assert_eq!(watchdog.next_deadline(&BUDGETS), Some(s(60 * minute + 300)));
        }
    }

    #[test]
    fn zero_is_off() {
        let off = Budgets { readiness: Millis::ZERO, stall: Millis::ZERO };
        let mut watchdog = StreamWatchdog::new(s(0));
        assert_eq!(watchdog.next_deadline(&off), None);
        watchdog.on_progress(s(1));
        assert_eq!(watchdog.next_deadline(&off), None);
    }

    #[test]
    fn large_requests_get_more_time() {
        let base = Millis::seconds(80);
        for (messages, tools, bytes, expected) in [
            (1, 0, 1_000, 80),
            (150, 14, 250_000, 80),
            (151, 0, 0, 100),
            (401, 0, 0, 125),
            (0, 15, 0, 95),
            (0, 0, 250_001, 100),
            (0, 0, 750_001, 125),
            (500, 20, 1_000_000, 180),
        ] {
            let size = Size { messages, tools, bytes };
            assert_eq!(readiness(base, Millis::seconds(180), size), Millis::seconds(expected), "{size:?}");
        }
        assert_eq!(readiness(Millis::ZERO, Millis::seconds(180), Size::default()), Millis::ZERO);
    }
}
