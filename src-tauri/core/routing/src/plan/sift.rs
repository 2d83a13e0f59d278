//! What falls away before anything is ranked, in the order in which the causes concern more than this moment.

use std::cell::Cell;

use domain::Availability;

use super::{Cause, LeftOut, Refusal};
use crate::capability::{self, Capability};
use crate::combo::config::ContextMode;
use crate::target::{Target, Telemetry};
use crate::view::View;

/// Takes out of `targets` whatever cannot or may not serve the request now.
pub(super) fn sift(
    targets: &mut Vec<Target>,
    left_out: &mut Vec<(Target, LeftOut)>,
    view: &View<'_>,
) -> Result<(), Refusal> {
    let (request, config) = (view.request, view.config);
    if !request.tags.is_empty() {
        let lacks = |target: &Target| !target.tags.iter().any(|tag| request.tags.contains(tag));
        take_unless_all(targets, left_out, |target| lacks(target).then_some(LeftOut::Tag));
    }
    let lacking = |target: &Target| capability::missing(target, request).map(LeftOut::Capability);
    if !take_unless_all(targets, left_out, lacking) && !config.compat_filter_fail_open {
        let mut missing: Vec<Capability> = targets.iter().filter_map(|t| capability::missing(t, request)).collect();
        missing.sort_unstable();
        missing.dedup();
        return Err(refuse(Cause::Capability(missing), targets, left_out, lacking));
    }
    if let Some(least) = config.context_requirements.min_context_window {
        let small = |target: &Target| {
            target.facts.context_window.is_some_and(|window| window < least).then_some(LeftOut::ContextRequirements)
        };
        let some_left = take_unless_all(targets, left_out, small);
        if !some_left && config.context_requirements.mode == ContextMode::Strict {
            return Err(refuse(Cause::ContextRequirements, targets, left_out, small));
        }
    }
    let tools = request.tool_count;
    let limited = |target: &Target| {
        let limit = target.facts.max_tools.filter(|limit| tools > *limit);
        limit.map(|limit| LeftOut::ToolLimit { limit })
    };
    if !take_unless_all(targets, left_out, limited) {
        let limit = targets.iter().filter_map(|target| target.facts.max_tools).max().unwrap_or(0);
        return Err(refuse(Cause::ToolLimit { limit, tools }, targets, left_out, limited));
    }
    take(targets, left_out, |target| match &target.availability {
        Availability::Available => None,
        Availability::Excluded(exclusion) => Some(LeftOut::Spared(exclusion.clone())),
    });
    if let Some(limit) = config.first_token_limit() {
        let slow = |telemetry: &Telemetry| {
            let figure = telemetry.first_token.filter(|_| telemetry.samples >= Telemetry::ENOUGH);
            figure.is_some_and(|figure| figure > limit.as_millis() as f64)
        };
        take_unless_all(targets, left_out, |target| slow(&target.facts.telemetry).then_some(LeftOut::FirstToken));
    }
    Ok(())
}

/// Moves those with a reason to the left-out ones.
fn take(targets: &mut Vec<Target>, left_out: &mut Vec<(Target, LeftOut)>, reason: impl Fn(&Target) -> Option<LeftOut>) {
    let why = Cell::new(None);
    let leaving = targets.extract_if(.., |target| {
        let found = reason(target);
        let leaves = found.is_some();
        why.set(found);
        leaves
    });
    for target in leaving {
        left_out.extend(why.take().map(|why| (target, why)));
    }
}

/// The same, but nobody is moved where everybody would be. Whether there is somebody without a reason, or nobody at all.
fn take_unless_all(
    targets: &mut Vec<Target>,
    left_out: &mut Vec<(Target, LeftOut)>,
    reason: impl Fn(&Target) -> Option<LeftOut>,
) -> bool {
    if !targets.is_empty() && targets.iter().all(|target| reason(target).is_some()) {
        return false;
    }
    take(targets, left_out, reason);
    true
}

fn refuse(
    cause: Cause,
    targets: &mut Vec<Target>,
    left_out: &mut Vec<(Target, LeftOut)>,
    reason: impl Fn(&Target) -> Option<LeftOut>,
) -> Refusal {
    take(targets, left_out, reason);
    Refusal { cause, left_out: std::mem::take(left_out) }
}
