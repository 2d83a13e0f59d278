//! Keys that agents present (gateway specification, 1.3): their digest, never their text.

use domain::client_key::ClientKey;
use domain::key_limits::KeyLimits;
use domain::{ClientKeyId, Timestamp};
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{FromRow, Sqlite, SqliteConnection};

use crate::columns::{Cell, from_instant, to_instant};
use crate::{Error, Store};

const WHAT: &str = "key";

type Written = Query<'static, Sqlite, SqliteArguments>;

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, key_hash, tail, is_active, scopes, allowed_models, allowed_combos, allowed_connections,
                    preferred_connections, excluded_auto_candidates, budget_daily_usd, budget_weekly_usd,
                    budget_monthly_usd, warning_threshold, reset_interval, reset_time, token_limits, expires_at,
                    last_used_at, created_at FROM api_keys ",
            $rest
        )
    };
}

#[derive(FromRow)]
struct Row {
    id: String,
    name: String,
    key_hash: Vec<u8>,
    tail: String,
    is_active: bool,
    scopes: String,
    allowed_models: String,
    allowed_combos: String,
    allowed_connections: String,
    preferred_connections: String,
    excluded_auto_candidates: String,
    budget_daily_usd: Option<f64>,
    budget_weekly_usd: Option<f64>,
    budget_monthly_usd: Option<f64>,
    warning_threshold: f64,
    reset_interval: String,
    reset_time: String,
    token_limits: String,
    expires_at: Option<i64>,
    last_used_at: Option<i64>,
    created_at: i64,
}

impl Store {
    /// Every key, oldest first, with its latest use.
    pub async fn list_keys(&self) -> Result<Vec<ClientKey>, Error> {
        self.settle().await;
        let rows: Vec<Row> =
            sqlx::query_as(select!("ORDER BY created_at, id")).fetch_all(self.database().reader()).await?;
        rows.into_iter().map(Row::into_key).collect()
    }

    pub async fn get_key(&self, id: &ClientKeyId) -> Result<Option<ClientKey>, Error> {
        self.settle().await;
        let row: Option<Row> =
            sqlx::query_as(select!("WHERE id = ?")).bind(id.as_str()).fetch_optional(self.database().reader()).await?;
        row.map(Row::into_key).transpose()
    }

    /// [`Error::Duplicate`] when the name is taken.
    pub async fn insert_key(&self, key: &ClientKey) -> Result<(), Error> {
        let query = sqlx::query(
            "INSERT INTO api_keys (name, key_hash, tail, is_active, scopes, allowed_models, allowed_combos,
                                   allowed_connections, preferred_connections, excluded_auto_candidates,
                                   budget_daily_usd, budget_weekly_usd, budget_monthly_usd, warning_threshold,
                                   reset_interval, reset_time, token_limits, expires_at, last_used_at, created_at, id)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        );
        bind_changeable(query, key)?
            .bind(key.last_used_at.map(from_instant))
            .bind(from_instant(key.created_at))
            .bind(key.id.as_str())
            .execute(self.database().writer())
            .await
            .map_err(|error| Error::from_write(error, WHAT))?;
        Ok(())
    }

    /// Writes everything a person may change, the digest and tail of a rotated key included. When the key was last
    /// used is [`Store::touch_key`]'s, when it was made is nobody's.
    pub async fn update_key(&self, key: &ClientKey) -> Result<(), Error> {
        let query = sqlx::query(
            "UPDATE api_keys SET name = ?, key_hash = ?, tail = ?, is_active = ?, scopes = ?, allowed_models = ?,
                                 allowed_combos = ?, allowed_connections = ?, preferred_connections = ?,
                                 excluded_auto_candidates = ?, budget_daily_usd = ?, budget_weekly_usd = ?,
                                 budget_monthly_usd = ?, warning_threshold = ?, reset_interval = ?, reset_time = ?,
                                 token_limits = ?, expires_at = ? WHERE id = ?",
        );
        let updated = bind_changeable(query, key)?
            .bind(key.id.as_str())
            .execute(self.database().writer())
            .await
            .map_err(|error| Error::from_write(error, WHAT))?;
        Error::unless_found(updated.rows_affected(), WHAT, key.id.as_str())
    }

    pub async fn delete_key(&self, id: &ClientKeyId) -> Result<(), Error> {
        let deleted = sqlx::query("DELETE FROM api_keys WHERE id = ?")
            .bind(id.as_str())
            .execute(self.database().writer())
            .await?;
        Error::unless_found(deleted.rows_affected(), WHAT, id.as_str())
    }

    /// Remembers that the key was used. Written behind: never waits, the latest instant wins.
    pub fn touch_key(&self, id: &ClientKeyId, at: Timestamp) {
        self.inner.writer.touch_key(id, at);
    }
}

/// Binds what a person may change, in the order of both statements.
fn bind_changeable(query: Written, key: &ClientKey) -> Result<Written, Error> {
    let limits = &key.limits;
    Ok(query
        .bind(&key.name)
        .bind(&key.hash[..])
        .bind(&key.tail)
        .bind(key.is_active)
        .bind(cell(key, "scopes").write_json(&key.scopes)?)
        .bind(cell(key, "allowed_models").write_json(&key.allowed_models)?)
        .bind(cell(key, "allowed_combos").write_json(&key.allowed_combos)?)
        .bind(cell(key, "allowed_connections").write_json(&key.allowed_connections)?)
        .bind(cell(key, "preferred_connections").write_json(&key.preferred_connections)?)
        .bind(cell(key, "excluded_auto_candidates").write_json(&key.excluded_auto_candidates)?)
        .bind(limits.budget_daily_usd)
        .bind(limits.budget_weekly_usd)
        .bind(limits.budget_monthly_usd)
        .bind(limits.warning_threshold)
        .bind(cell(key, "reset_interval").write_word(&limits.reset_interval)?)
        .bind(cell(key, "reset_time").write_word(&limits.reset_time)?)
        .bind(cell(key, "token_limits").write_json(&limits.token_limits)?)
        .bind(key.expires_at.map(from_instant)))
}

/// Writes a use; a key that is gone meanwhile is no error.
pub(crate) async fn write_last_used(
    connection: &mut SqliteConnection,
    id: &ClientKeyId,
    at: Timestamp,
) -> Result<(), Error> {
    sqlx::query("UPDATE api_keys SET last_used_at = max(coalesce(last_used_at, 0), ?) WHERE id = ?")
        .bind(from_instant(at))
        .bind(id.as_str())
        .execute(connection)
        .await?;
    Ok(())
}

/// Keys that may ask for a combo keep it under its new name.
pub(crate) async fn follow_combo(connection: &mut SqliteConnection, from: &str, to: &str) -> Result<(), Error> {
    sqlx::query(
        "UPDATE api_keys
         SET allowed_combos = (SELECT json_group_array(iif(value = ?1, ?2, value)) FROM json_each(allowed_combos))
         WHERE EXISTS (SELECT 1 FROM json_each(allowed_combos) WHERE value = ?1)",
    )
    .bind(from)
    .bind(to)
    .execute(connection)
    .await?;
    Ok(())
}

impl Row {
    fn into_key(self) -> Result<ClientKey, Error> {
        let cell = |column| Cell { table: "api_keys", column, id: &self.id };
        Ok(ClientKey {
            scopes: cell("scopes").read_json(&self.scopes)?,
            allowed_models: cell("allowed_models").read_json(&self.allowed_models)?,
            allowed_combos: cell("allowed_combos").read_json(&self.allowed_combos)?,
            allowed_connections: cell("allowed_connections").read_json(&self.allowed_connections)?,
            preferred_connections: cell("preferred_connections").read_json(&self.preferred_connections)?,
            // What cannot be read leaves pools as they are: it is a wish, and no limit (1.3).
            excluded_auto_candidates: cell("excluded_auto_candidates")
                .read_json(&self.excluded_auto_candidates)
                .unwrap_or_default(),
            limits: KeyLimits {
                budget_daily_usd: self.budget_daily_usd,
                budget_weekly_usd: self.budget_weekly_usd,
                budget_monthly_usd: self.budget_monthly_usd,
                warning_threshold: self.warning_threshold,
                reset_interval: cell("reset_interval").read_word(&self.reset_interval)?,
                reset_time: cell("reset_time").read_word(&self.reset_time)?,
                token_limits: cell("token_limits").read_json(&self.token_limits)?,
            },
            hash: cell("key_hash").read_array(&self.key_hash)?,
            name: self.name,
            tail: self.tail,
            is_active: self.is_active,
            expires_at: self.expires_at.map(to_instant),
            last_used_at: self.last_used_at.map(to_instant),
            created_at: to_instant(self.created_at),
            id: ClientKeyId::from(self.id),
        })
    }
}

fn cell<'a>(key: &'a ClientKey, column: &'static str) -> Cell<'a> {
    Cell { table: "api_keys", column, id: key.id.as_str() }
}
