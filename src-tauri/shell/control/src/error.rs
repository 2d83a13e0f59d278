//! Why an operation was refused: one tagged enum that the window matches on and that REST renders.

use domain::section::FieldError;
use serde::{Deserialize, Serialize};
use specta::Type;
use utoipa::ToSchema;

/// A refusal of an operation. Nothing has changed when one is returned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize, Type, ToSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum ControlError {
    /// The arguments are wrong; `details` names each field.
    #[error("{message}")]
    InvalidRequest { message: String, details: Vec<FieldProblem> },
    /// There is no such record.
    #[error("{message}")]
    NotFound { message: String },
    /// A duplicate name, a record in use, or one that changed since it was read.
    #[error("{message}")]
    Conflict { message: String },
    /// A provider was asked and did not answer usefully.
    #[error("{message}")]
    Upstream { message: String },
    /// The gateway's own fault; the cause is in the log.
    #[error("{message}")]
    InternalError { message: String },
}

impl From<store::Error> for ControlError {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::NotFound { what, id } => ControlError::not_found(what, &id),
            store::Error::Duplicate { .. } | store::Error::Stale { .. } | store::Error::InUse { .. } => {
                ControlError::conflict(error.to_string())
            }
            store::Error::OrderIncomplete { .. } => ControlError::invalid("connectionIds", error.to_string()),
            store::Error::ComboOrderIncomplete => ControlError::invalid("ids", error.to_string()),
            other => ControlError::internal(&other),
        }
    }
}

impl From<gateway::Error> for ControlError {
    fn from(error: gateway::Error) -> Self {
        match error {
            gateway::Error::Store(error) => error.into(),
            error @ gateway::Error::Randomness(_) => ControlError::internal(&error),
            gateway::Error::Settings(fields) => {
                ControlError::invalid_fields(fields.into_iter().map(FieldProblem::from).collect())
            }
        }
    }
}

/// What is wrong with one member of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Type, ToSchema)]
pub struct FieldProblem {
    /// Dotted path of the member; `body` for the body as a whole.
    pub field: String,
    pub message: String,
    /// What kind of fault it is, where it is a common one: `empty`, `out_of_range`, `taken`, `not_found`, …
    pub code: Option<String>,
    /// What goes with the code: the bounds, the name that was not found.
    pub values: Vec<String>,
}

impl From<FieldError> for FieldProblem {
    fn from(FieldError { field, message, code, values }: FieldError) -> Self {
        FieldProblem { field, message, code: code.map(str::to_owned), values }
    }
}

impl ControlError {
    /// One member is wrong.
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::invalid_fields(vec![FieldError::new(field, message).into()])
    }

    /// One member is wrong in a common way: a word of [`domain::wire::fault`], with what goes with it.
    pub(crate) fn fault<V: ToString>(
        code: &'static str,
        values: &[V],
        field: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self::invalid_fields(vec![FieldError::new(field, message).coded(code, values).into()])
    }

    /// Several members are wrong; the first one makes the message.
    pub fn invalid_fields(details: Vec<FieldProblem>) -> Self {
        let message = match details.first() {
            Some(first) => format!("{}: {}", first.field, first.message),
            None => "the request is not valid".to_owned(),
        };
        ControlError::InvalidRequest { message, details }
    }

    /// The same about a member of a member: every field is below `place`.
    #[must_use]
    pub(crate) fn within(self, place: &str) -> Self {
        let ControlError::InvalidRequest { details, .. } = self else { return self };
        let below = |problem: FieldProblem| FieldProblem { field: format!("{place}.{}", problem.field), ..problem };
        ControlError::invalid_fields(details.into_iter().map(below).collect())
    }

    /// `kind` is a word such as "connection".
    pub fn not_found(kind: &str, id: &str) -> Self {
        ControlError::NotFound { message: format!("there is no {kind} with the id {id}") }
    }

    pub fn conflict(message: impl Into<String>) -> Self {
        ControlError::Conflict { message: message.into() }
    }

    /// Something of ours failed. The cause goes to the log, because it may name paths; the caller learns that much.
    pub fn internal(cause: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error = cause, "a management operation failed");
        ControlError::InternalError { message: "the gateway could not do this; its log says why".to_owned() }
    }

    /// The stable word of the `error.code` member.
    pub const fn code(&self) -> &'static str {
        match self {
            ControlError::InvalidRequest { .. } => "invalid_request",
            ControlError::NotFound { .. } => "not_found",
            ControlError::Conflict { .. } => "conflict",
            ControlError::Upstream { .. } => "upstream",
            ControlError::InternalError { .. } => "internal_error",
        }
    }

    /// The HTTP status that REST answers with.
    pub const fn status(&self) -> http::StatusCode {
        match self {
            ControlError::InvalidRequest { .. } => http::StatusCode::BAD_REQUEST,
            ControlError::NotFound { .. } => http::StatusCode::NOT_FOUND,
            ControlError::Conflict { .. } => http::StatusCode::CONFLICT,
            ControlError::Upstream { .. } => http::StatusCode::BAD_GATEWAY,
            ControlError::InternalError { .. } => http::StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// What is wrong, member by member; empty unless the request is at fault.
    pub fn details(&self) -> &[FieldProblem] {
        match self {
            ControlError::InvalidRequest { details, .. } => details,
            ControlError::NotFound { .. }
            | ControlError::Conflict { .. }
            | ControlError::Upstream { .. }
            | ControlError::InternalError { .. } => &[],
        }
    }
}
