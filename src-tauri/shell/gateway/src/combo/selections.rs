//! Whom a name would choose first, many times over: a plan is made again and again on a copy of what strategies remember,
//! each first choice counted as asked and answered at once. Nobody is asked, and nobody's turn is taken.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use domain::{ConnectionId, ProviderId};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;
use routing::combo::Expansion;
use routing::order::{Around, Place};
use routing::resolve::NotFound;
use routing::{Resolved, Target, View};

use super::book::GatewayBook;
use super::preview::asker;
use super::{Asked, expanded};
use crate::accounts;
use crate::explain::{Destination, Question};
use crate::gateway::Gateway;
use crate::plan::{Step, steps_of};

/// How often each target was chosen first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selections {
    /// The most often chosen first.
    pub histogram: Vec<Selected>,
    /// Runs in which there was nobody to choose.
    pub exhausted: u32,
}

/// One bar of the histogram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    pub execution_key: String,
    pub provider: ProviderId,
    pub model: String,
    /// The account that would be asked.
    pub connection: Option<ConnectionId>,
    pub first: u32,
}

impl Gateway {
    /// Chooses `runs` times for a name as it stands now. Equal seed and state, equal answer.
    ///
    /// Works without waiting for anything, but for as long as so many plans take: not for a thread that serves requests.
    pub fn selections(&self, model: &str, runs: u32, seed: u64) -> Result<Selections, NotFound> {
        match self.destination(model)? {
            Destination::Direct(resolved) => Ok(self.direct_selections(&resolved, runs, seed)),
            Destination::Combo { asked, .. } => Ok(Draw::new(self, &asked, model).runs(runs, seed)),
        }
    }

    /// Of a name that stands for one model only the account can differ.
    fn direct_selections(&self, resolved: &Resolved, runs: u32, seed: u64) -> Selections {
        let steps = self.would_ask(resolved);
        let first = accounts::draw(self, &steps, runs, &mut ChaCha12Rng::seed_from_u64(seed));
        let bar = |(step, first): (&Step, u32)| Selected {
            execution_key: format!("{}/{}", resolved.provider, resolved.model),
            provider: resolved.provider.clone(),
            model: resolved.model.clone(),
            connection: Some(step.candidate.connection.clone()),
            first,
        };
        let mut histogram: Vec<Selected> = steps.iter().zip(first).filter(|(_, first)| *first > 0).map(bar).collect();
        histogram.sort_by_key(|bar| Reverse(bar.first));
        Selections { histogram, exhausted: if steps.is_empty() { runs } else { 0 } }
    }
}

/// A request of which nothing is known.
const NOTHING_SAID: Question = Question { session: None, tools: 0, vision: false, input: 0, output: None };

struct Draw<'d> {
    gateway: &'d Gateway,
    asked: &'d Asked,
    expansion: Expansion,
}

impl<'d> Draw<'d> {
    fn new(gateway: &'d Gateway, asked: &'d Asked, requested: &str) -> Self {
        let book = GatewayBook::of(gateway, asker(asked, None, &NOTHING_SAID));
        let expansion = expanded(asked, &routing::combo::Asker { key: None, requested }, &book);
        Draw { gateway, asked, expansion }
    }

    fn runs(&self, runs: u32, seed: u64) -> Selections {
        let facts = NOTHING_SAID.facts();
        let name = self.asked.combo.name.as_str();
        let view = View { now: self.gateway.now(), combo: name, config: &self.asked.config, request: &facts };
        let route = self.asked.route();
        let around = Around::new(name, self.asked.combo.strategy, &self.asked.config);
        let mut memory = self.gateway.routing().memory();
        let mut rng = ChaCha12Rng::seed_from_u64(seed);
        let mut bars: BTreeMap<String, Selected> = BTreeMap::new();
        let mut exhausted = 0;
        for _ in 0..runs {
            let planned = routing::plan(&route, self.expansion.clone(), &view, &mut memory, &mut rng);
            let first = planned.as_ref().ok().and_then(|plan| around.first(plan));
            let Some(place @ Place { target, .. }) = &first else {
                exhausted += 1;
                continue;
            };
            let bar = bars.entry(target.execution_key.clone()).or_insert_with(|| self.bar(target));
            bar.first += 1;
            if let Some(connection) = &bar.connection {
                for dispatch in place.dispatches(connection) {
                    memory.dispatched(&dispatch, view.now);
                    memory.served(&dispatch, &facts, view.now);
                }
            }
        }
        let mut histogram: Vec<Selected> = bars.into_values().collect();
        histogram.sort_by_key(|bar| Reverse(bar.first));
        Selections { histogram, exhausted }
    }

    fn bar(&self, target: &Target) -> Selected {
        let account = || {
            let (steps, _) = steps_of(self.gateway, &asker(self.asked, None, &NOTHING_SAID), target);
            steps.into_iter().next().map(|step| step.candidate.connection)
        };
        Selected {
            execution_key: target.execution_key.clone(),
            provider: target.provider.clone(),
            model: target.model.clone(),
            connection: target.connection.clone().or_else(account),
            first: 0,
        }
    }
}
