//! What a combo's steps lead to at one instant of a replay: the counterpart of the gateway's own book.

use std::sync::Arc;

use catalog::Provider;
use domain::client_key::ClientKey;
use domain::wire::reason;
use domain::{Availability, Candidate, ConnectionId, Exclusion, Mechanism, ProviderClass, ProviderId, Timestamp};
use gateway::{Entry, Telemetries, catalogued, models_of, sessions_free, weighed};
use resilience::{Admission, Caller, Engine};
use routing::Target;
use routing::account::{self, Accounts};
use routing::auto_name::Listed;
use routing::combo::{Book, Combo, Config, Strategy};
use routing::target::Facts;

use super::ground::Ground;

#[derive(Clone, Copy)]
pub(super) struct ReplayBook<'b> {
    pub(super) ground: &'b Ground,
    pub(super) engine: &'b Engine,
    pub(super) telemetry: &'b Telemetries,
    pub(super) key: Option<&'b ClientKey>,
    pub(super) caller: Caller,
    pub(super) quota_cutoff: bool,
    pub(super) now: Timestamp,
}

impl ReplayBook<'_> {
    /// The accounts of a target, ranked; and who is left out.
    pub(super) fn accounts_of(&self, target: &Target) -> Accounts {
        let Some(provider) = self.ground.catalog.get(&target.provider) else { return Accounts::default() };
        let entries: Vec<&Arc<Entry>> = self.ground.connections.of_target(target).collect();
        let candidates: Vec<Candidate> = entries.iter().map(|entry| entry.candidate(&target.model, provider)).collect();
        let mut accounts = account::by_priority(&candidates, |candidate| self.word(candidate));
        if let Some(key) = self.key {
            accounts.attempts.sort_by_key(|candidate| key.preference(&candidate.connection));
        }
        accounts
    }

    /// May this account be asked now?
    pub(super) fn word(&self, candidate: &Candidate) -> Availability {
        self.word_for(candidate, self.quota_cutoff)
    }

    fn word_for(&self, candidate: &Candidate, quota_cutoff: bool) -> Availability {
        let Some(entry) = self.ground.connections.get(&candidate.connection) else { return switched_off() };
        if self.key.is_some_and(|key| !key.allows_connection(&candidate.connection)) {
            let barred = Exclusion::lasting(Mechanism::KeyAllowList, reason::KEY_ALLOW_LIST);
            return Availability::Excluded(barred);
        }
        if let Some(exclusion) = entry.bars(&candidate.model) {
            return Availability::Excluded(exclusion);
        }
        let Some(provider) = self.ground.catalog.get(&candidate.provider) else { return switched_off() };
        let limits = entry.connection.limits(provider.limits);
        let ask = Admission { quota_cutoff, ..Admission::new(candidate, &limits, self.caller) };
        self.engine.availability(&ask, &self.ground.settings.resilience, self.now)
    }

    /// Every model of every account that is switched on.
    pub(super) fn everything(&self) -> Vec<Listed> {
        let mut listed = Vec::new();
        for entry in self.ground.connections.iter().filter(|entry| entry.connection.is_active) {
            let connection = &entry.connection;
            let Some(provider) = self.ground.catalog.get(&connection.provider) else { continue };
            for model in self.models(&connection.provider) {
                let qualified = format!("{}/{model}", provider.id);
                if connection.excluded_models.contains(&model)
                    || self.key.is_some_and(|key| !key.allows_model(&[&qualified]))
                {
                    continue;
                }
                let only = Some(&connection.id);
                listed.push(Listed {
                    provider: provider.id.clone(),
                    connection: connection.id.clone(),
                    is_default: connection.default_model.as_deref() == Some(model.as_str()),
                    has_credential: entry.credential.is_some() || provider.class == ProviderClass::Local,
                    facts: self.facts(provider, &model, only, &[entry]),
                    availability: self.word(&entry.candidate(&model, provider)),
                    model,
                });
            }
        }
        listed
    }

    pub(super) fn facts(
        &self,
        provider: &Provider,
        model: &str,
        account: Option<&ConnectionId>,
        entries: &[&Arc<Entry>],
    ) -> Facts {
        let settings = &self.ground.settings.resilience;
        let active = entries.iter().filter(|entry| entry.connection.is_active).count();
        let in_flight = || entries.iter().map(|entry| self.engine.in_flight(&entry.connection.id));
        Facts {
            max_tools: self.engine.tool_limit(&provider.id, provider.limits.most_tools, self.now),
            telemetry: self.telemetry.of(&provider.id, model, account),
            in_flight: in_flight().min().unwrap_or(0),
            sessions_free: sessions_free(provider, entries.iter().copied().zip(in_flight())),
            max_concurrent: entries
                .iter()
                .filter_map(|entry| entry.connection.limits(provider.limits).account_cap())
                .max(),
            breaker: weighed(self.engine.breaker_state(&provider.id, settings, self.now)),
            pool_size: u32::try_from(active).unwrap_or(u32::MAX),
            ..catalogued(provider, model)
        }
    }
}

fn switched_off() -> Availability {
    Availability::Excluded(Exclusion::lasting(Mechanism::SwitchedOff, reason::SWITCHED_OFF))
}

impl Book for ReplayBook<'_> {
    fn combo(&self, name: &str) -> Option<Arc<Combo>> {
        self.ground.combo_named(name).map(|chosen| chosen.combo)
    }

    fn config(&self, combo: &Combo) -> Arc<Config> {
        self.ground.combo(&combo.id).map(|chosen| chosen.config).unwrap_or_default()
    }

    fn models(&self, provider: &ProviderId) -> Vec<String> {
        let live = self.ground.live.get(provider).into_iter().flatten().map(String::as_str);
        self.ground.catalog.get(provider).map(|known| models_of(known, live)).unwrap_or_default()
    }

    fn resolve(&self, written: &str) -> Option<(ProviderId, String)> {
        let resolved = routing::resolve(written, &self.ground.table).ok()?;
        Some((resolved.provider, resolved.model))
    }

    fn accounts(&self, provider: &ProviderId, model: &str) -> Vec<ConnectionId> {
        let serves = |entry: &&Arc<Entry>| {
            entry.connection.is_active && !entry.connection.excluded_models.iter().any(|excluded| excluded == model)
        };
        let entries = self.ground.connections.of_provider(provider);
        entries.filter(serves).map(|entry| entry.connection.id.clone()).collect()
    }

    fn complete(&self, target: &mut Target, strategy: Strategy) {
        let Some(provider) = self.ground.catalog.get(&target.provider) else {
            target.availability = switched_off();
            return;
        };
        let entries: Vec<&Arc<Entry>> = self.ground.connections.of_target(target).collect();
        let quota_cutoff = strategy != Strategy::Auto;
        let words = entries.iter().map(|entry| self.word_for(&entry.candidate(&target.model, provider), quota_cutoff));
        let availability = account::best_of(words);
        let facts = self.facts(provider, &target.model, target.connection.as_ref(), &entries);
        target.availability = availability;
        target.facts = facts;
    }
}
