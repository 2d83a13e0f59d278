//! How the REST API says no: `{"error":{"code","message","details"}}` (gateway specification, 6.1).

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use domain::{Millis, wire};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{ControlError, FieldProblem};

/// A refusal on its way out: an operation's error, or a rule for every call that was not met.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    code: &'static str,
    message: String,
    details: Vec<FieldProblem>,
    retry_after: Option<Millis>,
}

/// The body of every refusal.
#[derive(Serialize, ToSchema)]
pub(super) struct ErrorBody {
    error: ErrorMember,
}

#[derive(Serialize, ToSchema)]
pub(super) struct ErrorMember {
    code: &'static str,
    message: String,
    details: Vec<FieldProblem>,
}

impl Refusal {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Refusal { status, code, message: message.into(), details: Vec::new(), retry_after: None }
    }

    pub(super) fn token_required() -> Self {
        let message = "management needs the management token: send `Authorization: Bearer <token>` with the content of \
                       the file management-token of the data folder";
        Self::new(StatusCode::UNAUTHORIZED, "management_token_required", message)
    }

    pub(super) fn throttled(wait: Millis) -> Self {
        let message = "too many wrong tokens came from this address: wait a minute";
        let refusal = Self::new(StatusCode::TOO_MANY_REQUESTS, wire::code::RATE_LIMITED, message);
        Refusal { retry_after: Some(wait), ..refusal }
    }

    pub(super) fn foreign_peer() -> Self {
        let message = "management answers this computer only";
        Self::new(StatusCode::FORBIDDEN, wire::code::PERMISSION_DENIED, message)
    }

    pub(super) fn unsupported_media_type() -> Self {
        let message = "a body must be JSON: send `Content-Type: application/json`";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, wire::code::UNSUPPORTED_MEDIA_TYPE, message)
    }

    pub(super) fn too_large(limit: usize) -> Self {
        let message = format!("the body is larger than {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, wire::code::REQUEST_TOO_LARGE, message)
    }

    pub(super) fn method_not_allowed() -> Self {
        let message = "this path does not take this method; GET /api/openapi.json lists what there is";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, wire::code::METHOD_NOT_ALLOWED, message)
    }

    pub(super) fn unknown_endpoint() -> Self {
        let message = "there is nothing at this path; GET /api/openapi.json lists what there is";
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }
}

impl From<ControlError> for Refusal {
    fn from(error: ControlError) -> Self {
        let details = error.details().to_vec();
        Refusal { details, ..Refusal::new(error.status(), error.code(), error.to_string()) }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let error = ErrorMember { code: self.code, message: self.message, details: self.details };
        let mut response = (self.status, Json(ErrorBody { error })).into_response();
        if let Some(wait) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait.as_retry_after_seconds()));
        }
        response
    }
}
