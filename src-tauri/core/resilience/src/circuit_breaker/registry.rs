//! All breakers, one per provider, made when a provider is first used.

use std::collections::{BTreeMap, BTreeSet};

use domain::{BreakerCharge, ConnectionId, Millis, ProviderClass, ProviderId, Timestamp};

use super::{Change, CircuitBreaker, FailureKind, State, Terms, Ticket, Transition, Verdict};
use crate::engine::Caller;
use crate::settings::Settings;
use crate::stored::{BreakerOptions, StoredBreaker};

/// How many breakers are kept at most (resilience specification, 2.9).
const MAX_BREAKERS: usize = 500;
/// A healthy breaker that nobody has asked for so long is forgotten.
const IDLE: Millis = Millis::minutes(30);
/// A combo's failures on one account within this time are one failure.
const COMBO_EPISODE: Millis = Millis::seconds(5);
/// How many accounts are remembered for that.
const MAX_EPISODES: usize = 10_000;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Breakers {
    entries: BTreeMap<ProviderId, Entry>,
    episodes: Episodes,
}

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    /// Picks the numbers where nobody is there to state the class: pictures and restarts.
    class: ProviderClass,
    breaker: CircuitBreaker,
    used_at: Timestamp,
}

/// A failed attempt as breakers see it.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'a> {
    pub connection: &'a ConnectionId,
    pub caller: Caller,
    pub breaker: BreakerCharge,
    pub kind: FailureKind,
}

impl Breakers {
    /// A provider never used is fine.
    pub fn check(&self, provider: &ProviderId, terms: Terms<'_>, now: Timestamp) -> Verdict {
        self.entries.get(provider).map_or(Verdict::Pass, |entry| entry.breaker.check(terms, now))
    }

    pub fn is_open(&self, provider: &ProviderId, terms: Terms<'_>, now: Timestamp) -> bool {
        let state = self.entries.get(provider).map(|entry| entry.breaker.state(terms, now));
        matches!(state, Some(State::Open { .. }))
    }

    /// Lets one request through. Without a ticket the registry is full of breakers that must not be forgotten, and this
    /// provider goes without one.
    ///
    /// # Errors
    /// Until when nobody is let through.
    pub fn admit(
        &mut self,
        provider: &ProviderId,
        class: ProviderClass,
        terms: Terms<'_>,
        now: Timestamp,
    ) -> Result<(Option<Ticket>, Option<Transition>), Timestamp> {
        if !self.entries.contains_key(provider) && !self.has_room() {
            return Ok((None, None));
        }
        let fresh = || Entry { class, breaker: CircuitBreaker::default(), used_at: now };
        let entry = self.entries.entry(provider.clone()).or_insert_with(fresh);
        entry.class = class;
        entry.used_at = now;
        let (ticket, transition) = entry.breaker.admit(terms, now)?;
        Ok((Some(ticket), transition))
    }

    pub fn on_success(&mut self, provider: &ProviderId, terms: Terms<'_>, ticket: Ticket, now: Timestamp) -> Change {
        let entry = self.entries.get_mut(provider);
        entry.map_or(Change::Nothing, |entry| entry.breaker.on_success(terms, ticket, now))
    }

    /// A failure that is no charge gives the probe back.
    pub fn on_failure(
        &mut self,
        provider: &ProviderId,
        terms: Terms<'_>,
        ticket: Ticket,
        charge: Charge<'_>,
        now: Timestamp,
    ) -> Change {
        let Some(Entry { breaker, .. }) = self.entries.get_mut(provider) else { return Change::Nothing };
        if charge.breaker == BreakerCharge::None {
            breaker.on_neutral(ticket);
            return Change::Nothing;
        }
        let combo = charge.caller == Caller::Combo;
        if combo && !breaker.is_probe(ticket) && self.episodes.is_running(charge.connection, now) {
            return Change::Nothing;
        }
        let change = match charge.breaker {
            BreakerCharge::Network => breaker.on_network_failure(terms, ticket, now),
            BreakerCharge::Counts | BreakerCharge::None => breaker.on_failure(terms, ticket, charge.kind, now),
        };
        if combo && change != Change::Nothing {
            self.episodes.begin(charge.connection, now);
        }
        change
    }

    pub fn on_neutral(&mut self, provider: &ProviderId, ticket: Ticket) {
        if let Some(entry) = self.entries.get_mut(provider) {
            entry.breaker.on_neutral(ticket);
        }
    }

    /// Writes down what time has done: whose break is over, with the transition, and who was forgotten.
    pub fn tick(&mut self, settings: &Settings, now: Timestamp) -> (Vec<(ProviderId, Transition)>, Vec<ProviderId>) {
        let mut rolled = Vec::new();
        for (provider, entry) in &mut self.entries {
            let transition = entry.breaker.roll(settings.breaker_terms(entry.class), now);
            rolled.extend(transition.map(|transition| (provider.clone(), transition)));
        }
        let idle = |entry: &Entry| entry.breaker.is_pristine() && now.since(entry.used_at) > IDLE;
        let gone: Vec<_> =
            self.entries.iter().filter(|(_, entry)| idle(entry)).map(|(provider, _)| provider.clone()).collect();
        for provider in &gone {
            self.entries.remove(provider);
        }
        (rolled, gone)
    }

    /// The operator's hand. Says whether there was such a breaker, and its transition when it was not closed.
    pub fn reset(&mut self, provider: &ProviderId, now: Timestamp) -> Option<Option<Transition>> {
        Some(self.entries.get_mut(provider)?.breaker.reset(now))
    }

    pub fn providers(&self) -> impl Iterator<Item = &ProviderId> {
        self.entries.keys()
    }

    /// Every breaker with the class that picks its numbers.
    pub fn iter(&self) -> impl Iterator<Item = (&ProviderId, ProviderClass, &CircuitBreaker)> {
        self.entries.iter().map(|(provider, entry)| (provider, entry.class, &entry.breaker))
    }

    pub fn row(&self, provider: &ProviderId, settings: &Settings) -> Option<StoredBreaker> {
        let Entry { class, breaker, .. } = self.entries.get(provider)?;
        let (state, options) = breaker.store(settings.breaker(*class));
        Some(StoredBreaker {
            provider: provider.clone(),
            state: state.to_owned(),
            failure_count: breaker.failures(),
            last_failure_time: breaker.last_failure(),
            options: BreakerOptions { provider_class: Some(*class), ..options },
        })
    }

    pub fn restore(rows: Vec<StoredBreaker>, now: Timestamp) -> Self {
        let entry = |row: &StoredBreaker| Entry {
            class: row.options.provider_class.unwrap_or(ProviderClass::Apikey),
            breaker: CircuitBreaker::restore(&row.state, row.failure_count, row.last_failure_time, &row.options, now),
            used_at: now,
        };
        let entries = rows.into_iter().take(MAX_BREAKERS).map(|row| (row.provider.clone(), entry(&row))).collect();
        Breakers { entries, episodes: Episodes::default() }
    }

    /// Makes room by forgetting the healthy breaker that was idle longest; one that remembers failures stays.
    fn has_room(&mut self) -> bool {
        if self.entries.len() < MAX_BREAKERS {
            return true;
        }
        let idlest = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.breaker.is_pristine())
            .min_by_key(|(_, entry)| entry.used_at)
            .map(|(provider, _)| provider.clone());
        idlest.is_some_and(|provider| self.entries.remove(&provider).is_some())
    }
}

/// Which accounts have just failed in a combo. Both collections hold the same pairs.
#[derive(Clone, Debug, Default, PartialEq)]
struct Episodes {
    since: BTreeMap<ConnectionId, Timestamp>,
    oldest_first: BTreeSet<(Timestamp, ConnectionId)>,
}

impl Episodes {
    fn is_running(&self, connection: &ConnectionId, now: Timestamp) -> bool {
        self.since.get(connection).is_some_and(|since| now < *since + COMBO_EPISODE)
    }

    fn begin(&mut self, connection: &ConnectionId, now: Timestamp) {
        if let Some(before) = self.since.insert(connection.clone(), now) {
            self.oldest_first.remove(&(before, connection.clone()));
        }
        self.oldest_first.insert((now, connection.clone()));
        while let Some((since, _)) = self.oldest_first.first()
            && (self.oldest_first.len() > MAX_EPISODES || now >= *since + COMBO_EPISODE)
        {
            if let Some((_, connection)) = self.oldest_first.pop_first() {
                self.since.remove(&connection);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

    fn terms(settings: &Settings) -> Terms<'_> {
        settings.breaker_terms(ProviderClass::Apikey)
    }

    fn fail(breakers: &mut Breakers, provider: &str, connection: &str, caller: Caller, now: Timestamp) {
        let settings = Settings::default();
        let (provider, connection) = (provider.into(), connection.into());
        if let Ok((Some(ticket), _)) = breakers.admit(&provider, ProviderClass::Apikey, terms(&settings), now) {
            let breaker = BreakerCharge::Counts;
            let charge = Charge { connection: &connection, caller, breaker, kind: FailureKind::Transient };
            breakers.on_failure(&provider, terms(&settings), ticket, charge, now);
        }
    }

    fn failures(breakers: &Breakers, provider: &str) -> Option<u32> {
        breakers.entries.get(&provider.into()).map(|entry| entry.breaker.failures())
    }

    #[test]
    fn a_combo_s_failures_on_one_account_within_five_seconds_count_once() {
        // CB-26
        let mut breakers = Breakers::default();
        for n in 0..12 {
            fail(&mut breakers, "ak", "c1", Caller::Combo, NOW + Millis::new(n * 300));
        }
        assert_eq!(failures(&breakers, "ak"), Some(1));
        fail(&mut breakers, "ak", "c2", Caller::Combo, NOW);
        assert_eq!(failures(&breakers, "ak"), Some(2), "another account is another failure");
        for n in 1..4 {
            fail(&mut breakers, "ak", "c1", Caller::Combo, NOW + Millis::seconds(n * 5));
        }
        assert_eq!(failures(&breakers, "ak"), Some(5));
        fail(&mut breakers, "ak", "c1", Caller::Direct, NOW + Millis::seconds(15));
        assert_eq!(failures(&breakers, "ak"), Some(6), "direct requests count each");
    }

    #[test]
    fn one_provider_s_break_is_nobody_else_s() {
        // CB-37
        let mut breakers = Breakers::default();
        for _ in 0..12 {
            fail(&mut breakers, "ak", "c1", Caller::Direct, NOW);
        }
        let settings = Settings::default();
        assert!(breakers.is_open(&"ak".into(), terms(&settings), NOW));
        assert_eq!(breakers.check(&"ak2".into(), terms(&settings), NOW), Verdict::Pass);
    }

    #[test]
    fn at_most_five_hundred_are_kept_and_never_one_that_remembers_is_dropped() {
        // CB-39
        let settings = Settings::default();
        let mut breakers = Breakers::default();
        for _ in 0..12 {
            fail(&mut breakers, "broken", "c1", Caller::Direct, NOW);
        }
        for n in 0..600_u64 {
            let provider = format!("p{n}").into();
            let admitted = breakers.admit(&provider, ProviderClass::Apikey, terms(&settings), NOW + Millis::new(n));
            assert!(matches!(admitted, Ok((Some(_), None))));
        }
        assert_eq!(breakers.entries.len(), MAX_BREAKERS);
        assert!(breakers.is_open(&"broken".into(), terms(&settings), NOW));
        assert_eq!(failures(&breakers, "p0"), None, "the idlest went");

        for n in 0..600 {
            fail(&mut breakers, &format!("q{n}"), "c1", Caller::Direct, NOW + Millis::seconds(1));
        }
        assert_eq!(breakers.entries.len(), MAX_BREAKERS, "the others go without a breaker");
    }

    #[test]
    fn a_healthy_breaker_nobody_asks_for_is_forgotten() {
        // CB-39
        let settings = Settings::default();
        let mut breakers = Breakers::default();
        fail(&mut breakers, "watched", "c1", Caller::Direct, NOW);
        assert!(breakers.admit(&"idle".into(), ProviderClass::Apikey, terms(&settings), NOW).is_ok());
        assert_eq!(breakers.tick(&settings, NOW + Millis::minutes(30)).1, Vec::new());
        assert_eq!(breakers.tick(&settings, NOW + Millis::minutes(31)).1, vec!["idle".into()]);
        assert_eq!(failures(&breakers, "watched"), Some(1));
    }

    #[test]
    fn episodes_are_bounded() {
        let mut episodes = Episodes::default();
        for n in 0..MAX_EPISODES + 10 {
            episodes.begin(&format!("c{n:05}").into(), NOW);
        }
        assert_eq!((episodes.since.len(), episodes.oldest_first.len()), (MAX_EPISODES, MAX_EPISODES));
        episodes.begin(&"later".into(), NOW + COMBO_EPISODE);
        assert_eq!((episodes.since.len(), episodes.oldest_first.len()), (1, 1));
    }
}
