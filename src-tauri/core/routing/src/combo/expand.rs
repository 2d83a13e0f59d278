//! From the steps of a combo to what may be asked now (gateway specification, 3.1 and 3.3, steps 1, 2 and 5).
//!
//! Wildcards become the models they match, in the order of the catalogue; references become the steps of the other combo
//! in their place, or one stand-in that carries the other combo's own expansion ([`Nested`]). What falls away is listed
//! with its reason, for the preview and the diagnostics. Rings and towers are refused when a combo is saved, and skipped
//! here all the same: another combo may have been changed since.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::client_key::ClientKey;
use domain::model_name::glob_matches;
use domain::{Availability, ConnectionId, ProviderId};

use super::config::NestedMode;
use super::{Combo, CompositeTiers, Config, Step, StepKind, Strategy};
use crate::target::{Facts, Target};

/// Most models one wildcard stands for.
pub const WILDCARD_CAP: usize = 50;

/// What an expansion is looked up in.
pub trait Book {
    fn combo(&self, name: &str) -> Option<Arc<Combo>>;
    /// The combo's numbers after the cascade.
    fn config(&self, combo: &Combo) -> Arc<Config>;
    /// The enabled models of a provider, in the order of its catalogue.
    fn models(&self, provider: &ProviderId) -> Vec<String>;
    /// Provider and model behind a name as a step's owner wrote it; none when no such provider is known.
    fn resolve(&self, written: &str) -> Option<(ProviderId, String)>;
    /// The accounts at a provider that could serve a model, first choice first.
    fn accounts(&self, provider: &ProviderId, model: &str) -> Vec<ConnectionId>;
    /// Completes a target with its facts and the Engine's word: of its account, or the best of those it may use. Whose
    /// quota runs out is a matter of the strategy that will compare the target.
    fn complete(&self, target: &mut Target, strategy: Strategy);
}

/// Who asks, as far as that limits what may be asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asker<'a> {
    pub key: Option<&'a ClientKey>,
    /// The model as the client wrote it, which the key's globs may name.
    pub requested: &'a str,
}

/// What a combo comes to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expansion {
    pub targets: Vec<Target>,
    /// The combos that stand for one target each, by its execution key.
    pub nested: BTreeMap<String, Nested>,
    pub skipped: Vec<Skipped>,
}

/// A combo that is one target of another.
#[derive(Clone, Debug, PartialEq)]
pub struct Nested {
    pub combo: String,
    pub strategy: Strategy,
    pub tiers: Option<CompositeTiers>,
    pub config: Arc<Config>,
    pub expansion: Expansion,
}

/// A step, or a part of one, that is not among the targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Step path and name: `provider/model`, the name of a combo, or a pattern.
    pub step: String,
    pub what: String,
    /// `disabled`, `key_allow_list`, `unknown_provider`, `unknown_combo`, `combo_inactive`, `combo_cycle`,
    /// `combo_depth`, `wildcard_empty`, `wildcard_cap`.
    pub reason: &'static str,
}

/// Expands a combo for whoever asks.
pub fn expand(combo: &Combo, config: &Config, asker: &Asker<'_>, book: &impl Book) -> Expansion {
    let path = vec![combo.name.clone()];
    let mut walk = Walk { asker, book, depth: config.max_combo_depth as usize, path };
    walk.combo(combo, config, &Place::root())
}

struct Walk<'w, B> {
    asker: &'w Asker<'w>,
    book: &'w B,
    depth: usize,
    /// Names of the combos around the present one.
    path: Vec<String>,
}

/// Where in the tree a step stands.
struct Place {
    /// Step ids so far, each with its `>`.
    prefix: String,
    /// Top-level step and its weight; none at the top itself.
    top: Option<(usize, u32)>,
    /// The strategy that will compare what comes of it.
    strategy: Option<Strategy>,
}

impl Place {
    fn root() -> Place {
        Place { prefix: String::new(), top: None, strategy: None }
    }
}

impl<B: Book> Walk<'_, B> {
    fn combo(&mut self, combo: &Combo, config: &Config, place: &Place) -> Expansion {
        let strategy = place.strategy.unwrap_or(combo.strategy);
        let mut expansion = Expansion::default();
        for (index, step) in combo.models.iter().enumerate() {
            let at = At {
                key: format!("{}{}", place.prefix, step.id),
                top: place.top.unwrap_or((index, step.weight)),
                strategy,
                nested_mode: config.nested_mode,
            };
            if step.enabled {
                self.step(step, &at, &mut expansion);
            } else {
                expansion.skip(&at.key, what(step), "disabled");
            }
        }
        expansion
    }

    fn step(&mut self, step: &Step, at: &At, expansion: &mut Expansion) {
        match &step.kind {
            StepKind::Model { model, .. } => {
                let Some((provider, id)) = self.book.resolve(model) else {
                    return expansion.skip(&at.key, model.clone(), "unknown_provider");
                };
                self.model(step, at, at.key.clone(), provider, id, expansion);
            }
            StepKind::ProviderWildcard { provider_id, model_pattern } => {
                let models = self.book.models(provider_id);
                let mut matching = models.into_iter().filter(|model| glob_matches(model_pattern, model)).peekable();
                if matching.peek().is_none() {
                    return expansion.skip(&at.key, what(step), "wildcard_empty");
                }
                for (n, id) in matching.enumerate() {
                    if n == WILDCARD_CAP {
                        return expansion.skip(&at.key, what(step), "wildcard_cap");
                    }
                    let key = format!("{}>{id}", at.key);
                    self.model(step, at, key, provider_id.clone(), id, expansion);
                }
            }
            StepKind::ComboRef { combo_name } => {
                if let Err(reason) = self.reference(step, combo_name, at, expansion) {
                    expansion.skip(&at.key, combo_name.clone(), reason);
                }
            }
        }
    }

    fn reference(&mut self, step: &Step, name: &str, at: &At, expansion: &mut Expansion) -> Result<(), &'static str> {
        if self.path.iter().any(|passed| passed == name) {
            return Err("combo_cycle");
        }
        if self.path.len() > self.depth {
            return Err("combo_depth");
        }
        let combo = self.book.combo(name).ok_or("unknown_combo")?;
        if !combo.is_active {
            return Err("combo_inactive");
        }
        let config = self.book.config(&combo);
        self.path.push(name.to_owned());
        let mut place = Place { prefix: format!("{}>", at.key), top: Some(at.top), strategy: Some(at.strategy) };
        match at.nested_mode {
            NestedMode::Flatten => expansion.absorb(self.combo(&combo, &config, &place)),
            NestedMode::Execute => {
                place.top = None;
                place.strategy = None;
                let inner = self.combo(&combo, &config, &place);
                expansion.stand_in(step, at, &combo, config, inner);
            }
        }
        self.path.pop();
        Ok(())
    }

    fn model(
        &mut self,
        step: &Step,
        at: &At,
        key: String,
        provider: ProviderId,
        model: String,
        expansion: &mut Expansion,
    ) {
        let name = format!("{provider}/{model}");
        let asked = self.asker;
        if asked.key.is_some_and(|key| !key.allows_model(&[asked.requested, &name])) {
            return expansion.skip(&key, name, "key_allow_list");
        }
        let mut target = bare(step, at, key, provider, model);
        let Some(allowed) = both(&target.allowed_connections, asked.key.map_or(&[], |key| &key.allowed_connections))
        else {
            return expansion.skip(&target.execution_key, name, "key_allow_list");
        };
        target.allowed_connections = allowed;
        if let Some(pinned) = &target.connection {
            if !allows(&target.allowed_connections, pinned) {
                return expansion.skip(&target.execution_key, name, "key_allow_list");
            }
            return self.finish(target, at, expansion);
        }
        if at.strategy.compares_accounts() {
            let mut accounts = self.book.accounts(&target.provider, &target.model);
            accounts.retain(|account| allows(&target.allowed_connections, account));
            for account in &accounts {
                let mut one = target.clone();
                one.execution_key = format!("{}@{account}", target.execution_key);
                one.connection = Some(account.clone());
                self.finish(one, at, expansion);
            }
            if !accounts.is_empty() {
                return;
            }
        }
        self.finish(target, at, expansion);
    }

    fn finish(&self, mut target: Target, at: &At, expansion: &mut Expansion) {
        self.book.complete(&mut target, at.strategy);
        expansion.targets.push(target);
    }
}

/// One step on the way.
struct At {
    key: String,
    top: (usize, u32),
    strategy: Strategy,
    nested_mode: NestedMode,
}

impl Expansion {
    fn skip(&mut self, step: &str, what: String, reason: &'static str) {
        self.skipped.push(Skipped { step: step.to_owned(), what, reason });
    }

    fn absorb(&mut self, other: Expansion) {
        self.targets.extend(other.targets);
        self.nested.extend(other.nested);
        self.skipped.extend(other.skipped);
    }

    /// One target for a whole combo. Until the combo is planned it looks like its first target that is available.
    fn stand_in(&mut self, step: &Step, at: &At, combo: &Combo, config: Arc<Config>, mut inner: Expansion) {
        self.skipped.append(&mut inner.skipped);
        let face = inner.targets.iter().find(|target| target.availability == Availability::Available);
        let Some(face) = face.or(inner.targets.first()) else {
            return self.skip(&at.key, combo.name.clone(), "combo_empty");
        };
        self.targets.push(Target {
            execution_key: at.key.clone(),
            top: at.top.0,
            weight: at.top.1,
            label: step.label.clone().or_else(|| Some(combo.name.clone())),
            connection: None,
            allowed_connections: Vec::new(),
            prompt: None,
            tags: tags_of(&inner.targets),
            fallback_only_on_quota_exhaustion: false,
            ..face.clone()
        });
        let nested = Nested {
            combo: combo.name.clone(),
            strategy: combo.strategy,
            tiers: combo.composite_tiers.clone(),
            config,
            expansion: inner,
        };
        self.nested.insert(at.key.clone(), nested);
    }
}

/// Every tag that any of the targets has.
fn tags_of(targets: &[Target]) -> Vec<String> {
    let tags: BTreeSet<&String> = targets.iter().flat_map(|target| &target.tags).collect();
    tags.into_iter().cloned().collect()
}

fn what(step: &Step) -> String {
    match &step.kind {
        StepKind::Model { model, .. } => model.clone(),
        StepKind::ComboRef { combo_name } => combo_name.clone(),
        StepKind::ProviderWildcard { provider_id, model_pattern } => format!("{provider_id}/{model_pattern}"),
    }
}

/// A target with nothing known about it yet.
fn bare(step: &Step, at: &At, execution_key: String, provider: ProviderId, model: String) -> Target {
    let mut target = Target {
        execution_key,
        top: at.top.0,
        provider,
        model,
        connection: None,
        allowed_connections: Vec::new(),
        weight: at.top.1,
        label: step.label.clone(),
        prompt: None,
        tags: Vec::new(),
        fallback_only_on_quota_exhaustion: false,
        facts: Facts::default(),
        availability: Availability::Available,
    };
    if let StepKind::Model {
        connection_id,
        allowed_connection_ids,
        prompt,
        tags,
        fallback_only_on_quota_exhaustion,
        ..
    } = &step.kind
    {
        target.connection.clone_from(connection_id);
        target.allowed_connections.clone_from(allowed_connection_ids);
        target.prompt.clone_from(prompt);
        target.tags.clone_from(tags);
        target.fallback_only_on_quota_exhaustion = *fallback_only_on_quota_exhaustion;
    }
    target
}

fn allows(list: &[ConnectionId], connection: &ConnectionId) -> bool {
    list.is_empty() || list.contains(connection)
}

/// What two allow-lists allow together, where an empty list allows all; none when together they allow nothing.
fn both(step: &[ConnectionId], key: &[ConnectionId]) -> Option<Vec<ConnectionId>> {
    if step.is_empty() || key.is_empty() {
        return Some(if step.is_empty() { key } else { step }.to_vec());
    }
    let common: Vec<ConnectionId> = step.iter().filter(|id| key.contains(id)).cloned().collect();
    (!common.is_empty()).then_some(common)
}

#[cfg(test)]
#[path = "expand_tests.rs"]
mod tests;
