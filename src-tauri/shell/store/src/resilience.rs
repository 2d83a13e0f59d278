//! What is spared and why, as it outlives a restart (resilience specification, 25).
//!
//! The Engine owns this state and says which rows changed; they are written behind, the latest value of each winning. A
//! terminal state is written at once: it ends by its owner's hand only, so no crash may lose it. Reading is tolerant,
//! because the gateway must start: a row that makes no sense is left out and said to be.

use domain::health::{LastError, TestStatus};
use domain::{ConnectionId, Millis, ProviderId, Reason, Timestamp};
use resilience::stored::{BreakerOptions, StoredBreaker, StoredConnection, StoredEgress, StoredLockout};
use resilience::{Row, Stored};
use sqlx::{FromRow, SqliteConnection};

use crate::columns::{Cell, from_instant, from_length, to_instant, to_length};
use crate::{Error, Store, quota};

const BREAKERS: &str = "domain_circuit_breakers";
const CONNECTIONS: &str = "provider_connections";
/// How far back outgoing addresses count (resilience specification, 20.2).
const EGRESS_MEMORY: Millis = Millis::days(1);

/// What a row is about: of several changes to the same thing the latest is written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    Breaker(ProviderId),
    Connection(ConnectionId),
    Lockout(String),
}

impl Key {
    /// None for a quota, which waits apart.
    pub(crate) fn of(row: &Row) -> Option<Key> {
        Some(match row {
            Row::Breaker(breaker) => Key::Breaker(breaker.provider.clone()),
            Row::BreakerGone(provider) => Key::Breaker(provider.clone()),
            Row::Connection(connection) => Key::Connection(connection.connection.clone()),
            Row::Lockout(lockout) => Key::Lockout(lockout.key.clone()),
            Row::LockoutGone(key) => Key::Lockout(key.clone()),
            Row::Quota(_) => return None,
        })
    }
}

/// Whether a row must not wait.
pub(crate) const fn is_urgent(row: &Row) -> bool {
    match row {
        Row::Connection(connection) => connection.test_status.is_terminal(),
        Row::Breaker(_) | Row::BreakerGone(_) | Row::Lockout(_) | Row::LockoutGone(_) | Row::Quota(_) => false,
    }
}

/// Whether a row is about this connection.
pub(crate) fn concerns(row: &Row, id: &ConnectionId) -> bool {
    match row {
        Row::Connection(connection) => connection.connection == *id,
        Row::Lockout(lockout) => lockout.connection == *id,
        Row::Quota(quota) => quota.connection == *id,
        Row::Breaker(_) | Row::BreakerGone(_) | Row::LockoutGone(_) => false,
    }
}

#[derive(FromRow)]
struct BreakerRow {
    name: String,
    state: String,
    failure_count: u32,
    last_failure_time: Option<i64>,
    options: String,
}

#[derive(FromRow)]
struct ConnectionRow {
    id: String,
    provider: String,
    test_status: String,
    error_code: Option<u16>,
    last_error: Option<String>,
    last_error_at: Option<i64>,
    last_error_type: Option<String>,
    backoff_level: u32,
    rate_limited_until: Option<String>,
    cooldown_probe_at: Option<i64>,
    expired_retry_count: u32,
    expired_retry_at: Option<i64>,
    last_used_at: Option<i64>,
}

#[derive(FromRow)]
struct LockoutRow {
    lock_key: String,
    provider: String,
    connection_id: String,
    model: String,
    scope: String,
    reason: String,
    locked_at: i64,
    until: i64,
    failure_count: u32,
    last_cooldown_ms: i64,
    probe_at: Option<i64>,
}

impl Store {
    /// Puts changed rows down, to be written within a quarter of a second, terminal states at once. Never waits and
    /// never drops: there are no more of them than providers, connections and locks.
    pub fn record_rows(&self, rows: Vec<Row>) {
        if !rows.is_empty() {
            self.inner.writer.record_rows(rows);
        }
    }

    /// Puts down through which outgoing address a connection was just seen.
    pub fn record_egress(&self, egress: StoredEgress) {
        self.inner.writer.record_egress(egress);
    }

    /// Everything the Engine is restored from.
    pub async fn load_resilience(&self) -> Result<Stored, Error> {
        self.settle().await;
        let reader = self.database().reader();
        let breakers: Vec<BreakerRow> = sqlx::query_as(
            "SELECT name, state, failure_count, last_failure_time, options FROM domain_circuit_breakers",
        )
        .fetch_all(reader)
        .await?;
        let connections: Vec<ConnectionRow> = sqlx::query_as(
            "SELECT id, provider, test_status, error_code, last_error, last_error_at, last_error_type, backoff_level,
                    CAST(rate_limited_until AS TEXT) AS rate_limited_until, cooldown_probe_at, expired_retry_count,
                    expired_retry_at, last_used_at
             FROM provider_connections WHERE deleted_at IS NULL",
        )
        .fetch_all(reader)
        .await?;
        let lockouts: Vec<LockoutRow> = sqlx::query_as(
            "SELECT lock_key, provider, connection_id, model, scope, reason, locked_at, until, failure_count,
                    last_cooldown_ms, probe_at
             FROM domain_lockout_state",
        )
        .fetch_all(reader)
        .await?;
        // `max` makes SQLite take the bare column from the newest row of the group.
        let egress: Vec<(String, String, i64)> = sqlx::query_as(
            "SELECT connection_id, egress_ip, max(timestamp) FROM proxy_logs WHERE timestamp >= ? GROUP BY connection_id",
        )
        .bind(from_instant(self.inner.writer.now() - EGRESS_MEMORY))
        .fetch_all(reader)
        .await?;
        Ok(Stored {
            breakers: breakers.into_iter().filter_map(BreakerRow::read).collect(),
            connections: connections.into_iter().map(ConnectionRow::read).collect(),
            lockouts: lockouts.into_iter().map(LockoutRow::read).collect(),
            egress: egress
                .into_iter()
                .map(|(id, ip, at)| StoredEgress { connection: ConnectionId::from(id), ip, at: to_instant(at) })
                .collect(),
            quotas: quota::load(reader).await?,
        })
    }
}

pub(crate) async fn write(connection: &mut SqliteConnection, row: &Row) -> Result<(), Error> {
    match row {
        Row::Breaker(breaker) => write_breaker(connection, breaker).await,
        Row::BreakerGone(provider) => {
            sqlx::query("DELETE FROM domain_circuit_breakers WHERE name = ?")
                .bind(provider.as_str())
                .execute(connection)
                .await?;
            Ok(())
        }
        Row::Connection(health) => write_connection(connection, health).await,
        Row::Lockout(lockout) => write_lockout(connection, lockout).await,
        Row::LockoutGone(key) => {
            sqlx::query("DELETE FROM domain_lockout_state WHERE lock_key = ?").bind(key).execute(connection).await?;
            Ok(())
        }
        Row::Quota(quota) => quota::write(connection, quota).await,
    }
}

async fn write_breaker(connection: &mut SqliteConnection, breaker: &StoredBreaker) -> Result<(), Error> {
    let options = Cell { table: BREAKERS, column: "options", id: breaker.provider.as_str() };
    sqlx::query(
        "INSERT INTO domain_circuit_breakers (name, state, failure_count, last_failure_time, options)
         VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (name) DO UPDATE SET state = excluded.state, failure_count = excluded.failure_count,
                last_failure_time = excluded.last_failure_time, options = excluded.options",
    )
    .bind(breaker.provider.as_str())
    .bind(&breaker.state)
    .bind(breaker.failure_count)
    .bind(breaker.last_failure_time.map(from_instant))
    .bind(options.write_json(&breaker.options)?)
    .execute(connection)
    .await?;
    Ok(())
}

/// Changes nothing where the connection is gone.
async fn write_connection(connection: &mut SqliteConnection, health: &StoredConnection) -> Result<(), Error> {
    let cell = |column| Cell { table: CONNECTIONS, column, id: health.connection.as_str() };
    let error = health.last_error.as_ref();
    let reason = error.and_then(|error| error.reason);
    sqlx::query(
        "UPDATE provider_connections SET test_status = ?, error_code = ?, last_error = ?, last_error_at = ?,
                last_error_type = ?, last_error_source = ?, backoff_level = ?, rate_limited_until = ?,
                cooldown_probe_at = ?, expired_retry_count = ?, expired_retry_at = ?, last_used_at = ?
         WHERE id = ? AND deleted_at IS NULL",
    )
    .bind(health.test_status.as_str())
    .bind(error.and_then(|error| error.status))
    .bind(error.map(|error| error.message.as_str()))
    .bind(error.map(|error| from_instant(error.at)))
    .bind(reason.map(|reason| cell("last_error_type").write_word(&reason)).transpose()?)
    .bind(error.map(|error| if error.status.is_some() { "upstream" } else { "transport" }))
    .bind(health.backoff_level)
    .bind(health.rate_limited_until.map(from_instant))
    .bind(health.probe_at.map(from_instant))
    .bind(health.expired_retry_count)
    .bind(health.expired_retry_at.map(from_instant))
    .bind(health.last_used_at.map(from_instant))
    .bind(health.connection.as_str())
    .execute(connection)
    .await?;
    Ok(())
}

/// Writes nothing where the connection is gone.
async fn write_lockout(connection: &mut SqliteConnection, lockout: &StoredLockout) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO domain_lockout_state (lock_key, provider, connection_id, model, scope, reason, locked_at, until,
                failure_count, last_cooldown_ms, probe_at)
         SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
         WHERE EXISTS (SELECT 1 FROM provider_connections WHERE id = ?3 AND deleted_at IS NULL)
         ON CONFLICT (lock_key) DO UPDATE SET scope = excluded.scope, reason = excluded.reason,
                locked_at = excluded.locked_at, until = excluded.until, failure_count = excluded.failure_count,
                last_cooldown_ms = excluded.last_cooldown_ms, probe_at = excluded.probe_at",
    )
    .bind(&lockout.key)
    .bind(lockout.provider.as_str())
    .bind(lockout.connection.as_str())
    .bind(&lockout.model)
    .bind(&lockout.scope)
    .bind(&lockout.reason)
    .bind(from_instant(lockout.locked_at))
    .bind(from_instant(lockout.until))
    .bind(lockout.failure_count)
    .bind(from_length(lockout.last_cooldown))
    .bind(lockout.probe_at.map(from_instant))
    .execute(connection)
    .await?;
    Ok(())
}

/// Adds to the history, and forgets what is too old to count.
pub(crate) async fn write_egress(connection: &mut SqliteConnection, egress: &StoredEgress) -> Result<(), Error> {
    sqlx::query("DELETE FROM proxy_logs WHERE timestamp < ?")
        .bind(from_instant(egress.at - EGRESS_MEMORY))
        .execute(&mut *connection)
        .await?;
    sqlx::query("INSERT INTO proxy_logs (timestamp, connection_id, egress_ip) VALUES (?, ?, ?)")
        .bind(from_instant(egress.at))
        .bind(egress.connection.as_str())
        .bind(&egress.ip)
        .execute(connection)
        .await?;
    Ok(())
}

/// Forgets how a connection fared: its credential is another one, or it is deleted.
pub(crate) async fn forget(connection: &mut SqliteConnection, id: &ConnectionId) -> Result<(), Error> {
    sqlx::query(
        "UPDATE provider_connections SET test_status = 'unknown', error_code = NULL, last_error = NULL,
                last_error_at = NULL, last_error_type = NULL, last_error_source = NULL, backoff_level = 0,
                rate_limited_until = NULL, cooldown_probe_at = NULL, expired_retry_count = 0, expired_retry_at = NULL
         WHERE id = ?",
    )
    .bind(id.as_str())
    .execute(&mut *connection)
    .await?;
    sqlx::query("DELETE FROM domain_lockout_state WHERE connection_id = ?")
        .bind(id.as_str())
        .execute(&mut *connection)
        .await?;
    quota::forget(connection, id).await
}

impl BreakerRow {
    fn read(self) -> Option<StoredBreaker> {
        let options = Cell { table: BREAKERS, column: "options", id: &self.name };
        let options: BreakerOptions = options
            .read_json(&self.options)
            .inspect_err(|error| tracing::warn!(%error, "a stored circuit breaker is left out"))
            .ok()?;
        Some(StoredBreaker {
            provider: ProviderId::from(self.name),
            state: self.state,
            failure_count: self.failure_count,
            last_failure_time: self.last_failure_time.map(to_instant),
            options,
        })
    }
}

impl ConnectionRow {
    fn read(self) -> StoredConnection {
        let test_status = TestStatus::parse(&self.test_status).unwrap_or_else(|| {
            tracing::warn!(connection = self.id, status = self.test_status, "a stored status is not known");
            TestStatus::Unknown
        });
        let until = self.rate_limited_until.as_deref();
        let rate_limited_until = until.and_then(|text| {
            let read = instant(text);
            if read.is_none() {
                tracing::warn!(connection = self.id, until = text, "the stored end of a rest is not an instant");
            }
            read
        });
        let cell = Cell { table: CONNECTIONS, column: "last_error_type", id: &self.id };
        let reason = self.last_error_type.as_deref().and_then(|word| cell.read_word::<Reason>(word).ok());
        let last_error = self.last_error.map(|message| LastError {
            message,
            reason,
            status: self.error_code,
            at: self.last_error_at.map(to_instant).unwrap_or_default(),
        });
        StoredConnection {
            connection: ConnectionId::from(self.id),
            provider: ProviderId::from(self.provider),
            test_status,
            rate_limited_until,
            probe_at: self.cooldown_probe_at.map(to_instant),
            backoff_level: self.backoff_level,
            last_error,
            expired_retry_count: self.expired_retry_count,
            expired_retry_at: self.expired_retry_at.map(to_instant),
            last_used_at: self.last_used_at.map(to_instant),
        }
    }
}

impl LockoutRow {
    fn read(self) -> StoredLockout {
        StoredLockout {
            key: self.lock_key,
            provider: ProviderId::from(self.provider),
            connection: ConnectionId::from(self.connection_id),
            model: self.model,
            scope: self.scope,
            reason: self.reason,
            locked_at: to_instant(self.locked_at),
            until: to_instant(self.until),
            failure_count: self.failure_count,
            last_cooldown: to_length(self.last_cooldown_ms),
            probe_at: self.probe_at.map(to_instant),
        }
    }
}

/// An instant as milliseconds since the epoch or as ISO text: older databases hold either (resilience specification,
/// 0.4).
fn instant(text: &str) -> Option<Timestamp> {
    if let Ok(millis) = text.parse::<f64>() {
        return (millis.is_finite() && millis >= 0.0).then(|| Timestamp::from_millis(millis as u64));
    }
    let instant: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(instant.as_millisecond()).ok().map(Timestamp::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CC-24
    #[test]
    fn an_instant_is_read_as_number_or_as_iso_text() {
        for (text, expected) in [
            ("1786000000000", Some(1_786_000_000_000)),
            ("1786000000000.0", Some(1_786_000_000_000)),
            ("2026-08-06T07:06:40Z", Some(1_786_000_000_000)),
            ("2026-08-06T09:06:40.000+02:00", Some(1_786_000_000_000)),
            ("-1", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(instant(text), expected.map(Timestamp::from_millis), "{text}");
        }
    }
}
