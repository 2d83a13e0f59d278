//! Written behind: one task, bounded memory, one transaction at a time.
//!
//! Traffic puts request records into a queue, and the latest use of each key and of each shared account and the latest
//! state of each breaker, connection and lock into maps. The task writes all of it in one transaction ([`batch`]) a quarter
//! of a second after the first of them (quotas, which change with every reply, three seconds after), once they are many, at once
//! when a connection's owner has to act, when asked to, and at the end. Without anything waiting it sleeps.
//!
//! A failed transaction keeps its batch and tries again, waiting longer each time, up to half a minute; meanwhile the
//! queue fills, and what finds no room is dropped and counted. So a full disk costs log rows, never traffic. What the
//! maps hold is never dropped: there is no more of it than keys, providers, connections and locks.

mod batch;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ::resilience::Row;
use ::resilience::stored::{StoredEgress, StoredQuota};
use domain::request_log::RequestRecord;
use domain::{ClientKeyId, Clock, ConnectionId, Millis, Timestamp};
use parking_lot::Mutex;
use routing::quota_share::fair_share;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::database::Database;
use crate::error::chain;
use crate::folder::Folder;
use crate::quota_pools::UseKey;
use crate::resilience::Key;
use crate::translation_memory::{Kept, MOST_CALLS, Sealed};
use crate::{Error, resilience};

use batch::Batch;

/// Longest that anything waits while writing works.
const DELAY: Millis = Millis::new(250);
/// Longest that a quota waits: it changes with every reply, and only the last of a while is worth a row.
const QUOTA_DELAY: Millis = Millis::seconds(3);
/// Records of one transaction; so many waiting are written at once. A transaction costs as much as fifty of them.
const BATCH: usize = 512;
/// So many keys, states, locks and shares waiting are written at once; uses of keys of one transaction.
const DIRTY: usize = 256;
/// Records that may wait.
const QUEUE: usize = 8_192;
const FIRST_RETRY: Millis = Millis::new(250);
const LAST_RETRY: Millis = Millis::seconds(30);

/// How the write-behind task fares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreHealth {
    /// Whether the last attempt to write succeeded.
    pub healthy: bool,
    /// Request records lost since the start because there was no room or no task left for them.
    pub dropped: u64,
    /// Request records that wait in the queue.
    pub waiting: u64,
    /// Why the last attempt failed; absent when healthy.
    pub last_error: Option<String>,
}

/// The side of the task that everybody else sees.
pub(crate) struct WriteBehind {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Arc<dyn Clock>,
    pending: Mutex<Pending>,
    wake: Notify,
}

#[derive(Default)]
struct Pending {
    records: VecDeque<Arc<RequestRecord>>,
    touched: BTreeMap<ClientKeyId, Timestamp>,
    rows: BTreeMap<Key, Row>,
    egress: BTreeMap<ConnectionId, StoredEgress>,
    calls: BTreeMap<(Kept, String), Sealed>,
    quotas: BTreeMap<ConnectionId, StoredQuota>,
    pool_use: BTreeMap<UseKey, fair_share::Row>,
    /// When the first of the quotas was put down.
    quotas_at: Option<Timestamp>,
    /// Something waits that must not.
    urgent: bool,
    /// When the first of what waits was put down.
    first_at: Option<Timestamp>,
    /// Whoever wants to know when what waits now is written.
    flushes: Vec<oneshot::Sender<Result<(), String>>>,
    /// Nothing more is taken.
    closed: bool,
    /// Nothing more is written.
    ended: bool,
    dropped: u64,
    failure: Option<Failure>,
}

/// Writing does not work at present.
struct Failure {
    reason: String,
    /// How long was waited before the coming attempt.
    wait: Millis,
    retry_at: Timestamp,
}

enum Due {
    Never,
    At(Timestamp),
    Now,
}

impl WriteBehind {
    pub(crate) fn start(
        database: Database,
        folder: Arc<Folder>,
        clock: Arc<dyn Clock>,
        tracker: &TaskTracker,
        cancel: CancellationToken,
    ) -> WriteBehind {
        let shared = Arc::new(Shared { clock, pending: Mutex::default(), wake: Notify::new() });
        let task = Task { shared: Arc::clone(&shared), database, batch: Batch::default(), _folder: folder };
        tracker.spawn(task.run(cancel));
        WriteBehind { shared }
    }

    pub(crate) fn record_request(&self, record: Arc<RequestRecord>) {
        self.put_down(|pending| {
            if pending.closed || pending.records.len() >= QUEUE {
                pending.dropped += 1;
                return false;
            }
            pending.records.push_back(record);
            true
        });
    }

    pub(crate) fn touch_key(&self, id: &ClientKeyId, at: Timestamp) {
        self.put_down(|pending| {
            if pending.closed {
                return false;
            }
            match pending.touched.get_mut(id) {
                Some(latest) => *latest = at.max(*latest),
                None => {
                    pending.touched.insert(id.clone(), at);
                }
            }
            true
        });
    }

    pub(crate) fn record_rows(&self, rows: Vec<Row>) {
        let mut quotas = Vec::new();
        self.put_down(|pending| {
            if pending.closed {
                return false;
            }
            let mut any = false;
            for row in rows {
                let Some(key) = Key::of(&row) else {
                    quotas.push(row);
                    continue;
                };
                any = true;
                pending.urgent |= resilience::is_urgent(&row);
                pending.rows.insert(key, row);
            }
            any
        });
        quotas.into_iter().for_each(|row| self.record_quota(row));
    }

    /// The latest of each account; the task is only told of the first.
    fn record_quota(&self, row: Row) {
        let Row::Quota(quota) = row else { return };
        let now = self.shared.clock.now();
        let mut pending = self.shared.pending.lock();
        if pending.closed {
            return;
        }
        pending.quotas.insert(quota.connection.clone(), quota);
        if pending.quotas_at.is_none() {
            pending.quotas_at = Some(now);
            self.shared.wake.notify_one();
        }
    }

    pub(crate) fn record_egress(&self, egress: StoredEgress) {
        self.put_down(|pending| {
            if !pending.closed {
                pending.egress.insert(egress.connection.clone(), egress);
            }
            !pending.closed
        });
    }

    pub(crate) fn record_pool_use(&self, rows: Vec<fair_share::Row>) {
        self.put_down(|pending| {
            if pending.closed || rows.is_empty() {
                return false;
            }
            pending.pool_use.extend(rows.into_iter().map(|row| (UseKey::of(&row), row)));
            true
        });
    }

    /// As many as the table holds: where nothing can be written, further ones are not kept.
    pub(crate) fn record_calls(&self, calls: Vec<Sealed>) {
        self.put_down(|pending| {
            let before = pending.calls.len();
            let room = if pending.closed { 0 } else { (MOST_CALLS as usize).saturating_sub(before) };
            pending.calls.extend(calls.into_iter().take(room).map(|call| ((call.what, call.call_id.clone()), call)));
            pending.calls.len() > before
        });
    }

    /// Drops what waits about a connection that is gone.
    pub(crate) fn forget(&self, id: &ConnectionId) {
        let mut pending = self.shared.pending.lock();
        pending.rows.retain(|_, row| !resilience::concerns(row, id));
        pending.quotas.remove(id);
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    /// Waits until everything put down before has been written, or could not be.
    pub(crate) async fn flush(&self) -> Result<(), Error> {
        let (done, written) = oneshot::channel();
        {
            let mut pending = self.shared.pending.lock();
            if pending.ended || pending.is_idle() {
                return pending.failure.as_ref().map_or(Ok(()), |failure| failed(&failure.reason));
            }
            pending.flushes.push(done);
        }
        self.shared.wake.notify_one();
        match written.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(reason)) => failed(&reason),
            Err(_) => failed("the writer has ended"),
        }
    }

    pub(crate) fn health(&self) -> StoreHealth {
        let pending = self.shared.pending.lock();
        StoreHealth {
            healthy: pending.failure.is_none(),
            dropped: pending.dropped,
            waiting: pending.records.len() as u64,
            last_error: pending.failure.as_ref().map(|failure| failure.reason.clone()),
        }
    }

    /// Takes nothing more; the task writes what is waiting and ends.
    pub(crate) fn close(&self) {
        self.shared.close();
    }

    /// Wakes the task when there is a first item to time, or a batch to write.
    fn put_down(&self, put: impl FnOnce(&mut Pending) -> bool) {
        let now = self.shared.clock.now();
        let mut pending = self.shared.pending.lock();
        if !put(&mut pending) {
            return;
        }
        let first = pending.first_at.is_none();
        pending.first_at.get_or_insert(now);
        if first || pending.urgent || pending.is_full() {
            self.shared.wake.notify_one();
        }
    }
}

fn failed(reason: &str) -> Result<(), Error> {
    Err(Error::Flush { reason: reason.to_owned() })
}

impl Shared {
    fn close(&self) {
        self.pending.lock().closed = true;
        self.wake.notify_one();
    }
}

impl Pending {
    fn waiting(&self) -> usize {
        self.records.len() + self.dirty()
    }

    /// What waits beside records: the latest of each.
    fn dirty(&self) -> usize {
        self.touched.len() + self.rows.len() + self.egress.len() + self.calls.len() + self.pool_use.len()
    }

    fn is_full(&self) -> bool {
        self.records.len() >= BATCH || self.dirty() >= DIRTY
    }

    /// Nothing waits, and the task holds nothing either.
    fn is_idle(&self) -> bool {
        self.waiting() == 0 && self.quotas.is_empty() && self.first_at.is_none() && self.failure.is_none()
    }

    /// Whether something is not to wait any longer.
    fn is_due_at(&self, now: Timestamp) -> bool {
        match self.due() {
            Due::Now => true,
            Due::At(at) => at <= now,
            Due::Never => false,
        }
    }

    fn due(&self) -> Due {
        if self.closed || !self.flushes.is_empty() {
            return Due::Now;
        }
        if let Some(failure) = &self.failure {
            return Due::At(failure.retry_at);
        }
        if self.first_at.is_some() && (self.urgent || self.is_full()) {
            return Due::Now;
        }
        let first = self.first_at.map(|first| first + DELAY);
        let quotas = self.quotas_at.map(|first| first + QUOTA_DELAY);
        first.into_iter().chain(quotas).min().map_or(Due::Never, Due::At)
    }
}

struct Task {
    shared: Arc<Shared>,
    database: Database,
    /// Taken from the queue and not yet written: empty unless writing fails.
    batch: Batch,
    _folder: Arc<Folder>,
}

impl Task {
    async fn run(mut self, cancel: CancellationToken) {
        loop {
            self.wait_until_due(&cancel).await;
            let (flushes, closed) = {
                let mut pending = self.shared.pending.lock();
                (std::mem::take(&mut pending.flushes), pending.closed)
            };
            let written = self.write_everything(closed || !flushes.is_empty()).await.map_err(|error| chain(&error));
            self.report(&written);
            for flush in flushes {
                // Whoever asked may have stopped waiting.
                drop(flush.send(written.clone()));
            }
            if closed {
                return;
            }
        }
    }

    async fn wait_until_due(&self, cancel: &CancellationToken) {
        loop {
            if cancel.is_cancelled() {
                self.shared.close();
            }
            let due = self.shared.pending.lock().due();
            match due {
                Due::Now => return,
                Due::At(at) => {
                    tokio::select! {
                        () = self.shared.clock.sleep_until(at) => return,
                        () = self.shared.wake.notified() => {}
                        () = cancel.cancelled() => {}
                    }
                }
                Due::Never => {
                    tokio::select! {
                        () = self.shared.wake.notified() => {}
                        () = cancel.cancelled() => {}
                    }
                }
            }
        }
    }

    /// Writes batch after batch: until nothing waits where all is asked for, otherwise until what waits is no whole batch
    /// and has its time before it. Stops at the first failure and keeps that batch.
    async fn write_everything(&mut self, all: bool) -> Result<(), Error> {
        loop {
            if self.batch.is_empty() {
                let now = self.shared.clock.now();
                let mut pending = self.shared.pending.lock();
                let due = pending.quotas_at.is_some_and(|first| all || now >= first + QUOTA_DELAY);
                self.batch.fill(&mut pending, due);
                // What is put down from here on waits its own time.
                pending.first_at = pending.first_at.map(|_| now);
            }
            if self.batch.is_empty() {
                return Ok(());
            }
            self.batch.write(&self.database).await?;
            self.batch = Batch::default();
            if !all && !self.shared.pending.lock().is_due_at(self.shared.clock.now()) {
                return Ok(());
            }
        }
    }

    fn report(&self, written: &Result<(), String>) {
        let now = self.shared.clock.now();
        let mut pending = self.shared.pending.lock();
        let before = pending.failure.take();
        match written {
            Ok(()) => {
                if before.is_some() {
                    tracing::info!("the store can be written again");
                }
                // Something may have been put down since the last batch was taken.
                pending.first_at = pending.first_at.filter(|_| pending.waiting() > 0);
            }
            Err(reason) => {
                if before.is_none() {
                    tracing::error!(%reason, "the store cannot be written; records are kept and tried again");
                }
                let wait = longer(before.map(|failure| failure.wait));
                pending.failure = Some(Failure { reason: reason.clone(), wait, retry_at: now + wait });
            }
        }
    }
}

/// At the end, however it comes about, what could not be written is lost, and said to be.
impl Drop for Task {
    fn drop(&mut self) {
        let mut pending = self.shared.pending.lock();
        pending.closed = true;
        pending.ended = true;
        let lost = self.batch.records.len() + pending.records.len();
        pending.dropped += lost as u64;
        pending.records.clear();
        pending.touched.clear();
        let quotas = self.batch.quotas.len() + pending.quotas.len();
        let shares = self.batch.pool_use.len() + pending.pool_use.len();
        let state = self.batch.rows.len() + pending.rows.len() + quotas + shares;
        pending.rows.clear();
        pending.quotas.clear();
        pending.egress.clear();
        pending.calls.clear();
        pending.pool_use.clear();
        for flush in std::mem::take(&mut pending.flushes) {
            let written = if lost + state == 0 { Ok(()) } else { Err("the writer has ended".to_owned()) };
            drop(flush.send(written));
        }
        if lost + state > 0 {
            tracing::error!(lost, state, "records were lost: the store could not be written at the end");
        }
    }
}

/// How long to wait before the next attempt, given how long was waited before the last.
fn longer(wait: Option<Millis>) -> Millis {
    wait.map_or(FIRST_RETRY, |wait| (wait + wait).min(LAST_RETRY))
}

#[cfg(test)]
mod tests;
