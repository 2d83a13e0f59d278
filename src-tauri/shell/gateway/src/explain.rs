//! Where a request for a model would go now: the plan of a request that nobody sent.
//!
//! It asks the very functions that plan real requests and that answer those nobody serves, so what is shown is what would
//! happen. Nothing is admitted and nothing changes.

use domain::client_key::ClientKey;
use domain::request_log::ExclusionRecord;
use domain::wire::reason;
use domain::{ConnectionId, Dialect, Exclusion, Mechanism, Operation, ProviderId};
use resilience::Caller;
use routing::exhaustion::Answer;
use routing::resolve::NotFound;
use routing::{Journey, Resolved};

use crate::gateway::Gateway;
use crate::plan::{self, Asker, Step};

/// What a name means and whom it could reach.
#[derive(Clone, Debug)]
pub struct Explanation {
    pub resolved: Resolved,
    /// Every account of the provider in the order of routing.
    pub outlooks: Vec<Outlook>,
    /// What an agent would be told at last; nothing when some account would be tried.
    pub answer: Option<Answer>,
}

/// One account and whether it would be tried.
#[derive(Clone, Debug)]
pub struct Outlook {
    pub connection: ConnectionId,
    /// What its owner calls it.
    pub name: String,
    /// Why it would not.
    pub exclusion: Option<Exclusion>,
}

impl Gateway {
    /// Plans a request for `model` as if an agent asked in a dialect that the provider speaks, with this key or without
    /// restrictions. Whether the key itself is still accepted is not looked at.
    pub fn explain(&self, model: &str, key: Option<&ClientKey>) -> Result<Explanation, NotFound> {
        let resolved = routing::resolve(model, &self.names())?;
        let catalog = self.catalog();
        let Some(provider) = catalog.get(&resolved.provider) else { return Err(NotFound { near: Vec::new() }) };
        let only = provider.model(&resolved.model).and_then(|model| model.dialect);
        let dialect = only.or_else(|| provider.dialects.first().copied()).unwrap_or(Dialect::Chat);
        let asker = Asker::anybody(generation(dialect), key, Caller::Direct);
        let (mut steps, mut exclusions) = plan::rank(self, &asker, &resolved, provider);
        if is_barred(key, model, &resolved) {
            exclusions.extend(steps.drain(..).map(left_out));
            exclusions.iter_mut().for_each(|record| record.exclusion = not_for_this_key());
        }
        let outlooks = self.outlooks(&resolved.provider, &steps, &exclusions);
        let answer = steps.is_empty().then(|| {
            let mut journey = Journey::default();
            journey.exclusions.extend(exclusions);
            routing::exhaustion::answer(&journey, self.now())
        });
        Ok(Explanation { resolved, outlooks, answer })
    }

    /// Those that would be tried and those left out in one order again, that of routing.
    fn outlooks(&self, provider: &ProviderId, steps: &[Step], exclusions: &[ExclusionRecord]) -> Vec<Outlook> {
        let available = steps.iter().map(|step| Outlook {
            connection: step.candidate.connection.clone(),
            name: step.entry.connection.name.clone(),
            exclusion: None,
        });
        let excluded = exclusions.iter().filter_map(|record| {
            let connection = record.connection.clone()?;
            let name = record.connection_name.clone().unwrap_or_else(|| connection.to_string());
            Some(Outlook { connection, name, exclusion: Some(record.exclusion.clone()) })
        });
        let mut outlooks: Vec<Outlook> = available.chain(excluded).collect();
        let connections = self.connections();
        outlooks.sort_by_cached_key(|outlook| {
            let place = connections.of_provider(provider).position(|entry| entry.connection.id == outlook.connection);
            place.unwrap_or(usize::MAX)
        });
        outlooks
    }

    /// The breaker's numbers that hold for a provider; those of keyed providers for one that the catalogue lost.
    pub fn breaker_numbers(&self, provider: &ProviderId) -> resilience::circuit_breaker::Config {
        let class = self.catalog().get(provider).map_or(domain::ProviderClass::Apikey, |known| known.class);
        self.settings().resilience.breaker(class).clone()
    }
}

/// Whether the key may not use the model at all, whatever the account.
fn is_barred(key: Option<&ClientKey>, requested: &str, resolved: &Resolved) -> bool {
    let qualified = format!("{}/{}", resolved.provider, resolved.model);
    key.is_some_and(|key| !key.allows_model(&[requested, &qualified]))
}

fn left_out(step: Step) -> ExclusionRecord {
    plan::excluded_record(&step.candidate, Some(step.entry.connection.name.clone()), not_for_this_key())
}

fn not_for_this_key() -> Exclusion {
    Exclusion::lasting(Mechanism::KeyAllowList, reason::KEY_ALLOW_LIST)
}

/// What an agent of that dialect usually asks.
const fn generation(dialect: Dialect) -> Operation {
    match dialect {
        Dialect::Chat => Operation::ChatCompletions,
        Dialect::Responses => Operation::Responses,
        Dialect::Messages => Operation::Messages,
        Dialect::Gemini => Operation::GenerateContent,
    }
}
