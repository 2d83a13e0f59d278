//! A plan as a list: whom a walk asks one after another, and to which combos it tells what came of it.
//!
//! A combo that stands within another is one step of it, and goes by its own strategy and its own numbers. What its targets
//! do is told at every level, to each combo about its own step: the inner one learns which of its targets is good, the outer
//! one that the inner one is.

use std::sync::Arc;

use domain::ConnectionId;

use crate::combo::{Config, Strategy};
use crate::memory::Dispatch;
use crate::plan::{Inner, Plan, Pool};
use crate::target::Target;

/// A target in the order of a walk.
#[derive(Clone, Debug, PartialEq)]
pub struct Place<'p> {
    pub target: &'p Target,
    /// The combo whose step the target is.
    pub own: Level<'p>,
    /// The combos around that one, the outermost first.
    outer: Vec<Level<'p>>,
}

/// A combo, and its own step on the way to a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level<'p> {
    pub combo: &'p str,
    pub strategy: Strategy,
    /// The combo's numbers.
    pub config: &'p Arc<Config>,
    /// Execution key: the target's own, or of the step that stands for the next combo.
    pub step: &'p str,
}

/// What is asked in one go.
#[derive(Clone, Debug, PartialEq)]
pub enum Leg<'p> {
    /// One after another, until one answers.
    List(Vec<Place<'p>>),
    /// A combo within that asks several for one answer: a panel, or a chain.
    Together { around: Around<'p>, plan: &'p Plan },
}

/// A combo whose steps are asked, and the combos around it.
#[derive(Clone, Debug, PartialEq)]
pub struct Around<'p> {
    pub combo: &'p str,
    pub strategy: Strategy,
    pub config: &'p Arc<Config>,
    outer: Vec<Level<'p>>,
}

impl Place<'_> {
    /// The combos that are told of the target, the outermost first.
    pub fn levels(&self) -> impl Iterator<Item = &Level<'_>> {
        self.outer.iter().chain([&self.own])
    }

    /// What each combo is told of an account that was asked for the target.
    pub fn dispatches<'d>(&'d self, connection: &'d ConnectionId) -> impl Iterator<Item = Dispatch<'d>> {
        self.levels().map(move |&Level { combo, strategy, step, .. }| Dispatch {
            combo,
            strategy,
            step,
            target: self.target,
            connection,
        })
    }
}

impl<'p> Around<'p> {
    /// A combo that no other one is around.
    pub fn new(combo: &'p str, strategy: Strategy, config: &'p Arc<Config>) -> Self {
        Around { combo, strategy, config, outer: Vec::new() }
    }

    /// A target that is a step of the combo itself.
    pub fn place(&self, target: &'p Target) -> Place<'p> {
        Place { target, own: self.level(target), outer: self.outer.clone() }
    }

    /// What steps of the combo come to, in this order: targets in a list, those of combos within in the place of their combo.
    pub fn legs(&self, pool: &'p Pool, steps: impl IntoIterator<Item = usize>) -> Vec<Leg<'p>> {
        let mut legs = Vec::new();
        self.go(pool, steps, &mut legs);
        legs
    }

    /// The targets of a plan in their order; of panels and chains too, as they sit.
    pub fn order(&self, plan: &'p Plan) -> Vec<Place<'p>> {
        let legs = self.legs(plan.pool(), plan.sequence().map(|attempt| attempt.target));
        let places = |leg| match leg {
            Leg::List(places) => places,
            Leg::Together { around, plan } => around.order(plan),
        };
        legs.into_iter().flat_map(places).collect()
    }

    /// Who is asked first; of a combo within, its own first.
    pub fn first(&self, plan: &'p Plan) -> Option<Place<'p>> {
        let index = plan.sequence().next()?.target;
        let Pool { targets, nested, .. } = plan.pool();
        let target = targets.get(index)?;
        match nested.get(&index) {
            Some(inner) => self.within(target, inner).first(&inner.plan),
            None => Some(self.place(target)),
        }
    }

    fn level(&self, step: &'p Target) -> Level<'p> {
        Level { combo: self.combo, strategy: self.strategy, config: self.config, step: &step.execution_key }
    }

    /// The combo that one of the steps stands for.
    fn within(&self, step: &'p Target, inner: &'p Inner) -> Around<'p> {
        let outer = self.outer.iter().copied().chain([self.level(step)]).collect();
        Around { combo: &inner.combo, strategy: inner.strategy, config: &inner.config, outer }
    }

    fn go(&self, pool: &'p Pool, steps: impl IntoIterator<Item = usize>, legs: &mut Vec<Leg<'p>>) {
        for index in steps {
            let Some(target) = pool.targets.get(index) else { continue };
            let Some(inner) = pool.nested.get(&index) else {
                match legs.last_mut() {
                    Some(Leg::List(places)) => places.push(self.place(target)),
                    Some(Leg::Together { .. }) | None => legs.push(Leg::List(vec![self.place(target)])),
                }
                continue;
            };
            let (around, plan) = (self.within(target, inner), &inner.plan);
            match plan {
                Plan::Ranked { pool, attempts } => {
                    let steps: Vec<usize> = attempts.iter().map(|attempt| attempt.target).collect();
                    around.go(pool, steps, legs);
                }
                Plan::Panel { .. } | Plan::Chain { .. } => legs.push(Leg::Together { around, plan }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Attempt, Placed};
    use crate::strategies::fixtures::{NOW, targets};
    use crate::strategies::fusion::{Judge, Quorum};

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
                let config = Arc::default();
                pool.nested.insert(1, Inner { combo: format!("inner{level}"), strategy: Strategy::Auto, config, plan });
            }
            plan = outer;
        }
        plan
    }

    fn told(place: &Place<'_>) -> Vec<(String, Strategy, String)> {
        place.levels().map(|level| (level.combo.to_owned(), level.strategy, level.step.to_owned())).collect()
    }

    #[test]
    fn targets_of_a_combo_within_stand_in_its_place_and_every_level_is_told_of_its_own_step() {
        let plan = within(1);
        let config = Arc::default();
        let order = Around::new("outer", Strategy::Lkgp, &config).order(&plan);
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
        let config = Arc::default();
        let around = Around::new("outer", Strategy::Priority, &config);
        for (plan, levels) in [(within(0), 1), (within(1), 1), (deep(), 3)] {
            let first = around.first(&plan).expect("somebody");
            assert_eq!(first, around.order(&plan)[0]);
            assert_eq!(first.levels().count(), levels);
        }
        assert_eq!(around.first(&ranked(Vec::new())), None);
    }

    #[test]
    fn a_panel_within_a_list_is_asked_as_one_between_those_before_and_those_after() {
        let mut plan = ranked(targets(3));
        let Plan::Ranked { pool: members, .. } = ranked(targets(2)) else { panic!("a ranking") };
        let quorum = Quorum::new(2, false, &Config::default().fusion, NOW);
        let panel = Plan::Panel { pool: members, members: vec![1, 0], judge: Judge::Target(0), quorum };
        if let Plan::Ranked { pool, .. } = &mut plan {
            let inner =
                Inner { combo: "panel".to_owned(), strategy: Strategy::Fusion, config: Arc::default(), plan: panel };
            pool.nested.insert(1, inner);
        }
        let config = Arc::default();
        let around = Around::new("outer", Strategy::Priority, &config);
        let legs = around.legs(plan.pool(), [0, 1, 2]);
        let [Leg::List(before), Leg::Together { around: within, .. }, Leg::List(after)] = &legs[..] else {
            panic!("{legs:?}")
        };
        assert_eq!((before.len(), within.combo, after.len()), (1, "panel", 1));
        let keys: Vec<&str> = around.order(&plan).iter().map(|place| place.target.execution_key.as_str()).collect();
        assert_eq!(keys, ["s0", "s1", "s0", "s2"], "as a list its members stand as they sit");
    }
}
