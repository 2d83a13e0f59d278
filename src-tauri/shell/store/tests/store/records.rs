//! Custom providers, client keys, aliases and named values.

use std::collections::BTreeMap;

use domain::client_key::{AutoCandidate, ClientKey, Scope};
use domain::key_limits::{Interval, KeyLimits, LimitScope, TokenLimit};
use domain::model_alias::ModelAlias;
use domain::node::{AuthCarrier, CustomNode};
use domain::{AliasId, ClientKeyId, ConnectionId, Dialect, NodeId, ProviderClass};
use serde_json::json;
use store::Error;

use crate::world::{World, at, connection};

fn node(prefix: &str) -> CustomNode {
    CustomNode {
        id: CustomNode::id_for(Dialect::Chat, prefix),
        name: format!("Node {prefix}"),
        prefix: prefix.to_owned(),
        api_type: Dialect::Chat,
        base_url: "https://host.example/v1".to_owned(),
        auth_carrier: AuthCarrier::XApiKey,
        extra_headers: BTreeMap::from([("x-team".to_owned(), "blue".to_owned())]),
        models_path: Some("/models".to_owned()),
        allow_private_network: true,
        provider_class: ProviderClass::Local,
        created_at: at(0),
        updated_at: at(0),
    }
}

fn key(name: &str, byte: u8) -> ClientKey {
    let id = ClientKeyId::from(format!("key-{name}"));
    let left_out = AutoCandidate { connection_id: "c1".into(), model: "m1".to_owned() };
    ClientKey {
        scopes: vec![Scope::SelfUsage, Scope::LeaseExclusive],
        allowed_models: vec!["anthropic/*".to_owned()],
        allowed_combos: vec!["team".to_owned()],
        allowed_connections: vec![ConnectionId::from("c1")],
        preferred_connections: vec![ConnectionId::from("c1")],
        excluded_auto_candidates: BTreeMap::from([("auto".to_owned(), vec![left_out])]),
        limits: KeyLimits {
            budget_daily_usd: Some(0.5),
            budget_monthly_usd: Some(20.0),
            warning_threshold: 0.9,
            reset_interval: Interval::Weekly,
            reset_time: "06:30".parse().unwrap(),
            token_limits: vec![
                TokenLimit { scope: LimitScope::Global, token_limit: 5, reset_interval: Some(Interval::Monthly) },
                TokenLimit { scope: LimitScope::Provider("openai".into()), token_limit: 4, reset_interval: None },
            ],
            ..KeyLimits::default()
        },
        expires_at: Some(at(1_000)),
        ..ClientKey::new(id, name.to_owned(), [byte; 32], "wxyz".to_owned(), at(u64::from(byte)))
    }
}

fn alias(name: &str, target: &str) -> ModelAlias {
    ModelAlias {
        id: AliasId::from(format!("alias-{name}")),
        alias: name.to_owned(),
        target: target.to_owned(),
        created_at: at(0),
    }
}

#[tokio::test]
async fn a_node_comes_back_as_it_was_stored_and_changes_as_told() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    store.insert_node(&node("work")).await.unwrap();
    store.insert_node(&node("home")).await.unwrap();
    assert_eq!(store.list_nodes().await.unwrap(), [node("home"), node("work")]);
    assert_eq!(store.get_node(&node("work").id).await.unwrap(), Some(node("work")));
    assert_eq!(store.get_node(&NodeId::from("nobody")).await.unwrap(), None);

    let twin = CustomNode { id: NodeId::from("other"), ..node("work") };
    let error = store.insert_node(&twin).await.unwrap_err();
    assert!(matches!(error, Error::Duplicate { ref field, .. } if field == "prefix"), "{error}");

    let changed = CustomNode {
        name: "Changed".to_owned(),
        api_type: Dialect::Gemini,
        auth_carrier: AuthCarrier::None,
        provider_class: ProviderClass::Apikey,
        extra_headers: BTreeMap::new(),
        models_path: None,
        allow_private_network: false,
        updated_at: at(5),
        ..node("work")
    };
    store.update_node(&changed, Some(at(0))).await.unwrap();
    assert_eq!(store.get_node(&changed.id).await.unwrap(), Some(changed.clone()));
    assert!(matches!(store.update_node(&changed, Some(at(0))).await, Err(Error::Stale { .. })));
    let taken = CustomNode { prefix: "home".to_owned(), ..changed };
    assert!(matches!(store.update_node(&taken, None).await, Err(Error::Duplicate { .. })));
    let nobody = CustomNode { id: NodeId::from("nobody"), ..node("x") };
    assert!(matches!(store.update_node(&nobody, None).await, Err(Error::NotFound { .. })));
    running.stop().await;
}

#[tokio::test]
async fn a_node_is_deleted_only_when_no_connection_uses_it() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    let id = node("work").id;
    store.insert_node(&node("work")).await.unwrap();
    let used = store.insert_connection(&connection(id.as_str(), "mine"), None).await.unwrap();
    let error = store.delete_node(&id).await.unwrap_err();
    assert!(matches!(error, Error::InUse { ref by } if by == &["mine"]), "{error}");
    assert_eq!(store.list_nodes().await.unwrap().len(), 1);

    store.delete_connection(&used.id, at(1)).await.unwrap();
    store.delete_node(&id).await.unwrap();
    assert!(store.list_nodes().await.unwrap().is_empty());
    assert!(matches!(store.restore_connection(&used.id, at(2)).await, Err(Error::NotFound { .. })));
    assert!(matches!(store.delete_node(&id).await, Err(Error::NotFound { .. })));
    running.stop().await;
}

#[tokio::test]
async fn a_key_comes_back_as_it_was_stored_and_can_be_rotated() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    store.insert_key(&key("second", 2)).await.unwrap();
    store.insert_key(&key("first", 1)).await.unwrap();
    assert_eq!(store.list_keys().await.unwrap(), [key("first", 1), key("second", 2)]);
    assert_eq!(store.get_key(&key("first", 1).id).await.unwrap(), Some(key("first", 1)));
    assert_eq!(store.get_key(&ClientKeyId::from("nobody")).await.unwrap(), None);

    let twin = ClientKey { id: ClientKeyId::from("other"), ..key("first", 9) };
    let error = store.insert_key(&twin).await.unwrap_err();
    assert!(matches!(error, Error::Duplicate { what: "key", ref field } if field == "name"), "{error}");

    let rotated = ClientKey {
        hash: [7; 32],
        tail: "abcd".to_owned(),
        is_active: false,
        scopes: Vec::new(),
        allowed_models: Vec::new(),
        allowed_combos: Vec::new(),
        allowed_connections: Vec::new(),
        preferred_connections: Vec::new(),
        excluded_auto_candidates: BTreeMap::new(),
        limits: KeyLimits::default(),
        expires_at: None,
        ..key("first", 1)
    };
    store.update_key(&rotated).await.unwrap();
    assert_eq!(store.get_key(&rotated.id).await.unwrap(), Some(rotated.clone()));

    store.delete_key(&rotated.id).await.unwrap();
    assert!(matches!(store.delete_key(&rotated.id).await, Err(Error::NotFound { .. })));
    assert!(matches!(store.update_key(&rotated).await, Err(Error::NotFound { .. })));
    running.stop().await;
}

#[tokio::test]
async fn the_latest_use_of_a_key_is_kept_whatever_the_order() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    let record = key("first", 1);
    store.insert_key(&record).await.unwrap();
    store.touch_key(&record.id, at(30));
    store.touch_key(&record.id, at(20));
    store.touch_key(&ClientKeyId::from("gone"), at(20));
    assert_eq!(store.get_key(&record.id).await.unwrap().unwrap().last_used_at, Some(at(30)));
    store.touch_key(&record.id, at(10));
    store.update_key(&ClientKey { last_used_at: None, ..record.clone() }).await.unwrap();
    assert_eq!(store.list_keys().await.unwrap()[0].last_used_at, Some(at(30)));
    running.stop().await;
}

#[tokio::test]
async fn aliases_are_created_changed_and_deleted() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    store.insert_alias(&alias("fast", "groq/x")).await.unwrap();
    store.insert_alias(&alias("best", "anthropic/y")).await.unwrap();
    assert_eq!(store.list_aliases().await.unwrap(), [alias("best", "anthropic/y"), alias("fast", "groq/x")]);
    let twin = ModelAlias { id: AliasId::from("other"), ..alias("fast", "a/b") };
    assert!(matches!(store.insert_alias(&twin).await, Err(Error::Duplicate { what: "alias", .. })));

    let changed = ModelAlias { alias: "faster".to_owned(), target: "openai/z".to_owned(), ..alias("fast", "") };
    store.update_alias(&changed).await.unwrap();
    assert_eq!(store.get_alias(&changed.id).await.unwrap(), Some(changed.clone()));
    let taken = ModelAlias { alias: "best".to_owned(), ..changed.clone() };
    assert!(matches!(store.update_alias(&taken).await, Err(Error::Duplicate { .. })));

    store.delete_alias(&changed.id).await.unwrap();
    assert_eq!(store.get_alias(&changed.id).await.unwrap(), None);
    assert!(matches!(store.delete_alias(&changed.id).await, Err(Error::NotFound { .. })));
    assert!(matches!(store.update_alias(&changed).await, Err(Error::NotFound { .. })));
    running.stop().await;
}

#[tokio::test]
async fn values_live_in_namespaces() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    store.put_value("settings", "gateway", &json!({"port": 1}), at(0)).await.unwrap();
    store.put_value("settings", "gateway", &json!({"port": 2}), at(1)).await.unwrap();
    store.put_value("flags", "gateway", &json!(null), at(1)).await.unwrap();
    assert_eq!(store.get_value("settings", "gateway").await.unwrap(), Some(json!({"port": 2})));
    assert_eq!(store.get_value("flags", "gateway").await.unwrap(), Some(json!(null)));
    assert_eq!(store.get_value("settings", "nothing").await.unwrap(), None);

    let changes = BTreeMap::from([
        ("gateway".to_owned(), None),
        ("routing".to_owned(), Some(json!([1]))),
        ("never".to_owned(), None),
    ]);
    store.change_values("settings", &changes, at(2)).await.unwrap();
    let expected = BTreeMap::from([("routing".to_owned(), json!([1]))]);
    assert_eq!(store.list_values("settings").await.unwrap(), expected);
    assert_eq!(store.list_values("flags").await.unwrap(), BTreeMap::from([("gateway".to_owned(), json!(null))]));
    running.stop().await;
}
