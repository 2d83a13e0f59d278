//! One door for everything: edge check, one normalised path, one exact table of routes.

use std::any::Any;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use dialects::ollama::embed;
use dialects::{Client, ListShape};
use domain::wire::code;
use domain::{Dialect, Operation, RequestId};
use futures_util::FutureExt;
use http::header::{ALLOW, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode, Uri};
use tower::ServiceExt;
use uuid::Uuid;

use crate::edge::{self, Peer};
use crate::error::{Blame, GatewayError};
use crate::gateway::Gateway;
use crate::ingress::{self, Head};
use crate::path::{self, Route};
use crate::{models, ollama, pipeline, response_headers};

/// Everything the listener serves.
#[derive(Clone)]
pub struct FrontDoor {
    gateway: Gateway,
    management: Router,
}

impl FrontDoor {
    /// `management` answers normalised `/api/…` paths, behind its own token.
    pub fn new(gateway: Gateway, management: Router) -> FrontDoor {
        FrontDoor { gateway, management }
    }

    /// Answers one request. What fails inside costs the request its answer, and nobody else anything.
    pub async fn answer(self, request: Request) -> Response {
        // Larger than what the listener should carry about.
        guarded(Box::pin(enter(self, request))).await
    }
}

/// A panic becomes an answer: the connection it came by serves the next request.
async fn guarded(answering: impl Future<Output = Response>) -> Response {
    AssertUnwindSafe(answering).catch_unwind().await.unwrap_or_else(|cause| panicked(&*cause))
}

async fn enter(door: FrontDoor, request: Request) -> Response {
    let gateway = &door.gateway;
    let id = RequestId::from(Uuid::now_v7().to_string());
    if let Err(error) = edge::check(request.uri(), request.headers(), edge::Allowed::by(&gateway.settings().gateway)) {
        return error.render(Dialect::Chat, &id);
    }
    if edge::head_bytes(request.uri(), request.headers()) > edge::HEAD_LIMIT {
        return head_too_large(&id);
    }
    let Ok(normalised) = path::normalise(request.uri().path()) else {
        return GatewayError::bad_request(
            "the path is not readable: no dot segments, and every % followed by two digits",
        )
        .render(Dialect::Chat, &id);
    };
    let cross = cors_origin(request.headers());
    let mut response = match path::route(request.method(), &normalised) {
        Route::Management(path) => return manage(door.management, request, &path, &id).await,
        _ if request.method() == Method::OPTIONS && cross.is_some() => preflight(),
        Route::Agent { operation, model } => {
            let asked = Asked { client: operation.dialect().into(), operation, path_model: model, embed: None };
            agent(gateway, request, normalised.path, asked, id).await
        }
        Route::Ollama(asked) => ollama::serve(gateway, request, normalised.path, asked, id).await,
        Route::Models { beta, id: wanted } => {
            let (parts, _) = request.into_parts();
            list(gateway, &parts, beta, wanted.as_deref(), &id).await
        }
        Route::Alive => alive(gateway, &id),
        Route::MethodNotAllowed { allow } => method_not_allowed(allow, path::spoken_at(&normalised), &id),
        Route::Unknown => unknown(&normalised.path, path::spoken_at(&normalised), &id),
    };
    if let Some(origin) = cross {
        response.headers_mut().insert(http::header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        response.headers_mut().insert(http::header::VARY, HeaderValue::from_static("origin"));
    }
    response
}

/// The origin of a page that the edge check has let in; the window's own pages included.
fn cors_origin(headers: &http::HeaderMap) -> Option<HeaderValue> {
    headers.get(http::header::ORIGIN).cloned()
}

fn preflight() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(http::header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
    headers.insert(
        http::header::ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(
            "authorization, content-type, x-api-key, x-goog-api-key, anthropic-version, anthropic-beta",
        ),
    );
    response
}

/// What an agent asks for, as far as the path tells.
pub(crate) struct Asked {
    pub(crate) client: Client,
    pub(crate) operation: Operation,
    pub(crate) path_model: Option<String>,
    pub(crate) embed: Option<embed::Form>,
}

pub(crate) async fn agent(gateway: &Gateway, request: Request, path: String, asked: Asked, id: RequestId) -> Response {
    let (parts, body) = request.into_parts();
    let peer = parts.extensions.get::<Peer>().map(|peer| peer.0.ip());
    let head = Head {
        id,
        arrived: gateway.now(),
        beta_path: is_beta(&path),
        method: parts.method,
        path,
        query: parts.uri.query().map(str::to_owned),
        headers: parts.headers,
        client: asked.client,
        operation: asked.operation,
        path_model: asked.path_model,
        embed: asked.embed,
        peer,
    };
    pipeline::run(gateway.clone(), head, body).await
}

/// Only `/v1beta` takes a key from the query.
fn is_beta(path: &str) -> bool {
    path.split('/').any(|segment| segment.eq_ignore_ascii_case("v1beta"))
}

async fn list(gateway: &Gateway, request: &Parts, beta: bool, wanted: Option<&str>, id: &RequestId) -> Response {
    let headers = &request.headers;
    let query = request.uri.query();
    let shape: ListShape = dialects::list_shape(headers, beta);
    let peer: Option<IpAddr> = request.extensions.get::<Peer>().map(|peer| peer.0.ip());
    match ingress::authenticate(gateway, headers, query, beta, peer) {
        Err(error) => error.render(models::dialect_of(shape), id),
        Ok(key) => {
            let known = headers.get(http::header::IF_NONE_MATCH);
            let wanted = models::Wanted { id: wanted, query, known };
            models::answer(gateway, &wanted, shape, key.as_deref(), id).await
        }
    }
}

async fn manage(management: Router, mut request: Request, path: &str, id: &RequestId) -> Response {
    let target = match request.uri().query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let Ok(uri) = target.parse::<Uri>() else { return unknown(path, Dialect::Chat, id) };
    *request.uri_mut() = uri;
    match management.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

fn alive(gateway: &Gateway, id: &RequestId) -> Response {
    let body = format!("{{\"status\":\"ok\",\"name\":\"OmniRoute\",\"version\":\"{}\"}}", gateway.version());
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response_headers::identify(response.headers_mut(), gateway.version(), id.as_str());
    response
}

fn method_not_allowed(allow: &'static str, dialect: Dialect, id: &RequestId) -> Response {
    let message = format!("this path does not take that method: use {allow}");
    let error = GatewayError::new(Blame::Client, StatusCode::METHOD_NOT_ALLOWED, code::METHOD_NOT_ALLOWED, message);
    let mut response = error.render(dialect, id);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
    response
}

fn head_too_large(id: &RequestId) -> Response {
    let message = format!("the request head is larger than {} bytes: send fewer or shorter headers", edge::HEAD_LIMIT);
    let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
    GatewayError::new(Blame::Client, status, code::REQUEST_TOO_LARGE, message).render(Dialect::Chat, id)
}

fn unknown(path: &str, dialect: Dialect, id: &RequestId) -> Response {
    let shown: String = path.chars().take(128).collect();
    let message = format!(
        "nothing is served at {shown}: agents use /v1/chat/completions, /v1/responses, /v1/messages or /v1beta/models"
    );
    GatewayError::new(Blame::Client, StatusCode::NOT_FOUND, code::UNKNOWN_ENDPOINT, message).render(dialect, id)
}

fn panicked(cause: &(dyn Any + Send)) -> Response {
    let text = cause.downcast_ref::<&str>().copied().or_else(|| cause.downcast_ref::<String>().map(String::as_str));
    tracing::error!(cause = text.unwrap_or("unknown"), "a request ended in a panic");
    let id = RequestId::from(Uuid::now_v7().to_string());
    GatewayError::new(
        Blame::Local,
        StatusCode::INTERNAL_SERVER_ERROR,
        code::INTERNAL,
        "OmniRoute failed to handle this request: its log says why",
    )
    .render(Dialect::Chat, &id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_answered_and_keeps_its_cause_to_itself() {
        let response = guarded(async { std::panic::resume_unwind(Box::new("the cause")) }).await;
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.expect("a body");
        let answer: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(answer["error"]["code"], code::INTERNAL);
        assert!(!answer.to_string().contains("the cause"), "{answer}");
    }
}
