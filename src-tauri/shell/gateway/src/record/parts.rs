//! Calls that are made on the way to one answer, each with a recorder of its own while it runs: the members of a panel, the
//! company of a slow target. Their stories end in one, also those of calls that are dropped before they have answered.

use std::sync::Arc;

use domain::request_log::AttemptRecord;
use domain::wire::reason;
use domain::{Exclusion, Mechanism, Millis, Usage};
use routing::decision::MOST_ATTEMPTS;
use routing::{Journey, Target};

use super::Recorder;
use super::consumption::put_down;
use super::story::{CutOff, KeptAttempt, Left};
use crate::usage_estimate;

impl Recorder {
    /// For a call that is part of the same story: [`Recorder::absorb`] takes it up, and where it is dropped before,
    /// [`Recorder::take_up`]. By itself it writes nothing.
    pub(crate) fn part(&self) -> Box<Self> {
        let mut record = Arc::clone(&self.record);
        if record.usage != Usage::default() {
            Arc::make_mut(&mut record).usage = Usage::default();
        }
        Box::new(Recorder {
            gateway: self.gateway.clone(),
            record,
            journey: Journey::default(),
            open: None,
            call: None,
            queued: Millis::ZERO,
            estimated_input: self.estimated_input,
            output_bytes: 0,
            finished: true,
            is_part: true,
            story: Arc::clone(&self.story),
            claimed: false,
            share: None,
            row: Arc::clone(&self.row),
        })
    }

    /// Keeps one of the request's attempts for later, if one is left.
    pub(crate) fn keep_attempt(&self) -> Option<KeptAttempt> {
        self.story.keep()
    }

    /// Attempts of the whole request so far; what is kept for somebody is gone.
    pub(crate) fn attempts(&self) -> usize {
        self.story.gone()
    }

    /// Whether no further attempt may be made.
    pub(crate) fn is_spent(&self) -> bool {
        self.attempts() >= MOST_ATTEMPTS
    }

    /// All attempts are made: of these targets, whoever was not asked is left out.
    pub(crate) fn never_asks<'t>(&mut self, targets: impl IntoIterator<Item = &'t Target>) {
        for target in targets {
            let is_of = |attempt: &AttemptRecord| attempt.execution_key.as_ref() == Some(&target.execution_key);
            if !self.journey.attempts.iter().any(is_of) {
                let why = Exclusion::lasting(Mechanism::RequestExhaustion, reason::MAX_ATTEMPTS);
                self.journey.exclude(target.left_out(why));
            }
        }
    }

    /// Counts the next attempt before it begins; false, it may not be made.
    pub(crate) fn claim(&mut self) -> bool {
        self.claimed = self.claimed || self.story.claim();
        self.claimed
    }

    /// Another call of the same story has ended: what it went through and consumed.
    pub(crate) fn absorb(&mut self, mut part: Box<Recorder>) {
        part.close_call();
        self.join(std::mem::take(&mut part.journey));
    }

    /// Takes up what parts had to tell that were dropped while they ran, and says why they were. That an attempt was called
    /// off says nothing about how fast or reliable its target is.
    pub(crate) fn take_up(&mut self, why: &CutOff) {
        for Left { mut journey, open, mut usage, output_bytes, estimated_input } in self.story.left() {
            if let Some(mut open) = open {
                open.duration = self.gateway.now().since(open.started_at);
                why.kind.clone_into(&mut open.kind);
                why.decision.clone_into(&mut open.decision);
                let output = output_bytes.div_ceil(4);
                match estimated_input {
                    Some(input) if why.is_ours => usage_estimate::complete_given_up(&mut usage, input, output),
                    Some(input) => usage_estimate::complete_cut(&mut usage, input, output),
                    None => {}
                }
                put_down(&self.gateway, &mut open, usage);
                journey.attempts.push(open);
            }
            self.join(journey);
        }
    }

    fn join(&mut self, mut journey: Journey) {
        self.journey.attempts.append(&mut journey.attempts);
        self.journey.exclusions.append(&mut journey.exclusions);
        self.warn(std::mem::take(&mut journey.warnings));
        for (connection, failure) in journey.take_failures() {
            self.journey.failed(connection, failure);
        }
    }

    /// Dropped: what the part still has to tell is kept for [`Recorder::take_up`].
    pub(super) fn leave_behind(&mut self) {
        let (journey, open) = (std::mem::take(&mut self.journey), self.open.take());
        if open.is_none() && journey == Journey::default() {
            return;
        }
        let usage = if open.is_some() { self.record.usage } else { Usage::default() };
        let (output_bytes, estimated_input) = (self.output_bytes, self.estimated_input);
        self.story.leave(Left { journey, open, usage, output_bytes, estimated_input });
    }

    /// The story goes on with an attempt that was begun apart from it ([`Recorder::part`]) and is still open.
    pub(crate) fn go_on_with(&mut self, mut part: Box<Recorder>) {
        self.open = part.open.take();
        (self.call, self.output_bytes) = (part.call, part.output_bytes);
        self.join(std::mem::take(&mut part.journey));
        let (record, of_part) = (Arc::make_mut(&mut self.record), Arc::make_mut(&mut part.record));
        record.target = of_part.target;
        record.provider = of_part.provider.take();
        record.model = of_part.model.take();
        record.connection = of_part.connection.take();
        record.connection_name = of_part.connection_name.take();
        record.time_to_first_token = of_part.time_to_first_token;
        record.usage = of_part.usage;
    }
}
