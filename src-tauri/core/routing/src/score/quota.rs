//! What is left of an account's quota for one model (gateway specification, 5.1).
//!
//! Windows count the account as a whole, except `7d:<model>`, which counts one model and is read only for models whose id
//! contains that name. A window whose reset has passed is full again until somebody says otherwise.

use domain::Timestamp;
use domain::quota::window::WEEKLY_OF_MODEL;
use domain::quota::{Quota, Window};

use super::fitness;
use crate::window;

/// What a quota says of one model now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// The fraction left in the tightest window, 0–1; none where no window says.
    pub remaining: Option<f64>,
    /// The soonest reset that is still to come.
    pub next_reset: Option<Timestamp>,
}

/// Reads every window once.
pub fn read(quota: &Quota, model: &str, now: Timestamp) -> Reading {
    let mut reading = Reading::default();
    for window in relevant(quota, model) {
        if let Some(left) = window::remaining(window, now) {
            reading.remaining = Some(reading.remaining.map_or(left, |least| least.min(left)));
        }
        if let Some(reset) = window.reset_at.filter(|reset| *reset > now) {
            reading.next_reset = Some(reading.next_reset.map_or(reset, |soonest| soonest.min(reset)));
        }
    }
    if exhausted(quota, now) {
        reading.remaining = Some(0.0);
    }
    reading
}

/// Whether a window is used up and has not come back (3.6, saturation gate): unknown is not saturated.
pub fn saturated(quota: &Quota, model: &str, now: Timestamp) -> bool {
    exhausted(quota, now) || relevant(quota, model).any(|window| window::remaining(window, now) == Some(0.0))
}

/// The vendor said so, and no reset has passed since.
fn exhausted(quota: &Quota, now: Timestamp) -> bool {
    let came_back = |window: &Window| window.reset_at.is_some_and(|reset| reset <= now);
    quota.limit_reached && !quota.windows.values().any(came_back)
}

fn relevant<'a>(quota: &'a Quota, model: &'a str) -> impl Iterator<Item = &'a Window> {
    quota
        .windows
        .iter()
        .filter(move |(name, _)| match name.strip_prefix(WEEKLY_OF_MODEL) {
            Some(part) => fitness::contains(model, part),
            None => true,
        })
        .map(|(_, window)| window)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn quota(windows: &[(&str, Option<f64>, Option<u64>)], limit_reached: bool) -> Quota {
        let windows = windows
            .iter()
            .map(|&(name, percent_used, reset)| {
                (name.to_owned(), Window { percent_used, reset_at: reset.map(Timestamp::from_millis) })
            })
            .collect();
        Quota { windows, limit_reached, fetched_at: NOW, ..Quota::default() }
    }

    #[test]
    fn the_tightest_window_that_concerns_the_model_counts() {
        let later = Some(2_000_000);
        let past = Some(999_999);
        for (windows, reached, left, is_saturated) in [
            (vec![], false, None, false),
            (vec![("session", None, later)], false, None, false),
            (vec![("session", Some(0.25), later), ("weekly", Some(0.5), later)], false, Some(0.5), false),
            (vec![("session", Some(1.0), later)], false, Some(0.0), true),
            (vec![("session", Some(1.0), None)], false, Some(0.0), true),
            (vec![("session", Some(1.0), past)], false, Some(1.0), false),
            (vec![("session", Some(1.4), later)], false, Some(0.0), true),
            (vec![("session", Some(f64::NAN), later)], false, None, false),
            (vec![("7d:opus", Some(1.0), later), ("weekly", Some(0.2), later)], false, Some(0.0), true),
            (vec![("7d:sonnet", Some(1.0), later), ("weekly", Some(0.2), later)], false, Some(0.8), false),
            (vec![("session", Some(0.3), later)], true, Some(0.0), true),
            (vec![("session", Some(0.3), past)], true, Some(1.0), false),
        ] {
            let quota = quota(&windows, reached);
            assert_eq!(read(&quota, "claude-opus-4", NOW).remaining, left, "{windows:?}");
            assert_eq!(saturated(&quota, "claude-opus-4", NOW), is_saturated, "{windows:?}");
        }
    }

    #[test]
    fn the_next_reset_is_the_soonest_to_come() {
        let windows =
            [("session", None, Some(900)), ("weekly", None, Some(3_000_000)), ("daily", None, Some(2_000_000))];
        assert_eq!(read(&quota(&windows, false), "m", NOW).next_reset, Some(Timestamp::from_millis(2_000_000)));
    }
}
