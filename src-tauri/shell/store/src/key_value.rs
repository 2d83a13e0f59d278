//! Small named values: settings sections, flags, what mechanisms remember (gateway specification, 5.5).

use std::collections::BTreeMap;

use domain::Timestamp;
use serde_json::Value;
use sqlx::SqliteConnection;

use crate::columns::{Cell, from_instant};
use crate::database::Database;
use crate::{Error, Store};

/// The store's own namespace.
const OWN: &str = "store";
const KEYCHAIN_ACCOUNT: &str = "keychainAccount";

impl Store {
    pub async fn get_value(&self, namespace: &str, key: &str) -> Result<Option<Value>, Error> {
        let text: Option<String> = sqlx::query_scalar("SELECT value FROM key_value WHERE namespace = ? AND key = ?")
            .bind(namespace)
            .bind(key)
            .fetch_optional(self.database().reader())
            .await?;
        text.map(|text| cell(key).read_json(&text)).transpose()
    }

    /// Everything in a namespace, by key. A value that is no JSON is left out, and said to be.
    pub async fn list_values(&self, namespace: &str) -> Result<BTreeMap<String, Value>, Error> {
        let rows: Vec<(String, String)> =
            sqlx::query_as("SELECT key, value FROM key_value WHERE namespace = ? ORDER BY key")
                .bind(namespace)
                .fetch_all(self.database().reader())
                .await?;
        let readable = |(key, text): (String, String)| {
            let value = cell(&key).read_json(&text);
            let value = value.inspect_err(|error| tracing::warn!(%error, namespace, key, "a stored value is left out"));
            Some((key, value.ok()?))
        };
        Ok(rows.into_iter().filter_map(readable).collect())
    }

    pub async fn put_value(&self, namespace: &str, key: &str, value: &Value, at: Timestamp) -> Result<(), Error> {
        let mut writer = self.database().writer().acquire().await?;
        put(&mut writer, namespace, key, value, at).await
    }

    /// Changes several values of a namespace, all or none; `None` deletes.
    pub async fn change_values(
        &self,
        namespace: &str,
        changes: &BTreeMap<String, Option<Value>>,
        at: Timestamp,
    ) -> Result<(), Error> {
        let mut transaction = self.database().begin().await?;
        for (key, change) in changes {
            match change {
                Some(value) => put(&mut transaction, namespace, key, value, at).await?,
                None => {
                    delete(&mut transaction, namespace, key).await?;
                }
            }
        }
        Ok(transaction.commit().await?)
    }
}

/// Under which account this folder's data key stands in the keychain: made up once, so that it survives a move of the
/// folder and two folders never share an entry.
pub(crate) async fn keychain_account(database: &Database, at: Timestamp) -> Result<String, Error> {
    let mut transaction = database.begin().await?;
    let known: Option<String> = sqlx::query_scalar("SELECT value FROM key_value WHERE namespace = ? AND key = ?")
        .bind(OWN)
        .bind(KEYCHAIN_ACCOUNT)
        .fetch_optional(&mut *transaction)
        .await?;
    if let Some(text) = known {
        return cell(KEYCHAIN_ACCOUNT).read_json(&text);
    }
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random).map_err(Error::Randomness)?;
    let account = format!("data-key-{:016x}", u64::from_be_bytes(random));
    put(&mut transaction, OWN, KEYCHAIN_ACCOUNT, &Value::String(account.clone()), at).await?;
    transaction.commit().await?;
    Ok(account)
}

pub(crate) async fn put(
    connection: &mut SqliteConnection,
    namespace: &str,
    key: &str,
    value: &Value,
    at: Timestamp,
) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO key_value (namespace, key, value, updated_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
    )
    .bind(namespace)
    .bind(key)
    .bind(cell(key).write_json(value)?)
    .bind(from_instant(at))
    .execute(connection)
    .await?;
    Ok(())
}

pub(crate) async fn delete(connection: &mut SqliteConnection, namespace: &str, key: &str) -> Result<bool, Error> {
    let deleted = sqlx::query("DELETE FROM key_value WHERE namespace = ? AND key = ?")
        .bind(namespace)
        .bind(key)
        .execute(connection)
        .await?;
    Ok(deleted.rows_affected() > 0)
}

fn cell(key: &str) -> Cell<'_> {
    Cell { table: "key_value", column: "value", id: key }
}
