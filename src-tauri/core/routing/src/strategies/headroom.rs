//! Headroom: the account with the most free quota, `1 − max(use of 5 h, use of 7 d)`.
//!
//! What is unknown counts as free: an account nobody spoke of must be tried before anyone can speak of it. Between equals
//! the order of the list.

use std::borrow::Borrow;

use domain::Timestamp;

use super::falling;
use crate::target::Target;
use crate::view::View;
use crate::window;

/// Indexes into `targets`.
pub fn rank(targets: &[impl Borrow<Target>], view: &View<'_>) -> Vec<usize> {
    falling(targets.iter().map(|target| free(target.borrow(), view.now)))
}

/// Fraction of the account that is free, 0–1.
pub fn free(target: &Target, now: Timestamp) -> f64 {
    match &target.facts.quota {
        Some(quota) if quota.limit_reached && window::is_exhausted(quota, &target.model, now) => 0.0,
        Some(quota) => window::headroom(quota, now).unwrap_or(1.0),
        None => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{NOW, World, each, quota};
    use super::*;

    #[test]
    fn the_fuller_of_the_two_windows_decides() {
        let quotas = [
            Some(quota(&[("session", Some(0.2), None), ("weekly", Some(0.9), None)])),
            Some(quota(&[("session", Some(0.5), None), ("weekly", Some(0.1), None)])),
            None,
            Some(quota(&[("monthly", Some(0.99), None)])),
            Some(quota(&[("session", Some(0.9), Some(0)), ("weekly", Some(0.3), None)])),
        ];
        let targets = each(quotas, |target, quota| target.facts.quota = quota);
        assert_eq!(rank(&targets, &World::default().view()), [2, 3, 4, 1, 0]);
        assert!((free(&targets[0], NOW) - 0.1).abs() < 1e-9);
    }
}
