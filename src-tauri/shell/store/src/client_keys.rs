//! Keys that agents present (gateway specification, 1.3): their digest, never their text.

use domain::client_key::ClientKey;
use domain::{ClientKeyId, Timestamp};
use sqlx::{FromRow, SqliteConnection};

use crate::columns::{Cell, from_instant, to_instant};
use crate::{Error, Store};

const WHAT: &str = "key";

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, key_hash, tail, is_active, scopes, allowed_models, allowed_connections, expires_at,
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
    allowed_connections: String,
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
        sqlx::query(
            "INSERT INTO api_keys (name, key_hash, tail, is_active, scopes, allowed_models, allowed_connections,
                                   expires_at, last_used_at, created_at, id)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(&key.name)
        .bind(&key.hash[..])
        .bind(&key.tail)
        .bind(key.is_active)
        .bind(cell(key, "scopes").write_json(&key.scopes)?)
        .bind(cell(key, "allowed_models").write_json(&key.allowed_models)?)
        .bind(cell(key, "allowed_connections").write_json(&key.allowed_connections)?)
        .bind(key.expires_at.map(from_instant))
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
        let updated = sqlx::query(
            "UPDATE api_keys SET name = ?, key_hash = ?, tail = ?, is_active = ?, scopes = ?, allowed_models = ?,
                                 allowed_connections = ?, expires_at = ? WHERE id = ?",
        )
        .bind(&key.name)
        .bind(&key.hash[..])
        .bind(&key.tail)
        .bind(key.is_active)
        .bind(cell(key, "scopes").write_json(&key.scopes)?)
        .bind(cell(key, "allowed_models").write_json(&key.allowed_models)?)
        .bind(cell(key, "allowed_connections").write_json(&key.allowed_connections)?)
        .bind(key.expires_at.map(from_instant))
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

impl Row {
    fn into_key(self) -> Result<ClientKey, Error> {
        let cell = |column| Cell { table: "api_keys", column, id: &self.id };
        Ok(ClientKey {
            scopes: cell("scopes").read_json(&self.scopes)?,
            allowed_models: cell("allowed_models").read_json(&self.allowed_models)?,
            allowed_connections: cell("allowed_connections").read_json(&self.allowed_connections)?,
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
