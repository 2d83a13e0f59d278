//! The sixteen factors (gateway specification, 3.5). Each says how good a member of the pool is in one respect.

use domain::{Millis, Timestamp};

use super::pool::{CostClass, Member, Pool};
use super::{Factor, unit};
use crate::target::{Breaker, Telemetry, Tier};

/// What is neither good nor bad.
const NEUTRAL: f64 = 0.5;

/// The values of all factors in the order of [`Factor::ALL`], each 0–1. All at once, without a branch for each: a large pool
/// is weighed for every request.
pub fn all(member: &Member<'_>, pool: &Pool<'_>) -> [f64; Factor::ALL.len()] {
    [
        quota(member),
        health(member),
        cost(member, pool),
        latency(member, pool),
        task_fit(member),
        stability(member, pool),
        tier_priority(member, pool),
        tier_affinity(member, pool),
        specificity_match(member, pool),
        context_affinity(member, pool),
        session_availability(member),
        connection_density(member),
        cache_affinity(member),
        reset_window_affinity(member, pool),
        quality(member),
        reliability(member),
    ]
    .map(unit)
}

/// Whether anything is behind the value of a factor. What nobody knows, nobody asked for or nobody counts has the value that
/// the table gives the unknown.
pub fn is_known(factor: Factor, member: &Member<'_>, pool: &Pool<'_>) -> bool {
    let facts = &member.target.facts;
    match factor {
        Factor::Quota => member.remaining.is_some(),
        Factor::CostInv => member.cost.is_some(),
        Factor::LatencyInv => member.latency.is_some(),
        Factor::Stability => member.deviation.is_some(),
        Factor::TierPriority => facts.tier != Tier::Unknown || member.next_reset.is_some(),
        Factor::TierAffinity => member.class.is_some() && pool.hint.class.is_some(),
        Factor::SpecificityMatch => member.class.is_some() && pool.hint.specificity.is_some(),
        Factor::ContextAffinity => pool.session_path.is_some(),
        Factor::SessionAvailability => facts.sessions_free.is_some(),
        Factor::ResetWindowAffinity => member.next_reset.is_some(),
        Factor::Quality => facts.quality.is_some(),
        Factor::Reliability => facts.telemetry.samples >= Telemetry::ENOUGH,
        Factor::Health | Factor::TaskFit | Factor::ConnectionDensity | Factor::CacheAffinity => true,
    }
}

/// The fraction of the quota that is left; unknown, 1.
pub fn quota(member: &Member<'_>) -> f64 {
    member.remaining.unwrap_or(1.0)
}

pub fn health(member: &Member<'_>) -> f64 {
    match member.target.facts.breaker {
        Breaker::Closed => 1.0,
        Breaker::Degraded => 0.75,
        Breaker::HalfOpen => 0.5,
        Breaker::Open => 0.0,
    }
}

pub fn cost(member: &Member<'_>, pool: &Pool<'_>) -> f64 {
    pool.cost.inverse(member.cost)
}

pub fn latency(member: &Member<'_>, pool: &Pool<'_>) -> f64 {
    pool.latency.inverse(member.latency)
}

pub fn task_fit(member: &Member<'_>) -> f64 {
    member.fitness
}

pub fn stability(member: &Member<'_>, pool: &Pool<'_>) -> f64 {
    pool.deviation.inverse(member.deviation)
}

/// Four fifths the rank of the plan, one fifth how soon the quota returns within 30 days.
pub fn tier_priority(member: &Member<'_>, pool: &Pool<'_>) -> f64 {
    let rank = match member.target.facts.tier {
        Tier::Ultra => 1.0,
        Tier::Pro => 0.67,
        Tier::Standard | Tier::Unknown => 0.33,
        Tier::Free => 0.0,
    };
    let soon = member.next_reset.map_or(0.0, |reset| 1.0 - part_of(Millis::days(30), reset, pool.now));
    0.8 * rank + 0.2 * soon
}

/// The price class against the one asked for: the same 1, a neighbour 0.7, else 0.3; without either, neutral.
pub fn tier_affinity(member: &Member<'_>, pool: &Pool<'_>) -> f64 {
    let (Some(own), Some(wanted)) = (member.class, pool.hint.class) else {
        return NEUTRAL;
    };
    match (own as u8).abs_diff(wanted as u8) {
        0 => 1.0,
        1 => 0.7,
        _ => 0.3,
    }
}

/// Small requests for free models, middling ones for cheap, special ones for premium.
pub fn specificity_match(member: &Member<'_>, pool: &Pool<'_>) -> f64 {
    let (Some(own), Some(specificity)) = (member.class, pool.hint.specificity) else {
        return NEUTRAL;
    };
    let (fits, otherwise) = match own {
        CostClass::Free => (specificity <= 15.0, 0.2),
        CostClass::Cheap => (specificity > 15.0 && specificity <= 50.0, 0.4),
        CostClass::Premium => (specificity > 50.0, 0.3),
    };
    if fits { 0.9 } else { otherwise }
}

/// The target that served the session 1, another of its provider 0.75; else, and without a session, neutral.
pub fn context_affinity(member: &Member<'_>, pool: &Pool<'_>) -> f64 {
    if pool.session_path == Some(member.target.execution_key.as_str()) {
        1.0
    } else if pool.session_provider == Some(member.target.provider.as_str()) {
        0.75
    } else {
        NEUTRAL
    }
}

/// The fraction of session places that are free; 1 where they are not counted.
pub fn session_availability(member: &Member<'_>) -> f64 {
    member.target.facts.sessions_free.unwrap_or(1.0)
}

/// Full at eleven accounts.
pub fn connection_density(member: &Member<'_>) -> f64 {
    f64::from(member.target.facts.pool_size.saturating_sub(1)) / 10.0
}

pub fn cache_affinity(member: &Member<'_>) -> f64 {
    if member.owns_prefix { 1.0 } else { 0.0 }
}

/// The sooner within a week the quota returns, the better it is to spend it now; unknown, neutral.
pub fn reset_window_affinity(member: &Member<'_>, pool: &Pool<'_>) -> f64 {
    member.next_reset.map_or(NEUTRAL, |reset| 1.0 - part_of(Millis::days(7), reset, pool.now))
}

pub fn quality(member: &Member<'_>) -> f64 {
    member.target.facts.quality.unwrap_or(NEUTRAL)
}

pub fn reliability(member: &Member<'_>) -> f64 {
    1.0 - member.error_rate
}

/// How far away `at` is as a part of `whole`, at most 1.
fn part_of(whole: Millis, at: Timestamp, now: Timestamp) -> f64 {
    (at.since(now).as_millis() as f64 / whole.as_millis() as f64).min(1.0)
}
