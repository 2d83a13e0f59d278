//! Last known good: where the last success of this combo was, then the listed order.
//!
//! Forgotten when it fails. Put down in the store, so that a restart keeps it.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use domain::{ConnectionId, ProviderId};
use serde::{Deserialize, Serialize};

use super::with_first;
use crate::lru::Lru;
use crate::target::Target;
use crate::view::View;

/// Combos whose last success is remembered.
const CAPACITY: usize = 500;

/// Where a combo last succeeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    pub provider: ProviderId,
    pub model: String,
    pub connection_id: Option<ConnectionId>,
    /// Where the combo's step stands for another combo, its execution key: that combo is known to be good, whoever of it
    /// served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
}

/// The last success of each combo.
#[derive(Clone, Debug, PartialEq)]
pub struct LastGood(Lru<Place>);

impl LastGood {
    /// A combo succeeded there. Whether that is news, and so to be put down.
    pub fn remember(&mut self, combo: &str, place: Place) -> bool {
        let news = self.0.peek(combo) != Some(&place);
        self.0.insert(combo, place);
        news
    }

    /// A combo failed there; forgotten only if that was its last success. Whether anything was forgotten.
    pub fn forget(&mut self, combo: &str, place: &Place) -> bool {
        self.0.peek(combo).is_some_and(|last| last.is_same_step(place)) && self.0.remove(combo).is_some()
    }

    pub fn of(&self, combo: &str) -> Option<&Place> {
        self.0.peek(combo)
    }

    /// For the store.
    pub fn snapshot(&self) -> BTreeMap<String, Place> {
        self.0.iter().map(|(combo, place)| (combo.to_owned(), place.clone())).collect()
    }

    /// What the store kept.
    pub fn restore(&mut self, stored: BTreeMap<String, Place>) {
        for (combo, place) in stored {
            self.0.insert(&combo, place);
        }
    }
}

impl Default for LastGood {
    fn default() -> Self {
        LastGood(Lru::new(CAPACITY))
    }
}

/// Indexes into `targets`.
pub fn rank(targets: &[impl Borrow<Target>], view: &View<'_>, last: &LastGood) -> Vec<usize> {
    match find(targets, view, last) {
        Some(index) => with_first(index, targets.len()),
        None => (0..targets.len()).collect(),
    }
}

/// The target where the combo last succeeded, by index.
pub fn find(targets: &[impl Borrow<Target>], view: &View<'_>, last: &LastGood) -> Option<usize> {
    let place = last.of(view.combo)?;
    targets.iter().position(|target| place.is(target.borrow()))
}

impl Place {
    /// Whether both speak of one step of the combo: of one that stands for another combo, whoever of that was asked.
    fn is_same_step(&self, other: &Place) -> bool {
        if self.within.is_some() { self.within == other.within } else { self == other }
    }

    /// Whether a target is there, or may choose the account there.
    fn is(&self, target: &Target) -> bool {
        if let Some(step) = &self.within {
            return target.execution_key == *step;
        }
        let same = self.provider == target.provider && self.model == target.model;
        same && match (&self.connection_id, &target.connection) {
            (Some(good), Some(fixed)) => good == fixed,
            (Some(good), None) => target.allowed_connections.is_empty() || target.allowed_connections.contains(good),
            (None, _) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{World, targets};
    use super::*;

    fn place(n: usize, connection: Option<&str>) -> Place {
        Place {
            provider: format!("p{n}").into(),
            model: format!("m{n}"),
            connection_id: connection.map(ConnectionId::from),
            within: None,
        }
    }

    #[test]
    fn the_last_success_comes_first_until_it_fails() {
        let (world, mut last, targets) = (World::default(), LastGood::default(), targets(3));
        assert_eq!(rank(&targets, &world.view(), &last), [0, 1, 2]);
        assert!(last.remember("c", place(2, Some("a"))));
        assert!(!last.remember("c", place(2, Some("a"))), "no news");
        assert_eq!(rank(&targets, &world.view(), &last), [2, 0, 1]);
        assert!(!last.forget("c", &place(1, Some("a"))), "another failed");
        assert!(last.forget("c", &place(2, Some("a"))));
        assert_eq!(rank(&targets, &world.view(), &last), [0, 1, 2]);
    }

    #[test]
    fn an_account_that_a_target_may_not_use_is_not_that_target() {
        let (world, mut last, mut targets) = (World::default(), LastGood::default(), targets(3));
        last.remember("c", place(1, Some("a")));
        targets[1].connection = Some("b".into());
        assert_eq!(rank(&targets, &world.view(), &last), [0, 1, 2]);
        targets[1].connection = None;
        targets[1].allowed_connections = vec!["b".into()];
        assert_eq!(rank(&targets, &world.view(), &last), [0, 1, 2]);
        last.remember("c", place(9, None));
        assert_eq!(rank(&targets, &world.view(), &last), [0, 1, 2], "no longer in the combo");
    }

    #[test]
    fn a_step_that_stands_for_a_combo_is_known_by_itself_and_not_by_whom_it_asked() {
        let (world, mut last, targets) = (World::default(), LastGood::default(), targets(3));
        let within = |n, step: &str| Place { within: Some(step.to_owned()), ..place(n, Some("a")) };
        last.remember("c", within(0, "s1"));
        assert_eq!(rank(&targets, &world.view(), &last), [1, 0, 2]);
        assert!(!last.forget("c", &place(0, Some("a"))), "the same account by a step of its own");
        assert!(!last.forget("c", &within(0, "s2")));
        assert!(last.forget("c", &within(7, "s1")), "another of the combo failed");
    }
}
