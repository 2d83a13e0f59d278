//! What a combo's steps lead to: the catalogue, the accounts, the Engine's word, the figures of late.

use std::sync::Arc;

use catalog::{Catalog, Provider};
use domain::wire::reason;
use domain::{Availability, ConnectionId, Exclusion, Mechanism, ProviderClass, ProviderId};
use resilience::Caller;
use routing::auto_name::Listed;
use routing::combo::{Book, Combo, Config, Strategy};
use routing::target::{Breaker, Facts, Supports};
use routing::{NameTable, Target};
use serde_json::Map;

use crate::address_book::{Connections, Discovered, Entry};
use crate::combos::Combos;
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::plan::{Asker, accounts_of, availability, candidate_for};

/// One request's view of everything that names lead to.
pub(super) struct GatewayBook<'a> {
    gateway: &'a Gateway,
    asker: Asker<'a>,
    catalog: Arc<Catalog>,
    connections: Arc<Connections>,
    combos: Arc<Combos>,
    names: Arc<NameTable>,
    discovered: Arc<Discovered>,
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

    /// A target that no step leads to: the judge of a panel.
    pub(super) fn target_named(&self, name: &str) -> Option<Target> {
        let (provider, model) = self.resolve(name)?;
        let mut target = bare(&provider, &model);
        target.execution_key = format!("judge>{name}");
        self.complete(&mut target);
        Some(target)
    }

    /// Every model of every account that is switched on: what `auto` chooses from.
    pub(super) fn everything(&self) -> Vec<Listed> {
        let mut listed = Vec::new();
        for entry in self.connections.iter().filter(|entry| entry.connection.is_active) {
            let connection = &entry.connection;
            let Some(provider) = self.catalog.get(&connection.provider) else { continue };
            for model in self.models(&connection.provider) {
                if connection.excluded_models.contains(&model)
                    || self.asker.key.is_some_and(|key| !key.allows_model(&[&format!("{}/{model}", provider.id)]))
                {
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
                    availability: self.best(provider, &target, &entries),
                    model,
                });
            }
        }
        listed
    }

    /// Whether anybody could ever serve the target, switched on or not.
    pub(super) fn has_accounts(&self, target: &Target) -> bool {
        accounts_of(&self.connections, target).next().is_some()
    }

    /// The Engine's word about the best account; without any, nobody is there.
    fn best(&self, provider: &Provider, target: &Target, entries: &[&Arc<Entry>]) -> Availability {
        let mut best: Option<Exclusion> = None;
        for entry in entries {
            let candidate = candidate_for(entry, &target.model, provider);
            match availability(self.gateway, &self.asker, provider, &candidate, entry) {
                Availability::Available => return Availability::Available,
                Availability::Excluded(exclusion) => {
                    if best.as_ref().is_none_or(|best| is_sooner(&exclusion, best)) {
                        best = Some(exclusion);
                    }
                }
            }
        }
        let nobody = || Exclusion::lasting(Mechanism::SwitchedOff, reason::SWITCHED_OFF);
        Availability::Excluded(best.unwrap_or_else(nobody))
    }
}

/// Of several reasons the one that passes first speaks for the target.
fn is_sooner(exclusion: &Exclusion, than: &Exclusion) -> bool {
    match (exclusion.until, than.until) {
        (Some(one), Some(other)) => one < other,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

/// `auto` weighs a quota that runs out; to all others it is a reason to go elsewhere (gateway specification, 3.7).
pub(super) fn asker(request: &ClientRequest, strategy: Strategy) -> Asker<'_> {
    Asker { quota_cutoff: strategy != Strategy::Auto, ..Asker::of(request, Caller::Combo) }
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
        let Some(known) = self.catalog.get(provider) else { return Vec::new() };
        let mut models: Vec<String> = known.models.iter().map(|model| model.id.clone()).collect();
        for live in self.discovered.get(provider).into_iter().flatten() {
            if !models.contains(&live.id) {
                models.push(live.id.clone());
            }
        }
        models
    }

    fn resolve(&self, written: &str) -> Option<(ProviderId, String)> {
        let resolved = routing::resolve(written, &self.names).ok()?;
        Some((resolved.provider, resolved.model))
    }

    fn accounts(&self, provider: &ProviderId, model: &str) -> Vec<ConnectionId> {
        let serves = |entry: &&Arc<Entry>| {
            entry.connection.is_active && !entry.connection.excluded_models.iter().any(|excluded| excluded == model)
        };
        self.connections.of_provider(provider).filter(serves).map(|entry| entry.connection.id.clone()).collect()
    }

    fn complete(&self, target: &mut Target) {
        let Some(provider) = self.catalog.get(&target.provider) else {
            let gone = Exclusion::lasting(Mechanism::SwitchedOff, reason::SWITCHED_OFF);
            target.availability = Availability::Excluded(gone);
            return;
        };
        let entries: Vec<&Arc<Entry>> = accounts_of(&self.connections, target).collect();
        let facts = facts(self.gateway, provider, target, &entries);
        let availability = self.best(provider, target, &entries);
        drop(entries);
        target.facts = facts;
        target.availability = availability;
    }
}

/// A target of which nothing is known yet.
fn bare(provider: &ProviderId, model: &str) -> Target {
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

fn facts(gateway: &Gateway, provider: &Provider, target: &Target, entries: &[&Arc<Entry>]) -> Facts {
    let known = provider.model(&target.model);
    let price = known.and_then(|model| model.price.as_ref());
    let supports = known.map(|model| &model.supports);
    let load = gateway.engine().load(&target.provider, &target.model, entries.iter().map(|entry| &entry.connection.id));
    Facts {
        input_price: price.map(|price| price.input),
        output_price: price.map(|price| price.output),
        context_window: known.and_then(|model| model.context),
        max_output: known.and_then(|model| model.max_output),
        max_tools: load.max_tools.into_iter().chain(provider.limits.most_tools).min(),
        supports: Supports {
            tools: supports.and_then(|it| it.tools),
            vision: supports.and_then(|it| it.vision),
            audio: supports.and_then(|it| it.audio),
            documents: None,
            structured_output: supports.and_then(|it| it.structured_output),
            reasoning: supports.and_then(|it| it.reasoning),
        },
        telemetry: gateway.telemetry().lock().of(&target.provider, &target.model, target.connection.as_ref()),
        in_flight: load.in_flight,
        max_concurrent: entries.iter().filter_map(|entry| entry.connection.limits(provider.limits).account_cap()).max(),
        quota: load.quota,
        breaker: match load.breaker {
            resilience::circuit_breaker::State::Closed => Breaker::Closed,
            resilience::circuit_breaker::State::Degraded => Breaker::Degraded,
            resilience::circuit_breaker::State::HalfOpen => Breaker::HalfOpen,
            resilience::circuit_breaker::State::Open { .. } => Breaker::Open,
        },
        tier: routing::target::Tier::Unknown,
        pool_size: u32::try_from(entries.iter().filter(|entry| entry.connection.is_active).count()).unwrap_or(u32::MAX),
        sessions_free: None,
        quality: None,
    }
}

/// The combo's numbers after the cascade; worked out once for each state of combo and settings.
pub(super) fn config(gateway: &Gateway, combo: &Arc<Combo>) -> Arc<Config> {
    let settings = gateway.settings();
    gateway.routing().config(combo, &settings, || {
        let defaults = match domain::section::Section::tree(&settings.combo_defaults) {
            serde_json::Value::Object(defaults) => defaults,
            _ => Map::new(),
        };
        let nothing = Map::new();
        let of_provider = only_provider(combo)
            .and_then(|provider| settings.provider_overrides.get(provider.as_str()))
            .unwrap_or(&nothing);
        Config::cascade(&[&defaults, of_provider, &combo.config]).0
    })
}

/// The provider of all the combo's models, where it is one.
fn only_provider(combo: &Combo) -> Option<&ProviderId> {
    use routing::combo::StepKind;
    let mut providers = combo.models.iter().map(|step| match &step.kind {
        StepKind::Model { provider_id, .. } | StepKind::ProviderWildcard { provider_id, .. } => Some(provider_id),
        StepKind::ComboRef { .. } => None,
    });
    let first = providers.next()??;
    providers.all(|provider| provider == Some(first)).then_some(first)
}
