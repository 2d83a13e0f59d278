//! Circuit breakers: how each stands, and the operator's hand on them (resilience specification, 2.9, 2.10 and 24).

use domain::ProviderId;
use resilience::picture::BreakerPicture;
use resilience::{ResetScope, circuit_breaker};

use crate::view::{
    Breaker, BreakerDetail, BreakerSelection, BreakerState, BreakerTransition, Breakers, HealthReset, Instant,
    ResilienceReset,
};
use crate::{Control, ControlError, check};

/// Breakers that have anything to tell, by provider.
pub async fn breakers_list(control: &Control) -> Result<Breakers, ControlError> {
    let snapshot = control.engine().snapshot();
    let breakers = snapshot.breakers.iter().map(|(provider, picture)| detail(control, provider, picture)).collect();
    Ok(Breakers { breakers })
}

/// Closes one provider's breaker. A provider without one is no fault: there is nothing to close.
pub async fn breaker_reset(control: &Control, id: String) -> Result<ResilienceReset, ControlError> {
    let provider = ProviderId::from(check::short("provider", &id)?);
    let is_known = || control.catalog().get(&provider).is_some();
    if !control.engine().snapshot().breakers.contains_key(&provider) && !is_known() {
        return Err(ControlError::NotFound { message: format!("there is no provider {provider}") });
    }
    let cleared = control.engine().reset(&ResetScope::Breaker(provider.clone()));
    let message = format!("the circuit breaker of {provider} is closed");
    Ok(ResilienceReset { ok: true, reset_count: cleared.breakers, lockouts_cleared: 0, message })
}

/// Closes every breaker and ends every model lock; with a provider, closes only that one's breaker.
pub async fn resilience_reset(control: &Control, which: BreakerSelection) -> Result<ResilienceReset, ControlError> {
    if let Some(provider) = which.provider {
        return breaker_reset(control, provider).await;
    }
    let breakers = control.engine().reset(&ResetScope::Breakers).breakers;
    let lockouts = control.engine().reset(&ResetScope::Models).lockouts;
    let message = format!("{breakers} circuit breakers were closed and {lockouts} model locks ended");
    Ok(ResilienceReset { ok: true, reset_count: breakers, lockouts_cleared: lockouts, message })
}

/// Closes every breaker, or one provider's.
pub async fn health_reset(control: &Control, which: BreakerSelection) -> Result<HealthReset, ControlError> {
    let scope = match which.provider {
        Some(provider) => ResetScope::Breaker(ProviderId::from(check::short("provider", &provider)?)),
        None => ResetScope::Breakers,
    };
    let reset_count = control.engine().reset(&scope).breakers;
    let message = format!("{reset_count} circuit breakers were closed");
    Ok(HealthReset { success: true, message, reset_count })
}

/// One breaker with the numbers it goes by.
pub(crate) fn detail(control: &Control, provider: &ProviderId, picture: &BreakerPicture) -> BreakerDetail {
    let numbers = control.breaker_numbers(provider);
    let name = control.catalog().get(provider).map_or_else(|| provider.to_string(), |known| known.name.clone());
    BreakerDetail {
        provider: provider.to_string(),
        provider_name: name,
        state: state(picture.state),
        failure_count: picture.failure_count,
        failure_threshold: numbers.failure_threshold,
        degradation_threshold: numbers.degradation_threshold,
        open_cycles: picture.open_cycles,
        last_failure: picture.last_failure.map(Instant::from),
        retry_after_ms: picture.retry_after.as_millis(),
        probing: picture.probing,
        transitions: picture.transitions.iter().map(transition).collect(),
    }
}

/// The few figures that stand beside a connection; a provider without a breaker has a closed one.
pub(crate) fn brief(picture: Option<&BreakerPicture>) -> Breaker {
    match picture {
        None => Breaker { state: BreakerState::Closed, failure_count: 0, retry_after_ms: 0 },
        Some(picture) => Breaker {
            state: state(picture.state),
            failure_count: picture.failure_count,
            retry_after_ms: picture.retry_after.as_millis(),
        },
    }
}

pub(crate) const fn state(state: circuit_breaker::State) -> BreakerState {
    match state {
        circuit_breaker::State::Closed => BreakerState::Closed,
        circuit_breaker::State::Degraded => BreakerState::Degraded,
        circuit_breaker::State::Open { .. } => BreakerState::Open,
        circuit_breaker::State::HalfOpen => BreakerState::HalfOpen,
    }
}

fn transition(transition: &circuit_breaker::Transition) -> BreakerTransition {
    BreakerTransition {
        from: word(&transition.from),
        to: word(&transition.to),
        timestamp: transition.timestamp.into(),
        failure_count: transition.failure_count,
        reason: transition.reason.clone(),
    }
}

/// A state by its word on the wire.
fn word(word: &str) -> BreakerState {
    match word {
        "DEGRADED" => BreakerState::Degraded,
        "OPEN" => BreakerState::Open,
        "HALF_OPEN" => BreakerState::HalfOpen,
        _ => BreakerState::Closed,
    }
}
