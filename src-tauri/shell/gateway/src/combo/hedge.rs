//! Hedging: a target that is slow to say its first useful thing gets company (gateway specification, 3.2).
//!
//! The walk is the same as without: one target after another, each failure put before the same table. Only that a second
//! target is begun beside the first when that has said nothing for so long, and that whoever says something useful first
//! is the answer. Two at most run side by side, so that a slow model costs twice, not as often as the combo is long. The
//! other one is called off: its call is cancelled, its places are given back, and nothing is held against it. Each counts
//! among the attempts of the request.
//!
//! All decisions are taken here, one after another, on the one story of the request; side by side run only the calls.

use domain::{Millis, Timestamp};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use routing::decision::Stop;
use routing::order::Place;

use super::account::{Account, Here, Lane, Then, ask_account};
use super::walk::{Answer, Ended, Scene, Walk};
use crate::failed::Failed;
use crate::ingress::ClientRequest;
use crate::record::{CutOff, Recorder};
use crate::send::Served;

/// How many run side by side.
const ABREAST: usize = 2;

/// What happens to a lane.
enum News<'p> {
    /// It was waited for as long as the table said.
    Rested(Lane<'p>),
    /// Its account has answered, or not.
    Back(Box<Back<'p>>),
}

struct Back<'p> {
    lane: Lane<'p>,
    account: Account,
    recorder: Box<Recorder>,
    sent: Result<Served, Box<Failed>>,
}

/// What a lane does next.
enum Way {
    /// Nothing until then.
    Rest(Timestamp),
    /// The call to an account, told to a story of its own.
    Ask(Box<(Account, Box<Recorder>)>),
}

/// What news lead to.
enum Turn<'p> {
    Answered(Box<Answer>),
    /// Somebody may have more to do.
    GoesOn(Option<(Lane<'p>, Way)>),
    Over,
}

struct Hedge<'h, 'p> {
    walk: Walk<'h, 'p>,
    delay: Millis,
    /// The next target of the order.
    next: usize,
    /// When the youngest of them began.
    youngest: Timestamp,
}

/// Asks the targets of an order like [`super::walk::walk`], the next one beside one that says nothing useful for `delay`.
pub(super) async fn walk(
    scene: &Scene<'_>,
    request: &ClientRequest,
    delay: Millis,
    order: &[Place<'_>],
    recorder: Box<Recorder>,
) -> Ended {
    let gateway = scene.gateway;
    let walk = Walk::new(scene, request, order, recorder);
    let mut hedge = Hedge { walk, delay, next: 0, youngest: gateway.now() };
    let mut running = FuturesUnordered::new();
    loop {
        if running.is_empty() {
            match hedge.next_lane() {
                Some((lane, way)) => running.push(go(scene, request, lane, way)),
                None if hedge.walk.end.is_final() => return Ended::Nobody(Box::new(hedge.walk.end)),
                None => return hedge.walk.wait_for_a_place().await,
            }
        }
        let company = hedge.company_at(running.len());
        tokio::select! {
            biased;
            Some(news) = running.next() => match hedge.hear(news, running.is_empty()) {
                Turn::Answered(answer) => {
                    drop(running);
                    hedge.walk.end.recorder.take_up(&CutOff::LOST);
                    return hedge.walk.answered(*answer);
                }
                Turn::GoesOn(lane) => running.extend(lane.map(|(lane, way)| go(scene, request, lane, way))),
                Turn::Over => {
                    drop(running);
                    hedge.walk.end.recorder.take_up(&CutOff::NEEDLESS);
                    if hedge.walk.end.has_asked_everybody() {
                        return hedge.walk.wait_for_a_place().await;
                    }
                    return Ended::Nobody(Box::new(hedge.walk.end));
                }
            },
            () = gateway.clock().sleep_until(company.unwrap_or(scene.deadline)), if company.is_some() => {
                let lane = hedge.next_lane();
                running.extend(lane.map(|(lane, way)| go(scene, request, lane, way)));
            }
            () = gateway.clock().sleep_until(scene.deadline) => {
                drop(running);
                hedge.walk.end.recorder.take_up(&CutOff::LATE);
                hedge.walk.end.timed_out = true;
                return Ended::Nobody(Box::new(hedge.walk.end));
            }
        }
    }
}

/// Rests, or asks one account and comes back with what it said. Dropped, it is called off.
async fn go<'p>(scene: &Scene<'_>, request: &ClientRequest, lane: Lane<'p>, way: Way) -> News<'p> {
    let (account, mut recorder) = match way {
        Way::Ask(call) => *call,
        Way::Rest(until) => {
            scene.gateway.clock().sleep_until(until).await;
            return News::Rested(lane);
        }
    };
    let sent = ask_account(scene, request, &lane, &account, &mut recorder).await;
    News::Back(Box::new(Back { lane, account, recorder, sent }))
}

impl<'p> Hedge<'_, 'p> {
    /// The next target that has an account with a free place.
    fn next_lane(&mut self) -> Option<(Lane<'p>, Way)> {
        while let Some(place) = self.walk.order.get(self.next) {
            if self.walk.end.recorder.is_spent() {
                self.walk.runs_out(self.next);
                return None;
            }
            let here = Here { place, at: self.next };
            self.next += 1;
            let Some(steps) = self.walk.candidates(here) else { continue };
            let begun = self.ask(Lane::new(here, steps));
            if begun.is_some() {
                return begun;
            }
        }
        None
    }

    /// Begins a call to the next account of a target that has a place at once.
    fn ask(&mut self, mut lane: Lane<'p>) -> Option<(Lane<'p>, Way)> {
        if self.walk.end.recorder.is_spent() {
            self.walk.runs_out(lane.here.at);
            return None;
        }
        let account = self.walk.free_place(&mut lane)?;
        self.youngest = self.walk.scene.gateway.now();
        let step = &account.step;
        let name = &step.entry.connection.name;
        self.walk.end.recorder.addressed(&step.candidate, name, step.operation.dialect());
        let mut part = self.walk.end.recorder.part();
        part.claim();
        Some((lane, Way::Ask(Box::new((account, part)))))
    }

    /// When another target is begun beside the one that runs alone; none, never: nobody is left, or the one that runs may be
    /// left for an exhausted quota only.
    fn company_at(&self, running: usize) -> Option<Timestamp> {
        let last = self.next.checked_sub(1).and_then(|last| self.walk.order.get(last))?;
        let may = running < ABREAST && self.next < self.walk.order.len() && !self.walk.end.recorder.is_spent();
        (may && !last.target.fallback_only_on_quota_exhaustion).then(|| self.youngest + self.delay)
    }

    /// Takes in what has happened; `alone`, nobody else is on the way.
    fn hear(&mut self, news: News<'p>, alone: bool) -> Turn<'p> {
        let Back { mut lane, account, recorder, sent } = match news {
            News::Rested(lane) => return Turn::GoesOn(self.ask(lane)),
            News::Back(back) => *back,
        };
        let failed = match sent {
            Ok(served) => {
                self.walk.end.recorder.go_on_with(recorder);
                self.walk.end.recorder.goes_to(&account.step.candidate.connection);
                return Turn::Answered(Box::new(Answer { served, account }));
            }
            Err(failed) => *failed,
        };
        self.walk.end.recorder.go_on_with(recorder);
        let then = self.walk.decide(&mut lane, account, failed);
        self.follow(then, lane, alone)
    }

    /// Does what follows a failure at one of the targets.
    fn follow(&mut self, then: Then, mut lane: Lane<'p>, alone: bool) -> Turn<'p> {
        let now = self.walk.scene.gateway.now();
        match then {
            Then::Again { after } if after > Millis::ZERO => Turn::GoesOn(Some((lane, Way::Rest(now + after)))),
            Then::Again { .. } | Then::NextAccount => Turn::GoesOn(self.ask(lane)),
            Then::NextTarget { after } => {
                // Without anybody left to ask, the lane only rests until the next one may begin.
                lane.steps.clear();
                Turn::GoesOn((alone && after > Millis::ZERO).then(|| (lane, Way::Rest(now + after))))
            }
            Then::Over(stop) => {
                let others_may_answer = matches!(stop, Stop::Exhausted | Stop::MaxAttempts);
                if alone || !others_may_answer { Turn::Over } else { Turn::GoesOn(None) }
            }
        }
    }
}
