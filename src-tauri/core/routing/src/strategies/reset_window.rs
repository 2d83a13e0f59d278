//! Reset window: the account whose quota is renewed soonest, so that nothing paid for is lost.
//!
//! The time to reset of the configured windows (`resetWindowNames`, and the session window where that is asked for), of
//! several the soonest; of any window where none of them is known; unknown comes last of all that can serve. Those within
//! `resetWindowTieBandMs` of the soonest take turns. The exhausted go to the end: their reset is near, but they cannot serve.

use std::borrow::Borrow;

use domain::Millis;
use domain::quota::Quota;
use domain::quota::window::SESSION;

use super::reset_aware::rotate;
use super::rising;
use crate::lru::Turns;
use crate::target::Target;
use crate::view::View;
use crate::window;

/// Indexes into `targets`.
pub fn rank(targets: &[impl Borrow<Target>], view: &View<'_>, turns: &mut Turns) -> Vec<usize> {
    let keys: Vec<(bool, Millis)> = targets.iter().map(|target| key(target.borrow(), view)).collect();
    let mut order = rising(keys.iter().copied(), Ord::cmp);
    let Some(&soonest) = order.first() else { return order };
    let (exhausted, wait) = keys[soonest];
    let within = wait + view.config.reset_window_tie_band;
    let tied = order.iter().take_while(|&&index| keys[index].0 == exhausted && keys[index].1 <= within).count();
    rotate(&mut order[..tied], turns, view.combo);
    order
}

/// Whether it cannot serve, and how long until it is renewed.
fn key(target: &Target, view: &View<'_>) -> (bool, Millis) {
    match &target.facts.quota {
        Some(quota) => (window::is_exhausted(quota, &target.model, view.now), wait(quota, view).unwrap_or(Millis::MAX)),
        None => (false, Millis::MAX),
    }
}

/// How long until the account is renewed; none where nobody said.
pub fn wait(quota: &Quota, view: &View<'_>) -> Option<Millis> {
    let config = view.config;
    let session = config.include_session_window.then_some(SESSION);
    let names = config.reset_window_names.iter().map(String::as_str).chain(session);
    let configured = names.filter_map(|name| window::time_to_reset(quota.windows.get(name)?, view.now)).min();
    configured.or_else(|| quota.windows.values().filter_map(|window| window::time_to_reset(window, view.now)).min())
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{World, each, quota};
    use super::*;

    const HOUR: u64 = 3_600_000;

    #[test]
    fn the_soonest_configured_reset_comes_first() {
        let quotas = [
            None,
            Some(quota(&[("weekly", Some(0.1), Some(5 * HOUR)), ("session", Some(0.1), Some(HOUR))])),
            Some(quota(&[("weekly", Some(0.1), Some(3 * HOUR))])),
            Some(quota(&[("monthly", None, Some(4 * HOUR))])),
            Some(quota(&[("weekly", Some(1.0), Some(2 * HOUR))])),
            Some(quota(&[("weekly", Some(0.1), Some(0))])),
        ];
        let targets = each(quotas, |target, quota| target.facts.quota = quota);
        let mut world = World::default();
        assert_eq!(rank(&targets, &world.view(), &mut Turns::default()), [2, 3, 1, 0, 5, 4]);
        world.config.include_session_window = true;
        assert_eq!(rank(&targets, &world.view(), &mut Turns::default()), [1, 2, 3, 0, 5, 4]);
    }

    #[test]
    fn resets_within_a_minute_take_turns() {
        let resets = [HOUR + 60_000, HOUR, HOUR + 60_001];
        let targets = each(resets, |target, reset| {
            target.facts.quota = Some(quota(&[("weekly", None, Some(reset))]));
        });
        let (world, mut turns) = (World::default(), Turns::default());
        let orders: Vec<_> = (0..3).map(|_| rank(&targets, &world.view(), &mut turns)).collect();
        assert_eq!(orders, [[1, 0, 2], [0, 1, 2], [1, 0, 2]]);
    }
}
