//! Which account of a provider is asked first (gateway specification, 3.11).
//!
//! The accounts the client's key prefers, then what the provider's account strategy says; the account that a session is
//! with comes before both ([`crate::affinity`]).
//! These strategies are those of combos, with accounts for targets and a memory of their own; the accounts come in the
//! order of their priority.

use domain::wire::reason;
use domain::{Availability, Candidate, ConnectionId, Exclusion, Mechanism, Timestamp, choice};
use rand::Rng;

use crate::combo::Config;
use crate::lru::Turns;
use crate::strategies::{cost_optimized, least_used, p2c, random, round_robin, strict_random, weighted};
use crate::target::Target;
use crate::view::{RequestFacts, View};

choice! {
    /// How the accounts of a provider take turns.
    pub enum AccountStrategy {
        /// By priority.
        Priority = "priority",
        /// Drawn by weight.
        Weighted = "weighted",
        /// The first until it is not available, whatever it has served.
        FillFirst = "fill-first",
        /// One after another.
        RoundRobin = "round-robin",
        /// The better of two at random.
        P2c = "p2c",
        /// Shuffled.
        Random = "random",
        /// The one with the fewest requests of late.
        LeastUsed = "least-used",
        /// The cheapest.
        CostOptimized = "cost-optimized",
        /// Each once before any twice.
        StrictRandom = "strict-random",
    }
}

impl AccountStrategy {
    /// Whether accounts change places at all: by priority is how they come.
    pub const fn takes_turns(self) -> bool {
        !matches!(self, AccountStrategy::Priority | AccountStrategy::FillFirst)
    }
}

/// What is known about who should serve.
#[derive(Clone, Copy, Debug)]
pub struct Preferences<'a> {
    pub strategy: AccountStrategy,
    /// Requests in a row that `round-robin` and `weighted` give one account.
    pub sticky_limit: u32,
    /// The key's wish, most wanted first.
    pub preferred: &'a [ConnectionId],
}

impl Default for Preferences<'_> {
    fn default() -> Self {
        Preferences { strategy: AccountStrategy::Priority, sticky_limit: 1, preferred: &[] }
    }
}

/// What account strategies keep between requests, by provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    pub turns: Turns,
    pub streaks: weighted::Streaks,
    pub decks: strict_random::Decks,
    pub counts: least_used::Counts,
}

/// Indexes into `accounts`: one target for each account that may be tried, of one provider and model, each a top-level
/// step of its own, in the order of their priority.
pub fn order(
    accounts: &[Target],
    preferences: &Preferences<'_>,
    now: Timestamp,
    memory: &mut Memory,
    rng: &mut impl Rng,
) -> Vec<usize> {
    let Some(first) = accounts.first() else { return Vec::new() };
    let limit = preferences.sticky_limit;
    let config = Config { sticky_round_robin_limit: limit, sticky_weighted_limit: limit, ..Config::default() };
    let request = RequestFacts::default();
    let view = View { now, combo: first.provider.as_str(), config: &config, request: &request };
    let mut order = match preferences.strategy {
        AccountStrategy::Priority | AccountStrategy::FillFirst => (0..accounts.len()).collect(),
        AccountStrategy::Weighted => weighted::rank(accounts, &view, &mut memory.streaks, rng),
        AccountStrategy::RoundRobin => round_robin::rank(accounts.len(), &view, &mut memory.turns),
        AccountStrategy::P2c => p2c::rank(accounts, rng),
        AccountStrategy::Random => random::rank(accounts.len(), rng),
        AccountStrategy::LeastUsed => least_used::rank(accounts, &view, &memory.counts),
        AccountStrategy::CostOptimized => cost_optimized::rank(accounts),
        AccountStrategy::StrictRandom => strict_random::rank(accounts, &view, &mut memory.decks, rng),
    };
    let wish = |connection: &ConnectionId| {
        let place = preferences.preferred.iter().position(|preferred| preferred == connection);
        place.unwrap_or(preferences.preferred.len())
    };
    order.sort_by_key(|&index| accounts[index].connection.as_ref().map_or(preferences.preferred.len(), wish));
    order
}

/// The accounts to try and those that are not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    pub attempts: Vec<Candidate>,
    pub excluded: Vec<(Candidate, Exclusion)>,
}

/// Ranks the accounts of one provider by priority alone; equals keep their order. `availability` is the Engine's answer
/// for each, asked once.
pub fn by_priority(candidates: &[Candidate], mut availability: impl FnMut(&Candidate) -> Availability) -> Accounts {
    let mut order: Vec<&Candidate> = candidates.iter().collect();
    order.sort_by_key(|candidate| candidate.priority);
    let mut accounts = Accounts::default();
    for candidate in order {
        match availability(candidate) {
            Availability::Available => accounts.attempts.push(candidate.clone()),
            Availability::Excluded(exclusion) => accounts.excluded.push((candidate.clone(), exclusion)),
        }
    }
    accounts
}

/// The word for several accounts together: one that is available speaks for all, else the one that is back first. Without
/// any account, nobody is there.
pub fn best_of(words: impl IntoIterator<Item = Availability>) -> Availability {
    let mut best: Option<Exclusion> = None;
    for word in words {
        let Availability::Excluded(exclusion) = word else { return Availability::Available };
        if best.as_ref().is_none_or(|best| is_sooner(&exclusion, best)) {
            best = Some(exclusion);
        }
    }
    let nobody = || Exclusion::lasting(Mechanism::SwitchedOff, reason::SWITCHED_OFF);
    Availability::Excluded(best.unwrap_or_else(nobody))
}

/// Of several reasons the one that passes first speaks for the target.
fn is_sooner(exclusion: &Exclusion, than: &Exclusion) -> bool {
    match (exclusion.until, than.until) {
        (Some(one), Some(other)) => one < other,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use domain::Nature;

    use super::*;
    use crate::strategies::fixtures::{NOW, firsts, fits, rng, target};

    fn accounts(count: usize) -> Vec<Target> {
        let account = |n: usize| {
            let mut account = target(n);
            (account.provider, account.model) = ("p".into(), "m".to_owned());
            account.connection = Some(format!("a{n}").into());
            account
        };
        (0..count).map(account).collect()
    }

    fn with(strategy: AccountStrategy) -> Preferences<'static> {
        Preferences { strategy, ..Preferences::default() }
    }

    #[test]
    fn the_keys_wish_comes_before_the_strategy() {
        let accounts = accounts(5);
        let preferred = [ConnectionId::from("a3"), ConnectionId::from("a1")];
        let preferences = Preferences { preferred: &preferred, ..Preferences::default() };
        let mut memory = Memory::default();
        assert_eq!(order(&accounts, &preferences, NOW, &mut memory, &mut rng(1)), [3, 1, 0, 2, 4]);
        assert_eq!(order(&accounts, &Preferences::default(), NOW, &mut memory, &mut rng(1)), [0, 1, 2, 3, 4]);
        assert_eq!(order(&[], &preferences, NOW, &mut memory, &mut rng(1)), [0_usize; 0]);
    }

    #[test]
    fn every_strategy_ranks_every_account_once() {
        for &word in <AccountStrategy as domain::section::FieldType>::CHOICES {
            let strategy = <AccountStrategy as domain::section::FieldType>::from_text(word).expect("a choice");
            let mut found = order(&accounts(6), &with(strategy), NOW, &mut Memory::default(), &mut rng(2));
            found.sort_unstable();
            assert_eq!(found, [0, 1, 2, 3, 4, 5], "{word}");
        }
    }

    #[test]
    fn accounts_take_turns_with_a_sticky_limit() {
        let (accounts, mut memory, mut rng) = (accounts(2), Memory::default(), rng(3));
        let preferences = Preferences { sticky_limit: 2, ..with(AccountStrategy::RoundRobin) };
        let served: Vec<_> = (0..6).map(|_| order(&accounts, &preferences, NOW, &mut memory, &mut rng)[0]).collect();
        assert_eq!(served, [0, 0, 1, 1, 0, 0]);
    }

    #[test]
    fn accounts_are_drawn_by_weight() {
        let (mut accounts, mut memory, mut rng) = (accounts(2), Memory::default(), rng(3));
        (accounts[0].weight, accounts[1].weight) = (3, 1);
        let counts =
            firsts(2, 8_000, || order(&accounts, &with(AccountStrategy::Weighted), NOW, &mut memory, &mut rng));
        assert!(fits(&counts, &[0.75, 0.25]));
    }

    #[test]
    fn excluded_candidates_are_listed_with_their_reason_and_not_tried() {
        let candidates = [("c1", 2), ("c2", 1), ("c3", 2)].map(|(id, priority)| Candidate {
            provider: "p".into(),
            connection: id.into(),
            model: "m".to_owned(),
            priority,
            enabled: id != "c1",
            nature: Nature::default(),
        });
        let accounts = by_priority(&candidates, |candidate| match candidate.enabled {
            true => Availability::Available,
            false => Availability::Excluded(Exclusion::lasting(Mechanism::SwitchedOff, "switched_off")),
        });
        let tried: Vec<&str> = accounts.attempts.iter().map(|candidate| candidate.connection.as_str()).collect();
        assert_eq!((tried, accounts.excluded[0].0.connection.as_str()), (vec!["c2", "c3"], "c1"));
    }

    #[test]
    fn who_is_available_speaks_for_all_else_who_is_back_first() {
        let until = |seconds: u64| {
            let lasting = Exclusion::lasting(Mechanism::ConnectionCooldown, "unavailable");
            Availability::Excluded(Exclusion { until: Some(NOW + domain::Millis::seconds(seconds)), ..lasting })
        };
        let never = Availability::Excluded(Exclusion::lasting(Mechanism::TerminalState, "banned"));
        let nobody = Availability::Excluded(Exclusion::lasting(Mechanism::SwitchedOff, reason::SWITCHED_OFF));
        for (words, expected) in [
            (vec![], nobody),
            (vec![never.clone(), Availability::Available, until(1)], Availability::Available),
            (vec![never.clone(), until(9), until(3)], until(3)),
            (vec![never.clone()], never),
        ] {
            assert_eq!(best_of(words), expected);
        }
    }
}
