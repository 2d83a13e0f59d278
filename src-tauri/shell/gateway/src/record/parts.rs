//! Calls that are made on the way to one answer, each with a recorder of its own while it runs: the members of a panel, the
//! links of a chain, the company of a slow target. Their stories end in one.

use std::sync::Arc;

use domain::request_log::{AttemptRecord, RequestRecord};
use domain::{Candidate, Millis, Usage};
use routing::Journey;

use super::{ANSWER, Recorder, cost};
use crate::plan::Step;
use crate::telemetry::SUCCESS;

impl Recorder {
    /// For a call that is part of the same story: [`Recorder::absorb`] takes it up. Also stands in where the story was
    /// handed on; by itself it tells nothing.
    pub(crate) fn part(&self) -> Self {
        let mut record = Arc::clone(&self.record);
        if record.usage != Usage::default() {
            Arc::make_mut(&mut record).usage = Usage::default();
        }
        Recorder {
            gateway: self.gateway.clone(),
            record,
            journey: Journey::default(),
            open: None,
            queued: Millis::ZERO,
            earlier: Vec::new(),
            estimated_input: self.estimated_input,
            output_bytes: 0,
            finished: true,
            share: None,
            row: Arc::clone(&self.row),
        }
    }

    /// Another call of the same story has ended: what it went through and consumed.
    pub(crate) fn absorb(&mut self, part: Recorder) {
        let mut part = part;
        part.next_call();
        self.earlier.append(&mut part.earlier);
        for mut attempt in std::mem::take(&mut part.journey.attempts) {
            attempt.n = u32::try_from(self.journey.attempts.len()).unwrap_or(u32::MAX).saturating_add(1);
            self.journey.attempts.push(attempt);
        }
        self.journey.exclusions.append(&mut part.journey.exclusions);
        self.warn(std::mem::take(&mut part.journey.warnings));
        for (connection, failure) in part.journey.take_failures() {
            self.journey.failed(connection, failure);
        }
    }

    /// The present call was answered, and the story goes on with another one.
    pub(crate) fn next_call(&mut self) {
        self.end_attempt(SUCCESS, "next_step", None);
        let usage = std::mem::take(self.usage());
        let cost = cost(&self.gateway, &RequestRecord { usage, ..RequestRecord::clone(&self.record) });
        if usage != Usage::default() {
            self.earlier.push((usage, cost));
        }
        self.output_bytes = 0;
    }

    /// The story goes on with an attempt that was begun apart from it ([`Recorder::part`]) and is still open.
    pub(crate) fn go_on_with(&mut self, mut part: Recorder) {
        let n = u32::try_from(self.journey.attempts.len()).unwrap_or(u32::MAX).saturating_add(1);
        self.open = part.open.take().map(|open| AttemptRecord { n, ..open });
        self.output_bytes = part.output_bytes;
        self.warn(std::mem::take(&mut part.journey.warnings));
        let (record, of_part) = (Arc::make_mut(&mut self.record), Arc::make_mut(&mut part.record));
        record.target = of_part.target;
        record.provider = of_part.provider.take();
        record.model = of_part.model.take();
        record.connection = of_part.connection.take();
        record.connection_name = of_part.connection_name.take();
        record.time_to_first_token = of_part.time_to_first_token;
        record.usage = of_part.usage;
    }

    /// An earlier call ([`Recorder::absorb`]), which used so much for so many bytes, is the answer after all: the row is about
    /// it, and counts it once.
    pub(crate) fn settles_for(&mut self, step: &Step, used: Usage, bytes: u64) {
        let Candidate { provider, model, connection, .. } = &step.candidate;
        self.addressed(&step.candidate, &step.entry.connection.name, step.operation.dialect());
        if let Some(at) = self.earlier.iter().position(|(usage, _)| *usage == used) {
            self.earlier.remove(at);
        }
        *self.usage() = used;
        self.output_bytes = bytes;
        let is_it = |call: &&mut AttemptRecord| {
            call.kind == SUCCESS && (&call.provider, &call.model, &call.connection) == (provider, model, connection)
        };
        if let Some(call) = self.journey.attempts.iter_mut().rev().find(is_it) {
            ANSWER.clone_into(&mut call.decision);
        }
        let now = self.gateway.now();
        let record = Arc::make_mut(&mut self.record);
        record.time_to_first_token = Some(now.since(record.at));
    }
}
