//! Auto: the highest score, with some curiosity (gateway specification, 3.5).
//!
//! Prefers what scores best over sixteen factors ([`crate::score`]); among equals it rotates, among near equals it draws,
//! and now and then it tries somebody at random, because a figure nobody refreshes is worth little. Ignores the order of
//! the list except between equals.
//!
//! Left out are candidates whose provider's breaker is open, those that [`crate::self_healing`] has sent away, and those
//! over the budget. Self-healing and the candidate pool give way when nothing else would be left; a breaker and a strict
//! budget do not.

pub mod profile;
mod router;

#[cfg(test)]
mod tests;

use std::borrow::Borrow;
use std::collections::BTreeSet;

use domain::model_name::glob_matches;
use domain::{Availability, Mechanism, Timestamp};
use indexmap::IndexMap;
use rand::RngExt;

pub use profile::{Profile, TierShares};

use crate::combo::config::{AutoConfig, BudgetMode, RouterStrategy};
use crate::score::fitness::{self, Layers};
use crate::score::{self, Breakdown, Factor, Member, Pool, Weights};
use crate::self_healing::{SelfHealing, Verdict};
use crate::target::Breaker;
use crate::{Target, View};

/// What `auto` needs beside targets and view.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// Of the virtual name that was asked; a combo's settings lie over it.
    pub profile: &'a Profile,
    pub layers: &'a Layers,
    /// Index of the target that served this combo last.
    pub last_good: Option<usize>,
    /// See [`incident`].
    pub incident: bool,
}

/// What `auto` keeps between requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    pub healing: SelfHealing,
    fitness: fitness::Cache,
    /// Cursor of each tier, by combo; the oldest combo is forgotten first.
    rotors: IndexMap<String, [u64; 3]>,
}

/// Combos whose cursors are remembered.
const ROTORS: usize = 500;

/// The decision, with what led to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Indexes of the targets, best first.
    pub order: Vec<usize>,
    pub picked: Picked,
    /// Every target that was scored, in the order of the list.
    pub scored: Vec<Scored>,
    /// Available targets that were not to be chosen.
    pub left_out: Vec<(usize, LeftOut)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    pub index: usize,
    /// 0–1, after the penalty.
    pub score: f64,
    /// The quota is nearly used up: the score was multiplied by [`SOFT_QUOTA_FACTOR`].
    pub penalised: bool,
}

/// Why the first is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picked {
    /// There was none to pick.
    Nothing,
    /// By chance, to learn.
    Exploration,
    /// From this tier.
    Tier(Tier),
    /// By the router strategy of the settings.
    Router(RouterStrategy),
    /// Everything was over the budget.
    CheapestOverBudget,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    Top,
    Middle,
    Rest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    CircuitOpen,
    NotInPool,
    SelfHealing { until: Timestamp },
    OverBudget,
    ServiceLevel,
}

/// No candidate fits a strict budget: 402.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverBudget {
    /// US dollars.
    pub cap: f64,
    /// What the cheapest candidate would cost, by estimate, US dollars.
    pub cheapest: f64,
}

/// Score of a candidate whose quota is nearly used up, or whose key has used its soft share (3.6).
pub const SOFT_QUOTA_FACTOR: f64 = 0.7;
/// Scores this close are equal.
const EQUAL: f64 = 1e-4;
/// Part of the range of scores that belongs to the middle tier.
const MIDDLE: f64 = 0.3;
/// A range of scores from which the best are simply better.
const CLEAR: f64 = 0.1;
/// Tokens assumed for a request nobody could estimate.
const ASSUMED_TOKENS: u64 = 1_000;

/// Ranks the available targets.
///
/// # Errors
///
/// When the budget is strict and nothing fits it.
pub fn rank(
    targets: &[impl Borrow<Target>],
    view: &View<'_>,
    scene: &Scene<'_>,
    memory: &mut Memory,
    rng: &mut impl rand::Rng,
) -> Result<Choice, OverBudget> {
    let config = &view.config.auto_config;
    let mut left_out = Vec::new();
    let candidates = candidates(targets, config, &mut left_out);
    let weights = scene.profile.weights(config);
    let pool = pool(targets, &candidates, view, scene, &weights, &mut memory.fitness);
    let scored = scores(&pool, &weights, scene.profile);
    let healthy = heal(&pool, &scored, view.now, &mut memory.healing, &mut left_out);
    let (mut affordable, mut dear) = split_by_budget(healthy, view, config);

    let mut choice = Choice { order: Vec::new(), picked: Picked::Nothing, scored: Vec::new(), left_out };
    if affordable.is_empty() && !dear.is_empty() {
        dear.sort_by(|a, b| a.estimate.total_cmp(&b.estimate));
        if config.budget_mode == BudgetMode::Strict {
            let cap = config.budget_usd.unwrap_or_default();
            return Err(OverBudget { cap, cheapest: dear[0].estimate });
        }
        choice.picked = Picked::CheapestOverBudget;
        choice.order = dear.iter().map(|ranked| ranked.member.index).collect();
    } else if !affordable.is_empty() {
        router::drop_violators(&mut affordable, config, &mut choice.left_out);
        affordable.sort_by(|a, b| b.score.total_cmp(&a.score));
        let strategy = scene.profile.router(config);
        choice.picked = if profile::by_rules(strategy) {
            let curiosity = if scene.incident { 0.0 } else { scene.profile.exploration_rate(config) };
            pick_by_rules(&mut affordable, curiosity, view.combo, &scene.profile.tier_shares, memory, rng)
        } else {
            router::order(strategy, &mut affordable, &pool, config, scene.last_good)
        };
        choice.order = affordable.iter().map(|ranked| ranked.member.index).collect();
        keep_dear(dear, config, &mut choice);
    }
    choice.scored = scored;
    Ok(choice)
}

/// Each available target with every factor of its score, in the order of the list: what the preview shows. Changes
/// nothing.
pub fn explain(targets: &[impl Borrow<Target>], view: &View<'_>, scene: &Scene<'_>) -> Vec<(usize, Vec<Breakdown>)> {
    let available: Vec<usize> = available(targets).collect();
    let weights = scene.profile.weights(&view.config.auto_config);
    let pool = Pool::explained(targets, &available, view, scene.profile.hint, scene.layers);
    pool.members.iter().map(|member| (member.index, score::breakdown(member, &pool, &weights))).collect()
}

/// A candidate in the race.
#[derive(Clone, Copy, Debug)]
struct Ranked<'m, 'a> {
    member: &'m Member<'a>,
    score: f64,
    /// US dollars for this request; 0 without a price or a budget.
    estimate: f64,
}

fn available(targets: &[impl Borrow<Target>]) -> impl Iterator<Item = usize> + '_ {
    targets
        .iter()
        .enumerate()
        .filter(|(_, target)| (*target).borrow().availability == Availability::Available)
        .map(|(index, _)| index)
}

/// Available targets without an open breaker and in the candidate pool, which gives way.
fn candidates(
    targets: &[impl Borrow<Target>],
    config: &AutoConfig,
    left_out: &mut Vec<(usize, LeftOut)>,
) -> Vec<usize> {
    let (open, closed): (Vec<usize>, Vec<usize>) =
        available(targets).partition(|&index| targets[index].borrow().facts.breaker == Breaker::Open);
    left_out.extend(open.into_iter().map(|index| (index, LeftOut::CircuitOpen)));
    if config.candidate_pool.is_empty() {
        return closed;
    }
    let (inside, outside): (Vec<usize>, Vec<usize>) =
        closed.iter().partition(|&&index| named(targets[index].borrow(), config));
    if inside.is_empty() {
        return closed;
    }
    left_out.extend(outside.into_iter().map(|index| (index, LeftOut::NotInPool)));
    inside
}

/// Whether the candidate pool names the target's provider, or the target by name or glob.
fn named(target: &Target, config: &AutoConfig) -> bool {
    let name = format!("{}/{}", target.provider, target.model);
    config.candidate_pool.iter().any(|glob| glob == target.provider.as_str() || glob_matches(glob, &name))
}

fn pool<'a>(
    targets: &'a [impl Borrow<Target>],
    candidates: &[usize],
    view: &View<'a>,
    scene: &Scene<'_>,
    weights: &Weights,
    cache: &mut fitness::Cache,
) -> Pool<'a> {
    let with_prefix = weights.of(Factor::CacheAffinity) > 0.0;
    let with_fitness = weights.of(Factor::TaskFit) > 0.0;
    // The accounts of a step stand side by side, and have its model.
    let mut last: Option<(&str, f64)> = None;
    Pool::new(targets, candidates, view, scene.profile.hint, with_prefix, |model| match last {
        _ if !with_fitness => 0.0,
        Some((known, fitness)) if known == model => fitness,
        Some(_) | None => {
            let fitness = cache.fitness(scene.layers, model, view.request.task);
            last = Some((model, fitness));
            fitness
        }
    })
}

fn scores(pool: &Pool<'_>, weights: &Weights, profile: &Profile) -> Vec<Scored> {
    let near = profile.quota_warning;
    let one = |member: &Member<'_>| {
        let penalised = member.remaining.is_some_and(|left| left <= near);
        let factor = if penalised { SOFT_QUOTA_FACTOR } else { 1.0 };
        Scored { index: member.index, score: score::score(member, pool, weights) * factor, penalised }
    };
    pool.members.iter().map(one).collect()
}

/// Tells self-healing the scores, before the penalty, and leaves out whom it has sent away, unless it has everyone.
fn heal<'m, 'a>(
    pool: &'m Pool<'a>,
    scored: &[Scored],
    now: Timestamp,
    healing: &mut SelfHealing,
    left_out: &mut Vec<(usize, LeftOut)>,
) -> Vec<Ranked<'m, 'a>> {
    let mut sent_away = Vec::new();
    let mut healthy = Vec::with_capacity(scored.len());
    for (member, scored) in pool.members.iter().zip(scored) {
        let plain = if scored.penalised { scored.score / SOFT_QUOTA_FACTOR } else { scored.score };
        let ranked = Ranked { member, score: scored.score, estimate: 0.0 };
        match healing.on_score(&member.target.execution_key, plain, now) {
            Verdict::Out { until } => sent_away.push((ranked, until)),
            Verdict::In | Verdict::OnProbation => healthy.push(ranked),
        }
    }
    if healthy.is_empty() {
        return sent_away.into_iter().map(|(ranked, _)| ranked).collect();
    }
    left_out.extend(sent_away.into_iter().map(|(ranked, until)| (ranked.member.index, LeftOut::SelfHealing { until })));
    healthy
}

/// Within the budget, and over it. What has no known price is not known to be over.
fn split_by_budget<'m, 'a>(
    healthy: Vec<Ranked<'m, 'a>>,
    view: &View<'_>,
    config: &AutoConfig,
) -> (Vec<Ranked<'m, 'a>>, Vec<Ranked<'m, 'a>>) {
    let Some(cap) = config.budget_usd else {
        return (healthy, Vec::new());
    };
    let tokens = match view.request.estimated_tokens {
        0 => ASSUMED_TOKENS,
        known => known,
    };
    healthy
        .into_iter()
        .map(|ranked| Ranked { estimate: ranked.member.cost.unwrap_or(0.0) / 1e6 * tokens as f64, ..ranked })
        .partition(|ranked| ranked.estimate <= cap)
}

/// What is over the budget while something fits it: last, the cheapest first, or not at all.
fn keep_dear(mut dear: Vec<Ranked<'_, '_>>, config: &AutoConfig, choice: &mut Choice) {
    dear.sort_by(|a, b| a.estimate.total_cmp(&b.estimate));
    let indexes = dear.iter().map(|ranked| ranked.member.index);
    match config.budget_mode {
        BudgetMode::Cheapest => choice.order.extend(indexes),
        BudgetMode::Strict => choice.left_out.extend(indexes.map(|index| (index, LeftOut::OverBudget))),
    }
}

/// More than half of the providers have an open breaker: a time for nothing that is tried by chance. To be asked of all
/// targets of the combo, before those that are spared are taken out.
pub fn incident(targets: &[Target]) -> bool {
    let is_open = |target: &Target| {
        let excluded = match &target.availability {
            Availability::Available => false,
            Availability::Excluded(exclusion) => exclusion.mechanism == Mechanism::CircuitBreaker,
        };
        excluded || target.facts.breaker == Breaker::Open
    };
    if !targets.iter().any(is_open) {
        return false;
    }
    let open: BTreeSet<&str> = targets.iter().filter(|t| is_open(t)).map(|target| target.provider.as_str()).collect();
    let all: BTreeSet<&str> = targets.iter().map(|target| target.provider.as_str()).collect();
    open.len() * 2 > all.len()
}

/// Moves the pick to the front of candidates that are sorted by score; the others keep their order.
fn pick_by_rules(
    sorted: &mut [Ranked<'_, '_>],
    curiosity: f64,
    combo: &str,
    shares: &TierShares,
    memory: &mut Memory,
    rng: &mut impl rand::Rng,
) -> Picked {
    if sorted.len() > 1 && curiosity > 0.0 && rng.random_bool(curiosity.min(1.0)) {
        let pick = rng.random_range(0..sorted.len());
        sorted[..=pick].rotate_right(1);
        return Picked::Exploration;
    }
    let (top, middle) = tiers(sorted);
    let clear = sorted[0].score - sorted[sorted.len() - 1].score >= CLEAR;
    let tier = if clear { Tier::Top } else { draw(top, middle, sorted.len(), shares, rng) };
    let range = match tier {
        Tier::Top => 0..top,
        Tier::Middle => top..middle,
        Tier::Rest => middle..sorted.len(),
    };
    let turn = memory.next_turn(combo, tier);
    let mut places: Vec<usize> = range.collect();
    places.sort_unstable_by_key(|&place| sorted[place].member.index);
    let pick = places[(turn % places.len() as u64) as usize];
    sorted[..=pick].rotate_right(1);
    Picked::Tier(tier)
}

/// Ends of the top and of the middle tier among sorted candidates; the top is never empty.
fn tiers(sorted: &[Ranked<'_, '_>]) -> (usize, usize) {
    let best = sorted[0].score;
    let range = best - sorted[sorted.len() - 1].score;
    let top = sorted.partition_point(|ranked| ranked.score >= best - EQUAL);
    let middle = sorted.partition_point(|ranked| ranked.score >= best - MIDDLE * range);
    (top, middle.max(top))
}

/// A tier that is not empty, in proportion to the shares; without any share, the top.
fn draw(top: usize, middle: usize, all: usize, shares: &TierShares, rng: &mut impl rand::Rng) -> Tier {
    let share = |members: usize, share: f64| if members > 0 { share } else { 0.0 };
    let shares = [share(top, shares.top), share(middle - top, shares.middle), share(all - middle, shares.rest)];
    let sum: f64 = shares.iter().sum();
    let drawn = rng.random::<f64>() * sum;
    if drawn < shares[0] || sum <= 0.0 {
        Tier::Top
    } else if drawn < shares[0] + shares[1] || shares[2] <= 0.0 {
        Tier::Middle
    } else {
        Tier::Rest
    }
}

impl Memory {
    fn next_turn(&mut self, combo: &str, tier: Tier) -> u64 {
        if !self.rotors.contains_key(combo) {
            if self.rotors.len() >= ROTORS {
                self.rotors.shift_remove_index(0);
            }
            self.rotors.insert(combo.to_owned(), [0; 3]);
        }
        let Some(cursors) = self.rotors.get_mut(combo) else {
            return 0;
        };
        let cursor = &mut cursors[tier as usize];
        let turn = *cursor;
        *cursor = cursor.wrapping_add(1);
        turn
    }
}
