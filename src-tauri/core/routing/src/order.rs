//! A plan as a list: whom a walk asks one after another, and to which combos it tells what came of it.
//!
//! A combo that stands within another is one step of it. What its targets do is told at every level, to each combo about
//! its own step: the inner one learns which of its targets is good, the outer one that the inner one is.

use domain::ConnectionId;

use crate::combo::Strategy;
use crate::memory::Dispatch;
use crate::plan::{Attempt, Inner, Plan, Pool};
use crate::target::Target;

/// A target in the order of a walk.
#[derive(Clone, Debug, PartialEq)]
pub struct Place<'p> {
    pub target: &'p Target,
    /// The combos on the way to it, the outermost first.
    pub levels: Vec<Level<'p>>,
}

/// A combo, and its own step on the way to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level<'p> {
    pub combo: &'p str,
    pub strategy: Strategy,
    /// Execution key: the target's own, or of the step that stands for the next combo.
    pub step: &'p str,
}

impl<'p> Place<'p> {
    /// A target that is a step of the combo itself.
    pub fn of(combo: &'p str, strategy: Strategy, target: &'p Target) -> Place<'p> {
        Place { target, levels: vec![Level { combo, strategy, step: &target.execution_key }] }
    }

    /// What each combo is told of an account that was asked for the target.
    pub fn dispatches<'d>(&'d self, connection: &'d ConnectionId) -> impl Iterator<Item = Dispatch<'d>> {
        self.levels.iter().map(move |&Level { combo, strategy, step }| Dispatch {
            combo,
            strategy,
            step,
            target: self.target,
            connection,
        })
    }
}

/// The targets of a combo's plan in their order, those of combos within in the place of their combo. Panels and chains are
/// a list here too.
pub fn order<'p>(combo: &'p str, strategy: Strategy, plan: &'p Plan) -> Vec<Place<'p>> {
    let mut order = Vec::new();
    flatten(&Around { combo, strategy, outer: &[] }, plan, &mut order);
    order
}

/// Who is asked first; of a combo within, its own first.
pub fn first<'p>(combo: &'p str, strategy: Strategy, plan: &'p Plan) -> Option<Place<'p>> {
    let mut levels = Vec::new();
    let (mut combo, mut strategy, mut plan) = (combo, strategy, plan);
    loop {
        let index = plan.sequence().next()?.target;
        let Pool { targets, nested, .. } = plan.pool();
        let target = targets.get(index)?;
        levels.push(Level { combo, strategy, step: &target.execution_key });
        match nested.get(&index) {
            Some(inner) => (combo, strategy, plan) = (&inner.combo, inner.strategy, &inner.plan),
            None => return Some(Place { target, levels }),
        }
    }
}

/// A combo, and the levels around it.
struct Around<'a, 'p> {
    combo: &'p str,
    strategy: Strategy,
    outer: &'a [Level<'p>],
}

impl<'p> Around<'_, 'p> {
    fn levels(&self, step: &'p Target) -> Vec<Level<'p>> {
        let own = Level { combo: self.combo, strategy: self.strategy, step: &step.execution_key };
        self.outer.iter().copied().chain([own]).collect()
    }

    fn place(&self, target: &'p Target) -> Place<'p> {
        Place { target, levels: self.levels(target) }
    }
}

fn flatten<'p>(around: &Around<'_, 'p>, plan: &'p Plan, order: &mut Vec<Place<'p>>) {
    let pool = plan.pool();
    for Attempt { target: index, .. } in plan.sequence() {
        let target = &pool.targets[index];
        match pool.nested.get(&index) {
            Some(Inner { combo, strategy, plan }) => {
                let outer = around.levels(target);
                flatten(&Around { combo, strategy: *strategy, outer: &outer }, plan, order);
            }
            None => order.push(around.place(target)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Placed;
    use crate::strategies::fixtures::targets;

    fn ranked(targets: Vec<Target>) -> Plan {
        let attempts = (0..targets.len()).map(|target| Attempt { target, placed: Placed::Strategy }).collect();
        Plan::Ranked { pool: Pool { targets, ..Pool::default() }, attempts }
    }

    /// Of three steps the second stands for a combo with two targets, or for one that stands for that.
    fn within(levels: usize) -> Plan {
        let mut plan = ranked(
            targets(2)
                .into_iter()
                .map(|target| Target { execution_key: format!("in>{}", target.execution_key), ..target })
                .collect(),
        );
        for level in (0..levels).rev() {
            let mut outer = ranked(targets(3));
            if let Plan::Ranked { pool, .. } = &mut outer {
                pool.nested.insert(1, Inner { combo: format!("inner{level}"), strategy: Strategy::Auto, plan });
            }
            plan = outer;
        }
        plan
    }

    fn told(place: &Place<'_>) -> Vec<(String, Strategy, String)> {
        place.levels.iter().map(|level| (level.combo.to_owned(), level.strategy, level.step.to_owned())).collect()
    }

    #[test]
    fn targets_of_a_combo_within_stand_in_its_place_and_every_level_is_told_of_its_own_step() {
        let plan = within(1);
        let order = order("outer", Strategy::Lkgp, &plan);
        let keys: Vec<&str> = order.iter().map(|place| place.target.execution_key.as_str()).collect();
        assert_eq!(keys, ["s0", "in>s0", "in>s1", "s2"]);
        let level = |combo: &str, strategy, step: &str| (combo.to_owned(), strategy, step.to_owned());
        assert_eq!(told(&order[0]), [level("outer", Strategy::Lkgp, "s0")]);
        let expected = [level("outer", Strategy::Lkgp, "s1"), level("inner0", Strategy::Auto, "in>s1")];
        assert_eq!(told(&order[2]), expected);
        assert_eq!(
            order[2].dispatches(&"a".into()).map(|dispatch| dispatch.target.execution_key.as_str()).collect::<Vec<_>>(),
            ["in>s1"; 2]
        );
    }

    #[test]
    fn the_first_is_the_first_of_the_order_however_deep_it_stands() {
        let deep = || {
            let mut plan = within(2);
            if let Plan::Ranked { attempts, pool } = &mut plan {
                attempts.rotate_left(1);
                if let Some(Inner { plan: Plan::Ranked { attempts, .. }, .. }) = pool.nested.get_mut(&1) {
                    attempts.rotate_left(1);
                }
            }
            plan
        };
        for (plan, levels) in [(within(0), 1), (within(1), 1), (deep(), 3)] {
            let first = first("outer", Strategy::Priority, &plan).expect("somebody");
            assert_eq!(first, order("outer", Strategy::Priority, &plan)[0]);
            assert_eq!(first.levels.len(), levels);
        }
        assert_eq!(first("outer", Strategy::Priority, &ranked(Vec::new())), None);
    }
}
