use std::collections::BTreeMap;
use std::sync::Arc;

use domain::{Clock, ConnectionId, wire};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use store::{CredentialChange, CredentialError, Error, Options, SecretStore, SecretStoreChoice, Store};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::world::{Look, World, at, connection};

const SECRET: &str = "sk-very-recognisable-secret";
const PROXY: &str = "http://somebody:proxypassword@proxy.example:8080";

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

async fn with_two_connections(world: &World) {
    let running = world.open().await;
    for name in ["a", "b"] {
        let mut record = connection("openai", name);
        record.proxy_url = Some(PROXY.to_owned());
        running.store.insert_connection(&record, Some(SECRET.into())).await.unwrap();
    }
    running.stop().await;
}

async fn credential_of(store: &Store, name: &str) -> Result<Option<SecretString>, CredentialError> {
    let loaded = store.load_connections().await.unwrap();
    loaded.into_iter().find(|stored| stored.connection.name == name).unwrap().credential
}

#[tokio::test]
async fn no_secret_is_readable_in_the_files() {
    let world = World::new();
    let running = world.open().await;
    let mut record = connection("openai", "plainly-visible-name");
    record.proxy_url = Some(PROXY.to_owned());
    running.store.insert_connection(&record, Some(SECRET.into())).await.unwrap();
    let mut bytes = std::fs::read(world.file(wire::file::DATABASE)).unwrap();
    bytes.extend(std::fs::read(world.file("omniroute.sqlite-wal")).unwrap());
    assert!(contains(&bytes, "plainly-visible-name"));
    for hidden in [SECRET, "recognisable", "proxypassword", "proxy.example"] {
        assert!(!contains(&bytes, hidden), "{hidden}");
    }
    let shown = format!("{:?}", running.store.load_connections().await.unwrap());
    assert!(!shown.contains(SECRET));
    running.stop().await;
}

#[tokio::test]
async fn values_that_were_moved_or_cut_are_refused_one_by_one() {
    let swapped = "UPDATE provider_connections SET api_key = other.api_key
                   FROM (SELECT id, api_key FROM provider_connections) AS other
                   WHERE other.id <> provider_connections.id";
    let copied = "UPDATE provider_connections SET api_key =
                    (SELECT api_key FROM provider_connections WHERE name = 'b') WHERE name = 'a'";
    let other_column = "UPDATE provider_connections SET api_key = proxy_url WHERE name = 'a'";
    let cut = "UPDATE provider_connections SET api_key = substr(api_key, 1, 20) WHERE name = 'a'";
    let empty = "UPDATE provider_connections SET api_key = x'' WHERE name = 'a'";
    let proxy = "UPDATE provider_connections SET proxy_url =
                   (SELECT proxy_url FROM provider_connections WHERE name = 'b') WHERE name = 'a'";
    for (attack, on_both) in
        [(swapped, true), (copied, false), (other_column, false), (cut, false), (empty, false), (proxy, false)]
    {
        let world = World::new();
        with_two_connections(&world).await;
        world.execute(attack).await;
        let running = world.open().await;
        let a = credential_of(&running.store, "a").await;
        assert_eq!(a.err(), Some(CredentialError::Tampered), "{attack}");
        assert_eq!(credential_of(&running.store, "b").await.is_err(), on_both, "{attack}");
        let error = running.store.connection_credential(&ConnectionId::from("openai-a")).await.err().unwrap();
        assert!(matches!(error, Error::Credential(CredentialError::Tampered)), "{error}");
        assert_eq!(running.store.list_connections().await.unwrap().len(), 2);
        running.stop().await;
    }
}

#[tokio::test]
async fn a_flipped_bit_is_refused() {
    let world = World::new();
    with_two_connections(&world).await;
    let mut raw = world.raw().await;
    let select = "SELECT api_key FROM provider_connections WHERE name = 'a'";
    let mut sealed: Vec<u8> = sqlx::query_scalar(select).fetch_one(&mut raw).await.unwrap();
    *sealed.last_mut().unwrap() ^= 1;
    let update = sqlx::query("UPDATE provider_connections SET api_key = ? WHERE name = 'a'");
    update.bind(sealed).execute(&mut raw).await.unwrap();
    let running = world.open().await;
    assert_eq!(credential_of(&running.store, "a").await.err(), Some(CredentialError::Tampered));
    assert!(credential_of(&running.store, "b").await.is_ok());
    running.stop().await;
}

#[tokio::test]
async fn a_lost_key_costs_the_credentials_and_nothing_else() {
    let world = World::new();
    with_two_connections(&world).await;
    std::fs::remove_file(world.file(wire::file::DATA_KEY)).unwrap();
    let running = world.open().await;
    let listed = running.store.list_connections().await.unwrap();
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().all(|connection| connection.has_credential() && connection.proxy_url.is_none()));
    assert_eq!(credential_of(&running.store, "a").await.err(), Some(CredentialError::KeyLost));

    let entered = CredentialChange::Set(SecretString::from("sk-entered-again"));
    running.store.update_connection(&listed[0], entered, None).await.unwrap();
    let again = credential_of(&running.store, "a").await.unwrap().unwrap();
    assert_eq!(again.expose_secret(), "sk-entered-again");
    assert_eq!(credential_of(&running.store, "b").await.err(), Some(CredentialError::KeyLost));
    running.stop().await;
}

#[tokio::test]
async fn a_damaged_key_file_is_not_replaced() {
    let world = World::new();
    with_two_connections(&world).await;
    std::fs::write(world.file(wire::file::DATA_KEY), "damaged").unwrap();
    assert!(matches!(world.try_open().await.err(), Some(Error::DataKeyDamaged { .. })));
    assert_eq!(std::fs::read_to_string(world.file(wire::file::DATA_KEY)).unwrap(), "damaged");
}

#[tokio::test]
async fn an_existing_key_file_is_used_without_asking_the_keychain() {
    let world = World::new();
    with_two_connections(&world).await;
    let tracker = TaskTracker::new();
    let options = Options { secret_store: SecretStoreChoice::Auto };
    let clock: Arc<dyn Clock> = world.clock.clone();
    let store = Store::open(&world.data(), options, clock, &tracker, CancellationToken::new()).await.unwrap();
    assert_eq!(store.secret_store(), SecretStore::File);
    assert_eq!(credential_of(&store, "a").await.unwrap().unwrap().expose_secret(), SECRET);
}

const SHARED: &str = "socks5h://somebody:sharedpassword@shared.example:1080";

fn network(proxy: &Value) -> Value {
    json!({ "proxyMode": "custom", "proxyUrl": proxy, "later": [1] })
}

async fn network_of(store: &Store) -> Value {
    store.load_settings(at(9)).await.unwrap().remove("network").unwrap()
}

async fn stored_network(world: &World) -> Value {
    let select = "SELECT value FROM key_value WHERE namespace = 'settings' AND key = 'network'";
    let text: String = sqlx::query_scalar(select).fetch_one(&mut world.raw().await).await.unwrap();
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn the_shared_proxy_is_sealed_and_the_rest_of_its_document_is_not() {
    let world = World::new();
    let running = world.open().await;
    let changes = BTreeMap::from([
        ("network".to_owned(), Some(network(&json!(SHARED)))),
        ("gateway".to_owned(), Some(json!({ "port": 80 }))),
        ("customBannedSignals".to_owned(), Some(json!(["a"]))),
    ]);
    running.store.change_settings(&changes, at(1)).await.unwrap();
    let mut bytes = std::fs::read(world.file(wire::file::DATABASE)).unwrap();
    bytes.extend(std::fs::read(world.file("omniroute.sqlite-wal")).unwrap());
    for hidden in [SHARED, "sharedpassword", "shared.example"] {
        assert!(!contains(&bytes, hidden), "{hidden}");
    }
    let stored = stored_network(&world).await;
    assert_eq!((&stored["proxyMode"], &stored["later"]), (&json!("custom"), &json!([1])));
    let expected = changes.into_iter().map(|(section, document)| (section, document.unwrap())).collect();
    assert_eq!(running.store.load_settings(at(2)).await.unwrap(), expected);
    assert_eq!(stored_network(&world).await, stored, "what is sealed stays as it is");
    running.stop().await;
    let running = world.open().await;
    assert_eq!(running.store.load_settings(at(2)).await.unwrap(), expected);
    let gone = BTreeMap::from([("network".to_owned(), None)]);
    running.store.change_settings(&gone, at(3)).await.unwrap();
    assert_eq!(
        running.store.load_settings(at(4)).await.unwrap().keys().collect::<Vec<_>>(),
        ["customBannedSignals", "gateway"]
    );
    running.stop().await;
}

#[tokio::test]
async fn a_shared_proxy_in_plain_words_is_read_and_sealed_by_the_next_start() {
    let world = World::new();
    let running = world.open().await;
    running.store.put_value(store::SETTINGS, "network", &network(&json!(SHARED)), at(0)).await.unwrap();
    assert_eq!(network_of(&running.store).await, network(&json!(SHARED)));
    let stored = stored_network(&world).await;
    assert!(stored["proxyUrl"]["sealed"].is_string(), "{stored}");
    assert_eq!((&stored["proxyMode"], &stored["later"]), (&json!("custom"), &json!([1])));
    assert_eq!(network_of(&running.store).await, network(&json!(SHARED)));
    running.stop().await;
}

#[tokio::test]
async fn a_shared_proxy_that_cannot_be_opened_is_neither_read_nor_lost() {
    let world = World::new();
    let running = world.open().await;
    let changes = BTreeMap::from([("network".to_owned(), Some(network(&json!(SHARED))))]);
    running.store.change_settings(&changes, at(1)).await.unwrap();
    running.stop().await;
    let (key, stored) = (std::fs::read(world.file(wire::file::DATA_KEY)).unwrap(), stored_network(&world).await);
    std::fs::remove_file(world.file(wire::file::DATA_KEY)).unwrap();
    let running = world.open().await;
    assert_eq!(network_of(&running.store).await, stored);
    let other = BTreeMap::from([("network".to_owned(), Some(network(&stored["proxyUrl"])))]);
    running.store.change_settings(&other, at(2)).await.unwrap();
    running.stop().await;
    std::fs::write(world.file(wire::file::DATA_KEY), key).unwrap();
    let running = world.open().await;
    assert_eq!(network_of(&running.store).await, network(&json!(SHARED)));
    running.stop().await;
}
