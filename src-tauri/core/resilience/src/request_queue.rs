//! Request-queue admission (resilience specification, 16).
//!
//! Scope: one account, or one model or family of it where quotas are per model. Question: *may this request be sent yet,
//! and is it worth waiting?* Two clocks that never touch: the queue budget runs while a request waits and stops the moment
//! it is dispatched, the execution limit runs from there. Nothing here is the upstream's doing, so nothing here hurts
//! anyone's health.
//!
//! Off unless asked for (specification's decision 21): an agent with parallel tools is not slowed down by a number
//! nobody chose. An account has a queue with the numbers of the settings where those are switched on or its owner wants
//! it protected; one with the numbers its owner, the operator or the catalogue set, and no others, where they set any;
//! and one that keeps the pace its upstream announced, as long as that holds ([`learned`]).
//!
//! Numbers over a minute or a day are kept over *every* minute and day, not over those of the clock ([`window`]). Who waits,
//! and in which order, is the business of `waiting_room`; this file says when the way is free.
//!
//! A request that never comes back, because its permit was lost, would hold its place for ever. Everything that is sent is
//! cut at its execution limit, so what is held ten seconds longer is lost: then those who wait are told that the queue is
//! wedged, and it begins anew. The instant is known beforehand, so nothing scans.

pub mod learned;
mod terms;
#[cfg(test)]
mod tests;
pub mod window;

use std::collections::{BTreeMap, BTreeSet};

use domain::{ConnectionId, Millis, Nature, Timestamp, section};

use self::learned::{Announced, Learned, LearnedLimit};
pub use self::terms::{Owner, Terms};
use self::window::Window;
use crate::settings::Settings;

/// How long after its execution limit a request that is still held counts as lost, and how long nothing must have moved.
const GRACE: Millis = Millis::seconds(10);
/// A queue that nobody used for so long is dropped.
const IDLE: Millis = Millis::minutes(10);
const MINUTE: Millis = Millis::minutes(1);
const DAY: Millis = Millis::days(1);

section! {
    /// How requests wait for their turn at one account.
    pub struct Config {
        /// Whether every account with a key has a queue with the numbers below; otherwise only those that ask for one.
        pub auto_enable_api_key_providers: bool, env "RATE_LIMIT_AUTO_ENABLE";
        /// Requests that one account gets within a minute.
        pub requests_per_minute: u32 = 60, in 1..=1_000_000;
        /// Shortest time between two requests to one account.
        pub min_time_between_requests: Millis = Millis::new(350), in Millis::ZERO..=Millis::hours(1);
        /// Requests under way at one account.
        pub concurrent_requests: u32 = 6, in 1..=10_000;
        /// Requests under way in all; 0 is no limit.
        pub global_concurrent_requests: u32, in 0..=100_000;
        /// How long a request waits in a queue at most.
        pub max_wait: Millis = Millis::seconds(30), in Millis::new(1)..=Millis::hours(24), env "RATE_LIMIT_MAX_WAIT_MS";
        /// How long a request may take once it is sent. A longer time for the response to begin extends it.
        pub execution_max_wait: Millis = Millis::seconds(600), in Millis::new(1)..=Millis::hours(24),
            env "RATE_LIMIT_EXECUTION_MAX_WAIT_MS";
        /// Requests that may wait at one account; further ones are refused at once. 0 is no limit.
        pub max_queue_depth: u32, in 0..=100_000, env "RATE_LIMIT_MAX_QUEUE_DEPTH";
    }
}

/// What one queue guards.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueKey {
    pub connection: ConnectionId,
    /// The model or its quota family, where quotas are per model; none, the whole account.
    pub model: Option<String>,
}

/// Whether the next request may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Open,
    Closed {
        /// When asking again could give another answer, unless a request ends before.
        until: Timestamp,
    },
    /// Requests that never came back hold every place.
    Wedged,
}

/// Every queue in use, and what upstreams announced.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestQueues {
    queues: BTreeMap<QueueKey, RequestQueue>,
    learned: BTreeMap<QueueKey, Learned>,
    /// When a closed queue at which somebody waits is to be looked at.
    alarms: BTreeSet<(Timestamp, QueueKey)>,
    swept_at: Timestamp,
}

/// What is shown of one queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuePicture {
    pub connection: ConnectionId,
    pub model: Option<String>,
    pub queued: u32,
    pub running: u32,
    /// The shortest time between two requests at present.
    pub spacing: Millis,
}

#[derive(Clone, Debug, PartialEq)]
struct RequestQueue {
    owner: Owner,
    starts: Window,
    minute_tokens: Window,
    day_tokens: Window,
    last_start: Option<Timestamp>,
    /// By permit: until when it may run.
    running: BTreeMap<u64, Timestamp>,
    ends: BTreeSet<(Timestamp, u64)>,
    waiting: u32,
    /// When a request was last sent, or the first began to wait.
    moved_at: Timestamp,
    used_at: Timestamp,
    alarm: Option<Timestamp>,
}

/// Whether one more may wait behind `waiting` others; zero is no limit.
pub const fn admits(waiting: u32, max_queue_depth: u32) -> bool {
    max_queue_depth == 0 || waiting < max_queue_depth
}

/// How long a request may run: never shorter than its response may take to begin.
pub fn execution_limit(terms: &Terms, response_start: Millis) -> Millis {
    terms.execution_max_wait.max(response_start)
}

impl QueueKey {
    /// The queue of a model on an account.
    pub fn of(connection: &ConnectionId, model: &str, nature: &Nature) -> Self {
        let apart = nature.per_model_quota.then(|| nature.quota_family.clone().unwrap_or_else(|| model.to_owned()));
        QueueKey { connection: connection.clone(), model: apart }
    }
}

impl RequestQueues {
    /// What governs a queue; none, nothing paces it and it does not exist.
    pub fn terms(&self, key: &QueueKey, owner: &Owner, settings: &Settings, now: Timestamp) -> Option<Terms> {
        let paced = self.learned.get(key).is_some_and(|learned| learned.paces(now));
        Terms::of(owner, settings, paced)
    }

    /// May the next request be sent?
    pub fn check(&self, key: &QueueKey, settings: &Settings, now: Timestamp) -> Verdict {
        let Some(queue) = self.queues.get(key) else { return self.check_learned(key, None, now) };
        let Some(terms) = self.terms(key, &queue.owner, settings, now) else { return Verdict::Open };
        if let Some(cap) = terms.concurrency.filter(|cap| queue.running.len() >= *cap as usize) {
            let lost_at = queue.lost_at(cap);
            return if queue.waiting > 0 && lost_at <= now {
                Verdict::Wedged
            } else {
                Verdict::Closed { until: lost_at }
            };
        }
        let minute = terms.per_minute.and_then(|limit| queue.starts.opens_at(u64::from(limit), MINUTE, now));
        let tokens = terms.tokens_per_minute.and_then(|limit| queue.minute_tokens.opens_at(limit, MINUTE, now));
        let day = terms.tokens_per_day.and_then(|limit| queue.day_tokens.opens_at(limit, DAY, now));
        let spaced = queue.last_start.map(|at| at + terms.spacing).filter(|at| *at > now);
        let own = [minute, tokens, day, spaced].into_iter().flatten().max();
        match (own, self.check_learned(key, queue.last_start, now)) {
            (Some(own), Verdict::Closed { until }) => Verdict::Closed { until: until.max(own) },
            (Some(until), Verdict::Open | Verdict::Wedged) => Verdict::Closed { until },
            (None, learned) => learned,
        }
    }

    fn check_learned(&self, key: &QueueKey, last_start: Option<Timestamp>, now: Timestamp) -> Verdict {
        let closed = self.learned.get(key).and_then(|learned| learned.closed_until(last_start, now));
        closed.map_or(Verdict::Open, |until| Verdict::Closed { until })
    }

    /// How many wait.
    pub fn waiting(&self, key: &QueueKey) -> u32 {
        self.queues.get(key).map_or(0, |queue| queue.waiting)
    }

    /// What the owner wants of the account now; a queue that is in use follows at once.
    pub fn tell(&mut self, key: &QueueKey, owner: &Owner) {
        if let Some(queue) = self.queues.get_mut(key)
            && queue.owner != *owner
        {
            queue.owner = owner.clone();
        }
    }

    /// One more waits.
    pub fn wait(&mut self, key: &QueueKey, owner: &Owner, now: Timestamp) {
        let queue = self.entry(key, owner, now);
        if queue.waiting == 0 {
            queue.moved_at = now;
        }
        queue.waiting += 1;
    }

    /// One no longer waits. When nobody does, nothing needs a look any more.
    pub fn leave(&mut self, key: &QueueKey) {
        let Some(queue) = self.queues.get_mut(key) else { return };
        queue.waiting = queue.waiting.saturating_sub(1);
        if queue.waiting == 0
            && let Some(alarm) = queue.alarm.take()
        {
            self.alarms.remove(&(alarm, key.clone()));
        }
    }

    /// A request is sent; it may run until an instant.
    pub fn start(&mut self, key: &QueueKey, owner: &Owner, permit: u64, runs_until: Timestamp, now: Timestamp) {
        let queue = self.entry(key, owner, now);
        queue.starts.add(1, MINUTE, now);
        queue.last_start = Some(now);
        queue.moved_at = now;
        queue.running.insert(permit, runs_until);
        queue.ends.insert((runs_until, permit));
        if let Some(learned) = self.learned.get_mut(key) {
            learned.on_start();
        }
    }

    /// A request has ended and cost so many tokens.
    pub fn finish(&mut self, key: &QueueKey, permit: u64, tokens: u64, now: Timestamp) {
        let Some(queue) = self.queues.get_mut(key) else { return };
        if let Some(until) = queue.running.remove(&permit) {
            queue.ends.remove(&(until, permit));
        }
        queue.used_at = now;
        if tokens > 0 && queue.owner.counts_tokens() {
            queue.minute_tokens.add(tokens, MINUTE, now);
            queue.day_tokens.add(tokens, DAY, now);
        }
    }

    /// The upstream said 429: our own count was wrong and begins anew; what it announced goes on.
    pub fn on_limited(&mut self, key: &QueueKey) {
        if let Some(queue) = self.queues.get_mut(key) {
            queue.starts = Window::default();
            queue.minute_tokens = Window::default();
        }
    }

    /// What a reply's headers announced.
    pub fn on_announced(&mut self, key: &QueueKey, announced: &Announced, now: Timestamp) {
        if announced.says_nothing() {
            return;
        }
        let learned = Learned::from(announced, now);
        if learned.paces(now) {
            self.learned.insert(key.clone(), learned);
        } else {
            self.learned.remove(key);
        }
    }

    /// An operator clears what is held against an account.
    pub fn unlearn(&mut self, connection: &ConnectionId) {
        self.learned.retain(|key, _| key.connection != *connection);
    }

    /// The account no longer exists.
    pub fn forget(&mut self, connection: &ConnectionId) {
        self.unlearn(connection);
        self.queues.retain(|key, _| key.connection != *connection);
        self.alarms.retain(|(_, key)| key.connection != *connection);
    }

    /// Begins anew after it was wedged: what is lost no longer counts.
    pub fn rebuild(&mut self, key: &QueueKey, now: Timestamp) {
        let Some(queue) = self.queues.get_mut(key) else { return };
        queue.starts = Window::default();
        queue.moved_at = now;
        while let Some((until, permit)) = queue.ends.first().copied().filter(|(until, _)| *until + GRACE <= now) {
            queue.ends.remove(&(until, permit));
            queue.running.remove(&permit);
        }
    }

    /// Somebody waits at the closed queue: it is to be looked at then.
    pub fn look_at(&mut self, key: &QueueKey, at: Timestamp) {
        let Some(queue) = self.queues.get_mut(key) else { return };
        if let Some(earlier) = queue.alarm.replace(at) {
            self.alarms.remove(&(earlier, key.clone()));
        }
        self.alarms.insert((at, key.clone()));
    }

    /// A queue that is to be looked at now.
    pub fn due(&mut self, now: Timestamp) -> Option<QueueKey> {
        let (at, key) = self.alarms.first().filter(|(at, _)| *at <= now)?.clone();
        self.alarms.remove(&(at, key.clone()));
        if let Some(queue) = self.queues.get_mut(&key) {
            queue.alarm = None;
        }
        Some(key)
    }

    /// When a queue is to be looked at next.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.alarms.first().map(|(at, _)| *at)
    }

    /// Drops what nobody uses, at most once a minute.
    pub fn sweep(&mut self, now: Timestamp) {
        if now < self.swept_at + MINUTE {
            return;
        }
        self.swept_at = now;
        self.queues.retain(|_, queue| !queue.is_idle(now));
        self.learned.retain(|_, learned| learned.paces(now));
    }

    pub fn keys_of<'a>(&'a self, connection: &'a ConnectionId) -> impl Iterator<Item = &'a QueueKey> {
        let from = QueueKey { connection: connection.clone(), model: None };
        self.queues.range(from..).map(|(key, _)| key).take_while(move |key| key.connection == *connection)
    }

    /// Every queue in use, and every learned pace.
    pub fn pictures(&self, settings: &Settings, now: Timestamp) -> Vec<QueuePicture> {
        let keys: BTreeSet<&QueueKey> = self.queues.keys().chain(self.learned.keys()).collect();
        let picture = |key: &QueueKey| {
            let queue = self.queues.get(key);
            let terms = queue.and_then(|queue| self.terms(key, &queue.owner, settings, now));
            let learned = self.learned.get(key).map_or(Millis::ZERO, |learned| learned.spacing(now));
            let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
            QueuePicture {
                connection: key.connection.clone(),
                model: key.model.clone(),
                queued: self.waiting(key),
                running: queue.map_or(0, |queue| count(queue.running.len())),
                spacing: terms.map_or(Millis::ZERO, |terms| terms.spacing).max(learned),
            }
        };
        keys.into_iter().map(picture).collect()
    }

    /// What upstreams announced, to be stored at most once a minute.
    pub fn learned(&self, now: Timestamp) -> Vec<LearnedLimit> {
        let valid = self.learned.iter().filter(|(_, learned)| learned.paces(now));
        valid.map(|(key, learned)| learned.store(key)).collect()
    }

    /// Takes over what was stored; what is older than a day is ignored.
    pub fn restore(&mut self, stored: Vec<LearnedLimit>, now: Timestamp) {
        for limit in stored {
            let (key, learned) = Learned::restore(limit, now);
            if learned.paces(now) {
                self.learned.insert(key, learned);
            }
        }
    }

    fn entry(&mut self, key: &QueueKey, owner: &Owner, now: Timestamp) -> &mut RequestQueue {
        let queue = self.queues.entry(key.clone()).or_insert_with(|| RequestQueue::new(owner.clone(), now));
        queue.used_at = now;
        queue
    }
}

impl RequestQueue {
    fn new(owner: Owner, now: Timestamp) -> Self {
        RequestQueue {
            owner,
            starts: Window::default(),
            minute_tokens: Window::default(),
            day_tokens: Window::default(),
            last_start: None,
            running: BTreeMap::new(),
            ends: BTreeSet::new(),
            waiting: 0,
            moved_at: now,
            used_at: now,
            alarm: None,
        }
    }

    /// When so many of those that run are lost that one more would fit, unless they come back.
    fn lost_at(&self, cap: u32) -> Timestamp {
        let surplus = self.running.len().saturating_sub(cap as usize);
        let end = self.ends.iter().nth(surplus).map_or(Timestamp::MAX, |(until, _)| *until);
        end.max(self.moved_at) + GRACE
    }

    fn is_idle(&self, now: Timestamp) -> bool {
        let unused = self.running.is_empty() && self.waiting == 0 && now >= self.used_at + IDLE;
        unused && self.day_tokens.used(DAY, now) == 0
    }
}
