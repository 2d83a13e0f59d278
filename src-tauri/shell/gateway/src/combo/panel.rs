//! `fusion`: a panel is asked at once, a judge writes the answer from what it said (gateway specification, 3.4).
//!
//! Who has answered and how long to wait is `routing`'s [`Quorum`]; here the members run side by side. The judge gets the
//! answers without their names and in a shuffled order, so that it weighs what was said and not who said it.
//!
//! Where nobody was chosen to judge, the members that have answered are asked to, one after another, and where none of them
//! can, the first one's answer stands as it is: an answer that is here is not lost for want of a better one. A judge that
//! somebody chose is another matter: what it has not seen is not shown.

use std::collections::{BTreeMap, BTreeSet};

use dialects::canonical::Request;
use domain::{Outcome, Success};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use routing::decision::Stop;
use routing::order::{Around, Leg};
use routing::plan::Pool;
use routing::strategies::fusion::{Judge, Quorum, Verdict};

use super::book::GatewayBook;
use super::sub_request::WholeAnswer;
use super::walk::{Answered, End, Ended, Scene, walk};
use super::{perform, sub_request};
use crate::attempt::Attempt;
use crate::ingress::ClientRequest;
use crate::plan::Step;
use crate::record::{CutOff, Recorder};

/// Code of the warning that one member's answer stands as it is, because nobody could judge.
const UNJUDGED: &str = "FUSION_UNJUDGED";

/// What one member said.
struct Said {
    member: usize,
    answer: Option<Spoken>,
    /// It could not be asked as often as it should have been: the request had made its attempts.
    is_spent: bool,
    recorder: Box<Recorder>,
}

/// What a member answered, for a judge to read or to stand as it is.
struct Spoken {
    answer: WholeAnswer,
    step: Step,
    /// Settled by now.
    attempt: Attempt,
    /// The number of that attempt.
    n: Option<u32>,
}

/// What was heard by the time the panel was over.
#[derive(Default)]
struct Heard {
    /// By the member's place.
    answers: BTreeMap<usize, Spoken>,
    failed: BTreeSet<usize>,
    /// Some could not be asked any more.
    is_spent: bool,
}

/// Who sits, and who writes. A member is a target, or a combo within that answers as one.
#[derive(Clone, Copy)]
pub(super) struct Panel<'a, 'p> {
    pub(super) around: &'a Around<'p>,
    pub(super) pool: &'p Pool,
    pub(super) members: &'p [usize],
    pub(super) judge: &'p Judge,
}

pub(super) async fn ask<'p>(
    scene: &Scene<'p>,
    request: &ClientRequest,
    panel: &Panel<'_, 'p>,
    quorum: Quorum,
    recorder: Box<Recorder>,
) -> Ended {
    let Ok(question) = sub_request::whole(request, |_| {}) else { return Ended::Nobody(Box::new(End::new(recorder))) };
    let mut end = End::new(recorder);
    let Some((verdict, heard)) = listen(scene, &question, panel, quorum, &mut end).await else {
        return Ended::Nobody(Box::new(end));
    };
    match verdict {
        Verdict::Judge { .. } => match panel.judge {
            Judge::Member => by_members(scene, request, panel, heard, end.recorder).await,
            Judge::Target(_) | Judge::Named(_) => by_the_chosen(scene, request, panel, heard, end.recorder).await,
        },
        Verdict::Answer { .. } => {
            end.recorder.warn(end.timed_out.then(|| UNJUDGED.to_owned()).into_iter().collect());
            stands(scene, request, heard, end)
        }
        Verdict::Wait { .. } | Verdict::Fail => {
            end.stop = heard.is_spent.then_some(Stop::MaxAttempts);
            Ended::Nobody(Box::new(end))
        }
    }
}

impl<'p> Panel<'_, 'p> {
    fn legs(&self, index: usize) -> Vec<Leg<'p>> {
        self.around.legs(self.pool, [index])
    }

    /// What the member of this place comes to.
    fn member(&self, place: usize) -> Vec<Leg<'p>> {
        self.members.get(place).map_or_else(Vec::new, |index| self.legs(*index))
    }
}

/// Asks all members at once until the panel is over; those who are still thinking are not needed any more. Nothing when the
/// combo's own time ends first, except where an answer is at hand that nobody else has to see.
async fn listen<'p>(
    scene: &Scene<'p>,
    question: &ClientRequest,
    panel: &Panel<'_, 'p>,
    mut quorum: Quorum,
    end: &mut End,
) -> Option<(Verdict, Heard)> {
    let mut heard = Heard::default();
    // However often members are asked, one attempt is the judge's.
    let of_the_judge = end.recorder.keep_attempt();
    let mut running: FuturesUnordered<_> = (0..panel.members.len())
        .map(|member| {
            let mut part = end.recorder.part();
            part.asks(question);
            member_of(scene, question, panel.member(member), member, part)
        })
        .collect();
    let verdict = loop {
        let until = match quorum.verdict(scene.gateway.now()) {
            Verdict::Wait { until } => until,
            verdict => break Some(verdict),
        };
        tokio::select! {
            biased;
            Some(said) = running.next() => {
                heard.is_spent |= said.is_spent;
                match said.answer {
                    Some(answer) => {
                        quorum.on_answer(said.member, scene.gateway.now());
                        heard.answers.insert(said.member, answer);
                    }
                    None => {
                        quorum.on_failure(said.member);
                        heard.failed.insert(said.member);
                    }
                }
                end.recorder.absorb(said.recorder);
            }
            () = scene.gateway.clock().sleep_until(until.min(scene.deadline)) => {
                if scene.gateway.now() >= scene.deadline {
                    end.timed_out = true;
                    let first = heard.answers.keys().next().copied().filter(|_| *panel.judge == Judge::Member);
                    break first.map(|member| Verdict::Answer { member });
                }
            }
        }
    };
    drop(running);
    drop(of_the_judge);
    end.recorder.take_up(if end.timed_out { &CutOff::LATE } else { &CutOff::PANEL_OVER });
    Some((verdict?, heard))
}

async fn member_of<'p>(
    scene: &Scene<'p>,
    question: &ClientRequest,
    legs: Vec<Leg<'p>>,
    member: usize,
    recorder: Box<Recorder>,
) -> Said {
    match perform::ask(scene, question, legs, None, recorder).await {
        Ended::Answered(answered) => {
            let Answered { served, step, mut attempt, mut recorder } = *answered;
            attempt.settle_early(&Outcome::Success(Success { usage: *recorder.usage() }));
            let n = recorder.next_call();
            let answer = WholeAnswer::read(question, served).await;
            Said { member, answer: answer.map(|answer| Spoken { answer, step, attempt, n }), is_spent: false, recorder }
        }
        Ended::Nobody(end) => {
            let is_spent = end.stop == Some(Stop::MaxAttempts);
            Said { member, answer: None, is_spent, recorder: end.recorder }
        }
    }
}

/// The judge that the combo names writes, or nobody does. A member that has failed was asked as often as it may be.
async fn by_the_chosen<'p>(
    scene: &Scene<'p>,
    request: &ClientRequest,
    panel: &Panel<'_, 'p>,
    heard: Heard,
    mut recorder: Box<Recorder>,
) -> Ended {
    let nobody = |recorder| Ended::Nobody(Box::new(End::new(recorder)));
    let Some(made) = for_the_judge(scene, request, &heard) else { return nobody(recorder) };
    recorder.asks(&made);
    match panel.judge {
        Judge::Target(index) => {
            let has_failed = panel
                .members
                .iter()
                .position(|member| member == index)
                .is_some_and(|place| heard.failed.contains(&place));
            if has_failed {
                return nobody(recorder);
            }
            perform::ask(scene, &made, panel.legs(*index), None, recorder).await
        }
        Judge::Named(name) => {
            let named = GatewayBook::new(scene.gateway, request, panel.around.strategy)
                .target_named(name, request.requested_model());
            match &named {
                Some(target) => walk(scene, &made, &[panel.around.place(target)], recorder).await,
                None => nobody(recorder),
            }
        }
        Judge::Member => nobody(recorder),
    }
}

/// One of those who have answered writes: the first that can.
async fn by_members<'p>(
    scene: &Scene<'p>,
    request: &ClientRequest,
    panel: &Panel<'_, 'p>,
    heard: Heard,
    recorder: Box<Recorder>,
) -> Ended {
    let mut end = End::new(recorder);
    let has_time = scene.gateway.now() < scene.deadline;
    if has_time && let Some(made) = for_the_judge(scene, request, &heard) {
        end.recorder.asks(&made);
        for member in heard.answers.keys() {
            match perform::ask(scene, &made, panel.member(*member), None, end.recorder).await {
                Ended::Nobody(nobody) => end = *nobody,
                answered @ Ended::Answered(_) => return answered,
            }
            if end.is_final() {
                break;
            }
        }
    }
    end.recorder.warn(vec![UNJUDGED.to_owned()]);
    stands(scene, request, heard, end)
}

/// The first of the members' answers is the client's, as it is.
fn stands(scene: &Scene<'_>, request: &ClientRequest, mut heard: Heard, mut end: End) -> Ended {
    let Some((_, spoken)) = heard.answers.pop_first() else { return Ended::Nobody(Box::new(end)) };
    let Spoken { answer, step, attempt, n } = spoken;
    match answer.serve(scene.gateway, request, &step) {
        Ok(served) => {
            end.recorder.settles_for(&step, n);
            Ended::Answered(Box::new(Answered { served, step, attempt, recorder: end.recorder }))
        }
        Err(_) => Ended::Nobody(Box::new(end)),
    }
}

/// The client's request with what the members said; none, it cannot be written.
fn for_the_judge(scene: &Scene<'_>, request: &ClientRequest, heard: &Heard) -> Option<ClientRequest> {
    let mut answers: Vec<&str> = heard.answers.values().map(|spoken| spoken.answer.text.as_str()).collect();
    scene.gateway.routing().shuffle(&mut answers);
    sub_request::last(request, |asked| instruct(asked, &answers)).ok()
}

fn instruct(asked: &mut Request, answers: &[&str]) {
    let mut text = String::from(
        "Several assistants answered the request above independently. Their answers follow, in no particular order. Write \
         the one answer that the user should get: keep what is right, correct what is wrong, and do not mention the \
         assistants.",
    );
    for (label, answer) in ('A'..='Z').zip(answers) {
        text.push_str(&format!("\n\n[Answer {label}]\n{answer}"));
    }
    asked.turns.push(sub_request::user(text));
}
