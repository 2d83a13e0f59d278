//! Local keys as the gateway holds them: the snapshot that requests take, and the sums of what was spent beside it.

use std::sync::Arc;

use domain::ClientKeyId;
use resilience::key_spending::Standing;

use super::{Error, Gateway};
use crate::address_book::Keys;
use crate::events::Topic;
use crate::key_spending::KeySpending;
use crate::table::Current;

impl Gateway {
    pub fn keys(&self) -> Current<Keys> {
        self.0.keys.get()
    }

    /// What keys have spent.
    pub(crate) fn spending(&self) -> &KeySpending {
        &self.0.spending
    }

    /// Every limit of a key, and how it stands.
    pub fn key_standings(&self, key: &ClientKeyId) -> Vec<Standing> {
        self.spending().standings(key)
    }

    /// Client keys changed in the store, and with them perhaps who shares what.
    pub async fn reload_keys(&self) -> Result<(), Error> {
        self.load_keys().await?;
        self.load_quota_pools().await?;
        self.announce(&[Topic::Keys]);
        Ok(())
    }

    /// Limits are followed before the keys are in force that they belong to.
    pub(super) async fn load_keys(&self) -> Result<(), Error> {
        let read = async || -> Result<Keys, Error> {
            let keys = self.store().list_keys().await?;
            let catalog = Arc::clone(&self.catalog());
            self.spending().follow(&keys, &catalog, self.store()).await?;
            Ok(Keys::new(keys))
        };
        self.0.keys.read(read()).await
    }
}
