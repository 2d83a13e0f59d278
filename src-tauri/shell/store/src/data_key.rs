//! Where the key that seals credentials lives: the OS keychain, else a 0600 file beside the database.
//!
//! The keychain may be absent, locked, or waiting for somebody to answer a dialog, and the same folder may be opened
//! once from a desktop session and once over SSH. So the two places can end up holding two different keys, and both
//! stay good: an existing file is used first and seals what is new; the keychain is asked as well while the database
//! holds values that the file's key does not open. No key is ever overwritten.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::{Clock, Millis, wire};
use tokio::sync::oneshot;
use zeroize::Zeroizing;

use crate::error::AtPath;
use crate::sealing::{KeyBytes, KeyId, Sealer};
use crate::{Error, SecretStore, SecretStoreChoice, folder};

/// How long the keychain may think before the file takes its place.
const KEYCHAIN_PATIENCE: Millis = Millis::seconds(10);

/// What decides where the key is looked for.
pub(crate) struct Search<'a> {
    pub choice: SecretStoreChoice,
    /// `data.key` of the data folder.
    pub file: &'a Path,
    /// Names the folder's entry in the keychain.
    pub account: String,
    /// Keys that the stored credentials were sealed with.
    pub needed: BTreeSet<KeyId>,
}

/// Finds the key, or makes one.
pub(crate) async fn load(search: Search<'_>, clock: &Arc<dyn Clock>) -> Result<(Sealer, SecretStore), Error> {
    let keychain_allowed = search.choice == SecretStoreChoice::Auto;
    if let Some(key) = read_file(search.file)? {
        let mut sealer = Sealer::new(&key);
        let complete = search.needed.iter().all(|id| sealer.knows(id));
        if keychain_allowed
            && !complete
            && let Some(older) = ask(Question::Find, search.account, clock).await
        {
            sealer.add(&older);
        }
        return Ok((sealer, SecretStore::File));
    }
    if keychain_allowed && let Some(key) = ask(Question::FindOrMake(random_key()?), search.account, clock).await {
        return Ok((Sealer::new(&key), SecretStore::Keychain));
    }
    let key = random_key()?;
    write_file(search.file, &key)?;
    Ok((Sealer::new(&key), SecretStore::File))
}

enum Question {
    Find,
    /// Stores the given key when there is none yet.
    FindOrMake(KeyBytes),
}

/// Asks the keychain on a thread of its own, so that one that never answers delays the start once and nothing else.
async fn ask(question: Question, account: String, clock: &Arc<dyn Clock>) -> Option<KeyBytes> {
    let (answer, answered) = oneshot::channel();
    let spawned = std::thread::Builder::new().name("keychain".to_owned()).spawn(move || {
        // Nobody listens any more when the patience has ended.
        drop(answer.send(converse(question, &account)));
    });
    if let Err(error) = spawned {
        tracing::warn!(%error, "the keychain could not be asked");
        return None;
    }
    let deadline = clock.sleep_until(clock.now() + KEYCHAIN_PATIENCE);
    tokio::select! {
        answer = answered => match answer {
            Ok(Ok(key)) => key,
            Ok(Err(error)) => {
                tracing::info!(%error, "no usable keychain");
                None
            }
            Err(_) => {
                tracing::warn!("the keychain broke down");
                None
            }
        },
        () = deadline => {
            tracing::warn!("the keychain did not answer");
            None
        }
    }
}

fn converse(question: Question, account: &str) -> keyring::Result<Option<KeyBytes>> {
    let entry = keyring::Entry::new(wire::BUNDLE_ID, account)?;
    match (entry.get_password(), question) {
        (Ok(text), _) => Ok(decode(&Zeroizing::new(text))),
        (Err(keyring::Error::NoEntry), Question::Find) => Ok(None),
        (Err(keyring::Error::NoEntry), Question::FindOrMake(key)) => {
            entry.set_password(&encode(&key))?;
            // A keychain that forgets would cost every credential: believe what it gives back, not that it took.
            let kept = Zeroizing::new(entry.get_password()?);
            Ok(decode(&kept).filter(|kept| **kept == *key))
        }
        (Err(error), _) => Err(error),
    }
}

fn read_file(path: &Path) -> Result<Option<KeyBytes>, Error> {
    if !path.try_exists().at("look for", path)? {
        return Ok(None);
    }
    drop(folder::private_file(path)?);
    let bytes = Zeroizing::new(std::fs::read(path).at("read", path)?);
    let key = std::str::from_utf8(&bytes).ok().and_then(decode);
    key.map(Some).ok_or_else(|| Error::DataKeyDamaged { path: path.to_owned() })
}

/// Writes beside the final name and renames, so that a crash leaves no half key.
fn write_file(path: &Path, key: &KeyBytes) -> Result<(), Error> {
    let draft = path.with_extension("new");
    if draft.try_exists().at("look for", &draft)? {
        std::fs::remove_file(&draft).at("remove", &draft)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&draft).at("create", &draft)?;
    file.write_all(encode(key).as_bytes()).at("write", &draft)?;
    file.write_all(b"\n").at("write", &draft)?;
    file.sync_all().at("write", &draft)?;
    std::fs::rename(&draft, path).at("rename", &draft)
}

fn random_key() -> Result<KeyBytes, Error> {
    let mut key = KeyBytes::default();
    getrandom::fill(&mut key[..]).map_err(Error::Randomness)?;
    Ok(key)
}

fn encode(key: &KeyBytes) -> Zeroizing<String> {
    Zeroizing::new(STANDARD.encode(&key[..]))
}

fn decode(text: &str) -> Option<KeyBytes> {
    let bytes = Zeroizing::new(STANDARD.decode(text.trim()).ok()?);
    let mut key = KeyBytes::default();
    if bytes.len() != key.len() {
        return None;
    }
    key.copy_from_slice(&bytes);
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_survives_its_text_form_and_anything_else_is_no_key() {
        let key = random_key().unwrap();
        assert_eq!(*decode(&encode(&key)).unwrap(), *key);
        for damaged in ["", "AAAA", "not base64!", &"A".repeat(200)] {
            assert!(decode(damaged).is_none(), "{damaged}");
        }
    }

    #[test]
    fn a_damaged_file_is_refused_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.key");
        std::fs::write(&path, "half a ke").unwrap();
        assert!(matches!(read_file(&path), Err(Error::DataKeyDamaged { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "half a ke");
    }

    #[test]
    fn a_draft_left_by_a_crash_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.key");
        std::fs::write(path.with_extension("new"), "half").unwrap();
        let key = random_key().unwrap();
        write_file(&path, &key).unwrap();
        assert_eq!(*read_file(&path).unwrap().unwrap(), *key);
    }
}
