//! What strategies keep between requests: turns, decks, streaks, the last known good.
//!
//! In memory, beside the Engine in the shell's handle; each part is declared beside the strategy that reads it, and
//! bounded there. Only the last known good and the request counts are put down in the store. A plan for show works on a
//! clone, so that looking takes nobody's turn.

use std::collections::BTreeMap;

use domain::{ConnectionId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::account;
use crate::combo::Strategy;
use crate::lru::Turns;
use crate::quota_share;
use crate::stickiness::{Prefixes, Sessions};
use crate::strategies::{auto, least_used, lkgp, strict_random, weighted};
use crate::target::Target;
use crate::view::RequestFacts;

/// See the strategies for what each part means.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    pub streaks: weighted::Streaks,
    pub turns: Turns,
    pub decks: strict_random::Decks,
    pub counts: least_used::Counts,
    pub last_good: lkgp::LastGood,
    /// Turns of those level in `reset-aware`.
    pub reset_aware: Turns,
    /// Turns of those level in `reset-window`.
    pub reset_window: Turns,
    pub sessions: Sessions,
    pub prefixes: Prefixes,
    pub accounts: account::Memory,
    pub auto: auto::Memory,
    pub shares: quota_share::Memory,
}

/// Who was asked for whom, as one combo is told: of combos within each other every one is, of its own step.
#[derive(Clone, Copy, Debug)]
pub struct Dispatch<'a> {
    pub combo: &'a str,
    pub strategy: Strategy,
    /// Execution key of the combo's own step: the target's, or of the step that stands for the combo the target is in.
    pub step: &'a str,
    /// Who was asked.
    pub target: &'a Target,
    /// The account that was used.
    pub connection: &'a ConnectionId,
}

/// What outlives a restart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Lasting {
    /// Where each combo last succeeded.
    pub last_good: BTreeMap<String, lkgp::Place>,
    /// Requests by execution key.
    pub counts: BTreeMap<String, least_used::Count>,
}

impl Memory {
    /// For the store.
    pub fn lasting(&self) -> Lasting {
        Lasting { last_good: self.last_good.snapshot(), counts: self.counts.snapshot().into_iter().collect() }
    }

    /// Takes over what the store kept.
    pub fn restore(&mut self, lasting: Lasting) {
        self.last_good.restore(lasting.last_good);
        self.counts.restore(lasting.counts);
    }

    /// A request goes out.
    pub fn dispatched(&mut self, dispatch: &Dispatch<'_>, now: Timestamp) {
        self.counts.add(dispatch.step, now);
    }

    /// It was answered well. Whether the last known good changed, which the store then puts down.
    pub fn served(&mut self, dispatch: &Dispatch<'_>, request: &RequestFacts, now: Timestamp) -> bool {
        let key = dispatch.step;
        if let Some(session) = &request.session {
            self.sessions.keep(dispatch.combo, session, key, now);
        }
        if let Some(prefix) = &request.cache_key {
            self.prefixes.keep(dispatch.combo, prefix, key, now);
        }
        if dispatch.strategy == Strategy::Auto {
            self.auto.healing.on_success(key, now);
        }
        self.last_good.remember(dispatch.combo, dispatch.place())
    }

    /// It failed by the upstream's doing. Whether the last known good changed.
    pub fn failed(&mut self, dispatch: &Dispatch<'_>, now: Timestamp) -> bool {
        if dispatch.strategy == Strategy::Auto {
            self.auto.healing.on_failure(dispatch.step, now);
        }
        self.last_good.forget(dispatch.combo, &dispatch.place())
    }
}

impl Dispatch<'_> {
    fn place(&self) -> lkgp::Place {
        lkgp::Place {
            provider: self.target.provider.clone(),
            model: self.target.model.clone(),
            connection_id: Some(self.connection.clone()),
            within: (self.step != self.target.execution_key).then(|| self.step.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::order::Around;
    use crate::strategies::fixtures::{NOW, target};

    #[test]
    fn a_success_is_remembered_by_everyone_concerned_and_its_failure_forgets_the_last_good_only() {
        let (mut memory, target, connection) = (Memory::default(), target(1), ConnectionId::from("a"));
        let config = Arc::default();
        let own = Around::new("c", Strategy::Auto, &config).place(&target);
        let dispatch = own.dispatches(&connection).next().expect("the combo's own");
        let request =
            RequestFacts { session: Some("s".to_owned()), cache_key: Some("k".to_owned()), ..RequestFacts::default() };
        memory.dispatched(&dispatch, NOW);
        assert!(memory.served(&dispatch, &request, NOW));
        assert!(!memory.served(&dispatch, &request, NOW), "no news");
        assert_eq!(memory.counts.of("s1", NOW), 1.0);
        assert_eq!((memory.sessions.of("c", "s", NOW), memory.prefixes.of("c", "k", NOW)), (Some("s1"), Some("s1")));
        assert!(memory.failed(&dispatch, NOW));
        assert_eq!((memory.last_good.of("c"), memory.sessions.of("c", "s", NOW)), (None, Some("s1")));
    }
}
