//! The rules, read off pictures: nothing here looks inside the Engine.

use std::collections::BTreeMap;
use std::fmt::Debug;

use domain::health::TestStatus;
use domain::{Candidate, Mechanism, Millis, Timestamp};
use resilience::circuit_breaker::State;
use resilience::picture::{BreakerPicture, ConnectionPicture, LockoutPicture};
use resilience::{Caller, Settings, Snapshot};

use crate::broken::Broken;

/// What stands in a candidate's way.
pub fn obstacles(
    candidate: &Candidate,
    caller: Caller,
    full: bool,
    snapshot: &Snapshot,
    now: Timestamp,
) -> Vec<Mechanism> {
    let Candidate { provider, connection, model, nature, .. } = candidate;
    let breaker = snapshot.breakers.get(provider);
    let account = snapshot.connections.get(connection);
    let stopped = |breaker: &BreakerPicture| match breaker.state {
        State::Open { .. } => true,
        State::HalfOpen => breaker.probing,
        State::Closed | State::Degraded => false,
    };
    let spared = snapshot
        .provider_cooldowns
        .iter()
        .any(|resting| resting.provider == *provider && resting.connection.as_ref().is_none_or(|of| of == connection));
    let names = |lock: &LockoutPicture| {
        lock.model == *model || (lock.scope != "exact" && Some(&lock.model) == nature.quota_family.as_ref())
    };
    // A lock or rest whose probe is due may be refused or let through, as the probe is under way or not.
    let locked = |due: bool| {
        let of = |lock: &&LockoutPicture| lock.connection == *connection && names(lock);
        snapshot.lockouts.iter().filter(of).any(|lock| lock.probe_at.is_some_and(|at| at <= now) == due)
    };
    let rests = |account: &ConnectionPicture| account.cooling_until.is_some() && !is_due(account, now);
    [
        (Mechanism::SwitchedOff, !candidate.enabled),
        (Mechanism::CircuitBreaker, breaker.is_some_and(stopped)),
        (Mechanism::ProviderCooldown, caller == Caller::Combo && spared),
        (Mechanism::TerminalState, account.is_some_and(|account| account.status.is_terminal())),
        (Mechanism::ModelLockout, locked(false)),
        (Mechanism::ConnectionCooldown, account.is_some_and(rests)),
        (Mechanism::ConcurrencyCap, full),
    ]
    .into_iter()
    .filter_map(|(mechanism, stands)| stands.then_some(mechanism))
    .collect()
}

fn is_due(account: &ConnectionPicture, now: Timestamp) -> bool {
    account.probe_at.is_some_and(|at| at <= now)
}

/// Whether a long rest's probe may be under way, so that a refusal needs no other reason.
pub fn may_be_probing(candidate: &Candidate, snapshot: &Snapshot, now: Timestamp) -> bool {
    let account = snapshot.connections.get(&candidate.connection).is_some_and(|account| is_due(account, now));
    let lock =
        |lock: &LockoutPicture| lock.connection == candidate.connection && lock.probe_at.is_some_and(|at| at <= now);
    account || snapshot.lockouts.iter().any(lock)
}

/// Only an owner ends a terminal state; the upstream can make it stronger.
pub fn terminal_states_stay(before: &Snapshot, after: &Snapshot) -> Result<(), Broken> {
    let strength = |status| match status {
        TestStatus::Banned => 3,
        TestStatus::Expired => 2,
        TestStatus::CreditsExhausted => 1,
        TestStatus::Unknown | TestStatus::Active | TestStatus::Unavailable => 0,
    };
    for (account, (id, was)) in before.connections.iter().enumerate() {
        let is = after.connections.get(id).map_or(TestStatus::Unknown, |picture| picture.status);
        if strength(is) < strength(was.status) {
            return Err(Broken::TerminalEnded { account });
        }
    }
    Ok(())
}

/// No instant lies further ahead than its mechanism allows.
pub fn nothing_lasts_too_long(snapshot: &Snapshot, settings: &Settings, now: Timestamp) -> Result<(), Broken> {
    let (rest, ban, look) = (now + Millis::days(30), now + Millis::days(365), now + Millis::hours(6));
    for account in snapshot.connections.values() {
        let longest = if account.status == TestStatus::Banned { ban } else { rest };
        if account.cooling_until.is_some_and(|until| until > longest) {
            return Err(Broken::TooLong { what: "an account's rest" });
        }
        if account.probe_at.is_some_and(|at| at > look) {
            return Err(Broken::TooLong { what: "the wait for a probe" });
        }
        if account.expired_retry_at.is_some_and(|at| at > now + Millis::minutes(20)) {
            return Err(Broken::TooLong { what: "the wait for a retry" });
        }
    }
    if snapshot.lockouts.iter().any(|lock| lock.until > rest) {
        return Err(Broken::TooLong { what: "a lock" });
    }
    let breakers = &settings.provider_breaker;
    let longest = [&breakers.apikey, &breakers.oauth, &breakers.local]
        .map(|config| config.reset_timeout.as_millis().saturating_mul(u64::from(config.max_backoff_multiplier)))
        .into_iter()
        .fold(Millis::hours(1).as_millis(), u64::max);
    if snapshot.breakers.values().any(|breaker| breaker.retry_after > Millis::new(longest)) {
        return Err(Broken::TooLong { what: "a break" });
    }
    Ok(())
}

/// Every instant at which something is due, soonest first.
pub fn deadlines(snapshot: &Snapshot, now: Timestamp) -> Vec<Timestamp> {
    let accounts = snapshot.connections.values();
    let accounts = accounts.flat_map(|account| [account.cooling_until, account.probe_at, account.expired_retry_at]);
    let locks = snapshot.lockouts.iter().flat_map(|lock| [Some(lock.until), lock.probe_at]);
    let breakers = snapshot.breakers.values().map(|breaker| Some(now + breaker.retry_after));
    let resting = snapshot.provider_cooldowns.iter().map(|resting| Some(resting.until));
    // A ban is put away for a year; a story does not wait for it.
    let soon = now + Millis::days(31);
    let all = accounts.chain(locks).chain(breakers).chain(resting).flatten();
    let mut deadlines: Vec<Timestamp> = all.filter(|at| *at > now && *at < soon).collect();
    deadlines.sort_unstable();
    deadlines.dedup();
    deadlines
}

/// What is held for or against anybody, without what merely says who was asked when.
pub fn health(mut snapshot: Snapshot) -> Snapshot {
    snapshot.in_flight = 0;
    snapshot.waiting = 0;
    snapshot.queues.clear();
    for breaker in snapshot.breakers.values_mut() {
        breaker.probing = false;
    }
    for account in snapshot.connections.values_mut() {
        account.in_flight = 0;
        account.last_used_at = None;
    }
    snapshot
}

/// What must outlive a restart does: breakers, accounts, locks. The rest begins anew.
pub fn restored(before: Snapshot, after: Snapshot) -> Result<(), Broken> {
    let (before, after) = (lasting(before), lasting(after));
    same(&before.breakers, &after.breakers)?;
    same(&before.connections, &after.connections)?;
    if before.lockouts == after.lockouts {
        return Ok(());
    }
    Err(Broken::NotRestored { what: format!("{:?} became {:?}", before.lockouts, after.lockouts) })
}

fn same<K: Ord + Debug, V: PartialEq + Debug>(before: &BTreeMap<K, V>, after: &BTreeMap<K, V>) -> Result<(), Broken> {
    let differs = |id: &&K| before.get(*id) != after.get(*id);
    match before.keys().chain(after.keys()).find(differs) {
        None => Ok(()),
        Some(id) => {
            let what = format!("{id:?}: {:?} became {:?}", before.get(id), after.get(id));
            Err(Broken::NotRestored { what })
        }
    }
}

/// Without what is not stored: the streak of refusals, the declaring rule, accounts of which nobody knows whose they are,
/// and whoever has nothing to remember.
fn lasting(snapshot: Snapshot) -> Snapshot {
    let mut snapshot = health(snapshot);
    snapshot.provider_cooldowns.clear();
    snapshot.breakers.retain(|_, breaker| breaker.failure_count > 0 || !breaker.transitions.is_empty());
    snapshot.connections.retain(|_, account| account.provider.is_some());
    for account in snapshot.connections.values_mut() {
        account.provider = None;
        account.refusals = 0;
    }
    snapshot.connections.retain(|_, account| *account != ConnectionPicture::default());
    for lock in &mut snapshot.lockouts {
        lock.rule = None;
    }
    snapshot
}
