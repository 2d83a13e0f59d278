//! Priority: the order its owner gave.
//!
//! Prefers the lowest priority number and, between equals, the order of the input. Ignores everything else: load, price,
//! speed. Excluded candidates are not ranked at all; see [`crate::plan`].

use domain::Candidate;

/// Indexes into `candidates`, best first.
pub fn rank(candidates: &[Candidate]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|&index| candidates[index].priority);
    order
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn candidate(priority: u32) -> Candidate {
        Candidate {
            provider: "p".into(),
            connection: format!("c{priority}").into(),
            model: "m".to_owned(),
            priority,
            enabled: true,
            nature: domain::Nature::default(),
        }
    }

    #[test]
    fn the_lowest_number_is_first_and_equals_keep_their_order() {
        assert_eq!(rank(&[candidate(2), candidate(1), candidate(2), candidate(1)]), [1, 3, 0, 2]);
    }

    proptest! {
        #[test]
        fn a_ranking_is_a_permutation(priorities in prop::collection::vec(1_u32..9, 0..40)) {
            let candidates: Vec<_> = priorities.into_iter().map(candidate).collect();
            let mut order = rank(&candidates);
            order.sort_unstable();
            prop_assert_eq!(order, (0..candidates.len()).collect::<Vec<_>>());
        }
    }
}
