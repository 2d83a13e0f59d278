//! A user's own names for models (gateway specification, 1.4 rule 6).

use domain::{AliasId, model_alias::ModelAlias};
use sqlx::FromRow;

use crate::columns::{from_instant, to_instant};
use crate::{Error, Store};

const WHAT: &str = "alias";

#[derive(FromRow)]
struct Row {
    id: String,
    alias: String,
    target: String,
    created_at: i64,
}

impl Store {
    /// Every alias, by name.
    pub async fn list_aliases(&self) -> Result<Vec<ModelAlias>, Error> {
        let rows: Vec<Row> = sqlx::query_as("SELECT id, alias, target, created_at FROM model_aliases ORDER BY alias")
            .fetch_all(self.database().reader())
            .await?;
        Ok(rows.into_iter().map(ModelAlias::from).collect())
    }

    pub async fn get_alias(&self, id: &AliasId) -> Result<Option<ModelAlias>, Error> {
        let row: Option<Row> = sqlx::query_as("SELECT id, alias, target, created_at FROM model_aliases WHERE id = ?")
            .bind(id.as_str())
            .fetch_optional(self.database().reader())
            .await?;
        Ok(row.map(ModelAlias::from))
    }

    /// [`Error::Duplicate`] when the alias is taken.
    pub async fn insert_alias(&self, alias: &ModelAlias) -> Result<(), Error> {
        sqlx::query("INSERT INTO model_aliases (id, alias, target, created_at) VALUES (?, ?, ?, ?)")
            .bind(alias.id.as_str())
            .bind(&alias.alias)
            .bind(&alias.target)
            .bind(from_instant(alias.created_at))
            .execute(self.database().writer())
            .await
            .map_err(|error| Error::from_write(error, WHAT))?;
        Ok(())
    }

    pub async fn update_alias(&self, alias: &ModelAlias) -> Result<(), Error> {
        let updated = sqlx::query("UPDATE model_aliases SET alias = ?, target = ? WHERE id = ?")
            .bind(&alias.alias)
            .bind(&alias.target)
            .bind(alias.id.as_str())
            .execute(self.database().writer())
            .await
            .map_err(|error| Error::from_write(error, WHAT))?;
        Error::unless_found(updated.rows_affected(), WHAT, alias.id.as_str())
    }

    pub async fn delete_alias(&self, id: &AliasId) -> Result<(), Error> {
        let deleted = sqlx::query("DELETE FROM model_aliases WHERE id = ?")
            .bind(id.as_str())
            .execute(self.database().writer())
            .await?;
        Error::unless_found(deleted.rows_affected(), WHAT, id.as_str())
    }
}

impl From<Row> for ModelAlias {
    fn from(row: Row) -> ModelAlias {
        ModelAlias {
            id: AliasId::from(row.id),
            alias: row.alias,
            target: row.target,
            created_at: to_instant(row.created_at),
        }
    }
}
