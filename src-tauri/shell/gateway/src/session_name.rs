//! What a client calls its session (resilience specification, 9.2): a header, else a member of the body, else how the
//! conversation began. Names are hashed before anything remembers them, and none of the headers is sent on.

use dialects::canonical::{Part, Role};
use domain::wire::header;
use domain::{ProviderId, hex};
use http::HeaderMap;
use sha2::{Digest, Sha256};

use crate::ingress::ClientRequest;

/// How much of the first text stands for a conversation that has no name, in characters.
const BEGINNING: usize = 4_096;

/// The session's name; none, the request has nothing that could be one.
pub(crate) fn of(request: &ClientRequest) -> Option<String> {
    let hint = || request.glance.session_hint.as_deref().and_then(named);
    in_headers(&request.headers).or_else(hint).or_else(|| beginning(request))
}

/// The same, but only if a header says it: such a session is one whatever its requests begin with, and another session is
/// another one although it begins alike (gateway specification, 3.3, step 7).
pub(crate) fn stated(request: &ClientRequest) -> Option<String> {
    in_headers(&request.headers)
}

fn in_headers(headers: &HeaderMap) -> Option<String> {
    header::SESSION_NAMES.iter().find_map(|name| named(&String::from_utf8_lossy(headers.get(*name)?.as_bytes())))
}

/// Blank is no name.
fn named(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn beginning(request: &ClientRequest) -> Option<String> {
    if !request.operation.generates() {
        return None;
    }
    let asked = request.asked().ok()?;
    let first = asked.turns.iter().filter(|turn| turn.role == Role::User).flat_map(|turn| &turn.parts);
    let text = first.filter_map(|part| if let Part::Text { text, .. } = part { Some(text) } else { None }).next()?;
    named(&text.chars().take(BEGINNING).collect::<String>())
}

/// Under which a session is remembered at a provider: each has its own.
pub(crate) fn hashed(provider: &ProviderId, name: &str) -> String {
    digest(provider.as_str(), name)
}

/// Under which combos remember a session that has a name.
pub(crate) fn hashed_for_combos(name: &str) -> String {
    digest("", name)
}

fn digest(space: &str, name: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(space);
    hash.update(":");
    hash.update(name);
    hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    /// SA-04, SA-15
    #[test]
    fn the_strongest_header_that_says_something_names_the_session() {
        for (headers, expected) in [
            (&[("x-session-id", "b"), ("X-Codex-Session-Id", "a")][..], Some("a")),
            (&[("x-omniroute-session", "c")][..], Some("c")),
            (&[("x_session_id", "d"), ("thread-id", "e")][..], Some("d")),
            (&[("x-codex-session-id", "  "), ("session-id", " f ")][..], Some("f")),
            (&[("x-omniroute-session-id", "only a tag"), ("x-session-id", "")][..], None),
        ] {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
                map.insert(name, HeaderValue::from_static(value));
            }
            assert_eq!(in_headers(&map).as_deref(), expected, "{headers:?}");
        }
    }

    #[test]
    fn a_session_has_another_hash_at_each_provider_and_never_its_name() {
        let (one, other) = (hashed(&"a".into(), "s"), hashed(&"b".into(), "s"));
        assert_ne!(one, other);
        assert_eq!((one.len(), one.contains('s')), (64, false));
    }
}
