//! Priority: the order its owner gave, or the one that the combo's tiers give instead.
//!
//! Ignores everything else: load, price, speed.

use std::borrow::Borrow;

use crate::combo::CompositeTiers;
use crate::target::Target;

/// Indexes into `targets`: those of the default tier's step, then along its fallbacks, then the rest as listed.
pub fn rank(targets: &[impl Borrow<Target>], tiers: Option<&CompositeTiers>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..targets.len()).collect();
    if let Some(tiers) = tiers {
        let chain = tiers.chain();
        let place = |target: &Target| chain.iter().position(|step| *step == target.step_id()).unwrap_or(chain.len());
        order.sort_by_cached_key(|&index| place(targets[index].borrow()));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::targets;
    use super::*;
    use crate::combo::Tier;

    #[test]
    fn the_list_is_the_order() {
        assert_eq!(rank(&targets(4), None), [0, 1, 2, 3]);
    }

    #[test]
    fn tiers_come_first_in_the_order_of_their_chain() {
        let tier =
            |step: &str, next: Option<&str>| Tier { step_id: step.to_owned(), fallback_tier: next.map(str::to_owned) };
        let tiers = CompositeTiers {
            default_tier: "good".to_owned(),
            tiers: [
                ("good".to_owned(), tier("s3", Some("cheap"))),
                ("cheap".to_owned(), tier("s1", None)),
                ("alone".to_owned(), tier("s2", None)),
            ]
            .into(),
        };
        let mut targets = targets(5);
        targets[4].execution_key = "s3>inner@a".to_owned();
        assert_eq!(rank(&targets, Some(&tiers)), [3, 4, 1, 0, 2]);
    }
}
