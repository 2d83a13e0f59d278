//! Keeps a connection's credential out of what its provider says (gateway specification, 1.8, Sanitising).
//!
//! Some providers repeat the key they refuse. Errors are the only place where they do, so errors are searched and
//! answers are not: an answer stays byte-exact. Where the credential is found it is replaced in place, which keeps the
//! rest of the error, JSON included, as the provider wrote it.

use bytes::Bytes;
use dialects::UpstreamError;
use secrecy::{ExposeSecret, SecretString};
use upstream::Target;

const REPLACEMENT: &[u8] = b"<credential>";
/// Shorter ones are placeholders for local servers, such as `none` or `ollama`: ordinary words, and no secret.
const SHORTEST: usize = 8;

/// What must not be repeated.
pub(crate) struct Redaction {
    credential: Option<SecretString>,
}

impl Redaction {
    pub(crate) fn of(target: &Target) -> Self {
        let long = |secret: &&SecretString| secret.expose_secret().trim().len() >= SHORTEST;
        Redaction { credential: target.credential.as_ref().filter(long).cloned() }
    }

    /// The bytes without the credential; the very same when it is not in them.
    pub(crate) fn bytes(&self, bytes: Bytes) -> Bytes {
        self.forms().iter().fold(bytes, |bytes, form| replaced(bytes, form))
    }

    /// One clean line: without the credential, then sanitised.
    pub(crate) fn text(&self, text: &str) -> String {
        let clean = self.bytes(Bytes::copy_from_slice(text.as_bytes()));
        dialects::error::sanitize(&String::from_utf8_lossy(&clean))
    }

    /// The error as it may be recorded and told.
    pub(crate) fn error(&self, mut error: UpstreamError) -> UpstreamError {
        error.message = self.text(&error.message);
        let body = self.bytes(String::from(std::mem::take(&mut error.body)).into());
        error.body = String::from_utf8_lossy(&body).into();
        error
    }

    /// The credential as it may stand in a body: plain, or with what JSON escapes.
    fn forms(&self) -> Vec<Vec<u8>> {
        let Some(secret) = &self.credential else { return Vec::new() };
        let plain = secret.expose_secret().trim();
        let escaped = plain.replace('\\', "\\\\").replace('"', "\\\"");
        let mut forms = vec![plain.as_bytes().to_vec(), escaped.replace('/', "\\/").into_bytes(), escaped.into_bytes()];
        forms.dedup();
        forms
    }
}

fn replaced(bytes: Bytes, needle: &[u8]) -> Bytes {
    let find = |haystack: &[u8]| haystack.windows(needle.len()).position(|window| window == needle);
    let Some(mut found) = find(&bytes) else { return bytes };
    let mut clean = Vec::with_capacity(bytes.len());
    let mut rest: &[u8] = &bytes;
    loop {
        clean.extend_from_slice(&rest[..found]);
        clean.extend_from_slice(REPLACEMENT);
        rest = &rest[found + needle.len()..];
        match find(rest) {
            Some(next) => found = next,
            None => break,
        }
    }
    clean.extend_from_slice(rest);
    clean.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redaction(credential: &str) -> Redaction {
        let credential = (credential.len() >= SHORTEST).then(|| SecretString::from(credential));
        Redaction { credential }
    }

    #[test]
    fn a_credential_is_replaced_wherever_it_stands() {
        for (credential, body, expected) in [
            ("swordfish", "{\"error\":\"bad key swordfish\"}", "{\"error\":\"bad key <credential>\"}"),
            ("swordfish", "swordfishswordfish", "<credential><credential>"),
            ("sword/fish", "{\"e\":\"sword\\/fish sword/fish\"}", "{\"e\":\"<credential> <credential>\"}"),
            ("sword\"fish", "{\"e\":\"sword\\\"fish\"}", "{\"e\":\"<credential>\"}"),
            ("swordfish", "nothing of it", "nothing of it"),
            ("none", "there is none", "there is none"),
        ] {
            assert_eq!(redaction(credential).bytes(Bytes::from_static(body.as_bytes())), expected, "{body}");
        }
    }

    #[test]
    fn a_clean_body_is_not_copied() {
        let body = Bytes::from_static(b"clean");
        assert_eq!(redaction("swordfish").bytes(body.clone()).as_ptr(), body.as_ptr());
    }
}
