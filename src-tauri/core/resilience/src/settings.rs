//! The configuration of every mechanism, in one section (resilience specification, 23).
//!
//! A mechanism's own numbers stand beside it; this file only gathers them, under the names of the REST API.

use std::collections::BTreeMap;

use domain::ProviderClass;

use crate::{
    circuit_breaker, connection_cooldown, cooldown_wait, model_lockout, provider_cooldown, quota_preflight,
    request_queue, stream_recovery, stream_watchdog, token_refresh,
};

domain::section! {
    /// Passed to every Engine call, so that a changed setting applies to the next call everywhere.
    pub struct Settings {
        /// When a provider is taken out of rotation as a whole.
        pub provider_breaker: circuit_breaker::Profiles;
        /// How long one account rests after a failure.
        pub connection_cooldown: connection_cooldown::Profiles;
        /// When a model rests on one account although the account is fine.
        pub model_lockout: model_lockout::Config;
        /// Remembers failures across requests, for combos.
        pub provider_cooldown: provider_cooldown::Config;
        /// Whether a request that names one model waits while all its accounts cool.
        pub wait_for_cooldown: cooldown_wait::Direct;
        /// Whether a combo waits while all its targets cool.
        pub combo_cooldown_wait: cooldown_wait::Combo;
        /// What a stream that stays alive without output costs its account.
        pub stream_stall_cooldown: stream_watchdog::StallCooldown;
        /// What is done about a stream that breaks.
        pub stream_recovery: stream_recovery::Config;
        /// How requests wait for their turn at one account.
        pub request_queue: request_queue::Config;
        /// Combos that share quotas.
        pub quota_share_concurrency_limit: quota_preflight::QuotaShare;
        /// When an account whose quota runs out is left out beforehand.
        pub quota_preflight: quota_preflight::Config;
        /// Limits by provider (`rpm`, `concurrency`, `providerConcurrency`), instead of the catalogue's.
        pub provider_quota_overrides: BTreeMap<String, quota_preflight::ProviderQuota>;
        /// When the refresh of tokens pauses.
        pub token_refresh_breaker: token_refresh::Config;
        /// How often credentials are tried while nobody uses them.
        pub credential_health_check: token_refresh::HealthCheck;
    }
}

impl Settings {
    /// The breaker's numbers for a class of provider.
    pub fn breaker(&self, class: ProviderClass) -> &circuit_breaker::Config {
        match class {
            ProviderClass::Oauth => &self.provider_breaker.oauth,
            ProviderClass::Apikey | ProviderClass::Free => &self.provider_breaker.apikey,
            ProviderClass::Local => &self.provider_breaker.local,
        }
    }

    /// What the breaker of a provider of this class goes by. Unless the operator says otherwise, cloud providers'
    /// breakers wait as long as rate limits last, and those of local servers do not.
    pub fn breaker_terms(&self, class: ProviderClass) -> circuit_breaker::Terms<'_> {
        let obeys_kinds = self.cooldown(class).use_upstream_429_breaker_hints.unwrap_or(class != ProviderClass::Local);
        circuit_breaker::Terms { config: self.breaker(class), obeys_kinds }
    }

    /// Whether breakers go by another rule about the kinds of failures than under `other`: their state then says nothing
    /// any more (resilience specification, 2.5).
    pub fn reads_kinds_otherwise(&self, other: &Settings) -> bool {
        let hints = |settings: &Settings| {
            [ProviderClass::Oauth, ProviderClass::Apikey, ProviderClass::Local]
                .map(|class| settings.cooldown(class).use_upstream_429_breaker_hints)
        };
        hints(self) != hints(other)
    }

    /// The cooldown's numbers for a class of provider.
    pub fn cooldown(&self, class: ProviderClass) -> &connection_cooldown::Config {
        match class {
            ProviderClass::Oauth => &self.connection_cooldown.oauth,
            ProviderClass::Apikey | ProviderClass::Free => &self.connection_cooldown.apikey,
            ProviderClass::Local => &self.connection_cooldown.local,
        }
    }

    /// The failure window's numbers for a class of provider.
    pub fn window(&self, class: ProviderClass) -> &provider_cooldown::Window {
        match class {
            ProviderClass::Oauth => &self.provider_cooldown.oauth,
            ProviderClass::Apikey | ProviderClass::Free => &self.provider_cooldown.apikey,
            ProviderClass::Local => &self.provider_cooldown.local,
        }
    }
}
