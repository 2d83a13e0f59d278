//! When a combo that nobody served could be served again, as far as time alone brings that about: the wait that its answer
//! announces (gateway specification, 1.7 and 3.9).
//!
//! Of a list one target is enough, so the first that is back decides. A chain needs each of its links, and a panel its judge
//! where somebody chose one: there the last of them decides, also while the others could be asked at once.

use std::collections::BTreeMap;

use domain::{Availability, Timestamp};
use routing::exhaustion::back_at;
use routing::strategies::fusion::Judge;
use routing::{Plan, Target};

use super::book::GatewayBook;
use super::{Asked, expansion};
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;

/// Nothing where it could be asked at once, or where nobody knows.
pub(super) fn of(gateway: &Gateway, request: &ClientRequest, asked: &Asked, plan: &Plan) -> Option<Timestamp> {
    let targets = expansion(gateway, request, asked).0.targets;
    let all = || targets.iter().collect();
    let needed: Vec<Vec<&Target>> = match plan {
        Plan::Ranked { .. } => vec![all()],
        Plan::Chain { .. } => links(&targets),
        Plan::Panel { judge: Judge::Member, .. } => vec![all()],
        Plan::Panel { pool, judge: Judge::Target(index), .. } => {
            let key = pool.targets.get(*index).map(|judge| &judge.execution_key);
            vec![all(), targets.iter().filter(|target| Some(&target.execution_key) == key).collect()]
        }
        Plan::Panel { judge: Judge::Named(name), .. } => {
            let book = GatewayBook::new(gateway, request, asked.combo.strategy);
            let judge = book.target_named(name, request.requested_model());
            return latest([all(), judge.iter().collect()]);
        }
    };
    latest(needed)
}

/// The targets of each step.
fn links(targets: &[Target]) -> Vec<Vec<&Target>> {
    let mut links: BTreeMap<usize, Vec<&Target>> = BTreeMap::new();
    for target in targets {
        links.entry(target.top).or_default().push(target);
    }
    links.into_values().collect()
}

/// When somebody of each can be asked; those of whom somebody can at once hold nothing up.
fn latest<'t>(needed: impl IntoIterator<Item = Vec<&'t Target>>) -> Option<Timestamp> {
    let ends: Option<Vec<Timestamp>> = needed.into_iter().filter_map(|one_of| rests(&one_of)).collect();
    ends?.into_iter().max()
}

/// Until when all of these are kept away, where that is known; nothing, one of them could be asked.
fn rests(one_of: &[&Target]) -> Option<Option<Timestamp>> {
    let exclusions: Option<Vec<_>> = one_of
        .iter()
        .map(|target| match &target.availability {
            Availability::Available => None,
            Availability::Excluded(exclusion) => Some(exclusion),
        })
        .collect();
    exclusions.map(back_at)
}
