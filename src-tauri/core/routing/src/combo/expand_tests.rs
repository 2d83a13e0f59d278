use domain::client_key::ClientKey;
use domain::{ClientKeyId, Timestamp};
use serde_json::json;

use super::super::fixtures::combo;
use super::*;

/// Two accounts `a1`, `a2` at `acme`, one at everyone else; models `m0`, `m1`, … at `many`.
#[derive(Default)]
struct Shelf {
    combos: Vec<Combo>,
}

impl Book for Shelf {
    fn combo(&self, name: &str) -> Option<Arc<Combo>> {
        self.combos.iter().find(|combo| combo.name == name).cloned().map(Arc::new)
    }

    fn config(&self, combo: &Combo) -> Arc<Config> {
        Arc::new(Config::cascade(&[&combo.config]).0)
    }

    fn models(&self, provider: &ProviderId) -> Vec<String> {
        match provider.as_str() {
            "many" => (0..60).map(|n| format!("m{n}")).collect(),
            "groq" => ["llama-b", "gemma", "llama-a"].map(str::to_owned).to_vec(),
            _ => Vec::new(),
        }
    }

    fn resolve(&self, written: &str) -> Option<(ProviderId, String)> {
        let (provider, model) = written.split_once('/')?;
        (provider != "nobody").then(|| (provider.into(), model.to_owned()))
    }

    fn accounts(&self, provider: &ProviderId, _: &str) -> Vec<ConnectionId> {
        if provider.as_str() == "acme" { vec!["a1".into(), "a2".into()] } else { vec!["o1".into()] }
    }

    fn complete(&self, target: &mut Target, _: Strategy) {
        target.facts.pool_size = 7;
    }
}

fn opened(combo: &Combo, combos: Vec<Combo>, key: Option<&ClientKey>) -> Expansion {
    let shelf = Shelf { combos };
    let config = shelf.config(combo);
    expand(combo, &config, &Asker { key, requested: &combo.name }, &shelf)
}

fn keys(expansion: &Expansion) -> Vec<&str> {
    expansion.targets.iter().map(|target| target.execution_key.as_str()).collect()
}

fn reasons(expansion: &Expansion) -> Vec<(&str, &str)> {
    expansion.skipped.iter().map(|skipped| (skipped.what.as_str(), skipped.reason)).collect()
}

fn key(models: &[&str], connections: &[&str]) -> ClientKey {
    ClientKey {
        allowed_models: models.iter().map(|&model| model.to_owned()).collect(),
        allowed_connections: connections.iter().map(|&id| id.into()).collect(),
        ..ClientKey::new(ClientKeyId::from("k"), "k".to_owned(), [0; 32], String::new(), Timestamp::ZERO)
    }
}

#[test]
fn steps_stay_in_order_wildcards_in_the_order_of_the_catalogue() {
    let expansion = opened(&combo("c", Strategy::Priority, &["openai/gpt", "groq/llama-*"]), Vec::new(), None);
    assert_eq!(keys(&expansion), ["c0", "c1>llama-b", "c1>llama-a"]);
    let tops: Vec<usize> = expansion.targets.iter().map(|target| target.top).collect();
    assert_eq!(tops, [0, 1, 1]);
    assert!(expansion.targets.iter().all(|target| target.facts.pool_size == 7), "each is completed");
}

#[test]
fn a_wildcard_stands_for_fifty_models_at_most() {
    let expansion = opened(&combo("c", Strategy::Priority, &["many/*"]), Vec::new(), None);
    assert_eq!((expansion.targets.len(), reasons(&expansion)), (50, vec![("many/*", "wildcard_cap")]));
}

#[test]
fn what_falls_away_says_why() {
    let mut c = combo("c", Strategy::Priority, &["openai/gpt", "nobody/x", "@gone", "groq/z*", "@c", "@off"]);
    c.models[0].enabled = false;
    let mut off = combo("off", Strategy::Priority, &["a/b"]);
    off.is_active = false;
    let expansion = opened(&c, vec![off, c.clone()], None);
    assert_eq!(keys(&expansion), [""; 0]);
    assert_eq!(
        reasons(&expansion),
        [
            ("openai/gpt", "disabled"),
            ("nobody/x", "unknown_provider"),
            ("gone", "unknown_combo"),
            ("groq/z*", "wildcard_empty"),
            ("c", "combo_cycle"),
            ("off", "combo_inactive"),
        ]
    );
}

#[test]
fn a_flattened_combo_stands_in_its_place_under_the_top_level_step() {
    let mut c = combo("c", Strategy::Weighted, &["openai/gpt", "@d"]);
    c.models[1].weight = 9;
    let expansion = opened(&c, vec![combo("d", Strategy::Random, &["x/1", "y/2"])], None);
    assert_eq!(keys(&expansion), ["c0", "c1>d0", "c1>d1"]);
    let weights: Vec<_> = expansion.targets.iter().map(|target| (target.top, target.weight)).collect();
    assert_eq!(weights, [(0, 0), (1, 9), (1, 9)]);
}

#[test]
fn an_executed_combo_is_one_target_with_an_expansion_of_its_own() {
    let mut c = combo("c", Strategy::Priority, &["openai/gpt", "@d"]);
    c.config.insert("nestedMode".to_owned(), json!("execute"));
    let expansion = opened(&c, vec![combo("d", Strategy::Headroom, &["acme/m", "y/2"])], None);
    assert_eq!(keys(&expansion), ["c0", "c1"]);
    assert_eq!(expansion.targets[1].label.as_deref(), Some("d"));
    let nested = &expansion.nested["c1"];
    assert_eq!((nested.combo.as_str(), nested.strategy), ("d", Strategy::Headroom));
    assert_eq!(keys(&nested.expansion), ["c1>d0@a1", "c1>d0@a2", "c1>d1@o1"], "by the inner strategy");
}

#[test]
fn towers_end_at_the_allowed_depth() {
    let chain = ["b", "c", "d", "e"];
    let others = chain.windows(2).map(|pair| combo(pair[0], Strategy::Priority, &[&format!("@{}", pair[1])]));
    let mut others: Vec<Combo> = others.collect();
    others.push(combo("e", Strategy::Priority, &["x/y"]));
    let mut a = combo("a", Strategy::Priority, &["@b"]);
    assert_eq!(reasons(&opened(&a, others.clone(), None)), [("e", "combo_depth")]);
    a.config.insert("maxComboDepth".to_owned(), json!(4));
    assert_eq!(keys(&opened(&a, others, None)), ["a0>b0>c0>d0>e0"]);
}

#[test]
fn strategies_that_compare_accounts_get_one_target_for_each() {
    for strategy in Strategy::PUBLIC {
        let expansion = opened(&combo("c", strategy, &["acme/m"]), Vec::new(), None);
        let expected: &[&str] = if strategy.compares_accounts() { &["c0@a1", "c0@a2"] } else { &["c0"] };
        assert_eq!(keys(&expansion), expected, "{strategy}");
    }
    let mut pinned = combo("c", Strategy::Headroom, &["acme/m"]);
    let StepKind::Model { connection_id, .. } = &mut pinned.models[0].kind else { panic!("a model") };
    *connection_id = Some("a2".into());
    let expansion = opened(&pinned, Vec::new(), None);
    assert_eq!((keys(&expansion), expansion.targets[0].connection.clone()), (vec!["c0"], Some("a2".into())));
}

#[test]
fn a_key_narrows_models_and_accounts() {
    let c = combo("c", Strategy::Headroom, &["acme/m", "openai/gpt"]);
    let only_acme = key(&["acme/*"], &[]);
    let expansion = opened(&c, Vec::new(), Some(&only_acme));
    assert_eq!(
        (keys(&expansion), reasons(&expansion)),
        (vec!["c0@a1", "c0@a2"], vec![("openai/gpt", "key_allow_list")])
    );
    let whole_combo = key(&["c"], &["a2"]);
    assert_eq!(keys(&opened(&c, Vec::new(), Some(&whole_combo))), ["c0@a2", "c1"], "named by the combo");

    let mut limited = combo("c", Strategy::Priority, &["acme/m"]);
    let StepKind::Model { allowed_connection_ids, .. } = &mut limited.models[0].kind else { panic!("a model") };
    *allowed_connection_ids = vec!["a1".into()];
    assert_eq!(reasons(&opened(&limited, Vec::new(), Some(&key(&[], &["a2"])))), [("acme/m", "key_allow_list")]);
    let both = opened(&limited, Vec::new(), Some(&key(&[], &["a2", "a1"])));
    assert_eq!(both.targets[0].allowed_connections, [ConnectionId::from("a1")]);
}
