//! The measure to compare with: axum in front, reqwest behind, nothing in between. It runs as a process of its own, as
//! the gateway does.

use anyhow::{Context, Result};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use http::StatusCode;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use tokio::net::TcpListener;

/// The argument with which this program starts itself as the relay.
pub const ARGUMENT: &str = "--bare-relay-to";

/// The upstream, when this process is to be the relay.
pub fn asked_for() -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != ARGUMENT);
    arguments.nth(1)
}

/// Relays until it is killed. Prints its address in the form in which `omniroute serve --json` does.
pub fn run(upstream: &str) -> Result<()> {
    tokio::runtime::Runtime::new()?.block_on(async {
        let client = reqwest::Client::builder().no_proxy().tcp_nodelay(true).build()?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{{\"url\":\"http://{}\"}}", listener.local_addr()?);
        let listener = listener.tap_io(|stream| {
            // A socket that refuses the option still serves.
            drop(stream.set_nodelay(true));
        });
        let router = Router::new().fallback(relay).with_state((client, upstream.to_owned()));
        axum::serve(listener, router).await.context("the relay stopped")
    })
}

async fn relay(State((client, upstream)): State<(reqwest::Client, String)>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let mut outgoing = client.request(head.method, format!("{upstream}{}", head.uri.path()));
    for name in [CONTENT_TYPE, AUTHORIZATION] {
        if let Some(value) = head.headers.get(&name) {
            outgoing = outgoing.header(name, value);
        }
    }
    let Ok(body) = axum::body::to_bytes(body, usize::MAX).await else { return StatusCode::BAD_REQUEST.into_response() };
    match outgoing.body(body).send().await {
        Ok(answer) => http::Response::from(answer).map(Body::new),
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}
