//! Custom providers (gateway specification, 4.2).

use domain::node::CustomNode;
use domain::{NodeId, Timestamp};
use sqlx::FromRow;

use crate::columns::{Cell, from_instant, to_instant};
use crate::{Error, Store};

const WHAT: &str = "custom provider";

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, prefix, api_type, base_url, auth_carrier, extra_headers, models_path,
                    allow_private_network, provider_class, created_at, updated_at FROM provider_nodes ",
            $rest
        )
    };
}

#[derive(FromRow)]
struct Row {
    id: String,
    name: String,
    prefix: String,
    api_type: String,
    base_url: String,
    auth_carrier: String,
    extra_headers: String,
    models_path: Option<String>,
    allow_private_network: bool,
    provider_class: String,
    created_at: i64,
    updated_at: i64,
}

impl Store {
    /// Every custom provider, by name.
    pub async fn list_nodes(&self) -> Result<Vec<CustomNode>, Error> {
        let rows: Vec<Row> = sqlx::query_as(select!("ORDER BY name, id")).fetch_all(self.database().reader()).await?;
        rows.into_iter().map(Row::into_node).collect()
    }

    pub async fn get_node(&self, id: &NodeId) -> Result<Option<CustomNode>, Error> {
        let row: Option<Row> =
            sqlx::query_as(select!("WHERE id = ?")).bind(id.as_str()).fetch_optional(self.database().reader()).await?;
        row.map(Row::into_node).transpose()
    }

    /// [`Error::Duplicate`] when the prefix is taken.
    pub async fn insert_node(&self, node: &CustomNode) -> Result<(), Error> {
        sqlx::query(
            "INSERT INTO provider_nodes (name, prefix, api_type, base_url, auth_carrier, extra_headers, models_path,
                                         allow_private_network, provider_class, created_at, updated_at, id)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(&node.name)
        .bind(&node.prefix)
        .bind(node.api_type.as_str())
        .bind(&node.base_url)
        .bind(cell(node, "auth_carrier").write_word(&node.auth_carrier)?)
        .bind(cell(node, "extra_headers").write_json(&node.extra_headers)?)
        .bind(&node.models_path)
        .bind(node.allow_private_network)
        .bind(node.provider_class.as_str())
        .bind(from_instant(node.created_at))
        .bind(from_instant(node.updated_at))
        .bind(node.id.as_str())
        .execute(self.database().writer())
        .await
        .map_err(|error| Error::from_write(error, WHAT))?;
        Ok(())
    }

    /// Writes everything but the id and the instant of creation. With `expected_updated_at`, [`Error::Stale`] when the
    /// record has changed since.
    pub async fn update_node(&self, node: &CustomNode, expected_updated_at: Option<Timestamp>) -> Result<(), Error> {
        let mut transaction = self.database().begin().await?;
        let updated_at: Option<i64> = sqlx::query_scalar("SELECT updated_at FROM provider_nodes WHERE id = ?")
            .bind(node.id.as_str())
            .fetch_optional(&mut *transaction)
            .await?;
        Error::unless_current(updated_at.map(to_instant), expected_updated_at, WHAT, node.id.as_str())?;
        sqlx::query(
            "UPDATE provider_nodes SET name = ?, prefix = ?, api_type = ?, base_url = ?, auth_carrier = ?,
                    extra_headers = ?, models_path = ?, allow_private_network = ?, provider_class = ?, updated_at = ?
             WHERE id = ?",
        )
        .bind(&node.name)
        .bind(&node.prefix)
        .bind(node.api_type.as_str())
        .bind(&node.base_url)
        .bind(cell(node, "auth_carrier").write_word(&node.auth_carrier)?)
        .bind(cell(node, "extra_headers").write_json(&node.extra_headers)?)
        .bind(&node.models_path)
        .bind(node.allow_private_network)
        .bind(node.provider_class.as_str())
        .bind(from_instant(node.updated_at))
        .bind(node.id.as_str())
        .execute(&mut *transaction)
        .await
        .map_err(|error| Error::from_write(error, WHAT))?;
        Ok(transaction.commit().await?)
    }

    /// [`Error::InUse`] while connections use it. Deleted connections of it can no longer be restored.
    pub async fn delete_node(&self, id: &NodeId) -> Result<(), Error> {
        let mut transaction = self.database().begin().await?;
        let by: Vec<String> = sqlx::query_scalar(
            "SELECT name FROM provider_connections WHERE provider = ? AND deleted_at IS NULL ORDER BY priority, name",
        )
        .bind(id.as_str())
        .fetch_all(&mut *transaction)
        .await?;
        if !by.is_empty() {
            return Err(Error::InUse { by });
        }
        sqlx::query("DELETE FROM provider_connections WHERE provider = ?")
            .bind(id.as_str())
            .execute(&mut *transaction)
            .await?;
        let deleted =
            sqlx::query("DELETE FROM provider_nodes WHERE id = ?").bind(id.as_str()).execute(&mut *transaction).await?;
        Error::unless_found(deleted.rows_affected(), WHAT, id.as_str())?;
        Ok(transaction.commit().await?)
    }
}

impl Row {
    fn into_node(self) -> Result<CustomNode, Error> {
        let cell = |column| Cell { table: "provider_nodes", column, id: &self.id };
        Ok(CustomNode {
            api_type: cell("api_type").read_word(&self.api_type)?,
            auth_carrier: cell("auth_carrier").read_word(&self.auth_carrier)?,
            extra_headers: cell("extra_headers").read_json(&self.extra_headers)?,
            provider_class: cell("provider_class").read_word(&self.provider_class)?,
            name: self.name,
            prefix: self.prefix,
            base_url: self.base_url,
            models_path: self.models_path,
            allow_private_network: self.allow_private_network,
            created_at: to_instant(self.created_at),
            updated_at: to_instant(self.updated_at),
            id: NodeId::from(self.id),
        })
    }
}

fn cell<'a>(node: &'a CustomNode, column: &'static str) -> Cell<'a> {
    Cell { table: "provider_nodes", column, id: node.id.as_str() }
}
