//! Accounts at providers, and their sealed credentials (gateway specification, 4.4).
//!
//! A credential enters and leaves only as `SecretString`. The outgoing proxy's URL may carry a password and is sealed
//! too. When the key they were sealed with is gone, the connection is still listed: its credential is an error of its
//! own, and a proxy that cannot be read makes the credential unusable as well, so that nothing bypasses the proxy.

use std::collections::BTreeSet;

use domain::connection::{Connection, ProviderSpecific};
use domain::{ConnectionId, ProviderId, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use sqlx::{FromRow, SqliteConnection};

use crate::columns::{Cell, from_instant, to_instant};
use crate::database::Database;
use crate::sealing::{self, KeyId, Place, Sealer};
use crate::{CredentialError, Error, Store, resilience};

const WHAT: &str = "connection";
const TABLE: &str = "provider_connections";
const CREDENTIAL: &str = "api_key";
const PROXY: &str = "proxy_url";
const OVERRIDES: &str = "rate_limit_overrides_json";
const THRESHOLDS: &str = "quota_window_thresholds_json";
/// A shorter credential shows no tail: four characters would be most of it.
const SHORTEST_WITH_TAIL: usize = 8;
const TAIL_LENGTH: usize = 4;

/// What happens to the stored credential when a connection is updated.
#[derive(Clone, Debug, Default)]
pub enum CredentialChange {
    #[default]
    Keep,
    Set(SecretString),
    Clear,
}

/// A connection together with its credential.
#[derive(Clone, Debug)]
pub struct StoredConnection {
    pub connection: Connection,
    /// `None` when none is stored.
    pub credential: Result<Option<SecretString>, CredentialError>,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, provider, name, auth_type, priority, is_active, default_model, api_key, credential_tail,
                    max_concurrent, rate_limit_protection, rate_limit_overrides_json, quota_window_thresholds_json,
                    excluded_models, proxy_url, tags, provider_specific_data, created_at, updated_at
             FROM provider_connections ",
            $rest
        )
    };
}

#[derive(FromRow)]
struct Row {
    id: String,
    provider: String,
    name: String,
    auth_type: String,
    priority: u32,
    is_active: bool,
    default_model: Option<String>,
    api_key: Option<Vec<u8>>,
    credential_tail: Option<String>,
    max_concurrent: Option<u32>,
    rate_limit_protection: bool,
    rate_limit_overrides_json: String,
    quota_window_thresholds_json: String,
    excluded_models: String,
    proxy_url: Option<Vec<u8>>,
    tags: String,
    provider_specific_data: String,
    created_at: i64,
    updated_at: i64,
}

impl Store {
    /// Every connection that is not deleted, by provider, then priority, then age, with its credential: what the gateway
    /// keeps in memory.
    pub async fn load_connections(&self) -> Result<Vec<StoredConnection>, Error> {
        let rows: Vec<Row> =
            sqlx::query_as(select!("WHERE deleted_at IS NULL ORDER BY provider, priority, created_at, id"))
                .fetch_all(self.database().reader())
                .await?;
        rows.into_iter().map(|row| row.into_stored(&self.inner.sealer)).collect()
    }

    /// Stores a new connection and gives it back with the tail of its credential; the tail in `connection` is ignored.
    /// [`Error::Duplicate`] when the provider already has a connection of that name.
    pub async fn insert_connection(
        &self,
        connection: &Connection,
        credential: Option<SecretString>,
    ) -> Result<Connection, Error> {
        let stored = Connection { credential_tail: credential.as_ref().map(tail), ..connection.clone() };
        let sealed = credential.map(|secret| self.seal(&connection.id, CREDENTIAL, &secret)).transpose()?;
        sqlx::query(
            "INSERT INTO provider_connections (name, auth_type, priority, is_active, default_model, max_concurrent,
                    rate_limit_protection, rate_limit_overrides_json, quota_window_thresholds_json, excluded_models,
                    proxy_url, tags, provider_specific_data, updated_at, provider, api_key, credential_tail, created_at,
                    id)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(&stored.name)
        .bind(cell(&stored, "auth_type").write_word(&stored.auth_type)?)
        .bind(stored.priority)
        .bind(stored.is_active)
        .bind(&stored.default_model)
        .bind(stored.max_concurrent)
        .bind(stored.rate_limit_protection)
        .bind(cell(&stored, OVERRIDES).write_json(&stored.rate_limit_overrides)?)
        .bind(cell(&stored, THRESHOLDS).write_json(&stored.quota_window_thresholds)?)
        .bind(cell(&stored, "excluded_models").write_json(&stored.excluded_models)?)
        .bind(self.sealed_proxy(&stored)?)
        .bind(cell(&stored, "tags").write_json(&stored.tags)?)
        .bind(write_specific(&stored)?)
        .bind(from_instant(stored.updated_at))
        .bind(stored.provider.as_str())
        .bind(sealed)
        .bind(&stored.credential_tail)
        .bind(from_instant(stored.created_at))
        .bind(stored.id.as_str())
        .execute(self.database().writer())
        .await
        .map_err(|error| Error::from_write(error, WHAT))?;
        Ok(stored)
    }

    /// Writes everything but the id, the provider and the instant of creation, and gives back what is stored now; the
    /// tail in `connection` is ignored. Another credential forgets how the connection fared. With `expected_updated_at`, [`Error::Stale`] when the record has changed since.
    pub async fn update_connection(
        &self,
        connection: &Connection,
        credential: CredentialChange,
        expected_updated_at: Option<Timestamp>,
    ) -> Result<Connection, Error> {
        let id = &connection.id;
        let mut transaction = self.database().begin().await?;
        let updated_at: Option<i64> =
            sqlx::query_scalar("SELECT updated_at FROM provider_connections WHERE id = ? AND deleted_at IS NULL")
                .bind(id.as_str())
                .fetch_optional(&mut *transaction)
                .await?;
        Error::unless_current(updated_at.map(to_instant), expected_updated_at, WHAT, id.as_str())?;
        self.write_record(&mut transaction, connection).await?;
        match credential {
            CredentialChange::Keep => {}
            CredentialChange::Set(secret) => self.replace_credential(&mut transaction, id, Some(&secret)).await?,
            CredentialChange::Clear => self.replace_credential(&mut transaction, id, None).await?,
        }
        let stored = self.find(&mut transaction, id).await?;
        transaction.commit().await?;
        stored.map(|stored| stored.connection).ok_or_else(|| not_found(id))
    }

    /// Deletes a connection so that [`Store::restore_connection`] can undo it. Its name is free at once; how it fared is
    /// forgotten.
    pub async fn delete_connection(&self, id: &ConnectionId, at: Timestamp) -> Result<(), Error> {
        let mut transaction = self.database().begin().await?;
        let deleted = sqlx::query("UPDATE provider_connections SET deleted_at = ? WHERE id = ? AND deleted_at IS NULL")
            .bind(from_instant(at))
            .bind(id.as_str())
            .execute(&mut *transaction)
            .await?;
        Error::unless_found(deleted.rows_affected(), WHAT, id.as_str())?;
        resilience::forget(&mut transaction, id).await?;
        transaction.commit().await?;
        self.inner.writer.forget(id);
        Ok(())
    }

    /// Undoes a deletion. [`Error::Duplicate`] when its name was given away meanwhile.
    pub async fn restore_connection(&self, id: &ConnectionId, at: Timestamp) -> Result<Connection, Error> {
        let mut transaction = self.database().begin().await?;
        let restored = sqlx::query(
            "UPDATE provider_connections SET deleted_at = NULL, updated_at = ?
             WHERE id = ? AND deleted_at IS NOT NULL",
        )
        .bind(from_instant(at))
        .bind(id.as_str())
        .execute(&mut *transaction)
        .await
        .map_err(|error| Error::from_write(error, WHAT))?;
        Error::unless_found(restored.rows_affected(), WHAT, id.as_str())?;
        let stored = self.find(&mut transaction, id).await?;
        transaction.commit().await?;
        stored.map(|stored| stored.connection).ok_or_else(|| not_found(id))
    }

    /// Removes for good what was deleted before `before`; returns how many.
    pub async fn purge_connections(&self, before: Timestamp) -> Result<u64, Error> {
        let purged = sqlx::query("DELETE FROM provider_connections WHERE deleted_at < ?")
            .bind(from_instant(before))
            .execute(self.database().writer())
            .await?;
        Ok(purged.rows_affected())
    }

    /// Gives the connections of a provider the priorities 1, 2, 3, … in the given order.
    /// [`Error::OrderIncomplete`] unless `ids` names each of them exactly once.
    pub async fn reorder_connections(
        &self,
        provider: &ProviderId,
        ids: &[ConnectionId],
        at: Timestamp,
    ) -> Result<(), Error> {
        let mut transaction = self.database().begin().await?;
        let known: Vec<String> =
            sqlx::query_scalar("SELECT id FROM provider_connections WHERE provider = ? AND deleted_at IS NULL")
                .bind(provider.as_str())
                .fetch_all(&mut *transaction)
                .await?;
        let known: BTreeSet<&str> = known.iter().map(String::as_str).collect();
        let named: BTreeSet<&str> = ids.iter().map(ConnectionId::as_str).collect();
        if known != named || named.len() != ids.len() {
            return Err(Error::OrderIncomplete { provider: provider.to_string() });
        }
        for (priority, id) in (1_u32..).zip(ids) {
            sqlx::query("UPDATE provider_connections SET priority = ?, updated_at = ? WHERE id = ? AND priority <> ?")
                .bind(priority)
                .bind(from_instant(at))
                .bind(id.as_str())
                .bind(priority)
                .execute(&mut *transaction)
                .await?;
        }
        Ok(transaction.commit().await?)
    }

    async fn find(
        &self,
        connection: &mut SqliteConnection,
        id: &ConnectionId,
    ) -> Result<Option<StoredConnection>, Error> {
        let row: Option<Row> = sqlx::query_as(select!("WHERE id = ? AND deleted_at IS NULL"))
            .bind(id.as_str())
            .fetch_optional(connection)
            .await?;
        row.map(|row| row.into_stored(&self.inner.sealer)).transpose()
    }

    async fn write_record(&self, writer: &mut SqliteConnection, connection: &Connection) -> Result<(), Error> {
        sqlx::query(
            "UPDATE provider_connections SET name = ?, auth_type = ?, priority = ?, is_active = ?, default_model = ?,
                    max_concurrent = ?, rate_limit_protection = ?, rate_limit_overrides_json = ?,
                    quota_window_thresholds_json = ?, excluded_models = ?, proxy_url = ?, tags = ?,
                    provider_specific_data = ?, updated_at = ?
             WHERE id = ?",
        )
        .bind(&connection.name)
        .bind(cell(connection, "auth_type").write_word(&connection.auth_type)?)
        .bind(connection.priority)
        .bind(connection.is_active)
        .bind(&connection.default_model)
        .bind(connection.max_concurrent)
        .bind(connection.rate_limit_protection)
        .bind(cell(connection, OVERRIDES).write_json(&connection.rate_limit_overrides)?)
        .bind(cell(connection, THRESHOLDS).write_json(&connection.quota_window_thresholds)?)
        .bind(cell(connection, "excluded_models").write_json(&connection.excluded_models)?)
        .bind(self.sealed_proxy(connection)?)
        .bind(cell(connection, "tags").write_json(&connection.tags)?)
        .bind(write_specific(connection)?)
        .bind(from_instant(connection.updated_at))
        .bind(connection.id.as_str())
        .execute(writer)
        .await
        .map_err(|error| Error::from_write(error, WHAT))?;
        Ok(())
    }

    /// What was known about the connection was about the credential it had.
    async fn replace_credential(
        &self,
        writer: &mut SqliteConnection,
        id: &ConnectionId,
        credential: Option<&SecretString>,
    ) -> Result<(), Error> {
        sqlx::query("UPDATE provider_connections SET api_key = ?, credential_tail = ? WHERE id = ?")
            .bind(credential.map(|secret| self.seal(id, CREDENTIAL, secret)).transpose()?)
            .bind(credential.map(tail))
            .bind(id.as_str())
            .execute(&mut *writer)
            .await?;
        resilience::forget(writer, id).await
    }

    fn sealed_proxy(&self, connection: &Connection) -> Result<Option<Vec<u8>>, Error> {
        let url = connection.proxy_url.clone().map(SecretString::from);
        url.map(|url| self.seal(&connection.id, PROXY, &url)).transpose()
    }

    fn seal(&self, id: &ConnectionId, column: &'static str, secret: &SecretString) -> Result<Vec<u8>, Error> {
        self.inner.sealer.seal(Place { table: TABLE, row: id.as_str(), column }, secret)
    }
}

/// Every key that a stored secret was sealed with.
pub(crate) async fn sealing_keys(database: &Database) -> Result<BTreeSet<KeyId>, Error> {
    let sealed: Vec<Vec<u8>> = sqlx::query_scalar(
        "SELECT api_key FROM provider_connections WHERE api_key IS NOT NULL
         UNION ALL SELECT proxy_url FROM provider_connections WHERE proxy_url IS NOT NULL",
    )
    .fetch_all(database.writer())
    .await?;
    Ok(sealed.iter().filter_map(|value| sealing::key_id(value)).collect())
}

impl Row {
    fn into_stored(self, sealer: &Sealer) -> Result<StoredConnection, Error> {
        let open = |column, sealed: &Option<Vec<u8>>| {
            let place = Place { table: TABLE, row: &self.id, column };
            sealed.as_ref().map(|sealed| sealer.open(place, sealed)).transpose()
        };
        let credential = open(CREDENTIAL, &self.api_key);
        let proxy = open(PROXY, &self.proxy_url);
        let credential = proxy.as_ref().map_err(|error| *error).and(credential);
        let proxy_url = proxy.ok().flatten().map(|url| url.expose_secret().to_owned());
        Ok(StoredConnection { connection: self.into_connection(proxy_url)?, credential })
    }

    fn into_connection(self, proxy_url: Option<String>) -> Result<Connection, Error> {
        let cell = |column| Cell { table: TABLE, column, id: &self.id };
        let (specific, extra) = read_specific(cell("provider_specific_data"), &self.provider_specific_data)?;
        Ok(Connection {
            auth_type: cell("auth_type").read_word(&self.auth_type)?,
            excluded_models: cell("excluded_models").read_json(&self.excluded_models)?,
            tags: cell("tags").read_json(&self.tags)?,
            rate_limit_overrides: cell(OVERRIDES).read_json(&self.rate_limit_overrides_json)?,
            quota_window_thresholds: cell(THRESHOLDS).read_json(&self.quota_window_thresholds_json)?,
            rate_limit_protection: self.rate_limit_protection,
            provider: ProviderId::from(self.provider),
            name: self.name,
            priority: self.priority,
            is_active: self.is_active,
            default_model: self.default_model,
            credential_tail: self.credential_tail,
            max_concurrent: self.max_concurrent,
            proxy_url,
            specific,
            extra,
            created_at: to_instant(self.created_at),
            updated_at: to_instant(self.updated_at),
            id: ConnectionId::from(self.id),
        })
    }
}

/// One JSON object: the interpreted members over the ones that are only kept.
fn write_specific(connection: &Connection) -> Result<String, Error> {
    let cell = cell(connection, "provider_specific_data");
    let mut object = connection.extra.clone();
    object.extend(cell.object(&connection.specific)?);
    cell.write_json(&object)
}

fn read_specific(cell: Cell<'_>, text: &str) -> Result<(ProviderSpecific, Map<String, Value>), Error> {
    let specific: ProviderSpecific = cell.read_json(text)?;
    let mut extra: Map<String, Value> = cell.read_json(text)?;
    for name in cell.object(&specific)?.keys() {
        extra.remove(name);
    }
    Ok((specific, extra))
}

/// Last characters of a credential, for recognition; empty when it is too short to show any.
fn tail(credential: &SecretString) -> String {
    let length = credential.expose_secret().chars().count();
    let hidden = if length < SHORTEST_WITH_TAIL { length } else { length - TAIL_LENGTH };
    credential.expose_secret().chars().skip(hidden).collect()
}

fn not_found(id: &ConnectionId) -> Error {
    Error::NotFound { what: WHAT, id: id.to_string() }
}

fn cell<'a>(connection: &'a Connection, column: &'static str) -> Cell<'a> {
    Cell { table: TABLE, column, id: connection.id.as_str() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_never_gives_a_short_credential_away() {
        for (credential, expected) in [
            ("", ""),
            ("k1", ""),
            ("1234567", ""),
            ("12345678", "5678"),
            ("sk-ant-api03-wxyz", "wxyz"),
            ("schlüssel-äöüß", "äöüß"),
        ] {
            assert_eq!(tail(&SecretString::from(credential)), expected, "{credential}");
        }
    }
}
