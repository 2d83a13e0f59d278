//! Accounts that several client keys share (gateway specification, 3.6 and 6.1).

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::{ClientKeyId, ConnectionId, ProviderId};
use gateway::{Entry, NOBODY};
use routing::quota_share::fair_share::{self, GENEROUS_BELOW, Verdict};
use routing::quota_share::{Allocation, Dimension, PRESETS, Pool, preset, slug};
use routing::score::quota::saturated;
use store::StoredPool;
use uuid::Uuid;

use crate::connections::later;
use crate::error::FieldProblem;
use crate::view::{
    Done, Instant, QuotaAccountState, QuotaAllocation, QuotaDimension, QuotaDimensionState, QuotaKeyState, QuotaKeyUse,
    QuotaPool, QuotaPoolChange, QuotaPoolDraft, QuotaPoolReply, QuotaPoolState, QuotaPools, QuotaPreset, QuotaStanding,
};
use crate::{Control, ControlError, check, quota};

/// Names that a pool's state lists at most.
const MODELS: usize = 200;

/// Pools by name, and what subscriptions are known to limit.
pub async fn quota_pools_list(control: &Control) -> Result<QuotaPools, ControlError> {
    let known = PRESETS.iter().filter_map(|provider| Some((*provider, preset(&ProviderId::from(*provider))?)));
    let presets = known.map(|(provider, dimensions)| QuotaPreset {
        provider: provider.to_owned(),
        dimensions: dimensions.iter().map(QuotaDimension::from).collect(),
    });
    let pools = Arc::clone(&control.quota_pools());
    Ok(QuotaPools { pools: pools.iter().map(|stored| view_of(stored)).collect(), presets: presets.collect() })
}

/// One pool.
pub async fn quota_pool_get(control: &Control, id: String) -> Result<QuotaPoolReply, ControlError> {
    Ok(QuotaPoolReply { pool: view_of(&find(control, &id)?) })
}

/// Shares accounts among keys.
pub async fn quota_pool_create(control: &Control, draft: QuotaPoolDraft) -> Result<QuotaPoolReply, ControlError> {
    let _alone = control.one_combo_change().await;
    let name = check::name("name", &draft.name)?;
    let connections = check_connections(control, &draft.connections)?;
    let pool = Pool {
        id: Uuid::now_v7().to_string(),
        slug: draft.slug.unwrap_or_else(|| slug(&name)),
        dimensions: draft.dimensions.map_or_else(|| usual(control, &connections), dimensions),
        allocations: allocations(control, draft.allocations)?,
        name,
        connections,
    };
    save(control, StoredPool { pool, created_at: control.now(), updated_at: control.now() }).await
}

/// Changes what is shared, or among whom. What was used stays counted.
pub async fn quota_pool_update(
    control: &Control,
    id: String,
    change: QuotaPoolChange,
) -> Result<QuotaPoolReply, ControlError> {
    let _alone = control.one_combo_change().await;
    let mut stored = find(control, &id)?;
    if change.updated_at.is_some_and(|seen| seen != Instant::from(stored.updated_at)) {
        return Err(ControlError::conflict(format!("the quota pool {id} was changed meanwhile")));
    }
    let pool = &mut stored.pool;
    if let Some(name) = change.name {
        pool.name = check::name("name", &name)?;
    }
    if let Some(slug) = change.slug {
        pool.slug = slug;
    }
    if let Some(connections) = change.connections {
        pool.connections = check_connections(control, &connections)?;
    }
    if let Some(given) = change.dimensions {
        pool.dimensions = dimensions(given.unwrap_or_default());
    }
    if let Some(given) = change.allocations {
        pool.allocations = allocations(control, given.unwrap_or_default())?;
    }
    stored.updated_at = later(control.now(), stored.updated_at);
    save(control, stored).await
}

/// Removes a pool and what was counted of it; its accounts and keys stay.
pub async fn quota_pool_delete(control: &Control, id: String) -> Result<Done, ControlError> {
    let _alone = control.one_combo_change().await;
    control.store().delete_quota_pool(&id).await?;
    control.reload_quota_pools().await?;
    Ok(Done::OK)
}

/// Who used how much of a pool, and how its accounts stand.
pub async fn quota_pool_state(control: &Control, id: String) -> Result<QuotaPoolState, ControlError> {
    let stored = find(control, &id)?;
    let pool = &stored.pool;
    let connections = control.connections();
    let entries: Vec<&Entry> =
        pool.connections.iter().filter_map(|id| connections.get(id).map(AsRef::as_ref)).collect();
    Ok(QuotaPoolState {
        dimensions: pool.dimensions.iter().map(|dimension| dimension_state(control, pool, dimension)).collect(),
        keys: key_states(control, pool),
        accounts: entries.iter().map(|entry| account_state(control, entry)).collect(),
        models: models(control, pool, &entries),
        pool: view_of(&stored),
    })
}

fn find(control: &Control, id: &str) -> Result<StoredPool, ControlError> {
    let found = control.quota_pools().get(id).map(|stored| StoredPool::clone(stored));
    found.ok_or_else(|| ControlError::not_found("quota pool", id))
}

async fn save(control: &Control, stored: StoredPool) -> Result<QuotaPoolReply, ControlError> {
    let problems: Vec<FieldProblem> = stored.pool.problems().into_iter().map(FieldProblem::from).collect();
    if !problems.is_empty() {
        return Err(ControlError::invalid_fields(problems));
    }
    let pools = Arc::clone(&control.quota_pools());
    if let Some(other) = pools.of_slug(&stored.pool.slug).filter(|other| other.pool.id != stored.pool.id) {
        let Pool { name, slug, .. } = &other.pool;
        let message = format!("the quota pool {name} already has the slug {slug}: choose another one");
        return Err(ControlError::conflict(message));
    }
    control.store().save_quota_pool(&stored).await?;
    control.reload_quota_pools().await?;
    Ok(QuotaPoolReply { pool: view_of(&stored) })
}

fn check_connections(control: &Control, ids: &[String]) -> Result<Vec<ConnectionId>, ControlError> {
    let connections = check::connection_ids(control, "connections", ids)?;
    if connections.is_empty() {
        return Err(ControlError::invalid(
            "connections",
            "name at least one connection: GET /api/providers lists them",
        ));
    }
    Ok(connections)
}

/// What the subscriptions of these accounts limit, each once.
fn usual(control: &Control, accounts: &[ConnectionId]) -> Vec<Dimension> {
    let connections = control.connections();
    let mut dimensions: Vec<Dimension> = Vec::new();
    for entry in accounts.iter().filter_map(|id| connections.get(id)) {
        for dimension in preset(&entry.connection.provider).unwrap_or_default() {
            if !dimensions.iter().any(|known| (known.unit, known.window) == (dimension.unit, dimension.window)) {
                dimensions.push(*dimension);
            }
        }
    }
    dimensions
}

fn dimensions(given: Vec<QuotaDimension>) -> Vec<Dimension> {
    let written =
        |QuotaDimension { unit, window, limit }| Dimension { unit: unit.into(), window: window.into(), limit };
    given.into_iter().map(written).collect()
}

fn allocations(control: &Control, given: Vec<QuotaAllocation>) -> Result<Vec<Allocation>, ControlError> {
    let keys = control.keys();
    let checked = |(n, given): (usize, QuotaAllocation)| {
        let id = ClientKeyId::from(given.api_key_id);
        if keys.by_id(&id).is_none() {
            let message = format!("there is no key with the id {id}: GET /api/keys lists them");
            return Err(ControlError::invalid(format!("allocations.{n}.apiKeyId"), message));
        }
        let QuotaAllocation { weight, cap_value, policy, .. } = given;
        Ok(Allocation { api_key_id: id, weight, cap_value, policy: policy.into() })
    };
    given.into_iter().enumerate().map(checked).collect()
}

fn dimension_state(control: &Control, pool: &Pool, dimension: &Dimension) -> QuotaDimensionState {
    let used = control.with_pool_use(|ledger| ledger.used_by_all(&pool.id, dimension, control.now()));
    let measured = control.pool_measured(pool, dimension);
    let part = (used / dimension.limit).max(measured.unwrap_or(0.0));
    let QuotaDimension { unit, window, limit } = dimension.into();
    QuotaDimensionState { unit, window, limit, used, measured, strict: part >= GENEROUS_BELOW }
}

fn key_states(control: &Control, pool: &Pool) -> Vec<QuotaKeyState> {
    let mut ids: Vec<ClientKeyId> = pool.allocations.iter().map(|allocation| allocation.api_key_id.clone()).collect();
    let used =
        |dimension: &Dimension| control.with_pool_use(|ledger| ledger.used_by_each(&pool.id, dimension, control.now()));
    let strangers: BTreeSet<ClientKeyId> = pool.dimensions.iter().flat_map(used).map(|(id, _)| id).collect();
    ids.extend(strangers.into_iter().filter(|id| !pool.allocations.iter().any(|known| known.api_key_id == *id)));
    ids.iter().map(|id| key_state(control, pool, id)).collect()
}

fn key_state(control: &Control, pool: &Pool, id: &ClientKeyId) -> QuotaKeyState {
    let own = pool.allocations.iter().find(|allocation| allocation.api_key_id == *id);
    let (standing, until) = match control.pool_verdict(pool, id) {
        Verdict::Allow => (QuotaStanding::Allowed, None),
        Verdict::Demote => (QuotaStanding::Lowered, None),
        Verdict::Refuse(refusal) => (QuotaStanding::Refused, refusal.until),
    };
    let used = |dimension: &Dimension| QuotaKeyUse {
        used: control.with_pool_use(|ledger| ledger.used(&pool.id, id, dimension, control.now())),
        share: fair_share::share(pool, own, dimension),
    };
    QuotaKeyState {
        api_key_id: (id.as_str() != NOBODY).then(|| id.to_string()),
        name: control.keys().by_id(id).map(|key| key.name.clone()),
        policy: own.map(|own| own.policy.into()),
        standing,
        until: until.map(Instant::from),
        uses: pool.dimensions.iter().map(used).collect(),
    }
}

fn account_state(control: &Control, entry: &Entry) -> QuotaAccountState {
    let connection = &entry.connection;
    let known = control.engine().quota(&connection.id);
    let of_provider = control.catalog().get(&connection.provider).map(|provider| provider.limits).unwrap_or_default();
    QuotaAccountState {
        connection_id: connection.id.to_string(),
        provider: connection.provider.to_string(),
        name: connection.name.clone(),
        saturated: known.as_ref().is_some_and(|quota| saturated(quota, "", control.now())),
        windows: quota::windows(known.unwrap_or_default().windows, control.now()),
        in_flight: control.engine().connection(&connection.id).in_flight,
        max_concurrent: connection.limits(of_provider).max_concurrent,
    }
}

/// The models that the catalogue and the providers know, under the names of the pool.
fn models(control: &Control, pool: &Pool, entries: &[&Entry]) -> Vec<String> {
    let catalog = control.catalog();
    let providers: BTreeSet<&ProviderId> = entries.iter().map(|entry| &entry.connection.provider).collect();
    let of = |id: &ProviderId| {
        let Some(provider) = catalog.get(id) else { return Vec::new() };
        let live = control.discovered(id);
        let models = gateway::models_of(provider, live.iter().map(|model| model.id.as_str()));
        models.iter().map(|model| pool.model_name(id, model).to_string()).collect()
    };
    providers.into_iter().flat_map(of).take(MODELS).collect()
}

fn view_of(stored: &StoredPool) -> QuotaPool {
    let StoredPool { pool, created_at, updated_at } = stored;
    let allocation = |allocation: &Allocation| QuotaAllocation {
        api_key_id: allocation.api_key_id.to_string(),
        weight: allocation.weight,
        cap_value: allocation.cap_value,
        policy: allocation.policy.into(),
    };
    QuotaPool {
        id: pool.id.clone(),
        name: pool.name.clone(),
        slug: pool.slug.clone(),
        connections: pool.connections.iter().map(ToString::to_string).collect(),
        dimensions: pool.dimensions.iter().map(QuotaDimension::from).collect(),
        allocations: pool.allocations.iter().map(allocation).collect(),
        created_at: (*created_at).into(),
        updated_at: (*updated_at).into(),
    }
}

impl From<&Dimension> for QuotaDimension {
    fn from(dimension: &Dimension) -> Self {
        let Dimension { unit, window, limit } = *dimension;
        QuotaDimension { unit: unit.into(), window: window.into(), limit }
    }
}
