//! The calendar of a replay: requests arrive, attempts end, pauses are over, places become free.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use domain::{Availability, Candidate, Millis, Neutral, Outcome, Timestamp};
use gateway::Telemetries;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;
use resilience::{Effects, Engine, Permit, Refusal, Ticket};
use routing::Memory;

use super::Figures;
use super::book::ReplayBook;
use super::ground::Ground;
use super::outcomes::Outcomes;
use super::story::Story;
use super::traveller::{Resumes, Stand, Traveller};

pub(super) struct World<'w> {
    pub(super) ground: &'w Ground,
    pub(super) outcomes: &'w Outcomes,
    stories: &'w [Story],
    /// Every request goes to this combo.
    only: Option<&'w str>,
    pub(super) seed: u64,
    pub(super) engine: Engine,
    pub(super) memory: Memory,
    pub(super) rng: ChaCha12Rng,
    pub(super) telemetry: Telemetries,
    pub(super) now: Timestamp,
    pub(super) figures: Figures,
    agenda: BinaryHeap<Reverse<(Timestamp, u64, Event)>>,
    /// Numbers the events, so that those of one instant come in the order in which they were written down.
    written: u64,
    under_way: BTreeMap<usize, Traveller<'w>>,
    waiting: BTreeMap<Ticket, usize>,
    turns: VecDeque<(Ticket, Result<Permit, Refusal>)>,
}

/// What comes due, with the number of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrives(usize),
    Ends(usize),
    GoesOn(usize),
}

impl<'w> World<'w> {
    /// Nobody is spared and nothing is remembered when the first request arrives.
    pub(super) fn new(
        ground: &'w Ground,
        outcomes: &'w Outcomes,
        stories: &'w [Story],
        only: Option<&'w str>,
        seed: u64,
    ) -> Self {
        let mut world = World {
            ground,
            outcomes,
            stories,
            only,
            seed,
            engine: Engine::default(),
            memory: Memory::default(),
            rng: ChaCha12Rng::seed_from_u64(seed),
            telemetry: Telemetries::default(),
            now: Timestamp::ZERO,
            figures: Figures::default(),
            agenda: BinaryHeap::new(),
            written: 0,
            under_way: BTreeMap::new(),
            waiting: BTreeMap::new(),
            turns: VecDeque::new(),
        };
        for (id, story) in stories.iter().enumerate() {
            world.write_down(story.at, Event::Arrives(id));
        }
        world
    }

    /// Lets everything happen.
    pub(super) fn run(mut self) -> Figures {
        let mut idle = None;
        loop {
            let event = self.agenda.peek().map(|Reverse((at, _, _))| *at);
            // A deadline at which nothing happened is not looked at twice.
            let deadline = self.engine.next_deadline().filter(|at| idle != Some(*at) && !self.waiting.is_empty());
            match (event, deadline) {
                (event, Some(deadline)) if event.is_none_or(|event| deadline <= event) => {
                    self.now = self.now.max(deadline);
                    let effects = self.engine.tick(&self.ground.settings.resilience, self.now);
                    self.keep(effects);
                    idle = Some(deadline);
                }
                (Some(_), _) => self.happens(),
                (None, _) => break,
            }
            self.give_turns();
        }
        self.figures
    }

    fn happens(&mut self) {
        let Some(Reverse((at, _, event))) = self.agenda.pop() else { return };
        self.now = self.now.max(at);
        match event {
            Event::Arrives(id) => self.arrives(id),
            Event::Ends(id) => {
                if let Some(traveller) = self.under_way.remove(&id) {
                    self.ends(traveller);
                }
            }
            Event::GoesOn(id) => match self.under_way.remove(&id) {
                Some(traveller) if traveller.resumes == Resumes::Plan => self.plans(traveller),
                Some(traveller) => self.walks(traveller),
                None => {}
            },
        }
    }

    fn arrives(&mut self, id: usize) {
        let Some(story) = self.stories.get(id) else { return };
        match self.ground.way(story, self.only) {
            Some(way) => self.plans(Traveller::new(id, story, way)),
            None => self.figures.failures_seen_by_client += 1,
        }
    }

    /// Those whose waiting is over go, or are sent on.
    fn give_turns(&mut self) {
        while let Some((ticket, turn)) = self.turns.pop_front() {
            let traveller = self.waiting.remove(&ticket).and_then(|id| self.under_way.remove(&id));
            let Some(mut traveller) = traveller else {
                if let Ok(permit) = turn {
                    self.settle(permit, &Outcome::Neutral(Neutral::Abandoned));
                }
                continue;
            };
            let Some((stand, since)) = traveller.stands.take() else { continue };
            self.waited(self.now.since(since));
            match turn {
                Ok(permit) => self.dispatches(traveller, stand, permit),
                Err(refusal) => {
                    traveller.end.local = matches!(refusal, Refusal::Local(_));
                    self.nobody(traveller);
                }
            }
        }
    }

    fn write_down(&mut self, at: Timestamp, event: Event) {
        self.written += 1;
        self.agenda.push(Reverse((at, self.written, event)));
    }

    /// The attempt that it has begun ends then.
    pub(super) fn ends_at(&mut self, at: Timestamp, traveller: Traveller<'w>) {
        self.write_down(at, Event::Ends(traveller.id));
        self.under_way.insert(traveller.id, traveller);
    }

    /// It pauses for so long.
    pub(super) fn pauses(&mut self, length: Millis, resumes: Resumes, mut traveller: Traveller<'w>) {
        traveller.resumes = resumes;
        self.write_down(self.now + length, Event::GoesOn(traveller.id));
        self.under_way.insert(traveller.id, traveller);
    }

    /// It stands in line.
    pub(super) fn stands(&mut self, ticket: Ticket, stand: Stand, mut traveller: Traveller<'w>) {
        traveller.stands = Some((stand, self.now));
        self.waiting.insert(ticket, traveller.id);
        self.under_way.insert(traveller.id, traveller);
    }

    pub(super) fn settle(&mut self, permit: Permit, outcome: &Outcome) {
        let effects = self.engine.settle(permit, outcome, &self.ground.settings.resilience, self.now);
        self.keep(effects);
    }

    /// Notes whose turn has come. What would be told or stored is nobody's business here.
    fn keep(&mut self, effects: Effects) {
        let granted = effects.granted.into_iter().map(|(ticket, permit)| (ticket, Ok(permit)));
        let refused = effects.refused.into_iter().map(|(ticket, refusal)| (ticket, Err(refusal)));
        self.turns.extend(granted.chain(refused));
    }

    /// A request has waited for so long.
    pub(super) fn waited(&mut self, length: Millis) {
        self.figures.waits += 1;
        self.figures.wait_ms = self.figures.wait_ms.saturating_add(length.as_millis());
    }

    pub(super) fn book<'b>(&'b self, traveller: &'b Traveller<'_>) -> ReplayBook<'b> {
        ReplayBook {
            ground: self.ground,
            engine: &self.engine,
            telemetry: &self.telemetry,
            key: traveller.story.key.as_deref(),
            caller: traveller.caller(),
            quota_cutoff: traveller.quota_cutoff(),
            now: self.now,
        }
    }

    /// May this account be asked now?
    pub(super) fn word(&self, traveller: &Traveller<'_>, candidate: &Candidate) -> Availability {
        self.book(traveller).word(candidate)
    }
}
