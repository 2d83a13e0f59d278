//! Pipeline: the steps work one after another; each gets the conversation and what the step before it wrote.
//!
//! A link is one top-level step with all targets that may do it, in their order. A chain holds every step or it is none:
//! an answer that skipped one would be a different answer.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use crate::target::Target;

/// Statuses after which a step is repeated, as the combo's retries allow; any other failure ends the request with its
/// status.
pub const REPEATED: [u16; 4] = [429, 502, 503, 504];

/// Indexes into `targets` for each of the steps, in order; none where one of `steps` has no target left.
pub fn links(targets: &[impl Borrow<Target>], steps: &[usize]) -> Option<Vec<Vec<usize>>> {
    let mut by_step: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, target) in targets.iter().enumerate() {
        by_step.entry(target.borrow().top).or_default().push(index);
    }
    let links: Option<Vec<_>> = steps.iter().map(|step| by_step.remove(step)).collect();
    links.filter(|links| !links.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::targets;
    use super::*;

    #[test]
    fn each_step_is_a_link_with_all_its_targets() {
        let mut targets = targets(4);
        targets[2].top = 1;
        assert_eq!(links(&targets, &[0, 1, 3]), Some(vec![vec![0], vec![1, 2], vec![3]]));
    }

    #[test]
    fn a_missing_link_is_no_chain() {
        assert_eq!(links(&targets(2), &[0, 1, 2]), None);
        assert_eq!(links(&targets(0), &[]), None);
    }
}
