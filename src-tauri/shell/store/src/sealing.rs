//! Secrets at rest: XChaCha20-Poly1305 with a random nonce, bound to the cell they belong to.
//!
//! A sealed value is `version (1) ‖ key id (8) ‖ nonce (24) ‖ ciphertext and tag`. The associated data is the table,
//! the row's id and the column, each with its length in front, so a value copied to another row or column does not
//! open. The key id is the beginning of a digest of the key: it tells a value whose key is gone from one that was
//! tampered with, and lets values of two keys live side by side (see [`crate::data_key`]).

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::{CredentialError, Error};

const VERSION: u8 = 1;
pub(crate) const KEY_ID_LENGTH: usize = 8;
const NONCE_LENGTH: usize = 24;
const HEADER_LENGTH: usize = 1 + KEY_ID_LENGTH + NONCE_LENGTH;

pub(crate) type KeyId = [u8; KEY_ID_LENGTH];

/// Key bytes, wiped on drop.
pub(crate) type KeyBytes = Zeroizing<[u8; 32]>;

/// The cell a secret belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub table: &'static str,
    pub row: &'a str,
    pub column: &'static str,
}

struct DataKey {
    id: KeyId,
    cipher: XChaCha20Poly1305,
}

/// Seals with the first key, opens with whichever fits.
pub(crate) struct Sealer {
    primary: DataKey,
    others: Vec<DataKey>,
}

impl Sealer {
    pub(crate) fn new(primary: &KeyBytes) -> Sealer {
        Sealer { primary: DataKey::new(primary), others: Vec::new() }
    }

    /// Also opens what was sealed with `key`.
    pub(crate) fn add(&mut self, key: &KeyBytes) {
        self.others.push(DataKey::new(key));
    }

    pub(crate) fn knows(&self, id: &KeyId) -> bool {
        self.key(id).is_some()
    }

    pub(crate) fn seal(&self, place: Place<'_>, secret: &SecretString) -> Result<Vec<u8>, Error> {
        let mut nonce = [0_u8; NONCE_LENGTH];
        getrandom::fill(&mut nonce).map_err(Error::Randomness)?;
        let payload = Payload { msg: secret.expose_secret().as_bytes(), aad: &place.associated_data() };
        let ciphertext = encrypt(&self.primary.cipher, &XNonce::from(nonce), payload);
        let mut sealed = Vec::with_capacity(HEADER_LENGTH + ciphertext.len());
        sealed.push(VERSION);
        sealed.extend_from_slice(&self.primary.id);
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(&ciphertext);
        Ok(sealed)
    }

    pub(crate) fn open(&self, place: Place<'_>, sealed: &[u8]) -> Result<SecretString, CredentialError> {
        let (version, rest) = sealed.split_first().ok_or(CredentialError::Tampered)?;
        let (id, rest) = rest.split_first_chunk::<KEY_ID_LENGTH>().ok_or(CredentialError::Tampered)?;
        let (nonce, ciphertext) = rest.split_first_chunk::<NONCE_LENGTH>().ok_or(CredentialError::Tampered)?;
        if *version != VERSION {
            return Err(CredentialError::Tampered);
        }
        let key = self.key(id).ok_or(CredentialError::KeyLost)?;
        let payload = Payload { msg: ciphertext, aad: &place.associated_data() };
        let plain = key.cipher.decrypt(&XNonce::from(*nonce), payload).map_err(|_| CredentialError::Tampered)?;
        String::from_utf8(plain).map(SecretString::from).map_err(|_| CredentialError::Tampered)
    }

    fn key(&self, id: &KeyId) -> Option<&DataKey> {
        std::iter::once(&self.primary).chain(&self.others).find(|key| key.id == *id)
    }
}

/// Which key a sealed value needs, when it looks like one.
pub(crate) fn key_id(sealed: &[u8]) -> Option<KeyId> {
    sealed.get(1..)?.first_chunk().copied()
}

impl DataKey {
    fn new(key: &KeyBytes) -> DataKey {
        let digest: [u8; 32] =
            Sha256::new().chain_update(b"omniroute data key id").chain_update(&key[..]).finalize().into();
        let mut id = KeyId::default();
        id.copy_from_slice(&digest[..KEY_ID_LENGTH]);
        DataKey { id, cipher: XChaCha20Poly1305::new((&**key).into()) }
    }
}

impl Place<'_> {
    fn associated_data(self) -> Vec<u8> {
        let mut data = Vec::new();
        for part in [self.table, self.row, self.column] {
            data.extend_from_slice(&(part.len() as u64).to_le_bytes());
            data.extend_from_slice(part.as_bytes());
        }
        data
    }
}

#[expect(clippy::expect_used, reason = "the cipher only refuses messages of 256 GiB and more")]
fn encrypt(cipher: &XChaCha20Poly1305, nonce: &XNonce, payload: Payload<'_, '_>) -> Vec<u8> {
    cipher.encrypt(nonce, payload).expect("a credential is shorter than 256 GiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place<'static> = Place { table: "connections", row: "one", column: "api_key" };

    fn sealer(byte: u8) -> Sealer {
        Sealer::new(&Zeroizing::new([byte; 32]))
    }

    #[test]
    fn a_sealed_secret_opens_in_its_own_cell_and_nowhere_else() {
        let sealer = sealer(1);
        let sealed = sealer.seal(PLACE, &SecretString::from("sk-secret")).unwrap();
        assert_eq!(sealer.open(PLACE, &sealed).unwrap().expose_secret(), "sk-secret");
        for other in [
            Place { row: "two", ..PLACE },
            Place { column: "proxy_url", ..PLACE },
            Place { table: "nodes", ..PLACE },
            Place { row: "oneapi_key", column: "", ..PLACE },
        ] {
            assert_eq!(sealer.open(other, &sealed).unwrap_err(), CredentialError::Tampered);
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let sealer = sealer(1);
        let sealed = sealer.seal(PLACE, &SecretString::from("k")).unwrap();
        for position in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[position] ^= 1;
            assert!(sealer.open(PLACE, &changed).is_err(), "byte {position}");
            assert!(sealer.open(PLACE, &sealed[..position]).is_err(), "cut at {position}");
        }
    }

    #[test]
    fn a_lost_key_is_told_from_tampering_and_an_added_one_opens() {
        let sealed = sealer(1).seal(PLACE, &SecretString::from("k")).unwrap();
        let mut later = sealer(2);
        assert_eq!(later.open(PLACE, &sealed).unwrap_err(), CredentialError::KeyLost);
        assert!(!later.knows(&key_id(&sealed).unwrap()));
        later.add(&Zeroizing::new([1; 32]));
        assert!(later.knows(&key_id(&sealed).unwrap()));
        assert_eq!(later.open(PLACE, &sealed).unwrap().expose_secret(), "k");
    }

    #[test]
    fn the_same_secret_is_never_sealed_alike() {
        let sealer = sealer(1);
        let secret = SecretString::from("k");
        assert_ne!(sealer.seal(PLACE, &secret).unwrap(), sealer.seal(PLACE, &secret).unwrap());
    }
}
