//! Keys that agents present (gateway specification, 1.3). Only a digest is stored; the text is in one reply, once.

use domain::client_key::{ClientKey, Scope};
use domain::{ClientKeyId, wire};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::management_token::random_text;
use crate::view::{self, Done, KeyChange, KeyDraft, KeyRecord, KeySecret, Keys};
use crate::{Control, ControlError, check};

const TAIL: usize = 4;

/// Client keys, oldest first.
pub async fn keys_list(control: &Control) -> Result<Keys, ControlError> {
    let keys = control.store().list_keys().await?;
    Ok(Keys { keys: keys.into_iter().map(view_of).collect() })
}

/// Makes a key.
pub async fn key_create(control: &Control, draft: KeyDraft) -> Result<KeySecret, ControlError> {
    let text = new_text()?;
    let key = ClientKey {
        id: ClientKeyId::from(Uuid::now_v7().to_string()),
        name: check::name("name", &draft.name)?,
        hash: digest(&text),
        tail: tail(&text),
        is_active: true,
        scopes: draft.scopes.into_iter().map(Scope::from).collect(),
        allowed_models: check::texts("allowedModels", &draft.allowed_models)?,
        allowed_connections: check::connection_ids(control, "allowedConnections", &draft.allowed_connections)?,
        expires_at: draft.expires_at.map(view::Instant::timestamp),
        last_used_at: None,
        created_at: control.now(),
    };
    check_scopes(&key)?;
    control.store().insert_key(&key).await?;
    control.reload_keys().await?;
    Ok(KeySecret { key: text, record: view_of(key) })
}

/// Changes what a key may do.
pub async fn key_update(control: &Control, id: String, change: KeyChange) -> Result<KeyRecord, ControlError> {
    let mut key = find(control, &id).await?;
    if let Some(name) = change.name {
        key.name = check::name("name", &name)?;
    }
    if let Some(is_active) = change.is_active {
        key.is_active = is_active;
    }
    if let Some(scopes) = change.scopes {
        key.scopes = scopes.unwrap_or_default().into_iter().map(Scope::from).collect();
    }
    if let Some(models) = change.allowed_models {
        key.allowed_models = check::texts("allowedModels", &models.unwrap_or_default())?;
    }
    if let Some(ids) = change.allowed_connections {
        key.allowed_connections = check::connection_ids(control, "allowedConnections", &ids.unwrap_or_default())?;
    }
    if let Some(end) = change.expires_at {
        key.expires_at = end.map(view::Instant::timestamp);
    }
    check_scopes(&key)?;
    control.store().update_key(&key).await?;
    control.reload_keys().await?;
    Ok(KeyRecord { record: view_of(key) })
}

/// Gives a key another text; the old one stops at once.
pub async fn key_rotate(control: &Control, id: String) -> Result<KeySecret, ControlError> {
    let mut key = find(control, &id).await?;
    let text = new_text()?;
    key.hash = digest(&text);
    key.tail = tail(&text);
    control.store().update_key(&key).await?;
    control.reload_keys().await?;
    Ok(KeySecret { key: text, record: view_of(key) })
}

/// Revokes a key.
pub async fn key_delete(control: &Control, id: String) -> Result<Done, ControlError> {
    control.store().delete_key(&ClientKeyId::from(id)).await?;
    control.reload_keys().await?;
    Ok(Done::OK)
}

async fn find(control: &Control, id: &str) -> Result<ClientKey, ControlError> {
    let found = control.store().get_key(&ClientKeyId::from(id)).await?;
    found.ok_or_else(|| ControlError::not_found("key", id))
}

/// An exclusive lease needs connections to lease.
fn check_scopes(key: &ClientKey) -> Result<(), ControlError> {
    if key.scopes.contains(&Scope::LeaseExclusive) && key.allowed_connections.is_empty() {
        let message = "the scope lease:exclusive needs at least one connection here";
        return Err(ControlError::invalid("allowedConnections", message));
    }
    Ok(())
}

fn new_text() -> Result<String, ControlError> {
    let random = random_text().map_err(|error| ControlError::internal(&error))?;
    Ok(format!("{}{random}", wire::CLIENT_KEY_PREFIX))
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

fn tail(text: &str) -> String {
    text.chars().skip(text.chars().count().saturating_sub(TAIL)).collect()
}

fn view_of(key: ClientKey) -> view::Key {
    view::Key {
        id: key.id.to_string(),
        name: key.name,
        tail: key.tail,
        is_active: key.is_active,
        scopes: key.scopes.into_iter().map(view::Scope::from).collect(),
        allowed_models: key.allowed_models,
        allowed_connections: key.allowed_connections.iter().map(ToString::to_string).collect(),
        expires_at: key.expires_at.map(view::Instant::from),
        last_used_at: key.last_used_at.map(view::Instant::from),
        created_at: key.created_at.into(),
    }
}
