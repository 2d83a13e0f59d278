//! Weighted: one draw over the top-level steps, each as likely as its share of all weights.
//!
//! `p = w / Σw`; where all weights are zero every step is equally likely. A zero beside positive weights is never drawn and
//! stays as a fallback. The rest follows by falling weight. Targets of one step keep their order. A drawn step may serve
//! several requests in a row (`stickyWeightedLimit`). Only steps with a target that may be tried take part.

use std::borrow::Borrow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use rand::{Rng, RngExt};

use super::rising;
use crate::lru::Lru;
use crate::target::Target;
use crate::view::View;

/// Combos whose last draw is remembered.
const CAPACITY: usize = 500;

/// The last draw of each combo.
#[derive(Clone, Debug, PartialEq)]
pub struct Streaks(Lru<Streak>);

#[derive(Clone, Debug, PartialEq)]
struct Streak {
    step: String,
    served: u32,
}

impl Default for Streaks {
    fn default() -> Self {
        Streaks(Lru::new(CAPACITY))
    }
}

/// Indexes into `targets`.
pub fn rank(targets: &[impl Borrow<Target>], view: &View<'_>, streaks: &mut Streaks, rng: &mut impl Rng) -> Vec<usize> {
    let targets = || targets.iter().map(Borrow::<Target>::borrow);
    let steps: BTreeMap<usize, &Target> = targets().rev().map(|target| (target.top, target)).collect();
    let Some(drawn) = again(&steps, view, streaks).or_else(|| draw(&steps, rng)) else { return Vec::new() };
    if let Some(target) = steps.get(&drawn) {
        streaks.count(view.combo, target.step_id());
    }
    let key = |target: &Target| (target.top != drawn, Reverse(target.weight), target.top);
    rising(targets().map(key), Ord::cmp)
}

/// The step of the running streak, if it has requests left and may still be tried.
fn again(steps: &BTreeMap<usize, &Target>, view: &View<'_>, streaks: &mut Streaks) -> Option<usize> {
    let streak = streaks.0.get(view.combo)?;
    if streak.served < view.config.sticky_weighted_limit {
        let still = steps.iter().find(|(_, target)| target.step_id() == streak.step);
        if let Some((&top, _)) = still {
            return Some(top);
        }
    }
    streaks.0.remove(view.combo);
    None
}

fn draw(steps: &BTreeMap<usize, &Target>, rng: &mut impl Rng) -> Option<usize> {
    let weight = |target: &Target| u64::from(target.weight);
    let total: u64 = steps.values().map(|target| weight(target)).sum();
    if total == 0 {
        let count = steps.len();
        return if count == 0 { None } else { steps.keys().nth(rng.random_range(0..count)).copied() };
    }
    let mut left = rng.random_range(0..total);
    for (&top, target) in steps {
        match left.checked_sub(weight(target)) {
            Some(rest) => left = rest,
            None => return Some(top),
        }
    }
    None
}

impl Streaks {
    fn count(&mut self, combo: &str, step: &str) {
        match self.0.get(combo) {
            Some(streak) => streak.served = streak.served.saturating_add(1),
            None => {
                self.0.insert(combo, Streak { step: step.to_owned(), served: 1 });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{World, each, firsts, fits, rng};
    use super::*;

    fn weights(weights: &[u32]) -> Vec<Target> {
        each(weights.iter().copied(), |target, weight| target.weight = weight)
    }

    fn drawn(weights_of: &[u32]) -> Vec<u32> {
        let (targets, world, mut rng) = (weights(weights_of), World::default(), rng(7));
        let mut streaks = Streaks::default();
        firsts(weights_of.len(), 20_000, || rank(&targets, &world.view(), &mut streaks, &mut rng))
    }

    #[test]
    fn each_step_comes_first_by_its_share() {
        assert!(fits(&drawn(&[50, 30, 15, 5]), &[0.5, 0.3, 0.15, 0.05]));
        assert!(fits(&drawn(&[0, 0, 0]), &[1.0 / 3.0; 3]), "all zero is uniform");
        let with_zero = drawn(&[1, 0, 3]);
        assert_eq!(with_zero[1], 0, "a zero beside positive weights is never drawn");
        assert!(fits(&[with_zero[0], with_zero[2]], &[0.25, 0.75]));
    }

    #[test]
    fn the_rest_follows_by_falling_weight_then_in_order() {
        let (targets, world) = (weights(&[1, 0, 5, 5, 9]), World::default());
        for seed in 0..50 {
            let order = rank(&targets, &world.view(), &mut Streaks::default(), &mut rng(seed));
            let rest: Vec<usize> = [4, 2, 3, 0, 1].into_iter().filter(|index| *index != order[0]).collect();
            assert_eq!(order[1..], rest);
        }
    }

    #[test]
    fn a_step_is_drawn_as_one_however_many_targets_it_has() {
        let mut targets = weights(&[1, 1, 1]);
        (targets[1].top, targets[1].execution_key) = (0, "s0>b".to_owned());
        let (world, mut rng, mut streaks) = (World::default(), rng(1), Streaks::default());
        let counts = firsts(3, 10_000, || rank(&targets, &world.view(), &mut streaks, &mut rng));
        assert_eq!(counts[1], 0);
        assert!(fits(&[counts[0], counts[2]], &[0.5, 0.5]));
    }

    #[test]
    fn a_drawn_step_serves_its_batch_unless_it_drops_out() {
        let (mut world, mut rng, mut streaks) = (World::default(), rng(3), Streaks::default());
        world.config.sticky_weighted_limit = 4;
        let targets = weights(&[1, 1, 1]);
        let mut next = |targets: &[Target]| targets[rank(targets, &world.view(), &mut streaks, &mut rng)[0]].top;
        let served: Vec<usize> = (0..400).map(|_| next(&targets)).collect();
        assert!(served.chunks(4).all(|batch| batch.iter().all(|top| *top == batch[0])));
        let first = next(&targets);
        let others: Vec<Target> = targets.iter().filter(|target| target.top != first).cloned().collect();
        assert_ne!(next(&others), first);
    }
}
