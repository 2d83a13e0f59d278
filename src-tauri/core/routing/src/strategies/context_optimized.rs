//! Context optimised: the largest context window. Known ones first; between equals the order of the list.

use std::borrow::Borrow;
use std::cmp::Reverse;

use super::rising;
use crate::target::Target;

/// Indexes into `targets`.
pub fn rank(targets: &[impl Borrow<Target>]) -> Vec<usize> {
    rising(targets.iter().map(|target| Reverse(target.borrow().facts.context_window)), Ord::cmp)
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::each;
    use super::*;

    #[test]
    fn the_largest_known_window_comes_first() {
        let windows = [None, Some(8_000), Some(200_000), Some(8_000), Some(1_000_000), None];
        let targets = each(windows, |target, window| target.facts.context_window = window);
        assert_eq!(rank(&targets), [4, 2, 1, 3, 0, 5]);
    }
}
