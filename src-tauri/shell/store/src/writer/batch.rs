//! What one transaction writes.

use std::sync::Arc;

use ::resilience::Row;
use ::resilience::stored::{StoredEgress, StoredQuota};
use domain::request_log::RequestRecord;
use domain::{ClientKeyId, Timestamp};
use routing::quota_share::fair_share;

use super::{BATCH, DIRTY, Pending};
use crate::database::Database;
use crate::error::chain;
use crate::translation_memory::Sealed;
use crate::{Error, client_keys, quota, quota_pools, requests, resilience, translation_memory, usage};

/// Records of one statement, the largest first. A statement is a round trip to SQLite's thread, which costs more than a
/// row does; the sizes are few, so that each statement is prepared once.
const STATEMENTS: [usize; 4] = [128, 16, 4, 1];

/// Taken from what waits, and kept until it is written.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) records: Vec<Arc<RequestRecord>>,
    pub(super) touched: Vec<(ClientKeyId, Timestamp)>,
    pub(super) rows: Vec<Row>,
    pub(super) egress: Vec<StoredEgress>,
    pub(super) calls: Vec<Sealed>,
    pub(super) quotas: Vec<StoredQuota>,
    pub(super) pool_use: Vec<fair_share::Row>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        let nothing = self.records.is_empty() && self.touched.is_empty() && self.rows.is_empty();
        let nothing = nothing && self.egress.is_empty() && self.calls.is_empty();
        nothing && self.quotas.is_empty() && self.pool_use.is_empty()
    }

    /// Takes all that is urgent at least, and up to [`BATCH`] records, oldest first: as many as fill whole statements, whatever
    /// else there is.
    pub(super) fn fill(&mut self, pending: &mut Pending, quotas: bool) {
        pending.urgent = false;
        if quotas {
            pending.quotas_at = None;
            self.quotas.extend(std::mem::take(&mut pending.quotas).into_values());
        }
        self.rows.extend(std::mem::take(&mut pending.rows).into_values());
        self.egress.extend(std::mem::take(&mut pending.egress).into_values());
        self.calls.extend(std::mem::take(&mut pending.calls).into_values());
        self.pool_use.extend(std::mem::take(&mut pending.pool_use).into_values());
        while self.touched.len() < DIRTY
            && let Some(touch) = pending.touched.pop_first()
        {
            self.touched.push(touch);
        }
        let taken = BATCH.min(pending.records.len());
        self.records.extend(pending.records.drain(..taken));
    }

    pub(super) async fn write(&self, database: &Database) -> Result<(), Error> {
        let mut transaction = database.begin().await?;
        if !self.records.is_empty() {
            let last = requests::last_row(&mut transaction).await?;
            for records in statements(&self.records) {
                requests::write(&mut transaction, records).await?;
            }
            usage::add_from_log(&mut transaction, last).await?;
            for record in &self.records {
                usage::split(&mut transaction, record).await?;
            }
        }
        for (id, at) in &self.touched {
            client_keys::write_last_used(&mut transaction, id, *at).await?;
        }
        for row in &self.rows {
            resilience::write(&mut transaction, row).await?;
        }
        for egress in &self.egress {
            // A convenience must not keep state and requests from being written.
            if let Err(error) = resilience::write_egress(&mut transaction, egress).await {
                tracing::warn!(error = chain(&error), "where an account leaves could not be put down");
            }
        }
        translation_memory::write(&mut transaction, &self.calls).await?;
        for quota in &self.quotas {
            quota::write(&mut transaction, quota).await?;
        }
        for row in &self.pool_use {
            quota_pools::write_use(&mut transaction, row).await?;
        }
        Ok(transaction.commit().await?)
    }
}

/// The records in groups of the sizes of [`STATEMENTS`], in order.
pub(super) fn statements<T>(mut records: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let size = STATEMENTS.into_iter().find(|size| *size <= records.len())?;
        let (group, rest) = records.split_at(size);
        records = rest;
        Some(group)
    })
}
