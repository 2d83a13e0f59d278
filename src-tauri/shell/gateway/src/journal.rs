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
    }
}
