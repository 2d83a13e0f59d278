//! Which numbers govern a queue: the layers, strongest first.
//!
//! The owner of the connection, then the operator's numbers for the provider, then the settings, whose environment and
//! built-in defaults are folded in before they come here (resilience specification, 16.1). The spacing floor of the
//! catalogue and the pace an upstream announced are no layers: the slowest of all holds.

use std::num::{NonZeroU32, NonZeroU64};

use domain::{Limits, Millis, ProviderClass, ProviderId};

use crate::settings::Settings;

/// Whose queue it is and what its owner wants of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub provider: ProviderId,
    pub class: ProviderClass,
    pub limits: Limits,
}

/// What governs one queue once every layer was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Requests within any minute.
    pub per_minute: Option<u32>,
    /// Shortest time between two requests; zero, any.
    pub spacing: Millis,
    /// Requests under way.
    pub concurrency: Option<u32>,
    pub tokens_per_minute: Option<u64>,
    pub tokens_per_day: Option<u64>,
    /// The queue budget.
    pub max_wait: Millis,
    pub execution_max_wait: Millis,
    /// 0 is no limit.
    pub max_queue_depth: u32,
}

impl Owner {
    pub(super) fn counts_tokens(&self) -> bool {
        self.limits.overrides.tpm.is_some() || self.limits.overrides.tpd.is_some()
    }
}

impl Terms {
    /// None: nobody asked for a queue, and the upstream announced no pace.
    pub fn of(owner: &Owner, settings: &Settings, paced: bool) -> Option<Terms> {
        let config = &settings.request_queue;
        let Limits { rate_limit_protection, overrides, spacing_floor, .. } = &owner.limits;
        let of_provider = settings.provider_quota_overrides.get(owner.provider.as_str()).copied().unwrap_or_default();
        let automatic = config.auto_enable_api_key_providers && owner.class == ProviderClass::Apikey;
        let protected = *rate_limit_protection || automatic;
        let spacing = overrides.min_time.or(protected.then_some(config.min_time_between_requests));
        let rpm = overrides.rpm.or(of_provider.rpm).map(NonZeroU32::get);
        let concurrency = of_provider.concurrency.map(NonZeroU32::get);
        let asked = protected
            || rpm.is_some()
            || concurrency.is_some()
            || overrides.tpm.is_some()
            || overrides.tpd.is_some()
            || overrides.min_time.is_some()
            || overrides.max_wait.is_some()
            || overrides.execution_max_wait.is_some()
            || !spacing_floor.is_zero();
        (asked || paced).then(|| Terms {
            per_minute: rpm.or(protected.then_some(config.requests_per_minute)),
            spacing: spacing.unwrap_or(Millis::ZERO).max(*spacing_floor),
            concurrency: concurrency.or(protected.then_some(config.concurrent_requests)),
            tokens_per_minute: overrides.tpm.map(NonZeroU64::get),
            tokens_per_day: overrides.tpd.map(NonZeroU64::get),
            max_wait: overrides.max_wait.unwrap_or(config.max_wait),
            execution_max_wait: overrides.execution_max_wait.unwrap_or(config.execution_max_wait),
            max_queue_depth: config.max_queue_depth,
        })
    }
}
