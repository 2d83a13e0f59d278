//! What nobody asks for but everybody expects: old log entries go, and settings reach the parts that hold a copy.

use std::sync::Arc;

use domain::Millis;
use gateway::Gateway;
use store::MOST_BODY_BYTES;
use upstream::HttpTransport;

const EVERY: Millis = Millis::hours(1);
/// How long a removed connection can be brought back.
const UNDO: Millis = Millis::days(7);
/// How far back the use of quotas is shown.
const QUOTA_HISTORY: Millis = Millis::days(14);
/// How long what was used of a pool stays after it has ceased to count.
const POOL_USE: Millis = Millis::days(14);

/// Enforces retention at the start and every hour, until the gateway stops.
pub(crate) async fn retain(gateway: Gateway) {
    loop {
        // Counted from here: a computer that sleeps meanwhile has slept through the next time.
        let next = gateway.now() + EVERY;
        if let Err(error) = sweep(&gateway).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "old records could not be removed");
        }
        tokio::select! {
            () = gateway.cancel().cancelled() => return,
            () = gateway.clock().sleep_until(next) => {}
        }
    }
}

async fn sweep(gateway: &Gateway) -> Result<(), store::Error> {
    let now = gateway.now();
    let logging = gateway.settings().logging.clone();
    let ago = |days: u32| (days > 0).then(|| now - Millis::days(u64::from(days)));
    if let Some(before) = ago(logging.retention_days) {
        gateway.store().delete_requests_before(before).await?;
    }
    gateway.store().purge_bodies(ago(logging.body_retention_days), MOST_BODY_BYTES).await?;
    if let Some(before) = ago(logging.usage_retention_days) {
        gateway.store().delete_usage_before(before).await?;
    }
    gateway.store().purge_connections(now - UNDO).await?;
    gateway.store().purge_quota_history(now - QUOTA_HISTORY).await?;
    gateway.store().purge_kept_of_calls(now).await?;
    gateway.store().purge_pool_use(now - POOL_USE).await?;
    Ok(())
}

/// Hands changed settings to the transport, until the gateway stops.
pub(crate) async fn follow_settings(gateway: Gateway, transport: Arc<HttpTransport>) {
    let mut changes = gateway.settings_changes();
    loop {
        tokio::select! {
            () = gateway.cancel().cancelled() => return,
            changed = changes.changed() => if changed.is_err() { return },
        }
        transport.set_connect_timeout(gateway.settings().network.connect_timeout);
    }
}
