//! What is left of a quota, as far as anyone said (gateway specification, 5.1). A reset that has passed means "full again"
//! until somebody says otherwise; what is unknown stays unknown.

use domain::quota::window::{SESSION, WEEKLY};
use domain::quota::{Quota, Window};
use domain::{Millis, Timestamp};

/// Fraction left of a window, 0–1.
pub fn remaining(window: &Window, now: Timestamp) -> Option<f64> {
    if window.reset_at.is_some_and(|reset| reset <= now) {
        return Some(1.0);
    }
    window.percent_used.filter(|used| used.is_finite()).map(|used| (1.0 - used).clamp(0.0, 1.0))
}

/// How long until a window is full again; none where unknown or past.
pub fn time_to_reset(window: &Window, now: Timestamp) -> Option<Millis> {
    window.reset_at.filter(|reset| *reset > now).map(|reset| reset.since(now))
}

/// Fraction left of the named window of a quota.
pub fn remaining_of(quota: &Quota, name: &str, now: Timestamp) -> Option<f64> {
    remaining(quota.windows.get(name)?, now)
}

/// Fraction left of the window that is fullest, of all that are known and concern the model.
pub fn least_remaining(quota: &Quota, model: &str, now: Timestamp) -> Option<f64> {
    quota.windows_of(model).filter_map(|(_, window)| remaining(window, now)).min_by(f64::total_cmp)
}

/// Fraction left for a conversation: of the session and the weekly window the fuller; none where neither is known.
pub fn headroom(quota: &Quota, now: Timestamp) -> Option<f64> {
    let known = [SESSION, WEEKLY].into_iter().filter_map(|name| remaining_of(quota, name, now));
    known.min_by(f64::total_cmp)
}

/// Nothing can be served of the model: the vendor said so, or a window is used up.
pub fn is_exhausted(quota: &Quota, model: &str, now: Timestamp) -> bool {
    let said =
        quota.limit_reached && quota.windows.values().all(|window| window.reset_at.is_none_or(|reset| reset > now));
    said || quota.windows_of(model).any(|(_, window)| remaining(window, now).is_some_and(|left| left <= 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(used: Option<f64>, reset: Option<u64>) -> Window {
        Window { percent_used: used, reset_at: reset.map(Timestamp::from_millis) }
    }

    #[test]
    fn what_is_left() {
        let now = Timestamp::from_millis(100);
        for (window, left, wait) in [
            (window(Some(0.75), Some(300)), Some(0.25), Some(Millis::new(200))),
            (window(Some(0.75), Some(100)), Some(1.0), None),
            (window(Some(7.0), None), Some(0.0), None),
            (window(Some(f64::NAN), None), None, None),
            (window(None, Some(300)), None, Some(Millis::new(200))),
        ] {
            assert_eq!((remaining(&window, now), time_to_reset(&window, now)), (left, wait));
        }
    }

    #[test]
    fn a_quota_is_as_full_as_its_fullest_window() {
        let windows = [
            ("session", window(Some(0.5), None)),
            ("weekly", window(Some(0.9), None)),
            ("7d:opus", window(Some(1.0), None)),
        ];
        let windows = windows.into_iter().map(|(name, window)| (name.to_owned(), window)).collect();
        let quota = Quota { windows, ..Quota::default() };
        assert!(headroom(&quota, Timestamp::ZERO).is_some_and(|left| (left - 0.1).abs() < 1e-9));
        assert!(is_exhausted(&quota, "claude-opus-4", Timestamp::ZERO));
        assert!(!is_exhausted(&quota, "claude-sonnet", Timestamp::ZERO), "another model's window");
        assert!(!is_exhausted(&Quota::default(), "m", Timestamp::ZERO), "unknown is not empty");
        assert_eq!(headroom(&Quota::default(), Timestamp::ZERO), None);
    }
}
