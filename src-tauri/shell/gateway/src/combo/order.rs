//! A plan as a list: whom a walk asks one after another, and who was left out.

use domain::request_log::ExclusionRecord;
use routing::plan::Attempt as Planned;
use routing::{Plan, Target};

/// A target, and the combo whose step it is.
#[derive(Clone, Copy)]
pub(super) struct Place<'p> {
    pub(super) combo: &'p str,
    pub(super) target: &'p Target,
}

/// The targets of a plan in their order, those of nested combos in the place of their combo.
pub(super) fn order<'p>(combo: &'p str, plan: &'p Plan) -> Vec<Place<'p>> {
    let mut order = Vec::new();
    flatten(combo, plan, &mut order);
    order
}

fn flatten<'p>(combo: &'p str, plan: &'p Plan, order: &mut Vec<Place<'p>>) {
    let Plan::Ranked { pool, attempts } = plan else {
        // A panel or a chain inside another combo: its targets in their order.
        order.extend(plan.pool().targets.iter().map(|target| Place { combo, target }));
        return;
    };
    for Planned { target, .. } in attempts {
        match pool.nested.get(target) {
            Some(inner) => flatten(pool.targets[*target].label.as_deref().unwrap_or(combo), inner, order),
            None => order.push(Place { combo, target: &pool.targets[*target] }),
        }
    }
}

/// Who was left out by the plan, as the request's page shows it.
pub(super) fn records(plan: &Plan) -> Vec<ExclusionRecord> {
    plan.left_out().map(|(target, left_out)| target.left_out(left_out.exclusion())).collect()
}
