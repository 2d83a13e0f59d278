//! One account is asked for one target of a combo: the same whether it is asked alone ([`walk`](super::walk)) or beside
//! another one ([`hedge`](super::hedge)). Who comes next is their business.

use std::collections::VecDeque;

use domain::{Millis, Outcome};
use routing::decision::Stop;
use routing::order::Place;

use super::handoff;
use super::head_room::roomier;
use super::walk::Scene;
use crate::attempt::{Attempt, Kept};
use crate::failed::Failed;
use crate::ingress::ClientRequest;
use crate::plan::Step;
use crate::record::Recorder;
use crate::send::{Served, Wish, send};

/// A target, and where in the order it stands.
#[derive(Clone, Copy)]
pub(super) struct Here<'p> {
    pub(super) place: &'p Place<'p>,
    pub(super) at: usize,
}

/// A target that is being asked: who may serve it yet, and what was asked of it so far.
pub(super) struct Lane<'p> {
    pub(super) here: Here<'p>,
    pub(super) steps: VecDeque<Step>,
    /// How often an account was asked once more.
    pub(super) times: u32,
    pub(super) wish: Wish,
    /// Places that the first of the accounts has from the attempt before.
    pub(super) kept: Option<Kept>,
    /// The first of the accounts is to be asked once more.
    pub(super) repeats: bool,
}

impl<'p> Lane<'p> {
    pub(super) fn new(here: Here<'p>, steps: VecDeque<Step>) -> Self {
        Lane { here, steps, times: 0, wish: Wish::default(), kept: None, repeats: false }
    }

    /// The same account comes next, in the places that it has.
    pub(super) fn again(&mut self, step: Step, kept: Option<Kept>) {
        self.steps.push_front(step);
        self.kept = kept;
        self.repeats = true;
    }

    /// A lane of this account alone, which is full; what was asked of the target so far goes along where it is to be asked
    /// once more.
    pub(super) fn for_later(&self, step: Step, repeats: bool) -> Lane<'p> {
        let mut lane = Lane { repeats, ..Lane::new(self.here, VecDeque::from([step])) };
        if repeats {
            (lane.times, lane.wish) = (self.times, self.wish);
        }
        lane
    }
}

/// An account that let the request in.
pub(super) struct Account {
    pub(super) step: Step,
    pub(super) attempt: Attempt,
    /// Another one may serve the same target.
    pub(super) more: bool,
}

/// What follows a failure at a target.
pub(super) enum Then {
    /// The same account once more, perhaps asked for less, after a pause.
    Again {
        after: Millis,
    },
    NextAccount,
    NextTarget {
        after: Millis,
    },
    Over(Stop),
}

/// Asks one account, tells the story to `recorder` and what came of it to the strategies. Dropped, it is called off.
pub(super) async fn ask_account(
    scene: &Scene<'_>,
    request: &ClientRequest,
    lane: &Lane<'_>,
    account: &Account,
    recorder: &mut Recorder,
) -> Result<Served, Box<Failed>> {
    let Scene { gateway, facts, .. } = *scene;
    let Account { step, attempt, .. } = account;
    let place = lane.here.place;
    let connection = &step.candidate.connection;
    place.dispatches(connection).for_each(|dispatch| gateway.routing().dispatched(&dispatch));
    recorder.begin(&step.candidate, &step.entry.connection.name, step.operation.dialect());
    recorder.at_step(&place.target.execution_key);
    let gives_room = place.own.config.reasoning_token_buffer_enabled;
    let wish = Wish {
        max_output: lane.wish.max_output.or_else(|| roomier(request, step).filter(|_| gives_room)),
        start_limit: Some(place.own.config.target_timeout),
        takes_empty: !place.own.config.response_validation,
        ..lane.wish
    };
    let relayed = handoff::relayed(scene, request, connection);
    let sent = send(gateway, relayed.as_ref().unwrap_or(request), step, &wish, attempt, recorder).await;
    match &sent {
        Ok(_) => {
            place.dispatches(connection).for_each(|dispatch| gateway.routing().served(&dispatch, facts));
            if relayed.is_some() {
                handoff::handed_over(scene, request, recorder);
            }
        }
        Err(failed) if matches!(failed.diagnosis.outcome, Outcome::Failure(_)) => {
            place.dispatches(connection).for_each(|dispatch| gateway.routing().failed(&dispatch));
        }
        Err(_) => {}
    }
    sent
}
