//! What the catalogue and the operator know about a provider's errors (resilience specification, 19).

use domain::{Millis, Scope};

/// One rule; whatever it states must hold.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorRule {
    pub id: String,
    /// None of the list: any status. 400 is matched only when it is named.
    pub statuses: Vec<u16>,
    /// One of them must be the body's code or type.
    pub codes: Vec<String>,
    /// One of them must occur in the text, in any case.
    pub text_markers: Vec<String>,
    /// Header name, and what its value must contain.
    pub header: Option<(String, String)>,
    /// `quota_exhausted`, `rate_limit_exceeded`, `auth_error`, … (resilience specification, 6.1).
    pub reason: String,
    /// `Scope::Connection`, `Scope::Model`, or `Scope::Usual` for a whole provider.
    pub scope: Scope,
    pub cooldown: Option<Millis>,
}
