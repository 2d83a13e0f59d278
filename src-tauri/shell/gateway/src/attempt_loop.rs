//! Walks the plan, asks the core what to do after each failure: the only loop of the pipeline.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use catalog::Provider;
use dialects::thoughts::Thoughts;
use domain::request_log::RequestOutcome;
use domain::{Dialect, Millis, Neutral, Outcome, Success, Timestamp};
use http::StatusCode;
use resilience::failure::Next;
use resilience::{LocalLimit, Refusal as Turnaway};
use routing::Resolved;
use routing::decision::MOST_ATTEMPTS;

use crate::admit::{self, Terms, Turned};
use crate::attempt::Attempt;
use crate::error::GatewayError;
use crate::exhaustion;
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::pause::Pause;
use crate::plan::{Step, excluded_record, plan};
use crate::record::{End, Recorder};
use crate::relay::{Destination, Relay, reads_errors_in_stream};
use crate::response_headers;
use crate::send::{Committed, Failed, Refusal, Served, Wish, send};

/// Code of the warning that earlier thinking was taken out because the upstream refused it.
const DROPPED_REASONING: &str = "DROPPED_REASONING";

/// Plans and tries until something answers or waiting no longer helps.
pub(crate) async fn run(
    gateway: &Gateway,
    request: &ClientRequest,
    resolved: &Resolved,
    recorder: Recorder,
) -> Response {
    let catalog = gateway.catalog();
    let Some(provider) = catalog.get(&resolved.provider) else {
        return conclude(gateway, request, resolved, None, recorder);
    };
    let mut round = Round { recorder, last: None, goes_on: true, refusal: None };
    let mut waited = Waited::default();
    loop {
        let freed = gateway.engine().freed();
        let (steps, exclusions) = plan(gateway, request, resolved, provider);
        round.recorder.journey.exclusions = exclusions;
        round = match walk(gateway, request, steps, round).await {
            Walked::Answered(response) => return response,
            Walked::Nobody(round) => *round,
        };
        let Some(until) = wait(gateway, request, resolved, provider, &round, &mut waited) else {
            if let Some(Turnaway::Local(limit)) = round.refusal {
                return turned_away(request, &limit, round.recorder);
            }
            return conclude(gateway, request, resolved, round.last, round.recorder);
        };
        let kept_away = || {
            let (steps, exclusions) = plan(gateway, request, resolved, provider);
            steps.is_empty().then_some(exclusions)
        };
        Pause { gateway, request, until, freed }.over(kept_away).await;
    }
}

/// What a walk over the plan carries on.
struct Round {
    recorder: Recorder,
    last: Option<Last>,
    /// Nothing so far spoke against trying elsewhere.
    goes_on: bool,
    /// Waiting for a place was in vain.
    refusal: Option<Turnaway>,
}

enum Walked {
    Answered(Response),
    Nobody(Box<Round>),
}

/// Tries the steps in order until one answers.
async fn walk(gateway: &Gateway, request: &ClientRequest, steps: Vec<Step>, mut round: Round) -> Walked {
    let mut steps = VecDeque::from(steps);
    let mut without = None;
    let terms = Terms::direct(request.glance.tool_count);
    let (mut full, mut waits_for): (Vec<Step>, Option<Attempt>) = (Vec::new(), None);
    while let Some(step) = steps.pop_front() {
        let attempt = match waits_for.take() {
            Some(attempt) => attempt,
            None => match admit::at_once(gateway, &step, &terms) {
                Ok(attempt) => attempt,
                Err(exclusion) => {
                    let is_full = exclusion.mechanism.is_full();
                    let name = step.entry.connection.name.clone();
                    round.recorder.journey.exclusions.push(excluded_record(&step.candidate, Some(name), exclusion));
                    full.extend(is_full.then_some(step));
                    if steps.is_empty() && round.recorder.journey.attempts.is_empty() && !full.is_empty() {
                        // Everyone is full: waits for the first.
                        let first = full.swap_remove(0);
                        match admit::in_turn(gateway, &first, &terms).await {
                            Ok(Turned { attempt, queued }) => {
                                round.recorder.waited(queued);
                                waits_for = Some(attempt);
                                steps.push_front(first);
                                full.clear();
                            }
                            Err(refusal) => {
                                round.goes_on = false;
                                round.refusal = Some(refusal);
                                break;
                            }
                        }
                    }
                    continue;
                }
            },
        };
        round.recorder.begin(&step.candidate, &step.entry.connection.name, step.operation.dialect());
        let wish = Wish { without, ..Wish::default() };
        let failed = match send(gateway, request, &step, &wish, &attempt, &mut round.recorder).await {
            Ok(served) => return Walked::Answered(answer(gateway, request, &step, served, attempt, round.recorder)),
            Err(failed) => failed,
        };
        attempt.settle(&failed.diagnosis.outcome);
        let within = round.recorder.journey.attempts.len() + 1 < MOST_ATTEMPTS;
        if let Some(limit) = &failed.limit {
            round.refusal = Some(Turnaway::Local(limit.clone()));
        }
        // Proofs of thinking can lose their worth between two turns; the same account then answers without them.
        let thinks_less = within && failed.refuses_thoughts && without.is_none();
        let may_go_on = within && round.refusal.is_none();
        round.goes_on = thinks_less || (failed.diagnosis.next == Next::NextConnection && may_go_on);
        let goes_on = round.goes_on && (thinks_less || !steps.is_empty());
        let decision = match goes_on {
            true if thinks_less => "retry_without_thinking",
            true => "next_connection",
            false => "stop",
        };
        round.recorder.end_attempt(failed.kind, decision, Some(&failed.message));
        if let Outcome::Failure(failure) = &failed.diagnosis.outcome {
            round.recorder.journey.failed(step.candidate.connection.clone(), failure.clone());
        }
        round.last = Some(Last::of(*failed));
        if thinks_less {
            without = Some(Thoughts::All);
            round.recorder.warn(vec![DROPPED_REASONING.to_owned()]);
            steps.push_front(step);
        } else if !goes_on {
            break;
        }
    }
    Walked::Nobody(Box::new(round))
}

/// A limit of our own is the answer.
pub(crate) fn turned_away(request: &ClientRequest, limit: &LocalLimit, mut recorder: Recorder) -> Response {
    let error = exhaustion::turned_away(limit);
    recorder.finish(&End {
        status: dialects::error::status_for(request.dialect(), error.status.as_u16()),
        outcome: RequestOutcome::Failure,
        error_code: Some(error.code),
        error_summary: Some(&error.message),
    });
    error.render(request.dialect(), &request.id)
}

/// How long this request has waited for accounts to come back.
#[derive(Default)]
struct Waited {
    times: u32,
    total: Millis,
}

/// Until when to wait for an account that is back soon; none when waiting cannot help or is not wanted (resilience
/// specification, 15.1).
fn wait(
    gateway: &Gateway,
    request: &ClientRequest,
    resolved: &Resolved,
    provider: &Arc<Provider>,
    round: &Round,
    waited: &mut Waited,
) -> Option<Timestamp> {
    if !round.goes_on {
        return None;
    }
    let (steps, exclusions) = plan(gateway, request, resolved, provider);
    let until = if steps.is_empty() { routing::exhaustion::recovers_at(&exclusions) } else { None }?;
    let now = gateway.now();
    let settings = gateway.settings();
    let config = &settings.resilience.wait_for_cooldown;
    let length = until.since(now);
    if !config.allows(length, waited.times, waited.total) {
        return None;
    }
    waited.times += 1;
    waited.total = Millis::new(waited.total.as_millis().saturating_add(length.as_millis()));
    Some(until)
}

/// Commits to what an attempt brought.
pub(crate) fn answer(
    gateway: &Gateway,
    request: &ClientRequest,
    step: &Step,
    served: Served,
    attempt: Attempt,
    mut recorder: Recorder,
) -> Response {
    let mut response = match served {
        Served::Whole(response) => {
            attempt.settle(&Outcome::Success(Success { usage: *recorder.usage() }));
            whole(response, recorder, request, step, gateway)
        }
        Served::Stream(committed) => streamed(*committed, recorder, request, step, gateway, attempt),
    };
    response_headers::identify(response.headers_mut(), gateway.version(), request.id.as_str());
    response
}

fn streamed(
    committed: Committed,
    recorder: Recorder,
    request: &ClientRequest,
    step: &Step,
    gateway: &Gateway,
    attempt: Attempt,
) -> Response {
    let destination = Destination {
        client: request.client,
        array: committed.array,
        request: request.id.clone(),
        status: committed.status.as_u16(),
        reads_errors: request.client == Dialect::Chat && reads_errors_in_stream(request.user_agent()),
        judge: committed.judge,
    };
    let mut headers = committed.headers;
    response_headers::for_stream(&mut headers);
    response_headers::served(&mut headers, gateway, request, step, &recorder);
    let mut relay = Relay::new(committed.stream, committed.held, recorder, attempt, destination);
    if let Some(error) = committed.stated {
        relay.fail_after_held(error);
    }
    let mut response = Response::new(relay.into_body());
    *response.status_mut() = committed.status;
    *response.headers_mut() = headers;
    response
}

/// What the last attempt said.
pub(crate) struct Last {
    /// In the upstream's own bytes, where they can be shown.
    pub(crate) refusal: Option<Refusal>,
    pub(crate) status: Option<StatusCode>,
    pub(crate) message: String,
    /// The request never left this computer.
    pub(crate) kept_here: bool,
}

impl Last {
    pub(crate) fn of(failed: Failed) -> Last {
        let kept_here = failed.diagnosis.outcome == Outcome::Neutral(Neutral::LocalLimit);
        Last { refusal: failed.refusal, status: failed.status, message: failed.message, kept_here }
    }
}

fn whole(
    mut response: Response,
    mut recorder: Recorder,
    request: &ClientRequest,
    step: &Step,
    gateway: &Gateway,
) -> Response {
    let status = response.status().as_u16();
    response_headers::served(response.headers_mut(), gateway, request, step, &recorder);
    let usage =
        recorder.finish(&End { status, outcome: RequestOutcome::Success, error_code: None, error_summary: None });
    response_headers::counted(response.headers_mut(), &usage, recorder.cost());
    response
}

/// Nobody answered: the upstream's own refusal where it stands for all, else our words.
fn conclude(
    gateway: &Gateway,
    request: &ClientRequest,
    resolved: &Resolved,
    last: Option<Last>,
    recorder: Recorder,
) -> Response {
    let catalog = gateway.catalog();
    let provider =
        catalog.get(&resolved.provider).map_or(resolved.provider.as_str(), |provider| provider.name.as_str());
    let nobody_blamed = recorder.journey.failures().next().is_none();
    let (refusal, error) = match last {
        Some(last) if nobody_blamed => {
            let error = if last.kept_here {
                exhaustion::kept_here(provider, &last.message)
            } else {
                exhaustion::refused(provider, last.status, &last.message)
            };
            (last.refusal, error)
        }
        last => {
            let error = exhaustion::answer(&recorder.journey, resolved, provider, request.operation, gateway.now());
            let own_words = |refusal: &Refusal| refusal.status == error.status && error.should_retry.is_none();
            let refusal = last.and_then(|last| last.refusal).filter(own_words);
            (refusal, error)
        }
    };
    refuse_with(gateway, request, refusal, &error, recorder)
}

/// The last word: the upstream's own refusal where it can be shown, else ours.
pub(crate) fn refuse_with(
    gateway: &Gateway,
    request: &ClientRequest,
    refusal: Option<Refusal>,
    error: &GatewayError,
    mut recorder: Recorder,
) -> Response {
    let status = request.client.status_for(error.status.as_u16());
    let summary = match &refusal {
        Some(_) => recorder.journey.attempts.last().and_then(|attempt| attempt.message.clone()),
        None => Some(error.message.clone()),
    };
    recorder.finish(&End {
        status,
        outcome: RequestOutcome::Failure,
        error_code: Some(error.code),
        error_summary: summary.as_deref(),
    });
    match refusal {
        Some(refusal) => {
            let mut response = pass_on(refusal, error, status);
            response_headers::identify(response.headers_mut(), gateway.version(), request.id.as_str());
            response
        }
        None => error.render(request.client, &request.id),
    }
}

/// The upstream's bytes; the wait is the soonest that any account announced.
fn pass_on(refusal: Refusal, error: &GatewayError, status: u16) -> Response {
    let mut response = Response::new(Body::from(refusal.body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(refusal.status);
    *response.headers_mut() = refusal.headers;
    if error.retry_after.is_some() {
        response_headers::set_retry_after(response.headers_mut(), error.retry_after);
    }
    response
}
