//! Asks as a plan says: a list one after another, a panel at once, a chain link by link; and of a combo within, as that
//! combo's own plan says. What few requests need is boxed, so that the future of all the others stays small.

use std::pin::Pin;

use domain::Millis;
use routing::decision::Stop;
use routing::order::{Around, Leg};
use routing::{Plan, Target};

use super::walk::{End, Ended, Scene, walk};
use super::{chain, hedge, panel};
use crate::ingress::ClientRequest;
use crate::record::Recorder;

/// Performs the plan of a combo.
pub(super) async fn perform<'p>(
    scene: &Scene<'p>,
    request: &ClientRequest,
    around: &Around<'p>,
    plan: &'p Plan,
    recorder: Box<Recorder>,
) -> Ended {
    if !matches!(plan, Plan::Ranked { .. }) {
        // It is about to be written anew.
        request.read_aside(scene.gateway).await;
    }
    match plan {
        Plan::Ranked { pool, attempts } => {
            let steps = attempts.iter().map(|attempt| attempt.target);
            ask(scene, request, around.legs(pool, steps), around.config.hedge_after(), recorder).await
        }
        Plan::Panel { pool, members, judge, quorum } => {
            let panel = panel::Panel { around, pool, members, judge };
            Box::pin(panel::ask(scene, request, &panel, quorum.clone(), recorder)).await
        }
        Plan::Chain { pool, links } => Box::pin(chain::ask(scene, request, around, pool, links, recorder)).await,
    }
}

/// Asks one leg after another until somebody answers, or nobody else should be asked. `company`: after how long a slow target
/// of a list gets some.
pub(super) async fn ask<'p>(
    scene: &Scene<'p>,
    request: &ClientRequest,
    legs: Vec<Leg<'p>>,
    company: Option<Millis>,
    recorder: Box<Recorder>,
) -> Ended {
    let mut end = End::new(recorder);
    let mut legs = legs.into_iter();
    while let Some(leg) = legs.next() {
        let ended = match leg {
            Leg::List(places) => match company {
                Some(delay) => Box::pin(hedge::walk(scene, request, delay, &places, end.recorder)).await,
                None => walk(scene, request, &places, end.recorder).await,
            },
            Leg::Together { around, plan } => within(scene, request, around, plan, end.recorder).await,
        };
        match ended {
            Ended::Nobody(nobody) if nobody.may_go_on() => end = *nobody,
            Ended::Nobody(mut nobody) if nobody.stop == Some(Stop::MaxAttempts) => {
                legs.for_each(|leg| nobody.recorder.never_asks(targets(&leg)));
                return Ended::Nobody(nobody);
            }
            ended => return ended,
        }
    }
    Ended::Nobody(Box::new(end))
}

/// Whom a leg comes to.
fn targets<'p>(leg: &Leg<'p>) -> Vec<&'p Target> {
    match leg {
        Leg::List(places) => places.iter().map(|place| place.target).collect(),
        Leg::Together { plan, .. } => {
            plan.sequence().filter_map(|attempt| plan.pool().targets.get(attempt.target)).collect()
        }
    }
}

/// [`perform`] for a combo within, whose plan may hold further ones: boxed, so that the future has an end.
fn within<'f, 'p: 'f>(
    scene: &'f Scene<'p>,
    request: &'f ClientRequest,
    around: Around<'p>,
    plan: &'p Plan,
    recorder: Box<Recorder>,
) -> Pin<Box<dyn Future<Output = Ended> + Send + 'f>> {
    Box::pin(async move { perform(scene, request, &around, plan, recorder).await })
}
