//! Model lockout (resilience specification, 11).
//!
//! Scope: one model on one account, or the models that share its quota. Question: *is just this model limited here?* The
//! account itself is fine, so this is kept apart from `connection_cooldown`: its other models go on serving.
//!
//! A record outlives its lock for a while, because a failure soon after the last one continues its ladder. Failures while
//! the lock runs are the same episode: they may move its end further away, never nearer, and count nothing. Two rules can
//! ask for a lock after one failure; the longer one stands and the failure counts once.
//!
//! A candidate is locked by its quota family, by its own name, or by exactly itself. Records are kept per account and
//! looked up by name, so an answer costs three short searches and passes no other lock; a second index by end finds what
//! can be forgotten first. At most a thousand records are kept, and a running lock is never the one to go.

mod post_output;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::health::LastError;
use domain::section::Conflict;
use domain::{ConnectionId, Millis, Nature, ProviderId, Timestamp, section};

use crate::failure::layers;
use crate::failure::lock_scope::LockScope;
use crate::rest_period::{RestPeriod, Verdict};
use crate::stored::StoredLockout;

pub use post_output::PostOutputErrors;

/// How many records are kept at most.
const MAX_RECORDS: usize = 1_000;
/// How long after its end a restored lock continues its ladder: whose numbers it went by is not stored.
const RESTORED_MEMORY: Millis = Millis::minutes(30);

section! {
    /// When a model rests on one account although the account is fine.
    pub struct Config {
        /// Whether failures with one of the codes below lock the model, whatever the provider. Providers with quotas per
        /// model lock their models either way.
        pub enabled: bool;
        /// HTTP statuses that lock.
        pub error_codes: Vec<u16> = vec![403, 404, 429, 502, 503, 504], in 100..=599;
        /// Length of the first lock; it doubles with each further failure.
        pub base_cooldown: Millis = Millis::minutes(2), in Millis::seconds(5)..=Millis::minutes(10);
        /// Longest lock, and longest rest of an account, that is not announced by the provider in so many words.
        pub max_cooldown: Millis = Millis::minutes(30), in Millis::seconds(5)..=Millis::hours(1);
        /// How often the lock doubles at most; 0 keeps it at the base.
        pub max_backoff_steps: u32 = 10, in 0..=20;
        /// Whether locks double at all.
        pub use_exponential_backoff: bool = true;
        /// Whether active locks survive a restart.
        pub persist: bool = true;
    }
    reconcile = Config::order;
}

impl Config {
    fn order(&mut self) -> Vec<Conflict> {
        if self.max_cooldown >= self.base_cooldown {
            return Vec::new();
        }
        self.max_cooldown = self.base_cooldown;
        vec![Conflict::new(&["maxCooldownMs", "baseCooldownMs"], "the longest lock cannot be shorter than the first")]
    }
}

/// What a lock is asked about: a model on an account, and the quota it draws on.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    pub provider: &'a ProviderId,
    pub connection: &'a ConnectionId,
    pub model: &'a str,
    pub nature: &'a Nature,
}

/// What the failure of an attempt asks for.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The locks that rules ask for; all name the same models.
    pub locks: &'a [layers::Lock],
    /// A failure within this time after the end of a lock continues its ladder.
    pub window: Millis,
    pub cause: &'a LastError,
}

/// A lock that stands in the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Locked<'a> {
    pub until: Timestamp,
    pub cause: Option<&'a LastError>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Answer<'a> {
    Free,
    /// Locked, but one request may look.
    Probe,
    Locked(Locked<'a>),
}

/// What a success or an operator took away.
#[derive(Clone, Debug, PartialEq)]
pub struct Released {
    /// The record as it was.
    pub record: StoredLockout,
    /// Its lock was still running.
    pub active: bool,
}

/// What is known about one subject on one account.
#[derive(Clone, Debug, PartialEq)]
struct Record {
    scope: LockScope,
    reason: Arc<str>,
    rest: RestPeriod,
    locked_at: Timestamp,
    failures: u32,
    last_cooldown: Millis,
    /// Until when a further failure continues the ladder.
    remembered_until: Timestamp,
    rule: Option<String>,
    cause: Option<LastError>,
}

/// Whether a record stands for exactly one model, and what it names.
type Subject = (bool, Arc<str>);

#[derive(Clone, Debug, PartialEq)]
struct Account {
    provider: ProviderId,
    /// Families and models by their names.
    shared: BTreeMap<Arc<str>, Record>,
    exact: BTreeMap<Arc<str>, Record>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelLockouts {
    accounts: BTreeMap<ConnectionId, Account>,
    /// Every record by the end of its lock.
    by_end: BTreeSet<(Timestamp, ConnectionId, Subject)>,
}

impl Target<'_> {
    /// Every name under which the model can be locked.
    fn subjects(&self) -> impl Iterator<Item = (bool, &str)> {
        let family = self.nature.quota_family.as_deref().filter(|family| *family != self.model);
        [(false, self.model), (true, self.model)].into_iter().chain(family.map(|family| (false, family)))
    }
}

impl ModelLockouts {
    /// May the model be asked? Of several locks the longest answers.
    pub fn check(&self, target: Target<'_>, now: Timestamp) -> Answer<'_> {
        let Some(account) = self.accounts.get(target.connection) else { return Answer::Free };
        let mut answer = Answer::Free;
        for record in target.subjects().filter_map(|(exact, name)| account.records(exact).get(name)) {
            match (record.rest.check(now), &answer) {
                (Verdict::Over, _) => {}
                (Verdict::Probe, Answer::Free) => answer = Answer::Probe,
                (Verdict::Probe, Answer::Probe | Answer::Locked(_)) => {}
                (Verdict::Resting { until }, Answer::Locked(longest)) if until <= longest.until => {}
                (Verdict::Resting { until }, _) => {
                    answer = Answer::Locked(Locked { until, cause: record.cause.as_ref() });
                }
            }
        }
        answer
    }

    /// A request leaves to look whether long locks have ended early.
    pub fn reserve(&mut self, target: Target<'_>, permit: u64, now: Timestamp) {
        self.visit(target, |record| {
            if record.rest.check(now) == Verdict::Probe {
                record.rest.reserve(permit, now);
            }
        });
    }

    /// The probe found nothing out.
    pub fn on_neutral(&mut self, target: Target<'_>, permit: u64) {
        self.visit(target, |record| record.rest.on_neutral(permit));
    }

    /// The probe met the limit again: the locks go on, and the changed records are returned.
    pub fn on_probe_failure(&mut self, target: Target<'_>, permit: u64, now: Timestamp) -> Vec<StoredLockout> {
        let mut changed = Vec::new();
        let Some(account) = self.accounts.get_mut(target.connection) else { return changed };
        for (exact, name) in target.subjects() {
            if let Some(record) = account.records_mut(exact).get_mut(name)
                && record.rest.on_failure(permit, now)
            {
                changed.push(record.row(target.provider, target.connection, name));
            }
        }
        changed
    }

    /// A failure locks the model. The record as it is now; none, nothing was asked for, or there is no room.
    pub fn on_failure(&mut self, target: Target<'_>, request: Request<'_>, now: Timestamp) -> Option<StoredLockout> {
        let scope = request.locks.first()?.scope;
        let exact = scope == LockScope::Exact;
        let name = scope.subject(target.model, target.nature);
        let known = self.accounts.get(target.connection).and_then(|account| account.records(exact).get(name));
        if known.is_none() && !self.has_room(now) {
            return None;
        }
        let before = self.take(target.connection, exact, name);
        let record = Record::after_failure(before, request, now)?;
        let row = record.row(target.provider, target.connection, name);
        self.put(target.provider, target.connection, (exact, name.into()), record);
        Some(row)
    }

    /// A good answer in a combo halves the failures of whatever could have locked the model; at none the record goes,
    /// and its lock with it. A good answer to a direct request, or to the one that looked, ends them outright. Returns
    /// what was released, then what was changed.
    pub fn on_success(
        &mut self,
        target: Target<'_>,
        outright: bool,
        permit: u64,
        now: Timestamp,
    ) -> (Vec<Released>, Vec<StoredLockout>) {
        let (mut released, mut changed) = (Vec::new(), Vec::new());
        if !self.accounts.contains_key(target.connection) {
            return (released, changed);
        }
        for (exact, name) in target.subjects() {
            let Some((subject, mut record)) = self.take_entry(target.connection, exact, name) else { continue };
            let looked = record.rest.is_probe(permit);
            record.failures = if outright || looked { 0 } else { record.failures / 2 };
            let row = record.row(target.provider, target.connection, name);
            if record.failures == 0 {
                released.push(Released { record: row, active: record.is_active(now) });
            } else {
                changed.push(row);
                self.put(target.provider, target.connection, subject, record);
            }
        }
        self.drop_account_if_empty(target.connection);
        (released, changed)
    }

    /// The operator's hand: takes every record of these accounts that names `model`; no model, every record.
    pub fn clear(&mut self, connections: &[ConnectionId], model: Option<&str>, now: Timestamp) -> Vec<Released> {
        let mut released = Vec::new();
        for connection in connections {
            let Some(account) = self.accounts.get(connection) else { continue };
            let provider = account.provider.clone();
            let subjects: Vec<Subject> =
                account.subjects().filter(|(_, name)| model.is_none_or(|model| model == &**name)).collect();
            for (exact, name) in subjects {
                if let Some(record) = self.take(connection, exact, &name) {
                    let active = record.is_active(now);
                    released.push(Released { record: record.row(&provider, connection, &name), active });
                }
            }
            self.drop_account_if_empty(connection);
        }
        released
    }

    /// Accounts with records, of one provider or of all.
    pub fn connections(&self, provider: Option<&ProviderId>) -> Vec<ConnectionId> {
        let of = |account: &Account| provider.is_none_or(|provider| account.provider == *provider);
        self.accounts.iter().filter(|(_, account)| of(account)).map(|(connection, _)| connection.clone()).collect()
    }

    /// Forgets what neither locks nor would continue a ladder. The records that went.
    pub fn tick(&mut self, now: Timestamp) -> Vec<StoredLockout> {
        let over = self.by_end.iter().take_while(|(until, _, _)| *until <= now);
        let over: Vec<_> = over.map(|(_, connection, subject)| (connection.clone(), subject.clone())).collect();
        let mut gone = Vec::new();
        for (connection, (exact, name)) in over {
            let Some(account) = self.accounts.get(&connection) else { continue };
            let provider = account.provider.clone();
            let forgotten = account.records(exact).get(&name).is_some_and(|record| record.remembered_until <= now);
            if forgotten && let Some(record) = self.take(&connection, exact, &name) {
                gone.push(record.row(&provider, &connection, &name));
                self.drop_account_if_empty(&connection);
            }
        }
        gone
    }

    /// Running locks with the rule that declared them, the longest remaining first.
    pub fn active(&self, now: Timestamp) -> Vec<(StoredLockout, Option<String>)> {
        let running = self.by_end.iter().rev().take_while(|(until, _, _)| *until > now);
        running
            .filter_map(|(_, connection, (exact, name))| {
                let account = self.accounts.get(connection)?;
                let record = account.records(*exact).get(name)?;
                Some((record.row(&account.provider, connection, name), record.rule.clone()))
            })
            .collect()
    }

    /// Rebuilds the locks that are still running.
    pub fn restore(rows: Vec<StoredLockout>, now: Timestamp) -> Self {
        let mut lockouts = ModelLockouts::default();
        for row in rows {
            let Some(scope) = LockScope::parse(&row.scope) else { continue };
            let Some(rest) = RestPeriod::restore(row.until, row.probe_at, now) else { continue };
            if lockouts.by_end.len() == MAX_RECORDS {
                break;
            }
            let record = Record {
                scope,
                reason: row.reason.into(),
                remembered_until: rest.until() + RESTORED_MEMORY,
                rest,
                locked_at: row.locked_at.min(now),
                failures: row.failure_count,
                last_cooldown: row.last_cooldown,
                rule: None,
                cause: None,
            };
            let subject = (scope == LockScope::Exact, row.model.into());
            lockouts.put(&row.provider, &row.connection, subject, record);
        }
        lockouts
    }

    fn visit(&mut self, target: Target<'_>, mut act: impl FnMut(&mut Record)) {
        let Some(account) = self.accounts.get_mut(target.connection) else { return };
        for (exact, name) in target.subjects() {
            if let Some(record) = account.records_mut(exact).get_mut(name) {
                act(record);
            }
        }
    }

    /// Makes room by forgetting the record whose lock ended first; running locks stay.
    fn has_room(&mut self, now: Timestamp) -> bool {
        if self.by_end.len() < MAX_RECORDS {
            return true;
        }
        match self.by_end.first().cloned() {
            Some((until, connection, (exact, name))) if until <= now => {
                self.take(&connection, exact, &name);
                self.drop_account_if_empty(&connection);
                true
            }
            Some(_) | None => false,
        }
    }

    fn put(&mut self, provider: &ProviderId, connection: &ConnectionId, subject: Subject, record: Record) {
        self.by_end.insert((record.rest.until(), connection.clone(), subject.clone()));
        let fresh = || Account { provider: provider.clone(), shared: BTreeMap::new(), exact: BTreeMap::new() };
        let account = self.accounts.entry(connection.clone()).or_insert_with(fresh);
        account.records_mut(subject.0).insert(subject.1, record);
    }

    fn take(&mut self, connection: &ConnectionId, exact: bool, name: &str) -> Option<Record> {
        self.take_entry(connection, exact, name).map(|(_, record)| record)
    }

    fn take_entry(&mut self, connection: &ConnectionId, exact: bool, name: &str) -> Option<(Subject, Record)> {
        let account = self.accounts.get_mut(connection)?;
        let (name, record) = account.records_mut(exact).remove_entry(name)?;
        let key = (record.rest.until(), connection.clone(), (exact, name));
        self.by_end.remove(&key);
        Some((key.2, record))
    }

    fn drop_account_if_empty(&mut self, connection: &ConnectionId) {
        if self.accounts.get(connection).is_some_and(|account| account.shared.is_empty() && account.exact.is_empty()) {
            self.accounts.remove(connection);
        }
    }
}

impl Account {
    fn records(&self, exact: bool) -> &BTreeMap<Arc<str>, Record> {
        if exact { &self.exact } else { &self.shared }
    }

    fn records_mut(&mut self, exact: bool) -> &mut BTreeMap<Arc<str>, Record> {
        if exact { &mut self.exact } else { &mut self.shared }
    }

    fn subjects(&self) -> impl Iterator<Item = Subject> {
        let shared = self.shared.keys().map(|name| (false, Arc::clone(name)));
        shared.chain(self.exact.keys().map(|name| (true, Arc::clone(name))))
    }
}

impl Record {
    fn after_failure(before: Option<Record>, request: Request<'_>, now: Timestamp) -> Option<Record> {
        let earlier = before.as_ref().map_or(0, |record| {
            let failures = if now < record.remembered_until { record.failures } else { 0 };
            // A failure while the lock runs belongs to the failure that locked.
            if record.is_active(now) { failures.saturating_sub(1) } else { failures }
        });
        let longest = request.locks.iter().reduce(|longest, lock| {
            if lock.rest.length(earlier) > longest.rest.length(earlier) { lock } else { longest }
        })?;
        let announced = matches!(longest.rest, layers::Rest::Exactly { announced: true, .. });
        let rest = RestPeriod::begin(longest.rest.length(earlier), announced, now);
        let length = rest.until().since(now);
        let mut record = Record {
            scope: longest.scope,
            reason: longest.reason.into(),
            rest,
            locked_at: now,
            failures: earlier.saturating_add(1),
            last_cooldown: length,
            remembered_until: now + request.window + length + Millis::new(1),
            rule: longest.rule.clone(),
            cause: Some(request.cause.clone()),
        };
        if let Some(before) = before.filter(|before| before.is_active(now)) {
            record.locked_at = before.locked_at;
            if before.rest.until() >= record.rest.until() {
                record = Record { remembered_until: before.remembered_until.max(record.remembered_until), ..before };
            }
        }
        Some(record)
    }

    fn is_active(&self, now: Timestamp) -> bool {
        self.rest.check(now) != Verdict::Over
    }

    fn row(&self, provider: &ProviderId, connection: &ConnectionId, name: &str) -> StoredLockout {
        StoredLockout {
            key: self.scope.key(provider, connection, name),
            provider: provider.clone(),
            connection: connection.clone(),
            model: name.to_owned(),
            scope: self.scope.as_str().to_owned(),
            reason: self.reason.to_string(),
            locked_at: self.locked_at,
            until: self.rest.until(),
            failure_count: self.failures,
            last_cooldown: self.last_cooldown,
            probe_at: self.rest.probe_at(),
        }
    }
}
