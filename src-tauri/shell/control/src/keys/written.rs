//! From what a person wrote to a key. Each refusal names the member and what would be right.

use domain::client_key::{AutoCandidate, ClientKey, Scope};
use domain::key_limits::{Interval, KeyLimits, LimitScope, ResetTime, TokenLimit};
use routing::auto_name::AutoName;

use crate::view::{self, KeyAutoCandidate, KeyChange, KeyLimitScope, KeyTokenLimit};
use crate::{Control, ControlError, check};

/// US dollars: the most a budget can be.
const MOST_USD: f64 = 1_000_000.0;
/// The most a limit of tokens can be.
const MOST_TOKENS: u64 = 1_000_000_000_000;
/// Token limits of one key.
const MOST_LIMITS: usize = 50;

/// Changes a key; what is absent stays. On a refusal the key is not to be used.
pub(super) fn apply(control: &Control, key: &mut ClientKey, change: KeyChange) -> Result<(), ControlError> {
    if let Some(name) = &change.name {
        key.name = check::name("name", name)?;
    }
    if let Some(is_active) = change.is_active {
        key.is_active = is_active;
    }
    if let Some(end) = change.expires_at {
        key.expires_at = end.map(view::Instant::timestamp);
    }
    reach(control, key, &change)?;
    spending(control, &mut key.limits, change)?;
    together(key)
}

/// What the key may use.
fn reach(control: &Control, key: &mut ClientKey, change: &KeyChange) -> Result<(), ControlError> {
    if let Some(scopes) = &change.scopes {
        key.scopes = scopes.iter().flatten().copied().map(Scope::from).collect();
    }
    if let Some(models) = &change.allowed_models {
        key.allowed_models = check::texts("allowedModels", models.as_deref().unwrap_or_default())?;
    }
    if let Some(names) = &change.allowed_combos {
        key.allowed_combos = combos(control, names.as_deref().unwrap_or_default(), &key.allowed_combos)?;
    }
    if let Some(ids) = &change.allowed_connections {
        let ids = ids.as_deref().unwrap_or_default();
        key.allowed_connections = check::connection_ids(control, "allowedConnections", ids)?;
    }
    if let Some(ids) = &change.preferred_connections {
        let ids = ids.as_deref().unwrap_or_default();
        key.preferred_connections = check::connection_ids(control, "preferredConnections", ids)?;
    }
    if let Some(candidates) = &change.excluded_auto_candidates {
        let candidates = candidates.iter().flatten();
        key.excluded_auto_candidates =
            candidates.map(|(channel, left_out)| excluded(control, channel, left_out)).collect::<Result<_, _>>()?;
    }
    Ok(())
}

/// What the key may spend.
fn spending(control: &Control, limits: &mut KeyLimits, change: KeyChange) -> Result<(), ControlError> {
    for (field, wanted, budget) in [
        ("budgetDailyUsd", change.budget_daily_usd, &mut limits.budget_daily_usd),
        ("budgetWeeklyUsd", change.budget_weekly_usd, &mut limits.budget_weekly_usd),
        ("budgetMonthlyUsd", change.budget_monthly_usd, &mut limits.budget_monthly_usd),
    ] {
        if let Some(usd) = wanted {
            *budget = usd.map(|usd| dollars(field, usd)).transpose()?;
        }
    }
    if let Some(threshold) = change.warning_threshold {
        limits.warning_threshold = match threshold {
            None => KeyLimits::WARNING_THRESHOLD,
            Some(share) if share > 0.0 && share <= 1.0 => share,
            Some(_) => {
                let message = "must be a share of the limit, above 0 and at most 1: 0.8 warns at 80 percent";
                return Err(ControlError::invalid("warningThreshold", message));
            }
        };
    }
    if let Some(interval) = change.reset_interval {
        limits.reset_interval = interval.map(Interval::from).unwrap_or_default();
    }
    if let Some(time) = change.reset_time {
        let read = time.map(|time| time.trim().parse::<ResetTime>());
        let read = read.transpose().map_err(|error| ControlError::invalid("resetTime", error.to_string()))?;
        limits.reset_time = read.unwrap_or_default();
    }
    if let Some(wanted) = change.token_limits {
        let wanted = wanted.unwrap_or_default();
        if wanted.len() > MOST_LIMITS {
            return Err(ControlError::invalid("tokenLimits", format!("at most {MOST_LIMITS} entries are possible")));
        }
        let read = wanted.into_iter().enumerate().map(|(index, limit)| {
            token_limit(control, limit).map_err(|error| error.within(&format!("tokenLimits[{index}]")))
        });
        limits.token_limits = read.collect::<Result<_, _>>()?;
    }
    Ok(())
}

/// What members demand of each other.
fn together(key: &ClientKey) -> Result<(), ControlError> {
    if key.scopes.contains(&Scope::LeaseExclusive) && key.allowed_connections.is_empty() {
        let message = "the scope lease:exclusive needs at least one connection here";
        return Err(ControlError::invalid("allowedConnections", message));
    }
    match key.preferred_connections.iter().find(|preferred| !key.allows_connection(preferred)) {
        None => Ok(()),
        Some(outside) => {
            let message = format!("{outside} is not among the allowed connections: allow it, or take it out here");
            Err(ControlError::invalid("preferredConnections", message))
        }
    }
}

/// Combos that exist, or that the key may ask for already: one that was deleted since is no obstacle to another change.
fn combos(control: &Control, names: &[String], before: &[String]) -> Result<Vec<String>, ControlError> {
    let names = check::texts("allowedCombos", names)?;
    let combos = control.combos();
    let is_known = |name: &String| {
        combos.named(name).is_some() || AutoName::parse(name).is_some() || before.iter().any(|known| known == name)
    };
    match names.iter().find(|name| !is_known(name)) {
        None => Ok(names),
        Some(unknown) => {
            Err(ControlError::invalid("allowedCombos", format!("there is no combo with the name {unknown}")))
        }
    }
}

fn excluded(
    control: &Control,
    channel: &str,
    left_out: &[KeyAutoCandidate],
) -> Result<(String, Vec<AutoCandidate>), ControlError> {
    let field = format!("excludedAutoCandidates.{channel}");
    if channel != "auto" && AutoName::parse(&format!("auto/{channel}")).is_none() {
        let message = "must be a channel: auto, or what follows auto/, such as coding";
        return Err(ControlError::invalid(field, message));
    }
    let mut read: Vec<AutoCandidate> = Vec::with_capacity(left_out.len());
    for KeyAutoCandidate { connection_id, model } in left_out {
        let model = check::text(&field, model)?;
        for connection_id in check::connection_ids(control, &field, std::slice::from_ref(connection_id))? {
            let candidate = AutoCandidate { connection_id, model: model.clone() };
            if !read.contains(&candidate) {
                read.push(candidate);
            }
        }
    }
    Ok((channel.to_owned(), read))
}

fn dollars(field: &str, usd: f64) -> Result<f64, ControlError> {
    if usd > 0.0 && usd <= MOST_USD {
        return Ok(usd);
    }
    let message = format!("must be above 0 and at most {MOST_USD} US dollars; without a budget, leave it out");
    Err(ControlError::invalid(field, message))
}

fn token_limit(control: &Control, limit: KeyTokenLimit) -> Result<TokenLimit, ControlError> {
    let value = check::optional_text("scopeValue", limit.scope_value)?;
    let scope = match (limit.scope_type, value) {
        (KeyLimitScope::Global, None) => LimitScope::Global,
        (KeyLimitScope::Global, Some(_)) => {
            return Err(ControlError::invalid("scopeValue", "must be absent where all requests count"));
        }
        (KeyLimitScope::Provider, Some(name)) => match control.catalog().by_name(&name) {
            Some(provider) => LimitScope::Provider(provider.id.clone()),
            None => {
                return Err(ControlError::invalid("scopeValue", format!("there is no provider with the id {name}")));
            }
        },
        (KeyLimitScope::Model, Some(glob)) => LimitScope::Model(glob),
        (KeyLimitScope::Provider | KeyLimitScope::Model, None) => {
            return Err(ControlError::invalid("scopeValue", "must name the provider or model whose tokens count"));
        }
    };
    if !(1..=MOST_TOKENS).contains(&limit.token_limit) {
        return Err(ControlError::invalid("tokenLimit", format!("must be from 1 to {MOST_TOKENS}")));
    }
    let reset_interval = limit.reset_interval.map(Interval::from);
    Ok(TokenLimit { scope, token_limit: limit.token_limit, reset_interval })
}
