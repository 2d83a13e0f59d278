//! A conversation stays where it was while that is good for it (gateway specification, 3.3, steps 7 and 11).
//!
//! Two memories, both because the upstream keeps what it has read: [`Sessions`] by conversation, [`Prefixes`] by the
//! beginning of the prompt. A conversation leaves its target when the account is nearly used up, exhausted or spared; the
//! explicit session header has a table of its own.

use domain::{Millis, Timestamp};

use crate::lru::Lru;
use crate::target::Target;
use crate::view::{RequestFacts, View};
use crate::window;

/// How long a conversation is remembered after its last request.
pub const TTL: Millis = Millis::minutes(15);
const CAPACITY: usize = 500;
/// Below this free fraction an account is left to those who are there already.
const LEAST_HEADROOM: f64 = 0.15;

/// The target of each conversation: execution key by combo and session.
#[derive(Clone, Debug, PartialEq)]
pub struct Sessions(Lru<Pin>);

/// The account that read each beginning last: execution key by combo and prefix key.
#[derive(Clone, Debug, PartialEq)]
pub struct Prefixes(Lru<Pin>);

#[derive(Clone, Debug, PartialEq)]
struct Pin {
    execution_key: String,
    at: Timestamp,
}

impl Default for Sessions {
    fn default() -> Self {
        Sessions(Lru::new(CAPACITY))
    }
}

impl Default for Prefixes {
    fn default() -> Self {
        Prefixes(Lru::new(CAPACITY))
    }
}

impl Sessions {
    /// Where the conversation was.
    pub fn of(&self, combo: &str, session: &str, now: Timestamp) -> Option<&str> {
        find(&self.0, &name(combo, session), now)
    }

    /// A target served the conversation.
    pub fn keep(&mut self, combo: &str, session: &str, execution_key: &str, now: Timestamp) {
        keep(&mut self.0, &name(combo, session), execution_key, now);
    }

    /// The conversation is free to go anywhere.
    pub fn release(&mut self, combo: &str, session: &str) {
        self.0.remove(&name(combo, session));
    }
}

impl Prefixes {
    /// Who read this beginning last.
    pub fn of(&self, combo: &str, key: &str, now: Timestamp) -> Option<&str> {
        find(&self.0, &name(combo, key), now)
    }

    /// A target read this beginning.
    pub fn keep(&mut self, combo: &str, key: &str, execution_key: &str, now: Timestamp) {
        keep(&mut self.0, &name(combo, key), execution_key, now);
    }
}

fn name(combo: &str, key: &str) -> String {
    format!("{key}\n{combo}")
}

fn find<'m>(pins: &'m Lru<Pin>, name: &str, now: Timestamp) -> Option<&'m str> {
    pins.peek(name).filter(|pin| now < pin.at + TTL).map(|pin| pin.execution_key.as_str())
}

fn keep(pins: &mut Lru<Pin>, name: &str, execution_key: &str, now: Timestamp) {
    pins.insert(name, Pin { execution_key: execution_key.to_owned(), at: now });
}

/// The request as `auto` weighs it: with the target that served its conversation last.
pub fn recalled(view: &View<'_>, sessions: &Sessions) -> RequestFacts {
    let session = view.request.session.as_deref();
    let path = session.and_then(|session| sessions.of(view.combo, session, view.now));
    RequestFacts { session_path: path.map(str::to_owned), ..view.request.clone() }
}

/// Whether a pin speaks of this target: itself, or a combo that stands for it.
pub fn is_pinned(target: &Target, execution_key: &str) -> bool {
    let below = execution_key.strip_prefix(target.execution_key.as_str());
    below.is_some_and(|rest| rest.is_empty() || rest.starts_with(['>', '@']))
}

/// Whether a target that may be tried has enough left for a conversation.
pub fn may_stay(target: &Target, now: Timestamp) -> bool {
    let Some(quota) = &target.facts.quota else { return true };
    !window::is_exhausted(quota, &target.model, now)
        && window::headroom(quota, now).is_none_or(|free| free >= LEAST_HEADROOM)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategies::fixtures::{NOW, quota, target};

    #[test]
    fn a_conversation_is_remembered_for_a_quarter_of_an_hour() {
        let mut sessions = Sessions::default();
        sessions.keep("c", "s", "k", NOW);
        assert_eq!(sessions.of("c", "s", NOW + Millis::new(TTL.as_millis() - 1)), Some("k"));
        assert_eq!(sessions.of("c", "s", NOW + TTL), None);
        assert_eq!(sessions.of("d", "s", NOW), None, "each combo has its own");
        sessions.release("c", "s");
        assert_eq!(sessions.of("c", "s", NOW), None);
    }

    #[test]
    fn at_most_five_hundred_are_remembered() {
        let mut sessions = Sessions::default();
        (0..501).for_each(|n| sessions.keep("c", &n.to_string(), "k", NOW));
        assert_eq!((sessions.of("c", "0", NOW), sessions.of("c", "1", NOW)), (None, Some("k")));
    }

    #[test]
    fn a_pin_speaks_of_a_target_and_of_what_stands_for_it() {
        let target = target(1);
        for (key, expected) in [("s1", true), ("s1>x", true), ("s1@a", true), ("s12", false), ("s", false)] {
            assert_eq!(is_pinned(&target, key), expected, "{key}");
        }
    }

    #[test]
    fn an_account_that_is_nearly_used_up_is_left() {
        for (used, stays) in [(Some(0.85), true), (Some(0.86), false), (Some(1.0), false), (None, true)] {
            let mut target = target(0);
            target.facts.quota = Some(quota(&[("session", used, None)]));
            assert_eq!(may_stay(&target, NOW), stays, "{used:?}");
        }
    }
}
