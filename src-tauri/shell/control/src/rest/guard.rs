//! The door: loopback peers only, and the management token for all but the health document.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use gateway::edge::Peer;

use crate::Control;
use crate::topics::{self, operations};

use super::refusal::Refusal;

/// Lets in whoever may be here. A peer that is not known counts as foreign.
pub(super) async fn management(State(control): State<Control>, request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0.ip().to_canonical());
    match admit(&control, peer, &request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

fn admit(control: &Control, peer: Option<IpAddr>, request: &Request) -> Result<(), Refusal> {
    let Some(peer) = peer.filter(IpAddr::is_loopback) else { return Err(Refusal::foreign_peer()) };
    if is_open(request.method(), request.uri().path()) {
        return Ok(());
    }
    let Some(presented) = bearer(request.headers()) else { return Err(Refusal::token_required()) };
    if control.token().accepts(presented) {
        return Ok(());
    }
    match control.throttle().lock().on_failure(peer, control.now()) {
        Ok(()) => Err(Refusal::token_required()),
        Err(wait) => Err(Refusal::throttled(wait)),
    }
}

fn is_open(method: &Method, path: &str) -> bool {
    let open = |operation: &&topics::Operation| operation.open && operation.path == path;
    *method == Method::GET && operations().any(|operation| open(&operation))
}

/// The token of the one `Authorization: Bearer` header.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next()?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    (values.next().is_none() && scheme.eq_ignore_ascii_case("bearer")).then(|| token.trim())
}
