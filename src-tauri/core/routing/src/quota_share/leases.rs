//! Requests under way, counted so that a lost release does no lasting harm: every dispatch takes a lease, and a lease that
//! was not given back counts no longer after two minutes (gateway specification, 3.6, 6).

use std::collections::BTreeMap;

use domain::{Millis, Timestamp};

/// How long a lease counts.
pub const LEASE: Millis = Millis::seconds(120);

/// Proof of one request under way at a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    slot: String,
    number: u64,
}

/// Leases by slot. A long stream outlives its lease: caps are the gate's business, this only helps to choose.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Leases {
    slots: BTreeMap<String, BTreeMap<u64, Timestamp>>,
    next: u64,
}

impl Leases {
    /// A request is dispatched.
    pub fn acquire(&mut self, slot: &str, now: Timestamp) -> Lease {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        let held = self.slots.entry(slot.to_owned()).or_default();
        held.retain(|_, until| *until > now);
        held.insert(number, now + LEASE);
        Lease { slot: slot.to_owned(), number }
    }

    /// The request ended. A lease given back twice, or after its end, changes nothing.
    pub fn release(&mut self, lease: &Lease) {
        if let Some(held) = self.slots.get_mut(&lease.slot) {
            held.remove(&lease.number);
            if held.is_empty() {
                self.slots.remove(&lease.slot);
            }
        }
    }

    /// The request goes to another slot; its time goes on.
    pub fn moved(&mut self, lease: Lease, slot: &str) -> Lease {
        let until = self.slots.get(&lease.slot).and_then(|held| held.get(&lease.number)).copied();
        self.release(&lease);
        if let Some(until) = until {
            self.slots.entry(slot.to_owned()).or_default().insert(lease.number, until);
        }
        Lease { slot: slot.to_owned(), number: lease.number }
    }

    /// Requests under way at a slot.
    pub fn in_flight(&self, slot: &str, now: Timestamp) -> u32 {
        let held = self.slots.get(slot).map_or(0, |held| held.values().filter(|until| **until > now).count());
        u32::try_from(held).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::ZERO + Millis::seconds(seconds)
    }

    // QS-22
    #[test]
    fn a_lease_never_given_back_counts_for_two_minutes() {
        let mut leases = Leases::default();
        leases.acquire("c1", at(0));
        assert_eq!(leases.in_flight("c1", at(119)), 1);
        assert_eq!(leases.in_flight("c1", at(120)), 0);
    }

    #[test]
    fn a_lease_moves_with_its_request_and_is_given_back_once() {
        let mut leases = Leases::default();
        let first = leases.acquire("c1", at(0));
        leases.acquire("c1", at(0));
        let moved = leases.moved(first.clone(), "c2");
        assert_eq!((leases.in_flight("c1", at(1)), leases.in_flight("c2", at(1))), (1, 1));
        leases.release(&first);
        assert_eq!(leases.in_flight("c1", at(1)), 1, "the old proof is worth nothing");
        leases.release(&moved);
        leases.release(&moved);
        assert_eq!(leases.in_flight("c2", at(1)), 0);
    }

    proptest! {
        #[test]
        fn everything_given_back_leaves_nothing(steps in prop::collection::vec((0_u8..3, 0_u8..4), 0..100)) {
            let mut leases = Leases::default();
            let mut held = Vec::new();
            for (act, slot) in steps {
                let slot = slot.to_string();
                match (act, held.pop()) {
                    (0, Some(lease)) => leases.release(&lease),
                    (1, Some(lease)) => held.push(leases.moved(lease, &slot)),
                    (_, popped) => {
                        held.extend(popped);
                        held.push(leases.acquire(&slot, at(0)));
                    }
                }
                let counted: u32 = (0_u8..4).map(|slot| leases.in_flight(&slot.to_string(), at(1))).sum();
                prop_assert_eq!(counted as usize, held.len());
            }
            for lease in &held {
                leases.release(lease);
            }
            prop_assert!(leases.slots.is_empty());
        }
    }
}
