//! Slows down guessing of keys and tokens (gateway specification, 8.3 rule 9).
//!
//! Counts failures per peer in fixed minutes. A valid key is never held up: the throttle is asked only after one was
//! found to be wrong. Bounded: the table forgets peers whose minute is over, and holds no more than 1 024.

use std::collections::BTreeMap;
use std::net::IpAddr;

use domain::{Millis, Timestamp};

const FAILURES_PER_WINDOW: u32 = 20;
const WINDOW: Millis = Millis::minutes(1);
const PEERS: usize = 1_024;

#[derive(Debug, Default)]
pub struct Throttle {
    peers: BTreeMap<IpAddr, Window>,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    began: Timestamp,
    failures: u32,
}

impl Throttle {
    /// A wrong key came from `peer`. `Err` says how long further wrong ones are refused unread.
    pub fn on_failure(&mut self, peer: IpAddr, now: Timestamp) -> Result<(), Millis> {
        self.forget_old(now);
        if self.peers.len() >= PEERS && !self.peers.contains_key(&peer) {
            return Err(WINDOW);
        }
        let window = self.peers.entry(peer).or_insert(Window { began: now, failures: 0 });
        window.failures = window.failures.saturating_add(1);
        if window.failures > FAILURES_PER_WINDOW { Err((window.began + WINDOW).since(now)) } else { Ok(()) }
    }

    fn forget_old(&mut self, now: Timestamp) {
        self.peers.retain(|_, window| window.began + WINDOW > now);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn the_twenty_first_wrong_key_in_a_minute_is_refused_until_the_minute_is_over() {
        let mut throttle = Throttle::default();
        let at = Timestamp::from_millis;
        for n in 0..20 {
            assert_eq!(throttle.on_failure(PEER, at(n)), Ok(()));
        }
        assert_eq!(throttle.on_failure(PEER, at(40_000)), Err(Millis::seconds(20)));
        assert_eq!(throttle.on_failure(PEER, at(60_000)), Ok(()));
    }

    #[test]
    fn peers_do_not_share_a_count() {
        let mut throttle = Throttle::default();
        for _ in 0..30 {
            let _ = throttle.on_failure(PEER, Timestamp::ZERO);
        }
        assert_eq!(throttle.on_failure(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2)), Timestamp::ZERO), Ok(()));
    }
}
