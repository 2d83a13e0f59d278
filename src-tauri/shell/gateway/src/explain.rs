//! Where a request for a model would go now: the plan of a request that nobody sent.
//!
//! It asks the very function that plans real requests, so what is shown is what would happen. Nothing is admitted and
//! nothing changes.

use domain::request_log::ExclusionRecord;
use domain::{Candidate, Dialect, Operation, ProviderId};
use routing::Resolved;
use routing::resolve::NotFound;

use crate::gateway::Gateway;
use crate::plan::{self, Asker};

/// What a name means and whom it could reach.
#[derive(Clone, Debug)]
pub struct Explanation {
    pub resolved: Resolved,
    /// Those that would be tried, in their order, with the connection's name.
    pub available: Vec<(Candidate, String)>,
    pub excluded: Vec<ExclusionRecord>,
}

impl Gateway {
    /// Plans a request for `model` as if a client without restrictions asked in a dialect the provider speaks.
    pub fn explain(&self, model: &str) -> Result<Explanation, NotFound> {
        let resolved = routing::resolve(model, &self.names())?;
        let catalog = self.catalog();
        let Some(provider) = catalog.get(&resolved.provider) else { return Err(NotFound { near: Vec::new() }) };
        let only = provider.model(&resolved.model).and_then(|model| model.dialect);
        let dialect = only.or_else(|| provider.dialects.first().copied()).unwrap_or(Dialect::Chat);
        let asker = Asker { operation: generation(dialect), stream: false, key: None };
        let (steps, excluded) = plan::rank(self, &asker, &resolved, provider);
        let available = steps.into_iter().map(|step| (step.candidate, step.entry.connection.name.clone())).collect();
        Ok(Explanation { resolved, available, excluded })
    }

    /// The breaker's numbers that hold for a provider; those of keyed providers for one that the catalogue lost.
    pub fn breaker_numbers(&self, provider: &ProviderId) -> resilience::circuit_breaker::Config {
        let class = self.catalog().get(provider).map_or(domain::ProviderClass::Apikey, |known| known.class);
        self.settings().resilience.breaker(class).clone()
    }
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
