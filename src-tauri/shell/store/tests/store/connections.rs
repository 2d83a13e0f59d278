use domain::connection::{AuthType, Connection, ProviderSpecific};
use domain::{ConnectionId, ProviderId};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use store::{CredentialChange, Error, Store};

use crate::world::{Look, World, at, connection};

const SECRET: &str = "sk-live-0123456789";

fn full(name: &str) -> Connection {
    Connection {
        auth_type: AuthType::Oauth,
        priority: 7,
        is_active: false,
        default_model: Some("gpt-x".to_owned()),
        max_concurrent: Some(3),
        rate_limit_protection: true,
        rate_limit_overrides: serde_json::from_value(json!({ "rpm": 10, "modelConcurrency": { "glm-5": 1 } })).unwrap(),
        quota_window_thresholds: [("session".to_owned(), 5)].into(),
        excluded_models: vec!["o*".to_owned()],
        proxy_url: Some("http://user:pass@proxy.example:8080".to_owned()),
        tags: vec!["work".to_owned(), "eu".to_owned()],
        specific: ProviderSpecific { base_url: Some("https://eu.example/v1".to_owned()), allow_private_network: true },
        extra: json!({"region": "eu", "nested": {"a": [1]}}).as_object().unwrap().clone(),
        ..connection("openai", name)
    }
}

async fn credential(store: &Store, id: &ConnectionId) -> Option<String> {
    store.connection_credential(id).await.unwrap().map(|secret| secret.expose_secret().to_owned())
}

async fn names(store: &Store) -> Vec<String> {
    store.list_connections().await.unwrap().into_iter().map(|connection| connection.name).collect()
}

#[tokio::test]
async fn a_connection_comes_back_as_it_was_stored() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    let stored = store.insert_connection(&full("a"), Some(SECRET.into())).await.unwrap();
    assert_eq!(stored, Connection { credential_tail: Some("6789".to_owned()), ..full("a") });
    assert_eq!(store.get_connection(&stored.id).await.unwrap(), Some(stored.clone()));
    assert_eq!(store.list_connections().await.unwrap(), std::slice::from_ref(&stored));
    assert_eq!(credential(store, &stored.id).await.as_deref(), Some(SECRET));
    let loaded = store.load_connections().await.unwrap().pop().unwrap();
    assert_eq!(loaded.connection, stored);
    assert_eq!(loaded.credential.unwrap().unwrap().expose_secret(), SECRET);
    running.stop().await;
}

#[tokio::test]
async fn a_connection_without_a_credential_has_none() {
    let world = World::new();
    let running = world.open().await;
    let claimed = Connection { credential_tail: Some("fake".to_owned()), ..connection("ollama", "a") };
    let stored = running.store.insert_connection(&claimed, None).await.unwrap();
    assert!(!stored.has_credential());
    assert_eq!(credential(&running.store, &stored.id).await, None);
    assert_eq!(credential(&running.store, &ConnectionId::from("nobody")).await, None);
    assert_eq!(running.store.get_connection(&ConnectionId::from("nobody")).await.unwrap(), None);
    running.stop().await;
}

#[tokio::test]
async fn a_name_is_taken_within_its_provider_only() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    store.insert_connection(&connection("openai", "a"), None).await.unwrap();
    let twin = Connection { id: ConnectionId::from("other"), ..connection("openai", "a") };
    let error = store.insert_connection(&twin, None).await.unwrap_err();
    assert!(matches!(error, Error::Duplicate { what: "connection", ref field } if field == "name"), "{error}");
    let error = store.insert_connection(&connection("openai", "a"), None).await.unwrap_err();
    assert!(matches!(error, Error::Duplicate { .. }), "{error}");
    store.insert_connection(&connection("groq", "a"), None).await.unwrap();
    let renamed = Connection { name: "a".to_owned(), ..connection("openai", "b") };
    store.insert_connection(&connection("openai", "b"), None).await.unwrap();
    let error = store.update_connection(&renamed, CredentialChange::Keep, None).await.unwrap_err();
    assert!(matches!(error, Error::Duplicate { .. }), "{error}");
    running.stop().await;
}

#[tokio::test]
async fn an_update_keeps_sets_or_clears_the_credential() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    let mut wanted = store.insert_connection(&connection("openai", "a"), Some(SECRET.into())).await.unwrap();
    for (change, secret, tail) in [
        (CredentialChange::Keep, Some(SECRET), Some("6789")),
        (CredentialChange::Set(SecretString::from("another-secret")), Some("another-secret"), Some("cret")),
        (CredentialChange::Clear, None, None),
        (CredentialChange::Keep, None, None),
    ] {
        wanted = Connection { updated_at: at(wanted.updated_at.as_millis() + 1), ..full("a") };
        let stored = store.update_connection(&wanted, change, None).await.unwrap();
        assert_eq!(stored, Connection { credential_tail: tail.map(str::to_owned), ..wanted.clone() });
        assert_eq!(credential(store, &wanted.id).await.as_deref(), secret);
    }
    running.stop().await;
}

#[tokio::test]
async fn an_update_from_an_old_reading_is_refused() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    store.insert_connection(&connection("openai", "a"), None).await.unwrap();
    let first = Connection { updated_at: at(1), priority: 2, ..connection("openai", "a") };
    store.update_connection(&first, CredentialChange::Keep, Some(at(0))).await.unwrap();
    let second = Connection { updated_at: at(2), priority: 3, ..connection("openai", "a") };
    let error = store.update_connection(&second, CredentialChange::Clear, Some(at(0))).await.unwrap_err();
    assert!(matches!(error, Error::Stale { updated_at, .. } if updated_at == at(1)), "{error}");
    assert_eq!(store.list_connections().await.unwrap()[0].priority, 2);
    let nobody = Connection { id: ConnectionId::from("nobody"), ..first };
    let error = store.update_connection(&nobody, CredentialChange::Keep, None).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }), "{error}");
    running.stop().await;
}

#[tokio::test]
async fn a_deletion_can_be_undone_until_it_is_purged() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    let a = store.insert_connection(&connection("openai", "a"), Some(SECRET.into())).await.unwrap();
    store.delete_connection(&a.id, at(10)).await.unwrap();
    assert!(names(store).await.is_empty());
    assert_eq!(store.get_connection(&a.id).await.unwrap(), None);
    assert_eq!(credential(store, &a.id).await, None);
    assert!(matches!(store.delete_connection(&a.id, at(11)).await, Err(Error::NotFound { .. })));

    let restored = store.restore_connection(&a.id, at(12)).await.unwrap();
    assert_eq!(restored, Connection { updated_at: at(12), ..a.clone() });
    assert_eq!(credential(store, &a.id).await.as_deref(), Some(SECRET));
    assert!(matches!(store.restore_connection(&a.id, at(13)).await, Err(Error::NotFound { .. })));

    store.delete_connection(&a.id, at(20)).await.unwrap();
    assert_eq!(store.purge_connections(at(20)).await.unwrap(), 0);
    assert_eq!(store.purge_connections(at(21)).await.unwrap(), 1);
    assert!(matches!(store.restore_connection(&a.id, at(22)).await, Err(Error::NotFound { .. })));
    running.stop().await;
}

#[tokio::test]
async fn a_deletion_frees_the_name_and_an_undo_does_not_take_it_back() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    let a = store.insert_connection(&connection("openai", "a"), None).await.unwrap();
    store.delete_connection(&a.id, at(1)).await.unwrap();
    let heir = Connection { id: ConnectionId::from("heir"), ..connection("openai", "a") };
    store.insert_connection(&heir, None).await.unwrap();
    assert!(matches!(store.restore_connection(&a.id, at(2)).await, Err(Error::Duplicate { .. })));
    assert_eq!(store.list_connections().await.unwrap(), [heir]);
    running.stop().await;
}

#[tokio::test]
async fn the_list_is_in_the_order_of_asking_and_the_order_can_be_changed() {
    let world = World::new();
    let running = world.open().await;
    let store = &running.store;
    for (name, priority) in [("a", 2), ("b", 1), ("c", 3)] {
        store.insert_connection(&Connection { priority, ..connection("openai", name) }, None).await.unwrap();
    }
    store.insert_connection(&connection("anthropic", "z"), None).await.unwrap();
    assert_eq!(names(store).await, ["z", "b", "a", "c"]);

    let openai = ProviderId::from("openai");
    let ids = |names: &[&str]| -> Vec<ConnectionId> {
        names.iter().map(|name| ConnectionId::from(format!("openai-{name}"))).collect()
    };
    store.reorder_connections(&openai, &ids(&["c", "a", "b"]), at(5)).await.unwrap();
    assert_eq!(names(store).await, ["z", "c", "a", "b"]);
    for wrong in [&["c", "a"][..], &["c", "a", "b", "b"], &["c", "a", "x"], &["c", "a", "b", "x"], &[]] {
        let error = store.reorder_connections(&openai, &ids(wrong), at(6)).await.unwrap_err();
        assert!(matches!(error, Error::OrderIncomplete { .. }), "{wrong:?}: {error}");
    }
    assert_eq!(names(store).await, ["z", "c", "a", "b"]);
    running.stop().await;
}

#[tokio::test]
async fn a_thousand_connections_load_at_once_with_their_credentials() {
    let world = World::new();
    let running = world.open().await;
    for n in 0..1_000 {
        let secret = SecretString::from(format!("sk-of-{n:04}"));
        running.store.insert_connection(&connection("openai", &format!("{n:04}")), Some(secret)).await.unwrap();
    }
    let loaded = running.store.load_connections().await.unwrap();
    assert_eq!(loaded.len(), 1_000);
    for stored in loaded {
        let secret = stored.credential.unwrap().unwrap();
        assert_eq!(secret.expose_secret(), format!("sk-of-{}", stored.connection.name));
    }
    running.stop().await;
}

#[tokio::test]
async fn what_this_program_cannot_have_written_is_named() {
    let world = World::new();
    let running = world.open().await;
    running.store.insert_connection(&connection("openai", "a"), None).await.unwrap();
    world.execute("UPDATE provider_connections SET tags = 'oops'").await;
    let error = running.store.list_connections().await.unwrap_err();
    assert_eq!(error.to_string(), "the value of provider_connections.tags in row openai-a is not readable");
    running.stop().await;
}
