//! What falls away before anything is ranked, in the order in which the causes concern more than this moment.
//!
//! Each cause is asked once of everyone who still stands, and only where the request or the combo gives reason to ask.

use domain::Availability;

use super::{Cause, LeftOut, Pool};
use crate::capability::{self, Capability};
use crate::combo::config::ContextMode;
use crate::target::{Target, Telemetry};
use crate::view::View;

/// Who of the pool can and may serve the request now, by index; the others are left out.
pub(super) fn sift(pool: &mut Pool, view: &View<'_>) -> Result<Vec<usize>, Cause> {
    let (request, config) = (view.request, view.config);
    let mut sieve = Sieve::new(pool);
    if !request.tags.is_empty() {
        let lacks = |target: &Target| !target.tags.iter().any(|tag| request.tags.contains(tag));
        sieve.take_unless_all(|target| lacks(target).then_some(LeftOut::Tag));
    }
    let lacking = |target: &Target| capability::missing(target, request).map(LeftOut::Capability);
    if !sieve.take_unless_all(lacking) && !config.compat_filter_fail_open {
        let standing = sieve.standing.iter().map(|&index| &sieve.targets[index]);
        let mut missing: Vec<Capability> = standing.filter_map(|t| capability::missing(t, request)).collect();
        missing.sort_unstable();
        missing.dedup();
        sieve.take(lacking);
        return Err(Cause::Capability(missing));
    }
    if let Some(least) = config.context_requirements.min_context_window {
        let small = |target: &Target| {
            target.facts.context_window.is_some_and(|window| window < least).then_some(LeftOut::ContextRequirements)
        };
        let some_left = sieve.take_unless_all(small);
        if !some_left && config.context_requirements.mode == ContextMode::Strict {
            sieve.take(small);
            return Err(Cause::ContextRequirements);
        }
    }
    let tools = request.tool_count;
    let limited = |target: &Target| {
        let limit = target.facts.max_tools.filter(|limit| tools > *limit);
        limit.map(|limit| LeftOut::ToolLimit { limit })
    };
    if tools > 0 && !sieve.take_unless_all(limited) {
        let limits = sieve.standing.iter().filter_map(|&index| sieve.targets[index].facts.max_tools);
        let limit = limits.max().unwrap_or(0);
        sieve.take(limited);
        return Err(Cause::ToolLimit { limit, tools });
    }
    sieve.take(|target| match &target.availability {
        Availability::Available => None,
        Availability::Excluded(exclusion) => Some(LeftOut::Spared(exclusion.clone())),
    });
    if let Some(limit) = config.first_token_limit() {
        let slow = |telemetry: &Telemetry| {
            let figure = telemetry.first_token.filter(|_| telemetry.samples >= Telemetry::ENOUGH);
            figure.is_some_and(|figure| figure > limit.as_millis() as f64)
        };
        sieve.take_unless_all(|target| slow(&target.facts.telemetry).then_some(LeftOut::FirstToken));
    }
    Ok(sieve.standing)
}

/// Who still stands, by index.
struct Sieve<'p> {
    targets: &'p [Target],
    standing: Vec<usize>,
    left_out: &'p mut Vec<(usize, LeftOut)>,
}

impl<'p> Sieve<'p> {
    /// Everyone but those who stand for a combo that has nothing to try.
    fn new(pool: &'p mut Pool) -> Self {
        let Pool { targets, nested, left_out } = pool;
        let is_empty = |index: &usize| nested.get(index).is_some_and(|inner| inner.plan.is_empty());
        let mut standing: Vec<usize> = (0..targets.len()).collect();
        if !nested.is_empty() {
            left_out
                .extend(standing.extract_if(.., |index| is_empty(index)).map(|index| (index, LeftOut::NothingInside)));
        }
        Sieve { targets, standing, left_out }
    }

    /// Those with a reason stand no longer.
    fn take(&mut self, reason: impl Fn(&Target) -> Option<LeftOut>) {
        let Sieve { targets, standing, left_out } = self;
        standing.retain(|&index| match reason(&targets[index]) {
            None => true,
            Some(why) => {
                left_out.push((index, why));
                false
            }
        });
    }

    /// The same, but nobody is taken where everybody would be. Whether there is somebody without a reason, or nobody at all.
    fn take_unless_all(&mut self, reason: impl Fn(&Target) -> Option<LeftOut>) -> bool {
        let standing = &self.standing;
        if !standing.is_empty() && standing.iter().all(|&index| reason(&self.targets[index]).is_some()) {
            return false;
        }
        self.take(reason);
        true
    }
}
