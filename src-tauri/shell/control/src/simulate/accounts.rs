//! Which account of a provider a replay asks first: the counterpart of the gateway's own choice, by the strategy of the
//! provider's accounts. What sessions an account had stands nowhere, so nobody is kept for one.

use domain::{Candidate, ConnectionId};
use routing::Target;
use routing::account::{self, Accounts, Preferences};

use super::traveller::Traveller;
use super::walk::bare;
use super::world::World;

impl World<'_> {
    /// The accounts that may serve the target where the request stands, as they are asked; its turn is taken.
    pub(super) fn accounts_in_turn(&mut self, traveller: &Traveller<'_>) -> Accounts {
        let place = &traveller.order[traveller.at];
        let target = &place.target;
        let mut accounts = self.book(traveller).accounts_of(target);
        let routing = &self.ground.settings.routing;
        let strategy = routing.strategy_of(&target.provider);
        let is_given = target.connection.is_some() || place.fills_first() || !strategy.takes_turns();
        if is_given || accounts.attempts.len() < 2 {
            return accounts;
        }
        let targets = self.compared(traveller, &accounts.attempts);
        let key = traveller.story.key.as_deref();
        let preferred: &[ConnectionId] = key.map_or(&[], |key| &key.preferred_connections);
        let preferences = Preferences { strategy, sticky_limit: routing.sticky_round_robin_limit, preferred };
        let order = account::order(&targets, &preferences, self.now, &mut self.memory.accounts, &mut self.rng);
        accounts.attempts = order.into_iter().map(|index| accounts.attempts[index].clone()).collect();
        accounts
    }

    /// An account is asked, of a provider whose accounts take turns.
    pub(super) fn account_asked(&mut self, connection: &ConnectionId) {
        self.memory.accounts.counts.add(connection.as_str(), self.now);
    }

    /// The accounts as strategies compare them, each a step of its own.
    fn compared(&self, traveller: &Traveller<'_>, candidates: &[Candidate]) -> Vec<Target> {
        let book = self.book(traveller);
        let target = |(top, candidate): (usize, &Candidate)| {
            let connection = &candidate.connection;
            let mut target = Target { top, ..bare(candidate.provider.clone(), candidate.model.clone()) };
            connection.as_str().clone_into(&mut target.execution_key);
            target.connection = Some(connection.clone());
            if let Some(entry) = self.ground.connections.get(connection)
                && let Some(provider) = self.ground.catalog.get(&candidate.provider)
            {
                target.weight = entry.weight();
                target.facts = book.facts(provider, &candidate.model, Some(connection), &[entry]);
            }
            target
        };
        candidates.iter().enumerate().map(target).collect()
    }
}
