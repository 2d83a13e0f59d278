//! What is left of accounts: the latest that is known, and how it became less (gateway specification, 5.1 and 5.5).
//!
//! Both are written behind, together. The history keeps one point per window and five minutes, the last that was known in
//! them, so that a busy account costs no more than a quiet one.

use domain::{ConnectionId, Millis, Timestamp};
use resilience::stored::StoredQuota;
use sqlx::{SqliteConnection, SqlitePool};

use crate::columns::{Cell, from_instant, to_instant};
use crate::{Error, Store};

const TABLE: &str = "quota_snapshots";
/// Of all that is known within it, a window's history keeps the last.
const STRETCH: Millis = Millis::minutes(5);
/// More points than fourteen days hold for the windows of one account.
const MOST_POINTS: u32 = 50_000;

/// How full a window was.
#[derive(Clone, Debug, PartialEq)]
pub struct QuotaPoint {
    pub window: String,
    /// Beginning of the five minutes.
    pub at: Timestamp,
    /// A fraction, 0 to 1.
    pub percent_used: f64,
    pub reset_at: Option<Timestamp>,
}

impl Store {
    /// How the windows of an account filled from an instant on: by window, then time.
    pub async fn quota_history(&self, id: &ConnectionId, since: Timestamp) -> Result<Vec<QuotaPoint>, Error> {
        self.settle().await;
        let rows: Vec<(String, i64, f64, Option<i64>)> = sqlx::query_as(
            "SELECT window_name, at, percent_used, reset_at FROM quota_history WHERE connection_id = ? AND at >= ?
             ORDER BY window_name, at LIMIT ?",
        )
        .bind(id.as_str())
        .bind(from_instant(stretch(since)))
        .bind(MOST_POINTS)
        .fetch_all(self.database().reader())
        .await?;
        let point = |(window, at, percent_used, reset_at): (String, i64, f64, Option<i64>)| QuotaPoint {
            window,
            at: to_instant(at),
            percent_used,
            reset_at: reset_at.map(to_instant),
        };
        Ok(rows.into_iter().map(point).collect())
    }

    /// Forgets the history before an instant, and that of accounts that are gone for good.
    pub async fn purge_quota_history(&self, before: Timestamp) -> Result<u64, Error> {
        let purged = sqlx::query(
            "DELETE FROM quota_history
             WHERE at < ? OR connection_id NOT IN (SELECT id FROM provider_connections)",
        )
        .bind(from_instant(before))
        .execute(self.database().writer())
        .await?;
        Ok(purged.rows_affected())
    }
}

/// Everything that is known. A row that cannot be read is left out, and said to be.
pub(crate) async fn load(reader: &SqlitePool) -> Result<Vec<StoredQuota>, Error> {
    let rows: Vec<(String, String)> =
        sqlx::query_as("SELECT connection_id, quota FROM quota_snapshots").fetch_all(reader).await?;
    let readable = |(id, text): (String, String)| {
        let read = Cell { table: TABLE, column: "quota", id: &id }.read_json(&text);
        let read = read.inspect_err(|error| tracing::warn!(%error, "a stored quota is left out"));
        Some(StoredQuota { quota: read.ok()?, connection: ConnectionId::from(id) })
    };
    Ok(rows.into_iter().filter_map(readable).collect())
}

/// Writes nothing where the connection is gone.
pub(crate) async fn write(connection: &mut SqliteConnection, stored: &StoredQuota) -> Result<(), Error> {
    let StoredQuota { connection: id, quota } = stored;
    let written = sqlx::query(
        "INSERT INTO quota_snapshots (connection_id, fetched_at, quota)
         SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM provider_connections WHERE id = ?1 AND deleted_at IS NULL)
         ON CONFLICT (connection_id) DO UPDATE SET fetched_at = excluded.fetched_at, quota = excluded.quota",
    )
    .bind(id.as_str())
    .bind(from_instant(quota.fetched_at))
    .bind(Cell { table: TABLE, column: "quota", id: id.as_str() }.write_json(quota)?)
    .execute(&mut *connection)
    .await?;
    if written.rows_affected() == 0 {
        return Ok(());
    }
    for (name, window) in &quota.windows {
        let Some(used) = window.used(quota.fetched_at) else { continue };
        sqlx::query(
            "INSERT INTO quota_history (connection_id, window_name, at, percent_used, reset_at) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT (connection_id, window_name, at)
             DO UPDATE SET percent_used = excluded.percent_used, reset_at = excluded.reset_at",
        )
        .bind(id.as_str())
        .bind(name)
        .bind(from_instant(stretch(quota.fetched_at)))
        .bind(used)
        .bind(window.reset_at.map(from_instant))
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// The account is another one, or gone; how it fared before stays until it is gone for good.
pub(crate) async fn forget(connection: &mut SqliteConnection, id: &ConnectionId) -> Result<(), Error> {
    sqlx::query("DELETE FROM quota_snapshots WHERE connection_id = ?").bind(id.as_str()).execute(connection).await?;
    Ok(())
}

/// Beginning of the five minutes that an instant lies in.
fn stretch(at: Timestamp) -> Timestamp {
    at - Millis::new(at.as_millis() % STRETCH.as_millis())
}
