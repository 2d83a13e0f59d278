//! Keys that agents present (gateway specification, 1.3). Only a digest is stored; the text is in one reply, once.
//!
//! [`written`] turns what a person wrote into a key, [`shown`] a key into what a person sees.

mod shown;
mod written;

use domain::client_key::ClientKey;
use domain::{ClientKeyId, wire};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::management_token::random_text;
use crate::view::{Done, KeyChange, KeyDraft, KeyRecord, KeySecret, Keys};
use crate::{Control, ControlError};

const TAIL: usize = 4;

/// Client keys, oldest first.
pub async fn keys_list(control: &Control) -> Result<Keys, ControlError> {
    let keys = control.store().list_keys().await?;
    Ok(Keys { keys: keys.into_iter().map(|key| shown::key(control, key)).collect() })
}

/// Makes a key.
pub async fn key_create(control: &Control, draft: KeyDraft) -> Result<KeySecret, ControlError> {
    let text = new_text()?;
    let id = ClientKeyId::from(Uuid::now_v7().to_string());
    let mut key = ClientKey::new(id, String::new(), digest(&text), tail(&text), control.now());
    written::apply(control, &mut key, draft.into())?;
    control.store().insert_key(&key).await?;
    control.reload_keys().await?;
    Ok(KeySecret { key: text, record: shown::key(control, key) })
}

/// Changes what a key may do.
pub async fn key_update(control: &Control, id: String, change: KeyChange) -> Result<KeyRecord, ControlError> {
    let _one_at_a_time = control.one_key_change().await;
    let mut key = find(control, &id).await?;
    written::apply(control, &mut key, change)?;
    control.store().update_key(&key).await?;
    control.reload_keys().await?;
    Ok(KeyRecord { record: shown::key(control, key) })
}

/// Gives a key another text; the old one stops at once.
pub async fn key_rotate(control: &Control, id: String) -> Result<KeySecret, ControlError> {
    let _one_at_a_time = control.one_key_change().await;
    let mut key = find(control, &id).await?;
    let text = new_text()?;
    key.hash = digest(&text);
    key.tail = tail(&text);
    control.store().update_key(&key).await?;
    control.reload_keys().await?;
    Ok(KeySecret { key: text, record: shown::key(control, key) })
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
