//! Stage 3: the client's model name becomes a provider and a model, or a combo.

use std::sync::Arc;

use domain::client_key::ClientKey;
use domain::wire::code;
use http::StatusCode;
use routing::{Resolution, Resolved};

use crate::combo::Asked;
use crate::error::{Blame, GatewayError};
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::quota_pools;

/// What the model's name leads to.
pub(crate) enum Destination {
    Direct(Resolved),
    Combo(Asked, u8),
}

/// Resolves the model the request names, and checks that its key may use it.
pub(crate) fn resolve(gateway: &Gateway, request: &ClientRequest) -> Result<Destination, GatewayError> {
    let requested = request.requested_model();
    let settings = gateway.settings();
    let name = match (requested.is_empty(), settings.routing.default_model.as_deref()) {
        (true, Some(default)) => default,
        (true, None) => {
            return Err(GatewayError::bad_request("the field `model` is missing: name a model as `provider/model`"));
        }
        (false, _) => requested,
    };
    let combos = gateway.combos();
    let resolution = routing::resolve_name(name, combos.names(), &gateway.names())
        .map_err(|missing| not_found(name, &missing.near))?;
    let destination = match resolution {
        Resolution::Direct(resolved) => Destination::Direct(resolved),
        Resolution::Combo { id, rule, .. } => {
            let combo = combos.get(&id).ok_or_else(|| not_found(name, &[]))?;
            Destination::Combo(Asked::new(gateway, Arc::clone(combo)), rule)
        }
        Resolution::Auto { name: auto, rule, .. } => {
            let asked = Asked::of_auto(gateway, &auto).ok_or_else(|| not_found(name, &[]))?;
            Destination::Combo(asked, rule)
        }
        Resolution::QuotaShare { model, rule, .. } => {
            let asked = Asked::of_pool(gateway, &model).ok_or_else(|| not_found(name, &gateway.near_pools(&model)))?;
            Destination::Combo(asked, rule)
        }
    };
    // Of a combo, the key's other limits take away single targets.
    let is_allowed = |key: &ClientKey| match &destination {
        Destination::Direct(resolved) => {
            key.allows_model(&[name, &format!("{}/{}", resolved.provider, resolved.model)])
        }
        Destination::Combo(asked, _) => asked.is_open_to(key),
    };
    if request.key.as_ref().is_some_and(|key| !is_allowed(key)) {
        return Err(forbidden(name));
    }
    share_of(gateway, request, destination)
}

/// A key may ask a pool only within its share of it. Whoever only counts tokens uses nothing of it.
fn share_of(gateway: &Gateway, request: &ClientRequest, mut to: Destination) -> Result<Destination, GatewayError> {
    if let Destination::Combo(asked, _) = &mut to
        && let Some(pool) = asked.pool().filter(|_| !request.operation.counts_tokens())
    {
        asked.lowered = quota_pools::admit(gateway, pool, request.key.as_deref())?;
    }
    Ok(to)
}

/// The key may not use what it asks for.
pub(crate) fn forbidden(name: &str) -> GatewayError {
    let message = format!("this local key may not use the model `{}`: allow it under Settings → API Keys", shown(name));
    GatewayError::new(Blame::Client, StatusCode::FORBIDDEN, code::PERMISSION_DENIED, message)
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
