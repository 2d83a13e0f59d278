//! Combos, mappings, and what routing remembers of them.

use std::collections::BTreeMap;

use domain::AliasId;
use domain::model_alias::ModelAlias;
use routing::combo::{Combo, CompositeTiers, Mapping, Strategy, Tier};
use serde_json::json;
use store::{Error, Renamed};

use crate::world::{World, at};

fn combo(name: &str, order: u32) -> Combo {
    let written = json!({
        "id": format!("id-{name}"), "name": name, "strategy": "weighted", "order": order,
        "models": [
            { "id": "s1", "model": "openai/gpt", "weight": 70, "connectionId": "c1", "tags": ["fast"] },
            { "id": "s2", "comboName": "other" },
            { "id": "s3", "providerId": "groq", "modelPattern": "llama-*", "enabled": false },
        ],
        "config": { "maxRetries": 2 }, "system_message": "be brief", "context_cache_protection": true,
        "compositeTiers": { "defaultTier": "a", "tiers": { "a": { "stepId": "s2" } } },
    });
    Combo::from_input(&written, |_| true, String::new, at(0)).unwrap()
}

fn mapping(pattern: &str, combo: &str, priority: u32) -> Mapping {
    Mapping {
        id: format!("mapping-{pattern}"),
        pattern: pattern.to_owned(),
        combo_id: format!("id-{combo}"),
        priority,
        enabled: true,
        created_at: at(0),
        updated_at: at(0),
    }
}

#[tokio::test]
async fn combos_come_back_as_they_were_stored_and_in_their_order() {
    let world = World::new();
    let running = world.open().await;
    running.store.save_combos(&[combo("b", 1), combo("a", 0)], None).await.unwrap();
    running.stop().await;

    let running = world.open().await;
    assert_eq!(running.store.list_combos().await.unwrap(), [combo("a", 0), combo("b", 1)]);
    let changed = Combo {
        name: "changed".to_owned(),
        strategy: Strategy::QuotaShare,
        models: Vec::new(),
        config: serde_json::Map::new(),
        system_message: None,
        context_cache_protection: false,
        is_hidden: true,
        is_active: false,
        composite_tiers: Some(CompositeTiers {
            default_tier: "t".to_owned(),
            tiers: [("t".to_owned(), Tier { step_id: "s".to_owned(), fallback_tier: Some("t".to_owned()) })].into(),
        }),
        updated_at: at(5),
        ..combo("a", 0)
    };
    running.store.save_combos(std::slice::from_ref(&changed), None).await.unwrap();
    assert_eq!(running.store.list_combos().await.unwrap(), [changed, combo("b", 1)]);
    running.stop().await;
}

#[tokio::test]
async fn several_combos_are_saved_together_or_not_at_all() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    store.save_combos(&[combo("a", 0)], None).await.unwrap();
    let twin = Combo { id: "twin".to_owned(), ..combo("a", 1) };
    let error = store.save_combos(&[combo("new", 2), twin], None).await.unwrap_err();
    assert!(matches!(error, Error::Duplicate { ref field, .. } if field == "name"), "{error}");
    assert_eq!(store.list_combos().await.unwrap(), [combo("a", 0)]);
    running.stop().await;
}

#[tokio::test]
async fn an_alias_follows_the_combo_it_names() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    let alias = |name: &str, target: &str| ModelAlias {
        id: AliasId::from(name),
        alias: name.to_owned(),
        target: target.to_owned(),
        created_at: at(0),
    };
    store.save_combos(&[combo("a", 0)], None).await.unwrap();
    store.insert_alias(&alias("x", "a")).await.unwrap();
    store.insert_alias(&alias("y", "openai/gpt")).await.unwrap();
    let renamed = Combo { name: "b".to_owned(), ..combo("a", 0) };
    store.save_combos(&[renamed], Some(Renamed { from: "a", to: "b" })).await.unwrap();
    assert_eq!(store.list_aliases().await.unwrap(), [alias("x", "b"), alias("y", "openai/gpt")]);
    running.stop().await;
}

#[tokio::test]
async fn an_order_names_every_combo_once() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    store.save_combos(&[combo("a", 0), combo("b", 1)], None).await.unwrap();
    let ids = |names: &[&str]| names.iter().map(|name| format!("id-{name}")).collect::<Vec<_>>();
    for wrong in [&["a"][..], &["a", "a", "b"], &["a", "c"], &[]] {
        let error = store.reorder_combos(&ids(wrong), at(1)).await.unwrap_err();
        assert!(matches!(error, Error::ComboOrderIncomplete), "{error}");
    }
    store.reorder_combos(&ids(&["b", "a"]), at(1)).await.unwrap();
    let listed = store.list_combos().await.unwrap();
    assert_eq!(listed.iter().map(|combo| combo.name.as_str()).collect::<Vec<_>>(), ["b", "a"]);
    assert_eq!((listed[0].order, listed[1].updated_at), (0, at(1)));
    running.stop().await;
}

#[tokio::test]
async fn a_combo_is_deleted_with_what_was_remembered_once_no_mapping_leads_to_it() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    store.save_combos(&[combo("a", 0), combo("b", 1)], None).await.unwrap();
    let memory: BTreeMap<_, _> = ["id-a", "id-b", "auto"].map(|id| (id.to_owned(), json!({ "lkgp": id }))).into();
    store.save_routing_memory(&memory, at(0)).await.unwrap();
    store.save_mapping(&mapping("claude-*", "a", 1)).await.unwrap();
    let error = store.delete_combo("id-a").await.unwrap_err();
    assert!(matches!(error, Error::InUse { ref by } if by == &["claude-*"]), "{error}");
    store.delete_mapping("mapping-claude-*").await.unwrap();
    store.delete_combo("id-a").await.unwrap();
    assert!(matches!(store.delete_combo("id-a").await, Err(Error::NotFound { .. })));
    assert_eq!(store.list_combos().await.unwrap(), [combo("b", 1)]);
    let kept = store.load_routing_memory().await.unwrap();
    assert_eq!(kept.keys().collect::<Vec<_>>(), ["auto", "id-b"]);
    store.save_routing_memory(&BTreeMap::from([("auto".to_owned(), json!(1))]), at(1)).await.unwrap();
    assert_eq!(store.load_routing_memory().await.unwrap(), BTreeMap::from([("auto".to_owned(), json!(1))]));
    running.stop().await;
}

#[tokio::test]
async fn mappings_come_back_in_the_order_in_which_they_are_asked() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    store.save_combos(&[combo("a", 0)], None).await.unwrap();
    store.save_mapping(&mapping("low", "a", 1)).await.unwrap();
    store.save_mapping(&mapping("high", "a", 9)).await.unwrap();
    assert_eq!(store.list_mappings().await.unwrap(), [mapping("high", "a", 9), mapping("low", "a", 1)]);
    let changed = Mapping { priority: 10, enabled: false, updated_at: at(3), ..mapping("low", "a", 1) };
    store.save_mapping(&changed).await.unwrap();
    assert_eq!(store.list_mappings().await.unwrap()[0], changed);
    assert!(matches!(store.save_mapping(&mapping("x", "nobody", 1)).await, Err(Error::NotFound { .. })));
    assert!(matches!(store.delete_mapping("nobody").await, Err(Error::NotFound { .. })));
    running.stop().await;
}

#[tokio::test]
async fn a_combo_that_cannot_be_read_hides_no_other() {
    let world = World::new();
    let running = world.open().await;
    running.store.save_combos(&[combo("a", 0), combo("b", 1)], None).await.unwrap();
    world.execute("UPDATE combos SET models = 'broken' WHERE id = 'id-a'").await;
    assert_eq!(running.store.list_combos().await.unwrap(), [combo("b", 1)]);
    running.stop().await;
}
