//! Ollama's paths, for agents and editors that speak nothing else.
//!
//! An answer is asked for as any other: the request goes down the pipeline as a Chat operation whose client speaks Ollama's
//! words ([`dialects::client`]). What is asked about the server and its models is answered here, from the model list.

use std::net::IpAddr;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use dialects::Client;
use dialects::client::Times;
use dialects::ollama::{Form, embed, listing, loaded, loads_only};
use domain::request_log::RequestOutcome;
use domain::{Operation, RequestId};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};

use crate::aside;
use crate::edge::Peer;
use crate::error::{Blame, GatewayError};
use crate::gateway::Gateway;
use crate::ingress::{self, ClientRequest};
use crate::path::{About, Ollama};
use crate::record::{End, Recorder};
use crate::routes::{Asked, agent};
use crate::{models, response_headers};

/// The largest body of a question about a model, in bytes.
const QUESTION: usize = 64 * 1024;
/// The largest answer with embeddings, in bytes.
const EMBEDDINGS: usize = 256 * 1024 * 1024;

/// How the gateway's own words are written where a request has no form of its own.
const CLIENT: Client = Client::Ollama(Form::Chat);

/// Answers one request of a client that speaks Ollama's words.
pub(crate) async fn serve(gateway: &Gateway, request: Request, path: String, asked: Ollama, id: RequestId) -> Response {
    match asked {
        Ollama::Answer(form) => {
            let client = Client::Ollama(form);
            let asked = Asked { client, operation: Operation::ChatCompletions, path_model: None, embed: None };
            agent(gateway, request, path, asked, id).await
        }
        Ollama::Embed(form) => {
            let operation = Operation::Embeddings;
            let asked = Asked { client: CLIENT, operation, path_model: None, embed: Some(form) };
            agent(gateway, request, path, asked, id).await
        }
        Ollama::About(about) => match tell(gateway, request, about).await {
            Ok(body) => json(gateway, body, &id),
            Err(error) => error.render(CLIENT, &id),
        },
    }
}

async fn tell(gateway: &Gateway, request: Request, about: About) -> Result<Bytes, GatewayError> {
    let (parts, body) = request.into_parts();
    let peer: Option<IpAddr> = parts.extensions.get::<Peer>().map(|peer| peer.0.ip());
    let key = ingress::authenticate(gateway, &parts.headers, None, false, peer)?;
    match about {
        About::Tags => Ok(listing::tags(&models::usable(gateway, key.as_deref()).await)),
        About::Running => Ok(listing::running()),
        About::Show => {
            ingress::check_content_type(&parts.headers)?;
            let body =
                axum::body::to_bytes(body, QUESTION).await.map_err(|_| GatewayError::too_large(QUESTION as u64))?;
            let name = listing::shown(&body)
                .ok_or_else(|| GatewayError::bad_request("name a model: {\"model\": \"provider/model\"}"))?;
            let entries = models::usable(gateway, key.as_deref()).await;
            entries.iter().find(|entry| entry.id == name).map(listing::show).ok_or_else(|| models::unknown(&name))
        }
        About::Version => Ok(listing::version()),
    }
}

/// The answer to a request without a prompt, which wants the model loaded: a gateway's always are.
pub(crate) fn ready(gateway: &Gateway, request: &ClientRequest, recorder: &mut Recorder) -> Option<Response> {
    let Client::Ollama(form) = request.client else { return None };
    if !request.operation.generates() {
        return None;
    }
    let unloads = loads_only(form, &request.body)?;
    let status = StatusCode::OK.as_u16();
    recorder.finish(&End { status, outcome: RequestOutcome::Success, error_code: None, error_summary: None });
    let told = loaded(form, request.requested_model(), gateway.now(), unloads);
    Some(json(gateway, told, &request.id))
}

/// Embeddings in OpenAI's words, retold.
pub(crate) async fn embedded(
    gateway: &Gateway,
    request: &ClientRequest,
    form: embed::Form,
    answer: Response,
) -> Response {
    if !answer.status().is_success() {
        return answer;
    }
    let (mut head, body) = answer.into_parts();
    let times = Times { arrived: request.arrived, now: gateway.now() };
    let body = axum::body::to_bytes(body, EMBEDDINGS).await.unwrap_or_default();
    let length = body.len();
    match aside::compute(gateway.tracker(), length, move || embed::answer(form, &body, times)).await {
        Some(told) => {
            head.headers.remove(http::header::CONTENT_LENGTH);
            Response::from_parts(head, Body::from(told))
        }
        None => {
            let (status, code) = (StatusCode::BAD_GATEWAY, domain::wire::code::BAD_GATEWAY);
            let message = "the provider's answer holds no embeddings";
            GatewayError::new(Blame::Upstream, status, code, message).render(request.client, &request.id)
        }
    }
}

fn json(gateway: &Gateway, body: Bytes, id: &RequestId) -> Response {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response_headers::identify(response.headers_mut(), gateway.version(), id.as_str());
    response
}
