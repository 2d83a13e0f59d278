//! Reset aware: the account whose quota is most worth using now.
//!
//! What is left counts, and what is about to be lost: a window that resets soon returns what was used, so its use costs
//! nothing.
//!
//! ```text
//! urgency(w) = 1 − min(1, time to reset / length of w); 0.5 where the reset is unknown, 1 where it has passed
//! score(w)   = a · remaining + b · urgency · (1 − remaining);  session .45/.55, weekly and monthly .25/.75
//! long       = weekly, or .75 · weekly + .25 · monthly where the monthly window is known
//! total      = sessionWeight · session + weeklyWeight · long
//! ```
//!
//! A window nobody spoke of scores 0.5, and so does an account nobody spoke of. Below the exhaustion guard of its session an
//! account is spared: `total ×= max(.05, remaining / guard)`. An account at its limit is last. Scores within the tie band
//! of the best take turns.

use std::borrow::Borrow;

use domain::quota::Window;
use domain::quota::window::{MONTHLY, SESSION, WEEKLY};
use domain::{Millis, Timestamp};

use super::falling;
use crate::combo::Config;
use crate::lru::Turns;
use crate::target::Target;
use crate::view::View;
use crate::window;

const UNKNOWN: f64 = 0.5;
const LEAST_GUARD: f64 = 0.05;

/// Length of a window, and what its rest and its urgency count.
struct Shape {
    length: Millis,
    rest: f64,
    urgency: f64,
}

const SESSION_SHAPE: Shape = Shape { length: Millis::hours(5), rest: 0.45, urgency: 0.55 };
const WEEKLY_SHAPE: Shape = Shape { length: Millis::days(7), rest: 0.25, urgency: 0.75 };
const MONTHLY_SHAPE: Shape = Shape { length: Millis::days(30), rest: 0.25, urgency: 0.75 };

/// Indexes into `targets`.
pub fn rank(targets: &[impl Borrow<Target>], view: &View<'_>, turns: &mut Turns) -> Vec<usize> {
    let scores: Vec<f64> = targets.iter().map(|target| score(target.borrow(), view.config, view.now)).collect();
    let mut order = falling(scores.iter().copied());
    let Some(&best) = order.first() else { return order };
    let band = view.config.reset_aware_tie_band_percent / 100.0;
    let tied = order.iter().take_while(|&&index| scores[index] >= scores[best] - band).count();
    rotate(&mut order[..tied], turns, view.combo);
    order
}

/// Lets those that are level take turns.
pub(super) fn rotate(level: &mut [usize], turns: &mut Turns, combo: &str) {
    if level.len() > 1 {
        let turn = turns.take(combo) % level.len() as u64;
        level.rotate_left(usize::try_from(turn).unwrap_or(0));
    }
}

/// How much an account is worth using now, negative infinity at its limit.
pub fn score(target: &Target, config: &Config, now: Timestamp) -> f64 {
    let quota = target.facts.quota.as_ref();
    let Some(quota) = quota.filter(|quota| quota.limit_reached || !quota.windows.is_empty()) else { return UNKNOWN };
    if window::is_exhausted(quota, &target.model, now) {
        return f64::NEG_INFINITY;
    }
    let (mut session, mut weekly, mut monthly) = (None, None, None);
    for (name, window) in &quota.windows {
        match name.as_str() {
            SESSION => session = Some(window),
            WEEKLY => weekly = Some(window),
            MONTHLY => monthly = Some(window),
            _ => {}
        }
    }
    let known = |window: Option<&Window>, shape: &Shape| window.and_then(|window| of_window(window, shape, now));
    let short = known(session, &SESSION_SHAPE).unwrap_or(UNKNOWN);
    let long = match (known(weekly, &WEEKLY_SHAPE), known(monthly, &MONTHLY_SHAPE)) {
        (Some(weekly), Some(monthly)) => 0.75 * weekly + 0.25 * monthly,
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => UNKNOWN,
    };
    let total = config.reset_aware_session_weight * short + config.reset_aware_weekly_weight * long;
    total * guard(session, config, now)
}

fn of_window(window: &Window, shape: &Shape, now: Timestamp) -> Option<f64> {
    let remaining = window::remaining(window, now)?;
    let urgency = match window.reset_at {
        None => UNKNOWN,
        Some(reset) => 1.0 - (reset.since(now).as_millis() as f64 / shape.length.as_millis() as f64).min(1.0),
    };
    Some(shape.rest * remaining + shape.urgency * urgency * (1.0 - remaining))
}

/// What an account whose session runs out is worth the less.
fn guard(session: Option<&Window>, config: &Config, now: Timestamp) -> f64 {
    let line = config.reset_aware_exhaustion_guard_percent / 100.0;
    match session.and_then(|session| window::remaining(session, now)) {
        Some(left) if left < line => (left / line).max(LEAST_GUARD),
        Some(_) | None => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use domain::quota::Quota;

    use super::super::fixtures::{NOW, World, each, quota};
    use super::*;

    fn of(quota: Option<Arc<Quota>>) -> f64 {
        let targets = each([quota], |target, quota| target.facts.quota = quota);
        score(&targets[0], &Config::default(), NOW)
    }

    fn scored(windows: &[(&str, Option<f64>, Option<u64>)]) -> f64 {
        of(Some(quota(windows)))
    }

    #[test]
    fn the_score_is_the_documented_one() {
        let half_session = Some(Millis::hours(5).as_millis() / 2);
        let (week, month) = (Some(Millis::days(7).as_millis()), Some(Millis::days(30).as_millis()));
        for (windows, expected) in [
            // Nothing used: only what is left counts.
            (vec![("session", Some(0.0), None), ("weekly", Some(0.0), None)], 0.35 * 0.45 + 0.65 * 0.25),
            // Half a session used, half of its time left.
            (
                vec![("session", Some(0.5), half_session), ("weekly", Some(0.5), week)],
                0.35 * (0.45 * 0.5 + 0.55 * 0.5 * 0.5) + 0.65 * (0.25 * 0.5),
            ),
            // An unknown reset is half urgent.
            (vec![("session", Some(0.5), None)], 0.35 * (0.45 * 0.5 + 0.55 * 0.5 * 0.5) + 0.65 * 0.5),
            // The monthly window has a quarter of the long part, all of it where it is alone.
            (
                vec![("weekly", Some(0.0), week), ("monthly", Some(1.0 - 1e-12), month)],
                0.35 * 0.5 + 0.65 * (0.75 * 0.25),
            ),
            (vec![("monthly", Some(0.0), month)], 0.35 * 0.5 + 0.65 * 0.25),
            // A reset that has passed: full again.
            (vec![("session", Some(0.9), Some(0))], 0.35 * 0.45 + 0.65 * 0.5),
            // Four hundredths of the session left, the guard at ten.
            (vec![("session", Some(0.96), None)], (0.35 * (0.45 * 0.04 + 0.55 * 0.5 * 0.96) + 0.65 * 0.5) * 0.4),
            (vec![("session", Some(0.999), None)], (0.35 * (0.45 * 0.001 + 0.55 * 0.5 * 0.999) + 0.65 * 0.5) * 0.05),
        ] {
            let found = scored(&windows);
            assert!((found - expected).abs() < 1e-9, "{windows:?}: {found} is not {expected}");
        }
        assert_eq!(of(None), 0.5);
        assert_eq!(scored(&[("session", Some(1.0), None)]), f64::NEG_INFINITY);
        let said = Arc::new(Quota { limit_reached: true, ..Quota::default() });
        assert_eq!(of(Some(said)), f64::NEG_INFINITY);
    }

    #[test]
    fn the_best_comes_first_the_exhausted_last_and_those_level_take_turns() {
        let week = Some(Millis::days(7).as_millis());
        let used = [Some(0.5), Some(0.0), Some(0.02), Some(1.0), Some(0.01)];
        let targets = each(used, |target, used| target.facts.quota = Some(quota(&[("weekly", used, week)])));
        let (world, mut turns) = (World::default(), Turns::default());
        let orders: Vec<_> = (0..4).map(|_| rank(&targets, &world.view(), &mut turns)).collect();
        assert_eq!(orders, [[1, 4, 2, 0, 3], [4, 2, 1, 0, 3], [2, 1, 4, 0, 3], [1, 4, 2, 0, 3]]);
    }
}
