//! The request of one attempt: a URL for the operation, headers from nothing, the body as it is.

use catalog::Quirk;
use domain::{Dialect, Operation};
use http::{HeaderMap, Method, Uri};
use thiserror::Error;

use crate::outbound_headers::{self, HeaderError};
use crate::payload::Payload;
use crate::target::Target;

/// One attempt, before it becomes HTTP.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    pub target: &'a Target,
    pub operation: Operation,
    /// As the provider names it. Part of the path for Gemini, otherwise inside `body` already.
    pub model: &'a str,
    pub stream: bool,
    /// The client's query, as received. Only what is named in [`build`] travels on.
    pub query: Option<&'a str>,
    pub client_headers: &'a HeaderMap,
    pub body: Payload,
    /// For logs; not sent.
    pub request_id: &'a str,
}

/// Why no request could be made of a call. All of them are ours to fix, not the provider's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BuildError {
    #[error("the base URL of {provider} is not usable ({detail}): correct it in the connection or the custom provider")]
    BaseUrl { provider: String, detail: String },
    #[error("the model name {0:?} cannot be part of an address")]
    Model(String),
    #[error(transparent)]
    Header(#[from] HeaderError),
}

/// Builds the request.
///
/// Of the client's query two things travel on: `alt=sse` to a Gemini upstream and `beta=true` to a Messages upstream. A
/// `key` never does, since it is the client's own. The provider's `url_query` and its quirk `anthropic_beta_query` add
/// what the host wants regardless of the client.
///
/// # Errors
/// [`BuildError`], when what is stored for the provider or connection, or the model name, cannot be sent.
pub fn build(call: &Call<'_>) -> Result<http::Request<Payload>, BuildError> {
    let url = url(call)?;
    let mut request = http::Request::new(call.body.clone());
    *request.method_mut() = Method::POST;
    *request.headers_mut() = outbound_headers::for_call(call)?;
    *request.uri_mut() = url;
    tracing::trace!(request = call.request_id, host = request.uri().host(), bytes = call.body.len(), "request built");
    Ok(request)
}

/// Joins a path to the base URL of a target and parses the whole.
pub(crate) fn join(target: &Target, path: &str, query: &[&str]) -> Result<Uri, BuildError> {
    let base = target.base_url();
    let unusable =
        |detail: &str| BuildError::BaseUrl { provider: target.provider.name.clone(), detail: detail.to_owned() };
    if base.contains(['{', '}']) {
        return Err(unusable("a placeholder in it is not filled in"));
    }
    let mut text = format!("{base}{path}");
    for (index, pair) in query.iter().enumerate() {
        text.push(if index == 0 { '?' } else { '&' });
        text.push_str(pair);
    }
    let uri = text.parse::<Uri>().map_err(|error| unusable(&error.to_string()))?;
    if uri.host().is_none() || uri.scheme().is_none() {
        return Err(unusable("it names no host"));
    }
    Ok(uri)
}

/// Whether the client's query contains this pair, spelt exactly so.
pub(crate) fn asks(query: Option<&str>, pair: &str) -> bool {
    query.is_some_and(|query| query.split('&').any(|found| found == pair))
}

fn url(call: &Call<'_>) -> Result<Uri, BuildError> {
    let provider = &call.target.provider;
    let path = path(call.operation, call.model)?;
    let mut query: Vec<&str> = Vec::new();
    match call.operation.dialect() {
        Dialect::Messages if provider.has(Quirk::AnthropicBetaQuery) || asks(call.query, "beta=true") => {
            query.push("beta=true");
        }
        Dialect::Gemini if asks(call.query, "alt=sse") => query.push("alt=sse"),
        Dialect::Messages | Dialect::Gemini | Dialect::Chat | Dialect::Responses => {}
    }
    let own = provider.url_query.as_deref().unwrap_or_default();
    for pair in own.split('&').filter(|pair| !pair.is_empty()) {
        if !query.contains(&pair) {
            query.push(pair);
        }
    }
    join(call.target, &path, &query)
}

/// The path below the version segment (gateway specification, 4.2).
fn path(operation: Operation, model: &str) -> Result<String, BuildError> {
    Ok(match operation {
        Operation::ChatCompletions => "/chat/completions".to_owned(),
        Operation::Embeddings => "/embeddings".to_owned(),
        Operation::Responses => "/responses".to_owned(),
        Operation::Messages => "/messages".to_owned(),
        Operation::CountTokens => "/messages/count_tokens".to_owned(),
        Operation::GenerateContent
        | Operation::StreamGenerateContent
        | Operation::GeminiCountTokens
        | Operation::EmbedContent
        | Operation::BatchEmbedContents => {
            let action = operation.gemini_action().unwrap_or_default();
            format!("/models/{}:{action}", escape_model(model)?)
        }
    })
}

/// A model name as path segments: slashes stay, everything that could leave the path or the segment is escaped.
fn escape_model(model: &str) -> Result<String, BuildError> {
    let name = model.strip_prefix("models/").unwrap_or(model);
    if name.split('/').any(|segment| matches!(segment, "" | "." | "..")) {
        return Err(BuildError::Model(model.to_owned()));
    }
    let mut escaped = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b':' | b'@' => {
                escaped.push(char::from(byte));
            }
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    Ok(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{provider, target};

    fn url_of(operation: Operation, base: &str, model: &str, query: Option<&str>) -> String {
        let target = target(provider(operation.dialect(), base));
        let headers = HeaderMap::new();
        let call = Call {
            target: &target,
            operation,
            model,
            stream: false,
            query,
            client_headers: &headers,
            body: Payload::default(),
            request_id: "r1",
        };
        build(&call).map(|request| request.uri().to_string()).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn every_operation_has_its_path() {
        let rows = [
            (Operation::ChatCompletions, "https://a.example/v1", "https://a.example/v1/chat/completions"),
            (Operation::Embeddings, "https://a.example/v1/", "https://a.example/v1/embeddings"),
            (Operation::Responses, "https://a.example/v1//", "https://a.example/v1/responses"),
            (Operation::Messages, "https://a.example/anthropic/v1", "https://a.example/anthropic/v1/messages"),
            (Operation::CountTokens, "https://a.example/v1", "https://a.example/v1/messages/count_tokens"),
            (
                Operation::GenerateContent,
                "https://a.example/v1beta",
                "https://a.example/v1beta/models/m:generateContent",
            ),
            (
                Operation::StreamGenerateContent,
                "http://127.0.0.1:9/v1beta",
                "http://127.0.0.1:9/v1beta/models/m:streamGenerateContent",
            ),
            (Operation::GeminiCountTokens, "https://a.example/v1beta", "https://a.example/v1beta/models/m:countTokens"),
            (Operation::EmbedContent, "https://a.example/v1beta", "https://a.example/v1beta/models/m:embedContent"),
            (
                Operation::BatchEmbedContents,
                "https://a.example/v1beta",
                "https://a.example/v1beta/models/m:batchEmbedContents",
            ),
        ];
        for (operation, base, expected) in rows {
            assert_eq!(url_of(operation, base, "m", None), expected);
        }
    }

    #[test]
    fn a_model_name_cannot_leave_its_place_in_the_path() {
        let rows = [
            ("gemini-2.5-pro", "gemini-2.5-pro"),
            ("models/gemini-2.5-pro", "gemini-2.5-pro"),
            ("vendor/model:free", "vendor/model:free"),
            ("a b", "a%20b"),
            ("a?key=1#x", "a%3Fkey%3D1%23x"),
            ("a%2e%2e", "a%252e%252e"),
            (r"a\..\b", "a%5C..%5Cb"),
            ("a\r\nx: y", "a%0D%0Ax:%20y"),
            ("é", "%C3%A9"),
        ];
        for (model, expected) in rows {
            let url = url_of(Operation::GenerateContent, "https://a.example/v1beta", model, None);
            assert_eq!(url, format!("https://a.example/v1beta/models/{expected}:generateContent"));
        }
        for model in ["", "..", "a/../b", "a//b", "./a", "/a", "a/"] {
            let url = url_of(Operation::GenerateContent, "https://a.example/v1beta", model, None);
            assert!(url.contains("cannot be part of an address"), "{model}: {url}");
        }
    }

    #[test]
    fn of_the_clients_query_only_named_pairs_travel_on() {
        let rows = [
            (Operation::StreamGenerateContent, "alt=sse&key=AIzaSecret", "?alt=sse"),
            (Operation::StreamGenerateContent, "key=AIzaSecret", ""),
            (Operation::StreamGenerateContent, "alt=json&beta=true", ""),
            (Operation::Messages, "beta=true&key=1", "?beta=true"),
            (Operation::CountTokens, "beta=true", "?beta=true"),
            (Operation::Messages, "beta=1&alt=sse", ""),
            (Operation::ChatCompletions, "beta=true&alt=sse&key=1&api-version=2", ""),
        ];
        for (operation, query, expected) in rows {
            let with = url_of(operation, "https://a.example/v1", "m", Some(query));
            let without = url_of(operation, "https://a.example/v1", "m", None);
            assert_eq!(with, format!("{without}{expected}"));
        }
    }

    #[test]
    fn a_providers_own_query_is_added_once() {
        let mut provider = provider(Dialect::Messages, "https://a.example/v1");
        provider.url_query = Some("beta=true&api-version=7".to_owned());
        let target = target(provider);
        let headers = HeaderMap::new();
        for query in [None, Some("beta=true")] {
            let call = Call {
                target: &target,
                operation: Operation::Messages,
                model: "m",
                stream: true,
                query,
                client_headers: &headers,
                body: Payload::default(),
                request_id: "r1",
            };
            let url = build(&call).unwrap().uri().to_string();
            assert_eq!(url, "https://a.example/v1/messages?beta=true&api-version=7");
        }
    }

    #[test]
    fn the_connections_base_url_stands_before_the_providers() {
        let mut target = target(provider(Dialect::Chat, "https://a.example/v1"));
        target.base_url = Some("http://127.0.0.1:4000/v1/".to_owned());
        assert_eq!(join(&target, "/models", &[]).unwrap(), "http://127.0.0.1:4000/v1/models");
    }

    #[test]
    fn an_unfinished_base_url_is_named() {
        for base in ["https://{resource}.example/v1", "a.example/v1", "", "https://a b/v1"] {
            let url = url_of(Operation::Messages, base, "m", None);
            assert!(url.starts_with("the base URL of Example is not usable"), "{base}: {url}");
        }
    }
}
