//! The tables of the store as the gateway holds them, and the names that come of them together.

use std::sync::Arc;

use catalog::Catalog;

use super::{Error, Gateway};
use crate::address_book::{Connections, Entry, name_table};
use crate::combos::Combos;
use crate::events::Topic;

impl Gateway {
    /// Nodes changed in the store.
    pub async fn reload_nodes(&self) -> Result<(), Error> {
        self.load_nodes().await?;
        self.rebuild_names();
        self.announce(&[Topic::Connections]);
        Ok(())
    }

    /// Connections changed in the store.
    pub async fn reload_connections(&self) -> Result<(), Error> {
        let before = Arc::clone(&self.connections());
        self.load_connections().await?;
        self.tell_limits(&before);
        self.engine().frees();
        self.rebuild_names();
        self.announce(&[Topic::Connections]);
        Ok(())
    }

    /// Aliases changed in the store.
    pub async fn reload_aliases(&self) -> Result<(), Error> {
        self.load_aliases().await?;
        self.rebuild_names();
        self.announce(&[Topic::Connections]);
        Ok(())
    }

    /// Combos or mappings changed in the store.
    pub async fn reload_combos(&self) -> Result<(), Error> {
        self.load_combos().await?;
        self.announce(&[Topic::Combos]);
        Ok(())
    }

    pub(super) async fn load_nodes(&self) -> Result<(), Error> {
        let read =
            async || -> Result<Catalog, Error> { Ok(self.0.builtin.with_nodes(&self.store().list_nodes().await?)) };
        self.0.catalog.read(read()).await
    }

    pub(super) async fn load_connections(&self) -> Result<(), Error> {
        let read = async || -> Result<Connections, Error> {
            let entries = self.store().load_connections().await?.into_iter().map(|stored| Entry {
                connection: stored.connection,
                credential: stored.credential.unwrap_or_else(|error| {
                    tracing::warn!(%error, "a stored credential cannot be read");
                    None
                }),
            });
            Ok(Connections::new(entries.collect()))
        };
        self.0.connections.read(read()).await
    }

    pub(super) async fn load_aliases(&self) -> Result<(), Error> {
        self.0.aliases.read(self.store().list_aliases()).await?;
        Ok(())
    }

    pub(super) async fn load_combos(&self) -> Result<(), Error> {
        let read = async || -> Result<Combos, Error> {
            let combos = Combos::new(self.store().list_combos().await?, self.store().list_mappings().await?);
            self.routing().forget_configs(|id| combos.get(id).is_some());
            Ok(combos)
        };
        self.0.combos.read(read()).await
    }

    /// Those who wait for an account follow what its owner allows now.
    fn tell_limits(&self, before: &Connections) {
        let catalog = self.catalog();
        for entry in self.connections().iter() {
            let connection = &entry.connection;
            let of_provider = catalog.get(&connection.provider).map(|provider| provider.limits).unwrap_or_default();
            let limits = connection.limits(of_provider);
            let known = before.get(&connection.id).map(|entry| entry.connection.limits(of_provider));
            if known.is_some_and(|known| known != limits) {
                self.engine().limits_changed(&connection.id, &limits);
            }
        }
    }

    pub(super) fn rebuild_names(&self) {
        let _one_at_a_time = self.0.names_building.lock();
        let table = name_table(
            &self.0.catalog.get(),
            &self.0.connections.get(),
            &self.0.aliases.get(),
            &self.0.discovered.load(),
            &self.0.settings.load().routing.provider_order,
        );
        self.0.names.store(Arc::new(table));
    }
}
