//! Vendors are asked what is left of accounts though nobody looks, so that routing knows it beforehand (gateway
//! specification, 5.2).
//!
//! Only about accounts that were signed in: each has a vendor that says it for nothing, and windows that end all at once.
//! Those that are switched off, or out until their owner acts, are left alone. The calls go the way of a person's refresh
//! ([`crate::quota`]): one round at a time, two at one vendor, nobody more often than an answer stands. What fails is
//! asked for later and later and costs the account nothing. Accounts are asked a little apart from each other.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use domain::quota::Source;
use domain::{ConnectionId, Millis, ProviderClass, Timestamp};
use gateway::Entry;

use crate::{Control, quota};

/// How soon accounts that came or went are noticed.
const LOOK: Millis = Millis::minutes(1);
/// Doublings of the interval after failures in a row.
const DOUBLINGS: u32 = 4;
/// An account that nobody has asked about is asked within this time.
const FIRST: Millis = Millis::minutes(1);

/// When an account's vendor is asked next.
struct Turn {
    due: Timestamp,
    /// In vain in a row.
    failures: u32,
}

/// Works until the gateway stops.
pub async fn keep(control: Control) {
    let mut settings = control.settings_changes();
    let mut interval = Millis::ZERO;
    let mut turns: BTreeMap<ConnectionId, Turn> = BTreeMap::new();
    loop {
        let wanted_interval = control.settings().quota.refresh_interval;
        if wanted_interval != interval {
            interval = wanted_interval;
            turns.clear();
        }
        let accounts = if interval.is_zero() { Vec::new() } else { accounts(&control) };
        let now = control.now();
        turns.retain(|id, _| accounts.iter().any(|entry| entry.connection.id == *id));
        for entry in &accounts {
            let id = &entry.connection.id;
            turns.entry(id.clone()).or_insert_with(|| Turn { due: first(&control, id, interval, now), failures: 0 });
        }
        let is_due = |entry: &&Arc<Entry>| turns.get(&entry.connection.id).is_some_and(|turn| turn.due <= now);
        let due: Vec<Arc<Entry>> = accounts.iter().filter(is_due).cloned().collect();
        if !due.is_empty() {
            tokio::select! {
                () = control.cancel().cancelled() => return,
                () = quota::ask_all(&control, due.clone()) => {}
            }
            for entry in due {
                let id = &entry.connection.id;
                if let Some(turn) = turns.get_mut(id) {
                    turn.failures = if quota::was_in_vain(&control, id) { turn.failures.saturating_add(1) } else { 0 };
                    turn.due = after(id, interval, turn.failures, control.now());
                }
            }
            continue;
        }
        let look = now + LOOK;
        let next = turns.values().map(|turn| turn.due).min().map_or(look, |due| due.min(look));
        tokio::select! {
            () = control.cancel().cancelled() => return,
            changed = settings.changed() => if changed.is_err() { return },
            () = control.clock().sleep_until(next), if !interval.is_zero() => {}
        }
    }
}

/// Those that are asked about.
fn accounts(control: &Control) -> Vec<Arc<Entry>> {
    let catalog = control.catalog();
    let mut accounts = quota::usable(control);
    accounts.retain(|entry| {
        let provider = catalog.get(&entry.connection.provider);
        provider.is_some_and(|provider| provider.class == ProviderClass::Oauth && provider.usage_report.is_some())
    });
    accounts
}

/// The first turn: where the vendor was asked before a restart, when that has grown old.
fn first(control: &Control, id: &ConnectionId, interval: Millis, now: Timestamp) -> Timestamp {
    let known = control.engine().quota(id).filter(|quota| quota.source == Source::Endpoint);
    let old = known.map_or(Timestamp::ZERO, |quota| after(id, interval, 0, quota.fetched_at));
    old.max(now + apart(id, now, FIRST))
}

fn after(id: &ConnectionId, interval: Millis, failures: u32, asked: Timestamp) -> Timestamp {
    let wait = (0..failures.min(DOUBLINGS)).fold(interval, |wait, _| wait + wait);
    asked + wait + apart(id, asked, Millis::new(interval.as_millis() / 10))
}

/// A length below `most` that is another for each account and each time.
fn apart(id: &ConnectionId, at: Timestamp, most: Millis) -> Millis {
    let mut hasher = DefaultHasher::new();
    (id.as_str(), at.as_millis()).hash(&mut hasher);
    Millis::new(hasher.finish() % most.as_millis().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

    #[test]
    fn the_next_turn_is_a_little_later_than_the_interval_and_later_and_later_after_failures() {
        let (id, interval) = (ConnectionId::from("a"), Millis::minutes(10));
        for (failures, minutes) in [(0, 10), (1, 20), (2, 40), (4, 160), (9, 160)] {
            let wait = after(&id, interval, failures, NOW).since(NOW);
            assert!((Millis::minutes(minutes)..Millis::minutes(minutes + 1)).contains(&wait), "{failures} {wait}");
        }
    }

    #[test]
    fn accounts_are_asked_apart_from_each_other() {
        let mut waits: Vec<Millis> =
            (0..20).map(|n| apart(&ConnectionId::from(format!("c{n}")), NOW, Millis::minutes(1))).collect();
        assert!(waits.iter().all(|wait| *wait < Millis::minutes(1)));
        waits.sort_unstable();
        waits.dedup();
        assert!(waits.len() > 15, "{waits:?}");
        assert_eq!(apart(&"a".into(), NOW, Millis::ZERO), Millis::ZERO);
    }
}
