//! Which of a provider's accounts is asked first: the one that the session is with, those that the key prefers, then as the
//! provider's strategy says (gateway specification, 3.11; resilience specification, 9). `routing` decides; here it is told
//! who may be asked.

use domain::client_key::ClientKey;
use domain::{ConnectionId, Outcome, ProviderId, Timestamp};
use parking_lot::Mutex;
use rand::Rng;
use rand_chacha::ChaCha12Rng;
use routing::Target;
use routing::account::{self, AccountStrategy, Preferences};
use routing::affinity::Eligible;
use settings::Settings;

use crate::combo::{bare_target, facts_of};
use crate::gateway::Gateway;
use crate::ingress::ClientRequest;
use crate::plan::{Asker, Step};
use crate::session_name;

/// Whose turn it is.
#[derive(Clone, Copy)]
pub(crate) enum Turn<'a> {
    /// This request's: its turn is taken, and its session stays where it goes.
    Of(&'a ClientRequest),
    /// Nobody's: somebody only looks, perhaps for a session of this name.
    Nobody(Option<&'a str>),
    /// The same for who looks at one target after another, as a request would go to them: turns are taken of a copy.
    Foretold(Option<&'a str>, &'a Foresight),
}

/// What strategies of accounts remember, and the chance they draw from, as they would be after a plan.
pub(crate) struct Foresight(Mutex<(account::Memory, ChaCha12Rng)>);

impl Foresight {
    pub(crate) fn new(memory: account::Memory, rng: ChaCha12Rng) -> Self {
        Foresight(Mutex::new((memory, rng)))
    }

    /// The order of a provider's accounts, of which the first counts as asked.
    fn order(&self, accounts: &[Target], preferences: &Preferences<'_>, now: Timestamp) -> Vec<usize> {
        let (memory, rng) = &mut *self.0.lock();
        let order = account::order(accounts, preferences, now, memory, rng);
        if let Some(first) = order.first() {
            memory.counts.add(&accounts[*first].execution_key, now);
        }
        order
    }
}

impl Gateway {
    /// The connection is gone.
    pub fn forget_connection(&self, connection: &ConnectionId) {
        self.engine().forget(connection);
        self.routing().bind(|pins| pins.forget(connection));
    }
}

/// The steps of one provider and model, which come in the order of priority, as they are asked.
pub(crate) fn in_order(gateway: &Gateway, asker: &Asker<'_>, mut steps: Vec<Step>) -> Vec<Step> {
    let Asker { key, turn, fills_first, .. } = *asker;
    let preferred = key.map(|key| key.preferred_connections.as_slice()).unwrap_or_default();
    if let Some(key) = key.filter(|_| !preferred.is_empty()) {
        steps.sort_by_key(|step| key.preference(&step.candidate.connection));
    }
    let Some(first) = steps.first() else { return steps };
    let settings = gateway.settings();
    let provider = first.candidate.provider.clone();
    if let Some(own) = own(gateway, &settings, turn, &provider, key, &steps) {
        let step = steps.remove(own);
        steps.insert(0, step);
        return steps;
    }
    let strategy = settings.routing.strategy_of(&provider);
    if steps.len() < 2 || fills_first || !strategy.takes_turns() {
        return steps;
    }
    let targets = targets(gateway, &steps);
    let preferences = preferences(&settings, strategy, preferred);
    let order = match turn {
        Turn::Foretold(_, foresight) => foresight.order(&targets, &preferences, gateway.now()),
        Turn::Of(_) | Turn::Nobody(_) => {
            gateway.routing().order_accounts(&targets, &preferences, matches!(turn, Turn::Of(_)))
        }
    };
    let mut steps: Vec<Option<Step>> = steps.into_iter().map(Some).collect();
    order.into_iter().filter_map(|index| steps.get_mut(index)?.take()).collect()
}

/// The account that the session is with, or from now on is.
fn own(
    gateway: &Gateway,
    settings: &Settings,
    turn: Turn<'_>,
    provider: &ProviderId,
    key: Option<&ClientKey>,
    steps: &[Step],
) -> Option<usize> {
    let ttl = settings.session_affinity_ttl;
    if ttl.is_zero() {
        return None;
    }
    let name = match turn {
        Turn::Of(request) => request.session_name()?,
        Turn::Nobody(name) | Turn::Foretold(name, _) => name?,
    };
    let session = session_name::hashed(provider, name);
    let connections = || steps.iter().map(|step| &step.candidate.connection);
    let used = gateway.engine().last_used(connections());
    let eligible = connections().zip(used).map(|(connection, last_used_at)| Eligible {
        connection,
        preference: key.map_or(0, |key| key.preference(connection)),
        last_used_at,
    });
    let eligible: Vec<Eligible<'_>> = eligible.collect();
    let now = gateway.now();
    match turn {
        Turn::Of(_) => gateway.routing().bind(|pins| pins.choose(&session, provider, &eligible, ttl, now)),
        Turn::Nobody(_) | Turn::Foretold(..) => {
            gateway.routing().bound(|pins| pins.would_choose(&session, &eligible, ttl, now))
        }
    }
}

fn preferences<'p>(settings: &Settings, strategy: AccountStrategy, preferred: &'p [ConnectionId]) -> Preferences<'p> {
    let sticky_limit = settings.routing.sticky_round_robin_limit;
    Preferences { strategy, sticky_limit, preferred }
}

/// The accounts as strategies compare them, each a step of its own.
fn targets(gateway: &Gateway, steps: &[Step]) -> Vec<Target> {
    let target = |(top, step): (usize, &Step)| {
        let connection = &step.candidate.connection;
        let mut target = bare_target(&step.candidate.provider, &step.candidate.model);
        connection.as_str().clone_into(&mut target.execution_key);
        target.top = top;
        target.connection = Some(connection.clone());
        target.weight = step.entry.weight();
        target.facts = facts_of(gateway, &step.provider, &target, &[&step.entry]);
        target
    };
    steps.iter().enumerate().map(target).collect()
}

/// An account is asked. Counted only for who compares it.
pub(crate) fn asked(gateway: &Gateway, step: &Step) {
    let strategy = gateway.settings().routing.strategy_of(&step.candidate.provider);
    if strategy == AccountStrategy::LeastUsed {
        gateway.routing().account_asked(&step.candidate.connection);
    }
}

/// It answered well, or, by this verdict, did not.
pub(crate) fn ended(gateway: &Gateway, request: &ClientRequest, step: &Step, failure: Option<&Outcome>) {
    match failure {
        None => served(gateway, request, step),
        Some(outcome) => failed(gateway, request, step, outcome),
    }
}

fn served(gateway: &Gateway, request: &ClientRequest, step: &Step) {
    let (provider, connection) = (&step.candidate.provider, &step.candidate.connection);
    with_session(gateway, request, step, |session| {
        let (ttl, now) = (gateway.settings().session_affinity_ttl, gateway.now());
        gateway.routing().bind(|pins| pins.served(session, provider, connection, ttl, now));
    });
}

/// Only what is the upstream's doing moves a session.
fn failed(gateway: &Gateway, request: &ClientRequest, step: &Step, outcome: &Outcome) {
    if !matches!(outcome, Outcome::Failure(_)) {
        return;
    }
    with_session(gateway, request, step, |session| {
        gateway.routing().bind(|pins| pins.failed(session, &step.candidate.connection));
    });
}

/// Whom a step of a combo names says nothing about where the session belongs.
fn with_session(gateway: &Gateway, request: &ClientRequest, step: &Step, then: impl FnOnce(&str)) {
    if !step.is_chosen || gateway.settings().session_affinity_ttl.is_zero() {
        return;
    }
    if let Some(name) = request.session_name() {
        then(&session_name::hashed(&step.candidate.provider, name));
    }
}

/// Chooses so many times on a copy of what strategies remember, each choice counted as asked: how often each of the steps
/// came first. Equal random numbers and state, equal answer.
pub(crate) fn draw(gateway: &Gateway, steps: &[Step], runs: u32, rng: &mut impl Rng) -> Vec<u32> {
    let mut first = vec![0; steps.len()];
    let Some(provider) = steps.first().map(|step| &step.candidate.provider) else { return first };
    let settings = gateway.settings();
    let strategy = settings.routing.strategy_of(provider);
    if !strategy.takes_turns() {
        first[0] = runs;
        return first;
    }
    let (targets, now) = (targets(gateway, steps), gateway.now());
    let preferences = preferences(&settings, strategy, &[]);
    let mut memory = gateway.routing().memory().accounts;
    for _ in 0..runs {
        let order = account::order(&targets, &preferences, now, &mut memory, rng);
        let Some(&chosen) = order.first() else { break };
        first[chosen] += 1;
        memory.counts.add(&targets[chosen].execution_key, now);
    }
    first
}
