//! What the client's model name leads to: one model, or a choice among several (gateway specification, 1.4).
//!
//! First rule that hits wins: 1. a combo's exact name · 2. `combo/<name>` · 3. a mapping whose pattern matches ·
//! 4. `auto`, `auto/<variant>` · 5. `qtSd/<group>/<provider>/<model>` · 6. an alias of a combo. The rest, aliases of
//! models included, is [`crate::resolve`]'s. A combo may deliberately carry the name of a real model, so combos are asked
//! before anything else; one that is switched off is passed over, and its name means what it would mean without it.

use std::collections::BTreeMap;

use crate::combo::{Combo, Mapping};
use crate::quota_share::PoolModel;
use crate::resolve::{LONG_CONTEXT, NameTable, NotFound, Resolved, near_names, resolve};

const COMBO: &str = "combo/";
const AUTO: &str = "auto";

/// What a name leads to. `long_context` says that it carried `[1m]`: the client wants the long context window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// One provider and one model; its rule is 6 to 8.
    Direct(Resolved),
    /// A combo, by its id; the rule is 1, 2, 3 or 6.
    Combo { id: String, rule: u8, long_context: bool },
    /// A pool that is scored anew for every request: `auto` or `auto/<variant>`, as written.
    Auto { name: String, rule: u8, long_context: bool },
    /// A pool of subscription accounts.
    QuotaShare { model: PoolModel, rule: u8, long_context: bool },
}

/// The names that lead to a choice; rebuilt when combos or mappings change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComboNames {
    /// Name of an active combo to its id.
    combos: BTreeMap<String, String>,
    /// Mappings to active combos, in the order in which they are asked.
    mappings: Vec<Mapping>,
}

impl ComboNames {
    /// Of combos and mappings, only those count that are switched on.
    pub fn new<'c>(combos: impl IntoIterator<Item = &'c Combo>, mappings: &[Mapping]) -> ComboNames {
        let active = combos.into_iter().filter(|combo| combo.is_active);
        let combos: BTreeMap<String, String> = active.map(|combo| (combo.name.clone(), combo.id.clone())).collect();
        let leads = |mapping: &&Mapping| mapping.enabled && combos.values().any(|id| *id == mapping.combo_id);
        let mut mappings: Vec<Mapping> = mappings.iter().filter(leads).cloned().collect();
        Mapping::sort(&mut mappings);
        ComboNames { combos, mappings }
    }

    fn id(&self, name: &str) -> Option<&String> {
        self.combos.get(name)
    }

    /// Rules 1 to 3: the combo behind a name, and the rule that hit.
    fn find(&self, name: &str) -> Option<(&String, u8)> {
        let by_name = self.id(name).map(|id| (id, 1));
        let by_prefix = || name.strip_prefix(COMBO).and_then(|name| self.id(name)).map(|id| (id, 2));
        let by_mapping = || {
            let hit = self.mappings.iter().find(|mapping| mapping.matches(name));
            hit.map(|mapping| (&mapping.combo_id, 3))
        };
        by_name.or_else(by_prefix).or_else(by_mapping)
    }
}

/// Resolves a client's model name.
pub fn resolve_name(name: &str, combos: &ComboNames, table: &NameTable) -> Result<Resolution, NotFound> {
    // A combo's name may itself end like the mark.
    if let Some(id) = combos.id(name) {
        return Ok(Resolution::Combo { id: id.clone(), rule: 1, long_context: false });
    }
    let (bare, long_context) = match name.strip_suffix(LONG_CONTEXT) {
        Some(stripped) => (stripped, true),
        None => (name, false),
    };
    if let Some((id, rule)) = combos.find(bare) {
        return Ok(Resolution::Combo { id: id.clone(), rule, long_context });
    }
    if bare == AUTO || bare.strip_prefix(AUTO).is_some_and(|rest| rest.len() > 1 && rest.starts_with('/')) {
        return Ok(Resolution::Auto { name: bare.to_owned(), rule: 4, long_context });
    }
    if let Some(model) = PoolModel::parse(bare) {
        return Ok(Resolution::QuotaShare { model, rule: 5, long_context });
    }
    if let Some(id) = table.aliases.get(bare).and_then(|target| combos.id(target)) {
        return Ok(Resolution::Combo { id: id.clone(), rule: 6, long_context });
    }
    resolve(name, table).map(Resolution::Direct).map_err(|_| {
        let own = combos.combos.keys().cloned();
        NotFound { near: near_names(bare, table, own) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::combo::Strategy;
    use crate::combo::fixtures::combo;
    use crate::combo::mapping::fixtures::mapping;
    use crate::resolve::Listed;

    fn table() -> NameTable {
        NameTable {
            aliases: [("fast".to_owned(), "openai/gpt".to_owned()), ("mine".to_owned(), "team".to_owned())].into(),
            providers: [("openai".to_owned(), "openai".into())].into(),
            models: [("gpt".to_owned(), vec![Listed { provider: "openai".into(), model: "gpt".to_owned() }])].into(),
        }
    }

    fn names() -> ComboNames {
        let plain = |name: &str| combo(name, Strategy::Priority, &["x/y"]);
        let mut off = plain("off");
        off.is_active = false;
        let combos = [plain("team"), plain("gpt"), plain("odd[1m]"), plain("auto/mine"), off];
        let mappings = [
            mapping("claude-*", "team", 1),
            mapping("claude-opus*", "gpt", 9),
            mapping("nobody-*", "off", 100),
            mapping("qtSd/mine/*", "team", 1),
        ];
        ComboNames::new(&combos, &mappings)
    }

    fn told(name: &str) -> String {
        match resolve_name(name, &names(), &table()) {
            Ok(Resolution::Direct(resolved)) => {
                format!("{} {}/{} {}", resolved.rule, resolved.provider, resolved.model, resolved.long_context)
            }
            Ok(Resolution::Combo { id, rule, long_context }) => format!("{rule} {id} {long_context}"),
            Ok(Resolution::Auto { name, rule, long_context }) => format!("{rule} {name} {long_context}"),
            Ok(Resolution::QuotaShare { model: PoolModel { slug, provider, model }, rule, long_context }) => {
                format!("{rule} {slug}|{provider}|{model} {long_context}")
            }
            Err(missing) => format!("near {}", missing.near.join(" ")),
        }
    }

    #[test]
    fn the_first_rule_that_hits_wins() {
        for (name, expected) in [
            ("team", "1 id-team false"),
            ("team[1m]", "1 id-team true"),
            ("odd[1m]", "1 id-odd[1m] false"),
            ("gpt", "1 id-gpt false"),
            ("combo/team", "2 id-team false"),
            ("claude-sonnet", "3 id-team false"),
            ("claude-opus-9[1m]", "3 id-gpt true"),
            ("auto", "4 auto false"),
            ("auto/coding[1m]", "4 auto/coding true"),
            ("auto/mine", "1 id-auto/mine false"),
            ("qtSd/group/claude/a/b", "5 group|claude|a/b false"),
            ("qtSd/mine/claude/x", "3 id-team false"),
            ("mine", "6 id-team false"),
            ("fast", "6 openai/gpt false"),
            ("openai/gpt[1m]", "7 openai/gpt true"),
        ] {
            assert_eq!(told(name), expected, "{name}");
        }
    }

    #[test]
    fn what_is_switched_off_or_incomplete_leads_nowhere() {
        for name in ["off", "combo/off", "nobody-x", "combo/nobody", "auto/", "automatic", "qtSd/g/p", "qtSd/g//m"] {
            assert!(told(name).starts_with("near"), "{name}: {}", told(name));
        }
    }

    #[test]
    fn combos_are_among_the_near_names() {
        assert_eq!(told("taem"), "near team");
    }
}
