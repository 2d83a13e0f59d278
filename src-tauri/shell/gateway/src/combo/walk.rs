//! One target after another, in the order of the plan; of each target one account after another.
//!
//! First nobody waits: whoever has a free place is asked. Only when all that are left are full does the request wait, for
//! the first of them (gateway specification, 3.4 and 3.8; resilience specification, 14).

use std::collections::VecDeque;

use domain::{ConnectionId, Exclusion, Mechanism, Millis, Outcome, Timestamp};
use resilience::{LocalLimit, Patience, Refusal, tool_limit};
use routing::combo::Strategy;
use routing::decision::{self, Decision, Position, Stop};
use routing::memory::Dispatch;
use routing::plan::Attempt as Planned;
use routing::view::RequestFacts;
use routing::{Plan, Target};

use super::Asked;
use super::book::asker;
use crate::admit::{self, Terms, Turned};
use crate::attempt::Attempt;
use crate::attempt_loop::Last;
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::plan::{Step, excluded_record, steps_of};
use crate::record::Recorder;
use crate::send::{Failed, Served, Wish, send};

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

/// A target, and the combo whose step it is.
pub(super) type Place<'p> = (&'p str, &'p Target);

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
}

/// A target that had no free place.
struct Full<'p> {
    target: &'p Target,
    combo: &'p str,
    at: usize,
    step: Step,
}

/// One level of nesting: a combo's name, and its plan.
struct Level<'p> {
    combo: &'p str,
    plan: &'p Plan,
}

/// What every walk of one request has in common.
#[derive(Clone, Copy)]
pub(super) struct Scene<'s> {
    pub(super) gateway: &'s Gateway,
    pub(super) asked: &'s Asked,
    pub(super) facts: &'s RequestFacts,
    pub(super) deadline: Timestamp,
}

/// The targets of a plan in their order.
pub(super) fn order<'p>(combo: &'p str, plan: &'p Plan) -> Vec<Place<'p>> {
    let mut order = Vec::new();
    flatten(&Level { combo, plan }, &mut order);
    order
}

pub(super) async fn walk(scene: &Scene<'_>, request: &ClientRequest, order: &[Place<'_>], recorder: Recorder) -> Ended {
    let Scene { gateway, asked, facts, deadline } = *scene;
    let mut walk = Walk { gateway, request, asked, facts, deadline, end: End::new(recorder), full: Vec::new(), order };
    for at in 0..order.len() {
        match walk.target(at).await {
            Went::On => {}
            Went::Answered(answered) => return Ended::Answered(answered),
            Went::Over => return Ended::Nobody(Box::new(walk.end)),
        }
    }
    walk.wait_for_a_place().await
}

/// The targets of a plan in their order, those of nested combos in the place of their combo.
fn flatten<'p>(level: &Level<'p>, order: &mut Vec<Place<'p>>) {
    let Plan::Ranked { pool, attempts } = level.plan else {
        // A panel or a chain inside another combo: its targets in their order.
        order.extend(level.plan.pool().targets.iter().map(|target| (level.combo, target)));
        return;
    };
    for Planned { target, .. } in attempts {
        match pool.nested.get(target) {
            Some(plan) => {
                let combo = pool.targets[*target].label.as_deref().unwrap_or(level.combo);
                flatten(&Level { combo, plan }, order);
            }
            None => order.push((level.combo, &pool.targets[*target])),
        }
    }
}

/// Who was left out by the plan, as the request's page shows it.
pub(super) fn records(plan: &Plan) -> Vec<domain::request_log::ExclusionRecord> {
    plan.left_out()
        .map(|(target, left_out)| domain::request_log::ExclusionRecord {
            provider: target.provider.clone(),
            model: target.model.clone(),
            connection: target.connection.clone(),
            connection_name: None,
            exclusion: left_out.exclusion(),
        })
        .collect()
}

struct Walk<'w, 'p> {
    gateway: &'w Gateway,
    request: &'w ClientRequest,
    asked: &'w Asked,
    facts: &'w RequestFacts,
    deadline: Timestamp,
    end: End,
    full: Vec<Full<'p>>,
    order: &'p [Place<'p>],
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
struct Repeat {
    times: u32,
    wish: Wish,
}

impl<'p> Walk<'_, 'p> {
    async fn target(&mut self, at: usize) -> Went {
        let (combo, target) = self.order[at];
        if self.end.recorder.journey.exhausted.excludes(&target.provider, &target.model) {
            self.skip(target, Exclusion::lasting(Mechanism::RequestExhaustion, "request_exhaustion"));
            return Went::On;
        }
        let mut steps = self.accounts(target);
        let mut repeat = Repeat::default();
        while let Some(step) = steps.pop_front() {
            let terms = self.terms(target, &step.candidate.connection);
            let permit = match admit::at_once(self.gateway, &step, &terms) {
                Ok(permit) => permit,
                Err(exclusion) => {
                    if exclusion.mechanism.is_full() {
                        self.full.push(Full { target, combo, at, step: step.clone() });
                    }
                    self.skip_step(&step, exclusion);
                    continue;
                }
            };
            match self.attempt(combo, target, at, step, permit, !steps.is_empty(), &mut repeat).await {
                Tried::Answered(answered) => return Went::Answered(answered),
                Tried::Again(step) => steps.push_front(step),
                Tried::NextAccount => {}
                Tried::NextTarget => return Went::On,
                Tried::Over => return Went::Over,
            }
        }
        Went::On
    }

    /// The accounts that may serve a target, in the order in which they are asked.
    fn accounts(&mut self, target: &Target) -> VecDeque<Step> {
        let asker = asker(self.request, self.asked.combo.strategy);
        let (mut steps, exclusions) = steps_of(self.gateway, &asker, target);
        let exhausted = &self.end.recorder.journey.exhausted;
        steps.retain(|step| !exhausted.excludes_connection(&target.provider, &step.candidate.connection));
        self.end.recorder.journey.exclusions.extend(exclusions);
        steps.into()
    }

    fn terms<'t>(&'t self, target: &'t Target, account: &ConnectionId) -> Terms<'t> {
        let combo_gate = match self.asked.combo.strategy {
            Strategy::RoundRobin => Some(resilience::ComboGate::Target {
                combo: &self.asked.combo.name,
                execution_key: &target.execution_key,
                cap: self.asked.config.concurrency_per_model,
            }),
            Strategy::QuotaShare => Some(resilience::ComboGate::QuotaShare { lowered: self.asked.lowered }),
            _ => None,
        };
        let config = &self.asked.config;
        Terms {
            caller: resilience::Caller::Combo,
            tools: self.request.glance.tool_count,
            quota_cutoff: self.asked.combo.strategy != Strategy::Auto,
            combo_gate,
            has_share: self.end.recorder.has_place_at(account),
            patience: Patience { wait: config.queue_timeout, depth: Some(config.queue_depth) },
        }
    }

    /// Everyone who is left is full: waits for the first of them.
    async fn wait_for_a_place(mut self) -> Ended {
        // Of a quota pool nobody is refused for want of a place, whatever was tried before.
        let may_wait = self.end.recorder.journey.attempts.is_empty() || self.asked.pool().is_some();
        if !may_wait || self.full.is_empty() {
            return Ended::Nobody(Box::new(self.end));
        }
        let Full { target, combo, at, step } = self.full.remove(0);
        let terms = self.terms(target, &step.candidate.connection);
        let turn = tokio::select! {
            biased;
            turn = admit::in_turn(self.gateway, &step, &terms) => turn,
            () = self.gateway.clock().sleep_until(self.deadline) => {
                self.end.timed_out = true;
                return Ended::Nobody(Box::new(self.end));
            }
        };
        let Turned { attempt, queued } = match turn {
            Ok(turned) => turned,
            Err(Refusal::Excluded(exclusion)) => {
                self.skip_step(&step, exclusion);
                return Ended::Nobody(Box::new(self.end));
            }
            Err(Refusal::Local(limit)) => {
                self.end.local = Some(limit);
                return Ended::Nobody(Box::new(self.end));
            }
        };
        self.end.recorder.waited(queued);
        match self.attempt(combo, target, at, step, attempt, false, &mut Repeat::default()).await {
            Tried::Answered(answered) => Ended::Answered(answered),
            Tried::Again(_) | Tried::NextAccount | Tried::NextTarget | Tried::Over => Ended::Nobody(Box::new(self.end)),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what one attempt is about, each of another kind")]
    async fn attempt(
        &mut self,
        combo: &str,
        target: &Target,
        at: usize,
        step: Step,
        mut attempt: Attempt,
        more_accounts: bool,
        repeat: &mut Repeat,
    ) -> Tried {
        self.end.recorder.goes_on_in_place(&mut attempt, &step.candidate.connection);
        let routing = self.gateway.routing();
        let strategy = self.asked.combo.strategy;
        let connection = step.candidate.connection.clone();
        let dispatch = Dispatch { combo, strategy, target, connection: &connection };
        routing.dispatched(&dispatch);
        let recorder = &mut self.end.recorder;
        recorder.begin(&step.candidate, &step.entry.connection.name, step.operation.dialect());
        recorder.at_step(&target.execution_key);
        let wish = Wish { start_limit: Some(self.asked.config.target_timeout), ..repeat.wish };
        let sending = send(self.gateway, self.request, &step, &wish, &attempt, recorder);
        let sent = tokio::select! {
            biased;
            sent = sending => sent,
            () = self.gateway.clock().sleep_until(self.deadline) => {
                recorder.end_attempt("combo_timeout", "stop", None);
                self.end.timed_out = true;
                return Tried::Over;
            }
        };
        let failed = match sent {
            Ok(served) => {
                routing.served(&dispatch, self.facts);
                let spent = recorder.part();
                let recorder = std::mem::replace(recorder, spent);
                return Tried::Answered(Box::new(Answered { served, step, attempt, recorder }));
            }
            Err(failed) => failed,
        };
        if matches!(failed.diagnosis.outcome, Outcome::Failure(_)) {
            routing.failed(&dispatch);
        }
        self.decide(target, at, step, attempt, *failed, more_accounts, repeat).await
    }

    #[expect(clippy::too_many_arguments, reason = "what one failure is about, each of another kind")]
    async fn decide(
        &mut self,
        target: &Target,
        at: usize,
        step: Step,
        mut attempt: Attempt,
        failed: Failed,
        more_accounts: bool,
        repeat: &mut Repeat,
    ) -> Tried {
        let remaining: Vec<&Target> = self.order[at + 1..].iter().map(|(_, target)| *target).collect();
        let position = Position {
            combo: Some(&self.asked.config),
            target,
            connection: &step.candidate.connection,
            nature: &step.candidate.nature,
            repeated: repeat.times,
            adjusted: repeat.wish.max_output.is_some(),
            more_accounts,
            remaining: &remaining,
        };
        self.end.recorder.keeps_place(attempt.keep_share());
        if decision::may_charge_provider(&position) {
            attempt.settle(&failed.diagnosis.outcome);
        } else {
            attempt.settle(&failed.diagnosis.outcome.clone().sparing_provider());
        }
        let tool_limit = tool_limit::read(failed.status.map_or(0, |status| status.as_u16()), &failed.message);
        if let Some(limit) = tool_limit {
            self.gateway.engine().note_tool_limit(&target.provider, limit);
        }
        let benched = self.is_benched(&step);
        let ended = decision::Ended {
            outcome: &failed.diagnosis.outcome,
            status: failed.status.map(|status| status.as_u16()),
            message: &failed.message,
            hopeless: failed.diagnosis.next == resilience::failure::Next::Stop,
            benched,
            too_many_tools: tool_limit.is_some(),
        };
        self.end.local = failed.limit.clone();
        let recorder = &mut self.end.recorder;
        // The table counts this attempt.
        recorder.end_attempt(failed.kind, "", Some(&failed.message));
        if let Outcome::Failure(failure) = &failed.diagnosis.outcome {
            recorder.journey.failed(step.candidate.connection.clone(), failure.clone());
        }
        let decision = decision::rule(&ended, &position, &mut recorder.journey);
        recorder.decided(word(&decision));
        self.end.last = Some(Last::of(failed));
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

    /// Whether the account, or the model on it, is spared by now.
    fn is_benched(&self, step: &Step) -> bool {
        let asker = asker(self.request, self.asked.combo.strategy);
        let word = crate::plan::availability(self.gateway, &asker, &step.provider, &step.candidate, &step.entry);
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
            self.gateway.clock().sleep_until((self.gateway.now() + length).min(self.deadline)).await;
        }
    }

    fn skip(&mut self, target: &Target, exclusion: Exclusion) {
        self.end.recorder.journey.exclusions.push(domain::request_log::ExclusionRecord {
            provider: target.provider.clone(),
            model: target.model.clone(),
            connection: target.connection.clone(),
            connection_name: None,
            exclusion,
        });
    }

    fn skip_step(&mut self, step: &Step, exclusion: Exclusion) {
        let name = step.entry.connection.name.clone();
        self.end.recorder.journey.exclusions.push(excluded_record(&step.candidate, Some(name), exclusion));
    }
}

/// The decision as the attempt's row shows it.
fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Retry { .. } => "retry",
        Decision::Adjust { .. } => "retry_with_less",
        Decision::NextAccount => "next_connection",
        Decision::NextTarget { .. } => "next_target",
        Decision::Stop(_) => "stop",
    }
}
