//! What local keys have spent, in the shell: one lock beside the Engine's, held for one call, never across an await.
//!
//! `resilience::key_spending` counts and decides; here are the lock, the table it is read from, what a request's record
//! says of its spending, and the words for a key that has used up what it had.

use std::sync::Arc;

use catalog::Catalog;
use domain::client_key::ClientKey;
use domain::key_limits::{Interval, LimitScope};
use domain::request_log::{Consumption, RequestRecord};
use domain::wire::{code, reason};
use domain::{ClientKeyId, Clock, Exclusion, Mechanism, ProviderClass, ProviderId, Timestamp};
use http::StatusCode;
use jiff::tz::TimeZone;
use parking_lot::Mutex;
use resilience::key_spending::{Charge, Ledger, Limit, Missing, Spent, Standing};
use store::{KeyUsage, Store};

use crate::error::{Blame, GatewayError};
use crate::exhaustion::iso;

/// Sums are asked and charged through here.
pub(crate) struct KeySpending {
    ledger: Mutex<Ledger>,
    clock: Arc<dyn Clock>,
}

impl KeySpending {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        KeySpending { ledger: Mutex::new(Ledger::new(TimeZone::system)), clock }
    }

    /// Follows the limits of these keys. What was not counted before is read from the table; requests that end between
    /// that reading and its taking over are missed by a limit that is new, as those in flight are.
    pub(crate) async fn follow(
        &self,
        keys: &[ClientKey],
        catalog: &Catalog,
        store: &Store,
    ) -> Result<(), store::Error> {
        let missing = self.ledger.lock().missing(keys, self.clock.now());
        let mut read: Vec<(Missing, Vec<Charge>)> = Vec::with_capacity(missing.len());
        for missing in missing {
            let rows = store.key_usage(&missing.key, missing.period.start, missing.period.end).await?;
            read.push((missing, rows.into_iter().map(|row| of_table(row, catalog)).collect()));
        }
        self.ledger.lock().follow(keys, &read);
        Ok(())
    }

    /// A request has ended: each of its calls is charged by its own provider and model. Whether its key is nearer to a limit
    /// in a way its owner wants to know.
    pub(crate) fn charge(&self, record: &RequestRecord, catalog: &Catalog) -> bool {
        let Some(key) = record.key.as_ref() else { return false };
        let (mut ledger, now) = (self.ledger.lock(), self.clock.now());
        if !ledger.follows(key) {
            return false;
        }
        let mut concerns_owner = false;
        for call in record.consumption() {
            concerns_owner |= ledger.charge(key, record.at, &of_call(&call, catalog), now);
        }
        concerns_owner
    }

    /// Every limit of a key, and how it stands.
    pub(crate) fn standings(&self, key: &ClientKeyId) -> Vec<Standing> {
        self.ledger.lock().standings(key, self.clock.now())
    }

    /// Refuses a key that may ask nothing more at present, whatever it asks.
    pub(crate) fn check(&self, key: &ClientKey) -> Result<(), GatewayError> {
        if key.limits.is_empty() {
            return Ok(());
        }
        let now = self.clock.now();
        let exceeded = self.ledger.lock().exceeded(&key.id, now);
        exceeded.map_or(Ok(()), |standing| Err(refusal(&standing, now)))
    }

    /// Why a key may not use a model of a provider at present.
    pub(crate) fn bars(&self, key: &ClientKey, provider: &ProviderId, model: &str) -> Option<Exclusion> {
        if !key.limits.tells_targets_apart() {
            return None;
        }
        let standing = self.ledger.lock().exceeded_for(&key.id, provider, model, self.clock.now())?;
        let lasting = Exclusion::lasting(Mechanism::KeyLimit, reason::TOKEN_LIMIT);
        Some(Exclusion { until: Some(standing.period.end), ..lasting })
    }
}

/// What one call of a finished request consumed.
fn of_call(call: &Consumption<'_>, catalog: &Catalog) -> Charge {
    let tokens = call.usage.input().unwrap_or(0).saturating_add(call.usage.output.unwrap_or(0));
    let unpriced = u64::from(call.cost.is_none() && tokens > 0);
    let spent = Spent { usd: call.cost.unwrap_or(0.0), tokens, unpriced };
    charge(call.provider.cloned(), call.model.map(str::to_owned), spent, catalog)
}

fn of_table(row: KeyUsage, catalog: &Catalog) -> Charge {
    let spent = Spent { usd: row.cost, tokens: row.tokens, unpriced: row.unpriced };
    charge(row.provider, row.model, spent, catalog)
}

/// A subscription is paid already: what its requests would cost elsewhere is no spending (gateway specification, 5.4).
fn charge(provider: Option<ProviderId>, model: Option<String>, spent: Spent, catalog: &Catalog) -> Charge {
    let known = provider.as_ref().and_then(|provider| catalog.get(provider));
    let spent = match known.map(|provider| provider.class) {
        Some(ProviderClass::Oauth) => Spent { usd: 0.0, unpriced: 0, ..spent },
        Some(ProviderClass::Apikey | ProviderClass::Local | ProviderClass::Free) | None => spent,
    };
    Charge { provider, model, spent }
}

/// The key's limit as the answer to its request: final until the period ends, so that nobody tries again before.
fn refusal(standing: &Standing, now: Timestamp) -> GatewayError {
    let (status, code, what) = match &standing.limit {
        Limit::Budget { interval, usd } => {
            let what = format!("has spent its {} budget of ${usd}", interval.as_str());
            (StatusCode::PAYMENT_REQUIRED, code::BUDGET_EXCEEDED, what)
        }
        Limit::Tokens { interval, scope, tokens } => {
            let what = format!("has used up its {} tokens {}{}", tokens, per(*interval), of(scope));
            (StatusCode::TOO_MANY_REQUESTS, code::TOKEN_LIMIT_EXCEEDED, what)
        }
    };
    let end = standing.period.end;
    let message = format!(
        "this local key {what}: wait until {}, or raise the limit in OmniRoute under Settings → API Keys",
        iso(end)
    );
    GatewayError {
        retry_after: Some(end.since(now)),
        should_retry: Some(false),
        ..GatewayError::new(Blame::Client, status, code, message)
    }
}

/// The same where a combo has nobody left but targets that the key has used up.
pub(crate) fn of_targets(name: &str, until: Timestamp, now: Timestamp) -> GatewayError {
    let message = format!(
        "this local key has used up its tokens of every model of `{name}`: wait until {}, or raise the limit in OmniRoute \
         under Settings → API Keys",
        iso(until)
    );
    GatewayError {
        retry_after: Some(until.since(now)),
        should_retry: Some(false),
        ..GatewayError::new(Blame::Client, StatusCode::TOO_MANY_REQUESTS, code::TOKEN_LIMIT_EXCEEDED, message)
    }
}

const fn per(interval: Interval) -> &'static str {
    match interval {
        Interval::Daily => "a day",
        Interval::Weekly => "a week",
        Interval::Monthly => "a month",
    }
}

fn of(scope: &LimitScope) -> String {
    match scope {
        LimitScope::Global => String::new(),
        LimitScope::Provider(provider) => format!(" of {provider}"),
        LimitScope::Model(glob) => format!(" of {glob}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscription_is_paid_already_and_an_unknown_price_stays_unknown() {
        let catalog = Catalog::builtin().expect("a catalogue");
        let row = |provider: &str| KeyUsage {
            provider: Some(provider.into()),
            model: Some("m1".to_owned()),
            cost: 2.5,
            tokens: 10,
            unpriced: 1,
        };
        for (provider, usd, unpriced) in [("claude", 0.0, 0), ("anthropic", 2.5, 1), ("gone-since", 2.5, 1)] {
            let spent = of_table(row(provider), &catalog).spent;
            assert_eq!(spent, Spent { usd, tokens: 10, unpriced }, "{provider}");
        }
    }
}
