//! Random: a new shuffle for every request (Fisher–Yates). Ignores everything.

use rand::Rng;
use rand::seq::SliceRandom;

/// Indexes into a list of `count` targets.
pub fn rank(count: usize, rng: &mut impl Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.shuffle(rng);
    order
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{fits, rng};
    use super::*;

    #[test]
    fn every_order_is_equally_likely() {
        let mut rng = rng(11);
        let mut counts = [0; 6];
        for _ in 0..12_000 {
            let order = rank(3, &mut rng);
            counts[order[0] * 2 + usize::from(order[1] > order[2])] += 1;
        }
        assert!(fits(&counts, &[1.0 / 6.0; 6]), "{counts:?}");
    }
}
