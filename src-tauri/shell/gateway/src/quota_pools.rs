//! Accounts that several client keys share (gateway specification, 3.6): the pools, the requests to them, and what their
//! keys use.
//!
//! A pool's model is a combo that stands nowhere: one step, limited to the pool's accounts at that provider, ranked by
//! `quota-share`. It goes the way of every combo. Around it stand two hooks: before, whether the key may ask at all
//! ([`admit`]); afterwards, what the request used ([`Share::charge`]). Both work on memory alone. What the store could not
//! give back at the start counts as unused, and what it cannot take is kept and tried again: a broken disk lets traffic
//! through.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use catalog::Catalog;
use domain::client_key::ClientKey;
use domain::request_log::{RequestOutcome, RequestRecord};
use domain::wire::code;
use domain::{ClientKeyId, ConnectionId, ProviderId, Timestamp};
use http::StatusCode;
use routing::combo::{Combo, Step, StepKind, Strategy};
use routing::quota_share::fair_share::{Ledger, Refusal, Usage, Verdict};
use routing::quota_share::leases::Lease;
use routing::quota_share::percent::Asker;
use routing::quota_share::{Dimension, Pool, PoolModel, Unit, Window};
use store::StoredPool;

use crate::address_book::Connections;
use crate::attempt::Kept;
use crate::error::{Blame, GatewayError};
use crate::events::Topic;
use crate::exhaustion::iso;
use crate::gateway::{Error, Gateway};
use crate::table::Current;

/// Warning of a reply that stood back for keys within their share.
pub(crate) const LOWERED: &str = "QUOTA_SHARE_EXCEEDED";
/// Id of a pool's one step.
const STEP: &str = "share";
/// Whoever asks without a key.
pub const NOBODY: &str = "";

/// Every pool, by name.
#[derive(Debug, Default)]
pub struct Pools(Vec<Arc<StoredPool>>);

impl Pools {
    pub(crate) fn new(pools: Vec<StoredPool>) -> Self {
        Pools(pools.into_iter().map(Arc::new).collect())
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<StoredPool>> {
        self.0.iter()
    }

    pub fn get(&self, id: &str) -> Option<&Arc<StoredPool>> {
        self.iter().find(|stored| stored.pool.id == id)
    }

    /// The pool that names with this slug lead to.
    pub fn of_slug(&self, slug: &str) -> Option<&Arc<StoredPool>> {
        self.iter().find(|stored| stored.pool.slug == slug)
    }

    /// The combo behind a pool's model, and the pool; none where there is no such pool or it has no account there.
    pub fn combo(
        &self,
        named: &PoolModel,
        catalog: &Catalog,
        connections: &Connections,
    ) -> Option<(Combo, Arc<StoredPool>)> {
        let stored = self.of_slug(&named.slug)?;
        let provider = &catalog.by_name(named.provider.as_str())?.id;
        let there = connections.of_provider(provider).map(|entry| entry.connection.id.clone());
        let accounts: Vec<ConnectionId> = there.filter(|id| stored.pool.connections.contains(id)).collect();
        if accounts.is_empty() {
            return None;
        }
        let name = stored.pool.model_name(provider, &named.model).to_string();
        let mut combo = Combo::made_up(&name, Strategy::QuotaShare);
        combo.models = vec![step(provider, &named.model, accounts)];
        Some((combo, Arc::clone(stored)))
    }

    /// Whether some pool divides the percentages of the account.
    fn share_percent_of(&self, account: &ConnectionId) -> bool {
        self.iter().any(|stored| stored.pool.shares_percent() && stored.pool.connections.contains(account))
    }
}

impl Gateway {
    /// Pools changed in the store.
    pub async fn reload_quota_pools(&self) -> Result<(), Error> {
        self.load_quota_pools().await?;
        self.announce(&[Topic::Quota]);
        Ok(())
    }

    pub(crate) async fn load_quota_pools(&self) -> Result<(), Error> {
        let read = async || -> Result<Pools, Error> {
            let pools = Pools::new(self.store().list_quota_pools().await?);
            self.routing().shares(|memory| {
                memory.usage.retain(|id| pools.get(id).is_some());
                memory.percent.retain(|account| pools.share_percent_of(account));
            });
            Ok(pools)
        };
        self.routing().pools().read(read()).await
    }

    /// Takes over what was used before a restart. Without it, everybody begins anew.
    pub(crate) async fn restore_pool_use(&self) {
        match self.store().load_pool_use(self.now()).await {
            Ok(rows) => self.routing().shares(|memory| memory.usage = Ledger::restore(rows)),
            Err(error) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "what was used of quota pools cannot be read: every key begins anew"
            ),
        }
    }

    /// Pools as they are now.
    pub fn quota_pools(&self) -> Current<Pools> {
        self.routing().pools().get()
    }

    /// Reads what was used of pools.
    pub fn with_pool_use<T>(&self, read: impl FnOnce(&Ledger) -> T) -> T {
        self.routing().shares(|memory| read(&memory.usage))
    }

    /// Whether a key may ask a pool now; without a key, whether anybody may.
    pub fn pool_verdict(&self, pool: &Pool, key: &ClientKeyId) -> Verdict {
        let (now, measured) = (self.now(), |dimension: &Dimension| self.pool_measured(pool, dimension));
        // The Engine is asked first: no lock is taken while another one is held.
        let measured: Vec<(Dimension, Option<f64>)> =
            pool.dimensions.iter().map(|dimension| (*dimension, measured(dimension))).collect();
        let known = |dimension: &Dimension| measured.iter().find(|(of, _)| of == dimension).and_then(|(_, part)| *part);
        self.with_pool_use(|ledger| ledger.decide(pool, key, now, known))
    }

    /// The part of a dimension that is used up according to the vendors, 0 to 1: of percentages, the mean of the accounts
    /// of which something is known. None where nothing is.
    pub fn pool_measured(&self, pool: &Pool, dimension: &Dimension) -> Option<f64> {
        let window = dimension.window.of_account().filter(|_| dimension.unit == Unit::Percent)?;
        let now = self.now();
        let used = |account: &ConnectionId| self.engine().quota(account)?.windows.get(window)?.used(now);
        let known: Vec<f64> = pool.connections.iter().filter_map(used).collect();
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        (!known.is_empty()).then_some(mean * 100.0 / dimension.limit)
    }

    /// Names of pools that lead to the same model, or what the same pool offers.
    pub(crate) fn near_pools(&self, named: &PoolModel) -> Vec<String> {
        let (pools, connections) = (self.quota_pools(), self.connections());
        let mut near = Vec::new();
        for Pool { slug, connections: accounts, .. } in pools.iter().map(|stored| &stored.pool) {
            let entries = accounts.iter().filter_map(|id| connections.get(id));
            let providers: BTreeSet<&ProviderId> = entries.map(|entry| &entry.connection.provider).collect();
            let likely = |provider: &&&ProviderId| **provider == &named.provider || *slug == named.slug;
            let names = providers.iter().filter(likely).map(|provider| PoolModel {
                slug: slug.clone(),
                provider: (*provider).clone(),
                model: named.model.clone(),
            });
            near.extend(names.map(|name| name.to_string()));
        }
        near.truncate(5);
        near
    }
}

fn step(provider: &ProviderId, model: &str, accounts: Vec<ConnectionId>) -> Step {
    Step {
        id: STEP.to_owned(),
        kind: StepKind::Model {
            model: format!("{provider}/{model}"),
            provider_id: provider.clone(),
            connection_id: None,
            allowed_connection_ids: accounts,
            prompt: None,
            tags: Vec::new(),
            fallback_only_on_quota_exhaustion: false,
        },
        weight: 1,
        enabled: true,
        label: None,
    }
}

/// Before a request: whether its key may ask the pool, and then whether it stands back for others.
pub(crate) fn admit(gateway: &Gateway, pool: &Pool, key: Option<&ClientKey>) -> Result<bool, GatewayError> {
    match gateway.pool_verdict(pool, &asker(key.map(|key| &key.id))) {
        Verdict::Allow => Ok(false),
        Verdict::Demote => Ok(true),
        Verdict::Refuse(refusal) => Err(refused(pool, &refusal, gateway.now())),
    }
}

fn asker(key: Option<&ClientKeyId>) -> ClientKeyId {
    key.cloned().unwrap_or_else(|| ClientKeyId::from(NOBODY))
}

fn refused(pool: &Pool, refusal: &Refusal, now: Timestamp) -> GatewayError {
    let Refusal { dimension, allowed, used, until } = refusal;
    let until_text = until.map(iso);
    let end = until_text.map_or_else(
        || "raise its weight or cap in the pool".to_owned(),
        |until| format!("it may ask again from {until}, or raise its weight or cap in the pool"),
    );
    let message = format!(
        "this local key has used its share of the quota pool `{}`: {} of {} {}; {end}",
        pool.name,
        figure(*used),
        figure(*allowed),
        words(dimension),
    );
    GatewayError {
        retry_after: until.map(|until| until.since(now)),
        ..GatewayError::new(Blame::Client, StatusCode::TOO_MANY_REQUESTS, code::RATE_LIMITED, message)
    }
}

/// A figure that a person reads: two decimals where they say something.
fn figure(number: f64) -> String {
    let rounded = (number * 100.0).round() / 100.0;
    rounded.to_string()
}

fn words(dimension: &Dimension) -> String {
    let unit = match dimension.unit {
        Unit::Percent => "percent of the account",
        Unit::Requests => "requests",
        Unit::Tokens => "tokens",
        Unit::Usd => "US dollars",
    };
    let window = match dimension.window {
        Window::FiveHours => "in five hours",
        Window::Hourly => "an hour",
        Window::Daily => "a day",
        Window::Weekly => "a week",
        Window::Monthly => "a month",
    };
    format!("{unit} {window}")
}

/// A request's part in a pool: whom it goes to, and what it is charged in the end.
pub(crate) struct Share {
    gateway: Gateway,
    pool: Arc<StoredPool>,
    lease: Option<Lease>,
    /// Its place at an account between two attempts.
    pub(crate) kept: Option<Kept>,
}

impl Share {
    pub(crate) fn new(gateway: &Gateway, pool: &Arc<StoredPool>) -> Self {
        Share { gateway: gateway.clone(), pool: Arc::clone(pool), lease: None, kept: None }
    }

    /// The account that was chosen for it counts it as under way from now on.
    pub(crate) fn hold(&mut self, lease: Option<Lease>) {
        self.let_go();
        self.lease = lease;
    }

    /// It goes to this account, chosen or not.
    pub(crate) fn goes_to(&mut self, account: &ConnectionId) {
        if let Some(lease) = self.lease.take() {
            self.lease = Some(self.gateway.routing().shares(|memory| memory.leases.moved(lease, account.as_str())));
        }
    }

    pub(crate) fn let_go(&mut self) {
        if let Some(lease) = self.lease.take() {
            self.gateway.routing().shares(|memory| memory.leases.release(&lease));
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.let_go();
    }
}

/// After a request, of a pool or not: counts what it used of what is shared. What each account is charged are the tokens of the
/// calls it answered.
pub(crate) fn charge(gateway: &Gateway, share: Option<&Share>, record: &RequestRecord) {
    let tokens = tokens_of(&record.usage);
    if record.outcome != RequestOutcome::Success && tokens == 0 {
        return;
    }
    let pools = gateway.quota_pools();
    let mut shared: BTreeMap<&ConnectionId, u64> = BTreeMap::new();
    for call in record.consumption() {
        if let Some(account) = call.connection.filter(|account| pools.share_percent_of(account)) {
            let sum = shared.entry(account).or_default();
            *sum = sum.saturating_add(tokens_of(call.usage));
        }
    }
    if share.is_none() && shared.is_empty() {
        return;
    }
    let now = gateway.now();
    let key = asker(record.key.as_ref());
    let shared: Vec<_> =
        shared.into_iter().map(|(account, tokens)| (account, tokens, gateway.engine().quota(account))).collect();
    let usage = Usage { requests: 1.0, tokens: tokens as f64, usd: record.cost.unwrap_or(0.0) };
    let rows = gateway.routing().shares(|memory| {
        let mut rows = Vec::new();
        if let Some(Share { pool, .. }) = share {
            rows = memory.usage.charge(&pool.pool, &key, &usage, now);
        }
        for (account, tokens, quota) in &shared {
            let asker: Asker = share.map(|share| (share.pool.pool.id.clone(), key.clone()));
            for part in memory.percent.observe(account, &asker, *tokens as f64, quota.as_ref(), now) {
                let Some(stored) = pools.get(&part.pool) else { continue };
                let points = part.points / stored.pool.connections.len().max(1) as f64;
                rows.extend(memory.usage.charge_percent(&stored.pool, &part.key, part.window, points, now));
            }
        }
        rows
    });
    gateway.store().record_pool_use(rows);
}

fn tokens_of(usage: &domain::Usage) -> u64 {
    usage.input().unwrap_or(0).saturating_add(usage.output.unwrap_or(0))
}
