//! Stage 3: the client's model name becomes a provider and a model.

use domain::wire::code;
use http::StatusCode;
use routing::Resolved;

use crate::error::{Blame, GatewayError};
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;

/// Resolves the model the request names, and checks that its key may use it.
pub(crate) fn resolve(gateway: &Gateway, request: &ClientRequest) -> Result<Resolved, GatewayError> {
    let requested = request.requested_model();
    let settings = gateway.settings();
    let name = match (requested.is_empty(), settings.routing.default_model.as_deref()) {
        (true, Some(default)) => default,
        (true, None) => {
            return Err(GatewayError::bad_request("the field `model` is missing: name a model as `provider/model`"));
        }
        (false, _) => requested,
    };
    let resolved = routing::resolve(name, &gateway.names()).map_err(|missing| not_found(name, &missing.near))?;
    let qualified = format!("{}/{}", resolved.provider, resolved.model);
    if request.key.as_ref().is_some_and(|key| !key.allows_model(&[name, &qualified])) {
        let message =
            format!("this local key may not use the model `{}`: allow it under Settings → API Keys", shown(name));
        return Err(GatewayError::new(Blame::Client, StatusCode::FORBIDDEN, code::PERMISSION_DENIED, message));
    }
    Ok(resolved)
}

fn not_found(name: &str, near: &[String]) -> GatewayError {
    let mut message = format!("the model `{}` is not known here", shown(name));
    if near.is_empty() {
        message.push_str(": name it as `provider/model`, and connect that provider in OmniRoute");
    } else {
        message.push_str(": did you mean ");
        message.push_str(&near.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "));
        message.push('?');
    }
    GatewayError::new(Blame::Client, StatusCode::NOT_FOUND, code::MODEL_NOT_FOUND, message)
}

/// A name from outside, short enough for a message.
fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(128).collect()
}
