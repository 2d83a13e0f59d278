//! Who is asked, in which order, and who is not and why (gateway specification, 3.3).
//!
//! First what cannot serve falls away: targets without the request's tag, without a capability, with too small a window,
//! with too low a limit of tools. That is asked of everyone, also of the spared: the answer to a request that nobody could
//! ever serve is a refusal, to one that somebody could serve later it is a wait. Then the spared fall away. What is left is
//! ranked by the strategy, and then moved for the sake of the conversation. Strategies see only what may be tried.
//!
//! A nested combo is planned before the one around it, by its own strategy, and ranked as one target.

mod sift;

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::wire::reason;
use domain::{Availability, Exclusion, Mechanism};
use rand::Rng;

use crate::capability::Capability;
use crate::combo::{CompositeTiers, Config, Expansion, Nested, Strategy};
use crate::memory::Memory;
use crate::quota_share;
use crate::score::fitness::Layers;
use crate::stickiness;
use crate::strategies::auto::{self, Profile};
use crate::strategies::fusion::{self, Judge, Quorum};
use crate::strategies::{
    cache_optimized, context_optimized, context_relay, cost_optimized, fill_first, headroom, least_used, lkgp, p2c,
    pipeline, priority, random, reset_aware, reset_window, round_robin, strict_random, weighted,
};
use crate::target::Target;
use crate::view::View;

/// Where a resolved name leads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Route<'a> {
    /// One provider and one model; its accounts in the order given.
    Direct,
    Combo {
        strategy: Strategy,
        tiers: Option<&'a CompositeTiers>,
        /// Keep one target for a conversation even where the settings would let it go.
        protects_cache: bool,
        /// For `auto`; none, the defaults.
        taste: Option<Taste<'a>>,
    },
}

/// What `auto` knows beside its targets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taste<'a> {
    pub profile: &'a Profile,
    pub layers: &'a Layers,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Try in this order; stop at the first answer.
    Ranked { pool: Pool, attempts: Vec<Attempt> },
    /// Ask several at once, let a judge write the answer.
    Panel { pool: Pool, members: Vec<usize>, judge: Judge, quorum: Quorum },
    /// Feed each answer into the next step. Of each link the targets in their order.
    Chain { pool: Pool, links: Vec<Vec<usize>> },
}

/// What a plan speaks of by index, and what it does not speak of.
///
/// Nothing is moved out of the list: of ten thousand targets a fifth may rest, and to close the gaps costs more than any
/// strategy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pool {
    /// Everyone the combo comes to, in the order of its steps: those who are asked and those who are left out.
    pub targets: Vec<Target>,
    /// What each target comes to that stands for a combo.
    pub nested: BTreeMap<usize, Inner>,
    /// Who is left out, by index, and why.
    pub left_out: Vec<(usize, LeftOut)>,
}

impl Pool {
    /// Everyone who is left out, those of nested combos included.
    pub fn left_out(&self) -> impl Iterator<Item = (&Target, &LeftOut)> {
        let own = self.left_out.iter().filter_map(|(index, why)| Some((self.targets.get(*index)?, why)));
        let inside: Box<dyn Iterator<Item = _>> =
            Box::new(self.nested.values().flat_map(|inner| inner.plan.left_out()));
        own.chain(inside)
    }
}

/// The combo that a target stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Inner {
    pub combo: String,
    pub strategy: Strategy,
    /// Its own numbers, after its own cascade.
    pub config: Arc<Config>,
    pub plan: Plan,
}

/// One target to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Index into [`Pool::targets`].
    pub target: usize,
    pub placed: Placed,
}

/// What put a target where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// The strategy.
    Strategy,
    /// The conversation was there.
    Session,
    /// The account knows the beginning of the prompt.
    PromptCache,
}

/// Why a target is not tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// A mechanism spares it.
    Spared(Exclusion),
    /// It lacks the request's tag.
    Tag,
    Capability(Capability),
    /// Its window is smaller than the combo requires.
    ContextRequirements,
    /// The provider takes fewer tools than the request has.
    ToolLimit {
        limit: u32,
    },
    /// Its first token usually takes too long.
    FirstToken,
    /// `auto` does not want it.
    Unwanted(auto::LeftOut),
    /// The panel has no seat left.
    PanelFull,
    /// It stands for a combo that has nothing to try; the reasons are those of the combo's own targets.
    NothingInside,
}

impl LeftOut {
    /// Stable word for the trace.
    pub fn reason(&self) -> &str {
        match self {
            LeftOut::Spared(exclusion) => &exclusion.reason,
            LeftOut::Tag => "tag",
            LeftOut::Capability(_) => "capability_mismatch",
            LeftOut::ContextRequirements => "context_requirements",
            LeftOut::ToolLimit { .. } => "tool_limit",
            LeftOut::FirstToken => "predictive_ttft",
            LeftOut::PanelFull => reason::PANEL_FULL,
            LeftOut::Unwanted(unwanted) => match unwanted {
                auto::LeftOut::CircuitOpen => "circuit_open",
                auto::LeftOut::NotInPool => "not_in_pool",
                auto::LeftOut::SelfHealing { .. } => "self_healing",
                auto::LeftOut::OverBudget => "over_budget",
                auto::LeftOut::ServiceLevel => "service_level",
            },
            LeftOut::NothingInside => "combo_empty",
        }
    }

    /// The same as the trace tells it. What concerns this request alone has no mechanism of its own there, and goes as
    /// [`Mechanism::RequestExhaustion`].
    pub fn exclusion(&self) -> Exclusion {
        let (mechanism, until) = match self {
            LeftOut::Spared(exclusion) => return exclusion.clone(),
            LeftOut::ToolLimit { .. } => (Mechanism::ToolLimit, None),
            LeftOut::Unwanted(auto::LeftOut::CircuitOpen) => (Mechanism::CircuitBreaker, None),
            LeftOut::Unwanted(auto::LeftOut::SelfHealing { until }) => (Mechanism::RequestExhaustion, Some(*until)),
            LeftOut::Tag
            | LeftOut::Capability(_)
            | LeftOut::ContextRequirements
            | LeftOut::FirstToken
            | LeftOut::PanelFull
            | LeftOut::Unwanted(_)
            | LeftOut::NothingInside => (Mechanism::RequestExhaustion, None),
        };
        Exclusion { until, ..Exclusion::lasting(mechanism, self.reason()) }
    }
}

/// Nobody could ever serve the request as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub cause: Cause,
    /// Everyone, each left out.
    pub pool: Pool,
}

/// What nobody offers.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// 400 `capability_mismatch`: these, each lacking in some target.
    Capability(Vec<Capability>),
    /// 404 `context_requirements_exhausted`.
    ContextRequirements,
    /// 400 `tool_limit_exceeded`: the highest limit there is.
    ToolLimit { limit: u32, tools: u32 },
    /// 402: nothing fits a strict budget.
    OverBudget(auto::OverBudget),
}

impl Plan {
    pub fn pool(&self) -> &Pool {
        match self {
            Plan::Ranked { pool, .. } | Plan::Panel { pool, .. } | Plan::Chain { pool, .. } => pool,
        }
    }

    /// Whether there is nobody to ask.
    pub fn is_empty(&self) -> bool {
        match self {
            Plan::Ranked { attempts, .. } => attempts.is_empty(),
            Plan::Panel { members, .. } => members.is_empty(),
            Plan::Chain { links, .. } => links.is_empty(),
        }
    }

    /// Who is asked first.
    pub fn first(&self) -> Option<&Target> {
        self.pool().targets.get(self.sequence().next()?.target)
    }

    /// Whom it speaks of, in their order: a panel's members as they sit, a chain's links one after another.
    pub fn sequence(&self) -> impl Iterator<Item = Attempt> {
        let (attempts, members, links): (&[Attempt], &[usize], &[Vec<usize>]) = match self {
            Plan::Ranked { attempts, .. } => (attempts, &[], &[]),
            Plan::Panel { members, .. } => (&[], members, &[]),
            Plan::Chain { links, .. } => (&[], &[], links),
        };
        let together = members.iter().chain(links.iter().flatten());
        attempts.iter().copied().chain(together.map(|&target| Attempt { target, placed: Placed::Strategy }))
    }

    /// Everyone who is left out, those of nested combos included.
    pub fn left_out(&self) -> impl Iterator<Item = (&Target, &LeftOut)> {
        self.pool().left_out()
    }
}

/// Plans one request.
pub fn plan(
    route: &Route<'_>,
    expansion: impl Into<Expansion>,
    view: &View<'_>,
    memory: &mut Memory,
    rng: &mut impl Rng,
) -> Result<Plan, Refusal> {
    let Expansion { mut targets, nested, .. } = expansion.into();
    let nested = plan_nested(&mut targets, nested, view, memory, rng);
    let mut pool = Pool { targets, nested, left_out: Vec::new() };
    let standing = match sift::sift(&mut pool, view) {
        Ok(standing) => standing,
        Err(cause) => return Err(Refusal { cause, pool }),
    };
    Ok(match *route {
        Route::Direct => ranked(standing, pool),
        Route::Combo { strategy: Strategy::Fusion, .. } => panel(standing, pool, view),
        Route::Combo { strategy: Strategy::Pipeline, .. } => chain(&standing, pool),
        Route::Combo { strategy, tiers, protects_cache, taste } => {
            let order = match strategy {
                Strategy::Auto => match by_score(&mut pool, &standing, taste, view, memory, rng) {
                    Ok(order) => order,
                    Err(over) => return Err(Refusal { cause: Cause::OverBudget(over), pool }),
                },
                _ => rank(strategy, tiers, &among(&pool.targets, &standing), view, memory, rng),
            };
            let order = order.into_iter().filter_map(|place| standing.get(place).copied());
            let mut attempts = placed(order);
            let winner = attempts.first().map(|attempt| attempt.target);
            let may_keep = !view.config.disable_session_stickiness;
            if protects_cache || (may_keep && strategy.keeps_conversations()) {
                keep_conversation(&mut attempts, &pool.targets, view, memory);
            }
            if protects_cache || (may_keep && !strategy.spreads()) {
                keep_beginning(strategy, &mut attempts, &pool.targets, view, memory);
            }
            if strategy == Strategy::QuotaShare
                && let (Some(winner), Some(first)) = (winner, attempts.first())
                && winner != first.target
            {
                memory.shares.moved(view.combo, &pool.targets[winner], &pool.targets[first.target]);
            }
            Plan::Ranked { pool, attempts }
        }
    })
}

impl From<Vec<Target>> for Expansion {
    fn from(targets: Vec<Target>) -> Self {
        Expansion { targets, ..Expansion::default() }
    }
}

/// The targets of these indexes, in this order.
fn among<'t>(targets: &'t [Target], indexes: &[usize]) -> Vec<&'t Target> {
    indexes.iter().filter_map(|&index| targets.get(index)).collect()
}

fn placed(order: impl IntoIterator<Item = usize>) -> Vec<Attempt> {
    order.into_iter().map(|target| Attempt { target, placed: Placed::Strategy }).collect()
}

fn ranked(order: Vec<usize>, pool: Pool) -> Plan {
    Plan::Ranked { pool, attempts: placed(order) }
}

/// Plans the combos inside this one, by the index of the target that stands for each. A target then looks like the one that
/// its combo would ask first; a plan with nothing to try keeps its reasons.
fn plan_nested(
    targets: &mut [Target],
    mut nested: BTreeMap<String, Nested>,
    view: &View<'_>,
    memory: &mut Memory,
    rng: &mut impl Rng,
) -> BTreeMap<usize, Inner> {
    let mut plans = BTreeMap::new();
    if nested.is_empty() {
        return plans;
    }
    for (index, target) in targets.iter_mut().enumerate() {
        let Some(Nested { combo, strategy, tiers, config, expansion }) = nested.remove(&target.execution_key) else {
            continue;
        };
        let route = Route::Combo { strategy, tiers: tiers.as_ref(), protects_cache: false, taste: None };
        let inner = View { combo: &combo, config: &config, ..*view };
        let plan = match nested_plan(&route, expansion, &inner, memory, rng) {
            Ok(plan) => plan,
            Err(Refusal { pool, .. }) => ranked(Vec::new(), pool),
        };
        if let Some(first) = plan.first() {
            target.provider.clone_from(&first.provider);
            target.model.clone_from(&first.model);
            target.facts.clone_from(&first.facts);
            target.availability = Availability::Available;
        }
        plans.insert(index, Inner { combo, strategy, config, plan });
    }
    plans
}

/// Planning is generic over its generator; a level deeper takes it as an object, so that the types end.
fn nested_plan(
    route: &Route<'_>,
    expansion: Expansion,
    view: &View<'_>,
    memory: &mut Memory,
    mut rng: &mut dyn Rng,
) -> Result<Plan, Refusal> {
    plan(route, expansion, view, memory, &mut rng)
}

/// The order of `auto` among those who stand, which may also leave out.
fn by_score(
    pool: &mut Pool,
    standing: &[usize],
    taste: Option<Taste<'_>>,
    view: &View<'_>,
    memory: &mut Memory,
    rng: &mut impl Rng,
) -> Result<Vec<usize>, auto::OverBudget> {
    let (profile, layers) = (Profile::default(), Layers::default());
    let Taste { profile, layers } = taste.unwrap_or(Taste { profile: &profile, layers: &layers });
    let targets = among(&pool.targets, standing);
    let last_good = lkgp::find(&targets, view, &memory.last_good);
    let request = stickiness::recalled(view, &memory.sessions);
    let view = &View { request: &request, ..*view };
    let scene = auto::Scene { profile, layers, last_good, incident: auto::incident(&pool.targets) };
    let choice = auto::rank(&targets, view, &scene, &mut memory.auto, rng)?;
    let unwanted = choice.left_out.into_iter();
    pool.left_out.extend(unwanted.map(|(place, why)| (standing[place], LeftOut::Unwanted(why))));
    Ok(choice.order)
}

/// The order of a strategy that asks one target at a time.
fn rank(
    strategy: Strategy,
    tiers: Option<&CompositeTiers>,
    targets: &[&Target],
    view: &View<'_>,
    memory: &mut Memory,
    rng: &mut impl Rng,
) -> Vec<usize> {
    let count = targets.len();
    match strategy {
        Strategy::Priority => priority::rank(targets, tiers),
        Strategy::Weighted => weighted::rank(targets, view, &mut memory.streaks, rng),
        Strategy::RoundRobin => round_robin::rank(count, view, &mut memory.turns),
        Strategy::ContextRelay => context_relay::rank(count),
        Strategy::FillFirst => fill_first::rank(count),
        Strategy::P2c => p2c::rank(targets, rng),
        Strategy::Random => random::rank(count, rng),
        Strategy::LeastUsed => least_used::rank(targets, view, &memory.counts),
        Strategy::CostOptimized => cost_optimized::rank(targets),
        Strategy::ResetAware => reset_aware::rank(targets, view, &mut memory.reset_aware),
        Strategy::ResetWindow => reset_window::rank(targets, view, &mut memory.reset_window),
        Strategy::Headroom => headroom::rank(targets, view),
        Strategy::StrictRandom => strict_random::rank(targets, view, &mut memory.decks, rng),
        Strategy::Lkgp => lkgp::rank(targets, view, &memory.last_good),
        Strategy::ContextOptimized => context_optimized::rank(targets),
        Strategy::CacheOptimized => cache_optimized::rank(targets, view),
        Strategy::QuotaShare => quota_share::rank(targets, view, &mut memory.shares),
        Strategy::Auto | Strategy::Fusion | Strategy::Pipeline => (0..count).collect(),
    }
}

/// Moves the target that the conversation was at to the front.
fn keep_conversation(attempts: &mut [Attempt], targets: &[Target], view: &View<'_>, memory: &mut Memory) {
    if let Some(session) = &view.request.session
        && let Some(key) = memory.sessions.of(view.combo, session, view.now)
    {
        let pinned = |attempt: &Attempt| stickiness::is_pinned(&targets[attempt.target], key);
        if let Some(at) = attempts.iter().position(pinned) {
            if stickiness::may_stay(&targets[attempts[at].target], view.now) {
                return move_up(attempts, at, 0, Placed::Session);
            }
            memory.sessions.release(view.combo, session);
        }
    }
}

/// Where no conversation was kept, moves the target that knows the beginning of the prompt: before all, or to the front of
/// the targets of its own model.
fn keep_beginning(
    strategy: Strategy,
    attempts: &mut [Attempt],
    targets: &[Target],
    view: &View<'_>,
    memory: &mut Memory,
) {
    if attempts.first().is_some_and(|first| first.placed == Placed::Session) {
        return;
    }
    if strategy == Strategy::CacheOptimized {
        return;
    }
    let Some(prefix) = &view.request.cache_key else { return };
    let Some(key) = memory.prefixes.of(view.combo, prefix, view.now) else { return };
    let knows = |attempt: &Attempt| stickiness::is_pinned(&targets[attempt.target], key);
    let Some(at) = attempts.iter().position(knows) else { return };
    let target = &targets[attempts[at].target];
    if !stickiness::may_stay(target, view.now) {
        return;
    }
    let group = attempts.iter().position(|attempt| targets[attempt.target].is_alike(target)).unwrap_or(at);
    move_up(attempts, at, if stays_in_group(strategy) { group } else { 0 }, Placed::PromptCache);
}

/// Where the owner's order decides between models, the prompt's beginning decides only between accounts of one model.
fn stays_in_group(strategy: Strategy) -> bool {
    matches!(strategy, Strategy::Priority | Strategy::Weighted | Strategy::FillFirst | Strategy::QuotaShare)
}

fn move_up(attempts: &mut [Attempt], from: usize, to: usize, placed: Placed) {
    attempts[to..=from].rotate_right(1);
    attempts[to].placed = placed;
}

fn panel(mut standing: Vec<usize>, mut pool: Pool, view: &View<'_>) -> Plan {
    let judge = fusion::judge(&among(&pool.targets, &standing), view);
    if fusion::bypasses(view) || standing.is_empty() {
        if let Judge::Target(place) = judge
            && let Some(before) = standing.get_mut(..=place)
        {
            before.rotate_right(1);
        }
        return ranked(standing, pool);
    }
    let judge = match judge {
        Judge::Target(place) => Judge::Target(standing[place]),
        judge @ (Judge::Member | Judge::Named(_)) => judge,
    };
    let seated = standing.len().min(fusion::MOST_MEMBERS);
    pool.left_out.extend(standing.drain(seated..).map(|index| (index, LeftOut::PanelFull)));
    let quorum = Quorum::new(standing.len(), judge != Judge::Member, &view.config.fusion, view.now);
    Plan::Panel { pool, members: standing, judge, quorum }
}

fn chain(standing: &[usize], pool: Pool) -> Plan {
    let mut steps: Vec<usize> = pool.targets.iter().map(|target| target.top).collect();
    steps.dedup();
    let links = pipeline::links(&among(&pool.targets, standing), &steps).unwrap_or_default();
    let links = links.into_iter().map(|link| link.into_iter().map(|place| standing[place]).collect()).collect();
    Plan::Chain { pool, links }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
