//! Walks the plan of one model, asks the core what to do after each failure. [`crate::combo`] does the same over targets.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use catalog::Provider;
use dialects::error::ErrorBody;
use dialects::thoughts::Thoughts;
use domain::request_log::RequestOutcome;
use domain::{Dialect, Failure, Millis, Neutral, Outcome, Reason, Success, Timestamp};
use http::StatusCode;
use resilience::cooldown_wait::Spent;
use resilience::failure::{Diagnosis, Next};
use resilience::{LocalLimit, Refusal};
use routing::Resolved;

use crate::admit::{self, Terms, Turned};
use crate::attempt::{Attempt, Kept};
use crate::error::GatewayError;
use crate::exhaustion;
use crate::failed::{Failed, Refusal as Refused, Words};
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::last_resort;
use crate::pause;
use crate::plan::{Step, look, plan};
use crate::record::{End, Recorder};
use crate::relay::{Destination, Relay, reads_errors_in_stream};
use crate::response_headers;
use crate::send::{Committed, Served, Wish, send};
use crate::translate::truncates_tools;

/// Code of the warning that earlier thinking was taken out because the upstream refused it.
pub(crate) const DROPPED_REASONING: &str = "DROPPED_REASONING";
/// The decision in the row of such an attempt.
pub(crate) const RETRY_WITHOUT_THINKING: &str = "retry_without_thinking";
/// The decision in the row of an attempt that is followed by one that asks for less.
pub(crate) const RETRY_WITH_LESS: &str = "retry_with_less";

/// Plans and tries until something answers or waiting no longer helps.
pub(crate) async fn run(
    gateway: &Gateway,
    request: &ClientRequest,
    resolved: &Resolved,
    recorder: Box<Recorder>,
) -> Response {
    let provider = gateway.catalog().get(&resolved.provider).map(Arc::clone);
    let Some(provider) = &provider else {
        return conclude(gateway, request, resolved, None, recorder);
    };
    let mut round = Round { recorder, last: None, goes_on: true, limit: None };
    let mut spent = Spent::default();
    loop {
        let freed = gateway.engine().freed();
        let (steps, exclusions) = plan(gateway, request, resolved, provider);
        round.recorder.journey.exclusions = exclusions;
        round = match walk(gateway, request, steps, round).await {
            Walked::Answered(response) => return response,
            Walked::Nobody(round) => *round,
        };
        let Some(until) = wait(gateway, request, resolved, provider, &round, &mut spent) else {
            if let Some(limit) = round.limit {
                return turned_away(gateway, request, &limit, round.recorder);
            }
            let last = round.last.as_ref();
            let asking = Box::pin(last_resort::ask(gateway, request, resolved, last, &mut round.recorder));
            return match asking.await {
                Some(rescue) => rescue.respond(gateway, request, round.recorder),
                None => conclude(gateway, request, resolved, round.last, round.recorder),
            };
        };
        let kept_away = || {
            let (steps, exclusions) = look(gateway, request, resolved, provider);
            steps.is_empty().then_some(exclusions)
        };
        round.recorder.waits_until(until, &kept_away().unwrap_or_default());
        pause::until(gateway, until, freed, || kept_away().is_none()).await;
    }
}

/// What a walk over the plan carries on.
struct Round {
    recorder: Box<Recorder>,
    last: Option<Last>,
    /// Nothing so far spoke against trying elsewhere.
    goes_on: bool,
    /// A limit of our own, where that was the last thing in the way.
    limit: Option<LocalLimit>,
}

enum Walked {
    Answered(Response),
    Nobody(Box<Round>),
}

/// What follows a failure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    /// The same account, without earlier thinking.
    ThinkLess,
    /// The same account, with as many tools as it takes.
    FewerTools,
    /// Another account, if one is left.
    Account,
    Stop,
}

/// Tries the steps in order until one answers.
async fn walk(gateway: &Gateway, request: &ClientRequest, steps: Vec<Step>, mut round: Round) -> Walked {
    let terms = Terms::direct(request.glance.tool_count);
    let mut queue = Queue { steps: steps.into(), full: VecDeque::new(), kept: None, repeats: false };
    let mut wish = Wish::default();
    while let Some((step, mut attempt)) = take_place(gateway, &terms, &mut queue, &mut round).await {
        round.recorder.begin(&step.candidate, &step.entry.connection.name, step.operation.dialect());
        let failed = match send(gateway, request, &step, &wish, &attempt, &mut round.recorder).await {
            Ok(served) => return Walked::Answered(answer(gateway, request, &step, served, attempt, round.recorder)),
            Err(failed) => failed,
        };
        let kept = attempt.keep_places();
        attempt.settle(&failed.diagnosis.outcome);
        let may_shorten = !wish.shortened && truncates_tools(gateway);
        match round.failed(&step, *failed, &wish, may_shorten, !queue.steps.is_empty()) {
            Then::ThinkLess => {
                wish.without = Some(Thoughts::All);
                queue.again(step, kept);
            }
            Then::FewerTools => {
                wish.shortened = true;
                queue.again(step, kept);
            }
            Then::Account => {}
            Then::Stop => break,
        }
    }
    Walked::Nobody(Box::new(round))
}

/// The accounts that are still to be asked.
struct Queue {
    steps: VecDeque<Step>,
    /// Those that had no free place as their turn came, and whether they are to be asked once more.
    full: VecDeque<(Step, bool)>,
    /// Places that the first of them has from the attempt before.
    kept: Option<Kept>,
    /// The first of them is to be asked once more.
    repeats: bool,
}

impl Queue {
    /// The same account comes next, in the places that it has.
    fn again(&mut self, step: Step, kept: Option<Kept>) {
        self.steps.push_front(step);
        self.kept = kept;
        self.repeats = true;
    }

    /// Of those without a place, the one that is waited for: before anybody was asked the first, then only whoever is to be
    /// asked once more.
    fn waits_for(&mut self, asked_before: bool) -> Option<(Step, bool)> {
        if !asked_before {
            return self.full.pop_front();
        }
        self.full.remove(self.full.iter().position(|(_, repeats)| *repeats)?)
    }
}

/// The next account that lets the request in. Where nobody was asked because everyone is full, one is waited for: the
/// first, or, should it be shut out meanwhile, the next of them. Whoever is to be asked once more is waited for too: its turn
/// is not lost to who came between.
async fn take_place(
    gateway: &Gateway,
    terms: &Terms<'_>,
    queue: &mut Queue,
    round: &mut Round,
) -> Option<(Step, Attempt)> {
    while let Some(step) = queue.steps.pop_front() {
        let repeats = std::mem::take(&mut queue.repeats);
        match admit::at_once(gateway, &step, terms, &mut queue.kept) {
            Ok(attempt) => return Some((step, attempt)),
            Err(exclusion) => {
                let is_full = exclusion.mechanism.is_full();
                round.recorder.shut_out(&step, exclusion);
                queue.full.extend(is_full.then_some((step, repeats)));
            }
        }
    }
    while let Some((step, repeats)) = queue.waits_for(!round.recorder.journey.attempts.is_empty()) {
        round.recorder.waits_for_place(&step);
        match Box::pin(admit::in_turn(gateway, &step, terms, &mut queue.kept)).await {
            Ok(Turned { attempt, queued }) => {
                round.recorder.waited(queued);
                return Some((step, attempt));
            }
            Err(Refusal::Excluded(exclusion)) => round.recorder.shut_out(&step, exclusion),
            // The failure of the attempt before says more.
            Err(Refusal::Local(_)) if repeats => {}
            Err(Refusal::Local(limit)) => {
                round.goes_on = false;
                round.limit = Some(limit);
                return None;
            }
        }
    }
    None
}

impl Round {
    /// Notes how an attempt ended, and says what follows. `may_shorten`: the list of tools may be cut for another try;
    /// `has_more`: another account is left.
    fn failed(&mut self, step: &Step, failed: Failed, wish: &Wish, may_shorten: bool, has_more: bool) -> Then {
        self.limit.clone_from(&failed.limit);
        let within = !self.recorder.is_spent();
        // Proofs of thinking can lose their worth between two turns; the same account then answers without them.
        let next = if within && failed.refuses_thoughts && wish.without.is_none() {
            Then::ThinkLess
        } else if within && failed.tool_limit.is_some() && may_shorten {
            Then::FewerTools
        } else if within && failed.limit.is_none() && another_may_serve(&failed.diagnosis) {
            Then::Account
        } else {
            Then::Stop
        };
        self.goes_on = next != Then::Stop;
        let decision = match next {
            Then::ThinkLess => RETRY_WITHOUT_THINKING,
            Then::FewerTools => RETRY_WITH_LESS,
            Then::Account if has_more => "next_connection",
            Then::Account | Then::Stop => "stop",
        };
        self.recorder.end_attempt(failed.kind, decision, Some(&failed.message));
        if next == Then::ThinkLess {
            self.recorder.warn(vec![DROPPED_REASONING.to_owned()]);
        }
        if let Outcome::Failure(failure) = &failed.diagnosis.outcome {
            self.recorder.journey.failed(step.candidate.connection.clone(), failure.clone());
        }
        self.last = Some(Last::of(failed));
        next
    }
}

/// Whether the provider's next account is asked. To a request without a combo the other accounts are the targets that are left,
/// and vendors say "no such model" of models that an account has no access to (specification's decision 28).
fn another_may_serve(diagnosis: &Diagnosis) -> bool {
    let lacks_model = |failure: &Failure| failure.status == Some(404) && failure.reason == Reason::ModelNotFound;
    match diagnosis.next {
        Next::NextConnection => true,
        Next::NextTarget => matches!(&diagnosis.outcome, Outcome::Failure(failure) if lacks_model(failure)),
        Next::Stop => false,
    }
}

/// A limit of our own is the answer.
pub(crate) fn turned_away(
    gateway: &Gateway,
    request: &ClientRequest,
    limit: &LocalLimit,
    recorder: Box<Recorder>,
) -> Response {
    refuse_with(gateway, request, None, &exhaustion::turned_away(limit), recorder)
}

/// Until when to wait for an account that is back soon; none when waiting cannot help or is not wanted (resilience
/// specification, 15.1).
fn wait(
    gateway: &Gateway,
    request: &ClientRequest,
    resolved: &Resolved,
    provider: &Arc<Provider>,
    round: &Round,
    spent: &mut Spent,
) -> Option<Timestamp> {
    if !round.goes_on {
        return None;
    }
    let (steps, exclusions) = look(gateway, request, resolved, provider);
    let until = if steps.is_empty() { routing::exhaustion::recovers_at(&exclusions) } else { None }?;
    let now = gateway.now();
    let settings = gateway.settings();
    let config = &settings.resilience.wait_for_cooldown;
    let length = until.since(now);
    if !config.allows(length, spent.attempts, spent.total) {
        return None;
    }
    spent.add(length);
    Some(until)
}

/// When the first account is back, where every one is kept away by now.
fn back_at(
    gateway: &Gateway,
    request: &ClientRequest,
    resolved: &Resolved,
    provider: &Arc<Provider>,
) -> Option<Timestamp> {
    let (steps, exclusions) = look(gateway, request, resolved, provider);
    let kept_away = steps.is_empty().then(|| exclusions.iter().map(|record| &record.exclusion));
    kept_away.and_then(routing::exhaustion::back_at)
}

/// Commits to what an attempt brought.
pub(crate) fn answer(
    gateway: &Gateway,
    request: &ClientRequest,
    step: &Step,
    served: Served,
    attempt: Attempt,
    mut recorder: Box<Recorder>,
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
    recorder: Box<Recorder>,
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
        heartbeat: gateway.settings().gateway.heartbeat_interval,
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
    /// As it can be passed on, where it can.
    pub(crate) refusal: Option<Refused>,
    pub(crate) status: Option<StatusCode>,
    pub(crate) message: String,
    /// The request never left this computer.
    pub(crate) kept_here: bool,
    /// It was refused for the number of its tools: so many may it bring.
    pub(crate) tool_limit: Option<u32>,
}

impl Last {
    pub(crate) fn of(failed: Failed) -> Last {
        let kept_here = failed.diagnosis.outcome == Outcome::Neutral(Neutral::LocalLimit);
        let Failed { refusal, status, message, tool_limit, .. } = failed;
        Last { refusal, status, message, kept_here, tool_limit }
    }

    /// The refusal as the last word; none, it cannot be shown.
    pub(crate) fn shown(self) -> Option<Shown> {
        Some(Shown { refusal: self.refusal?, message: self.message })
    }
}

/// A refusal that is passed on, and its message, which the request's row says too.
pub(crate) struct Shown {
    refusal: Refused,
    message: String,
}

fn whole(
    mut response: Response,
    mut recorder: Box<Recorder>,
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

/// Nobody answered: the upstream's refusal where it stands for all, else our words.
fn conclude(
    gateway: &Gateway,
    request: &ClientRequest,
    resolved: &Resolved,
    last: Option<Last>,
    recorder: Box<Recorder>,
) -> Response {
    let catalog = gateway.catalog();
    let known = catalog.get(&resolved.provider);
    let provider = known.map_or(resolved.provider.as_str(), |provider| provider.name.as_str());
    let nobody_blamed = recorder.journey.failures().next().is_none();
    let (refusal, error) = match last {
        Some(last) if nobody_blamed => {
            let error = if let Some(limit) = last.tool_limit {
                exhaustion::too_many_tools(provider, limit, request.glance.tool_count)
            } else if last.kept_here {
                exhaustion::kept_here(provider, &last.message)
            } else {
                exhaustion::refused(provider, last.status, &last.message)
            };
            (if last.tool_limit.is_some() { None } else { last.shown() }, error)
        }
        last => {
            let asked = exhaustion::Asked {
                resolved,
                provider,
                dialect: request.operation.dialect(),
                tools: request.glance.tool_count,
                tool_limit: known.and_then(|known| gateway.engine().tool_limit(known)),
                back_at: known.and_then(|known| back_at(gateway, request, resolved, known)),
            };
            let error = exhaustion::answer(&recorder.journey, &asked, gateway.now());
            let own_words = |shown: &Shown| shown.refusal.status == error.status && error.should_retry.is_none();
            (last.and_then(Last::shown).filter(own_words), error)
        }
    };
    refuse_with(gateway, request, refusal, &error, recorder)
}

/// The last word of every request that was to be tried: the upstream's refusal where it can be shown, else ours.
pub(crate) fn refuse_with(
    gateway: &Gateway,
    request: &ClientRequest,
    shown: Option<Shown>,
    error: &GatewayError,
    mut recorder: Box<Recorder>,
) -> Response {
    let status = request.client.status_for(error.status.as_u16());
    recorder.finish(&End {
        status,
        outcome: RequestOutcome::Failure,
        error_code: Some(error.code),
        error_summary: Some(shown.as_ref().map_or(&error.message, |shown| &shown.message)),
    });
    match shown {
        Some(shown) => {
            let mut response = pass_on(request, shown, error, status);
            response_headers::identify(response.headers_mut(), gateway.version(), request.id.as_str());
            response
        }
        None => error.render(request.client, &request.id),
    }
}

/// The refusal as the client gets it; the wait is the soonest that is known of any account.
fn pass_on(request: &ClientRequest, shown: Shown, error: &GatewayError, status: u16) -> Response {
    let Shown { refusal, message } = shown;
    let body = match &refusal.words {
        Words::Bytes(bytes) => bytes.clone(),
        Words::Told { code, own } => request.client.write_error(&ErrorBody {
            retry_after_seconds: error.retry_after.map(Millis::as_retry_after_seconds),
            request_id: Some(request.id.as_str()),
            own: own.as_deref(),
            ..ErrorBody::new(refusal.status.as_u16(), code, &message)
        }),
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(refusal.status);
    *response.headers_mut() = refusal.headers;
    response_headers::set_retry_after(response.headers_mut(), error.retry_after);
    response
}
