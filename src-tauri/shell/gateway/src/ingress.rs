//! Stages 1 and 2: a request arrives, shows its key, and is glanced at.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use axum::body::Body;
use bytes::Bytes;
use dialects::canonical::Request;
use dialects::conversation_ends::{self, Ends};
use dialects::ollama::embed;
use dialects::translate::Refusal;
use dialects::{Client, Glance, GlanceError, Glancer};
use domain::client_key::ClientKey;
use domain::wire::{code, header};
use domain::{Clock, Dialect, Millis, Operation, RequestId, Timestamp};
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, Method, StatusCode};
use uuid::Uuid;

use crate::aside;
use crate::client_auth::{self, Requirement};
use crate::compression::{self, decompress};
use crate::error::{Blame, GatewayError};
use crate::gateway::Gateway;
use crate::live::InFlight;
use crate::session_name;
use crate::usage_estimate;
use crate::whole_body::{self, Terms, Unread};

/// The longest silence while a client sends its body.
const BODY_SILENCE: Millis = Millis::seconds(30);

/// What the router knows before the body is read.
pub(crate) struct Head {
    pub(crate) id: RequestId,
    pub(crate) arrived: Timestamp,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Option<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) client: Client,
    pub(crate) operation: Operation,
    /// Embeddings are asked for in Ollama's words.
    pub(crate) embed: Option<embed::Form>,
    pub(crate) path_model: Option<String>,
    pub(crate) beta_path: bool,
    pub(crate) peer: Option<IpAddr>,
}

/// One client request, read and glanced at.
pub(crate) struct ClientRequest {
    pub(crate) id: RequestId,
    pub(crate) arrived: Timestamp,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Option<String>,
    pub(crate) headers: HeaderMap,
    /// In whose words the request is written, and is to be answered.
    pub(crate) client: Client,
    pub(crate) operation: Operation,
    /// Embeddings were asked for in Ollama's words; the body is in OpenAI's by now.
    pub(crate) embed: Option<embed::Form>,
    pub(crate) body: Bytes,
    pub(crate) glance: Glance,
    pub(crate) key: Option<Arc<ClientKey>>,
    /// The client wants the answer as it comes.
    pub(crate) stream: bool,
    /// `alt=sse` was asked for (Gemini); otherwise a Gemini stream is a JSON array.
    pub(crate) gemini_sse: bool,
    path_model: Option<String>,
    /// The body in the form between the dialects, once somebody needs it.
    asked: OnceLock<Result<Box<Request>, Refusal>>,
    /// What the client calls its session, once somebody needs it.
    session: OnceLock<Option<String>>,
    /// Tokens of the body, once somebody needs them.
    estimated_input: OnceLock<u64>,
    /// Counts as under way for as long as it lives.
    _in_flight: Arc<InFlight>,
}

impl ClientRequest {
    /// The dialect of what is asked for: the client's own, or the one that stands for it where upstreams are concerned.
    pub(crate) fn dialect(&self) -> Dialect {
        self.operation.dialect()
    }

    /// The same client asks something else: a request that a combo makes on the way to the answer.
    ///
    /// # Errors
    /// What is wrong with the body.
    pub(crate) fn with_body(
        &self,
        client: Client,
        body: Bytes,
        stream: bool,
        asked: Request,
    ) -> Result<ClientRequest, GlanceError> {
        let operation = match (self.operation, stream) {
            (Operation::StreamGenerateContent | Operation::GenerateContent, true) => Operation::StreamGenerateContent,
            (Operation::StreamGenerateContent | Operation::GenerateContent, false) => Operation::GenerateContent,
            (other, _) => other,
        };
        Ok(ClientRequest {
            id: self.id.clone(),
            arrived: self.arrived,
            method: self.method.clone(),
            path: self.path.clone(),
            query: self.query.clone(),
            headers: self.headers.clone(),
            operation,
            glance: dialects::glance(operation, &body)?,
            body,
            key: self.key.clone(),
            stream,
            gemini_sse: self.gemini_sse,
            path_model: self.path_model.clone(),
            client,
            embed: None,
            asked: OnceLock::from(Ok(Box::new(asked))),
            session: self.session.clone(),
            estimated_input: OnceLock::new(),
            _in_flight: Arc::clone(&self._in_flight),
        })
    }

    /// The same as a request of this gateway's own for `model`, with a row of its own. `purpose` stands for its path. It is
    /// no part of the client's session, which stays where it is.
    pub(crate) fn internal(self, purpose: &str, model: String, now: Timestamp) -> ClientRequest {
        ClientRequest {
            id: RequestId::from(Uuid::now_v7().to_string()),
            arrived: now,
            path: format!("internal/{purpose}"),
            query: None,
            path_model: Some(model),
            session: OnceLock::from(None),
            ..self
        }
    }

    /// The request in the form between the dialects. Read at most once, and never where the body merely passes.
    ///
    /// # Errors
    /// What is wrong with it, by field.
    pub(crate) fn asked(&self) -> Result<&Request, &Refusal> {
        self.asked.get_or_init(|| self.read(&self.body).map(Box::new)).as_deref()
    }

    /// The same; a long body is read aside.
    ///
    /// # Errors
    /// What is wrong with it, by field.
    pub(crate) async fn asked_aside(&self, gateway: &Gateway) -> Result<&Request, &Refusal> {
        self.read_aside(gateway).await;
        self.asked()
    }

    /// Reads it for those who ask later; a long body aside.
    pub(crate) async fn read_aside(&self, gateway: &Gateway) {
        if self.asked.get().is_some() {
            return;
        }
        let (client, body, stream) = (self.client, self.body.clone(), self.stream);
        let model = self.requested_model().to_owned();
        let reading = move || client.read_request(&body, &model, stream).map(Box::new);
        let read = aside::compute(gateway.tracker(), self.body.len(), reading).await;
        // Somebody may have been quicker, and has read the same.
        drop(self.asked.set(read));
    }

    /// The same, as far as it takes to know what kind of request this is: of a long conversation the ends. Whether what was
    /// left out holds results of tools.
    pub(crate) fn weighed(&self) -> Result<(Cow<'_, Request>, bool), Refusal> {
        if let (None, Client::Shared(dialect)) = (self.asked.get(), self.client)
            && let Some(Ends { body, without_results }) = conversation_ends::ends(dialect, &self.body)
        {
            return Ok((Cow::Owned(self.read(&body)?), without_results));
        }
        self.asked().map(|asked| (Cow::Borrowed(asked), false)).map_err(Clone::clone)
    }

    fn read(&self, body: &[u8]) -> Result<Request, Refusal> {
        self.client.read_request(body, self.requested_model(), self.stream)
    }

    /// Tokens of the request, estimated from its bytes.
    pub(crate) fn estimated_input(&self) -> u64 {
        let glance = &self.glance;
        let estimate = || usage_estimate::of_request(&self.body, glance.message_count, glance.tool_count);
        *self.estimated_input.get_or_init(estimate)
    }

    /// Whether this upstream operation is asked and answered in the client's own words, so that bytes pass.
    pub(crate) fn passes_to(&self, upstream: Operation) -> bool {
        self.client == upstream.dialect() || !self.operation.generates()
    }

    /// The model as the client named it; empty when it named none.
    pub(crate) fn requested_model(&self) -> &str {
        self.path_model.as_deref().or(self.glance.model.as_deref()).unwrap_or("")
    }

    pub(crate) fn user_agent(&self) -> &str {
        self.headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or("")
    }

    /// The program that asks: the first word of its `User-Agent`, without the version.
    pub(crate) fn agent(&self) -> Option<String> {
        let text = self.user_agent();
        let product = text.split(['/', ' ']).next()?.trim();
        (!product.is_empty()).then(|| product.chars().take(64).collect())
    }

    /// What the client calls its session, or what stands for that. Looked up at most once.
    pub(crate) fn session_name(&self) -> Option<&str> {
        self.session.get_or_init(|| session_name::of(self)).as_deref()
    }

    /// A tag for cost attribution, echoed in the reply.
    pub(crate) fn session_tag(&self) -> Option<String> {
        let tag = self.headers.get(header::SESSION_ID)?.to_str().ok()?;
        Some(tag.chars().take(128).collect())
    }
}

/// The key of a request, and the throttle for wrong ones.
pub(crate) fn authenticate(
    gateway: &Gateway,
    headers: &HeaderMap,
    query: Option<&str>,
    beta_path: bool,
    peer: Option<IpAddr>,
) -> Result<Option<Arc<ClientKey>>, GatewayError> {
    let settings = gateway.settings();
    let on_loopback = gateway.address().is_none_or(|address| address.ip().is_loopback());
    let requirement = if settings.gateway.require_api_key || !on_loopback {
        Requirement::Required
    } else {
        Requirement::NotOnLoopback
    };
    let query_key = if beta_path { query.and_then(|query| query_value(query, "key")) } else { None };
    let now = gateway.now();
    let result = client_auth::authenticate(headers, query_key, &gateway.keys(), requirement, now);
    match (result, peer) {
        (Err(error), Some(peer)) => match gateway.throttle().lock().on_failure(peer, now) {
            Ok(()) => Err(error),
            Err(wait) => Err(client_auth::throttled(wait)),
        },
        (Err(error), None) => Err(error),
        (Ok(key), _) => {
            if let Some(key) = &key {
                gateway.store().touch_key(&key.id, now);
            }
            Ok(key)
        }
    }
}

/// Reads the body and glances at it.
pub(crate) async fn receive(gateway: &Gateway, head: Head, body: Body) -> Result<ClientRequest, (Head, GatewayError)> {
    let in_flight = gateway.counters().arrive(head.arrived);
    match read(gateway, &head, body).await {
        Err(error) => Err((head, error)),
        Ok((key, body, glance)) => {
            let stream = match head.operation {
                Operation::StreamGenerateContent => true,
                // An answer as it comes is what Ollama gives unless it is told otherwise.
                Operation::ChatCompletions if matches!(head.client, Client::Ollama(_)) => {
                    glance.stream || glance.stream_range.is_none()
                }
                Operation::ChatCompletions | Operation::Responses | Operation::Messages => glance.stream,
                Operation::Embeddings
                | Operation::CountTokens
                | Operation::GenerateContent
                | Operation::GeminiCountTokens
                | Operation::EmbedContent
                | Operation::BatchEmbedContents => false,
            };
            let gemini_sse = head.query.as_deref().and_then(|query| query_value(query, "alt")) == Some("sse");
            Ok(ClientRequest {
                id: head.id,
                arrived: head.arrived,
                method: head.method,
                path: head.path,
                query: head.query,
                headers: head.headers,
                client: head.client,
                operation: head.operation,
                embed: head.embed,
                body,
                glance,
                key,
                stream,
                gemini_sse,
                asked: OnceLock::new(),
                session: OnceLock::new(),
                estimated_input: OnceLock::new(),
                path_model: head.path_model,
                _in_flight: Arc::new(in_flight),
            })
        }
    }
}

async fn read(
    gateway: &Gateway,
    head: &Head,
    body: Body,
) -> Result<(Option<Arc<ClientKey>>, Bytes, Glance), GatewayError> {
    let key = authenticate(gateway, &head.headers, head.query.as_deref(), head.beta_path, head.peer)?;
    check_content_type(&head.headers)?;
    let limit = gateway.settings().gateway.body_limit_bytes;
    let encoding = compression::stated(&head.headers);
    let mut glancer = Glancer::new(head.operation);
    let is_plain = encoding.eq_ignore_ascii_case(compression::NONE);
    let raw = collect(body, limit, gateway.clock(), |so_far| {
        if is_plain {
            glancer.ahead(so_far);
        }
    });
    let raw = raw.await?;
    let body = if is_plain { raw } else { decompress(gateway.tracker(), encoding, raw, limit).await? };
    let glance = glancer.finish(&body).map_err(|error| GatewayError::bad_request(error.to_string()))?;
    let Some(form) = head.embed else { return Ok((key, body, glance)) };
    let length = body.len();
    let retold = aside::compute(gateway.tracker(), length, move || embed::request(form, &body)).await;
    let body = retold.map_err(|refusal| GatewayError::bad_request(refusal.to_string()))?;
    let glance =
        dialects::glance(head.operation, &body).map_err(|error| GatewayError::bad_request(error.to_string()))?;
    Ok((key, body, glance))
}

/// A body must say that it is JSON: a web form or plain text would not need the browser's permission (8.3 rule 4).
pub(crate) fn check_content_type(headers: &HeaderMap) -> Result<(), GatewayError> {
    let stated = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let media = stated.split(';').next().unwrap_or("").trim();
    let is_json = media.eq_ignore_ascii_case("application/json")
        || media.len() > 5 && media.get(media.len() - 5..).is_some_and(|end| end.eq_ignore_ascii_case("+json"));
    if is_json { Ok(()) } else { Err(unsupported("send `Content-Type: application/json`")) }
}

pub(crate) fn unsupported(message: &str) -> GatewayError {
    GatewayError::new(Blame::Client, StatusCode::UNSUPPORTED_MEDIA_TYPE, code::UNSUPPORTED_MEDIA_TYPE, message)
}

/// The whole body, up to `limit` bytes, and never waiting on a client that has gone silent.
async fn collect(
    body: Body,
    limit: u64,
    clock: &Arc<dyn Clock>,
    ahead: impl FnMut(&[u8]),
) -> Result<Bytes, GatewayError> {
    let announced = http_body::Body::size_hint(&body).lower();
    let terms = Terms { announced, limit, silence: BODY_SILENCE, clock };
    whole_body::collect(body.into_data_stream(), terms, ahead).await.map_err(|unread| match unread {
        Unread::Broken(_) => GatewayError::bad_request("the request body broke off"),
        Unread::TooLarge(_) => GatewayError::too_large(limit),
        Unread::Silent => {
            let message = "the request body stopped arriving: send it without long pauses";
            GatewayError::new(Blame::Client, StatusCode::REQUEST_TIMEOUT, code::TIMEOUT, message)
        }
    })
}

/// The raw value of a query parameter.
pub(crate) fn query_value<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        (key == name).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_body_must_say_that_it_is_json() {
        for (stated, accepted) in [
            (Some("application/json"), true),
            (Some("Application/JSON; charset=utf-8"), true),
            (Some("application/vnd.api+json"), true),
            (Some("text/plain"), false),
            (Some("application/x-www-form-urlencoded"), false),
            (Some("multipart/form-data; boundary=x"), false),
            (Some("+json"), false),
            (None, false),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(stated) = stated {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static(stated));
            }
            assert_eq!(check_content_type(&headers).is_ok(), accepted, "{stated:?}");
        }
    }

    #[test]
    fn query_values() {
        assert_eq!(query_value("alt=sse&key=k", "key"), Some("k"));
        assert_eq!(query_value("monkey=k", "key"), None);
        assert_eq!(query_value("key", "key"), None);
    }
}
