//! Accounts that several client keys share, and what each key has used of them (gateway specification, 3.6).
//!
//! Pools are written through. Use is written behind, by bucket: the current one and the one before it, so that what was
//! counted while the writer slept is complete. A pool that is deleted takes its use with it, a key that is revoked its
//! allocations.

use std::collections::BTreeMap;

use domain::{ClientKeyId, Millis, Timestamp};
use routing::quota_share::fair_share::{Counter, Row};
use routing::quota_share::{Allocation, Pool, Unit, Window};
use sqlx::{FromRow, SqliteConnection};

use crate::columns::{Cell, from_instant, integer, natural, to_instant};
use crate::{Error, Store};

const WHAT: &str = "quota pool";
const POOLS: &str = "quota_pools";
const ALLOCATIONS: &str = "quota_allocations";
const CONSUMPTION: &str = "quota_consumption";

/// A pool, and when it was made and last changed.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredPool {
    pub pool: Pool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(FromRow)]
struct PoolRow {
    id: String,
    name: String,
    slug: String,
    connections: String,
    dimensions: String,
    created_at: i64,
    updated_at: i64,
}

#[derive(FromRow)]
struct AllocationRow {
    pool_id: String,
    api_key_id: String,
    weight: f64,
    cap_value: Option<f64>,
    policy: String,
}

/// Whose use of what.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UseKey(String, Unit, Window, ClientKeyId);

impl UseKey {
    pub(crate) fn of(row: &Row) -> UseKey {
        UseKey(row.pool.clone(), row.unit, row.window, row.api_key_id.clone())
    }
}

impl Store {
    /// Every pool, by name. One that cannot be read is left out, and said to be.
    pub async fn list_quota_pools(&self) -> Result<Vec<StoredPool>, Error> {
        let rows: Vec<PoolRow> = sqlx::query_as(
            "SELECT id, name, slug, connections, dimensions, created_at, updated_at FROM quota_pools ORDER BY name, id",
        )
        .fetch_all(self.database().reader())
        .await?;
        let mut allocations: BTreeMap<String, Vec<AllocationRow>> = BTreeMap::new();
        let stored: Vec<AllocationRow> = sqlx::query_as(
            "SELECT pool_id, api_key_id, weight, cap_value, policy FROM quota_allocations ORDER BY pool_id, place",
        )
        .fetch_all(self.database().reader())
        .await?;
        for row in stored {
            allocations.entry(row.pool_id.clone()).or_default().push(row);
        }
        let readable = |row: PoolRow| {
            let id = row.id.clone();
            let pool = row.into_pool(allocations.remove(&id).unwrap_or_default());
            pool.inspect_err(|error| tracing::warn!(%error, pool = id, "a stored quota pool is left out")).ok()
        };
        Ok(rows.into_iter().filter_map(readable).collect())
    }

    /// Writes a pool, a new one or a known one. [`Error::Duplicate`] when its slug is taken.
    pub async fn save_quota_pool(&self, stored: &StoredPool) -> Result<(), Error> {
        let StoredPool { pool, created_at, updated_at } = stored;
        let cell = |column| Cell { table: POOLS, column, id: &pool.id };
        let mut transaction = self.database().begin().await?;
        sqlx::query(
            "INSERT INTO quota_pools (id, name, slug, connections, dimensions, created_at, updated_at)
             VALUES (?, ?, ?, ?, ?, ?, ?)
             ON CONFLICT (id) DO UPDATE SET name = excluded.name, slug = excluded.slug,
                 connections = excluded.connections, dimensions = excluded.dimensions,
                 updated_at = excluded.updated_at",
        )
        .bind(&pool.id)
        .bind(&pool.name)
        .bind(&pool.slug)
        .bind(cell("connections").write_json(&pool.connections)?)
        .bind(cell("dimensions").write_json(&pool.dimensions)?)
        .bind(from_instant(*created_at))
        .bind(from_instant(*updated_at))
        .execute(&mut *transaction)
        .await
        .map_err(|error| Error::from_write(error, WHAT))?;
        sqlx::query("DELETE FROM quota_allocations WHERE pool_id = ?")
            .bind(&pool.id)
            .execute(&mut *transaction)
            .await?;
        for (place, allocation) in (0_u32..).zip(&pool.allocations) {
            write_allocation(&mut transaction, &pool.id, place, allocation).await?;
        }
        Ok(transaction.commit().await?)
    }

    /// Deletes a pool and everything that was counted of it.
    pub async fn delete_quota_pool(&self, id: &str) -> Result<(), Error> {
        let deleted =
            sqlx::query("DELETE FROM quota_pools WHERE id = ?").bind(id).execute(self.database().writer()).await?;
        Error::unless_found(deleted.rows_affected(), WHAT, id)
    }

    /// What was used of every pool, as far as it still counts. A row that cannot be read is left out, and said to be.
    pub async fn load_pool_use(&self, now: Timestamp) -> Result<Vec<Row>, Error> {
        let rows: Vec<(String, String, String, String, i64, f64)> = sqlx::query_as(
            "SELECT pool_id, api_key_id, unit, window_name, bucket, used FROM quota_consumption
             WHERE counts_until > ? ORDER BY pool_id, api_key_id, unit, window_name, bucket",
        )
        .bind(from_instant(now))
        .fetch_all(self.database().reader())
        .await?;
        let mut counted: BTreeMap<UseKey, Row> = BTreeMap::new();
        for (pool, key, unit, window, bucket, used) in rows {
            let cell = |column| Cell { table: CONSUMPTION, column, id: &pool };
            let words =
                cell("unit").read_word(&unit).and_then(|unit| Ok((unit, cell("window_name").read_word(&window)?)));
            let (unit, window) = match words {
                Ok(words) => words,
                Err(error) => {
                    tracing::warn!(%error, "a count of a quota pool is left out");
                    continue;
                }
            };
            let row = Row { pool, unit, window, api_key_id: ClientKeyId::from(key), counter: Counter::default() };
            // The buckets come in their order: the last is the current one.
            let counter = &mut counted.entry(UseKey::of(&row)).or_insert(row).counter;
            let bucket = natural(bucket);
            let previous = if bucket == counter.bucket + 1 { counter.current } else { 0.0 };
            *counter = Counter { bucket, current: used, previous };
        }
        Ok(counted.into_values().collect())
    }

    /// Puts down what was used of pools, without waiting for the disk.
    pub fn record_pool_use(&self, rows: Vec<Row>) {
        self.inner.writer.record_pool_use(rows);
    }

    /// Forgets what was used, once it has not counted since an instant.
    pub async fn purge_pool_use(&self, before: Timestamp) -> Result<u64, Error> {
        let purged = sqlx::query("DELETE FROM quota_consumption WHERE counts_until < ?")
            .bind(from_instant(before))
            .execute(self.database().writer())
            .await?;
        Ok(purged.rows_affected())
    }
}

async fn write_allocation(
    connection: &mut SqliteConnection,
    pool: &str,
    place: u32,
    allocation: &Allocation,
) -> Result<(), Error> {
    let written = sqlx::query(
        "INSERT INTO quota_allocations (pool_id, api_key_id, place, weight, cap_value, policy) VALUES (?, ?, ?, ?, ?, ?)",
    )
    .bind(pool)
    .bind(allocation.api_key_id.as_str())
    .bind(place)
    .bind(allocation.weight)
    .bind(allocation.cap_value)
    .bind(Cell { table: ALLOCATIONS, column: "policy", id: pool }.write_word(&allocation.policy)?)
    .execute(connection)
    .await;
    let orphaned =
        |error: &sqlx::Error| error.as_database_error().is_some_and(|database| database.is_foreign_key_violation());
    match written {
        Ok(_) => Ok(()),
        Err(error) if orphaned(&error) => Err(Error::NotFound { what: "key", id: allocation.api_key_id.to_string() }),
        Err(error) => Err(Error::from_write(error, WHAT)),
    }
}

/// Writes nothing where the pool is gone.
pub(crate) async fn write_use(connection: &mut SqliteConnection, row: &Row) -> Result<(), Error> {
    let Row { unit, window, counter, .. } = row;
    if counter.previous > 0.0 && counter.bucket > 0 {
        write_bucket(connection, row, *unit, *window, counter.bucket - 1, counter.previous).await?;
    }
    write_bucket(connection, row, *unit, *window, counter.bucket, counter.current).await
}

async fn write_bucket(
    connection: &mut SqliteConnection,
    row: &Row,
    unit: Unit,
    window: Window,
    bucket: u64,
    used: f64,
) -> Result<(), Error> {
    let cell = |column| Cell { table: CONSUMPTION, column, id: &row.pool };
    let counts_until = Millis::new(window.length().as_millis().saturating_mul(bucket.saturating_add(2)));
    sqlx::query(
        "INSERT INTO quota_consumption (pool_id, api_key_id, unit, window_name, bucket, used, counts_until)
         SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE EXISTS (SELECT 1 FROM quota_pools WHERE id = ?1)
         ON CONFLICT (pool_id, api_key_id, unit, window_name, bucket) DO UPDATE SET used = excluded.used",
    )
    .bind(&row.pool)
    .bind(row.api_key_id.as_str())
    .bind(cell("unit").write_word(&unit)?)
    .bind(cell("window_name").write_word(&window)?)
    .bind(integer(bucket))
    .bind(used)
    .bind(from_instant(Timestamp::ZERO + counts_until))
    .execute(connection)
    .await?;
    Ok(())
}

impl PoolRow {
    fn into_pool(self, allocations: Vec<AllocationRow>) -> Result<StoredPool, Error> {
        let cell = |column| Cell { table: POOLS, column, id: &self.id };
        let read = |row: AllocationRow| {
            Ok(Allocation {
                policy: Cell { table: ALLOCATIONS, column: "policy", id: &row.pool_id }.read_word(&row.policy)?,
                api_key_id: ClientKeyId::from(row.api_key_id),
                weight: row.weight,
                cap_value: row.cap_value,
            })
        };
        Ok(StoredPool {
            pool: Pool {
                connections: cell("connections").read_json(&self.connections)?,
                dimensions: cell("dimensions").read_json(&self.dimensions)?,
                allocations: allocations.into_iter().map(read).collect::<Result<_, Error>>()?,
                name: self.name,
                slug: self.slug,
                id: self.id,
            },
            created_at: to_instant(self.created_at),
            updated_at: to_instant(self.updated_at),
        })
    }
}
