//! Who waits for a place, and in which order.
//!
//! Scope: all requests that wait for gates or for their queue. Question: *whose turn is it?* Those who need exactly the
//! same things stand in one lane, first come, first served. A lane stands at one thing that is closed to it: when that
//! opens, its first request is looked at, and goes, or the lane moves to the next closed thing on its list. So a lane that
//! waits for one gate is never in the way of a lane that needs others, and of two lanes at one gate the longer waiting
//! request comes first.
//!
//! Nothing is searched: opening a gate looks only at lanes that stand at it and stops when it has closed again, so five
//! thousand waiting requests leave in five thousand steps of logarithmic cost.
//!
//! This file knows neither gates nor queues, only that something is closed; what a request that waits is made of is its
//! owner's business (`T`).

use std::collections::{BTreeMap, BTreeSet};

use domain::Timestamp;

use crate::concurrency_gate::{Claim, GateKey};
use crate::request_queue::QueueKey;

/// A place in the line. Numbers grow, so an earlier one was there first; those who let everybody else go first have numbers
/// behind all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

/// Where the numbers begin of those who let everybody else go first.
const LOWERED: u64 = 1 << 63;

impl Ticket {
    pub(crate) fn new(number: u64) -> Self {
        Ticket(number)
    }

    pub(crate) fn lowered(number: u64) -> Self {
        Ticket(LOWERED | number)
    }

    /// For logs.
    pub fn number(self) -> u64 {
        self.0 & !LOWERED
    }
}

/// Everything one request has to pass.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Needs {
    pub queue: Option<QueueKey>,
    /// Outermost first.
    pub gates: Vec<Claim>,
}

/// One thing that can be closed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Barrier {
    Queue(QueueKey),
    Gate(GateKey),
}

#[derive(Clone, Debug, PartialEq)]
pub struct WaitingRoom<T> {
    lanes: BTreeMap<u64, Lane<T>>,
    lane_of: BTreeMap<Needs, u64>,
    next_lane: u64,
    /// The lanes at a barrier by their first ticket.
    standing: BTreeMap<Barrier, BTreeSet<(Ticket, u64)>>,
    tickets: BTreeMap<Ticket, u64>,
    deadlines: BTreeSet<(Timestamp, Ticket)>,
}

#[derive(Clone, Debug, PartialEq)]
struct Lane<T> {
    needs: Needs,
    at: Barrier,
    line: BTreeMap<Ticket, Waiting<T>>,
}

/// One request that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting<T> {
    /// The instant at which its patience ends.
    pub until: Timestamp,
    pub what: T,
}

/// A request that has left the room.
#[derive(Clone, Debug, PartialEq)]
pub struct Left<T> {
    pub ticket: Ticket,
    pub needs: Needs,
    /// Where its lane stood.
    pub at: Barrier,
    pub waiting: Waiting<T>,
}

impl<T> Default for WaitingRoom<T> {
    fn default() -> Self {
        WaitingRoom {
            lanes: BTreeMap::new(),
            lane_of: BTreeMap::new(),
            next_lane: 0,
            standing: BTreeMap::new(),
            tickets: BTreeMap::new(),
            deadlines: BTreeSet::new(),
        }
    }
}

impl<T> WaitingRoom<T> {
    pub fn len(&self) -> usize {
        self.tickets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tickets.is_empty()
    }

    /// The first of the barriers that could close to a request at which somebody stands already: whoever comes later waits
    /// behind.
    pub fn occupied(&self, needs: &Needs) -> Option<Barrier> {
        if self.is_empty() {
            return None;
        }
        needs.barriers().find(|barrier| self.standing.contains_key(barrier))
    }

    /// A request takes its place among those with the same needs; a lane that is new stands at `closed`.
    pub fn join(&mut self, ticket: Ticket, needs: Needs, closed: Barrier, waiting: Waiting<T>) {
        let id = match self.lane_of.get(&needs) {
            Some(id) => *id,
            None => {
                self.next_lane += 1;
                self.lane_of.insert(needs.clone(), self.next_lane);
                self.lanes.insert(self.next_lane, Lane { needs, at: closed, line: BTreeMap::new() });
                self.next_lane
            }
        };
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        let first = lane.first();
        self.tickets.insert(ticket, id);
        self.deadlines.insert((waiting.until, ticket));
        lane.line.insert(ticket, waiting);
        if first.is_none_or(|first| ticket < first) {
            stand(&mut self.standing, &lane.at, id, first, Some(ticket));
        }
    }

    /// A request leaves, for whatever reason.
    pub fn leave(&mut self, ticket: Ticket) -> Option<Left<T>> {
        let id = self.tickets.remove(&ticket)?;
        let lane = self.lanes.get_mut(&id)?;
        let first = lane.first();
        let waiting = lane.line.remove(&ticket)?;
        let (needs, at) = (lane.needs.clone(), lane.at.clone());
        self.deadlines.remove(&(waiting.until, ticket));
        if first == Some(ticket) {
            stand(&mut self.standing, &at, id, first, lane.first());
        }
        if lane.line.is_empty() {
            self.lanes.remove(&id);
            self.lane_of.remove(&needs);
        }
        Some(Left { ticket, needs, at, waiting })
    }

    /// Of the lanes at a barrier, the request that has waited longest.
    pub fn first_at(&self, barrier: &Barrier) -> Option<(Ticket, &Needs)> {
        let (ticket, id) = self.standing.get(barrier)?.first()?;
        self.lanes.get(id).map(|lane| (*ticket, &lane.needs))
    }

    /// The lane of this request goes and stands elsewhere.
    pub fn move_to(&mut self, ticket: Ticket, closed: Barrier) {
        let Some(id) = self.tickets.get(&ticket) else { return };
        let Some(lane) = self.lanes.get_mut(id) else { return };
        let first = lane.first();
        stand(&mut self.standing, &lane.at, *id, first, None);
        stand(&mut self.standing, &closed, *id, None, first);
        lane.at = closed;
    }

    /// Somebody whose patience has ended.
    pub fn expired(&self, now: Timestamp) -> Option<Ticket> {
        self.deadlines.first().filter(|(until, _)| *until <= now).map(|(_, ticket)| *ticket)
    }

    /// When the next one's patience ends.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.deadlines.first().map(|(until, _)| *until)
    }

    /// What everybody has asked for, in no order.
    pub fn everybody(&self) -> impl Iterator<Item = &T> {
        self.lanes.values().flat_map(|lane| lane.line.values()).map(|waiting| &waiting.what)
    }

    /// Everybody whose request is such, the longest waiting first.
    pub fn those_who(&self, such: impl Fn(&T) -> bool) -> Vec<Ticket> {
        let mut found: Vec<Ticket> = self
            .lanes
            .values()
            .flat_map(|lane| lane.line.iter())
            .filter(|(_, waiting)| such(&waiting.what))
            .map(|(ticket, _)| *ticket)
            .collect();
        found.sort_unstable();
        found
    }
}

impl<T> Lane<T> {
    fn first(&self) -> Option<Ticket> {
        self.line.first_key_value().map(|(ticket, _)| *ticket)
    }
}

impl Needs {
    fn barriers(&self) -> impl Iterator<Item = Barrier> {
        let queue = self.queue.iter().cloned().map(Barrier::Queue);
        let capped = self.gates.iter().filter(|claim| claim.cap.is_some());
        queue.chain(capped.map(|claim| Barrier::Gate(claim.key.clone())))
    }
}

/// A lane that stood somewhere under one ticket now stands there under another.
fn stand(
    standing: &mut BTreeMap<Barrier, BTreeSet<(Ticket, u64)>>,
    at: &Barrier,
    lane: u64,
    was: Option<Ticket>,
    is: Option<Ticket>,
) {
    if let Some(is) = is {
        let lanes = match standing.get_mut(at) {
            Some(lanes) => lanes,
            None => standing.entry(at.clone()).or_default(),
        };
        lanes.insert((is, lane));
    }
    if let Some(was) = was
        && let Some(lanes) = standing.get_mut(at)
    {
        lanes.remove(&(was, lane));
        if lanes.is_empty() {
            standing.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(name: &str) -> GateKey {
        GateKey::Account(name.into())
    }

    fn at(name: &str) -> Barrier {
        Barrier::Gate(gate(name))
    }

    fn needs(gates: &[&str]) -> Needs {
        Needs { queue: None, gates: gates.iter().map(|name| Claim { key: gate(name), cap: Some(1) }).collect() }
    }

    /// Tickets 1, 2, … join, each with its needs and the gate it stands at; patience ends at the ticket's number.
    fn room(joining: &[(&[&str], &str)]) -> WaitingRoom<()> {
        let mut room = WaitingRoom::default();
        for (number, (gates, closed)) in (1..).zip(joining) {
            let waiting = Waiting { until: Timestamp::from_millis(number), what: () };
            room.join(Ticket(number), needs(gates), at(closed), waiting);
        }
        room
    }

    fn first(room: &WaitingRoom<()>, name: &str) -> Option<u64> {
        room.first_at(&at(name)).map(|(ticket, _)| ticket.0)
    }

    #[test]
    fn first_come_first_served_over_all_lanes_at_one_gate() {
        // QS-23
        let mut room = room(&[(&["a", "x"], "a"), (&["a", "y"], "a"), (&["a", "x"], "a"), (&["a", "y"], "a")]);
        for expected in 1..=4 {
            assert_eq!(first(&room, "a"), Some(expected));
            room.leave(Ticket(expected));
        }
        assert_eq!(room, WaitingRoom { next_lane: 2, ..WaitingRoom::default() });
    }

    #[test]
    fn a_lane_that_moves_away_is_in_nobody_s_way() {
        let mut room = room(&[(&["a", "x"], "a"), (&["a", "y"], "a")]);
        room.move_to(Ticket(1), at("x"));
        assert_eq!((first(&room, "a"), first(&room, "x")), (Some(2), Some(1)));
        assert_eq!(room.occupied(&needs(&["b", "x"])), Some(at("x")));
        assert_eq!(room.occupied(&needs(&["b"])), None);
    }

    #[test]
    fn whoever_leaves_from_the_middle_changes_no_order() {
        let mut room = room(&[(&["a"], "a"), (&["a"], "a"), (&["a"], "a")]);
        assert!(room.leave(Ticket(2)).is_some());
        assert_eq!(room.leave(Ticket(2)), None);
        room.leave(Ticket(1));
        assert_eq!((first(&room, "a"), room.len()), (Some(3), 1));
    }

    #[test]
    fn patience_ends_in_the_order_of_its_instants_and_inclusively() {
        let mut room = room(&[(&["a"], "a"), (&["b"], "b")]);
        assert_eq!(room.expired(Timestamp::ZERO), None);
        assert_eq!(room.expired(Timestamp::from_millis(1)), Some(Ticket(1)));
        room.leave(Ticket(1));
        assert_eq!(room.next_deadline(), Some(Timestamp::from_millis(2)));
    }

    #[test]
    fn an_older_ticket_that_joins_late_stands_in_front() {
        let mut room = room(&[(&["b"], "b"), (&["a"], "a")]);
        let old = room.leave(Ticket(1)).expect("it waits");
        room.join(old.ticket, needs(&["a"]), at("a"), old.waiting);
        assert_eq!(first(&room, "a"), Some(1));
    }
}
