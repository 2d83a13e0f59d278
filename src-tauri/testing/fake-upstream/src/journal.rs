//! What the server received, and how each call ended.
//!
//! The journal is bounded in calls and in bytes of bodies: beyond either the oldest calls go. The counters per key
//! never forget.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, Method, request};
use parking_lot::Mutex;
use tokio::sync::{Notify, broadcast};
use tokio_util::sync::CancellationToken;

use crate::request::{Ask, Endpoint};

const MAX_CALLS: usize = 10_000;
const MAX_BODY_BYTES: usize = 256 * 1024 * 1024;
/// Ended calls that a receiver may fall behind.
const ENDINGS: usize = 1024;

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct Call {
    /// Counts all calls of the server from 0, in order of arrival of their last body byte.
    pub number: u64,
    /// The credential it carried.
    pub key: Option<String>,
    /// The model it named, in the body or in the path.
    pub model: Option<String>,
    pub endpoint: Endpoint,
    /// Whether it asked for a stream.
    pub stream: bool,
    pub method: Method,
    pub path: String,
    pub query: Option<String>,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// When its head arrived.
    pub at: Instant,
    /// The caller's end of the TCP connection: equal for two calls on one connection.
    pub peer: SocketAddr,
    pub ending: Ending,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Not yet.
    Open,
    /// The whole reply was handed to the connection.
    Completed,
    /// The caller went away before that.
    Cancelled,
    /// The script broke it: reset, cut, garbage.
    Broken,
    /// The server was stopped meanwhile.
    Stopped,
}

/// How many calls there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub arrived: u64,
    pub completed: u64,
    pub cancelled: u64,
    pub broken: u64,
    pub stopped: u64,
}

/// What the journal keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recording {
    /// Every call, up to 10 000 and 256 MiB of bodies.
    #[default]
    Calls,
    /// Numbers only, for load runs.
    Counters,
}

#[derive(Debug)]
pub(crate) struct Journal {
    recording: Recording,
    pages: Mutex<Pages>,
    changed: Notify,
    endings: broadcast::Sender<Call>,
    stopping: CancellationToken,
}

#[derive(Debug, Default)]
struct Pages {
    calls: VecDeque<Call>,
    body_bytes: usize,
    next: u64,
    total: Count,
    by_key: HashMap<Arc<str>, Count>,
}

/// The duty to say how a call ended. Dropped without a word, the caller went away.
#[derive(Debug)]
pub(crate) struct Ticket {
    journal: Arc<Journal>,
    number: u64,
    key: Option<Arc<str>>,
    ended: bool,
}

impl Call {
    /// The value of a header, when it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body as JSON, `Null` when it is not.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Whether the caller went away before its answer was complete.
    pub fn cancelled(&self) -> bool {
        self.ending == Ending::Cancelled
    }
}

impl Count {
    /// Calls that are still being answered.
    pub fn open(&self) -> u64 {
        self.arrived - self.ended()
    }

    pub fn ended(&self) -> u64 {
        self.completed + self.cancelled + self.broken + self.stopped
    }

    fn add(&mut self, ending: Ending) {
        match ending {
            Ending::Open => self.arrived += 1,
            Ending::Completed => self.completed += 1,
            Ending::Cancelled => self.cancelled += 1,
            Ending::Broken => self.broken += 1,
            Ending::Stopped => self.stopped += 1,
        }
    }
}

impl Journal {
    pub(crate) fn new(recording: Recording, stopping: CancellationToken) -> Journal {
        Journal {
            recording,
            pages: Mutex::default(),
            changed: Notify::new(),
            endings: broadcast::Sender::new(ENDINGS),
            stopping,
        }
    }

    /// Notes an arrived call.
    pub(crate) fn open(self: &Arc<Journal>, ask: &Ask, parts: request::Parts, at: Instant, peer: SocketAddr) -> Ticket {
        let mut pages = self.pages.lock();
        let number = pages.next;
        pages.next += 1;
        pages.total.add(Ending::Open);
        let key = ask.key.as_deref().map(|key| pages.count_key(key, Ending::Open));
        if self.recording == Recording::Calls {
            pages.keep(Call {
                number,
                key: ask.key.clone(),
                model: ask.model.clone(),
                endpoint: ask.endpoint.clone(),
                stream: ask.stream,
                method: parts.method,
                path: parts.uri.path().to_owned(),
                query: parts.uri.query().map(str::to_owned),
                headers: parts.headers,
                body: ask.body.clone(),
                at,
                peer,
                ending: Ending::Open,
            });
        }
        drop(pages);
        self.changed.notify_waiters();
        Ticket { journal: self.clone(), number, key, ended: false }
    }

    /// The calls kept of this key, or of all keys, oldest first.
    pub(crate) fn calls(&self, key: Option<&str>) -> Vec<Call> {
        let pages = self.pages.lock();
        pages.calls.iter().filter(|call| key.is_none() || call.key.as_deref() == key).cloned().collect()
    }

    pub(crate) fn count(&self, key: Option<&str>) -> Count {
        let pages = self.pages.lock();
        key.map_or(pages.total, |key| pages.by_key.get(key).copied().unwrap_or_default())
    }

    pub(crate) fn keys(&self) -> Vec<(String, Count)> {
        let pages = self.pages.lock();
        let mut keys: Vec<_> = pages.by_key.iter().map(|(key, count)| (key.to_string(), *count)).collect();
        keys.sort_by(|a, b| a.0.cmp(&b.0));
        keys
    }

    /// Returns once the counters of a key satisfy the condition.
    pub(crate) async fn wait(&self, key: Option<&str>, satisfied: impl Fn(&Count) -> bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if satisfied(&self.count(key)) {
                return;
            }
            changed.await;
        }
    }

    pub(crate) fn endings(&self) -> broadcast::Receiver<Call> {
        self.endings.subscribe()
    }

    /// Forgets calls and counters. Calls still open then end unnoticed.
    pub(crate) fn clear(&self) {
        let mut pages = self.pages.lock();
        *pages = Pages { next: pages.next, ..Pages::default() };
    }

    fn close(&self, number: u64, key: Option<&str>, ending: Ending) {
        let mut pages = self.pages.lock();
        if pages.total.open() > 0 {
            pages.total.add(ending);
        }
        if let Some(count) = key.and_then(|key| pages.by_key.get_mut(key)).filter(|count| count.open() > 0) {
            count.add(ending);
        }
        let ended = pages.find(number).map(|call| {
            call.ending = ending;
            (self.endings.receiver_count() > 0).then(|| call.clone())
        });
        drop(pages);
        if let Some(call) = ended.flatten() {
            // The last receiver may have gone meanwhile: then nobody misses it.
            drop(self.endings.send(call));
        }
        self.changed.notify_waiters();
    }
}

impl Pages {
    fn count_key(&mut self, key: &str, ending: Ending) -> Arc<str> {
        let name = match self.by_key.get_key_value(key) {
            Some((name, _)) => name.clone(),
            None => Arc::from(key),
        };
        self.by_key.entry(name.clone()).or_default().add(ending);
        name
    }

    fn keep(&mut self, call: Call) {
        self.body_bytes += call.body.len();
        self.calls.push_back(call);
        while self.calls.len() > MAX_CALLS || self.body_bytes > MAX_BODY_BYTES {
            let Some(oldest) = self.calls.pop_front() else { break };
            self.body_bytes -= oldest.body.len();
        }
    }

    fn find(&mut self, number: u64) -> Option<&mut Call> {
        let first = self.calls.front()?.number;
        self.calls.get_mut(usize::try_from(number.checked_sub(first)?).ok()?)
    }
}

impl Ticket {
    pub(crate) fn end(&mut self, ending: Ending) {
        if !std::mem::replace(&mut self.ended, true) {
            self.journal.close(self.number, self.key.as_deref(), ending);
        }
    }

    /// A number that differs for every call, from which ids are made.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let ending = if self.journal.stopping.is_cancelled() { Ending::Stopped } else { Ending::Cancelled };
        self.end(ending);
    }
}
