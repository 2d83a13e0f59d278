//! Fill first: the listed order, so that the first target is used until its gates say it is exhausted.
//!
//! Differs from `priority` only where accounts are chosen: within a step the first account is used until it is not
//! available (see [`crate::account`]). Tiers do not apply.

/// Indexes into a list of `count` targets.
pub fn rank(count: usize) -> Vec<usize> {
    (0..count).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_list_is_the_order() {
        assert_eq!(super::rank(3), [0, 1, 2]);
    }
}
