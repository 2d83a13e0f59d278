//! The two clocks.
//!
//! Both follow specification's decision 27: `now = max(anchor + monotonic elapsed, wall clock)`, and never less than
//! before. A wall clock that is set back prolongs nothing; a step forward counts as time that passed, because it cannot
//! be told from a computer that slept.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use domain::{Clock, Millis, Timestamp};
use tokio::sync::watch;

/// Monotonic time stands still while a computer sleeps, so a long wait looks at the wall clock this often.
const LONGEST_NAP: Millis = Millis::seconds(30);

/// Real time. Clones share what they have shown.
#[derive(Clone, Debug)]
pub struct SystemClock {
    reading: Arc<Reading>,
}

#[derive(Debug)]
struct Reading {
    anchor: Instant,
    anchored_at: Timestamp,
    /// The latest instant shown, in milliseconds.
    shown: AtomicU64,
    /// When the wall clock was last looked at, in milliseconds from the anchor.
    elapsed: AtomicU64,
}

impl SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is given")]
    pub fn start() -> Self {
        let anchored_at = wall_clock();
        let shown = AtomicU64::new(anchored_at.as_millis());
        SystemClock {
            reading: Arc::new(Reading {
                anchor: Instant::now(),
                anchored_at,
                shown,
                elapsed: AtomicU64::new(u64::MAX),
            }),
        }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let reading = &self.reading;
        let elapsed = u64::try_from(reading.anchor.elapsed().as_millis()).unwrap_or(u64::MAX);
        // Asked dozens of times in a millisecond: only the first looks at the wall clock and writes to what all threads read.
        if reading.elapsed.load(Ordering::Acquire) == elapsed {
            return Timestamp::from_millis(reading.shown.load(Ordering::Relaxed));
        }
        let now = (reading.anchored_at + Millis::new(elapsed)).max(wall_clock());
        let shown = reading.shown.fetch_max(now.as_millis(), Ordering::Relaxed);
        reading.elapsed.store(elapsed, Ordering::Release);
        now.max(Timestamp::from_millis(shown))
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is given")]
    fn sleep_until(&self, at: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let clock = self.clone();
        Box::pin(async move {
            loop {
                let left = at.since(clock.now());
                if left.is_zero() {
                    return;
                }
                tokio::time::sleep(Duration::from(left.min(LONGEST_NAP))).await;
            }
        })
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is given")]
fn wall_clock() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Timestamp::from_millis(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX))
}

/// Time that moves when a test says so. Clones are the same clock.
#[derive(Clone, Debug)]
pub struct ManualClock {
    hands: Arc<watch::Sender<Hands>>,
}

#[derive(Clone, Copy, Debug)]
struct Hands {
    monotonic: Timestamp,
    wall: Timestamp,
    shown: Timestamp,
}

impl ManualClock {
    pub fn new(now: Timestamp) -> Self {
        let hands = Hands { monotonic: now, wall: now, shown: now };
        ManualClock { hands: Arc::new(watch::Sender::new(hands)) }
    }

    /// Lets time pass, for the monotonic and the wall clock alike. Whoever waits for an instant in between wakes.
    pub fn advance(&self, length: Millis) {
        self.turn(|hands| {
            hands.monotonic = hands.monotonic + length;
            hands.wall = hands.wall + length;
        });
    }

    /// Sets the wall clock, forward or back, as a user or a time server would.
    pub fn jump_wall(&self, to: Timestamp) {
        self.turn(|hands| hands.wall = to);
    }

    fn turn(&self, by: impl FnOnce(&mut Hands)) {
        self.hands.send_modify(|hands| {
            by(hands);
            hands.shown = hands.shown.max(hands.monotonic).max(hands.wall);
        });
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.hands.borrow().shown
    }

    fn sleep_until(&self, at: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let mut hands = self.hands.subscribe();
        Box::pin(async move {
            // The sender lives in every clone of the clock; when all are gone, nobody will ever turn the hands again.
            if hands.wait_for(|hands| hands.shown >= at).await.is_err() {
                std::future::pending().await
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn a_wall_clock_set_back_changes_nothing() {
        let clock = ManualClock::new(at(10_000));
        clock.jump_wall(at(1_000));
        assert_eq!(clock.now(), at(10_000));
        clock.advance(Millis::new(500));
        assert_eq!(clock.now(), at(10_500));
    }

    #[test]
    fn a_wall_clock_set_forward_is_time_that_passed() {
        let clock = ManualClock::new(at(10_000));
        clock.jump_wall(at(60_000));
        assert_eq!(clock.now(), at(60_000));
        clock.jump_wall(at(10_000));
        clock.advance(Millis::new(1));
        assert_eq!(clock.now(), at(60_000), "time never runs backwards");
    }

    #[tokio::test]
    async fn sleepers_wake_when_their_instant_comes() {
        let clock = ManualClock::new(at(0));
        let (early, late) = (clock.sleep_until(at(10)), clock.sleep_until(at(20)));
        clock.advance(Millis::new(10));
        early.await;
        let waiting = tokio::select! { biased; () = late => false, () = std::future::ready(()) => true };
        assert!(waiting);
    }

    #[tokio::test]
    async fn the_system_clock_moves_forward_and_wakes_in_time() {
        let clock = SystemClock::start();
        let before = clock.now();
        clock.sleep_until(before + Millis::new(5)).await;
        assert!(clock.now() >= before + Millis::new(5));
        clock.sleep_until(before).await;
    }
}
