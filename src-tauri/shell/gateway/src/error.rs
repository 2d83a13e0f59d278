//! What a client may see when things go wrong: one type, rendered in the client's dialect.

use axum::body::Body;
use axum::response::Response;
use dialects::Client;
use dialects::error::ErrorBody;
use domain::wire::{code, header};
use domain::{Millis, RequestId};
use http::{HeaderName, HeaderValue, StatusCode};
use serde_json::{Map, Value};

use crate::response_headers::{identify, set_retry_after};

/// Errors say the program's version even where no gateway is at hand.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Whose fault it was. Only `Upstream` may ever have touched health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    Client,
    Upstream,
    Local,
}

#[derive(Clone, Debug)]
pub struct GatewayError {
    pub blame: Blame,
    /// Stable and low in cardinality: a constant of `domain::wire::code`.
    pub code: &'static str,
    pub status: StatusCode,
    pub message: String,
    pub retry_after: Option<Millis>,
    /// Header `x-should-retry` (specification's decision 3).
    pub should_retry: Option<bool>,
    /// Further members of the error object.
    pub details: Option<Box<Map<String, Value>>>,
    /// Members beside the error object.
    pub beside: Option<Box<Map<String, Value>>>,
    /// `error.type`, where it is not the usual one of the status.
    pub kind: Option<&'static str>,
    /// The provider's breaker is open (header `X-OmniRoute-Provider-Breaker`).
    pub breaker_open: bool,
}

impl GatewayError {
    pub fn new(blame: Blame, status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        GatewayError {
            blame,
            code,
            status,
            message: message.into(),
            retry_after: None,
            should_retry: None,
            details: None,
            beside: None,
            kind: None,
            breaker_open: false,
        }
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(Blame::Client, StatusCode::BAD_REQUEST, code::BAD_REQUEST, message)
    }

    pub fn too_large(limit: u64) -> Self {
        let message = format!(
            "the request body is larger than {limit} bytes: send less, or raise gateway.bodyLimitBytes in OmniRoute's settings"
        );
        Self::new(Blame::Client, StatusCode::PAYLOAD_TOO_LARGE, code::REQUEST_TOO_LARGE, message)
    }

    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(Blame::Client, StatusCode::UNAUTHORIZED, code::INVALID_API_KEY, message)
    }

    /// The error's body in the client's words.
    pub fn body(&self, client: impl Into<Client>, request: &RequestId) -> bytes::Bytes {
        client.into().write_error(&self.as_error_body(request))
    }

    /// The whole reply in the client's words. It carries the error itself: a stream that was opened early can no longer take
    /// the reply ([`crate::keep_alive`]), and tells the same in its own way.
    pub fn render(&self, client: impl Into<Client>, request: &RequestId) -> Response {
        let client = client.into();
        let mut response = Response::new(Body::from(self.body(client, request)));
        *response.status_mut() = StatusCode::from_u16(client.status_for(self.status.as_u16())).unwrap_or(self.status);
        let headers = response.headers_mut();
        headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        set_retry_after(headers, self.retry_after);
        if let Some(retry) = self.should_retry {
            let value = if retry { "true" } else { "false" };
            headers.insert(HeaderName::from_static(header::SHOULD_RETRY), HeaderValue::from_static(value));
        }
        if self.breaker_open {
            headers.insert(HeaderName::from_static(header::PROVIDER_BREAKER), HeaderValue::from_static("open"));
        }
        identify(headers, VERSION, request.as_str());
        response.extensions_mut().insert(self.clone());
        response
    }

    pub(crate) fn as_error_body<'a>(&'a self, request: &'a RequestId) -> ErrorBody<'a> {
        ErrorBody {
            status: self.status.as_u16(),
            code: self.code,
            message: &self.message,
            retry_after_seconds: self.retry_after.map(Millis::as_retry_after_seconds),
            request_id: Some(request.as_str()),
            details: self.details.as_deref(),
            beside: self.beside.as_deref(),
            kind: self.kind,
            own: None,
        }
    }
}
