//! The headers of an outgoing request, from nothing (gateway specification, 1.6).
//!
//! There is no list of headers to remove, because none of the client's is copied unless it is named here. Two are, and
//! only to an upstream of the Messages dialect: `anthropic-version` and `anthropic-beta`. What Codex sends beside
//! (`openai-beta`, `originator`, `x-codex-*`, `chatgpt-account-id`) identifies that program or its account and goes
//! nowhere, OpenAI itself included.

use domain::node::AuthCarrier;
use domain::{Dialect, Operation};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

use crate::request::{Call, asks};
use crate::target::Target;

pub const ANTHROPIC_VERSION: HeaderName = HeaderName::from_static("anthropic-version");
pub const ANTHROPIC_BETA: HeaderName = HeaderName::from_static("anthropic-beta");
/// What is sent when the client names no version.
pub const DEFAULT_ANTHROPIC_VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

const PRODUCT: &str = concat!("OmniRoute/", env!("CARGO_PKG_VERSION"));

/// Headers that belong to the connection, not to the request: a provider's extra headers cannot set them.
const NEVER_EXTRA: [&str; 13] = [
    "accept-encoding",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A stored value that cannot be sent. The value itself is never part of the message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HeaderError {
    #[error("the stored key contains characters that cannot be sent, such as a line break: enter it again")]
    Credential,
    #[error("the extra header {0:?} cannot be sent: correct it in the custom provider")]
    Extra(String),
}

/// Headers of an inference request.
pub fn for_call(call: &Call<'_>) -> Result<HeaderMap, HeaderError> {
    let dialect = call.operation.dialect();
    let mut headers = for_target(call.target, dialect)?;
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static(accept(call)));
    if dialect == Dialect::Messages {
        if let Some(version) = call.client_headers.get(ANTHROPIC_VERSION) {
            headers.insert(ANTHROPIC_VERSION, version.clone());
        }
        let allowed = call.target.provider.beta_allow_list.as_deref();
        for value in call.client_headers.get_all(ANTHROPIC_BETA) {
            if let Some(value) = allowed_betas(value, allowed) {
                headers.append(ANTHROPIC_BETA, value);
            }
        }
    }
    Ok(headers)
}

/// Headers that depend on the account alone: who we are, who pays, what the provider wants beside.
pub fn for_target(target: &Target, dialect: Dialect) -> Result<HeaderMap, HeaderError> {
    let mut headers = HeaderMap::with_capacity(8);
    headers.insert(USER_AGENT, HeaderValue::from_static(PRODUCT));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    if dialect == Dialect::Messages {
        headers.insert(ANTHROPIC_VERSION, DEFAULT_ANTHROPIC_VERSION);
    }
    for (name, value) in &target.provider.extra_headers {
        let (Ok(parsed_name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) else {
            return Err(HeaderError::Extra(name.clone()));
        };
        if !NEVER_EXTRA.contains(&parsed_name.as_str()) {
            headers.insert(parsed_name, value);
        }
    }
    if let Some(credential) = &target.credential
        && let Some((name, value)) = authentication(target.provider.auth_carrier, credential)?
    {
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Where the credential travels, marked so that no log prints it and HTTP/2 does not index it.
fn authentication(
    carrier: AuthCarrier,
    credential: &SecretString,
) -> Result<Option<(HeaderName, HeaderValue)>, HeaderError> {
    let secret = credential.expose_secret().trim();
    let (name, text) = match carrier {
        AuthCarrier::Bearer => (AUTHORIZATION, format!("Bearer {secret}")),
        AuthCarrier::XApiKey => (HeaderName::from_static("x-api-key"), secret.to_owned()),
        AuthCarrier::XGoogApiKey => (HeaderName::from_static("x-goog-api-key"), secret.to_owned()),
        AuthCarrier::ApiKey => (HeaderName::from_static("api-key"), secret.to_owned()),
        AuthCarrier::None => return Ok(None),
    };
    if secret.is_empty() {
        return Ok(None);
    }
    let mut value = HeaderValue::try_from(text).map_err(|_| HeaderError::Credential)?;
    value.set_sensitive(true);
    Ok(Some((name, value)))
}

/// A Gemini stream is a JSON array unless the client asked for events.
fn accept(call: &Call<'_>) -> &'static str {
    let events = match call.operation {
        Operation::StreamGenerateContent => asks(call.query, "alt=sse"),
        Operation::ChatCompletions | Operation::Responses | Operation::Messages => call.stream,
        Operation::GenerateContent
        | Operation::Embeddings
        | Operation::CountTokens
        | Operation::GeminiCountTokens
        | Operation::EmbedContent
        | Operation::BatchEmbedContents => false,
    };
    if events { "text/event-stream" } else { "application/json" }
}

/// The beta names a host accepts: all of them, untouched, without a list; else those on it.
fn allowed_betas(value: &HeaderValue, allowed: Option<&[String]>) -> Option<HeaderValue> {
    let Some(allowed) = allowed else { return Some(value.clone()) };
    let names = value.to_str().ok()?.split(',').map(str::trim);
    let kept: Vec<&str> = names.filter(|name| allowed.iter().any(|entry| entry == name)).collect();
    if kept.is_empty() { None } else { HeaderValue::try_from(kept.join(",")).ok() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::payload::Payload;
    use crate::testing::{provider, target};

    /// Everything the clients of the traffic notes send, and what an attacker would add.
    fn crowded() -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("authorization", "Bearer sk-omni-client"),
            ("x-api-key", "sk-omni-client"),
            ("x-goog-api-key", "sk-omni-client"),
            ("api-key", "sk-omni-client"),
            ("anthropic-version", "2026-10-21"),
            ("anthropic-beta", "claude-code-20250219,context-management-2025-06-27"),
            ("anthropic-beta", "effort-2025-11-24"),
            ("anthropic-dangerous-direct-browser-access", "true"),
            ("x-app", "cli"),
            ("x-claude-code-session-id", "s1"),
            ("x-stainless-lang", "js"),
            ("x-stainless-retry-count", "0"),
            ("x-stainless-helper-method", "stream"),
            ("accept", "application/json"),
            ("accept-encoding", "gzip, deflate, br, zstd"),
            ("accept-language", "*"),
            ("originator", "codex_exec"),
            ("session-id", "s2"),
            ("session_id", "s2"),
            ("thread-id", "t1"),
            ("x-client-request-id", "c1"),
            ("x-codex-beta-features", "f"),
            ("x-codex-turn-metadata", "{}"),
            ("x-codex-window-id", "w"),
            ("x-openai-internal-codex-responses-lite", "1"),
            ("openai-beta", "responses=experimental"),
            ("openai-organization", "org"),
            ("openai-project", "project"),
            ("chatgpt-account-id", "account"),
            ("x-goog-api-client", "gl-node/20"),
            ("x-goog-user-project", "project"),
            ("user-agent", "claude-cli/2.1.197 (external, cli)"),
            ("x-session-id", "s3"),
            ("x-session-affinity", "s4"),
            ("x-omniroute-session", "s5"),
            ("x-omniroute-session-id", "s6"),
            ("x-omniroute-lease-owner", "o"),
            ("x-omniroute-lease-generation", "3"),
            ("x-omniroute-auth-subject", "admin"),
            ("x-omniroute-no-cache", "true"),
            ("idempotency-key", "i1"),
            ("x-request-id", "q1"),
            ("cookie", "session=1"),
            ("host", "evil.example"),
            ("connection", "keep-alive, x-api-key"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("content-length", "999"),
            ("content-type", "text/plain"),
            ("content-encoding", "zstd"),
            ("expect", "100-continue"),
            ("upgrade", "websocket"),
            ("proxy-authorization", "Basic eDp5"),
            ("forwarded", "for=10.0.0.1"),
            ("x-forwarded-for", "10.0.0.1"),
            ("x-forwarded-host", "evil.example"),
            ("x-real-ip", "10.0.0.1"),
            ("via", "1.1 proxy"),
            ("origin", "https://evil.example"),
            ("referer", "https://evil.example/"),
            ("sec-fetch-site", "cross-site"),
            ("traceparent", "00-0-0-00"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers
    }

    fn sent(operation: Operation, change: impl FnOnce(&mut catalog::Provider)) -> Vec<(String, String)> {
        let mut provider = provider(operation.dialect(), "https://a.example/v1");
        change(&mut provider);
        let target = target(provider);
        let client_headers = crowded();
        let call = Call {
            target: &target,
            operation,
            model: "m",
            stream: true,
            query: Some("alt=sse"),
            client_headers: &client_headers,
            body: Payload::default(),
            request_id: "r1",
        };
        let headers = for_call(&call).unwrap();
        let mut sent: Vec<_> =
            headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect();
        sent.sort();
        sent
    }

    fn pairs(rows: &[(&str, &str)]) -> Vec<(String, String)> {
        rows.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn only_named_headers_go_out_whatever_the_client_sends() {
        let common = |auth: (&'static str, &'static str)| {
            let mut rows = pairs(&[
                ("accept", "text/event-stream"),
                auth,
                ("content-type", "application/json"),
                ("user-agent", PRODUCT),
            ]);
            rows.sort();
            rows
        };
        for operation in [Operation::ChatCompletions, Operation::Responses] {
            assert_eq!(sent(operation, |_| {}), common(("authorization", "Bearer sk-upstream")));
        }
        let gemini =
            sent(Operation::StreamGenerateContent, |provider| provider.auth_carrier = AuthCarrier::XGoogApiKey);
        assert_eq!(gemini, common(("x-goog-api-key", "sk-upstream")));
    }

    #[test]
    fn codex_headers_do_not_even_reach_openai_itself() {
        let sent = sent(Operation::Responses, |provider| provider.id = "openai".into());
        let names: Vec<&str> = sent.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["accept", "authorization", "content-type", "user-agent"]);
    }

    #[test]
    fn a_messages_upstream_gets_the_clients_version_and_betas() {
        let sent = sent(Operation::Messages, |provider| provider.auth_carrier = AuthCarrier::XApiKey);
        let expected = pairs(&[
            ("accept", "text/event-stream"),
            ("anthropic-beta", "claude-code-20250219,context-management-2025-06-27"),
            ("anthropic-beta", "effort-2025-11-24"),
            ("anthropic-version", "2026-10-21"),
            ("content-type", "application/json"),
            ("user-agent", PRODUCT),
            ("x-api-key", "sk-upstream"),
        ]);
        assert_eq!(sent, expected);
    }

    #[test]
    fn betas_are_filtered_by_the_providers_list() {
        let rows: [(&[&str], &[&str]); 3] = [
            (&["context-management-2025-06-27"], &["context-management-2025-06-27"]),
            (&["effort-2025-11-24", "claude-code-20250219"], &["claude-code-20250219", "effort-2025-11-24"]),
            (&[], &[]),
        ];
        for (allowed, expected) in rows {
            let sent = sent(Operation::Messages, |provider| {
                provider.beta_allow_list = Some(allowed.iter().map(|name| (*name).to_owned()).collect());
            });
            let betas: Vec<&str> =
                sent.iter().filter(|(name, _)| name == "anthropic-beta").map(|(_, value)| value.as_str()).collect();
            assert_eq!(betas, expected);
        }
    }

    #[test]
    fn a_version_is_sent_even_when_the_client_names_none() {
        let target = target(provider(Dialect::Messages, "https://a.example/v1"));
        let headers = for_target(&target, Dialect::Messages).unwrap();
        assert_eq!(headers[ANTHROPIC_VERSION], DEFAULT_ANTHROPIC_VERSION);
    }

    #[test]
    fn every_carrier_puts_the_credential_in_one_place() {
        let rows = [
            (AuthCarrier::Bearer, Some(("authorization", "Bearer sk-upstream"))),
            (AuthCarrier::XApiKey, Some(("x-api-key", "sk-upstream"))),
            (AuthCarrier::XGoogApiKey, Some(("x-goog-api-key", "sk-upstream"))),
            (AuthCarrier::ApiKey, Some(("api-key", "sk-upstream"))),
            (AuthCarrier::None, None),
        ];
        for (carrier, expected) in rows {
            let mut provider = provider(Dialect::Chat, "https://a.example/v1");
            provider.auth_carrier = carrier;
            let headers = for_target(&target(provider), Dialect::Chat).unwrap();
            let found = headers.iter().find(|(_, value)| value.is_sensitive());
            assert_eq!(found.map(|(name, value)| (name.as_str(), value.to_str().unwrap())), expected);
            assert_eq!(headers.len(), 2 + usize::from(expected.is_some()));
        }
    }

    #[test]
    fn a_credential_cannot_inject_a_header_and_is_not_quoted_in_the_error() {
        let mut target = target(provider(Dialect::Chat, "https://a.example/v1"));
        target.credential = Some(SecretString::from("sk-secret\r\nx-evil: 1"));
        let error = for_target(&target, Dialect::Chat).unwrap_err();
        assert_eq!(error, HeaderError::Credential);
        assert!(!error.to_string().contains("sk-secret"));
        target.credential = Some(SecretString::from(" sk-pasted\n"));
        assert_eq!(for_target(&target, Dialect::Chat).unwrap()[AUTHORIZATION], "Bearer sk-pasted");
    }

    #[test]
    fn extra_headers_cannot_touch_the_connection_or_the_credential() {
        let mut provider = provider(Dialect::Chat, "https://a.example/v1");
        provider.extra_headers = BTreeMap::from(
            [
                ("X-Title", "OmniRoute"),
                ("Host", "evil.example"),
                ("Content-Length", "1"),
                ("Authorization", "Bearer x"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        let headers = for_target(&target(provider.clone()), Dialect::Chat).unwrap();
        assert_eq!(headers["x-title"], "OmniRoute");
        assert_eq!(headers[AUTHORIZATION], "Bearer sk-upstream");
        assert!(!headers.contains_key("host") && !headers.contains_key("content-length"));

        provider.extra_headers = BTreeMap::from([("x bad".to_owned(), "1".to_owned())]);
        assert_eq!(for_target(&target(provider), Dialect::Chat), Err(HeaderError::Extra("x bad".to_owned())));
    }
}
