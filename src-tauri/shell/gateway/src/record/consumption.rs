//! What each call of a request consumed, put down with its attempt: by its own provider, model and price. Where the upstream
//! does not say, the estimate of the very request it was asked counts.

use std::sync::Arc;

use domain::request_log::{AttemptRecord, RequestOutcome};
use domain::{ProviderId, Usage};

use super::story::CutOff;
use super::{ANSWER, Recorder};
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::plan::Step;
use crate::telemetry::SUCCESS;
use crate::usage_estimate;

impl Recorder {
    /// What is asked from here on, for the estimate.
    pub(crate) fn asks(&mut self, request: &ClientRequest) {
        self.estimated_input = self.estimated_input.map(|_| request.estimated_input());
    }

    /// The present call was answered, and the story goes on with another one. The number of its attempt.
    pub(crate) fn next_call(&mut self) -> Option<u32> {
        self.end_attempt(SUCCESS, "next_step", None);
        self.close_call()
    }

    /// The present call is over, whatever came of it.
    pub(super) fn close_call(&mut self) -> Option<u32> {
        let n = self.call.take()?;
        let (mut usage, output) = (std::mem::take(self.usage()), std::mem::take(&mut self.output_bytes).div_ceil(4));
        let attempt = self.journey.attempts.iter_mut().rev().find(|attempt| attempt.n == n)?;
        if let Some(input) = self.estimated_input {
            match attempt.kind == SUCCESS {
                true => usage_estimate::complete(&mut usage, input, output),
                false => usage_estimate::complete_cut(&mut usage, input, output),
            }
        }
        put_down(&self.gateway, attempt, usage);
        Some(n)
    }

    /// The open attempt is given up by this gateway itself: its prompt was asked for.
    pub(crate) fn give_up(&mut self, why: &CutOff) {
        if let Some(input) = self.estimated_input.filter(|_| self.open.is_some()) {
            let output = self.output_bytes.div_ceil(4);
            usage_estimate::complete_given_up(self.usage(), input, output);
        }
        self.end_attempt(why.kind, why.decision, None);
    }

    /// An earlier call ([`Recorder::next_call`]) is the answer after all: the row is about it.
    pub(crate) fn settles_for(&mut self, step: &Step, n: Option<u32>) {
        self.addressed(&step.candidate, &step.entry.connection.name, step.operation.dialect());
        let attempt = self.journey.attempts.iter_mut().find(|attempt| Some(attempt.n) == n);
        let usage = attempt.and_then(|attempt| {
            ANSWER.clone_into(&mut attempt.decision);
            attempt.cost = None;
            attempt.usage.take()
        });
        *self.usage() = usage.unwrap_or_default();
        (self.call, self.output_bytes) = (n, 0);
        let now = self.gateway.now();
        let record = Arc::make_mut(&mut self.record);
        record.time_to_first_token = Some(now.since(record.at));
    }

    /// The request is over: what all its calls consumed and cost. A cost that is not known of one is not known of all.
    pub(super) fn add_up(&mut self, outcome: RequestOutcome) {
        let output = self.output_bytes.div_ceil(4);
        let record = Arc::make_mut(&mut self.record);
        if let Some(input) = self.estimated_input {
            match outcome {
                RequestOutcome::Success => usage_estimate::complete(&mut record.usage, input, output),
                RequestOutcome::Failure | RequestOutcome::Aborted => {
                    usage_estimate::complete_cut(&mut record.usage, input, output);
                }
            }
        }
        self.journey.attempts.sort_by_key(|attempt| attempt.n);
        let attempts = &mut self.journey.attempts;
        if attempts.iter().all(|attempt| attempt.usage.is_none()) {
            record.cost = cost(&self.gateway, record.provider.as_ref(), record.model.as_deref(), &record.usage);
            return;
        }
        let own = self.call.and_then(|n| attempts.iter_mut().find(|attempt| attempt.n == n));
        if let Some(own) = own {
            put_down(&self.gateway, own, record.usage);
        }
        let calls = || attempts.iter().filter_map(|attempt| Some((attempt.usage?, attempt.cost)));
        record.usage = calls().fold(Usage::default(), |mut sum, (usage, _)| {
            sum.add(&usage);
            sum
        });
        record.cost = calls().map(|(_, cost)| cost).sum();
    }
}

/// A call consumed so much.
pub(super) fn put_down(gateway: &Gateway, attempt: &mut AttemptRecord, usage: Usage) {
    if usage != Usage::default() {
        attempt.cost = cost(gateway, Some(&attempt.provider), Some(&attempt.model), &usage);
        attempt.usage = Some(usage);
    }
}

fn cost(gateway: &Gateway, provider: Option<&ProviderId>, model: Option<&str>, usage: &Usage) -> Option<f64> {
    if let Some(stated) = usage.provider_cost {
        return Some(stated);
    }
    let catalog = gateway.catalog();
    let provider = catalog.get(provider?)?;
    let price = provider.model(model?)?.price.as_ref()?;
    Some(catalog::pricing::cost(price, usage))
}
