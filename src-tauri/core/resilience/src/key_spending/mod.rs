//! What local keys have spent, and whether they may spend more (gateway specification, 1.3 and 1.11 step 2).
//!
//! Scope: one client key. Question: *has it used up what its owner gave it?* A key over its limit is refused before
//! anything is asked; no account, model or provider is charged with that.
//!
//! The authority is the table of usage; here stand sums over the present period of each limit, so that asking costs no
//! query. They grow with the very record that is put down for the table, and are read from it when the gateway starts and
//! when a limit is new. A request counts in the period in which it arrived, wherever it ends, so that the sums come out
//! the same both ways. Whoever is under way while a limit is reached is let finish: a limit can be exceeded by what is in
//! flight, never by more.
//!
//! There is no timer. Every reader compares `now` with the end of the period, so a period that passed unseen counts for
//! nothing. Time does not run backwards (specification's decision 27): a wall clock that is set back neither prolongs a
//! period nor gives one twice.

pub mod period;

use std::collections::BTreeMap;

use domain::client_key::ClientKey;
use domain::key_limits::{Interval, KeyLimits, LimitScope};
use domain::{ClientKeyId, ProviderId, Timestamp};
use jiff::tz::TimeZone;

pub use period::Period;

/// Where calendar days begin and end. A function, because a computer can travel.
pub type Zone = fn() -> TimeZone;

/// What requests consumed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// US dollars, of the requests whose price is known.
    pub usd: f64,
    /// Input and output.
    pub tokens: u64,
    /// Requests that consumed something for an unknown price: their tokens count, their dollars do not.
    pub unpriced: u64,
}

impl Spent {
    fn add(&mut self, other: &Spent) {
        self.usd += other.usd;
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.unpriced = self.unpriced.saturating_add(other.unpriced);
    }
}

/// What one request, or several of the same provider and model, consumed.
#[derive(Clone, Debug, PartialEq)]
pub struct Charge {
    pub provider: Option<ProviderId>,
    pub model: Option<String>,
    pub spent: Spent,
}

/// What is limited.
#[derive(Clone, Debug, PartialEq)]
pub enum Limit {
    Budget { interval: Interval, usd: f64 },
    Tokens { interval: Interval, scope: LimitScope, tokens: u64 },
}

impl Limit {
    pub const fn interval(&self) -> Interval {
        match self {
            Limit::Budget { interval, .. } | Limit::Tokens { interval, .. } => *interval,
        }
    }

    const GLOBAL: &'static LimitScope = &LimitScope::Global;

    /// Which requests it counts; a budget counts all.
    pub const fn scope(&self) -> &LimitScope {
        match self {
            Limit::Budget { .. } => Limit::GLOBAL,
            Limit::Tokens { scope, .. } => scope,
        }
    }

    /// The used part: 1 and more, it is used up.
    fn share(&self, spent: &Spent) -> f64 {
        match self {
            Limit::Budget { usd, .. } => spent.usd / usd,
            Limit::Tokens { tokens, .. } => spent.tokens as f64 / *tokens as f64,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Within,
    /// Past the key's warning threshold.
    Warning,
    Exceeded,
}

/// One limit of a key, and how it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    pub limit: Limit,
    pub period: Period,
    pub spent: Spent,
    pub level: Level,
}

/// The sums of one key.
#[derive(Clone, Debug, PartialEq)]
struct Account {
    limits: KeyLimits,
    counts: BTreeMap<(Interval, LimitScope), Count>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Count {
    period: Period,
    spent: Spent,
}

/// A period of a key of which the table has to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    pub key: ClientKeyId,
    pub interval: Interval,
    pub period: Period,
}

/// The sums of all keys that have limits.
#[derive(Clone, Debug)]
pub struct Ledger {
    accounts: BTreeMap<ClientKeyId, Account>,
    zone: Zone,
}

impl Ledger {
    pub fn new(zone: Zone) -> Ledger {
        Ledger { accounts: BTreeMap::new(), zone }
    }

    /// What has to be read before the limits of these keys can be followed: nothing where all that is to be counted is
    /// counted already.
    pub fn missing<'k>(&self, keys: impl IntoIterator<Item = &'k ClientKey>, now: Timestamp) -> Vec<Missing> {
        let mut missing: Vec<Missing> = Vec::new();
        for key in keys {
            let known = self.known(key);
            let uncounted = limits(&key.limits).filter(|limit| {
                let meter = (limit.interval(), limit.scope().clone());
                !known.is_some_and(|account| account.counts.contains_key(&meter))
            });
            for limit in uncounted {
                let interval = limit.interval();
                if !missing.iter().any(|other| other.key == key.id && other.interval == interval) {
                    let period = Period::around(now, interval, key.limits.reset_time, &(self.zone)());
                    missing.push(Missing { key: key.id.clone(), interval, period });
                }
            }
        }
        missing
    }

    /// Follows the limits of these keys and of no others. What is counted goes on, the rest begins with what was read.
    pub fn follow<'k>(&mut self, keys: impl IntoIterator<Item = &'k ClientKey>, read: &[(Missing, Vec<Charge>)]) {
        let mut accounts = BTreeMap::new();
        for key in keys.into_iter().filter(|key| !key.limits.is_empty()) {
            let known = self.known(key).map(|account| &account.counts);
            let mut counts = BTreeMap::new();
            for limit in limits(&key.limits) {
                let (interval, scope) = (limit.interval(), limit.scope());
                let meter = (interval, scope.clone());
                let counted = known.and_then(|known| known.get(&meter)).copied();
                let of_this = |missing: &Missing| missing.key == key.id && missing.interval == interval;
                let begun = || {
                    read.iter().find(|(missing, _)| of_this(missing)).map(|(missing, charges)| {
                        let mut count = Count { period: missing.period, spent: Spent::default() };
                        count.take(scope, charges);
                        count
                    })
                };
                if let Some(count) = counted.or_else(begun) {
                    counts.insert(meter, count);
                }
            }
            accounts.insert(key.id.clone(), Account { limits: key.limits.clone(), counts });
        }
        self.accounts = accounts;
    }

    /// The key's sums, unless its periods begin at another time by now.
    fn known(&self, key: &ClientKey) -> Option<&Account> {
        self.accounts.get(&key.id).filter(|account| account.limits.reset_time == key.limits.reset_time)
    }

    /// Whether the key has limits at all.
    pub fn follows(&self, key: &ClientKeyId) -> bool {
        self.accounts.contains_key(key)
    }

    /// A request that arrived at `at` has ended. Whether some limit of its key stands otherwise since.
    pub fn charge(&mut self, key: &ClientKeyId, at: Timestamp, charge: &Charge, now: Timestamp) -> bool {
        let zone = self.zone;
        let Some(account) = self.accounts.get_mut(key) else { return false };
        account.roll(now, zone);
        let before = account.alarm();
        for ((_, scope), count) in &mut account.counts {
            if count.period.contains(at) {
                count.take(scope, std::slice::from_ref(charge));
            }
        }
        account.alarm() != before
    }

    /// The limit that keeps the key from asking anything at all: a budget, or a limit of all its tokens. Of several the one
    /// that is back last.
    pub fn exceeded(&mut self, key: &ClientKeyId, now: Timestamp) -> Option<Standing> {
        self.worst(key, now, |limit| *limit.scope() == LimitScope::Global)
    }

    /// The limit that keeps the key from this provider or model.
    pub fn exceeded_for(
        &mut self,
        key: &ClientKeyId,
        provider: &ProviderId,
        model: &str,
        now: Timestamp,
    ) -> Option<Standing> {
        self.worst(key, now, |limit| {
            *limit.scope() != LimitScope::Global && limit.scope().covers(Some(provider), Some(model))
        })
    }

    fn worst(&mut self, key: &ClientKeyId, now: Timestamp, concerns: impl Fn(&Limit) -> bool) -> Option<Standing> {
        let zone = self.zone;
        let account = self.accounts.get_mut(key)?;
        account.roll(now, zone);
        let exceeded = account.standings().filter(|standing| standing.level == Level::Exceeded);
        exceeded.filter(|standing| concerns(&standing.limit)).max_by_key(|standing| standing.period.end)
    }

    /// Every limit of a key: budgets, then token limits in their order.
    pub fn standings(&mut self, key: &ClientKeyId, now: Timestamp) -> Vec<Standing> {
        let zone = self.zone;
        let Some(account) = self.accounts.get_mut(key) else { return Vec::new() };
        account.roll(now, zone);
        account.standings().collect()
    }
}

impl Account {
    /// Periods that are over give way to the present one.
    fn roll(&mut self, now: Timestamp, zone: Zone) {
        for ((interval, _), count) in &mut self.counts {
            if now >= count.period.end {
                let period = Period::around(now, *interval, self.limits.reset_time, &zone());
                *count = Count { period, spent: Spent::default() };
            }
        }
    }

    fn standings(&self) -> impl Iterator<Item = Standing> {
        limits(&self.limits).filter_map(move |limit| {
            let count = self.counts.get(&(limit.interval(), limit.scope().clone()))?;
            let share = limit.share(&count.spent);
            let level = if share >= 1.0 {
                Level::Exceeded
            } else if share >= self.limits.warning_threshold {
                Level::Warning
            } else {
                Level::Within
            };
            Some(Standing { limit, period: count.period, spent: count.spent, level })
        })
    }

    /// How many limits are past their warning, and how many used up.
    fn alarm(&self) -> (usize, usize) {
        self.standings().fold((0, 0), |(warned, exceeded), standing| match standing.level {
            Level::Within => (warned, exceeded),
            Level::Warning => (warned + 1, exceeded),
            Level::Exceeded => (warned, exceeded + 1),
        })
    }
}

impl Count {
    fn take(&mut self, scope: &LimitScope, charges: &[Charge]) {
        for charge in charges {
            if scope.covers(charge.provider.as_ref(), charge.model.as_deref()) {
                self.spent.add(&charge.spent);
            }
        }
    }
}

/// Every limit that is set.
fn limits(limits: &KeyLimits) -> impl Iterator<Item = Limit> {
    let budgets = limits.budgets().map(|(interval, usd)| Limit::Budget { interval, usd });
    let tokens = limits.token_limits.iter().map(move |limit| Limit::Tokens {
        interval: limits.interval_of(limit),
        scope: limit.scope.clone(),
        tokens: limit.token_limit,
    });
    budgets.chain(tokens)
}

#[cfg(test)]
mod tests;
