//! The few requests discovery makes: a list, and one short generation.

use std::future::Future;

use bytes::{Bytes, BytesMut};
use catalog::Quirk;
use dialects::models::{ListedModel, read_list};
use domain::{Clock, Dialect, Millis, Operation};
use futures_util::future::{Either, select};
use futures_util::{StreamExt, pin_mut};
use http::header::LOCATION;
use http::{HeaderMap, Method, Uri};
use serde_json::json;
use url::Url;

use super::ProbeError;
use super::answer::Family;
use super::verdict;
use crate::outbound_headers;
use crate::payload::Payload;
use crate::request::{self, BuildError, Call};
use crate::target::Target;
use crate::transport::{Body, Transport};
use crate::transport_error::TransportError;

/// The largest answer read. Model lists of the largest markets stay below a tenth of it.
const MAX_ANSWER: usize = 8 * 1024 * 1024;
/// Redirects followed for a list, on the same host only (gateway specification, 8.6).
const MAX_REDIRECTS: usize = 3;
/// What is said where nobody said what to say.
const GREETING: &str = "Hi";

/// A whole answer.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// Where a redirect points.
    pub(super) location: Option<String>,
    pub(super) body: Bytes,
}

/// What asking for the model list gave.
pub(super) enum ModelList {
    /// `family`: whose form the list has.
    Listed { models: Vec<ListedModel>, family: Option<Family> },
    /// The server answered, but not with a list.
    Missing(Answer),
}

/// One conversation with one target. Remembers the last status for the report.
pub(super) struct Session<'a> {
    transport: &'a dyn Transport,
    target: &'a Target,
    pub(super) last_status: Option<u16>,
    prompt: &'a str,
}

/// `future`, unless `timeout` passes first on the given clock.
pub(super) async fn within<T>(clock: &dyn Clock, timeout: Millis, future: impl Future<Output = T>) -> Option<T> {
    let deadline = clock.sleep_until(clock.now() + timeout);
    pin_mut!(future);
    match select(future, deadline).await {
        Either::Left((output, _)) => Some(output),
        Either::Right(((), _)) => None,
    }
}

impl Answer {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl<'a> Session<'a> {
    pub(super) fn new(transport: &'a dyn Transport, target: &'a Target) -> Self {
        Session { transport, target, last_status: None, prompt: GREETING }
    }

    /// Says something else than a greeting where a token is asked for.
    pub(super) fn saying(self, prompt: &'a str) -> Self {
        Session { prompt, ..self }
    }

    /// Asks for the model list. Refusals that a second request would only repeat are errors here.
    pub(super) async fn list(&mut self) -> Result<ModelList, ProbeError> {
        let answer = self.get_list(self.target).await?;
        if let Some(error) = verdict::of_list(self.target, &answer) {
            return Err(error);
        }
        Ok(read(answer))
    }

    /// Whether the list is shown to strangers, so that getting it proves nothing about the key.
    pub(super) async fn list_is_public(&mut self) -> bool {
        let stranger = Target { credential: None, ..self.target.clone() };
        let status = self.last_status;
        let answer = self.get_list(&stranger).await;
        self.last_status = status;
        answer.is_ok_and(|answer| answer.is_success() && matches!(read(answer), ModelList::Listed { .. }))
    }

    /// Asks `model` for a single token.
    pub(super) async fn generate(&mut self, dialect: Dialect, model: &str) -> Result<Answer, ProbeError> {
        let call = Call {
            target: self.target,
            operation: operation(dialect),
            model,
            stream: false,
            query: None,
            client_headers: &HeaderMap::new(),
            body: one_token(self.target, dialect, model, self.prompt).into(),
            request_id: "probe",
        };
        let request = request::build(&call).map_err(|error| verdict::unbuildable(&error))?;
        self.send(request).await
    }

    async fn get_list(&mut self, target: &Target) -> Result<Answer, ProbeError> {
        let mut uri = list_uri(target).map_err(|error| verdict::unbuildable(&error))?;
        let headers = outbound_headers::for_target(target, target.provider.primary_dialect())
            .map_err(|error| verdict::unbuildable(&BuildError::from(error)))?;
        for _ in 0..MAX_REDIRECTS {
            let answer = self.send(get(&uri, &headers)).await?;
            match next_hop(&uri, &answer) {
                Some(next) => uri = next,
                None => return Ok(answer),
            }
        }
        self.send(get(&uri, &headers)).await
    }

    pub(super) async fn send(&mut self, request: http::Request<Payload>) -> Result<Answer, ProbeError> {
        let failed = |error: TransportError| verdict::of_transport(self.target, &error);
        let response = self.transport.send(request, &self.target.route).await.map_err(failed)?;
        let (head, body) = response.into_parts();
        self.last_status = Some(head.status.as_u16());
        let location = head.headers.get(LOCATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let body = collect(body).await.map_err(|error| verdict::of_transport(self.target, &error))?;
        Ok(Answer { status: head.status.as_u16(), location, body })
    }
}

fn read(answer: Answer) -> ModelList {
    if !answer.is_success() {
        return ModelList::Missing(answer);
    }
    match read_list(&answer.body) {
        Ok(models) => ModelList::Listed { models, family: Family::of_list(&answer.body) },
        Err(_) => ModelList::Missing(answer),
    }
}

pub(super) fn get(uri: &Uri, headers: &HeaderMap) -> http::Request<Payload> {
    let mut request = http::Request::new(Payload::default());
    *request.method_mut() = Method::GET;
    *request.uri_mut() = uri.clone();
    *request.headers_mut() = headers.clone();
    request
}

/// The list's address: the provider's own path, else the dialect's, asking for everything on one page.
fn list_uri(target: &Target) -> Result<Uri, BuildError> {
    match target.provider.models_path.as_deref() {
        Some(path) if path.starts_with('/') => request::join(target, path, &[]),
        Some(path) => request::join(target, &format!("/{path}"), &[]),
        None => match target.provider.primary_dialect() {
            Dialect::Chat | Dialect::Responses => request::join(target, "/models", &[]),
            Dialect::Messages => request::join(target, "/models", &["limit=1000"]),
            Dialect::Gemini => request::join(target, "/models", &["pageSize=1000"]),
        },
    }
}

/// Where a redirect may lead: the same scheme, host and port, because the credential goes along.
fn next_hop(from: &Uri, answer: &Answer) -> Option<Uri> {
    if !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let from = Url::parse(&from.to_string()).ok()?;
    let to = from.join(answer.location.as_deref()?).ok()?;
    if to.origin() != from.origin() || !to.username().is_empty() || to.password().is_some() {
        return None;
    }
    to.as_str().parse().ok()
}

async fn collect(mut body: Body) -> Result<Bytes, TransportError> {
    let mut whole = BytesMut::new();
    while let Some(chunk) = body.next().await {
        whole.extend_from_slice(&chunk?);
        if whole.len() > MAX_ANSWER {
            return Err(TransportError::Garbled(format!("it is longer than {} MiB", MAX_ANSWER >> 20)));
        }
    }
    Ok(whole.freeze())
}

fn operation(dialect: Dialect) -> Operation {
    match dialect {
        Dialect::Chat => Operation::ChatCompletions,
        Dialect::Responses => Operation::Responses,
        Dialect::Messages => Operation::Messages,
        Dialect::Gemini => Operation::GenerateContent,
    }
}

/// The cheapest request of a dialect. Responses accepts no less than 16 tokens.
fn one_token(target: &Target, dialect: Dialect, model: &str, prompt: &str) -> Bytes {
    let limit = if target.provider.has(Quirk::MaxCompletionTokens) { "max_completion_tokens" } else { "max_tokens" };
    let body = match dialect {
        Dialect::Chat => json!({ "model": model, "messages": [{ "role": "user", "content": prompt }], limit: 1 }),
        Dialect::Responses => json!({ "model": model, "input": prompt, "max_output_tokens": 16, "store": false }),
        Dialect::Messages => {
            json!({ "model": model, "messages": [{ "role": "user", "content": prompt }], "max_tokens": 1 })
        }
        Dialect::Gemini => json!({
            "contents": [{ "role": "user", "parts": [{ "text": prompt }] }],
            "generationConfig": { "maxOutputTokens": 1 }
        }),
    };
    Bytes::from(body.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{provider, target};

    #[test]
    fn a_list_is_asked_where_the_provider_or_its_dialect_keeps_it() {
        let rows = [
            (Dialect::Chat, None, "https://a.example/v1/models"),
            (Dialect::Responses, None, "https://a.example/v1/models"),
            (Dialect::Messages, None, "https://a.example/v1/models?limit=1000"),
            (Dialect::Gemini, None, "https://a.example/v1/models?pageSize=1000"),
            (Dialect::Chat, Some("/language-models"), "https://a.example/v1/language-models"),
            (Dialect::Chat, Some("language-models?all=1"), "https://a.example/v1/language-models?all=1"),
        ];
        for (dialect, path, expected) in rows {
            let mut provider = provider(dialect, "https://a.example/v1");
            provider.models_path = path.map(str::to_owned);
            assert_eq!(list_uri(&target(provider)).unwrap(), expected);
        }
    }

    #[test]
    fn a_redirect_never_carries_the_key_to_another_host() {
        let from = Uri::from_static("https://a.example/v1/models");
        let rows = [
            (302, Some("/v2/models"), Some("https://a.example/v2/models")),
            (308, Some("models/"), Some("https://a.example/v1/models/")),
            (301, Some("https://a.example:443/x"), Some("https://a.example/x")),
            (301, Some("https://b.example/v1/models"), None),
            (301, Some("http://a.example/v1/models"), None),
            (301, Some("https://a.example:444/v1/models"), None),
            (301, Some("//b.example/v1"), None),
            (301, Some("https://u:p@a.example/v1"), None),
            (301, None, None),
            (200, Some("/v2/models"), None),
        ];
        for (status, location, expected) in rows {
            let answer = Answer { status, location: location.map(str::to_owned), body: Bytes::new() };
            assert_eq!(next_hop(&from, &answer).map(|uri| uri.to_string()).as_deref(), expected, "{location:?}");
        }
    }
}
