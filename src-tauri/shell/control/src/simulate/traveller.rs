//! One request on its way through a replay: where it stands, and what it has gone through.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use domain::{Candidate, ConnectionId, Limits, Timestamp};
use resilience::cooldown_wait::Spent;
use resilience::{Admission, Caller, ComboGate, Patience, Permit};
use routing::combo::{Config, Strategy};
use routing::decision::Stop;
use routing::memory::Dispatch;
use routing::{Journey, Plan, Target};

use super::ground::{Chosen, Ground, Way};
use super::outcomes::Sample;
use super::story::Story;

pub(super) struct Traveller<'w> {
    /// Its number among all stories.
    pub(super) id: usize,
    pub(super) story: &'w Story,
    pub(super) way: Way,
    pub(super) journey: Journey,
    pub(super) order: Vec<Place>,
    /// The target that is being asked, and the one after it.
    pub(super) at: usize,
    pub(super) next: usize,
    /// Accounts of the present target that are left.
    pub(super) steps: VecDeque<Candidate>,
    /// The first of them is to be asked once more.
    pub(super) repeats: bool,
    /// How often the present target was asked again, and whether it was asked for less.
    pub(super) repeated: u32,
    pub(super) adjusted: bool,
    pub(super) thoughtless: bool,
    /// Who had no free place.
    pub(super) full: Vec<Stand>,
    pub(super) stands: Option<(Stand, Timestamp)>,
    pub(super) under_way: Option<UnderWay<'w>>,
    /// It waited for a place, which was the last there was.
    pub(super) last_place: bool,
    pub(super) end: End,
    pub(super) sets: u32,
    pub(super) spent: Spent,
    pub(super) deadline: Timestamp,
    /// How often each account was asked for each model.
    pub(super) asked: BTreeMap<(ConnectionId, String), u32>,
    /// Whom it asked last.
    pub(super) last: Option<(ConnectionId, String)>,
    /// What it does when its pause is over.
    pub(super) resumes: Resumes,
}

/// A target, and the combos that are told what comes of it ([`routing::order::Place`]).
pub(super) struct Place {
    pub(super) target: Target,
    levels: Vec<Level>,
}

struct Level {
    combo: String,
    strategy: Strategy,
    config: Arc<Config>,
    step: String,
}

/// An account of the target at this place of the order.
#[derive(Clone)]
pub(super) struct Stand {
    pub(super) at: usize,
    pub(super) candidate: Candidate,
    /// It is to be asked once more.
    pub(super) repeats: bool,
}

pub(super) struct UnderWay<'w> {
    pub(super) permit: Permit,
    pub(super) candidate: Candidate,
    pub(super) sample: &'w Sample,
    /// The combo's time ends before the answer would.
    pub(super) cut: bool,
}

/// How the present walk ended.
#[derive(Clone, Copy, Default)]
pub(super) struct End {
    pub(super) stop: Option<Stop>,
    /// A limit of our own was the last word.
    pub(super) local: bool,
    pub(super) timed_out: bool,
    /// Of a request for one model: somebody else would not answer differently.
    pub(super) hopeless: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resumes {
    Plan,
    Walk,
}

impl<'w> Traveller<'w> {
    pub(super) fn new(id: usize, story: &'w Story, way: Way) -> Self {
        let deadline = match &way {
            Way::Combo(chosen) => story.at + chosen.config.time_limit(),
            Way::Direct { .. } => Timestamp::MAX,
        };
        Traveller {
            id,
            story,
            way,
            journey: Journey::default(),
            order: Vec::new(),
            at: 0,
            next: 0,
            steps: VecDeque::new(),
            repeats: false,
            repeated: 0,
            adjusted: false,
            thoughtless: false,
            full: Vec::new(),
            stands: None,
            under_way: None,
            last_place: false,
            end: End::default(),
            sets: 0,
            spent: Spent::default(),
            deadline,
            asked: BTreeMap::new(),
            last: None,
            resumes: Resumes::Plan,
        }
    }

    pub(super) fn chosen(&self) -> Option<&Chosen> {
        match &self.way {
            Way::Combo(chosen) => Some(chosen),
            Way::Direct { .. } => None,
        }
    }

    pub(super) fn caller(&self) -> Caller {
        if self.chosen().is_some() { Caller::Combo } else { Caller::Direct }
    }

    /// An account whose quota runs out is left out; `auto` weighs it instead.
    pub(super) fn quota_cutoff(&self) -> bool {
        let own = self.order.get(self.at).and_then(|place| place.levels.last()).map(|level| level.strategy);
        own.or(self.chosen().map(|chosen| chosen.combo.strategy)) != Some(Strategy::Auto)
    }

    /// Stands at the beginning of another order.
    pub(super) fn sets_out(&mut self, order: Vec<Place>) {
        self.order = order;
        (self.at, self.next) = (0, 0);
        self.steps.clear();
        self.repeats = false;
        self.full.clear();
        self.last_place = false;
        self.end = End::default();
    }

    /// The same account comes next.
    pub(super) fn again(&mut self, candidate: Candidate) {
        self.steps.push_front(candidate);
        self.repeats = true;
    }

    /// Of those without a place, the one that is waited for: before anybody was asked the first, then only whoever is to be
    /// asked once more.
    pub(super) fn waits_for(&mut self) -> Option<Stand> {
        let found = match self.journey.attempts.is_empty() {
            true => 0,
            false => self.full.iter().position(|stand| stand.repeats)?,
        };
        (found < self.full.len()).then(|| self.full.swap_remove(found))
    }

    /// What it asks the Engine for.
    pub(super) fn admission<'a>(&'a self, ground: &Ground, stand: &'a Stand, limits: &'a Limits) -> Admission<'a> {
        let provider = ground.catalog.get(&stand.candidate.provider);
        let own = provider.and_then(|provider| provider.start_timeout);
        let patience = match self.order.get(stand.at).and_then(Place::config) {
            Some(config) => Patience { wait: config.queue_timeout, depth: Some(config.queue_depth) },
            None => Patience::default(),
        };
        Admission {
            quota_cutoff: self.quota_cutoff(),
            combo_gate: self.combo_gate(stand.at),
            patience,
            response_start: own.unwrap_or(ground.settings.network.response_start_timeout),
            ..Admission::new(&stand.candidate, limits, self.caller())
        }
    }

    fn combo_gate(&self, at: usize) -> Option<ComboGate<'_>> {
        let place = self.order.get(at)?;
        let Level { combo, strategy, config, .. } = place.levels.last()?;
        match strategy {
            Strategy::RoundRobin => Some(ComboGate::Target {
                combo,
                execution_key: &place.target.execution_key,
                cap: config.concurrency_per_model,
            }),
            Strategy::QuotaShare => Some(ComboGate::QuotaShare { lowered: false }),
            _ => None,
        }
    }
}

impl Place {
    /// A target that no combo leads to.
    pub(super) fn direct(target: Target) -> Place {
        Place { target, levels: Vec::new() }
    }

    /// The numbers of the combo whose step it is.
    pub(super) fn config(&self) -> Option<&Config> {
        self.levels.last().map(|level| &*level.config)
    }

    /// Its accounts take no turns, however they otherwise do.
    pub(super) fn fills_first(&self) -> bool {
        self.levels.last().is_some_and(|level| level.strategy == Strategy::FillFirst)
    }

    /// What each combo is told of an account that was asked for the target.
    pub(super) fn dispatches<'d>(&'d self, connection: &'d ConnectionId) -> impl Iterator<Item = Dispatch<'d>> {
        let told = |level: &'d Level| Dispatch {
            combo: &level.combo,
            strategy: level.strategy,
            step: &level.step,
            target: &self.target,
            connection,
        };
        self.levels.iter().map(told)
    }
}

/// The targets of a plan in their order, for as long as the request travels. Panels and chains are asked one after another
/// too.
pub(super) fn order(chosen: &Chosen, plan: &Plan) -> Vec<Place> {
    let owned = |level: &routing::order::Level<'_>| Level {
        combo: level.combo.to_owned(),
        strategy: level.strategy,
        config: Arc::clone(level.config),
        step: level.step.to_owned(),
    };
    let around = routing::order::Around::new(&chosen.combo.name, chosen.combo.strategy, &chosen.config);
    let places = around.order(plan).into_iter();
    places.map(|place| Place { target: place.target.clone(), levels: place.levels().map(owned).collect() }).collect()
}
