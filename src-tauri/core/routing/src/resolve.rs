//! What the client's model name means (gateway specification, 1.4). First rule that hits wins:
//!
//! 6. a user's alias · 7. `provider/model`, split at the first slash · 8. a bare id that a connected provider lists ·
//! 9. not found, with near names.
//!
//! Rules 1 to 5 concern combos, mappings and virtual names: [`crate::resolution`] asks them before these.

use std::collections::BTreeMap;

use domain::ProviderId;

/// Everything a name can be looked up in; rebuilt when connections, nodes, aliases or catalogue change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NameTable {
    /// User's alias to `provider/model`.
    pub aliases: BTreeMap<String, String>,
    /// Provider id, alias or prefix, in lower case, to provider.
    pub providers: BTreeMap<String, ProviderId>,
    /// Bare model id (or an alias of one) to the providers that list it, in the user's provider order, with the id each
    /// of them knows it by. Only providers with an enabled connection.
    pub models: BTreeMap<String, Vec<Listed>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub provider: ProviderId,
    pub model: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    pub provider: ProviderId,
    /// As the provider knows it.
    pub model: String,
    /// Number of the rule that hit.
    pub rule: u8,
    /// The name carried `[1m]`: the client wants the long context window.
    pub long_context: bool,
}

/// Nothing has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound {
    /// Up to five names that look like it, best first.
    pub near: Vec<String>,
}

pub(crate) const LONG_CONTEXT: &str = "[1m]";
const NEAR_NAMES: usize = 5;

/// Resolves a client's model name to one provider and one model.
pub fn resolve(name: &str, table: &NameTable) -> Result<Resolved, NotFound> {
    let (name, long_context) = match name.strip_suffix(LONG_CONTEXT) {
        Some(stripped) => (stripped, true),
        None => (name, false),
    };
    let found = by_alias(name, table)
        .or_else(|| by_provider(name, table).map(|listed| (listed, 7)))
        .or_else(|| by_bare_id(name, table).map(|listed| (listed, 8)));
    match found {
        Some((Listed { provider, model }, rule)) => Ok(Resolved { provider, model, rule, long_context }),
        None => Err(NotFound { near: near_names(name, table, std::iter::empty()) }),
    }
}

/// An alias leads to a `provider/model` or a bare id, never to another alias.
fn by_alias(name: &str, table: &NameTable) -> Option<(Listed, u8)> {
    let target = table.aliases.get(name)?;
    let listed = by_provider(target, table).or_else(|| by_bare_id(target, table))?;
    Some((listed, 6))
}

fn by_provider(name: &str, table: &NameTable) -> Option<Listed> {
    let (provider, model) = name.split_once('/')?;
    if model.is_empty() {
        return None;
    }
    let provider = table.providers.get(&provider.to_ascii_lowercase())?.clone();
    let model = own_id(&provider, model, table).unwrap_or_else(|| model.to_owned());
    Some(Listed { provider, model })
}

/// The id behind an alias that the provider's catalogue entry declares; an id it does not list is sent as it is
/// (specification's decision 38).
fn own_id(provider: &ProviderId, model: &str, table: &NameTable) -> Option<String> {
    let listed = table.models.get(model)?.iter().find(|listed| listed.provider == *provider)?;
    Some(listed.model.clone())
}

fn by_bare_id(name: &str, table: &NameTable) -> Option<Listed> {
    let hit = |id: &str| table.models.get(id).and_then(|listed| listed.first()).cloned();
    hit(name).or_else(|| without_date(name).and_then(hit))
}

/// `claude-x-20250101` → `claude-x`: tried only when the dated id is unknown.
fn without_date(name: &str) -> Option<&str> {
    let (stem, date) = name.rsplit_once('-')?;
    (date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit())).then_some(stem)
}

/// Names that look like this one, best first; `more` are names that the table does not hold.
pub(crate) fn near_names(name: &str, table: &NameTable, more: impl Iterator<Item = String>) -> Vec<String> {
    let wanted = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let own_names = table.aliases.keys().cloned();
    let qualified = table
        .models
        .iter()
        .flat_map(|(id, providers)| providers.iter().map(move |listed| format!("{}/{id}", listed.provider)));
    let mut scored: Vec<(usize, String)> = own_names
        .chain(more)
        .chain(qualified)
        .map(|candidate| {
            let last = candidate.rsplit('/').next().unwrap_or(&candidate).to_ascii_lowercase();
            (distance(&wanted, &last), candidate)
        })
        .filter(|(distance, _)| *distance <= wanted.chars().count().max(4) / 2)
        .collect();
    scored.sort();
    scored.dedup_by(|a, b| a.1 == b.1);
    scored.into_iter().take(NEAR_NAMES).map(|(_, candidate)| candidate).collect()
}

/// Levenshtein distance, over at most the first 64 characters of each.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let cost = if from == *to { diagonal } else { 1 + diagonal.min(row[j]).min(row[j + 1]) };
            diagonal = row[j + 1];
            row[j + 1] = cost;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(provider: &str, model: &str) -> Listed {
        Listed { provider: provider.into(), model: model.to_owned() }
    }

    fn table() -> NameTable {
        NameTable {
            aliases: [("fast".to_owned(), "openai/gpt-mini".to_owned()), ("big".to_owned(), "claude-x".to_owned())]
                .into(),
            providers: [
                ("openai".to_owned(), ProviderId::from("openai")),
                ("anthropic".to_owned(), ProviderId::from("anthropic")),
                ("openrouter".to_owned(), ProviderId::from("openrouter")),
                ("work".to_owned(), ProviderId::from("openai-compatible-work")),
            ]
            .into(),
            models: [
                ("gpt-mini".to_owned(), vec![listed("openai", "gpt-mini")]),
                (
                    "claude-x".to_owned(),
                    vec![listed("anthropic", "claude-x"), listed("openrouter", "anthropic/claude-x")],
                ),
                ("x-latest".to_owned(), vec![listed("anthropic", "claude-x")]),
            ]
            .into(),
        }
    }

    #[test]
    fn every_rule() {
        for (name, provider, model, rule) in [
            ("fast", "openai", "gpt-mini", 6),
            ("big", "anthropic", "claude-x", 6),
            ("openai/gpt-mini", "openai", "gpt-mini", 7),
            ("OpenAI/anything-new", "openai", "anything-new", 7),
            ("openrouter/anthropic/claude-x", "openrouter", "anthropic/claude-x", 7),
            ("work/m", "openai-compatible-work", "m", 7),
            ("anthropic/x-latest", "anthropic", "claude-x", 7),
            ("claude-x", "anthropic", "claude-x", 8),
            ("x-latest", "anthropic", "claude-x", 8),
            ("claude-x-20250929", "anthropic", "claude-x", 8),
        ] {
            let resolved = resolve(name, &table()).unwrap_or_else(|_| panic!("{name} resolves"));
            assert_eq!(
                (resolved.provider.as_str(), resolved.model.as_str(), resolved.rule),
                (provider, model, rule),
                "{name}"
            );
        }
    }

    #[test]
    fn the_long_context_mark_is_stripped_and_remembered() {
        let resolved = resolve("anthropic/claude-x[1m]", &table()).expect("resolves");
        assert_eq!((resolved.model.as_str(), resolved.long_context), ("claude-x", true));
    }

    #[test]
    fn an_unknown_name_lists_near_ones() {
        let near =
            resolve("openai/gpt-mni", &NameTable { providers: BTreeMap::new(), ..table() }).expect_err("unknown").near;
        assert_eq!(near, ["openai/gpt-mini"]);
        assert!(resolve("", &table()).is_err());
        assert!(resolve("openai/", &table()).is_err());
    }

    #[test]
    fn an_alias_never_leads_to_another_alias() {
        let mut names = table();
        names.aliases.insert("loop".to_owned(), "loop".to_owned());
        assert!(resolve("loop", &names).is_err());
    }
}
