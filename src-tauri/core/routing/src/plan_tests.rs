use domain::quota::Quota;
use domain::{Mechanism, Millis};
use proptest::prelude::{Just, any, prop, prop_assert_eq, prop_assume, prop_oneof, proptest};
use proptest::strategy::Strategy as Generator;

use super::*;
use crate::combo::config::ContextMode;
use crate::strategies::fixtures::{NOW, World, quota, rng, target, targets};
use crate::target::Facts;
use crate::view::Needs;

fn combo(strategy: Strategy) -> Route<'static> {
    Route::Combo { strategy, tiers: None, protects_cache: false, taste: None }
}

fn spared(target: &mut Target, mechanism: Mechanism, until: Option<u64>) {
    let until = until.map(|wait| NOW + Millis::new(wait));
    target.availability = Availability::Excluded(Exclusion { until, ..Exclusion::lasting(mechanism, "resting") });
}

fn planned(strategy: Strategy, targets: Vec<Target>, world: &World, memory: &mut Memory) -> Plan {
    plan(&combo(strategy), targets, &world.view(), memory, &mut rng(1)).expect("a plan")
}

fn order(plan: &Plan) -> Vec<&str> {
    let Plan::Ranked { pool, attempts } = plan else { panic!("a ranking") };
    attempts.iter().map(|attempt| pool.targets[attempt.target].execution_key.as_str()).collect()
}

fn reasons(pool: &Pool) -> Vec<(&str, &str)> {
    pool.left_out().map(|(target, why)| (target.execution_key.as_str(), why.reason())).collect()
}

/// Everything a strategy looks at, anyhow.
fn any_target() -> impl Generator<Value = (Facts, u32, bool)> {
    let used = prop::option::of((0.0..1.2_f64, prop::option::of(0..10_000_000_u64)));
    let price = prop::option::of(prop_oneof![Just(0.0), 0.0..50.0_f64, Just(f64::NAN)]);
    (price, prop::option::of(1..9_u64), used, prop::option::of(-1.0..2.0_f64), 0..101_u32, any::<bool>()).prop_map(
        |(price, window, quota_of, rate, weight, free)| {
            let quota_of: Option<Arc<Quota>> = quota_of.map(|(used, reset)| quota(&[("weekly", Some(used), reset)]));
            let mut facts = Facts { input_price: price, context_window: window, quota: quota_of, ..Facts::default() };
            facts.telemetry.success_rate = rate;
            (facts, weight, free)
        },
    )
}

fn built(parts: Vec<(Facts, u32, bool)>) -> Vec<Target> {
    let build = |(n, (facts, weight, free)): (usize, (Facts, u32, bool))| {
        let mut target = Target { facts, weight, ..target(n) };
        if !free {
            spared(&mut target, Mechanism::ConnectionCooldown, Some(5));
        }
        target
    };
    parts.into_iter().enumerate().map(build).collect()
}

/// Several targets work on one request, so none is tried after another.
fn is_collective(strategy: Strategy) -> bool {
    matches!(strategy, Strategy::Fusion | Strategy::Pipeline)
}

proptest! {
    #[test]
    fn every_strategy_tries_each_available_target_once_and_no_other(
        parts in prop::collection::vec(any_target(), 0..12), seed in any::<u64>(), strategy in 0..19_usize,
    ) {
        let strategy = Strategy::PUBLIC[strategy];
        prop_assume!(!is_collective(strategy));
        let (targets, mut world) = (built(parts), World::default());
        world.request.cache_key = Some(format!("{seed}"));
        let run = |memory: &mut Memory| {
            plan(&combo(strategy), targets.clone(), &world.view(), memory, &mut rng(seed)).expect("a plan")
        };
        let (mut memory, mut again) = (Memory::default(), Memory::default());
        for _ in 0..3 {
            let first = run(&mut memory);
            let mut found: Vec<String> = order(&first).into_iter().map(str::to_owned).collect();
            let mut free: Vec<String> = targets
                .iter()
                .filter(|target| target.availability == Availability::Available)
                .map(|target| target.execution_key.clone())
                .collect();
            free.sort();
            let unwanted = first.left_out().filter(|(_, why)| matches!(why, LeftOut::Unwanted(_)));
            found.extend(unwanted.map(|(target, _)| target.execution_key.clone()));
            found.sort();
            prop_assert_eq!(&found, &free);
            prop_assert_eq!(first.left_out().count() + order(&first).len(), targets.len());
            let second = run(&mut again);
            prop_assert_eq!(order(&first), order(&second), "same memory, same chance, same plan");
        }
    }

    #[test]
    fn order_is_stable_where_nothing_tells_targets_apart(count in 0..20_usize, strategy in 0..19_usize) {
        let strategy = Strategy::PUBLIC[strategy];
        let shuffles = [Strategy::Weighted, Strategy::P2c, Strategy::Random, Strategy::StrictRandom, Strategy::Auto];
        prop_assume!(!is_collective(strategy) && !shuffles.contains(&strategy));
        let plan = planned(strategy, targets(count), &World::default(), &mut Memory::default());
        let listed: Vec<String> = (0..count).map(|n| format!("s{n}")).collect();
        prop_assert_eq!(order(&plan), listed);
    }
}

#[test]
fn a_direct_route_keeps_the_order_and_names_the_spared() {
    let mut accounts = targets(3);
    spared(&mut accounts[0], Mechanism::ConnectionCooldown, Some(5));
    let world = World::default();
    let plan = plan(&Route::Direct, accounts, &world.view(), &mut Memory::default(), &mut rng(1)).expect("a plan");
    assert_eq!((order(&plan), reasons(plan.pool())), (vec!["s1", "s2"], vec![("s0", "resting")]));
}

#[test]
fn tags_choose_among_targets_and_fail_open() {
    let (mut world, mut tagged) = (World::default(), targets(3));
    tagged[1].tags = vec!["fast".to_owned()];
    world.request.tags = vec!["fast".to_owned()];
    let chosen = planned(Strategy::Priority, tagged.clone(), &world, &mut Memory::default());
    assert_eq!((order(&chosen), reasons(chosen.pool())), (vec!["s1"], vec![("s0", "tag"), ("s2", "tag")]));
    world.request.tags = vec!["cheap".to_owned()];
    assert_eq!(order(&planned(Strategy::Priority, tagged, &world, &mut Memory::default())), ["s0", "s1", "s2"]);
}

#[test]
fn what_nobody_can_do_is_refused_by_name_unless_the_combo_says_to_try() {
    let (mut world, mut blind) = (World::default(), targets(2));
    blind.iter_mut().for_each(|target| target.facts.supports.vision = Some(false));
    world.request.needs = Needs { vision: true, ..Needs::default() };
    let refused = plan(&combo(Strategy::Priority), blind.clone(), &world.view(), &mut Memory::default(), &mut rng(1));
    let refused = refused.expect_err("nobody sees");
    assert_eq!(refused.cause, Cause::Capability(vec![Capability::Vision]));
    assert_eq!(reasons(&refused.pool), [("s0", "capability_mismatch"), ("s1", "capability_mismatch")]);
    world.config.compat_filter_fail_open = true;
    assert_eq!(order(&planned(Strategy::Priority, blind, &world, &mut Memory::default())).len(), 2);
}

#[test]
fn that_the_only_capable_target_rests_is_a_wait_and_no_refusal() {
    let (mut world, mut two) = (World::default(), targets(2));
    two[0].facts.supports.vision = Some(false);
    spared(&mut two[1], Mechanism::ConnectionCooldown, Some(9));
    world.request.needs = Needs { vision: true, ..Needs::default() };
    let plan = planned(Strategy::Priority, two, &world, &mut Memory::default());
    assert!(plan.is_empty());
    assert_eq!(reasons(plan.pool()), [("s0", "capability_mismatch"), ("s1", "resting")]);
}

#[test]
fn context_requirements_are_strict_or_lenient() {
    let (mut world, mut two) = (World::default(), targets(2));
    two[0].facts.context_window = Some(8_000);
    world.config.context_requirements.min_context_window = Some(100_000);
    let kept = planned(Strategy::Priority, two.clone(), &world, &mut Memory::default());
    assert_eq!(order(&kept), ["s1"], "an unknown window is large enough");
    two[1].facts.context_window = Some(16_000);
    let refused = plan(&combo(Strategy::Priority), two.clone(), &world.view(), &mut Memory::default(), &mut rng(1));
    assert_eq!(refused.expect_err("too small").cause, Cause::ContextRequirements);
    world.config.context_requirements.mode = ContextMode::Lenient;
    assert_eq!(order(&planned(Strategy::Priority, two, &world, &mut Memory::default())), ["s0", "s1"]);
}

#[test]
fn a_tool_limit_passes_a_provider_by_and_refuses_when_it_is_everyones() {
    let (mut world, mut two) = (World::default(), targets(2));
    two[0].facts.max_tools = Some(10);
    world.request.tool_count = 11;
    assert_eq!(order(&planned(Strategy::Priority, two.clone(), &world, &mut Memory::default())), ["s1"]);
    two[1].facts.max_tools = Some(8);
    let refused = plan(&combo(Strategy::Priority), two.clone(), &world.view(), &mut Memory::default(), &mut rng(1));
    assert_eq!(refused.expect_err("too many").cause, Cause::ToolLimit { limit: 10, tools: 11 });
    world.request.tool_count = 8;
    assert_eq!(order(&planned(Strategy::Priority, two, &world, &mut Memory::default())).len(), 2);
}

#[test]
fn slow_starters_are_skipped_where_that_is_switched_on_and_others_are_left() {
    let (mut world, mut two) = (World::default(), targets(2));
    two[0].facts.telemetry.first_token = Some(900.0);
    two[0].facts.telemetry.samples = 5;
    world.config.predictive_ttft = Millis::new(800);
    assert_eq!(order(&planned(Strategy::Priority, two.clone(), &world, &mut Memory::default())).len(), 2);
    world.config.zero_latency_optimizations_enabled = true;
    assert_eq!(order(&planned(Strategy::Priority, two.clone(), &world, &mut Memory::default())), ["s1"]);
    two[0].facts.telemetry.samples = 4;
    assert_eq!(
        order(&planned(Strategy::Priority, two.clone(), &world, &mut Memory::default())).len(),
        2,
        "too few to tell"
    );
    two[0].facts.telemetry.samples = 5;
    two[1].facts.telemetry = two[0].facts.telemetry;
    assert_eq!(order(&planned(Strategy::Priority, two, &world, &mut Memory::default())).len(), 2, "all are slow");
}

#[test]
fn a_conversation_stays_where_it_was_while_it_may() {
    let (mut world, mut memory) = (World::default(), Memory::default());
    world.request.session = Some("talk".to_owned());
    memory.sessions.keep("c", "talk", "s2@a", NOW);
    assert_eq!(
        order(&planned(Strategy::Priority, targets(3), &world, &mut memory)),
        ["s0", "s1", "s2"],
        "the order is the owner's"
    );
    let kept = planned(Strategy::CostOptimized, targets(3), &world, &mut memory);
    assert_eq!(order(&kept), ["s2", "s0", "s1"]);
    let Plan::Ranked { attempts, .. } = kept else { panic!("a ranking") };
    assert_eq!((attempts[0].placed, attempts[1].placed), (Placed::Session, Placed::Strategy));

    let mut resting = targets(3);
    spared(&mut resting[2], Mechanism::ConnectionCooldown, Some(5));
    assert_eq!(order(&planned(Strategy::CostOptimized, resting, &world, &mut memory)), ["s0", "s1"]);
    let mut full = targets(3);
    full[2].facts.quota = Some(quota(&[("session", Some(0.9), None)]));
    assert_eq!(order(&planned(Strategy::CostOptimized, full, &world, &mut memory)), ["s0", "s1", "s2"]);
    assert_eq!(memory.sessions.of("c", "talk", NOW), None, "and is free from then on");
}

#[test]
fn conversations_go_where_they_like_when_spreading_is_the_point_or_nobody_minds() {
    let (mut world, mut memory) = (World::default(), Memory::default());
    world.request.session = Some("talk".to_owned());
    memory.sessions.keep("c", "talk", "s2", NOW);
    assert_eq!(order(&planned(Strategy::RoundRobin, targets(3), &world, &mut memory)), ["s0", "s1", "s2"]);
    world.config.disable_session_stickiness = true;
    assert_eq!(order(&planned(Strategy::Priority, targets(3), &world, &mut memory)), ["s0", "s1", "s2"]);
    let protecting = Route::Combo { strategy: Strategy::Priority, tiers: None, protects_cache: true, taste: None };
    let kept = plan(&protecting, targets(3), &world.view(), &mut memory, &mut rng(1)).expect("a plan");
    assert_eq!(order(&kept), ["s2", "s0", "s1"]);
}

#[test]
fn a_known_beginning_prefers_its_account_inside_the_model_or_before_all() {
    let (mut world, mut memory, mut three) = (World::default(), Memory::default(), targets(4));
    for n in [1, 2, 3] {
        (three[n].provider, three[n].model) = ("p".into(), "m".to_owned());
    }
    world.request.cache_key = Some("beginning".to_owned());
    memory.prefixes.keep("c", "beginning", "s3", NOW);
    for (strategy, expected) in [
        (Strategy::Priority, ["s0", "s3", "s1", "s2"]),
        (Strategy::FillFirst, ["s0", "s3", "s1", "s2"]),
        (Strategy::LeastUsed, ["s3", "s0", "s1", "s2"]),
        (Strategy::RoundRobin, ["s0", "s1", "s2", "s3"]),
    ] {
        assert_eq!(order(&planned(strategy, three.clone(), &world, &mut memory)), expected, "{strategy}");
    }
}

#[test]
fn a_nested_combo_is_one_target_that_chooses_by_its_own_strategy() {
    let mut inner = targets(3);
    inner.iter_mut().enumerate().for_each(|(n, target)| target.execution_key = format!("s1>{n}"));
    for (target, price) in inner.iter_mut().zip([3.0, 1.0, 2.0]) {
        target.facts.input_price = Some(price);
    }
    spared(&mut inner[1], Mechanism::ModelLockout, Some(7));
    let nested = Nested {
        combo: "inner".to_owned(),
        strategy: Strategy::CostOptimized,
        tiers: None,
        config: Arc::new(Config::default()),
        expansion: inner.into(),
    };
    let mut expansion = Expansion::from(targets(3));
    expansion.nested.insert("s1".to_owned(), nested);
    let (world, mut memory) = (World::default(), Memory::default());
    let run = |expansion: Expansion, memory: &mut Memory| {
        plan(&combo(Strategy::RoundRobin), expansion, &world.view(), memory, &mut rng(1)).expect("a plan")
    };
    let outer = run(expansion.clone(), &mut memory);
    assert_eq!(order(&outer), ["s0", "s1", "s2"]);
    assert_eq!(order(&outer.pool().nested[&1].plan), ["s1>2", "s1>0"], "the cheapest that is free");
    assert_eq!(outer.left_out().count(), 1, "the inner combo's reasons are the outer one's");
    assert_eq!(outer.pool().targets[1].facts.input_price, Some(2.0), "it looks like what it would ask");

    let rest = expansion.nested.get_mut("s1").expect("nested");
    rest.expansion.targets.iter_mut().for_each(|target| spared(target, Mechanism::ModelLockout, Some(7)));
    let without = run(expansion, &mut memory);
    assert_eq!(order(&without), ["s2", "s0"]);
    assert_eq!(
        without.left_out().map(|(_, why)| why.reason()).collect::<Vec<_>>(),
        ["combo_empty", "resting", "resting", "resting"]
    );
}

#[test]
fn auto_chooses_by_score_and_says_whom_it_does_not_want() {
    let (mut world, mut three) = (World::default(), targets(3));
    for (target, price) in three.iter_mut().zip([9.0, 1.0, 5.0]) {
        (target.facts.input_price, target.facts.output_price) = (Some(price), Some(price));
    }
    three[2].facts.breaker = crate::target::Breaker::Open;
    world.config.auto_config.exploration_rate = Some(0.0);
    let chosen = planned(Strategy::Auto, three.clone(), &world, &mut Memory::default());
    assert_eq!((order(&chosen), reasons(chosen.pool())), (vec!["s1", "s0"], vec![("s2", "circuit_open")]));

    world.config.auto_config.budget_usd = Some(0.000_1);
    world.config.auto_config.budget_mode = crate::combo::config::BudgetMode::Strict;
    let refused = plan(&combo(Strategy::Auto), three, &world.view(), &mut Memory::default(), &mut rng(1));
    assert!(matches!(refused.expect_err("too dear").cause, Cause::OverBudget(_)));
}

#[test]
fn a_panel_sits_unless_the_request_has_tools() {
    let mut world = World::default();
    world.config.fusion.judge_model = Some("p1/m1".to_owned());
    let seated = planned(Strategy::Fusion, targets(3), &world, &mut Memory::default());
    let Plan::Panel { members, judge, .. } = &seated else { panic!("a panel") };
    assert_eq!((members.len(), judge), (3, &Judge::Target(1)));
    for request in
        [|world: &mut World| world.request.tool_results = true, |world: &mut World| world.request.tool_count = 1]
    {
        request(&mut world);
        assert_eq!(order(&planned(Strategy::Fusion, targets(3), &world, &mut Memory::default())), ["s1", "s0", "s2"]);
    }
}

#[test]
fn a_panel_has_as_many_seats_as_there_are_letters() {
    let mut world = World::default();
    world.config.fusion.judge_model = Some("p29/m29".to_owned());
    let seated = planned(Strategy::Fusion, targets(30), &world, &mut Memory::default());
    let Plan::Panel { members, judge, pool, .. } = &seated else { panic!("a panel") };
    assert_eq!((members, judge), (&(0..26).collect::<Vec<_>>(), &Judge::Target(29)), "who has no seat may still judge");
    assert_eq!(reasons(pool), ["s26", "s27", "s28", "s29"].map(|step| (step, "panel_full")));
    world.request.tool_count = 1;
    let alone = planned(Strategy::Fusion, targets(30), &world, &mut Memory::default());
    assert_eq!((order(&alone).len(), reasons(alone.pool()).len()), (30, 0), "one after another there is room for all");
}

#[test]
fn a_chain_has_every_step_or_is_none() {
    let (world, mut steps) = (World::default(), targets(3));
    let whole = planned(Strategy::Pipeline, steps.clone(), &world, &mut Memory::default());
    let Plan::Chain { links, .. } = &whole else { panic!("a chain") };
    assert_eq!(*links, [[0], [1], [2]]);
    spared(&mut steps[1], Mechanism::ConnectionCooldown, Some(5));
    let broken = planned(Strategy::Pipeline, steps, &world, &mut Memory::default());
    assert!(broken.is_empty());
    assert_eq!(reasons(broken.pool()), [("s1", "resting")]);
}

#[test]
fn the_trace_tells_why_a_target_is_left_out_in_one_form() {
    let spared = Exclusion { until: Some(NOW), ..Exclusion::lasting(Mechanism::ModelLockout, "model_lockout") };
    let healing = auto::LeftOut::SelfHealing { until: NOW };
    for (why, mechanism, reason, until) in [
        (LeftOut::Spared(spared), Mechanism::ModelLockout, "model_lockout", Some(NOW)),
        (LeftOut::ToolLimit { limit: 3 }, Mechanism::ToolLimit, "tool_limit", None),
        (LeftOut::Unwanted(auto::LeftOut::CircuitOpen), Mechanism::CircuitBreaker, "circuit_open", None),
        (LeftOut::Unwanted(healing), Mechanism::RequestExhaustion, "self_healing", Some(NOW)),
        (LeftOut::FirstToken, Mechanism::RequestExhaustion, "predictive_ttft", None),
        (LeftOut::PanelFull, Mechanism::RequestExhaustion, "panel_full", None),
    ] {
        let told = why.exclusion();
        assert_eq!((told.mechanism, told.reason.as_str(), told.until), (mechanism, reason, until));
    }
}
