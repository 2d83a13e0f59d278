//! State changes in the log, told once and in the words of the Engine's events.

use resilience::Event;

pub(crate) fn write(event: &Event) {
    match event {
        Event::ConnectionFailed { provider, connection, error } => tracing::warn!(
            %provider,
            %connection,
            status = error.status,
            reason = error.reason.map(domain::Reason::kind),
            message = %error.message,
            "connection failed"
        ),
        Event::ConnectionRecovered { provider, connection } => {
            tracing::info!(%provider, %connection, "connection works again");
        }
        Event::ConnectionCooling { provider, connection, until } => {
            tracing::info!(%provider, %connection, until = until.as_millis(), "connection cools");
        }
        Event::ConnectionTerminal { provider, connection, status } => {
            tracing::warn!(%provider, %connection, status = status.as_str(), "connection needs its owner");
        }
        Event::BreakerChanged { provider, transition } => tracing::warn!(
            %provider,
            from = %transition.from,
            to = %transition.to,
            failures = transition.failure_count,
            reason = %transition.reason,
            "circuit breaker changed"
        ),
        Event::ModelLocked { provider, connection, model, reason, until } => {
            tracing::info!(%provider, %connection, %model, %reason, until = until.as_millis(), "model locked");
        }
        Event::ModelUnlocked { provider, connection, model } => {
            tracing::info!(%provider, %connection, %model, "model unlocked");
        }
        Event::QuotaChanged { connection } => tracing::debug!(%connection, "quota changed"),
        Event::ProviderCooling { provider, until } => {
            tracing::info!(%provider, until = until.as_millis(), "provider cools for combos");
        }
    }
}
