//! Which account of a pool serves: deficit round robin, then the better of the two best (gateway specification, 3.6;
//! resilience specification, 14.5).
//!
//! Every visit gives each contender its part of one; the one with the most wins and pays one, so over time each serves in
//! proportion to its weight. Of the two best the one with fewer requests under way wins, which keeps a slow account from
//! collecting them. Accounts that are saturated or at their cap stand behind the others and contend only when nobody else
//! is left: this lowers, it never refuses.

use std::borrow::Borrow;

use domain::Availability;
use indexmap::IndexMap;

use super::{Memory, slot};
use crate::score::quota;
use crate::{Target, View};

/// Combos whose deficits are remembered; the oldest is forgotten first.
const COMBOS: usize = 200;

/// What each target of a combo has saved up, by combo and execution key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Deficits(IndexMap<String, IndexMap<String, f64>>);

/// Indexes of the available targets, best first. The winner has paid for its turn; a preview ranks with a clone of the
/// memory.
pub fn rank(targets: &[impl Borrow<Target>], view: &View<'_>, memory: &mut Memory) -> Vec<usize> {
    let mut groups = grouped(targets, view, memory);
    let Some(first) = groups.iter().position(|group| !group.is_empty()) else {
        return Vec::new();
    };
    let saved = memory.deficits.of_combo(view.combo, targets.len());
    contend(targets, &mut groups[first], saved);
    for group in &mut groups[first + 1..] {
        for contender in group.iter_mut() {
            contender.deficit =
                saved.get(&targets[contender.index].borrow().execution_key).copied().unwrap_or_default();
        }
        sort(group);
    }
    groups.iter().flatten().map(|contender| contender.index).collect()
}

#[derive(Clone, Copy, Debug)]
struct Contender {
    index: usize,
    in_flight: u32,
    deficit: f64,
}

/// The available targets: free, at their cap, saturated.
fn grouped(targets: &[impl Borrow<Target>], view: &View<'_>, memory: &Memory) -> [Vec<Contender>; 3] {
    let (mut free, mut at_cap, mut saturated) = (Vec::new(), Vec::new(), Vec::new());
    for (index, target) in targets.iter().map(Borrow::<Target>::borrow).enumerate() {
        if target.availability != Availability::Available {
            continue;
        }
        let in_flight = target.facts.in_flight.max(memory.leases.in_flight(slot(target), view.now));
        let quota = target.facts.quota.as_ref();
        let group = if quota.is_some_and(|quota| quota::saturated(quota, &target.model, view.now)) {
            &mut saturated
        } else if target.facts.max_concurrent.is_some_and(|cap| in_flight >= cap) {
            &mut at_cap
        } else {
            &mut free
        };
        group.push(Contender { index, in_flight, deficit: 0.0 });
    }
    [free, at_cap, saturated]
}

/// Gives each its part, puts the winner first and lets it pay.
fn contend(targets: &[impl Borrow<Target>], contenders: &mut [Contender], saved: &mut IndexMap<String, f64>) {
    let weight = |contender: &Contender| f64::from(targets[contender.index].borrow().weight.max(1));
    let sum: f64 = contenders.iter().map(weight).sum();
    // While the winner is the less busy of two, the other saves up; it may not save for a whole flood.
    let most = contenders.len() as f64;
    for contender in contenders.iter_mut() {
        let part = weight(contender) / sum;
        let key = &targets[contender.index].borrow().execution_key;
        contender.deficit = match saved.get_mut(key) {
            Some(deficit) => {
                *deficit = (*deficit + part).clamp(-most, most);
                *deficit
            }
            None => {
                saved.insert(key.clone(), part);
                part
            }
        };
    }
    sort(contenders);
    if let [first, second, ..] = contenders
        && second.in_flight < first.in_flight
    {
        contenders.swap(0, 1);
    }
    if let Some(paying) = saved.get_mut(&targets[contenders[0].index].borrow().execution_key) {
        *paying -= 1.0;
    }
}

/// The most saved first; equals keep the order of the list. What differs by rounding only is equal.
fn sort(contenders: &mut [Contender]) {
    let rounded = |contender: &Contender| (contender.deficit * 1e9).round() as i64;
    contenders.sort_by_key(|contender| std::cmp::Reverse(rounded(contender)));
}

impl Deficits {
    /// The savings of a combo with `members` targets. When most of what is remembered is no member any more, it starts anew.
    fn of_combo(&mut self, combo: &str, members: usize) -> &mut IndexMap<String, f64> {
        if self.0.len() >= COMBOS && !self.0.contains_key(combo) {
            self.0.shift_remove_index(0);
        }
        let saved = self.0.entry(combo.to_owned()).or_default();
        if saved.len() > 2 * members + 8 {
            saved.clear();
        }
        saved
    }

    /// Another target serves in the winner's place: that one pays.
    pub(super) fn moved(&mut self, combo: &str, from: &str, to: &str) {
        let Some(saved) = self.0.get_mut(combo) else {
            return;
        };
        if let Some(deficit) = saved.get_mut(from) {
            *deficit += 1.0;
            *saved.entry(to.to_owned()).or_default() -= 1.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::{Mechanism, Millis};
    use proptest::prelude::*;

    use super::*;
    use crate::score::samples::{NOW, excluded, quota, targets, view};
    use crate::view::RequestFacts;

    fn ranked(targets: &[Target], memory: &mut Memory) -> Vec<usize> {
        rank(targets, &view(&RequestFacts::default()), memory)
    }

    // QS-18
    #[test]
    fn an_account_at_its_cap_is_lowered_and_never_refused() {
        let mut targets = targets(2);
        for target in &mut targets {
            target.facts.max_concurrent = Some(1);
        }
        let mut memory = Memory::default();
        memory.leases.acquire("t0", NOW);
        assert_eq!(ranked(&targets, &mut memory), [1, 0]);
        memory.leases.acquire("t1", NOW);
        assert_eq!(ranked(&targets, &mut memory).len(), 2, "both at their cap");
        targets[0].facts.in_flight = 0;
        let later = RequestFacts::default();
        let view = View { now: NOW + Millis::minutes(2), ..view(&later) };
        assert_eq!(rank(&targets, &view, &mut Memory { leases: memory.leases, ..Memory::default() })[0], 0);
    }

    // QS-19
    #[test]
    fn a_saturated_account_stands_last_until_its_reset() {
        let later = Some(NOW + Millis::hours(1));
        for (window, used, reset, order) in [
            ("session", 1.0, later, [1, 0]),
            ("weekly", 1.0, later, [1, 0]),
            ("7d:t0", 1.0, later, [1, 0]),
            ("7d:other", 1.0, later, [0, 1]),
            ("session", 0.99, later, [0, 1]),
            ("session", 1.0, Some(NOW), [0, 1]),
        ] {
            let mut targets = targets(2);
            targets[0].facts.quota = Some(quota(window, used, reset));
            assert_eq!(ranked(&targets, &mut Memory::default()), order, "{window} {used}");
            targets[1].facts.quota = Some(quota("weekly", 1.0, later));
            assert_eq!(ranked(&targets, &mut Memory::default()).len(), 2, "all saturated: any");
        }
    }

    #[test]
    fn behind_the_free_stand_those_at_their_cap_then_the_saturated() {
        let mut targets = targets(4);
        targets[0].facts.quota = Some(quota("session", 1.0, None));
        (targets[1].facts.in_flight, targets[1].facts.max_concurrent) = (2, Some(2));
        assert_eq!(ranked(&targets, &mut Memory::default()), [2, 3, 1, 0]);
    }

    // QS-20
    #[test]
    fn each_serves_in_proportion_to_its_weight() {
        let mut targets = targets(3);
        for (target, weight) in targets.iter_mut().zip([3, 1, 0]) {
            target.weight = weight;
        }
        let mut memory = Memory::default();
        let mut counts = [0_u32; 3];
        for _ in 0..500 {
            counts[ranked(&targets, &mut memory)[0]] += 1;
        }
        for (count, expected) in counts.into_iter().zip([300, 100, 100]) {
            assert!(count.abs_diff(expected) <= 1, "{counts:?}");
        }
    }

    // QS-21
    #[test]
    fn of_the_two_best_the_less_busy_wins_and_pays() {
        let mut targets = targets(3);
        targets[0].facts.in_flight = 2;
        let mut memory = Memory::default();
        assert_eq!(ranked(&targets, &mut memory), [1, 0, 2]);
        assert_eq!(ranked(&targets, &mut memory)[0], 2, "the first is still busy, the second has paid");
    }

    #[test]
    fn the_turn_and_the_slot_follow_the_request() {
        let targets = targets(2);
        let mut memory = Memory::default();
        assert_eq!(ranked(&targets, &mut memory)[0], 0);
        let lease = memory.leases.acquire(slot(&targets[0]), NOW);
        memory.moved("combo", &targets[0], &targets[1]);
        memory.leases.moved(lease, slot(&targets[1]));
        assert_eq!((memory.leases.in_flight("t0", NOW), memory.leases.in_flight("t1", NOW)), (0, 1));
        assert_eq!(ranked(&targets, &mut memory)[0], 0, "the second has paid for it");
    }

    #[test]
    fn memory_is_bounded() {
        let mut memory = Memory::default();
        let request = RequestFacts::default();
        for n in 0..COMBOS + 50 {
            rank(&targets(2), &View { combo: &n.to_string(), ..view(&request) }, &mut memory);
        }
        assert_eq!(memory.deficits.0.len(), COMBOS);
        for n in 0..100 {
            let mut changing = targets(1);
            changing[0].execution_key = n.to_string();
            ranked(&changing, &mut memory);
        }
        assert!(memory.deficits.0["combo"].len() <= 11);
    }

    proptest! {
        #[test]
        fn a_ranking_is_a_permutation_of_the_available(
            facts in prop::collection::vec((any::<bool>(), 0_u32..3, 0_u32..3, 0_u32..101, any::<bool>()), 0..20),
            rounds in 1_usize..5,
        ) {
            let mut targets = targets(facts.len());
            for (target, (available, in_flight, cap, weight, full)) in targets.iter_mut().zip(&facts) {
                target.weight = *weight;
                target.facts.in_flight = *in_flight;
                target.facts.max_concurrent = Some(*cap).filter(|cap| *cap > 0);
                target.facts.quota = full.then(|| quota("session", 1.0, None));
                if !available {
                    target.availability = excluded(Mechanism::ConnectionCooldown);
                }
            }
            let mut memory = Memory::default();
            for _ in 0..rounds {
                let mut order = ranked(&targets, &mut memory);
                prop_assert_eq!(&order, &{ let mut again = order.clone(); again.dedup(); again });
                order.sort_unstable();
                let available: Vec<usize> = (0..facts.len()).filter(|&index| facts[index].0).collect();
                prop_assert_eq!(order, available);
            }
        }
    }
}
