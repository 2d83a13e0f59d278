//! The candidates of one request side by side: what each factor needs of a candidate, and what it is compared with.

use std::borrow::Borrow;

use domain::{Timestamp, choice};

use super::fitness::Layers;
use super::quota;
use crate::strategies::cache_optimized;
use crate::target::{Facts, Telemetry, Tier};
use crate::{Target, View};

choice! {
    /// How dear a candidate is.
    pub enum CostClass {
        /// Costs nothing.
        Free = "free",
        /// At most [`CHEAP_UP_TO`] dollars for a million tokens.
        Cheap = "cheap",
        /// Above, or a paid subscription without a price.
        Premium = "premium",
    }
}

/// US dollars for a million tokens, input and output blended.
pub const CHEAP_UP_TO: f64 = 1.0;

/// What the name of a virtual combo, or its settings, say about the kind of model that is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hint {
    pub class: Option<CostClass>,
    /// 0 (small talk) to 100 (very special).
    pub specificity: Option<f64>,
}

/// One candidate with the figures that factors read more than once.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// Place in the list of targets.
    pub index: usize,
    pub target: &'a Target,
    /// See [`blended_price`].
    pub cost: Option<f64>,
    pub class: Option<CostClass>,
    /// Milliseconds, 95th percentile; none below [`Telemetry::ENOUGH`] samples.
    pub latency: Option<f64>,
    /// Milliseconds; none below [`Telemetry::ENOUGH`] samples.
    pub deviation: Option<f64>,
    /// 0–1; 0 below [`Telemetry::ENOUGH`] samples.
    pub error_rate: f64,
    /// Fraction of the quota that is left.
    pub remaining: Option<f64>,
    pub next_reset: Option<Timestamp>,
    /// 0–1: how well the model suits the task.
    pub fitness: f64,
    /// The prompt's prefix belongs to this account.
    pub owns_prefix: bool,
}

/// The candidates and what they have in common.
#[derive(Clone, Debug)]
pub struct Pool<'a> {
    pub members: Vec<Member<'a>>,
    pub cost: Spread,
    pub latency: Spread,
    pub deviation: Spread,
    pub now: Timestamp,
    pub hint: Hint,
    pub(super) session_path: Option<&'a str>,
    pub(super) session_provider: Option<&'a str>,
}

/// The known values of one figure over the pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// At least the floor of the figure.
    pub max: f64,
    /// What stands in for an unknown value; none where nobody's is known, or everybody's.
    pub median: Option<f64>,
}

const FLOOR_COST: f64 = 0.001;
const FLOOR_LATENCY: f64 = 1.0;
const FLOOR_DEVIATION: f64 = 0.001;

impl<'a> Pool<'a> {
    /// Puts the targets of these indexes side by side. `fitness` answers for a model and is asked once for each member;
    /// `with_prefix` finds the owner of the prompt's prefix, which costs a hash for each member.
    pub fn new(
        targets: &'a [impl Borrow<Target>],
        indexes: &[usize],
        view: &View<'a>,
        hint: Hint,
        with_prefix: bool,
        mut fitness: impl FnMut(&'a str) -> f64,
    ) -> Self {
        let mut members: Vec<Member<'a>> = indexes
            .iter()
            .map(|&index| (index, targets[index].borrow()))
            .map(|(index, target)| Member::new(index, target, view.now, fitness(&target.model)))
            .collect();
        if let (true, Some(key)) = (with_prefix, view.request.cache_key.as_deref()) {
            mark_owner(&mut members, key);
        }
        let session_path = view.request.session_path.as_deref();
        let session_provider = session_path
            .and_then(|path| targets.iter().map(Borrow::<Target>::borrow).find(|target| target.execution_key == path))
            .map(|target| target.provider.as_str());
        let mut buffer = Vec::with_capacity(members.len());
        let mut spread =
            |figure: fn(&Member<'a>) -> Option<f64>, floor| Spread::over(&members, figure, floor, &mut buffer);
        let cost = spread(|member| member.cost, FLOOR_COST);
        let latency = spread(|member| member.latency, FLOOR_LATENCY);
        let deviation = spread(|member| member.deviation, FLOOR_DEVIATION);
        Pool { cost, latency, deviation, members, now: view.now, hint, session_path, session_provider }
    }

    /// [`Pool::new`] for a screen: every figure, and fitness without a cache.
    pub fn explained(
        targets: &'a [impl Borrow<Target>],
        indexes: &[usize],
        view: &View<'a>,
        hint: Hint,
        layers: &Layers,
    ) -> Self {
        Pool::new(targets, indexes, view, hint, true, |model| layers.fitness(model, view.request.task))
    }
}

impl<'a> Member<'a> {
    fn new(index: usize, target: &'a Target, now: Timestamp, fitness: f64) -> Self {
        let facts = &target.facts;
        let telemetry = &facts.telemetry;
        let enough = telemetry.samples >= Telemetry::ENOUGH;
        let measured = |figure: Option<f64>| figure.filter(|value| enough && value.is_finite() && *value >= 0.0);
        let cost = blended_price(facts);
        let reading = facts.quota.as_ref().map(|known| quota::read(known, &target.model, now)).unwrap_or_default();
        Member {
            index,
            target,
            cost,
            class: cost_class(facts.tier, cost),
            latency: measured(telemetry.p95_latency),
            deviation: measured(telemetry.latency_deviation),
            error_rate: measured(telemetry.success_rate).map_or(0.0, |rate| 1.0 - rate.min(1.0)),
            remaining: reading.remaining,
            next_reset: reading.next_reset,
            fitness,
            owns_prefix: false,
        }
    }
}

/// US dollars for a million tokens: 0.6 of the input price and 0.4 of the output price, where both are known.
pub fn blended_price(facts: &Facts) -> Option<f64> {
    let price = 0.6 * facts.input_price? + 0.4 * facts.output_price?;
    (price.is_finite() && price >= 0.0).then_some(price)
}

/// A free plan is free whatever the list price; without a price, a paid plan is premium.
pub fn cost_class(tier: Tier, price: Option<f64>) -> Option<CostClass> {
    match (tier, price) {
        (Tier::Free, _) => Some(CostClass::Free),
        (_, Some(price)) if price <= 0.0 => Some(CostClass::Free),
        (_, Some(price)) if price <= CHEAP_UP_TO => Some(CostClass::Cheap),
        (_, Some(_)) | (Tier::Ultra | Tier::Pro | Tier::Standard, None) => Some(CostClass::Premium),
        (Tier::Unknown, None) => None,
    }
}

/// The account that `cache-optimized` would ask first.
fn mark_owner(members: &mut [Member<'_>], key: &str) {
    let best = members.iter().map(|member| cache_optimized::score(key, member.target)).max();
    for member in members {
        member.owns_prefix = Some(cache_optimized::score(key, member.target)) == best;
    }
}

impl Spread {
    /// The median is worked out only where it has somebody to stand in for.
    fn over<'a>(
        members: &[Member<'a>],
        figure: fn(&Member<'a>) -> Option<f64>,
        floor: f64,
        buffer: &mut Vec<f64>,
    ) -> Self {
        buffer.clear();
        buffer.extend(members.iter().filter_map(figure));
        let max = buffer.iter().copied().fold(floor, f64::max);
        let median = if buffer.len() < members.len() { median(buffer) } else { None };
        Spread { max, median }
    }

    /// 1 for nothing, 0 for the most of the pool; unknown counts as the median, and as 0.5 where nobody's is known.
    pub fn inverse(&self, value: Option<f64>) -> f64 {
        value.or(self.median).map_or(0.5, |value| 1.0 - value / self.max)
    }
}

fn median(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    let even = values.len().is_multiple_of(2);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if !even {
        return Some(upper);
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(lower + (upper - lower) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_middles() {
        for (mut values, expected) in [
            (vec![], None),
            (vec![3.0], Some(3.0)),
            (vec![9.0, 1.0], Some(5.0)),
            (vec![9.0, 1.0, 2.0], Some(2.0)),
            (vec![4.0, 1.0, 2.0, 100.0], Some(3.0)),
        ] {
            assert_eq!(median(&mut values), expected, "{values:?}");
        }
    }

    #[test]
    fn the_class_follows_the_plan_then_the_price() {
        for (tier, price, class) in [
            (Tier::Free, Some(9.0), Some(CostClass::Free)),
            (Tier::Unknown, Some(0.0), Some(CostClass::Free)),
            (Tier::Standard, Some(1.0), Some(CostClass::Cheap)),
            (Tier::Unknown, Some(1.01), Some(CostClass::Premium)),
            (Tier::Pro, None, Some(CostClass::Premium)),
            (Tier::Unknown, None, None),
        ] {
            assert_eq!(cost_class(tier, price), class, "{tier:?} {price:?}");
        }
    }
}
