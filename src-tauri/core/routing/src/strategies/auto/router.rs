//! The other ways to order candidates: by price, by speed, by a service level, by the last success (gateway
//! specification, 3.5, `routerStrategy`).

use super::{LeftOut, Picked, Ranked};
use crate::combo::config::{AutoConfig, RouterStrategy};
use crate::score::{Member, Pool, factors, unit};

/// Milliseconds that a failure rate of 1 counts as.
const FAILURE_AS_LATENCY: f64 = 1_000.0;

/// Orders candidates that are sorted by score. `rules` is not an order and keeps them as they are.
pub(super) fn order(
    strategy: RouterStrategy,
    sorted: &mut [Ranked<'_, '_>],
    pool: &Pool<'_>,
    config: &AutoConfig,
    last_good: Option<usize>,
) -> Picked {
    match strategy {
        RouterStrategy::Rules | RouterStrategy::Score => {}
        RouterStrategy::Cost | RouterStrategy::Eco => ascending(sorted, |member| member.cost.unwrap_or(f64::INFINITY)),
        RouterStrategy::Latency | RouterStrategy::Fast => ascending(sorted, |member| slowness(member, pool)),
        RouterStrategy::SlaAware => ascending(sorted, |member| -service_level(member, pool, config)),
        RouterStrategy::Lkgp => {
            let place = sorted.iter().position(|ranked| Some(ranked.member.index) == last_good);
            if let Some(place) = place {
                sorted[..=place].rotate_right(1);
            }
        }
    }
    Picked::Router(strategy)
}

/// With hard constraints, leaves out what is known to miss the service level, unless everything does.
pub(super) fn drop_violators(
    candidates: &mut Vec<Ranked<'_, '_>>,
    config: &AutoConfig,
    left_out: &mut Vec<(usize, LeftOut)>,
) {
    if config.router_strategy != RouterStrategy::SlaAware || !config.sla_hard_constraints {
        return;
    }
    let (violators, kept): (Vec<_>, Vec<_>) =
        candidates.iter().copied().partition(|ranked| violates(ranked.member, config));
    if kept.is_empty() {
        return;
    }
    left_out.extend(violators.iter().map(|ranked| (ranked.member.index, LeftOut::ServiceLevel)));
    *candidates = kept;
}

/// Ties go by the order of the list.
fn ascending(sorted: &mut [Ranked<'_, '_>], key: impl Fn(&Member<'_>) -> f64) {
    sorted.sort_by(|a, b| key(a.member).total_cmp(&key(b.member)).then_with(|| a.member.index.cmp(&b.member.index)));
}

fn slowness(member: &Member<'_>, pool: &Pool<'_>) -> f64 {
    let latency = member.latency.or(pool.latency.median).unwrap_or(0.0);
    latency + FAILURE_AS_LATENCY * member.error_rate
}

/// 0–1. A figure within its limit counts in full, beyond it in proportion; without a limit it is compared with the pool.
fn service_level(member: &Member<'_>, pool: &Pool<'_>, config: &AutoConfig) -> f64 {
    let latency = within(target(config), member.latency).unwrap_or_else(|| factors::latency(member, pool));
    let errors =
        within(config.sla_max_error_rate, Some(member.error_rate)).unwrap_or_else(|| factors::reliability(member));
    let cost = within(config.sla_max_cost, member.cost).unwrap_or_else(|| factors::cost(member, pool));
    let (health, stability) = (factors::health(member), factors::stability(member, pool));
    0.35 * unit(latency) + 0.35 * unit(errors) + 0.15 * health + 0.10 * unit(cost) + 0.05 * unit(stability)
}

fn within(limit: Option<f64>, value: Option<f64>) -> Option<f64> {
    let (limit, value) = (limit?, value?);
    Some(if value <= limit { 1.0 } else { limit / value })
}

fn violates(member: &Member<'_>, config: &AutoConfig) -> bool {
    let over = |limit: Option<f64>, value: Option<f64>| limit.zip(value).is_some_and(|(limit, value)| value > limit);
    over(target(config), member.latency)
        || over(config.sla_max_error_rate, Some(member.error_rate))
        || over(config.sla_max_cost, member.cost)
}

/// Milliseconds.
fn target(config: &AutoConfig) -> Option<f64> {
    config.sla_target_p95.map(|target| target.as_millis() as f64)
}
