//! One target after another, in the order of the plan; of each target one account after another.
//!
//! First nobody waits: whoever has a free place is asked. Only when all that are left are full does the request wait, for
//! the first of them, or for the one that was to be asked once more (gateway specification, 3.4 and 3.8; resilience
//! specification, 14).

use std::collections::VecDeque;

use dialects::thoughts::Thoughts;
use domain::wire::reason;
use domain::{Exclusion, Mechanism, Millis, Outcome, Timestamp};
use resilience::{LocalLimit, Patience, Refusal};
use routing::Target;
use routing::combo::Strategy;
use routing::decision::{self, Decision, Position, Stop};
use routing::order::{Level, Place};
use routing::view::RequestFacts;

use super::Asked;
use super::account::{Account, Here, Lane, Then, ask_account};
use super::book::asker;
use crate::accounts::Turn;
use crate::admit::{self, Terms, Turned};
use crate::attempt::Attempt;
use crate::attempt_loop::{DROPPED_REASONING, Last, RETRY_WITH_LESS, RETRY_WITHOUT_THINKING};
use crate::failed::Failed;
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::plan::{Asker, Step, steps_of};
use crate::record::{CutOff, Recorder};
use crate::send::Served;
use crate::translate::truncates_tools;

/// How a walk ended.
pub(super) enum Ended {
    Answered(Box<Answered>),
    Nobody(Box<End>),
}

/// Somebody answered; nothing has been promised to the client yet.
pub(super) struct Answered {
    pub(super) served: Served,
    pub(super) step: Step,
    pub(super) attempt: Attempt,
    pub(super) recorder: Box<Recorder>,
}

/// What an account answered.
pub(super) struct Answer {
    pub(super) served: Served,
    pub(super) account: Account,
}

/// Nobody answered.
pub(super) struct End {
    pub(super) recorder: Box<Recorder>,
    pub(super) last: Option<Last>,
    pub(super) stop: Option<Stop>,
    /// A limit of our own, where that was the last thing in the way.
    pub(super) local: Option<LocalLimit>,
    pub(super) timed_out: bool,
}

impl End {
    pub(super) fn new(recorder: Box<Recorder>) -> Self {
        End { recorder, last: None, stop: None, local: None, timed_out: false }
    }

    /// The last of the targets failed, and nothing else speaks against asking somebody.
    pub(super) fn has_asked_everybody(&self) -> bool {
        self.stop == Some(Stop::Exhausted) && !self.timed_out
    }

    /// Whether trying everything once more makes sense at all.
    pub(super) fn may_go_on(&self) -> bool {
        self.local.is_none() && !self.is_final()
    }

    /// Nobody at all is to be asked any more.
    pub(super) fn is_final(&self) -> bool {
        let is_stopped = match self.stop {
            None | Some(Stop::Exhausted) => false,
            // What the members of a panel left to their judge may be somebody else's.
            Some(Stop::MaxAttempts) => self.recorder.is_spent(),
            Some(_) => true,
        };
        self.timed_out || is_stopped
    }

    /// How long the last failure asked to wait.
    pub(super) fn hint(&self) -> Option<Millis> {
        self.recorder.journey.last_failure().and_then(|failure| failure.advertised_retry_after)
    }

    /// An attempt brought nothing. Of several limits of tools the highest is what would have been enough.
    fn failed(&mut self, failed: Failed) {
        let earlier = self.last.take().and_then(|last| last.tool_limit);
        let last = Last::of(failed);
        let tool_limit = last.tool_limit.map(|limit| limit.max(earlier.unwrap_or(0)));
        self.last = Some(Last { tool_limit, ..last });
    }
}

/// What every walk of one request has in common.
#[derive(Clone, Copy)]
pub(super) struct Scene<'s> {
    pub(super) gateway: &'s Gateway,
    pub(super) asked: &'s Asked,
    pub(super) facts: &'s RequestFacts,
    pub(super) deadline: Timestamp,
}

pub(super) async fn walk(
    scene: &Scene<'_>,
    request: &ClientRequest,
    order: &[Place<'_>],
    recorder: Box<Recorder>,
) -> Ended {
    let mut walk = Walk::new(scene, request, order, recorder);
    for (at, place) in order.iter().enumerate() {
        match walk.target(Here { place, at }).await {
            Went::On => {}
            Went::Answered(answer) => return walk.answered(*answer),
            Went::Over if walk.end.has_asked_everybody() => break,
            Went::Over => return Ended::Nobody(Box::new(walk.end)),
        }
    }
    Box::pin(walk.wait_for_a_place()).await
}

pub(super) struct Walk<'w, 'p> {
    pub(super) scene: Scene<'w>,
    pub(super) request: &'w ClientRequest,
    pub(super) end: End,
    /// The accounts that had no free place, each in a lane of its own.
    full: VecDeque<Lane<'p>>,
    pub(super) order: &'p [Place<'p>],
}

enum Went {
    /// To the next target.
    On,
    Answered(Box<Answer>),
    Over,
}

impl<'w, 'p> Walk<'w, 'p> {
    pub(super) fn new(
        scene: &Scene<'w>,
        request: &'w ClientRequest,
        order: &'p [Place<'p>],
        recorder: Box<Recorder>,
    ) -> Walk<'w, 'p> {
        Walk { scene: *scene, request, end: End::new(recorder), full: VecDeque::new(), order }
    }

    async fn target(&mut self, here: Here<'p>) -> Went {
        let Some(steps) = self.candidates(here) else { return Went::On };
        let mut lane = Lane::new(here, steps);
        let first = self.free_place(&mut lane);
        self.ask(lane, first).await
    }

    /// The accounts that may be asked for a target; none, this request has had enough of it.
    pub(super) fn candidates(&mut self, here: Here<'p>) -> Option<VecDeque<Step>> {
        let target = here.place.target;
        if self.end.recorder.journey.exhausted.excludes(&target.provider, &target.model) {
            let exclusion = Exclusion::lasting(Mechanism::RequestExhaustion, reason::REQUEST_EXHAUSTION);
            self.end.recorder.journey.exclude(target.left_out(exclusion));
            return None;
        }
        Some(self.accounts(here.place))
    }

    /// The accounts that may serve a target, in the order in which they are asked.
    fn accounts(&mut self, place: &Place<'_>) -> VecDeque<Step> {
        let (asker, target) = (asker(self.request, place.own.strategy), place.target);
        let (mut steps, exclusions) = steps_of(self.scene.gateway, &asker, target);
        let exhausted = &self.end.recorder.journey.exhausted;
        steps.retain(|step| !exhausted.excludes_connection(&target.provider, &step.candidate.connection));
        exclusions.into_iter().for_each(|record| self.end.recorder.journey.exclude(record));
        steps.into()
    }

    /// The next account that has a place at once.
    pub(super) fn free_place(&mut self, lane: &mut Lane<'p>) -> Option<Account> {
        let terms = self.terms(lane.here.place);
        let mut kept = lane.kept.take().or_else(|| self.end.recorder.comes_back());
        let mut found = None;
        while found.is_none()
            && let Some(step) = lane.steps.pop_front()
        {
            let repeats = std::mem::take(&mut lane.repeats);
            match admit::at_once(self.scene.gateway, &step, &terms, &mut kept) {
                Ok(attempt) => found = Some(Account { step, attempt, more: !lane.steps.is_empty() }),
                Err(exclusion) => {
                    let is_full = exclusion.mechanism.is_full();
                    self.end.recorder.shut_out(&step, exclusion);
                    self.full.extend(is_full.then(|| lane.for_later(step, repeats)));
                }
            }
        }
        self.end.recorder.leaves_place(kept);
        found
    }

    /// Of a target of a combo within, those of that combo.
    fn terms<'t>(&self, place: &'t Place<'_>) -> Terms<'t> {
        let Level { combo, strategy, config, .. } = place.own;
        let combo_gate = match strategy {
            Strategy::RoundRobin => Some(resilience::ComboGate::Target {
                combo,
                execution_key: &place.target.execution_key,
                cap: config.concurrency_per_model,
            }),
            Strategy::QuotaShare => Some(resilience::ComboGate::QuotaShare { lowered: self.scene.asked.lowered }),
            _ => None,
        };
        Terms {
            caller: resilience::Caller::Combo,
            tools: self.request.glance.tool_count,
            quota_cutoff: strategy != Strategy::Auto,
            combo_gate,
            patience: Patience { wait: config.queue_timeout, depth: Some(config.queue_depth) },
        }
    }

    /// Asks one account of a target after another, `first` the first.
    async fn ask(&mut self, mut lane: Lane<'p>, first: Option<Account>) -> Went {
        let Scene { gateway, deadline, .. } = self.scene;
        let mut next = first;
        while let Some(account) = next {
            if !self.end.recorder.claim() {
                self.runs_out(lane.here.at);
                return Went::Over;
            }
            let sent = tokio::select! {
                biased;
                sent = ask_account(&self.scene, self.request, &lane, &account, &mut self.end.recorder) => sent,
                () = gateway.clock().sleep_until(deadline) => {
                    self.end.recorder.give_up(&CutOff::LATE);
                    self.end.timed_out = true;
                    return Went::Over;
                }
            };
            let failed = match sent {
                Ok(served) => return Went::Answered(Box::new(Answer { served, account })),
                Err(failed) => *failed,
            };
            match self.decide(&mut lane, account, failed) {
                Then::Again { after } => self.pause(after).await,
                Then::NextAccount => {}
                Then::NextTarget { after } => {
                    self.pause(after).await;
                    return Went::On;
                }
                Then::Over(_) => return Went::Over,
            }
            next = self.free_place(&mut lane);
        }
        Went::On
    }

    /// Where nobody was asked because everyone is full, one is waited for: the first, or, should it be shut out meanwhile,
    /// the next of them. After others were asked, whoever was to be asked once more is: its turn is not lost to who came
    /// between. Of a quota pool nobody is turned away for want of a place, whatever was tried before.
    pub(super) async fn wait_for_a_place(mut self) -> Ended {
        while let Some(mut lane) = self.waits_for()
            && let Some(step) = lane.steps.pop_front()
        {
            let repeats = std::mem::take(&mut lane.repeats);
            let terms = self.terms(lane.here.place);
            let mut kept = self.end.recorder.comes_back();
            self.end.recorder.waits_for_place(&step);
            let turn = tokio::select! {
                biased;
                turn = admit::in_turn(self.scene.gateway, &step, &terms, &mut kept) => turn,
                () = self.scene.gateway.clock().sleep_until(self.scene.deadline) => {
                    self.end.timed_out = true;
                    break;
                }
            };
            self.end.recorder.leaves_place(kept);
            match turn {
                Ok(Turned { attempt, queued }) => {
                    self.end.recorder.waited(queued);
                    let account = Account { step, attempt, more: false };
                    match self.ask(lane, Some(account)).await {
                        Went::Answered(answer) => return self.answered(*answer),
                        Went::On => {}
                        Went::Over if self.end.has_asked_everybody() => {}
                        Went::Over => break,
                    }
                }
                Err(Refusal::Excluded(exclusion)) => self.end.recorder.shut_out(&step, exclusion),
                // The failure of the attempt before says more.
                Err(Refusal::Local(_)) if repeats => {}
                Err(Refusal::Local(limit)) => {
                    self.end.local = Some(limit);
                    break;
                }
            }
        }
        Ended::Nobody(Box::new(self.end))
    }

    /// Whom the request waits for next.
    fn waits_for(&mut self) -> Option<Lane<'p>> {
        if self.scene.asked.pool().is_some() || self.end.recorder.journey.attempts.is_empty() {
            return self.full.pop_front();
        }
        self.full.remove(self.full.iter().position(|lane| lane.repeats)?)
    }

    /// The walk ends with this answer.
    pub(super) fn answered(self, answer: Answer) -> Ended {
        let Account { step, attempt, .. } = answer.account;
        Ended::Answered(Box::new(Answered { served: answer.served, step, attempt, recorder: self.end.recorder }))
    }

    /// Settles a failed attempt, notes it, asks the table, and tells the target what follows.
    pub(super) fn decide(&mut self, lane: &mut Lane<'p>, account: Account, failed: Failed) -> Then {
        let Account { step, mut attempt, more } = account;
        let Here { place, at } = lane.here;
        let kept = attempt.keep_places();
        let remaining: Vec<&Target> = self.order[at + 1..].iter().map(|place| place.target).collect();
        let position = Position {
            combo: Some(place.own.config),
            target: place.target,
            connection: &step.candidate.connection,
            nature: &step.candidate.nature,
            repeated: lane.times,
            adjusted: lane.wish.max_output.is_some(),
            thoughtless: lane.wish.without.is_some(),
            may_shorten: !lane.wish.shortened && truncates_tools(self.scene.gateway),
            more_accounts: more,
            remaining: &remaining,
        };
        let outcome = &failed.diagnosis.outcome;
        if self.is_spoken_for(&failed, &position) {
            attempt.settle(&outcome.clone().sparing_provider());
        } else {
            attempt.settle(outcome);
        }
        let decision = self.rule(&step, &failed, place, &position);
        self.end.failed(failed);
        let then = self.follow(decision, lane);
        match then {
            Then::Again { .. } => lane.again(step, kept),
            Then::NextAccount | Then::NextTarget { .. } | Then::Over(_) => self.end.recorder.leaves_place(kept),
        }
        then
    }

    /// What a decision about a target comes to, and what it changes in what is asked of it.
    fn follow(&mut self, decision: Decision, lane: &mut Lane<'p>) -> Then {
        match decision {
            Decision::Retry { after } => {
                lane.times += 1;
                return Then::Again { after };
            }
            Decision::Adjust { max_output } => lane.wish.max_output = Some(max_output),
            Decision::ThinkLess => {
                lane.wish.without = Some(Thoughts::All);
                self.end.recorder.warn(vec![DROPPED_REASONING.to_owned()]);
            }
            Decision::FewerTools => lane.wish.shortened = true,
            Decision::NextAccount => return Then::NextAccount,
            Decision::NextTarget { after } => return Then::NextTarget { after },
            Decision::Stop(Stop::MaxAttempts) => {
                self.runs_out(lane.here.at + 1);
                return Then::Over(Stop::MaxAttempts);
            }
            Decision::Stop(stop) => {
                self.end.stop = Some(stop);
                return Then::Over(stop);
            }
        }
        Then::Again { after: Millis::ZERO }
    }

    /// The request has made all its attempts: of the order, whoever from this place on was not asked never is.
    pub(super) fn runs_out(&mut self, from: usize) {
        self.end.stop = Some(Stop::MaxAttempts);
        self.end.recorder.never_asks(self.order.iter().skip(from).map(|place| place.target));
    }

    /// Whether somebody at the next target will speak for the provider, so that this failure is not counted for its breaker.
    fn is_spoken_for(&self, failed: &Failed, position: &Position<'_>) -> bool {
        let Outcome::Failure(failure) = &failed.diagnosis.outcome else { return false };
        let Some(next) = decision::speaks_next(position) else { return false };
        let own = self.order.iter().find(|place| std::ptr::eq(place.target, next)).map(|place| place.own.strategy);
        let strategy = own.unwrap_or(self.scene.asked.combo.strategy);
        let asker = Asker { turn: Turn::Nobody(None), ..asker(self.request, strategy) };
        let (steps, _) = steps_of(self.scene.gateway, &asker, next);
        let status = failed.status.map(|status| status.as_u16());
        let exhausted = &self.end.recorder.journey.exhausted;
        let accounts = steps.iter().map(|step| &step.candidate.connection);
        decision::is_spoken_for(failure, status, position, exhausted, accounts)
    }

    /// What the table says to a failure that is settled.
    fn rule(&mut self, step: &Step, failed: &Failed, place: &Place<'_>, position: &Position<'_>) -> Decision {
        let ended = decision::Ended {
            outcome: &failed.diagnosis.outcome,
            status: failed.status.map(|status| status.as_u16()),
            message: &failed.message,
            hopeless: failed.diagnosis.next == resilience::failure::Next::Stop,
            benched: self.is_benched(step, place),
            too_many_tools: failed.tool_limit.is_some(),
            refuses_thoughts: failed.refuses_thoughts,
        };
        self.end.local.clone_from(&failed.limit);
        let recorder = &mut self.end.recorder;
        // The table counts this attempt.
        recorder.end_attempt(failed.kind, "", Some(&failed.message));
        if let Outcome::Failure(failure) = &failed.diagnosis.outcome {
            recorder.journey.failed(step.candidate.connection.clone(), failure.clone());
        }
        let attempts = recorder.attempts();
        let decision = decision::rule(&ended, position, attempts, &mut recorder.journey);
        recorder.decided(word(&decision));
        decision
    }

    /// Whether the account, or the model on it, is spared by now.
    fn is_benched(&self, step: &Step, place: &Place<'_>) -> bool {
        let asker = asker(self.request, place.own.strategy);
        let word = crate::plan::availability(self.scene.gateway, &asker, &step.provider, &step.candidate, &step.entry);
        matches!(
            word,
            domain::Availability::Excluded(Exclusion {
                mechanism: Mechanism::ConnectionCooldown | Mechanism::ModelLockout | Mechanism::TerminalState,
                ..
            })
        )
    }

    async fn pause(&self, length: Millis) {
        if length > Millis::ZERO {
            let Scene { gateway, deadline, .. } = self.scene;
            gateway.clock().sleep_until((gateway.now() + length).min(deadline)).await;
        }
    }
}

/// The decision as the attempt's row shows it.
fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Retry { .. } => "retry",
        Decision::Adjust { .. } | Decision::FewerTools => RETRY_WITH_LESS,
        Decision::ThinkLess => RETRY_WITHOUT_THINKING,
        Decision::NextAccount => "next_connection",
        Decision::NextTarget { .. } => "next_target",
        Decision::Stop(_) => "stop",
    }
}
