//! Session affinity (resilience specification, 9).
//!
//! Scope: one session of a client at one provider. Question: *which account has this session been with?* An agent that
//! stays with one account keeps the cache of its prompt and the proofs of its thinking. It is a wish, never a reason to
//! fail: an account that is spared loses the session to another, and does not get it back when it recovers, because by then
//! the other one knows the conversation.
//!
//! Unlike [`crate::stickiness`], which keeps a conversation at a *target* of a combo, this binds it to an *account*,
//! whatever led there. A session that is new goes to the account that its key wants most; of those wanted alike, to the one
//! used longest ago, so that sessions spread.
//!
//! Sessions are known by a hash that the shell makes. How long they are remembered is an argument: a changed setting holds
//! for the next request.

use std::collections::BTreeMap;

use domain::{ConnectionId, Millis, ProviderId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::lru::Lru;

/// Sessions that are remembered; the ones unused longest are forgotten first.
pub const CAPACITY: usize = 10_000;

/// Which account a session is with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pin {
    pub provider: ProviderId,
    pub connection_id: ConnectionId,
    pub created_at: Timestamp,
    pub last_seen_at: Timestamp,
}

impl Pin {
    /// Ends at exactly the moment at which it was not used for so long.
    pub fn is_live(&self, ttl: Millis, now: Timestamp) -> bool {
        now < self.last_seen_at + ttl
    }
}

/// An account that may be asked now.
#[derive(Clone, Copy, Debug)]
pub struct Eligible<'a> {
    pub connection: &'a ConnectionId,
    /// Its place in the order of the session's key, most wanted first; equal for all that it does not name.
    pub preference: usize,
    /// When it was last asked, by whomever.
    pub last_used_at: Option<Timestamp>,
}

/// Every session and its account.
#[derive(Clone, Debug, PartialEq)]
pub struct Affinity {
    pins: Lru<Pin>,
    /// When each account was last given a new session, and which one in a row that was: requests that arrive together
    /// are not yet known to have used anything.
    given: Lru<(Timestamp, u64)>,
    sessions: u64,
    /// What is not put down yet; none, the pin is gone.
    changes: BTreeMap<String, Option<Pin>>,
}

impl Default for Affinity {
    fn default() -> Self {
        Affinity { pins: Lru::new(CAPACITY), given: Lru::new(CAPACITY), sessions: 0, changes: BTreeMap::new() }
    }
}

impl Affinity {
    /// The account of a session: its own while that may be asked, else the one that is due for a new session, which is its
    /// own from now on. The index into `eligible`, which stands in the order of priority; none, nobody may be asked.
    pub fn choose(
        &mut self,
        session: &str,
        provider: &ProviderId,
        eligible: &[Eligible<'_>],
        ttl: Millis,
        now: Timestamp,
    ) -> Option<usize> {
        if let Some(index) = self.own(session, eligible, ttl, now) {
            self.keep(session, provider, eligible[index].connection, now);
            return Some(index);
        }
        let index = self.due(eligible)?;
        let connection = eligible[index].connection;
        self.sessions += 1;
        self.given.insert(connection.as_str(), (now, self.sessions));
        self.pin(session, provider, connection, now);
        Some(index)
    }

    /// What [`Affinity::choose`] would say, for whoever only looks.
    pub fn would_choose(&self, session: &str, eligible: &[Eligible<'_>], ttl: Millis, now: Timestamp) -> Option<usize> {
        self.own(session, eligible, ttl, now).or_else(|| self.due(eligible))
    }

    /// An account answered. A session without an account stays there; one that meanwhile has another keeps that.
    pub fn served(
        &mut self,
        session: &str,
        provider: &ProviderId,
        connection: &ConnectionId,
        ttl: Millis,
        now: Timestamp,
    ) {
        if !self.pins.peek(session).is_some_and(|pin| pin.is_live(ttl, now)) {
            self.pin(session, provider, connection, now);
        }
    }

    /// An account failed. The session leaves it, unless another request has moved it already.
    pub fn failed(&mut self, session: &str, connection: &ConnectionId) {
        if self.pins.peek(session).is_some_and(|pin| pin.connection_id == *connection) {
            self.drop_pin(session);
        }
    }

    /// The account is gone.
    pub fn forget(&mut self, connection: &ConnectionId) {
        self.drop_all(|pin| pin.connection_id == *connection);
        self.given.remove(connection.as_str());
    }

    /// Forgets sessions that ended.
    pub fn sweep(&mut self, ttl: Millis, now: Timestamp) {
        self.drop_all(|pin| !pin.is_live(ttl, now));
    }

    /// Takes over what outlived a restart, and is still alive.
    pub fn restore(&mut self, stored: impl IntoIterator<Item = (String, Pin)>) {
        let mut stored: Vec<(String, Pin)> = stored.into_iter().collect();
        stored.sort_by_key(|(_, pin)| pin.last_seen_at);
        for (session, pin) in stored {
            self.insert(&session, pin);
        }
        self.changes.retain(|_, change| change.is_none());
    }

    /// What changed since this was last asked, to be put down.
    pub fn take_changes(&mut self) -> BTreeMap<String, Option<Pin>> {
        std::mem::take(&mut self.changes)
    }

    /// What could not be put down, to be told again; what changed since stands.
    pub fn put_back(&mut self, changes: BTreeMap<String, Option<Pin>>) {
        for (session, change) in changes {
            // Pins have a bound, ends have none: an end that is lost leaves a pin that lapses by itself.
            if change.is_some() || self.changes.len() < 2 * CAPACITY {
                self.changes.entry(session).or_insert(change);
            }
        }
    }

    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    pub fn is_empty(&self) -> bool {
        self.pins.is_empty()
    }

    fn own(&self, session: &str, eligible: &[Eligible<'_>], ttl: Millis, now: Timestamp) -> Option<usize> {
        let pin = self.pins.peek(session).filter(|pin| pin.is_live(ttl, now))?;
        eligible.iter().position(|account| *account.connection == pin.connection_id)
    }

    /// Who is given the next new session.
    fn due(&self, eligible: &[Eligible<'_>]) -> Option<usize> {
        (0..eligible.len()).min_by_key(|&index| (eligible[index].preference, self.rested(&eligible[index])))
    }

    /// How an account stands in the line for new sessions, among those wanted alike: never used first, then used longest ago.
    fn rested(&self, account: &Eligible<'_>) -> (Option<Timestamp>, u64) {
        let given = self.given.peek(account.connection.as_str());
        let at = account.last_used_at.max(given.map(|(at, _)| *at));
        (at, given.map_or(0, |(_, number)| *number))
    }

    fn keep(&mut self, session: &str, provider: &ProviderId, connection: &ConnectionId, now: Timestamp) {
        let since = self.pins.peek(session).map_or(now, |pin| pin.created_at);
        self.insert(
            session,
            Pin { provider: provider.clone(), connection_id: connection.clone(), created_at: since, last_seen_at: now },
        );
    }

    fn pin(&mut self, session: &str, provider: &ProviderId, connection: &ConnectionId, now: Timestamp) {
        self.pins.remove(session);
        self.keep(session, provider, connection, now);
    }

    fn insert(&mut self, session: &str, pin: Pin) {
        self.changes.insert(session.to_owned(), Some(pin.clone()));
        if let Some((forgotten, _)) = self.pins.insert(session, pin) {
            self.changes.insert(forgotten, None);
        }
    }

    fn drop_pin(&mut self, session: &str) {
        self.pins.remove(session);
        self.changes.insert(session.to_owned(), None);
    }

    fn drop_all(&mut self, ends: impl Fn(&Pin) -> bool) {
        let ended: Vec<String> =
            self.pins.iter().filter(|(_, pin)| ends(pin)).map(|(session, _)| session.to_owned()).collect();
        ended.iter().for_each(|session| self.drop_pin(session));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategies::fixtures::NOW;

    const TTL: Millis = Millis::minutes(10);

    fn never_used(connection: &ConnectionId) -> Eligible<'_> {
        Eligible { connection, preference: 0, last_used_at: None }
    }

    /// Three accounts that were never used.
    struct World {
        affinity: Affinity,
        provider: ProviderId,
        accounts: [ConnectionId; 3],
    }

    impl World {
        fn new() -> World {
            let accounts = ["a", "b", "c"].map(ConnectionId::from);
            World { affinity: Affinity::default(), provider: "p".into(), accounts }
        }

        /// Who gets a session, among the accounts with these numbers.
        fn choose(&mut self, session: &str, among: &[usize], now: Timestamp) -> Option<usize> {
            let eligible: Vec<Eligible<'_>> = among.iter().map(|&index| never_used(&self.accounts[index])).collect();
            let chosen = self.affinity.choose(session, &self.provider, &eligible, TTL, now)?;
            Some(among[chosen])
        }
    }

    /// SA-05
    #[test]
    fn a_session_stays_while_it_is_used_within_the_time_and_not_at_its_exact_end() {
        let mut world = World::new();
        assert_eq!(world.choose("s", &[0, 1, 2], NOW), Some(0));
        let mut now = NOW;
        for _ in 0..3 {
            now = now + Millis::new(TTL.as_millis() - 1);
            assert_eq!(world.choose("s", &[2, 1, 0], now), Some(0));
        }
        assert_eq!(world.choose("s", &[0, 1, 2], now + TTL), Some(1), "used longest ago");
    }

    /// SA-06
    #[test]
    fn a_session_moves_when_its_account_is_spared_and_does_not_come_back() {
        let mut world = World::new();
        assert_eq!(world.choose("s", &[0, 1, 2], NOW), Some(0));
        assert_eq!(world.choose("s", &[1, 2], NOW), Some(1));
        assert_eq!(world.choose("s", &[0, 1, 2], NOW), Some(1));
        assert_eq!(world.choose("s", &[], NOW), None, "nobody may be asked");
        assert_eq!(world.choose("s", &[0, 1, 2], NOW), Some(1));
    }

    /// SA-08
    #[test]
    fn new_sessions_go_to_the_account_used_longest_ago() {
        let mut world = World::new();
        let given: Vec<_> = (0..6).map(|n| world.choose(&n.to_string(), &[0, 1, 2], NOW)).collect();
        assert_eq!(given, [0, 1, 2, 0, 1, 2].map(Some));
        let used = |account: usize, ago: u64| Eligible {
            connection: &world.accounts[account],
            preference: 0,
            last_used_at: Some(NOW + Millis::new(1_000 - ago)),
        };
        let mut fresh = Affinity::default();
        let eligible = [used(0, 1), used(1, 9), used(2, 5)];
        assert_eq!(fresh.choose("s", &world.provider, &eligible, TTL, NOW), Some(1));
    }

    #[test]
    fn new_sessions_go_to_the_account_that_is_wanted_most_however_often_it_was_used() {
        let mut world = World::new();
        let [a, b, c] = world.accounts.clone();
        let wanted = |connection, preference| Eligible { preference, ..never_used(connection) };
        let eligible = [wanted(&a, 1), wanted(&b, 0), wanted(&c, 1)];
        let choose = |world: &mut World, session: &str, eligible: &[Eligible<'_>]| {
            world.affinity.choose(session, &world.provider, eligible, TTL, NOW)
        };
        let given = ["1", "2", "3"].map(|session| choose(&mut world, session, &eligible));
        assert_eq!(given, [Some(1); 3]);
        let given = ["4", "5", "6"].map(|session| choose(&mut world, session, &[eligible[0], eligible[2]]));
        assert_eq!(given, [Some(0), Some(1), Some(0)], "those wanted alike take turns");
        assert_eq!(choose(&mut world, "4", &eligible), Some(0), "a session stays");
    }

    /// SA-13
    #[test]
    fn a_failure_moves_only_a_session_that_is_still_there() {
        let mut world = World::new();
        let [a, b, _] = world.accounts.clone();
        world.choose("s", &[0], NOW);
        world.affinity.failed("s", &b);
        assert_eq!(world.choose("s", &[0, 1], NOW), Some(0));
        world.affinity.failed("s", &a);
        world.affinity.served("s", &world.provider, &b, TTL, NOW);
        world.affinity.served("s", &world.provider, &a, TTL, NOW);
        assert_eq!(world.choose("s", &[0, 1], NOW), Some(1), "who served first after the failure");
    }

    #[test]
    fn looking_changes_nothing() {
        let mut world = World::new();
        world.choose("s", &[0, 1], NOW);
        let before = world.affinity.clone();
        let eligible = [1, 0].map(|index| never_used(&world.accounts[index]));
        assert_eq!(before.would_choose("s", &eligible, TTL, NOW), Some(1));
        assert_eq!(before.would_choose("t", &eligible, TTL, NOW), Some(0), "never used");
        assert_eq!(before, world.affinity);
    }

    #[test]
    fn what_changed_is_told_once_and_survives_a_restart() {
        let mut world = World::new();
        world.choose("s", &[0, 1], NOW);
        world.choose("t", &[0, 1], NOW);
        let mut stored = world.affinity.take_changes();
        assert!(!world.affinity.has_changes());
        world.affinity.forget(&"a".into());
        stored.extend(world.affinity.take_changes());
        assert_eq!(stored["s"], None);
        let mut later = World::new();
        later.affinity.restore(stored.into_iter().filter_map(|(session, pin)| Some((session, pin?))));
        assert!(!later.affinity.has_changes());
        assert_eq!(later.choose("t", &[0, 1], NOW), Some(1));
        later.affinity.sweep(TTL, NOW + TTL);
        assert!(later.affinity.is_empty());
    }

    #[test]
    fn what_is_put_back_is_told_again_and_what_is_newer_stands() {
        let mut world = World::new();
        world.choose("s", &[0], NOW);
        world.choose("t", &[1], NOW);
        let failed = world.affinity.take_changes();
        world.choose("s", &[2], NOW);
        world.affinity.put_back(failed);
        let told = world.affinity.take_changes();
        let account = |session: &str| told[session].as_ref().map(|pin| pin.connection_id.as_str());
        assert_eq!((account("s"), account("t")), (Some("c"), Some("b")));
        let ended = (0..=3 * CAPACITY).map(|n| (n.to_string(), None)).collect();
        world.affinity.put_back(ended);
        assert_eq!(world.affinity.take_changes().len(), 2 * CAPACITY);
    }

    #[test]
    fn the_memory_has_a_bound_and_what_is_forgotten_is_told() {
        let mut world = World::new();
        (0..=CAPACITY).for_each(|n| {
            world.choose(&n.to_string(), &[0, 1, 2], NOW);
        });
        let changes = world.affinity.take_changes();
        assert_eq!(changes.values().filter(|change| change.is_none()).count(), 1);
        assert_eq!(changes["0"], None);
    }
}
