//! What strategies remember over a restart: the last known good target, and how often each was used (gateway
//! specification, 3.4). One document per combo or virtual name; what stands in it is the strategies' business.

use std::collections::{BTreeMap, BTreeSet};

use domain::Timestamp;
use serde_json::Value;
use sqlx::SqliteConnection;

use crate::key_value::{delete, put};
use crate::{Error, Store};

const NAMESPACE: &str = "routingMemory";

impl Store {
    /// Puts down the whole memory, by id of the combo: what `documents` no longer hold is forgotten.
    pub async fn save_routing_memory(&self, documents: &BTreeMap<String, Value>, at: Timestamp) -> Result<(), Error> {
        let mut transaction = self.database().begin().await?;
        let known: BTreeSet<String> = sqlx::query_scalar("SELECT key FROM key_value WHERE namespace = ?")
            .bind(NAMESPACE)
            .fetch_all(&mut *transaction)
            .await?
            .into_iter()
            .collect();
        for gone in known.iter().filter(|id| !documents.contains_key(*id)) {
            delete(&mut transaction, NAMESPACE, gone).await?;
        }
        for (id, document) in documents {
            put(&mut transaction, NAMESPACE, id, document, at).await?;
        }
        Ok(transaction.commit().await?)
    }

    /// The memory as it was last put down, by id of the combo. A document that is no JSON is left out, and said to be.
    pub async fn load_routing_memory(&self) -> Result<BTreeMap<String, Value>, Error> {
        self.list_values(NAMESPACE).await
    }
}

/// Nothing is remembered of a combo that is gone.
pub(crate) async fn forget(connection: &mut SqliteConnection, id: &str) -> Result<(), Error> {
    delete(connection, NAMESPACE, id).await?;
    Ok(())
}
