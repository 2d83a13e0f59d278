//! A key as a person sees it: what it opens, and what it has used of its limits.

use domain::client_key::{AutoCandidate, ClientKey};
use domain::key_limits::{LimitScope, TokenLimit};
use resilience::key_spending::{Level, Limit, Standing};

use crate::Control;
use crate::view::{self, KeyAutoCandidate, KeyLimitLevel, KeyLimitScope, KeyLimitUnit, KeyLimitUse, KeyTokenLimit};

pub(super) fn key(control: &Control, key: ClientKey) -> view::Key {
    let limit_use = control.key_standings(&key.id).into_iter().map(limit_use).collect();
    let limits = key.limits;
    let texts = |ids: Vec<domain::ConnectionId>| ids.iter().map(ToString::to_string).collect();
    let excluded = key.excluded_auto_candidates.into_iter();
    view::Key {
        id: key.id.to_string(),
        name: key.name,
        tail: key.tail,
        is_active: key.is_active,
        scopes: key.scopes.into_iter().map(view::Scope::from).collect(),
        allowed_models: key.allowed_models,
        allowed_combos: key.allowed_combos,
        allowed_connections: texts(key.allowed_connections),
        preferred_connections: texts(key.preferred_connections),
        excluded_auto_candidates: excluded
            .map(|(channel, candidates)| (channel, candidates.into_iter().map(candidate).collect()))
            .collect(),
        budget_daily_usd: limits.budget_daily_usd,
        budget_weekly_usd: limits.budget_weekly_usd,
        budget_monthly_usd: limits.budget_monthly_usd,
        warning_threshold: limits.warning_threshold,
        reset_interval: limits.reset_interval.into(),
        reset_time: limits.reset_time.to_string(),
        token_limits: limits.token_limits.into_iter().map(token_limit).collect(),
        limit_use,
        expires_at: key.expires_at.map(view::Instant::from),
        last_used_at: key.last_used_at.map(view::Instant::from),
        created_at: key.created_at.into(),
    }
}

fn candidate(candidate: AutoCandidate) -> KeyAutoCandidate {
    KeyAutoCandidate { connection_id: candidate.connection_id.to_string(), model: candidate.model }
}

fn token_limit(limit: TokenLimit) -> KeyTokenLimit {
    let (scope_type, scope_value) = scope(&limit.scope);
    let reset_interval = limit.reset_interval.map(view::Interval::from);
    KeyTokenLimit { scope_type, scope_value, token_limit: limit.token_limit, reset_interval }
}

fn scope(scope: &LimitScope) -> (KeyLimitScope, Option<String>) {
    match scope {
        LimitScope::Global => (KeyLimitScope::Global, None),
        LimitScope::Provider(provider) => (KeyLimitScope::Provider, Some(provider.to_string())),
        LimitScope::Model(glob) => (KeyLimitScope::Model, Some(glob.clone())),
    }
}

fn limit_use(standing: Standing) -> KeyLimitUse {
    let Standing { limit, period, spent, level } = standing;
    let (scope_type, scope_value) = scope(limit.scope());
    let (unit, whole, used) = match &limit {
        Limit::Budget { usd, .. } => (KeyLimitUnit::Usd, *usd, spent.usd),
        Limit::Tokens { tokens, .. } => (KeyLimitUnit::Tokens, *tokens as f64, spent.tokens as f64),
    };
    KeyLimitUse {
        unit,
        scope_type,
        scope_value,
        interval: limit.interval().into(),
        limit: whole,
        used,
        unpriced_requests: spent.unpriced,
        since: period.start.into(),
        resets_at: period.end.into(),
        level: match level {
            Level::Within => KeyLimitLevel::Within,
            Level::Warning => KeyLimitLevel::Warning,
            Level::Exceeded => KeyLimitLevel::Exceeded,
        },
    }
}
