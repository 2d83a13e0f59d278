//! Read-mostly tables: connections with their credentials, client keys, names. Each is an immutable snapshot; a request
//! takes one at its start and keeps it.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::{Catalog, Provider};
use dialects::models::ListedModel;
use domain::client_key::ClientKey;
use domain::connection::{AuthType, Connection};
use domain::model_alias::ModelAlias;
use domain::section::FieldType;
use domain::wire::reason;
use domain::{Candidate, ClientKeyId, ConnectionId, Exclusion, Mechanism, ProviderId};
use routing::resolve::Listed;
use routing::{NameTable, Target};
use secrecy::SecretString;
use settings::translation::CacheControlMode;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// One account and what opens it.
#[derive(Clone, Debug)]
pub struct Entry {
    pub connection: Connection,
    pub credential: Option<SecretString>,
}

impl Entry {
    /// The account as routing and the Engine know it, for one model.
    pub fn candidate(&self, model: &str, provider: &Provider) -> Candidate {
        let own = |key: &str| self.connection.extra.get(key).and_then(serde_json::Value::as_bool);
        Candidate {
            provider: provider.id.clone(),
            connection: self.connection.id.clone(),
            model: model.to_owned(),
            priority: self.connection.priority,
            enabled: self.connection.is_active,
            // The catalogue's word, and the account's own where it has one.
            nature: provider.nature(model, own("passthroughModels"), own("disableCooling").unwrap_or(false)),
        }
    }

    /// Its share of the requests where accounts are drawn by weight: 1 where its owner says nothing.
    pub fn weight(&self) -> u32 {
        let own = self.connection.extra.get("weight").and_then(serde_json::Value::as_u64);
        own.map_or(1, |weight| u32::try_from(weight).unwrap_or(u32::MAX))
    }

    /// What its owner wants of marks to cache by; nothing, as for everybody.
    pub(crate) fn cache_control_mode(&self) -> Option<CacheControlMode> {
        CacheControlMode::from_text(self.connection.extra.get("cacheControlMode")?.as_str()?)
    }

    /// Whether its owner lets it serve a model for this key, or for whoever comes without one.
    pub(crate) fn may_serve(&self, model: &str, key: Option<&ClientKey>) -> bool {
        let connection = &self.connection;
        let excludes = connection.excluded_models.iter().any(|excluded| excluded == model);
        connection.is_active && !excludes && key.is_none_or(|key| key.allows_connection(&connection.id))
    }

    /// What the account itself says against being asked for a model, whoever asks and whatever its health.
    pub fn bars(&self, model: &str) -> Option<Exclusion> {
        if self.connection.excluded_models.iter().any(|excluded| excluded == model) {
            return Some(Exclusion::lasting(Mechanism::ExcludedModel, reason::EXCLUDED_MODEL));
        }
        let without = self.credential.is_none() && self.connection.auth_type != AuthType::None;
        without.then(|| Exclusion::lasting(Mechanism::CredentialGate, reason::CREDENTIAL_GATE))
    }
}

/// Every account, by provider and priority.
#[derive(Debug, Default)]
pub struct Connections {
    entries: Vec<Arc<Entry>>,
}

impl Connections {
    pub(crate) fn new(mut entries: Vec<Entry>) -> Self {
        entries.sort_by(|a, b| {
            let key = |entry: &Entry| (entry.connection.provider.clone(), entry.connection.priority);
            key(a).cmp(&key(b))
        });
        Connections { entries: entries.into_iter().map(Arc::new).collect() }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.iter()
    }

    pub fn get(&self, id: &ConnectionId) -> Option<&Arc<Entry>> {
        self.entries.iter().find(|entry| entry.connection.id == *id)
    }

    /// The accounts of one provider, first priority first.
    pub fn of_provider<'a>(&'a self, provider: &'a ProviderId) -> impl Iterator<Item = &'a Arc<Entry>> {
        let start = self.entries.partition_point(|entry| entry.connection.provider < *provider);
        self.entries[start..].iter().take_while(move |entry| entry.connection.provider == *provider)
    }

    /// The accounts that a target of a combo is limited to.
    pub fn of_target<'c>(&'c self, target: &'c Target) -> impl Iterator<Item = &'c Arc<Entry>> {
        self.of_provider(&target.provider).filter(|entry| {
            let id = &entry.connection.id;
            let pinned = target.connection.as_ref().is_none_or(|pin| pin == id);
            pinned && (target.allowed_connections.is_empty() || target.allowed_connections.contains(id))
        })
    }

    /// Whether some account of the provider is switched on.
    pub fn is_connected(&self, provider: &ProviderId) -> bool {
        self.of_provider(provider).any(|entry| entry.connection.is_active)
    }
}

/// Client keys by digest.
#[derive(Debug, Default)]
pub struct Keys {
    by_hash: BTreeMap<[u8; 32], Arc<ClientKey>>,
}

impl Keys {
    pub(crate) fn new(keys: Vec<ClientKey>) -> Self {
        Keys { by_hash: keys.into_iter().map(|key| (key.hash, Arc::new(key))).collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.by_hash.is_empty()
    }

    /// The key with this text. The search runs over digests, and the hit is compared in constant time, so timing tells
    /// nothing about a key.
    pub fn find(&self, text: &str) -> Option<&Arc<ClientKey>> {
        let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        let key = self.by_hash.get(&hash)?;
        bool::from(key.hash.ct_eq(&hash)).then_some(key)
    }

    pub fn by_id(&self, id: &ClientKeyId) -> Option<&Arc<ClientKey>> {
        self.by_hash.values().find(|key| key.id == *id)
    }
}

/// Models that providers listed when last asked.
pub(crate) type Discovered = BTreeMap<ProviderId, Vec<ListedModel>>;

/// Builds the table that names are resolved against (`routing::resolve`).
pub(crate) fn name_table(
    catalog: &Catalog,
    connections: &Connections,
    aliases: &[ModelAlias],
    discovered: &Discovered,
    provider_order: &[String],
) -> NameTable {
    let mut table = NameTable {
        aliases: aliases.iter().map(|alias| (alias.alias.clone(), alias.target.clone())).collect(),
        ..NameTable::default()
    };
    for provider in catalog.iter() {
        for name in [provider.id.as_str(), provider.alias.as_str()] {
            table.providers.insert(name.to_ascii_lowercase(), provider.id.clone());
        }
        if !connections.is_connected(&provider.id) {
            continue;
        }
        let mut list = |id: &str, model: &str| {
            let listed = Listed { provider: provider.id.clone(), model: model.to_owned() };
            let providers = table.models.entry(id.to_owned()).or_default();
            if !providers.iter().any(|known| known.provider == listed.provider) {
                providers.push(listed);
            }
        };
        for model in &provider.models {
            list(&model.id, &model.id);
            for alias in &model.aliases {
                list(alias, &model.id);
            }
        }
        for model in discovered.get(&provider.id).into_iter().flatten() {
            list(&model.id, &model.id);
        }
    }
    let place =
        |provider: &ProviderId| provider_order.iter().position(|name| name == provider.as_str()).unwrap_or(usize::MAX);
    for providers in table.models.values_mut() {
        providers.sort_by_key(|listed| place(&listed.provider));
    }
    table
}
