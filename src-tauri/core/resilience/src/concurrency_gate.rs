//! Concurrency gates: everything, a provider, an account, a model, all or nothing (resilience specification, 14).
//!
//! Scope: whatever a [`GateKey`] names. Question: *may one more request be under way?* A gate knows nothing of failures: a
//! full one is no sign of ill health, only of a cap that somebody set, so nobody's health is touched by it.
//!
//! A request asks for all its gates in one step and holds none while it waits: one that waits for a model cannot keep
//! another model's request out of the account, and no two requests can hold what the other needs. The order of those who
//! wait is the business of `waiting_room`; this file counts. It counts everybody at the outer gates, with a cap or without,
//! so that a cap set later knows who is under way; the gates of a model, of a quota-share account and of a combo's target
//! exist only where a cap is set.
//!
//! Places move with permits: a request that got in carries a [`Held`] that names what it holds, is not copied and is given
//! back whole, so a count can neither leak nor go below zero.

use std::collections::BTreeMap;
use std::fmt;

use domain::{ConnectionId, Millis, ProviderId};

/// What one gate guards.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateKey {
    /// All requests of this gateway.
    Global,
    Provider(ProviderId),
    Account(ConnectionId),
    /// One model of an account, as the upstream calls it.
    Model(ConnectionId, String),
    /// The quota-share requests of an account, which wait for each other but are never refused (14.4).
    QuotaShare(ConnectionId),
    /// One target of a round-robin combo (gateway specification, 3.4).
    Target {
        combo: String,
        execution_key: String,
    },
}

/// How long, and behind how many others, a request waits at a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    pub wait: Millis,
    /// The most that may wait at one gate; none, any number.
    pub depth: Option<u32>,
}

impl Default for Patience {
    fn default() -> Self {
        Patience { wait: Millis::seconds(30), depth: Some(20) }
    }
}

/// One gate a request has to pass, with its cap; no cap, it is only counted there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claim {
    pub key: GateKey,
    pub cap: Option<u32>,
}

/// The places one request under way has taken.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Held(Vec<GateKey>);

/// Every gate somebody is in or waits at. Caps are not kept here: each request brings those of its moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConcurrencyGates {
    gates: BTreeMap<GateKey, Gate>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Gate {
    in_flight: u32,
    waiting: u32,
}

impl ConcurrencyGates {
    pub fn is_full(&self, claim: &Claim) -> bool {
        claim.cap.is_some_and(|cap| self.in_flight(&claim.key) >= cap)
    }

    /// The first of the gates, outermost first, that lets nobody in.
    pub fn full<'a>(&self, claims: &'a [Claim]) -> Option<&'a GateKey> {
        claims.iter().find(|claim| self.is_full(claim)).map(|claim| &claim.key)
    }

    /// The first gate that is full and at which as many wait as may.
    pub fn crowded<'a>(&self, claims: &'a [Claim], depth: Option<u32>) -> Option<&'a GateKey> {
        let depth = depth?;
        let crowded = |claim: &&Claim| self.is_full(claim) && self.waiting(&claim.key) >= depth;
        claims.iter().find(crowded).map(|claim| &claim.key)
    }

    /// Takes a place at every gate, or at none.
    pub fn acquire(&mut self, claims: Vec<Claim>) -> Option<Held> {
        self.full(&claims).is_none().then(|| self.enter(claims))
    }

    /// Takes a place at every gate, full or not: the caller has seen to it, or counts a test.
    pub fn enter(&mut self, claims: Vec<Claim>) -> Held {
        let held = claims.into_iter().map(|Claim { key, .. }| {
            self.gates.entry(key.clone()).or_default().in_flight += 1;
            key
        });
        Held(held.collect())
    }

    /// Gives every place back and says at which gates.
    pub fn release(&mut self, held: Held) -> Vec<GateKey> {
        for key in &held.0 {
            self.change(key, |gate| gate.in_flight = gate.in_flight.saturating_sub(1));
        }
        held.0
    }

    /// One more waits for these gates.
    pub fn wait(&mut self, claims: &[Claim]) {
        for claim in claims {
            self.gates.entry(claim.key.clone()).or_default().waiting += 1;
        }
    }

    /// One no longer waits for them.
    pub fn leave(&mut self, claims: &[Claim]) {
        for claim in claims {
            self.change(&claim.key, |gate| gate.waiting = gate.waiting.saturating_sub(1));
        }
    }

    pub fn in_flight(&self, key: &GateKey) -> u32 {
        self.gates.get(key).map_or(0, |gate| gate.in_flight)
    }

    pub fn waiting(&self, key: &GateKey) -> u32 {
        self.gates.get(key).map_or(0, |gate| gate.waiting)
    }

    /// A gate at which nobody is any more is forgotten.
    fn change(&mut self, key: &GateKey, change: impl FnOnce(&mut Gate)) {
        if let Some(gate) = self.gates.get_mut(key) {
            change(gate);
            if gate.in_flight == 0 && gate.waiting == 0 {
                self.gates.remove(key);
            }
        }
    }
}

impl Held {
    pub fn keys(&self) -> &[GateKey] {
        &self.0
    }

    /// The place among the quota-share requests of an account, which may outlive the attempt that took it; none, it has
    /// none.
    pub(crate) fn take_share(&mut self) -> Option<Held> {
        let at = self.0.iter().position(|key| matches!(key, GateKey::QuotaShare(_)))?;
        Some(Held(vec![self.0.remove(at)]))
    }

    /// Takes over what another one holds.
    pub(crate) fn join(&mut self, other: Held) {
        self.0.extend(other.0);
    }
}

/// For diagnostics; names of accounts are not in it.
impl fmt::Display for GateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GateKey::Global => f.write_str("global"),
            GateKey::Provider(provider) => write!(f, "provider:{provider}"),
            GateKey::Account(connection) => write!(f, "account:{connection}"),
            GateKey::Model(connection, model) => write!(f, "model:{connection}:{model}"),
            GateKey::QuotaShare(connection) => write!(f, "qsconn:{connection}"),
            GateKey::Target { combo, execution_key } => write!(f, "combo:{combo}:{execution_key}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(cap: Option<u32>) -> Claim {
        Claim { key: GateKey::Account("c1".into()), cap }
    }

    fn model(name: &str, cap: u32) -> Claim {
        Claim { key: GateKey::Model("c1".into(), name.to_owned()), cap: Some(cap) }
    }

    #[test]
    fn a_cap_is_never_exceeded() {
        let mut gates = ConcurrencyGates::default();
        let first = gates.acquire(vec![account(Some(2))]).expect("it is empty");
        let _second = gates.acquire(vec![account(Some(2))]).expect("one place is free");
        assert_eq!(gates.acquire(vec![account(Some(2))]), None);
        assert_eq!(gates.release(first), [GateKey::Account("c1".into())]);
        assert!(gates.acquire(vec![account(Some(2))]).is_some());
        assert_eq!(gates.in_flight(&GateKey::Account("c1".into())), 2);
    }

    #[test]
    fn all_gates_are_taken_or_none() {
        // QS-12
        let mut gates = ConcurrencyGates::default();
        let _held = gates.acquire(vec![account(Some(4)), model("glm-5", 1)]);
        assert_eq!(gates.acquire(vec![account(Some(4)), model("glm-5", 1)]), None);
        assert_eq!(gates.in_flight(&GateKey::Account("c1".into())), 1);
        assert!(gates.acquire(vec![account(Some(4)), model("glm-4.7", 3)]).is_some());
    }

    #[test]
    fn without_a_cap_everything_fits_and_a_cap_set_later_knows_who_is_under_way() {
        let mut gates = ConcurrencyGates::default();
        assert!((0..1_000).all(|_| gates.acquire(vec![account(None)]).is_some()));
        assert_eq!(gates.acquire(vec![account(Some(1_000))]), None);
        assert!(gates.acquire(vec![account(Some(1_001))]).is_some());
        assert!(gates.is_full(&account(Some(3))), "a lowered cap sends nobody away and lets nobody in");
    }

    #[test]
    fn a_gate_is_crowded_when_it_is_full_and_enough_wait() {
        let mut gates = ConcurrencyGates::default();
        let claims = [account(Some(1))];
        assert_eq!(gates.crowded(&claims, Some(0)), None, "nobody is in");
        let _held = gates.acquire(claims.to_vec());
        assert_eq!(gates.crowded(&claims, Some(0)), Some(&claims[0].key));
        gates.wait(&claims);
        for (depth, crowded) in [(Some(1), true), (Some(2), false), (None, false)] {
            assert_eq!(gates.crowded(&claims, depth).is_some(), crowded, "{depth:?}");
        }
        gates.leave(&claims);
        assert_eq!(gates.waiting(&claims[0].key), 0);
    }

    #[test]
    fn a_gate_at_which_nobody_is_leaves_nothing_behind() {
        let mut gates = ConcurrencyGates::default();
        let held = gates.acquire(vec![account(Some(1)), model("m", 1)]).expect("all are empty");
        gates.release(held);
        assert_eq!(gates, ConcurrencyGates::default());
    }

    #[test]
    fn gates_are_named_as_the_specification_names_them() {
        let target = GateKey::Target { combo: "fast".to_owned(), execution_key: "k1".to_owned() };
        assert_eq!(target.to_string(), "combo:fast:k1");
        assert_eq!(GateKey::QuotaShare("c1".into()).to_string(), "qsconn:c1");
    }
}
