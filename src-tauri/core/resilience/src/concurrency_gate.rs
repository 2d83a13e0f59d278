//! Concurrency gate.
//!
//! Scope: one connection. Question: *may one more request be under way?* It knows nothing of failures: a full gate is no
//! sign of ill health, only of a cap that its owner set. The count moves with permits, so it can neither leak nor go
//! negative as long as every permit is settled once, which the Engine enforces.

/// Requests under way on one connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConcurrencyGate {
    in_flight: u32,
}

impl ConcurrencyGate {
    /// Whether one more fits under `cap`; no cap, no limit.
    pub fn check(&self, cap: Option<u32>) -> bool {
        cap.is_none_or(|cap| self.in_flight < cap)
    }

    /// Takes a place, or nothing when the gate is full.
    pub fn acquire(&mut self, cap: Option<u32>) -> bool {
        let free = self.check(cap);
        if free {
            self.in_flight += 1;
        }
        free
    }

    /// Gives a place back.
    pub fn release(&mut self) {
        debug_assert!(self.in_flight > 0, "a place was given back that nobody had taken");
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_is_never_exceeded() {
        let mut gate = ConcurrencyGate::default();
        assert!(gate.acquire(Some(2)) && gate.acquire(Some(2)));
        assert!(!gate.acquire(Some(2)));
        gate.release();
        assert!(gate.acquire(Some(2)));
        assert_eq!(gate.in_flight(), 2);
    }

    #[test]
    fn without_a_cap_everything_fits() {
        let mut gate = ConcurrencyGate::default();
        assert!((0..1_000).all(|_| gate.acquire(None)));
    }

    #[test]
    fn a_lowered_cap_applies_to_the_next_request() {
        let mut gate = ConcurrencyGate::default();
        assert!(gate.acquire(Some(3)) && gate.acquire(Some(3)));
        assert!(!gate.check(Some(1)));
    }
}
