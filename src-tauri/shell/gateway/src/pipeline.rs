//! The life of a request.
//!
//! | # | stage | what happens | file |
//! | --- | --- | --- | --- |
//! | 1 | arrive | host and origin, client key, body limit | `routes`, `edge`, `ingress` |
//! | 2 | glance | model, stream flag, sizes: borrowed from the bytes; what the key may still spend | `ingress` (`dialects::glance`), `key_spending` |
//! | 3 | resolve | model name to provider and model, or to a combo | `resolve` |
//! | 4 | plan | accounts or targets ranked, exclusions with reasons | `plan`, `combo` |
//! | 5 | admit | everything an attempt needs, or nothing | `admit` |
//! | 6 | translate | bytes pass, a few values are spliced | `translate` |
//! | 7 | send | upstream call with headers from scratch | `send` (`upstream`) |
//! | 8 | hold | nothing promised before the first meaningful frame | `hold` |
//! | 9 | commit | status, headers, first content | `attempt_loop`, `combo`, `relay` |
//! | 10 | relay | frames flow, usage is counted | `relay` |
//! | 11 | settle | one verdict, permit given back | `attempt` |
//! | 12 | record | one row, written behind | `record` |

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use domain::Operation;
use domain::request_log::RequestOutcome;
use tracing::{Instrument, Span, debug_span, field};

use crate::attempt_loop;
use crate::combo;
use crate::error::GatewayError;
use crate::gateway::Gateway;
use crate::ingress::{self, ClientRequest, Head};
use crate::keep_alive::{self, Answer};
use crate::record::{End, Recorder};
use crate::resolve::{Destination, resolve};
use crate::token_count::Estimate;
use crate::transcript::Transcript;
use crate::{ollama, token_count};

/// Answers one agent request, whatever happens.
pub(crate) async fn run(gateway: Gateway, head: Head, body: Body) -> Response {
    let request = match ingress::receive(&gateway, head, body).await {
        Ok(request) => request,
        Err((head, error)) => return error.render(head.client, &head.id),
    };
    let request = Arc::new(request);
    // Handed on through several layers: it lies still from here on. A future is as large as the largest that it awaits, and
    // is copied whole as it is made: what is large or rare below is therefore boxed.
    let answer: Answer = Box::pin(serve(gateway.clone(), Arc::clone(&request)).instrument(span(&request)));
    let transcript = Transcript::begin(&gateway, &request);
    let response = if request.stream { keep_alive::accompany(&gateway, &request, answer).await } else { answer.await };
    match transcript {
        Some(transcript) => Box::pin(transcript.follow(response)).await,
        None => response,
    }
}

/// What every log line of a request says of it.
fn span(request: &ClientRequest) -> Span {
    let dialect = request.dialect().as_str();
    debug_span!("request", id = request.id.as_str(), dialect, model = request.requested_model(), route = field::Empty)
}

async fn serve(gateway: Gateway, request: Arc<ClientRequest>) -> Response {
    let mut recorder = Recorder::new(&gateway, &request);
    let allowed = may_spend(&gateway, &request);
    let resolved = match allowed.and_then(|()| resolve(&gateway, &request)) {
        Ok(resolved) => resolved,
        Err(error) => return refuse(&request, &mut recorder, &error),
    };
    let response = match resolved {
        Destination::Direct(resolved) => {
            Span::current().record("route", "direct");
            recorder.journey.rule = Some(resolved.rule);
            if let Some(ready) = ollama::ready(&gateway, &request, &mut recorder) {
                return ready;
            }
            Box::pin(attempt_loop::run(&gateway, &request, &resolved, recorder)).await
        }
        Destination::Combo(asked, rule) => {
            Span::current().record("route", asked.combo.name.as_str());
            recorder.journey.rule = Some(rule);
            if let Some(ready) = ollama::ready(&gateway, &request, &mut recorder) {
                return ready;
            }
            Box::pin(combo::run(&gateway, &request, &asked, recorder)).await
        }
    };
    match request.operation {
        Operation::CountTokens | Operation::GeminiCountTokens if !response.status().is_success() => {
            counted_here(&gateway, &request, response).await
        }
        Operation::Embeddings => match request.embed {
            Some(form) => ollama::embedded(&gateway, &request, form, response).await,
            None => response,
        },
        _ => response,
    }
}

/// Whether the key has something left to spend; counting tokens spends nothing.
fn may_spend(gateway: &Gateway, request: &ClientRequest) -> Result<(), GatewayError> {
    match &request.key {
        Some(key) if !request.operation.counts_tokens() => gateway.spending().check(key),
        Some(_) | None => Ok(()),
    }
}

fn refuse(request: &ClientRequest, recorder: &mut Recorder, error: &GatewayError) -> Response {
    recorder.finish(&End {
        status: error.status.as_u16(),
        outcome: RequestOutcome::Failure,
        error_code: Some(error.code),
        error_summary: Some(&error.message),
    });
    error.render(request.client, &request.id)
}

/// Agents count tokens all the time and take a refusal badly: where the upstream cannot count, an estimate is given
/// (gateway specification, 2.15). A wrong local key or model name stays an error.
async fn counted_here(gateway: &Gateway, request: &Arc<ClientRequest>, refused: Response) -> Response {
    let own_doing = matches!(refused.status().as_u16(), 400 | 403);
    if own_doing {
        return refused;
    }
    let Estimate { tokens, warning } = token_count::estimate(gateway, request).await;
    let (head, _) = refused.into_parts();
    let name = if request.operation == Operation::CountTokens { "input_tokens" } else { "totalTokens" };
    let mut response = Response::new(Body::from(format!("{{\"{name}\":{tokens}}}")));
    *response.headers_mut() = head.headers;
    let headers = response.headers_mut();
    headers.remove(http::header::RETRY_AFTER);
    headers.remove(domain::wire::header::SHOULD_RETRY);
    crate::response_headers::set(headers, domain::wire::header::WARNINGS, warning);
    response
}
