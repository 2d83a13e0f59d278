//! What a replay stands on: accounts, providers, combos, names and settings as they are now, or as they are to be.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::Catalog;
use domain::{ProviderId, Timestamp};
use gateway::{Connections, Pools, config_of};
use resilience::failure::error_rules::operator_rules;
use resilience::failure::{ErrorRule, Rules};
use routing::auto_name::AutoName;
use routing::combo::{Combo, Config, Mapping, Strategy};
use routing::strategies::auto::Profile;
use routing::{ComboNames, NameTable, Resolution};
use settings::Settings;

use super::story::Story;
use crate::Control;

/// Cheap to clone; the changed ground is a changed clone.
#[derive(Clone)]
pub(super) struct Ground {
    pub(super) catalog: Arc<Catalog>,
    pub(super) connections: Arc<Connections>,
    /// Models that providers listed themselves.
    pub(super) live: Arc<BTreeMap<ProviderId, Vec<String>>>,
    pub(super) table: Arc<NameTable>,
    pub(super) settings: Arc<Settings>,
    mappings: Arc<Vec<Mapping>>,
    pools: Arc<Pools>,
    combos: BTreeMap<String, (Arc<Combo>, Arc<Config>)>,
    names: ComboNames,
    rules: Arc<BTreeMap<ProviderId, Vec<ErrorRule>>>,
}

/// Where a name leads.
pub(super) enum Way {
    Direct { provider: ProviderId, model: String },
    Combo(Chosen),
}

/// A combo as one request asks it.
#[derive(Clone)]
pub(super) struct Chosen {
    pub(super) combo: Arc<Combo>,
    pub(super) config: Arc<Config>,
    pub(super) auto: Option<(AutoName, Profile)>,
}

impl Ground {
    /// As it is now.
    pub(super) fn of(control: &Control) -> Self {
        let catalog = control.catalog();
        let listed = |id: &ProviderId| control.discovered(id).into_iter().map(|model| model.id).collect::<Vec<_>>();
        let live = catalog.iter().map(|provider| (provider.id.clone(), listed(&provider.id)));
        let live: BTreeMap<ProviderId, Vec<String>> = live.filter(|(_, models)| !models.is_empty()).collect();
        let combos = control.combos();
        let mut ground = Ground {
            live: Arc::new(live),
            connections: Arc::clone(&control.connections()),
            table: Arc::clone(&control.names()),
            settings: Arc::clone(&control.settings()),
            mappings: Arc::new(combos.mappings().to_vec()),
            pools: Arc::clone(&control.quota_pools()),
            combos: BTreeMap::new(),
            names: ComboNames::default(),
            rules: Arc::default(),
            catalog: Arc::clone(&catalog),
        };
        ground.take_up(combos.iter().cloned());
        ground
    }

    /// Other settings. Names stay as they were.
    pub(super) fn set_settings(&mut self, settings: Settings) {
        self.settings = Arc::new(settings);
        let combos: Vec<Arc<Combo>> = self.combos.values().map(|(combo, _)| Arc::clone(combo)).collect();
        self.take_up(combos.into_iter());
    }

    /// The combo of that id is this one.
    pub(super) fn set_combo(&mut self, combo: Combo) {
        let others = self.combos.values().map(|(combo, _)| combo).filter(|other| other.id != combo.id);
        let mut combos: Vec<Arc<Combo>> = others.cloned().collect();
        combos.push(Arc::new(combo));
        self.take_up(combos.into_iter());
    }

    /// Works out everything that follows from combos and settings.
    fn take_up(&mut self, combos: impl Iterator<Item = Arc<Combo>>) {
        let settings = Arc::clone(&self.settings);
        let with_config = |combo: Arc<Combo>| {
            let config = Arc::new(config_of(&combo, &settings));
            (combo.id.clone(), (combo, config))
        };
        self.combos = combos.map(with_config).collect();
        self.names = ComboNames::new(self.combos.values().map(|(combo, _)| &**combo), &self.mappings);
        self.rules = Arc::new(operator_rules(&settings.provider_error_rules).unwrap_or_default());
    }

    pub(super) fn combo(&self, id: &str) -> Option<Chosen> {
        let (combo, config) = self.combos.get(id)?;
        Some(Chosen { combo: Arc::clone(combo), config: Arc::clone(config), auto: None })
    }

    pub(super) fn combo_named(&self, name: &str) -> Option<Chosen> {
        self.combos.values().find(|(combo, _)| combo.name == name).and_then(|(combo, _)| self.combo(&combo.id))
    }

    /// Where the name of a request leads; with `only`, to that combo. None, nowhere.
    pub(super) fn way(&self, story: &Story, only: Option<&str>) -> Option<Way> {
        if let Some(id) = only {
            return self.combo(id).map(Way::Combo);
        }
        match routing::resolve_name(&story.name, &self.names, &self.table).ok()? {
            Resolution::Direct(resolved) => Some(Way::Direct { provider: resolved.provider, model: resolved.model }),
            Resolution::Combo { id, .. } => self.combo(&id).map(Way::Combo),
            Resolution::Auto { name, .. } => {
                let auto = AutoName::parse(&name)?;
                let combo = Combo::made_up(&name, Strategy::Auto);
                let config = Arc::new(config_of(&combo, &self.settings));
                let profile = auto.profile();
                Some(Way::Combo(Chosen { combo: Arc::new(combo), config, auto: Some((auto, profile)) }))
            }
            Resolution::QuotaShare { model, .. } => {
                let (combo, _) = self.pools.combo(&model, &self.catalog, &self.connections)?;
                let config = Arc::new(config_of(&combo, &self.settings));
                Some(Way::Combo(Chosen { combo: Arc::new(combo), config, auto: None }))
            }
        }
    }

    /// By what a provider's failures are judged.
    pub(super) fn rules<'r>(&'r self, provider: &'r catalog::Provider) -> Rules<'r> {
        Rules {
            provider: &provider.rules,
            operator: self.rules.get(&provider.id).map_or(&[], Vec::as_slice),
            banned_signals: &self.settings.custom_banned_signals,
        }
    }
}

/// The next midnight in UTC: where a quota is exhausted without a word on its end, the log does not say whose day it was.
pub(super) fn midnight(now: Timestamp) -> Timestamp {
    const DAY: u64 = 24 * 60 * 60 * 1_000;
    Timestamp::from_millis((now.as_millis() / DAY + 1).saturating_mul(DAY))
}
