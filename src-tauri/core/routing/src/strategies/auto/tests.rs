//! Choosing, step by step, and how often what is chosen.

use domain::{Mechanism, Millis};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::*;
use crate::combo::Config;
use crate::score::samples::{NOW, chi_square, excluded, quota, targets, telemetry, view};
use crate::view::RequestFacts;

/// Everything a choice depends on.
#[derive(Default)]
struct World {
    config: Config,
    profile: Profile,
    layers: Layers,
    request: RequestFacts,
    last_good: Option<usize>,
    memory: Memory,
}

impl World {
    /// Without chance as far as the scores differ clearly.
    fn steady() -> Self {
        World { profile: Profile { exploration_rate: 0.0, ..Profile::default() }, ..World::default() }
    }

    fn choose(&mut self, targets: &[Target], rng: &mut ChaCha8Rng) -> Result<Choice, OverBudget> {
        let view = View { config: &self.config, ..view(&self.request) };
        let scene = Scene {
            profile: &self.profile,
            layers: &self.layers,
            last_good: self.last_good,
            incident: incident(targets),
        };
        rank(targets, &view, &scene, &mut self.memory, rng)
    }

    fn choice(&mut self, targets: &[Target]) -> Choice {
        self.choose(targets, &mut rng()).expect("within the budget")
    }

    /// How often each target is first.
    fn firsts(&mut self, targets: &[Target], rounds: u32) -> Vec<u32> {
        let mut rng = rng();
        let mut counts = vec![0; targets.len()];
        for _ in 0..rounds {
            counts[self.choose(targets, &mut rng).expect("within the budget").order[0]] += 1;
        }
        counts
    }
}

fn rng() -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(7)
}

/// Targets whose scores differ by quality alone: weight 0.03 by default.
fn by_quality(qualities: &[f64]) -> Vec<Target> {
    let mut targets = targets(qualities.len());
    for (target, quality) in targets.iter_mut().zip(qualities) {
        target.facts.quality = Some(*quality);
    }
    targets
}

/// A world in which the score is the quality.
fn quality_only() -> World {
    let mut world = World::steady();
    world.config.auto_config.weights =
        Factor::ALL.iter().map(|factor| (factor.as_str().to_owned(), f64::from(*factor == Factor::Quality))).collect();
    world
}

#[test]
fn the_best_is_first_and_the_rest_follow_by_score() {
    let mut world = quality_only();
    let choice = world.choice(&by_quality(&[0.5, 0.9, 0.3, 0.7]));
    assert_eq!(choice.order, [1, 3, 0, 2]);
    assert_eq!(choice.picked, Picked::Tier(Tier::Top));
    assert_eq!(choice.scored.iter().map(|scored| scored.score).collect::<Vec<_>>(), [0.5, 0.9, 0.3, 0.7]);
}

#[test]
fn equals_at_the_top_take_turns() {
    let mut world = quality_only();
    let targets = by_quality(&[0.9, 0.5, 0.90005, 0.9]);
    let firsts: Vec<usize> = (0..6).map(|_| world.choice(&targets).order[0]).collect();
    assert_eq!(firsts, [0, 2, 3, 0, 2, 3]);
}

#[test]
fn an_open_breaker_is_never_chosen_and_excluded_targets_are_not_ranked() {
    let mut world = World::steady();
    let mut targets = targets(4);
    targets[0].facts.breaker = Breaker::Open;
    targets[1].availability = excluded(Mechanism::ConnectionCooldown);
    let choice = world.choice(&targets);
    assert_eq!(choice.left_out, [(0, LeftOut::CircuitOpen)]);
    let mut order = choice.order;
    order.sort_unstable();
    assert_eq!(order, [2, 3]);
    for target in &mut targets {
        target.facts.breaker = Breaker::Open;
    }
    let choice = world.choice(&targets);
    assert_eq!((choice.order.len(), choice.picked), (0, Picked::Nothing), "this one does not give way");
}

#[test]
fn a_bad_score_sends_away_and_gives_way_when_nobody_else_is_left() {
    let mut world = quality_only();
    let choice = world.choice(&by_quality(&[0.1, 0.9]));
    let until = NOW + Millis::minutes(5);
    assert_eq!(choice.order, [1]);
    assert_eq!(choice.left_out, [(0, LeftOut::SelfHealing { until })]);
    let better = world.choice(&by_quality(&[1.0, 0.9]));
    assert_eq!(better.order, [1], "out for five minutes, whatever it scores now");
    assert_eq!(world.choice(&by_quality(&[0.1, 0.05])).order, [0, 1]);
}

#[test]
fn failures_reported_to_self_healing_send_away() {
    let mut world = World::steady();
    for _ in 0..3 {
        world.memory.healing.on_failure("t0", NOW);
    }
    assert_eq!(world.choice(&targets(2)).order, [1]);
}

#[test]
fn a_quota_near_its_end_lowers_the_score() {
    let mut world = quality_only();
    let mut targets = by_quality(&[0.9, 0.8]);
    for (used, order, penalised) in [(0.79, [0, 1], false), (0.8, [1, 0], true), (1.0, [1, 0], true)] {
        targets[0].facts.quota = Some(quota("session", used, None));
        let choice = world.choice(&targets);
        assert_eq!((choice.order, choice.scored[0].penalised), (order.to_vec(), penalised), "{used}");
    }
    assert!((world.choice(&targets).scored[0].score - 0.63).abs() < 1e-9);
}

#[test]
fn the_candidate_pool_narrows_and_gives_way() {
    let mut world = World::steady();
    let mut targets = targets(3);
    targets[2].provider = "q".into();
    for (pool, count) in [(vec!["q"], 1), (vec!["p/*"], 2), (vec!["p/t1", "q"], 2), (vec!["unheard"], 3), (vec![], 3)] {
        world.config.auto_config.candidate_pool = pool.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(world.choice(&targets).order.len(), count, "{pool:?}");
    }
}

#[test]
fn more_than_half_of_the_providers_down_stops_exploration() {
    let mut world = World::default();
    world.profile.exploration_rate = 1.0;
    let mut targets = targets(5);
    for (target, provider) in targets.iter_mut().zip(["a", "b", "c", "d", "d"]) {
        target.provider = provider.into();
    }
    targets[0].availability = excluded(Mechanism::CircuitBreaker);
    targets[1].facts.breaker = Breaker::Open;
    assert!(!incident(&targets), "just half");
    assert_eq!(world.choice(&targets).picked, Picked::Exploration);
    targets[2].availability = excluded(Mechanism::CircuitBreaker);
    assert!(incident(&targets));
    assert_ne!(world.choice(&targets).picked, Picked::Exploration);
}

#[test]
fn exploration_happens_at_its_rate_and_evenly() {
    for rate in [0.05, 0.10, 0.5] {
        let mut world = quality_only();
        world.profile.exploration_rate = rate;
        let counts = world.firsts(&by_quality(&[0.9, 0.5, 0.4, 0.3]), 20_000);
        let each = rate / 4.0;
        let statistic = chi_square(&counts, &[1.0 - 3.0 * each, each, each, each]);
        assert!(statistic < 16.27, "{statistic} at {rate}: 3 degrees of freedom, p = 0.001");
    }
    let mut world = quality_only();
    world.config.auto_config.exploration_rate = Some(0.0);
    world.profile.exploration_rate = 1.0;
    assert_eq!(world.firsts(&by_quality(&[0.9, 0.5]), 1_000), [1_000, 0], "the combo's own rate wins");
}

#[test]
fn close_scores_are_drawn_by_tier() {
    // Range 0.09: top is {0}, the middle reaches down to 0.473, the rest is {3, 4}.
    let targets = by_quality(&[0.5, 0.49, 0.48, 0.45, 0.41]);
    for shares in [TierShares::new(0.45, 0.35, 0.20), TierShares::new(0.2, 0.3, 0.5), TierShares::new(2.0, 1.0, 1.0)] {
        let mut world = quality_only();
        world.profile.tier_shares = shares;
        let counts = world.firsts(&targets, 20_000);
        let sum = shares.top + shares.middle + shares.rest;
        let (middle, rest) = (shares.middle / sum, shares.rest / sum);
        // Inside a tier turns are taken, so members of one tier differ by one at most.
        assert!(counts[1].abs_diff(counts[2]) <= 1 && counts[3].abs_diff(counts[4]) <= 1, "{counts:?}");
        let tiers = [counts[0], counts[1] + counts[2], counts[3] + counts[4]];
        let statistic = chi_square(&tiers, &[shares.top / sum, middle, rest]);
        assert!(statistic < 13.82, "{statistic} for {shares:?}: 2 degrees of freedom, p = 0.001");
    }
}

#[test]
fn an_empty_tier_leaves_its_share_to_the_others() {
    let mut world = quality_only();
    let counts = world.firsts(&by_quality(&[0.5, 0.45]), 10_000);
    let statistic = chi_square(&counts, &[0.45 / 0.65, 0.20 / 0.65]);
    assert!(statistic < 10.83, "{statistic}: 1 degree of freedom, p = 0.001");
    assert_eq!(quality_only().firsts(&by_quality(&[0.5, 0.5]), 10), [5, 5]);
}

fn priced(prices: &[Option<f64>]) -> Vec<Target> {
    let mut targets = targets(prices.len());
    for (target, price) in targets.iter_mut().zip(prices) {
        (target.facts.input_price, target.facts.output_price) = (*price, *price);
    }
    targets
}

#[test]
fn a_budget_leaves_out_what_is_too_dear() {
    let dear = priced(&[Some(30.0), Some(2.0), None, Some(20.0)]);
    let mut world = World::steady();
    world.config.auto_config.budget_usd = Some(0.01);
    world.config.auto_config.budget_mode = BudgetMode::Strict;
    let choice = world.choice(&dear);
    assert!(choice.order.len() == 2 && choice.order.contains(&1) && choice.order.contains(&2), "{:?}", choice.order);
    assert_eq!(choice.left_out, [(3, LeftOut::OverBudget), (0, LeftOut::OverBudget)]);
    world.config.auto_config.budget_mode = BudgetMode::Cheapest;
    assert_eq!(world.choice(&dear).order[2..], [3, 0], "behind, the cheapest first");
}

#[test]
fn over_every_budget_strict_refuses_and_cheapest_serves() {
    let dear = priced(&[Some(30.0), Some(20.0)]);
    let mut world = World::steady();
    world.config.auto_config.budget_usd = Some(0.01);
    world.config.auto_config.budget_mode = BudgetMode::Strict;
    assert_eq!(world.choose(&dear, &mut rng()), Err(OverBudget { cap: 0.01, cheapest: 0.02 }));
    world.request.estimated_tokens = 500;
    assert_eq!(world.choice(&dear).order, [1], "half of the assumed thousand tokens fits");
    world.request.estimated_tokens = 100_000;
    world.config.auto_config.budget_mode = BudgetMode::Cheapest;
    let choice = world.choice(&dear);
    assert_eq!((choice.order, choice.picked), (vec![1, 0], Picked::CheapestOverBudget));
}

#[test]
fn router_strategies_order_by_their_own_figure() {
    let mut targets = priced(&[Some(5.0), None, Some(1.0), Some(0.0)]);
    for (target, telemetry) in targets.iter_mut().zip([
        telemetry(100.0, 1.0, 0.5),
        telemetry(200.0, 1.0, 1.0),
        telemetry(300.0, 1.0, 1.0),
        telemetry(1_400.0, 1.0, 1.0),
    ]) {
        target.facts.telemetry = telemetry;
    }
    for (strategy, order) in [
        (RouterStrategy::Cost, [3, 2, 0, 1]),
        (RouterStrategy::Eco, [3, 2, 0, 1]),
        (RouterStrategy::Latency, [1, 2, 0, 3]),
        (RouterStrategy::Fast, [1, 2, 0, 3]),
    ] {
        let mut world = World::steady();
        world.config.auto_config.router_strategy = strategy;
        let choice = world.choice(&targets);
        assert_eq!((choice.order, choice.picked), (order.to_vec(), Picked::Router(strategy)));
    }
}

#[test]
fn the_last_known_good_is_first_then_by_score() {
    let targets = by_quality(&[0.9, 0.5, 0.7]);
    for (profile_says, strategy) in [(true, RouterStrategy::Rules), (false, RouterStrategy::Lkgp)] {
        let mut world = quality_only();
        world.profile.last_good_first = profile_says;
        world.config.auto_config.router_strategy = strategy;
        world.last_good = Some(1);
        assert_eq!(world.choice(&targets).order, [1, 0, 2]);
        world.last_good = None;
        assert_eq!(world.choice(&targets).order, [0, 2, 1]);
    }
}

#[test]
fn a_service_level_prefers_what_meets_it_and_can_insist() {
    let mut targets = targets(3);
    targets[0].facts.telemetry = telemetry(4_000.0, 1.0, 1.0);
    targets[1].facts.telemetry = telemetry(900.0, 1.0, 0.99);
    targets[2].facts.telemetry = telemetry(800.0, 1.0, 0.5);
    let mut world = World::steady();
    let config = &mut world.config.auto_config;
    config.router_strategy = RouterStrategy::SlaAware;
    config.sla_target_p95 = Some(Millis::seconds(1));
    config.sla_max_error_rate = Some(0.02);
    assert_eq!(world.choice(&targets).order, [1, 0, 2]);
    world.config.auto_config.sla_hard_constraints = true;
    let choice = world.choice(&targets);
    assert_eq!(choice.order, [1]);
    assert_eq!(choice.left_out.len(), 2);
    world.config.auto_config.sla_target_p95 = Some(Millis::new(1));
    assert_eq!(world.choice(&targets).order.len(), 3, "nobody meets it: nobody is left out");
}

#[test]
fn a_preview_shows_every_factor_and_changes_nothing() {
    let world = World::default();
    let targets = by_quality(&[0.9, 0.1]);
    let scene = Scene { profile: &world.profile, layers: &world.layers, last_good: None, incident: false };
    let explained = explain(&targets, &view(&world.request), &scene);
    assert_eq!(explained.len(), 2);
    let quality = explained[0].1.iter().find(|part| part.factor == Factor::Quality).expect("all factors");
    assert!((quality.share - 0.027).abs() < 1e-4);
    let total: f64 = explained[0].1.iter().map(|part| part.share).sum();
    let mut choosing = World::steady();
    assert!((choosing.choice(&targets).scored[0].score - total).abs() < 1e-9, "the parts are those of the choice");
}

#[test]
fn cursors_are_bounded() {
    let mut world = World::default();
    for n in 0..ROTORS + 20 {
        world.memory.next_turn(&n.to_string(), Tier::Top);
    }
    assert_eq!(world.memory.rotors.len(), ROTORS);
}

proptest! {
    #[test]
    fn the_order_and_those_left_out_are_the_available_ones_once_each(
        facts in prop::collection::vec((any::<bool>(), 0_u8..5, prop::num::f64::ANY, any::<bool>()), 0..25),
        seed: u64,
        strategy in prop::sample::select(vec![
            RouterStrategy::Rules, RouterStrategy::Cost, RouterStrategy::Latency, RouterStrategy::SlaAware,
            RouterStrategy::Lkgp,
        ]),
        budget in prop::option::of(0.0..0.1),
        last_good in prop::option::of(0_usize..30),
    ) {
        let mut targets = targets(facts.len());
        for (target, (available, breaker, figure, full)) in targets.iter_mut().zip(&facts) {
            if !available {
                target.availability = excluded(Mechanism::ModelLockout);
            }
            if *breaker == 0 {
                target.facts.breaker = Breaker::Open;
            }
            target.facts.quality = Some(*figure);
            (target.facts.input_price, target.facts.output_price) = (Some(*figure), Some(*figure));
            target.facts.telemetry = telemetry(*figure, *figure, *figure);
            target.facts.quota = full.then(|| quota("session", *figure, None));
        }
        let mut world = World { last_good, ..World::default() };
        world.config.auto_config.router_strategy = strategy;
        world.config.auto_config.budget_usd = budget;
        world.config.auto_config.budget_mode = BudgetMode::Cheapest;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for _ in 0..3 {
            let choice = world.choose(&targets, &mut rng).expect("the cheapest serves");
            let mut all: Vec<usize> = choice.order.iter().copied().chain(choice.left_out.iter().map(|out| out.0)).collect();
            all.sort_unstable();
            let available: Vec<usize> = (0..facts.len()).filter(|&index| facts[index].0).collect();
            prop_assert_eq!(all, available);
            prop_assert!(choice.scored.iter().all(|scored| (0.0..=1.0).contains(&scored.score)));
        }
    }
}
