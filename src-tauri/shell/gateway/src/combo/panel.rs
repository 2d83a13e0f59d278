//! `fusion`: a panel is asked at once, a judge writes the answer from what it said (gateway specification, 3.4).
//!
//! Who has answered and how long to wait is `routing`'s [`Quorum`]; here the members run side by side. The judge gets the
//! answers without their names and in a shuffled order, so that it weighs what was said and not who said it.

use dialects::canonical::Request;
use domain::{Outcome, Success};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use routing::order::{Around, Leg};
use routing::plan::Pool;
use routing::strategies::fusion::{Judge, Quorum, Verdict};

use super::book::GatewayBook;
use super::walk::{Answered, End, Ended, Scene, walk};
use super::{perform, sub_request};
use crate::ingress::ClientRequest;
use crate::record::Recorder;

/// What one member said.
struct Said {
    member: usize,
    text: Option<String>,
    recorder: Recorder,
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
    mut quorum: Quorum,
    mut recorder: Recorder,
) -> Ended {
    let Ok(question) = sub_request::whole(request, |_| {}) else { return Ended::Nobody(Box::new(End::new(recorder))) };
    let mut texts: Vec<Option<String>> = vec![None; panel.members.len()];
    let mut running: FuturesUnordered<_> = panel
        .members
        .iter()
        .enumerate()
        .map(|(member, index)| member_of(scene, &question, panel.legs(*index), member, recorder.part()))
        .collect();
    let chosen = loop {
        match quorum.verdict(scene.gateway.now()) {
            Verdict::Wait { until } => tokio::select! {
                biased;
                Some(said) = running.next() => {
                    match &said.text {
                        Some(_) => quorum.on_answer(said.member, scene.gateway.now()),
                        None => quorum.on_failure(said.member),
                    }
                    texts[said.member] = said.text;
                    recorder.absorb(said.recorder);
                }
                () = scene.gateway.clock().sleep_until(until.min(scene.deadline)) => {
                    if scene.gateway.now() >= scene.deadline {
                        return Ended::Nobody(Box::new(End { timed_out: true, ..End::new(recorder) }));
                    }
                }
            },
            Verdict::Judge { members } => break members,
            Verdict::Answer { member } => break vec![member],
            Verdict::Fail => return Ended::Nobody(Box::new(End::new(recorder))),
        }
    };
    // Those who are still thinking are not needed any more.
    drop(running);
    let answers: Vec<String> = chosen.iter().filter_map(|member| texts.get_mut(*member)?.take()).collect();
    write(scene, request, panel, answers, recorder).await
}

impl<'p> Panel<'_, 'p> {
    fn legs(&self, index: usize) -> Vec<Leg<'p>> {
        self.around.legs(self.pool, [index])
    }
}

async fn member_of<'p>(
    scene: &Scene<'p>,
    question: &ClientRequest,
    legs: Vec<Leg<'p>>,
    member: usize,
    recorder: Recorder,
) -> Said {
    match perform::ask(scene, question, legs, None, recorder).await {
        Ended::Answered(answered) => {
            let Answered { served, attempt, mut recorder, .. } = *answered;
            attempt.settle(&Outcome::Success(Success { usage: *recorder.usage() }));
            recorder.next_call();
            Said { member, text: sub_request::text_of(question, served).await, recorder }
        }
        Ended::Nobody(end) => Said { member, text: None, recorder: end.recorder },
    }
}

/// The judge writes; with a single answer it passes that on in its own words.
async fn write<'p>(
    scene: &Scene<'p>,
    request: &ClientRequest,
    panel: &Panel<'_, 'p>,
    mut answers: Vec<String>,
    recorder: Recorder,
) -> Ended {
    scene.gateway.routing().shuffle(&mut answers);
    let Ok(made) = sub_request::last(request, |asked| instruct(asked, &answers)) else {
        return Ended::Nobody(Box::new(End::new(recorder)));
    };
    match panel.judge {
        Judge::Target(index) => perform::ask(scene, &made, panel.legs(*index), None, recorder).await,
        Judge::Named(name) => {
            let named = GatewayBook::new(scene.gateway, request, panel.around.strategy)
                .target_named(name, request.requested_model());
            match &named {
                Some(target) => walk(scene, &made, &[panel.around.place(target)], recorder).await,
                None => Ended::Nobody(Box::new(End::new(recorder))),
            }
        }
    }
}

fn instruct(asked: &mut Request, answers: &[String]) {
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
