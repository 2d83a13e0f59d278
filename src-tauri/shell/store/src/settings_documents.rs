//! The documents of the settings: one a section in `key_value`, its secrets sealed.
//!
//! A secret stands in its document as `{"sealed": …}`, bound to its path, so that the rest stays legible and one that was
//! copied to another field does not open. Documents of earlier versions hold it in plain words; they are read, and sealed at
//! the next start. What cannot be opened stays where it is: its key may come back.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::Timestamp;
use domain::section::Section;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use settings::Settings;

use crate::database::Database;
use crate::key_value::delete;
use crate::sealing::{self, KeyId, Place};
use crate::{CredentialError, Error, Store, key_value};

/// Their namespace in `key_value`.
pub const NAMESPACE: &str = "settings";
const SEALED: &str = "sealed";

impl Store {
    /// Every document by section, its secrets opened. Those that still lie open are sealed on the way.
    pub async fn load_settings(&self, at: Timestamp) -> Result<BTreeMap<String, Value>, Error> {
        let mut documents = self.list_values(NAMESPACE).await?;
        let mut open = BTreeMap::new();
        for path in secrets() {
            let Some((section, place)) = slot(&mut documents, &path) else { continue };
            if place.is_string() {
                open.insert(section.to_owned(), Value::Null);
            } else if let Some(opened) = self.opened(&path, place) {
                match opened {
                    Ok(secret) => *place = Value::from(secret.expose_secret()),
                    Err(error) => tracing::warn!(setting = path, %error, "a secret of the settings is left out"),
                }
            }
        }
        if !open.is_empty() {
            let document = |(section, _)| (String::clone(&section), documents.get(&section).cloned());
            self.change_settings(&open.into_iter().map(document).collect(), at).await?;
        }
        Ok(documents)
    }

    /// Changes several documents, all or none; `None` deletes.
    pub async fn change_settings(&self, changes: &BTreeMap<String, Option<Value>>, at: Timestamp) -> Result<(), Error> {
        let mut documents: BTreeMap<String, Value> =
            changes.iter().filter_map(|(section, document)| Some((section.clone(), document.clone()?))).collect();
        for path in secrets() {
            let Some((_, place)) = slot(&mut documents, &path) else { continue };
            if let Value::String(text) = place {
                let sealed = self.inner.sealer.seal(cell(&path), &SecretString::from(text.as_str()))?;
                *place = json!({ SEALED: STANDARD.encode(sealed) });
            }
        }
        let mut transaction = self.database().begin().await?;
        for section in changes.keys() {
            match documents.get(section) {
                Some(document) => key_value::put(&mut transaction, NAMESPACE, section, document, at).await?,
                None => {
                    delete(&mut transaction, NAMESPACE, section).await?;
                }
            }
        }
        Ok(transaction.commit().await?)
    }

    /// Nothing where nothing is sealed.
    fn opened(&self, path: &str, value: &Value) -> Option<Result<SecretString, CredentialError>> {
        let sealed = STANDARD.decode(value.get(SEALED)?.as_str()?);
        Some(
            sealed
                .map_err(|_| CredentialError::Tampered)
                .and_then(|sealed| self.inner.sealer.open(cell(path), &sealed)),
        )
    }
}

/// Every key that a secret of the settings was sealed with.
pub(crate) async fn sealing_keys(database: &Database) -> Result<BTreeSet<KeyId>, Error> {
    let rows: Vec<(String, String)> = sqlx::query_as("SELECT key, value FROM key_value WHERE namespace = ?")
        .bind(NAMESPACE)
        .fetch_all(database.writer())
        .await?;
    let readable = |(section, text): (String, String)| Some((section, serde_json::from_str(&text).ok()?));
    let mut documents: BTreeMap<String, Value> = rows.into_iter().filter_map(readable).collect();
    let key = |path: String| {
        let (_, place) = slot(&mut documents, &path)?;
        sealing::key_id(&STANDARD.decode(place.get(SEALED)?.as_str()?).ok()?)
    };
    Ok(secrets().filter_map(key).collect())
}

/// The paths of the settings that are secrets.
fn secrets() -> impl Iterator<Item = String> {
    Settings::default().fields().into_iter().filter(|field| field.is_secret).map(|field| field.path)
}

/// The section of a path, and what stands there.
fn slot<'d, 'p>(documents: &'d mut BTreeMap<String, Value>, path: &'p str) -> Option<(&'p str, &'d mut Value)> {
    let mut names = path.split('.');
    let section = names.next()?;
    let place = names.try_fold(documents.get_mut(section)?, |value, name| value.get_mut(name))?;
    Some((section, place))
}

fn cell(path: &str) -> Place<'_> {
    Place { table: "key_value", row: path, column: "value" }
}
