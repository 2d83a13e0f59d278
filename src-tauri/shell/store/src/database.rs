//! The database file: one connection that writes, a few that read.
//!
//! WAL lets readers go on while the writer writes. The single writer serialises every change without a lock of our
//! own. `synchronous = FULL`: what was acknowledged survives a power cut, not only a crash.

use std::path::Path;
use std::time::Duration;

use domain::Timestamp;
use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection, Sqlite, SqliteConnection, Transaction};

use crate::columns::from_instant;
use crate::{Error, folder};

static MIGRATIONS: Migrator = sqlx::migrate!("../../../migrations");

/// Other programs (a backup, a curious person) may hold the file for a moment.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const READERS: u32 = 4;
/// The write-ahead log is carried over into the database at this many pages of 4 KiB: the pages that every request changes are
/// then carried over once for many.
const LOG_PAGES: &str = "4096";
/// It is cut back to this many bytes afterwards.
const LOG_SIZE: &str = "16777216";
/// Rows deleted in one transaction, so that a large clean-up lets other writes in between.
const DELETION_STEP: i64 = 1_000;

#[derive(Clone, Debug)]
pub(crate) struct Database {
    writer: SqlitePool,
    readers: SqlitePool,
}

impl Database {
    /// Opens or creates the file (0600) and brings it up to date.
    pub(crate) async fn open(path: &Path) -> Result<Database, Error> {
        // SQLite gives its side files the permissions of the database.
        drop(folder::private_file(path)?);
        let options = SqliteConnectOptions::new()
            .filename(path)
            .busy_timeout(BUSY_TIMEOUT)
            .foreign_keys(true)
            .pragma("temp_store", "MEMORY")
            .pragma("trusted_schema", "OFF");
        let write = options
            .clone()
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .pragma("wal_autocheckpoint", LOG_PAGES)
            .pragma("journal_size_limit", LOG_SIZE);
        let writer = pool(1).after_release(|writer, _| Box::pin(is_clean(writer))).connect_with(write).await?;
        migrate(&writer).await?;
        let readers = pool(READERS).connect_lazy_with(options.read_only(true));
        Ok(Database { writer, readers })
    }

    /// For everything that changes something.
    pub(crate) fn writer(&self) -> &SqlitePool {
        &self.writer
    }

    /// For everything that only looks.
    pub(crate) fn reader(&self) -> &SqlitePool {
        &self.readers
    }

    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Sqlite>, Error> {
        Ok(self.writer.begin().await?)
    }

    /// Repeats a deletion of what is older than an instant, its first parameter, by so many rows, its second, until nothing is
    /// left; returns how many rows there were.
    pub(crate) async fn delete_in_steps(&self, statement: &'static str, before: Timestamp) -> Result<u64, Error> {
        let mut total = 0;
        loop {
            let step = sqlx::query(statement).bind(from_instant(before)).bind(DELETION_STEP);
            let deleted = step.execute(&self.writer).await?.rows_affected();
            total += deleted;
            if deleted == 0 {
                return Ok(total);
            }
        }
    }

    /// Closes every connection; the last one folds the write-ahead log into the database.
    pub(crate) async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

fn pool(connections: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
}

/// Whether the writer may be used again.
///
/// A full disk makes SQLite end a transaction by itself; the rollback after it then fails, and the driver goes on counting
/// it. The next transaction would become a savepoint within one that is never committed, and everything written from then
/// on would be lost at the end. Such a connection is closed; the next write opens another.
async fn is_clean(writer: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    // Behind this, whatever was still under way has been done.
    writer.ping().await?;
    Ok(!writer.is_in_transaction())
}

async fn migrate(writer: &SqlitePool) -> Result<(), Error> {
    let known = MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0);
    let found = applied_version(writer).await?;
    if found > known {
        return Err(Error::NewerDatabase { found, known });
    }
    MIGRATIONS.run(writer).await.map_err(Error::Migration)
}

/// The newest migration the file has seen, 0 for a new file.
async fn applied_version(writer: &SqlitePool) -> Result<i64, Error> {
    let migrated: bool =
        sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations')")
            .fetch_one(writer)
            .await?;
    if !migrated {
        return Ok(0);
    }
    let version: Option<i64> =
        sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations").fetch_one(writer).await?;
    Ok(version.unwrap_or(0))
}
