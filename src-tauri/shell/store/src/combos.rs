//! Combos, and the patterns that lead to them (gateway specification, 1.4 and 3.1).
//!
//! Changes of several combos are one transaction: a rename carries along whoever leads to the name, an import is taken
//! whole or not at all.

use std::collections::BTreeSet;

use domain::Timestamp;
use routing::combo::{Combo, Mapping, Strategy};
use sqlx::{FromRow, SqliteConnection};

use crate::columns::{Cell, from_instant, to_instant};
use crate::{Error, Store, client_keys, routing_memory};

const WHAT: &str = "combo";
const MAPPING: &str = "mapping";

#[derive(FromRow)]
struct Row {
    id: String,
    name: String,
    strategy: String,
    models: String,
    config: String,
    system_message: Option<String>,
    context_cache_protection: bool,
    is_hidden: bool,
    is_active: bool,
    sort_order: u32,
    composite_tiers: Option<String>,
    created_at: i64,
    updated_at: i64,
}

#[derive(FromRow)]
struct MappingRow {
    id: String,
    pattern: String,
    combo_id: String,
    priority: u32,
    enabled: bool,
    created_at: i64,
    updated_at: i64,
}

/// A combo has another name from now on.
#[derive(Clone, Copy, Debug)]
pub struct Renamed<'a> {
    pub from: &'a str,
    pub to: &'a str,
}

impl Store {
    /// Every combo in its owner's order. One that cannot be read is left out, and said to be.
    pub async fn list_combos(&self) -> Result<Vec<Combo>, Error> {
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT id, name, strategy, models, config, system_message, context_cache_protection, is_hidden, is_active,
                    sort_order, composite_tiers, created_at, updated_at FROM combos ORDER BY sort_order, created_at, id",
        )
        .fetch_all(self.database().reader())
        .await?;
        let readable = |row: Row| {
            let name = row.name.clone();
            let combo = row.into_combo();
            combo.inspect_err(|error| tracing::warn!(%error, combo = name, "a stored combo is left out")).ok()
        };
        Ok(rows.into_iter().filter_map(readable).collect())
    }

    /// Writes combos, new ones and known ones, all or none. With `renamed`, aliases of the old name become those of the
    /// new one, and keys that may ask for it go on to. [`Error::Duplicate`] when a name is taken.
    pub async fn save_combos(&self, combos: &[Combo], renamed: Option<Renamed<'_>>) -> Result<(), Error> {
        let mut transaction = self.database().begin().await?;
        for combo in combos {
            write(&mut transaction, combo).await?;
        }
        if let Some(Renamed { from, to }) = renamed {
            sqlx::query("UPDATE model_aliases SET target = ? WHERE target = ?")
                .bind(to)
                .bind(from)
                .execute(&mut *transaction)
                .await?;
            client_keys::follow_combo(&mut transaction, from, to).await?;
        }
        Ok(transaction.commit().await?)
    }

    /// Gives the combos the places 0, 1, 2, … in the given order. [`Error::ComboOrderIncomplete`] unless `ids` names each
    /// of them exactly once.
    pub async fn reorder_combos(&self, ids: &[String], at: Timestamp) -> Result<(), Error> {
        let mut transaction = self.database().begin().await?;
        let known: Vec<String> = sqlx::query_scalar("SELECT id FROM combos").fetch_all(&mut *transaction).await?;
        let known: BTreeSet<&str> = known.iter().map(String::as_str).collect();
        let named: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
        if known != named || named.len() != ids.len() {
            return Err(Error::ComboOrderIncomplete);
        }
        for (place, id) in (0_u32..).zip(ids) {
            sqlx::query("UPDATE combos SET sort_order = ?, updated_at = max(updated_at + 1, ?) WHERE id = ? AND sort_order <> ?")
                .bind(place)
                .bind(from_instant(at))
                .bind(id)
                .bind(place)
                .execute(&mut *transaction)
                .await?;
        }
        Ok(transaction.commit().await?)
    }

    /// Deletes a combo and what routing remembered of it. Whoever still leads to it is the caller's to ask first;
    /// mappings to it are refused here too.
    pub async fn delete_combo(&self, id: &str) -> Result<(), Error> {
        let mut transaction = self.database().begin().await?;
        let patterns: Vec<String> =
            sqlx::query_scalar("SELECT pattern FROM model_combo_mappings WHERE combo_id = ? ORDER BY pattern")
                .bind(id)
                .fetch_all(&mut *transaction)
                .await?;
        if !patterns.is_empty() {
            return Err(Error::InUse { by: patterns });
        }
        let deleted = sqlx::query("DELETE FROM combos WHERE id = ?").bind(id).execute(&mut *transaction).await?;
        Error::unless_found(deleted.rows_affected(), WHAT, id)?;
        routing_memory::forget(&mut transaction, id).await?;
        Ok(transaction.commit().await?)
    }

    /// Every mapping, in the order in which they are asked.
    pub async fn list_mappings(&self) -> Result<Vec<Mapping>, Error> {
        let rows: Vec<MappingRow> = sqlx::query_as(
            "SELECT id, pattern, combo_id, priority, enabled, created_at, updated_at FROM model_combo_mappings",
        )
        .fetch_all(self.database().reader())
        .await?;
        let mut mappings: Vec<Mapping> = rows.into_iter().map(Mapping::from).collect();
        Mapping::sort(&mut mappings);
        Ok(mappings)
    }

    /// Writes a mapping, a new one or a known one. [`Error::NotFound`] when its combo does not exist.
    pub async fn save_mapping(&self, mapping: &Mapping) -> Result<(), Error> {
        let written = sqlx::query(
            "INSERT INTO model_combo_mappings (id, pattern, combo_id, priority, enabled, created_at, updated_at)
             VALUES (?, ?, ?, ?, ?, ?, ?)
             ON CONFLICT (id) DO UPDATE SET pattern = excluded.pattern, combo_id = excluded.combo_id,
                 priority = excluded.priority, enabled = excluded.enabled, updated_at = excluded.updated_at",
        )
        .bind(&mapping.id)
        .bind(&mapping.pattern)
        .bind(&mapping.combo_id)
        .bind(mapping.priority)
        .bind(mapping.enabled)
        .bind(from_instant(mapping.created_at))
        .bind(from_instant(mapping.updated_at))
        .execute(self.database().writer())
        .await;
        let orphaned =
            |error: &sqlx::Error| error.as_database_error().is_some_and(|database| database.is_foreign_key_violation());
        match written {
            Ok(_) => Ok(()),
            Err(error) if orphaned(&error) => Err(Error::NotFound { what: WHAT, id: mapping.combo_id.clone() }),
            Err(error) => Err(error.into()),
        }
    }

    pub async fn delete_mapping(&self, id: &str) -> Result<(), Error> {
        let deleted = sqlx::query("DELETE FROM model_combo_mappings WHERE id = ?")
            .bind(id)
            .execute(self.database().writer())
            .await?;
        Error::unless_found(deleted.rows_affected(), MAPPING, id)
    }
}

async fn write(connection: &mut SqliteConnection, combo: &Combo) -> Result<(), Error> {
    let cell = |column| Cell { table: "combos", column, id: &combo.id };
    let tiers = combo.composite_tiers.as_ref().map(|tiers| cell("composite_tiers").write_json(tiers)).transpose()?;
    sqlx::query(
        "INSERT INTO combos (id, name, strategy, models, config, system_message, context_cache_protection, is_hidden,
                             is_active, sort_order, composite_tiers, created_at, updated_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET name = excluded.name, strategy = excluded.strategy, models = excluded.models,
             config = excluded.config, system_message = excluded.system_message,
             context_cache_protection = excluded.context_cache_protection, is_hidden = excluded.is_hidden,
             is_active = excluded.is_active, sort_order = excluded.sort_order,
             composite_tiers = excluded.composite_tiers, updated_at = excluded.updated_at",
    )
    .bind(&combo.id)
    .bind(&combo.name)
    .bind(combo.strategy.as_str())
    .bind(cell("models").write_json(&combo.models)?)
    .bind(cell("config").write_json(&combo.config)?)
    .bind(&combo.system_message)
    .bind(combo.context_cache_protection)
    .bind(combo.is_hidden)
    .bind(combo.is_active)
    .bind(combo.order)
    .bind(tiers)
    .bind(from_instant(combo.created_at))
    .bind(from_instant(combo.updated_at))
    .execute(connection)
    .await
    .map_err(|error| Error::from_write(error, WHAT))?;
    Ok(())
}

impl Row {
    fn into_combo(self) -> Result<Combo, Error> {
        let cell = |column| Cell { table: "combos", column, id: &self.id };
        let tiers = self.composite_tiers.as_deref().map(|text| cell("composite_tiers").read_json(text)).transpose()?;
        Ok(Combo {
            strategy: Strategy::stored(&self.strategy),
            models: cell("models").read_json(&self.models)?,
            config: cell("config").read_json(&self.config)?,
            composite_tiers: tiers,
            name: self.name,
            system_message: self.system_message,
            context_cache_protection: self.context_cache_protection,
            is_hidden: self.is_hidden,
            is_active: self.is_active,
            order: self.sort_order,
            created_at: to_instant(self.created_at),
            updated_at: to_instant(self.updated_at),
            id: self.id,
        })
    }
}

impl From<MappingRow> for Mapping {
    fn from(row: MappingRow) -> Mapping {
        Mapping {
            id: row.id,
            pattern: row.pattern,
            combo_id: row.combo_id,
            priority: row.priority,
            enabled: row.enabled,
            created_at: to_instant(row.created_at),
            updated_at: to_instant(row.updated_at),
        }
    }
}
