//! `pipeline`: the steps work one after another, each on the conversation and what the step before it wrote (gateway
//! specification, 3.4). Only the last one has the client's tools, and only its answer is the client's.

use dialects::canonical::Request;
use domain::{Outcome, Success};
use routing::decision::Stop;
use routing::order::Around;
use routing::plan::Pool;

use super::perform;
use super::sub_request;
use super::walk::{Answered, End, Ended, Scene};
use crate::ingress::ClientRequest;
use crate::record::Recorder;

/// Asks the links of the combo `around`: of each its targets in their order, or what a combo within comes to.
pub(super) async fn ask<'p>(
    scene: &Scene<'p>,
    request: &ClientRequest,
    around: &Around<'p>,
    pool: &'p Pool,
    links: &[Vec<usize>],
    mut recorder: Box<Recorder>,
) -> Ended {
    let mut written: Option<String> = None;
    for (n, link) in links.iter().enumerate() {
        let prompt = link.first().and_then(|index| pool.targets.get(*index)?.prompt.as_deref());
        let is_last = n + 1 == links.len();
        let change = |asked: &mut Request| hand_on(asked, prompt, written.as_deref());
        let made = if is_last { sub_request::last(request, change) } else { sub_request::whole(request, change) };
        let Ok(made) = made else { return given_up(recorder) };
        recorder.asks(&made);
        let answered = match perform::ask(scene, &made, around.legs(pool, link.iter().copied()), None, recorder).await {
            Ended::Answered(answered) if !is_last => *answered,
            ended => return ended,
        };
        let Answered { served, attempt, recorder: mut told, .. } = answered;
        attempt.settle(&Outcome::Success(Success { usage: *told.usage() }));
        told.next_call();
        recorder = told;
        match sub_request::text_of(&made, served).await {
            Some(text) => written = Some(text),
            None => return given_up(recorder),
        }
    }
    given_up(recorder)
}

/// What a step is given: its own instructions, the conversation, and the text before it.
fn hand_on(asked: &mut Request, prompt: Option<&str>, written: Option<&str>) {
    if let Some(prompt) = prompt {
        sub_request::system(asked, prompt);
    }
    asked.turns.extend(written.map(|text| sub_request::user(text.to_owned())));
}

/// A step wrote nothing that the next one could work on.
fn given_up(recorder: Box<Recorder>) -> Ended {
    Ended::Nobody(Box::new(End { stop: Some(Stop::Surface), ..End::new(recorder) }))
}
