//! hyper's timer over the injected clock, so that a header time-out too obeys the time a test sets.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use domain::{Clock, Millis, Timestamp};
use hyper::rt::{Sleep, Timer};
use parking_lot::Mutex;

/// Maps the clock's instants to `std`'s, which hyper calculates with.
#[derive(Clone)]
pub(crate) struct ClockTimer {
    clock: Arc<dyn Clock>,
    anchor: Instant,
    anchored_at: Timestamp,
}

impl ClockTimer {
    #[expect(clippy::disallowed_methods, reason = "an arbitrary origin: only differences to it are used")]
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let anchored_at = clock.now();
        ClockTimer { clock, anchor: Instant::now(), anchored_at }
    }

    fn sleep_until_instant(&self, at: Timestamp) -> Pin<Box<dyn Sleep>> {
        Box::pin(ClockSleep(Mutex::new(self.clock.sleep_until(at))))
    }
}

impl Timer for ClockTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until_instant(self.clock.now() + millis(duration))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        let ahead = deadline.saturating_duration_since(self.anchor);
        self.sleep_until_instant(self.anchored_at + millis(ahead))
    }

    fn now(&self) -> Instant {
        let elapsed = Duration::from(self.clock.now().since(self.anchored_at));
        self.anchor.checked_add(elapsed).unwrap_or(self.anchor)
    }
}

/// The clock's sleep behind a lock that is never contended: hyper asks for `Sync`, and polls through `&mut`.
struct ClockSleep(Mutex<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Future for ClockSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.get_mut().as_mut().poll(context)
    }
}

impl Sleep for ClockSleep {}

/// Rounded up, so that a deadline is never reached early.
fn millis(duration: Duration) -> Millis {
    let whole = u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
    Millis::new(whole)
}
