//! The last resort: one try elsewhere for a request whose own provider has no credit left (gateway specification, 3.8;
//! resilience specification, 21.1; specification's decision 4). Whether it is tried is `routing::emergency`'s word;
//! here it is done.
//!
//! Only for requests that name one model, and only as their very end: accounts have been gone through, waiting has been
//! considered. It goes through plan, admission and sending like any attempt, counts as one, and its failure leaves the
//! answer, and the request's row, what they would have been.

use std::sync::Arc;

use axum::response::Response;
use domain::Mechanism;
use domain::health::TestStatus;
use domain::request_log::ExclusionRecord;
use domain::wire::header;
use routing::Resolved;
use routing::emergency::{self, Case, Config, Resort};

use crate::admit::{self, Terms};
use crate::attempt::Attempt;
use crate::attempt_loop::{Last, answer};
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::plan::{Step, plan};
use crate::record::Recorder;
use crate::response_headers;
use crate::send::{Served, Wish, send};

/// The request was served elsewhere.
const USED: &str = "EMERGENCY_FALLBACK";
/// It would have been, but for its tools.
const TOOLS: &str = "EMERGENCY_FALLBACK_TOOLS";
/// It would have been, but there was nobody to ask there.
const UNAVAILABLE: &str = "EMERGENCY_FALLBACK_UNAVAILABLE";

/// Somebody else's answer.
pub(crate) struct Rescue {
    step: Step,
    served: Served,
    attempt: Attempt,
    /// `provider/model` that the client asked for.
    from: String,
}

impl Rescue {
    /// Commits to the answer, and says where it comes from.
    pub(crate) fn respond(self, gateway: &Gateway, request: &ClientRequest, recorder: Box<Recorder>) -> Response {
        let candidate = &self.step.candidate;
        let told = format!("from={}; to={}/{}", self.from, candidate.provider, candidate.model);
        let mut response = answer(gateway, request, &self.step, self.served, self.attempt, recorder);
        response_headers::set(response.headers_mut(), header::EMERGENCY_FALLBACK, &told);
        response
    }
}

/// Tries once elsewhere, where that is wanted and the request ended for want of credit.
pub(crate) async fn ask(
    gateway: &Gateway,
    request: &ClientRequest,
    resolved: &Resolved,
    last: Option<&Last>,
    recorder: &mut Recorder,
) -> Option<Rescue> {
    let settings = Arc::clone(&gateway.settings());
    let config = &settings.routing.emergency_fallback;
    if !config.enabled || !may_be_asked(request, resolved, config, recorder) {
        return None;
    }
    let (status, message) = end(gateway, last, &recorder.journey.exclusions)?;
    let case = Case { combo: false, tools: request.glance.tool_count > 0, tried: false, status, message };
    match emergency::resort(&case, config) {
        Resort::Try => {}
        Resort::Not(why) => {
            recorder.warn((why == emergency::TOOLS).then(|| TOOLS.to_owned()).into_iter().collect());
            return None;
        }
    }
    let Some((step, attempt)) = place(gateway, request, resolved, config) else {
        recorder.warn(vec![UNAVAILABLE.to_owned()]);
        return None;
    };
    recorder.decided("emergency_fallback");
    let before = recorder.so_far();
    recorder.begin(&step.candidate, &step.entry.connection.name, step.operation.dialect());
    let most = u64::from(config.max_output_tokens);
    let wish =
        Wish { max_output: Some(request.glance.max_output.map_or(most, |own| own.min(most))), ..Wish::default() };
    match send(gateway, request, &step, &wish, &attempt, recorder).await {
        Ok(served) => {
            recorder.warn(vec![USED.to_owned()]);
            let from = format!("{}/{}", resolved.provider, resolved.model);
            Some(Rescue { step, served, attempt, from })
        }
        Err(failed) => {
            attempt.settle(&failed.diagnosis.outcome);
            recorder.end_attempt(failed.kind, "stop", Some(&failed.message));
            recorder.take_back(before);
            None
        }
    }
}

/// Text is asked for, of somebody else, within what a request may attempt and its key may use.
fn may_be_asked(request: &ClientRequest, resolved: &Resolved, config: &Config, recorder: &Recorder) -> bool {
    let is_elsewhere = resolved.provider.as_str() != config.provider || resolved.model != config.model;
    let qualified = format!("{}/{}", config.provider, config.model);
    let is_allowed = request.key.as_ref().is_none_or(|key| key.allows_model(&[&qualified]));
    let within = !recorder.is_spent();
    request.operation.generates() && is_elsewhere && is_allowed && within
}

/// How the request ended: status and words of the last attempt; without one, an empty purse where that is all that keeps
/// the accounts away.
fn end<'l>(gateway: &Gateway, last: Option<&'l Last>, excluded: &[ExclusionRecord]) -> Option<(u16, &'l str)> {
    if let Some(last) = last {
        return Some((last.status.map_or(0, |status| status.as_u16()), &last.message));
    }
    let mut kept_away =
        excluded.iter().filter(|record| record.exclusion.mechanism != Mechanism::SwitchedOff).peekable();
    kept_away.peek()?;
    let is_broke = |record: &ExclusionRecord| {
        let status = record.connection.as_ref().map(|connection| gateway.engine().connection(connection).status);
        status == Some(TestStatus::CreditsExhausted)
    };
    kept_away.all(is_broke).then_some((402, ""))
}

/// The one account that is asked, and its place; none that is free at once, nobody is.
fn place(gateway: &Gateway, request: &ClientRequest, resolved: &Resolved, config: &Config) -> Option<(Step, Attempt)> {
    let catalog = gateway.catalog();
    let provider = catalog.get(&config.provider.as_str().into())?;
    let elsewhere = Resolved { provider: provider.id.clone(), model: config.model.clone(), ..resolved.clone() };
    let (steps, _) = plan(gateway, request, &elsewhere, provider);
    let step = steps.into_iter().next()?;
    let attempt = admit::at_once(gateway, &step, &Terms::direct(request.glance.tool_count), &mut None).ok()?;
    Some((step, attempt))
}
