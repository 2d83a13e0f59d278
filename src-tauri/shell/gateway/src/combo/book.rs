//! What a combo's steps lead to: the catalogue, the accounts, the Engine's word, the figures of late.

use std::sync::Arc;

use catalog::{Catalog, Provider};
use domain::client_key::ClientKey;
use domain::connection::AuthType;
use domain::wire::reason;
use domain::{Availability, ConnectionId, Exclusion, Mechanism, ProviderClass, ProviderId};
use resilience::Caller;
use resilience::circuit_breaker::State;
use routing::account;
use routing::auto_name::Listed;
use routing::combo::{Book, Combo, Config, Strategy};
use routing::target::{Breaker, Facts, Supports, Tier};
use routing::{NameTable, Target};

use crate::address_book::{Connections, Discovered, Entry};
use crate::combos::{Combos, config_of};
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::plan::{Asker, availability};
use crate::table::Current;
use crate::translate::truncates_tools;

/// One request's view of everything that names lead to.
pub(super) struct GatewayBook<'a> {
    gateway: &'a Gateway,
    asker: Asker<'a>,
    catalog: Current<Catalog>,
    connections: Current<Connections>,
    combos: Current<Combos>,
    names: Current<NameTable>,
    discovered: Current<Discovered>,
}

impl<'a> GatewayBook<'a> {
    pub(super) fn new(gateway: &'a Gateway, request: &'a ClientRequest, strategy: Strategy) -> Self {
        GatewayBook::of(gateway, asker(request, strategy))
    }

    /// The same without a request at hand.
    pub(super) fn of(gateway: &'a Gateway, asker: Asker<'a>) -> Self {
        GatewayBook {
            asker,
            catalog: gateway.catalog(),
            connections: gateway.connections(),
            combos: gateway.combos(),
            names: gateway.names(),
            discovered: gateway.all_discovered(),
            gateway,
        }
    }

    /// A target that no step leads to: the judge of a panel. `requested` is the name the client asked for.
    pub(super) fn target_named(&self, name: &str, requested: &str) -> Option<Target> {
        let (provider, model) = self.resolve(name)?;
        let qualified = format!("{provider}/{model}");
        if self.asker.key.is_some_and(|key| !key.allows_model(&[requested, &qualified])) {
            return None;
        }
        let mut target = bare(&provider, &model);
        target.execution_key = format!("judge>{name}");
        self.look_up(&mut target, &self.asker);
        Some(target)
    }

    /// Every model of every account that is switched on: what this channel of `auto` chooses from.
    pub(super) fn everything(&self, channel: &str) -> Vec<Listed> {
        let mut listed = Vec::new();
        for entry in self.connections.iter().filter(|entry| entry.connection.is_active) {
            let connection = &entry.connection;
            let Some(provider) = self.catalog.get(&connection.provider) else { continue };
            for model in self.models(&connection.provider) {
                let is_allowed = |key: &ClientKey| {
                    key.allows_model(&[&format!("{}/{model}", provider.id)])
                        && key.allows_connection(&connection.id)
                        && !key.excludes_candidate(channel, &connection.id, &model)
                };
                if connection.excluded_models.contains(&model) || self.asker.key.is_some_and(|key| !is_allowed(key)) {
                    continue;
                }
                let entries = [entry];
                let mut target = bare(&provider.id, &model);
                target.connection = Some(connection.id.clone());
                listed.push(Listed {
                    provider: provider.id.clone(),
                    connection: connection.id.clone(),
                    is_default: connection.default_model.as_deref() == Some(model.as_str()),
                    has_credential: entry.credential.is_some() || provider.class == ProviderClass::Local,
                    facts: facts(self.gateway, provider, &target, &entries),
                    availability: self.best(provider, &target, &entries, &self.asker),
                    model,
                });
            }
        }
        listed
    }

    /// Whether anybody could ever serve the target, switched on or not.
    pub(super) fn has_accounts(&self, target: &Target) -> bool {
        self.connections.of_target(target).next().is_some()
    }

    /// Whether the provider has accounts at all, of which the key may use none.
    pub(super) fn is_out_of_reach(&self, target: &Target) -> bool {
        let narrowed = self.asker.key.is_some_and(|key| !key.allowed_connections.is_empty());
        narrowed && self.connections.of_provider(&target.provider).next().is_some()
    }

    /// What is known of a target by now, as far as `asker` is concerned.
    fn look_up(&self, target: &mut Target, asker: &Asker<'_>) {
        let Some(provider) = self.catalog.get(&target.provider) else {
            let gone = Exclusion::lasting(Mechanism::SwitchedOff, reason::SWITCHED_OFF);
            target.availability = Availability::Excluded(gone);
            return;
        };
        let entries: Vec<&Arc<Entry>> = self.connections.of_target(target).collect();
        let facts = facts(self.gateway, provider, target, &entries);
        let availability = self.best(provider, target, &entries, asker);
        drop(entries);
        target.facts = facts;
        target.availability = availability;
    }

    /// The Engine's word about the best account.
    fn best(&self, provider: &Provider, target: &Target, entries: &[&Arc<Entry>], asker: &Asker<'_>) -> Availability {
        account::best_of(entries.iter().map(|entry| {
            let candidate = entry.candidate(&target.model, provider);
            availability(self.gateway, asker, provider, &candidate, entry)
        }))
    }
}

/// `auto` weighs a quota that runs out; to all others it is a reason to go elsewhere (gateway specification, 3.7). Under
/// `fill-first` the accounts of a step take no turns (3.4).
pub(super) fn asker(request: &ClientRequest, strategy: Strategy) -> Asker<'_> {
    of_combo(Asker::of(request, Caller::Combo), strategy)
}

pub(super) fn of_combo(asker: Asker<'_>, strategy: Strategy) -> Asker<'_> {
    Asker {
        quota_cutoff: strategy != Strategy::Auto,
        shares: strategy == Strategy::QuotaShare,
        fills_first: strategy == Strategy::FillFirst,
        ..asker
    }
}

impl Book for GatewayBook<'_> {
    fn combo(&self, name: &str) -> Option<Arc<Combo>> {
        self.combos.named(name).cloned()
    }

    fn config(&self, combo: &Combo) -> Arc<Config> {
        match self.combos.get(&combo.id) {
            Some(known) => config(self.gateway, known),
            None => Arc::new(Config::default()),
        }
    }

    fn models(&self, provider: &ProviderId) -> Vec<String> {
        let live = self.discovered.get(provider).into_iter().flatten().map(|live| live.id.as_str());
        self.catalog.get(provider).map(|known| models_of(known, live)).unwrap_or_default()
    }

    fn resolve(&self, written: &str) -> Option<(ProviderId, String)> {
        let resolved = routing::resolve(written, &self.names).ok()?;
        Some((resolved.provider, resolved.model))
    }

    fn accounts(&self, provider: &ProviderId, model: &str) -> Vec<ConnectionId> {
        let serves = |entry: &&Arc<Entry>| {
            entry.connection.is_active && !entry.connection.excluded_models.iter().any(|excluded| excluded == model)
        };
        let mut accounts: Vec<ConnectionId> =
            self.connections.of_provider(provider).filter(serves).map(|entry| entry.connection.id.clone()).collect();
        if let Some(key) = self.asker.key {
            accounts.sort_by_key(|account| key.preference(account));
        }
        accounts
    }

    fn complete(&self, target: &mut Target, strategy: Strategy) {
        self.look_up(target, &of_combo(self.asker, strategy));
    }
}

/// A target of which nothing is known yet.
pub(crate) fn bare(provider: &ProviderId, model: &str) -> Target {
    Target {
        execution_key: format!("{provider}/{model}"),
        top: 0,
        provider: provider.clone(),
        model: model.to_owned(),
        connection: None,
        allowed_connections: Vec::new(),
        weight: 0,
        label: None,
        prompt: None,
        tags: Vec::new(),
        fallback_only_on_quota_exhaustion: false,
        facts: Facts::default(),
        availability: Availability::Available,
    }
}

/// The models of a provider: those of the catalogue, then those it listed itself.
pub fn models_of<'l>(provider: &Provider, live: impl IntoIterator<Item = &'l str>) -> Vec<String> {
    let mut models: Vec<String> = provider.models.iter().map(|model| model.id.clone()).collect();
    for live in live {
        if !models.iter().any(|model| model == live) {
            models.push(live.to_owned());
        }
    }
    models
}

/// What the catalogue knows of a model; the rest depends on the hour.
pub fn catalogued(provider: &Provider, model: &str) -> Facts {
    let known = provider.model(model);
    let price = known.and_then(|model| model.price.as_ref());
    let supports = known.map(|model| &model.supports);
    Facts {
        input_price: price.map(|price| price.input),
        output_price: price.map(|price| price.output),
        context_window: known.and_then(|model| model.context),
        max_output: known.and_then(|model| model.max_output),
        supports: Supports {
            tools: supports.and_then(|it| it.tools),
            vision: supports.and_then(|it| it.vision),
            audio: supports.and_then(|it| it.audio),
            documents: None,
            structured_output: supports.and_then(|it| it.structured_output),
            reasoning: supports.and_then(|it| it.reasoning),
        },
        ..Facts::default()
    }
}

/// A provider's breaker as far as strategies weigh it.
pub const fn weighed(state: State) -> Breaker {
    match state {
        State::Closed => Breaker::Closed,
        State::Degraded => Breaker::Degraded,
        State::HalfOpen => Breaker::HalfOpen,
        State::Open { .. } => Breaker::Open,
    }
}

/// The fraction of session places that is free at the freest of these accounts, each with the requests under way at it. Keys
/// have no sessions that could run out; how many a signed-in account bears is only known where its owner caps it.
pub fn sessions_free<'e>(
    provider: &Provider,
    accounts: impl IntoIterator<Item = (&'e Arc<Entry>, u32)>,
) -> Option<f64> {
    let free = |(entry, in_flight): (&Arc<Entry>, u32)| match entry.connection.auth_type {
        AuthType::Apikey | AuthType::None => Some(1.0),
        AuthType::Oauth => {
            let cap = entry.connection.limits(provider.limits).account_cap()?;
            Some(f64::from(cap.saturating_sub(in_flight)) / f64::from(cap.max(1)))
        }
    };
    accounts.into_iter().filter_map(free).max_by(f64::total_cmp)
}

/// What is known about a target now, and about these of its accounts.
pub(crate) fn facts(gateway: &Gateway, provider: &Provider, target: &Target, entries: &[&Arc<Entry>]) -> Facts {
    let load = gateway.engine().load(provider, &target.model, entries.iter().map(|entry| &entry.connection.id));
    let plan = load.quota.as_ref().and_then(|quota| quota.plan.as_deref());
    Facts {
        max_tools: load.max_tools.filter(|_| !truncates_tools(gateway)),
        telemetry: gateway.telemetry().lock().of(&target.provider, &target.model, target.connection.as_ref()),
        in_flight: load.in_flight.iter().copied().min().unwrap_or(0),
        tier: plan.map_or(Tier::Unknown, Tier::of_plan),
        sessions_free: sessions_free(provider, entries.iter().copied().zip(load.in_flight.iter().copied())),
        max_concurrent: entries.iter().filter_map(|entry| entry.connection.limits(provider.limits).account_cap()).max(),
        quota: load.quota,
        breaker: weighed(load.breaker),
        pool_size: u32::try_from(entries.iter().filter(|entry| entry.connection.is_active).count()).unwrap_or(u32::MAX),
        ..catalogued(provider, &target.model)
    }
}

/// The combo's numbers after the cascade; worked out once for each state of combo and settings.
pub(super) fn config(gateway: &Gateway, combo: &Arc<Combo>) -> Arc<Config> {
    let settings = gateway.settings();
    gateway.routing().config(combo, &settings, || config_of(combo, &settings))
}
