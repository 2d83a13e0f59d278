//! One target after another, in the order of the plan; of each target one account after another.
//!
//! First nobody waits: whoever has a free place is asked. Only when all that are left are full does the request wait, for
//! the first of them (gateway specification, 3.4 and 3.8; resilience specification, 14).

use std::collections::VecDeque;

use dialects::thoughts::Thoughts;
use domain::wire::reason;
use domain::{Exclusion, Mechanism, Millis, Outcome, Timestamp};
use resilience::{LocalLimit, Patience, Refusal};
use routing::Target;
use routing::combo::Strategy;
use routing::decision::{self, Decision, Position, Stop};
use routing::memory::Dispatch;
use routing::view::RequestFacts;

use super::Asked;
use super::book::asker;
use super::handoff;
use super::order::Place;
use crate::accounts::Turn;
use crate::admit::{self, Terms, Turned};
use crate::attempt::Attempt;
use crate::attempt_loop::{DROPPED_REASONING, Last, RETRY_WITH_LESS, RETRY_WITHOUT_THINKING};
use crate::failed::Failed;
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::plan::{Asker, Step, steps_of};
use crate::record::Recorder;
use crate::send::{Served, Wish, send};
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
    pub(super) recorder: Recorder,
}

/// Nobody answered.
pub(super) struct End {
    pub(super) recorder: Recorder,
    pub(super) last: Option<Last>,
    pub(super) stop: Option<Stop>,
    /// A limit of our own, where that was the last thing in the way.
    pub(super) local: Option<LocalLimit>,
    pub(super) timed_out: bool,
}

impl End {
    pub(super) fn new(recorder: Recorder) -> Self {
        End { recorder, last: None, stop: None, local: None, timed_out: false }
    }

    /// Whether trying everything once more makes sense at all.
    pub(super) fn may_go_on(&self) -> bool {
        !self.timed_out && self.local.is_none() && matches!(self.stop, None | Some(Stop::Exhausted))
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

pub(super) async fn walk(scene: &Scene<'_>, request: &ClientRequest, order: &[Place<'_>], recorder: Recorder) -> Ended {
    let mut walk = Walk::new(scene, request, order, recorder);
    for (at, place) in order.iter().enumerate() {
        match walk.target(Here { place: *place, at }).await {
            Went::On => {}
            Went::Answered(answered) => return Ended::Answered(answered),
            Went::Over => return Ended::Nobody(Box::new(walk.end)),
        }
    }
    walk.wait_for_a_place().await
}

pub(super) struct Walk<'w, 'p> {
    pub(super) scene: Scene<'w>,
    pub(super) request: &'w ClientRequest,
    pub(super) end: End,
    /// The accounts that had no free place.
    full: VecDeque<(Here<'p>, Step)>,
    pub(super) order: &'p [Place<'p>],
}

/// A target, and where in the order it stands.
#[derive(Clone, Copy)]
pub(super) struct Here<'p> {
    pub(super) place: Place<'p>,
    pub(super) at: usize,
}

/// An account that let the request in.
pub(super) struct Account {
    pub(super) step: Step,
    pub(super) attempt: Attempt,
    /// Another one may serve the same target.
    more: bool,
}

enum Went {
    /// To the next target.
    On,
    Answered(Box<Answered>),
    Over,
}

/// What one account made of the request.
enum Tried {
    Answered(Box<Answered>),
    /// Once more, perhaps asking for less.
    Again(Step),
    NextAccount,
    NextTarget,
    Over,
}

/// How often a target was asked, and what is asked of it.
#[derive(Default)]
pub(super) struct Repeat {
    pub(super) times: u32,
    pub(super) wish: Wish,
}

impl Repeat {
    /// What is sent this time.
    pub(super) fn wish(&self, asked: &Asked) -> Wish {
        Wish { start_limit: Some(asked.config.target_timeout), ..self.wish }
    }
}

impl<'w, 'p> Walk<'w, 'p> {
    pub(super) fn new(
        scene: &Scene<'w>,
        request: &'w ClientRequest,
        order: &'p [Place<'p>],
        recorder: Recorder,
    ) -> Walk<'w, 'p> {
        Walk { scene: *scene, request, end: End::new(recorder), full: VecDeque::new(), order }
    }

    async fn target(&mut self, here: Here<'p>) -> Went {
        let Some(mut steps) = self.candidates(here) else { return Went::On };
        let first = self.free_place(here, &mut steps);
        self.ask(here, first, steps).await
    }

    /// The accounts that may be asked for a target; none, this request has had enough of it.
    pub(super) fn candidates(&mut self, here: Here<'p>) -> Option<VecDeque<Step>> {
        let target = here.place.target;
        if self.end.recorder.journey.exhausted.excludes(&target.provider, &target.model) {
            let exclusion = Exclusion::lasting(Mechanism::RequestExhaustion, reason::REQUEST_EXHAUSTION);
            self.end.recorder.journey.exclude(target.left_out(exclusion));
            return None;
        }
        Some(self.accounts(target))
    }

    /// The accounts that may serve a target, in the order in which they are asked.
    fn accounts(&mut self, target: &Target) -> VecDeque<Step> {
        let asker = asker(self.request, self.scene.asked.combo.strategy);
        let (mut steps, exclusions) = steps_of(self.scene.gateway, &asker, target);
        let exhausted = &self.end.recorder.journey.exhausted;
        steps.retain(|step| !exhausted.excludes_connection(&target.provider, &step.candidate.connection));
        exclusions.into_iter().for_each(|record| self.end.recorder.journey.exclude(record));
        steps.into()
    }

    /// The next account that has a place at once.
    pub(super) fn free_place(&mut self, here: Here<'p>, steps: &mut VecDeque<Step>) -> Option<Account> {
        let terms = self.terms(here.place.target);
        while let Some(step) = steps.pop_front() {
            let terms = self.with_place(terms, &step);
            match admit::at_once(self.scene.gateway, &step, &terms) {
                Ok(attempt) => return Some(Account { step, attempt, more: !steps.is_empty() }),
                Err(exclusion) => {
                    let is_full = exclusion.mechanism.is_full();
                    self.end.recorder.shut_out(&step, exclusion);
                    self.full.extend(is_full.then_some((here, step)));
                }
            }
        }
        None
    }

    fn terms<'t>(&self, target: &'t Target) -> Terms<'t>
    where
        Self: 't,
    {
        let Asked { combo, config, .. } = self.scene.asked;
        let combo_gate = match combo.strategy {
            Strategy::RoundRobin => Some(resilience::ComboGate::Target {
                combo: &combo.name,
                execution_key: &target.execution_key,
                cap: config.concurrency_per_model,
            }),
            Strategy::QuotaShare => Some(resilience::ComboGate::QuotaShare { lowered: self.scene.asked.lowered }),
            _ => None,
        };
        Terms {
            caller: resilience::Caller::Combo,
            tools: self.request.glance.tool_count,
            quota_cutoff: combo.strategy != Strategy::Auto,
            combo_gate,
            has_share: false,
            patience: Patience { wait: config.queue_timeout, depth: Some(config.queue_depth) },
        }
    }

    /// The terms of a request that may have kept its place at an account from the attempt before.
    fn with_place<'t>(&mut self, terms: Terms<'t>, step: &Step) -> Terms<'t> {
        Terms { has_share: self.end.recorder.has_place_at(&step.candidate.connection), ..terms }
    }

    /// Asks one account of a target after another, `first` the first.
    async fn ask(&mut self, here: Here<'p>, first: Option<Account>, mut steps: VecDeque<Step>) -> Went {
        let mut repeat = Repeat::default();
        let mut next = first;
        while let Some(account) = next {
            match self.attempt(here, account, &mut repeat).await {
                Tried::Answered(answered) => return Went::Answered(answered),
                Tried::Again(step) => steps.push_front(step),
                Tried::NextAccount => {}
                Tried::NextTarget => return Went::On,
                Tried::Over => return Went::Over,
            }
            next = self.free_place(here, &mut steps);
        }
        Went::On
    }

    /// Where nobody was asked because everyone is full, one is waited for: the first, or, should it be shut out meanwhile,
    /// the next of them. Of a quota pool nobody is turned away for want of a place, whatever was tried before.
    pub(super) async fn wait_for_a_place(mut self) -> Ended {
        let of_pool = self.scene.asked.pool().is_some();
        while (of_pool || self.end.recorder.journey.attempts.is_empty())
            && let Some((here, step)) = self.full.pop_front()
        {
            let terms = self.with_place(self.terms(here.place.target), &step);
            self.end.recorder.waits_for_place(&step);
            let turn = tokio::select! {
                biased;
                turn = admit::in_turn(self.scene.gateway, &step, &terms) => turn,
                () = self.scene.gateway.clock().sleep_until(self.scene.deadline) => {
                    self.end.timed_out = true;
                    break;
                }
            };
            match turn {
                Ok(Turned { attempt, queued }) => {
                    self.end.recorder.waited(queued);
                    let account = Account { step, attempt, more: false };
                    match self.ask(here, Some(account), VecDeque::new()).await {
                        Went::Answered(answered) => return Ended::Answered(answered),
                        Went::On | Went::Over => break,
                    }
                }
                Err(Refusal::Excluded(exclusion)) => self.end.recorder.shut_out(&step, exclusion),
                Err(Refusal::Local(limit)) => {
                    self.end.local = Some(limit);
                    break;
                }
            }
        }
        Ended::Nobody(Box::new(self.end))
    }

    /// Asks one account, tells the strategies, and finds out what follows.
    async fn attempt(&mut self, here: Here<'p>, mut account: Account, repeat: &mut Repeat) -> Tried {
        let (routing, strategy) = (self.scene.gateway.routing(), self.scene.asked.combo.strategy);
        let Place { combo, target } = here.place;
        let connection = account.step.candidate.connection.clone();
        self.end.recorder.goes_on_in_place(&mut account.attempt);
        let dispatch = Dispatch { combo, strategy, target, connection: &connection };
        routing.dispatched(&dispatch);
        let failed = match self.send(target, &account, repeat).await {
            None => return Tried::Over,
            Some(Ok(served)) => {
                routing.served(&dispatch, self.scene.facts);
                return Tried::Answered(Box::new(self.answered(served, account)));
            }
            Some(Err(failed)) => *failed,
        };
        if matches!(failed.diagnosis.outcome, Outcome::Failure(_)) {
            routing.failed(&dispatch);
        }
        let (step, decision) = self.decide(here, account, failed, repeat);
        self.follow(decision, step, repeat).await
    }

    /// The walk ends with this answer.
    pub(super) fn answered(&mut self, served: Served, account: Account) -> Answered {
        let spent = self.end.recorder.part();
        let recorder = std::mem::replace(&mut self.end.recorder, spent);
        let Account { step, attempt, .. } = account;
        Answered { served, step, attempt, recorder }
    }

    /// What the account says; none, the combo's time is over.
    async fn send(
        &mut self,
        target: &Target,
        account: &Account,
        repeat: &Repeat,
    ) -> Option<Result<Served, Box<Failed>>> {
        let Scene { gateway, asked, deadline, .. } = self.scene;
        let Account { step, attempt, .. } = account;
        let recorder = &mut self.end.recorder;
        recorder.begin(&step.candidate, &step.entry.connection.name, step.operation.dialect());
        recorder.at_step(&target.execution_key);
        let wish = repeat.wish(asked);
        let relayed = handoff::relayed(&self.scene, self.request, &step.candidate.connection);
        let request = relayed.as_ref().unwrap_or(self.request);
        tokio::select! {
            biased;
            sent = send(gateway, request, step, &wish, attempt, recorder) => {
                if relayed.is_some() && sent.is_ok() {
                    handoff::handed_over(&self.scene, self.request, recorder);
                }
                return Some(sent);
            }
            () = gateway.clock().sleep_until(deadline) => {}
        }
        self.end.recorder.end_attempt("combo_timeout", "stop", None);
        self.end.timed_out = true;
        None
    }

    /// Settles a failed attempt, notes it, and asks the table.
    pub(super) fn decide(
        &mut self,
        here: Here<'p>,
        account: Account,
        failed: Failed,
        repeat: &Repeat,
    ) -> (Step, Decision) {
        let Account { step, mut attempt, more } = account;
        self.end.recorder.keeps_place(attempt.keep_share());
        let remaining: Vec<&Target> = self.order[here.at + 1..].iter().map(|place| place.target).collect();
        let position = Position {
            combo: Some(&self.scene.asked.config),
            target: here.place.target,
            connection: &step.candidate.connection,
            nature: &step.candidate.nature,
            repeated: repeat.times,
            adjusted: repeat.wish.max_output.is_some(),
            thoughtless: repeat.wish.without.is_some(),
            may_shorten: !repeat.wish.shortened && truncates_tools(self.scene.gateway),
            more_accounts: more,
            remaining: &remaining,
        };
        let outcome = &failed.diagnosis.outcome;
        if self.is_spoken_for(&failed, &position) {
            attempt.settle(&outcome.clone().sparing_provider());
        } else {
            attempt.settle(outcome);
        }
        let decision = self.rule(&step, &failed, &position);
        self.end.failed(failed);
        (step, decision)
    }

    /// Whether somebody at the next target will speak for the provider, so that this failure is not counted for its breaker.
    fn is_spoken_for(&self, failed: &Failed, position: &Position<'_>) -> bool {
        let Outcome::Failure(failure) = &failed.diagnosis.outcome else { return false };
        let Some(next) = decision::speaks_next(position) else { return false };
        let asker = Asker { turn: Turn::Nobody(None), ..asker(self.request, self.scene.asked.combo.strategy) };
        let (steps, _) = steps_of(self.scene.gateway, &asker, next);
        let status = failed.status.map(|status| status.as_u16());
        let exhausted = &self.end.recorder.journey.exhausted;
        let accounts = steps.iter().map(|step| &step.candidate.connection);
        decision::is_spoken_for(failure, status, position, exhausted, accounts)
    }

    /// What the table says to a failure that is settled.
    fn rule(&mut self, step: &Step, failed: &Failed, position: &Position<'_>) -> Decision {
        let ended = decision::Ended {
            outcome: &failed.diagnosis.outcome,
            status: failed.status.map(|status| status.as_u16()),
            message: &failed.message,
            hopeless: failed.diagnosis.next == resilience::failure::Next::Stop,
            benched: self.is_benched(step),
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
        let decision = decision::rule(&ended, position, &mut recorder.journey);
        recorder.decided(word(&decision));
        decision
    }

    /// Does what was decided.
    async fn follow(&mut self, decision: Decision, step: Step, repeat: &mut Repeat) -> Tried {
        match decision {
            Decision::Retry { after } => {
                repeat.times += 1;
                self.pause(after).await;
                Tried::Again(step)
            }
            Decision::Adjust { max_output } => {
                repeat.wish.max_output = Some(max_output);
                Tried::Again(step)
            }
            Decision::ThinkLess => {
                self.think_less(repeat);
                Tried::Again(step)
            }
            Decision::FewerTools => {
                repeat.wish.shortened = true;
                Tried::Again(step)
            }
            Decision::NextAccount => Tried::NextAccount,
            Decision::NextTarget { after } => {
                self.pause(after).await;
                Tried::NextTarget
            }
            Decision::Stop(stop) => {
                self.end.stop = Some(stop);
                Tried::Over
            }
        }
    }

    /// Earlier thinking is kept from the target.
    pub(super) fn think_less(&mut self, repeat: &mut Repeat) {
        repeat.wish.without = Some(Thoughts::All);
        self.end.recorder.warn(vec![DROPPED_REASONING.to_owned()]);
    }

    /// Whether the account, or the model on it, is spared by now.
    fn is_benched(&self, step: &Step) -> bool {
        let asker = asker(self.request, self.scene.asked.combo.strategy);
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
