//! Why a target stands where it stands, for the preview and the request page.
//!
//! Worked out when somebody looks, not while a request waits: a plan only notes what moved a target
//! ([`crate::plan::Placed`]); the figures of its strategy are asked for here, of the same memory.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::combo::Strategy;
use crate::memory::Memory;
use crate::plan::{LeftOut, Pool, Taste};
use crate::score::Breakdown;
use crate::score::fitness::Layers;
use crate::stickiness;
use crate::strategies::auto::{self, Profile};
use crate::strategies::{cache_optimized, headroom, lkgp, p2c, reset_aware, reset_window};
use crate::target::Target;
use crate::view::View;

/// What places one target.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The figures its strategy compares; none where it compares nothing, or nothing is known.
    pub figures: Vec<Figure>,
    /// Of `auto`: every factor of the score.
    pub factors: Vec<Breakdown>,
}

/// One figure a strategy compares. Always finite.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Stable word; its unit is part of it where it has one.
    pub name: &'static str,
    pub value: f64,
}

/// One explanation for each target of a plan, left out or not, in their order.
pub fn explain(
    strategy: Strategy,
    pool: &Pool,
    view: &View<'_>,
    memory: &Memory,
    taste: Option<Taste<'_>>,
) -> Vec<Explanation> {
    let plain = |target| Explanation { figures: figures(strategy, target, view, memory), factors: Vec::new() };
    let mut explanations: Vec<Explanation> = pool.targets.iter().map(plain).collect();
    if strategy == Strategy::Auto {
        let (profile, layers) = (Profile::default(), Layers::default());
        let Taste { profile, layers } = taste.unwrap_or(Taste { profile: &profile, layers: &layers });
        let (indexes, targets): (Vec<usize>, Vec<&Target>) = compared(pool).unzip();
        let last_good = lkgp::find(&targets, view, &memory.last_good);
        let request = stickiness::recalled(view, &memory.sessions);
        let view = &View { request: &request, ..*view };
        let scene = auto::Scene { profile, layers, last_good, incident: auto::incident(&pool.targets) };
        for (place, factors) in auto::explain(&targets, view, &scene) {
            let index = indexes[place];
            explanations[index].figures =
                vec![Figure { name: "score", value: factors.iter().map(|factor| factor.share).sum() }];
            explanations[index].factors = factors;
        }
    }
    explanations
}

/// Those whom `auto` compared, by index: also those it then did not want.
fn compared(pool: &Pool) -> impl Iterator<Item = (usize, &Target)> {
    let of_others = |(index, why): &(usize, LeftOut)| (!matches!(why, LeftOut::Unwanted(_))).then_some(*index);
    let left_out: BTreeSet<usize> = pool.left_out.iter().filter_map(of_others).collect();
    pool.targets.iter().enumerate().filter(move |(index, _)| !left_out.contains(index))
}

fn figures(strategy: Strategy, target: &Target, view: &View<'_>, memory: &Memory) -> Vec<Figure> {
    let facts = &target.facts;
    let found = match strategy {
        Strategy::Weighted => [("weight", Some(f64::from(target.weight))), NOTHING],
        Strategy::P2c => [("score", Some(p2c::score(target))), NOTHING],
        Strategy::LeastUsed => [("requests", Some(memory.counts.of(&target.execution_key, view.now))), NOTHING],
        Strategy::CostOptimized => [("inputPrice", facts.input_price), ("outputPrice", facts.output_price)],
        Strategy::ResetAware => [("score", Some(reset_aware::score(target, view.config, view.now))), NOTHING],
        Strategy::ResetWindow => {
            let wait = facts.quota.as_ref().and_then(|quota| reset_window::wait(quota, view));
            [("resetInSeconds", wait.map(|wait| wait.as_millis() as f64 / 1_000.0)), NOTHING]
        }
        Strategy::Headroom => [("free", Some(headroom::free(target, view.now))), NOTHING],
        Strategy::ContextOptimized => [("contextWindow", facts.context_window.map(|window| window as f64)), NOTHING],
        Strategy::CacheOptimized => {
            let key = view.request.cache_key.as_ref();
            let share = key.map(|key| cache_optimized::score(key, target) as f64 / u64::MAX as f64);
            [("affinity", share), NOTHING]
        }
        Strategy::QuotaShare => {
            let places = facts.max_concurrent.map(f64::from);
            [("inFlight", Some(f64::from(facts.in_flight))), ("maxConcurrent", places)]
        }
        Strategy::Priority
        | Strategy::RoundRobin
        | Strategy::ContextRelay
        | Strategy::FillFirst
        | Strategy::Random
        | Strategy::StrictRandom
        | Strategy::Auto
        | Strategy::Lkgp
        | Strategy::Fusion
        | Strategy::Pipeline => [NOTHING, NOTHING],
    };
    let known = found.into_iter().filter_map(|(name, value)| Some(Figure { name, value: value? }));
    known.filter(|figure| figure.value.is_finite()).collect()
}

const NOTHING: (&str, Option<f64>) = ("", None);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategies::fixtures::{World, quota, target, targets};
    use crate::target::Breaker;

    #[test]
    fn what_is_compared_is_shown_and_what_is_unknown_is_not() {
        let (world, memory) = (World::default(), Memory::default());
        let mut known = target(0);
        known.weight = 7;
        known.facts.input_price = Some(3.0);
        known.facts.context_window = Some(8_000);
        known.facts.quota = Some(quota(&[("weekly", Some(0.25), Some(90_000))]));
        for (strategy, expected) in [
            (Strategy::Weighted, vec![("weight", 7.0)]),
            (Strategy::P2c, vec![("score", 0.75)]),
            (Strategy::LeastUsed, vec![("requests", 0.0)]),
            (Strategy::CostOptimized, vec![("inputPrice", 3.0)]),
            (Strategy::ResetWindow, vec![("resetInSeconds", 90.0)]),
            (Strategy::Headroom, vec![("free", 0.75)]),
            (Strategy::ContextOptimized, vec![("contextWindow", 8_000.0)]),
            (Strategy::QuotaShare, vec![("inFlight", 0.0)]),
            (Strategy::CacheOptimized, vec![]),
            (Strategy::Priority, vec![]),
        ] {
            let found = figures(strategy, &known, &world.view(), &memory);
            let found: Vec<_> = found.iter().map(|figure| (figure.name, figure.value)).collect();
            assert_eq!(found, expected, "{strategy}");
        }
    }

    #[test]
    fn nothing_infinite_escapes() {
        let (world, memory, mut open) = (World::default(), Memory::default(), target(0));
        open.facts.breaker = Breaker::Open;
        open.facts.quota = Some(quota(&[("weekly", Some(1.0), None)]));
        for strategy in [Strategy::P2c, Strategy::ResetAware, Strategy::ResetWindow, Strategy::CostOptimized] {
            assert_eq!(figures(strategy, &open, &world.view(), &memory), [], "{strategy}");
        }
    }

    #[test]
    fn a_score_is_the_sum_of_its_factors() {
        let pool = Pool { targets: targets(2), ..Pool::default() };
        let explained = explain(Strategy::Auto, &pool, &World::default().view(), &Memory::default(), None);
        for Explanation { figures, factors } in &explained {
            assert!(!factors.is_empty());
            assert!((figures[0].value - factors.iter().map(|factor| factor.share).sum::<f64>()).abs() < 1e-9);
        }
        assert_eq!(explain(Strategy::Priority, &pool, &World::default().view(), &Memory::default(), None).len(), 2);
    }
}
