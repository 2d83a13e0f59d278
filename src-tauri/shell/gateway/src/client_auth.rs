//! Which local key a request carries (gateway specification, 1.3).
//!
//! Accepted carriers, in this order: `Authorization: Bearer`, `x-api-key`, `x-goog-api-key`, and `?key=` under `/v1beta`
//! only. The first that holds a known key counts; unknown extra values are ignored, and nothing of them is logged.

use std::borrow::Cow;
use std::sync::Arc;

use domain::client_key::{ClientKey, KeyRefusal};
use domain::{Millis, Timestamp};
use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};

use crate::address_book::Keys;
use crate::error::{Blame, GatewayError};

/// How the key requirement stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Requirement {
    Required,
    /// Requests without a key are let in; a wrong key is still wrong.
    NotOnLoopback,
}

/// The key of the request; `Ok(None)` only where none is required.
pub(crate) fn authenticate(
    headers: &HeaderMap,
    query_key: Option<&str>,
    keys: &Keys,
    requirement: Requirement,
    now: Timestamp,
) -> Result<Option<Arc<ClientKey>>, GatewayError> {
    let presented = presented(headers, query_key);
    let Some(key) = presented.iter().find_map(|text| keys.find(text)) else {
        if requirement == Requirement::NotOnLoopback && presented.is_empty() {
            return Ok(None);
        }
        return Err(missing_or_wrong(presented.is_empty(), keys.is_empty()));
    };
    match key.check(now) {
        Ok(()) => Ok(Some(Arc::clone(key))),
        Err(KeyRefusal::Disabled) => Err(GatewayError::unauthorized(
            "this local key is switched off: switch it on in OmniRoute under Settings → API Keys, or use another",
        )),
        Err(KeyRefusal::Expired) => Err(GatewayError::unauthorized(
            "this local key has expired: make a new one in OmniRoute under Settings → API Keys",
        )),
    }
}

/// A wrong key was sent too often from this peer.
pub(crate) fn throttled(wait: Millis) -> GatewayError {
    let message =
        "too many requests with a wrong key from this address: wait, and check the key in the agent's settings";
    let mut error =
        GatewayError::new(Blame::Client, StatusCode::TOO_MANY_REQUESTS, domain::wire::code::RATE_LIMITED, message);
    error.retry_after = Some(wait);
    error
}

fn presented<'a>(headers: &'a HeaderMap, query_key: Option<&'a str>) -> Vec<Cow<'a, str>> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
    });
    let named = ["x-api-key", "x-goog-api-key"];
    let named = named.into_iter().filter_map(|name| headers.get(name)?.to_str().ok()).map(str::trim);
    bearer.into_iter().chain(named).chain(query_key).filter(|text| !text.is_empty()).map(Cow::Borrowed).collect()
}

fn missing_or_wrong(missing: bool, none_exist: bool) -> GatewayError {
    GatewayError::unauthorized(match (missing, none_exist) {
        (_, true) => {
            "no local key exists yet: make one in OmniRoute under Settings → API Keys, or run `omniroute key create --name NAME`, \
             and put it into the agent's settings"
        }
        (true, false) => {
            "no local key was sent: put a key from OmniRoute (Settings → API Keys) into the agent's settings; it travels as \
             `Authorization: Bearer`, `x-api-key` or `x-goog-api-key`"
        }
        (false, false) => {
            "this local key is not known here: copy a key from OmniRoute (Settings → API Keys) into the agent's settings"
        }
    })
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};
    use sha2::{Digest, Sha256};

    use super::*;

    fn key(text: &str, active: bool, expires_at: Option<u64>) -> ClientKey {
        let hash = Sha256::digest(text.as_bytes()).into();
        ClientKey {
            is_active: active,
            expires_at: expires_at.map(Timestamp::from_millis),
            ..ClientKey::new(text.into(), text.to_owned(), hash, String::new(), Timestamp::ZERO)
        }
    }

    fn keys() -> Keys {
        Keys::new(vec![key("good", true, None), key("off", false, None), key("old", true, Some(5))])
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_static(v))).collect()
    }

    fn who(pairs: &[(&'static str, &'static str)], query: Option<&str>) -> Option<String> {
        authenticate(&headers(pairs), query, &keys(), Requirement::Required, Timestamp::from_millis(5))
            .ok()
            .flatten()
            .map(|key| key.name.clone())
    }

    #[test]
    fn every_carrier_opens_the_door() {
        assert_eq!(who(&[("authorization", "Bearer good")], None).as_deref(), Some("good"));
        assert_eq!(who(&[("authorization", "bearer  good ")], None).as_deref(), Some("good"));
        assert_eq!(who(&[("x-api-key", "good")], None).as_deref(), Some("good"));
        assert_eq!(who(&[("x-goog-api-key", "good")], None).as_deref(), Some("good"));
        assert_eq!(who(&[], Some("good")).as_deref(), Some("good"));
    }

    #[test]
    fn the_first_known_key_counts_and_placeholders_do_not() {
        assert_eq!(who(&[("authorization", "Bearer dummy"), ("x-api-key", "good")], None).as_deref(), Some("good"));
        assert_eq!(who(&[("authorization", "Bearer dummy")], None), None);
        assert_eq!(who(&[("authorization", "Basic good")], None), None);
    }

    #[test]
    fn a_disabled_or_expired_key_is_refused() {
        assert_eq!(who(&[("x-api-key", "off")], None), None);
        assert_eq!(who(&[("x-api-key", "old")], None), None);
    }

    #[test]
    fn without_the_requirement_a_request_may_come_without_a_key() {
        let found = authenticate(&HeaderMap::new(), None, &keys(), Requirement::NotOnLoopback, Timestamp::ZERO)
            .expect("let in");
        assert!(found.is_none());
        let placeholder = headers(&[("authorization", "Bearer dummy")]);
        let refused = authenticate(&placeholder, None, &keys(), Requirement::NotOnLoopback, Timestamp::ZERO);
        assert!(refused.is_err(), "a placeholder is a wrong key, not an absent one");
    }
}
