//! Fair share: how much of a pool one key may use (gateway specification, 3.6).
//!
//! What a key used is counted in two buckets of a window's length, the current and the one before, which fades as the
//! current fills: `previous × (1 − elapsed ÷ window) + current`. That follows a sliding window closely and needs two
//! numbers instead of a list of requests.
//!
//! A key's share is its part of the weights. While less than half of a dimension is used everyone may exceed it; above,
//! the policy of the key decides. A cap holds always. [`Ledger::decide`] asks before a request, [`Ledger::charge`] counts
//! afterwards, [`Ledger::charge_percent`] whenever the vendor says how full the account is; requests that are under way at the same time may exceed a share by what they use. What nobody counted is
//! not held against anyone: an empty ledger allows everything.

use std::collections::BTreeMap;

use domain::{ClientKeyId, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Allocation, Dimension, Policy, Pool, Unit, Window};

/// Part of a dimension below which everyone may exceed a share.
pub const GENEROUS_BELOW: f64 = 0.5;

/// Whether a key may ask.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    Allow,
    /// Ask, and leave room for those within their share.
    Demote,
    /// 429.
    Refuse(Refusal),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refusal {
    pub dimension: Dimension,
    /// What the key may use, in the dimension's unit.
    pub allowed: f64,
    /// What it has used.
    pub used: f64,
    /// When it will have used less, if it asks nothing until then; none, never.
    pub until: Option<Timestamp>,
}

/// What one request used. Of an account's percentage no request knows its part: see [`super::percent`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    pub requests: f64,
    pub tokens: f64,
    pub usd: f64,
}

impl Usage {
    fn of(&self, unit: Unit) -> Option<f64> {
        match unit {
            Unit::Percent => None,
            Unit::Requests => Some(sane(self.requests)),
            Unit::Tokens => Some(sane(self.tokens)),
            Unit::Usd => Some(sane(self.usd)),
        }
    }
}

/// What every key used of every pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    pools: BTreeMap<String, BTreeMap<(Unit, Window), Counters>>,
}

type Counters = BTreeMap<ClientKeyId, Counter>;

/// Two buckets, the later of which began at `bucket × window`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counter {
    pub bucket: u64,
    pub current: f64,
    pub previous: f64,
}

/// One counter as the store keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    pub pool: String,
    pub unit: Unit,
    pub window: Window,
    pub api_key_id: ClientKeyId,
    #[serde(flatten)]
    pub counter: Counter,
}

/// A key and what it asks of.
#[derive(Clone, Copy)]
struct Asker<'a> {
    pool: &'a Pool,
    key: &'a ClientKeyId,
    own: Option<&'a Allocation>,
    now: Timestamp,
}

impl Ledger {
    /// Whether a key may ask the pool now. `measured` is the part of a dimension that is used up according to the vendor,
    /// 0–1, where known: others may use the account outside this program.
    ///
    /// A key the pool does not name has no share: it is served while there is plenty, and lowered afterwards.
    pub fn decide(
        &self,
        pool: &Pool,
        key: &ClientKeyId,
        now: Timestamp,
        measured: impl Fn(&Dimension) -> Option<f64>,
    ) -> Verdict {
        if pool.allocations.is_empty() {
            return Verdict::Allow;
        }
        let own = pool.allocations.iter().find(|allocation| allocation.api_key_id == *key);
        let asker = Asker { pool, key, own, now };
        let capped = pool.dimensions.first().and_then(|first| self.by_cap(asker, first)).unwrap_or(Verdict::Allow);
        let by_share = pool.dimensions.iter().map(|dimension| self.by_share(asker, dimension, measured(dimension)));
        by_share.fold(capped, stricter)
    }

    /// A cap holds however much is left.
    fn by_cap(&self, asker: Asker<'_>, dimension: &Dimension) -> Option<Verdict> {
        let cap = asker.own?.cap_value?;
        (self.used(&asker.pool.id, asker.key, dimension, asker.now) >= cap).then(|| self.refuse(asker, dimension, cap))
    }

    fn by_share(&self, asker: Asker<'_>, dimension: &Dimension, measured: Option<f64>) -> Verdict {
        let Asker { pool, key, own, now } = asker;
        let counted = self.used_by_all(&pool.id, dimension, now) / dimension.limit;
        let part = measured.filter(|part| part.is_finite()).map_or(counted, |part| part.max(counted));
        let (used, share) = (self.used(&pool.id, key, dimension, now), share(pool, own, dimension));
        // Without a sensible limit the part is no number, and nobody is held to it.
        if part.is_nan() || part < GENEROUS_BELOW || used < share {
            return Verdict::Allow;
        }
        match own.map_or(Policy::Soft, |own| own.policy) {
            Policy::Soft => Verdict::Demote,
            Policy::Hard => self.refuse(asker, dimension, share),
            Policy::Burst => {
                let allowed = share + self.unused_by_others(asker, dimension);
                if used < allowed { Verdict::Allow } else { self.refuse(asker, dimension, allowed) }
            }
        }
    }

    fn refuse(&self, asker: Asker<'_>, dimension: &Dimension, allowed: f64) -> Verdict {
        let Asker { pool, key, now, .. } = asker;
        let counter = self.counter(&pool.id, key, dimension);
        let until = counter.and_then(|counter| counter.falls_below(allowed, dimension.window, now));
        let used = self.used(&pool.id, key, dimension, now);
        Verdict::Refuse(Refusal { dimension: *dimension, allowed, used, until })
    }

    /// Counts what a request used, in every dimension of the pool but those of percentages. What the store puts down.
    pub fn charge(&mut self, pool: &Pool, key: &ClientKeyId, usage: &Usage, now: Timestamp) -> Vec<Row> {
        let known = |dimension: &Dimension| Some((*dimension, usage.of(dimension.unit)?));
        let amounts: Vec<(Dimension, f64)> = pool.dimensions.iter().filter_map(known).collect();
        amounts.into_iter().map(|(dimension, amount)| self.add(&pool.id, key, &dimension, amount, now)).collect()
    }

    /// Counts percentage points of a window that a key has used. What the store puts down; none, the pool does not share
    /// percentages of that window.
    pub fn charge_percent(
        &mut self,
        pool: &Pool,
        key: &ClientKeyId,
        window: Window,
        points: f64,
        now: Timestamp,
    ) -> Option<Row> {
        let shared = |dimension: &&Dimension| dimension.unit == Unit::Percent && dimension.window == window;
        let dimension = *pool.dimensions.iter().find(shared)?;
        Some(self.add(&pool.id, key, &dimension, sane(points), now))
    }

    fn add(&mut self, pool: &str, key: &ClientKeyId, dimension: &Dimension, amount: f64, now: Timestamp) -> Row {
        let Dimension { unit, window, .. } = *dimension;
        let keys = self.pools.entry(pool.to_owned()).or_default().entry((unit, window)).or_default();
        keys.retain(|_, counter| !counter.is_over(window, now));
        let counter = keys.entry(key.clone()).or_default();
        counter.add(amount, window, now);
        Row { pool: pool.to_owned(), unit, window, api_key_id: key.clone(), counter: *counter }
    }

    /// What a key has used of a dimension, in its unit.
    pub fn used(&self, pool: &str, key: &ClientKeyId, dimension: &Dimension, now: Timestamp) -> f64 {
        self.counter(pool, key, dimension).map_or(0.0, |counter| counter.value(dimension.window, now))
    }

    /// Everyone who has used something of a dimension, and how much, in its unit.
    pub fn used_by_each(&self, pool: &str, dimension: &Dimension, now: Timestamp) -> Vec<(ClientKeyId, f64)> {
        let value = |(key, counter): (&ClientKeyId, &Counter)| (key.clone(), counter.value(dimension.window, now));
        self.counters(pool, dimension).into_iter().flatten().map(value).filter(|(_, used)| *used > 0.0).collect()
    }

    /// What all keys together have used of a dimension, in its unit.
    pub fn used_by_all(&self, pool: &str, dimension: &Dimension, now: Timestamp) -> f64 {
        let counters = self.counters(pool, dimension);
        counters.map_or(0.0, |keys| keys.values().map(|counter| counter.value(dimension.window, now)).sum())
    }

    /// From the store. Numbers that make no sense count as 0.
    pub fn restore(rows: impl IntoIterator<Item = Row>) -> Ledger {
        let mut ledger = Ledger::default();
        for Row { pool, unit, window, api_key_id, counter: Counter { bucket, current, previous } } in rows {
            let counter = Counter { bucket, current: sane(current), previous: sane(previous) };
            ledger.pools.entry(pool).or_default().entry((unit, window)).or_default().insert(api_key_id, counter);
        }
        ledger
    }

    /// Forgets pools that are gone.
    pub fn retain(&mut self, exists: impl Fn(&str) -> bool) {
        self.pools.retain(|pool, _| exists(pool));
    }

    fn unused_by_others(&self, asker: Asker<'_>, dimension: &Dimension) -> f64 {
        let Asker { pool, key, now, .. } = asker;
        let others = pool.allocations.iter().filter(|other| other.api_key_id != *key);
        others
            .map(|other| {
                let used = self.used(&pool.id, &other.api_key_id, dimension, now);
                (share(pool, Some(other), dimension) - used).max(0.0)
            })
            .sum()
    }

    fn counters(&self, pool: &str, dimension: &Dimension) -> Option<&Counters> {
        self.pools.get(pool)?.get(&(dimension.unit, dimension.window))
    }

    fn counter(&self, pool: &str, key: &ClientKeyId, dimension: &Dimension) -> Option<&Counter> {
        self.counters(pool, dimension)?.get(key)
    }
}

/// A key's part of a dimension, in its unit; with nothing but zero weights, all have the same.
pub fn share(pool: &Pool, own: Option<&Allocation>, dimension: &Dimension) -> f64 {
    let Some(own) = own else {
        return 0.0;
    };
    let sum: f64 = pool.allocations.iter().map(|allocation| sane(allocation.weight)).sum();
    let part = if sum > 0.0 { sane(own.weight) / sum } else { 1.0 / pool.allocations.len() as f64 };
    part * dimension.limit
}

/// The stricter of two verdicts; of two refusals the one that lasts longer.
fn stricter(a: Verdict, b: Verdict) -> Verdict {
    match (a, b) {
        (Verdict::Refuse(first), Verdict::Refuse(second)) => {
            let end = |refusal: &Refusal| refusal.until.unwrap_or(Timestamp::MAX);
            Verdict::Refuse(if end(&second) > end(&first) { second } else { first })
        }
        (refusal @ Verdict::Refuse(_), _) | (_, refusal @ Verdict::Refuse(_)) => refusal,
        (Verdict::Demote, _) | (_, Verdict::Demote) => Verdict::Demote,
        (Verdict::Allow, Verdict::Allow) => Verdict::Allow,
    }
}

fn sane(number: f64) -> f64 {
    if number.is_finite() { number.max(0.0) } else { 0.0 }
}

impl Counter {
    /// The same, seen from the bucket of `now`.
    fn at(&self, window: Window, now: Timestamp) -> Counter {
        let bucket = now.as_millis() / window.length().as_millis();
        match bucket.saturating_sub(self.bucket) {
            0 => *self,
            1 => Counter { bucket, current: 0.0, previous: self.current },
            _ => Counter { bucket, current: 0.0, previous: 0.0 },
        }
    }

    fn add(&mut self, amount: f64, window: Window, now: Timestamp) {
        *self = self.at(window, now);
        self.current = (self.current + amount).min(f64::MAX);
    }

    fn value(&self, window: Window, now: Timestamp) -> f64 {
        let Counter { bucket, current, previous } = self.at(window, now);
        let length = window.length().as_millis();
        let elapsed = now.as_millis().saturating_sub(bucket.saturating_mul(length)) as f64 / length as f64;
        (previous * (1.0 - elapsed.clamp(0.0, 1.0)) + current).min(f64::MAX)
    }

    /// Whether it says nothing any more, and never will.
    fn is_over(&self, window: Window, now: Timestamp) -> bool {
        (now.as_millis() / window.length().as_millis()).saturating_sub(self.bucket) > 1
    }

    /// When the value is below `bound` if nothing is added.
    fn falls_below(&self, bound: f64, window: Window, now: Timestamp) -> Option<Timestamp> {
        if bound <= 0.0 {
            return None;
        }
        let Counter { bucket, current, previous } = self.at(window, now);
        let length = window.length().as_millis() as f64;
        let start = bucket as f64 * length;
        // In this bucket the previous one fades; in the next one the current does.
        let instant = if current < bound {
            start + length * (1.0 - (bound - current) / previous.max(f64::MIN_POSITIVE)).max(0.0)
        } else {
            start + length + length * (1.0 - bound / current)
        };
        Some(Timestamp::from_millis(instant.ceil() as u64 + 1).max(now))
    }
}

#[cfg(test)]
#[path = "fair_share_tests.rs"]
mod tests;
