//! Round robin: the targets take turns.
//!
//! `start = ⌊turn / stickyRoundRobinLimit⌋ mod n`, then the following positions, wrapping. The turn is taken when the plan
//! is made, not when the answer comes, so that parallel requests spread. Turns are forgotten with a restart. How many a
//! target may serve at once is the gate's business.

use crate::lru::Turns;
use crate::view::View;

/// Indexes into a list of `count` targets.
pub fn rank(count: usize, view: &View<'_>, turns: &mut Turns) -> Vec<usize> {
    if count == 0 {
        return Vec::new();
    }
    let batch = u64::from(view.config.sticky_round_robin_limit.max(1));
    let turn = turns.take(view.combo) / batch % count as u64;
    let start = usize::try_from(turn).unwrap_or(0);
    (start..count).chain(0..start).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::World;
    use super::*;

    #[test]
    fn everyone_has_the_same_number_of_turns() {
        let (world, mut turns) = (World::default(), Turns::default());
        let mut counts = [0; 4];
        for _ in 0..100 {
            counts[rank(4, &world.view(), &mut turns)[0]] += 1;
        }
        assert_eq!(counts, [25; 4]);
    }

    #[test]
    fn the_rest_wraps_and_batches_stay_together() {
        let (mut world, mut turns) = (World::default(), Turns::default());
        world.config.sticky_round_robin_limit = 2;
        let orders: Vec<_> = (0..7).map(|_| rank(3, &world.view(), &mut turns)).collect();
        let [a, b, c] = [[0, 1, 2], [1, 2, 0], [2, 0, 1]];
        assert_eq!(orders, [a, a, b, b, c, c, a]);
        assert_eq!(rank(0, &world.view(), &mut turns), [0_usize; 0]);
    }
}
