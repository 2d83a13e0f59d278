//! Context relay: priority order, and a summary that travels with the conversation when its account runs out.
//!
//! A conversation on a subscription account loses its context when the next request must go elsewhere. So when an account
//! is nearly used up, a summary is written while it still can serve; when a later request of the session goes to another
//! account, the summary is put before it, once. This file only decides; the gateway writes and injects (gateway
//! specification, 3.4).

use domain::quota::Quota;
use domain::{ConnectionId, Millis, ProviderId, Timestamp};

use crate::combo::Config;
use crate::lru::Lru;
use crate::window;

/// Above this use an account may refuse the call that writes the summary.
const TOO_LATE: f64 = 0.95;
/// Life of a summary where the quota's reset is unknown.
const USUAL_LIFE: Millis = Millis::hours(5);
/// Longest a summary may take to write.
pub const WRITING_TIMEOUT: Millis = Millis::seconds(300);
/// Sessions whose writing is remembered.
const CAPACITY: usize = 500;

/// Indexes into a list of `count` targets.
pub fn rank(count: usize) -> Vec<usize> {
    (0..count).collect()
}

/// Whether a summary should be written after a success on this account.
pub fn should_write(
    provider: &ProviderId,
    model: &str,
    quota: Option<&Quota>,
    config: &Config,
    now: Timestamp,
) -> bool {
    let hands_over = config.handoff_providers.iter().any(|name| name == provider.as_str());
    let used = quota.and_then(|quota| window::least_remaining(quota, model, now)).map(|left| 1.0 - left);
    hands_over && used.is_some_and(|used| used >= config.handoff_threshold && used < TOO_LATE)
}

/// Until when a summary is worth keeping: the next reset of the account's fullest window.
pub fn expires_at(quota: Option<&Quota>, now: Timestamp) -> Timestamp {
    let fullest = quota.and_then(|quota| {
        let known = quota.windows.values().filter_map(|window| Some((window::remaining(window, now)?, window)));
        known.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, window)| window)
    });
    now + fullest.and_then(|window| window::time_to_reset(window, now)).unwrap_or(USUAL_LIFE)
}

/// A stored summary, as far as a decision needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The account whose conversation it sums up.
    pub from: ConnectionId,
    pub expires_at: Timestamp,
    /// It already went before a request.
    pub injected: bool,
}

/// Whether the summary goes before a request that is sent to `to`.
pub fn should_inject(note: &Note, to: &ConnectionId, now: Timestamp) -> bool {
    !note.injected && note.from != *to && now < note.expires_at
}

/// Which sessions are being summed up now: one at a time for each session and combo.
#[derive(Clone, Debug, PartialEq)]
pub struct Writing(Lru<Timestamp>);

impl Writing {
    /// Takes the one place of a session; false while another holds it. A place that was never given back lapses after
    /// [`WRITING_TIMEOUT`].
    pub fn begin(&mut self, combo: &str, session: &str, now: Timestamp) -> bool {
        let name = name(combo, session);
        if self.0.peek(&name).is_some_and(|begun| now < *begun + WRITING_TIMEOUT) {
            return false;
        }
        self.0.insert(&name, now);
        true
    }

    /// Gives the place back.
    pub fn end(&mut self, combo: &str, session: &str) {
        self.0.remove(&name(combo, session));
    }
}

impl Default for Writing {
    fn default() -> Self {
        Writing(Lru::new(CAPACITY))
    }
}

fn name(combo: &str, session: &str) -> String {
    format!("{session}\n{combo}")
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{NOW, quota};
    use super::*;

    #[test]
    fn a_summary_is_written_between_the_threshold_and_too_late() {
        let config = Config::default();
        for (provider, used, expected) in [
            ("codex", Some(0.84), false),
            ("codex", Some(0.85), true),
            ("codex", Some(0.949), true),
            ("codex", Some(0.95), false),
            ("codex", None, false),
            ("openai", Some(0.9), false),
        ] {
            let quota = quota(&[("session", used, Some(5)), ("weekly", Some(0.1), None)]);
            assert_eq!(
                should_write(&provider.into(), "m", Some(&quota), &config, NOW),
                expected,
                "{provider} {used:?}"
            );
        }
        assert!(!should_write(&"codex".into(), "m", None, &config, NOW), "unknown");
    }

    #[test]
    fn it_lives_until_the_fullest_window_is_new() {
        let quota = quota(&[("session", Some(0.9), Some(7)), ("weekly", Some(0.1), Some(9))]);
        assert_eq!(expires_at(Some(&quota), NOW), NOW + Millis::new(7));
        assert_eq!(expires_at(None, NOW), NOW + Millis::hours(5));
    }

    #[test]
    fn it_is_injected_once_and_only_elsewhere() {
        let note = Note { from: "a".into(), expires_at: NOW + Millis::new(1), injected: false };
        assert!(should_inject(&note, &"b".into(), NOW));
        assert!(!should_inject(&note, &"a".into(), NOW));
        assert!(!should_inject(&note, &"b".into(), NOW + Millis::new(1)));
        assert!(!should_inject(&Note { injected: true, ..note }, &"b".into(), NOW));
    }

    #[test]
    fn one_summary_of_a_session_is_written_at_a_time() {
        let mut writing = Writing::default();
        assert!(writing.begin("c", "s", NOW) && writing.begin("c", "t", NOW) && !writing.begin("c", "s", NOW));
        writing.end("c", "s");
        assert!(writing.begin("c", "s", NOW));
        assert!(writing.begin("c", "s", NOW + WRITING_TIMEOUT), "a lost place lapses");
    }
}
