//! The pace that upstreams announced, over a restart: put down at most once a minute, and at the end (resilience
//! specification, 5.5 and 25).

use domain::Millis;
use resilience::request_queue::learned::LearnedLimit;
use store::Store;

use crate::gateway::Gateway;

const NAMESPACE: &str = "rateLimits";
const KEY: &str = "learned";
const EVERY: Millis = Millis::minutes(1);

/// What was put down; what is too old is ignored by the Engine, and what cannot be read is learnt anew.
pub(crate) async fn load(store: &Store) -> Result<Vec<LearnedLimit>, store::Error> {
    let Some(document) = store.get_value(NAMESPACE, KEY).await? else { return Ok(Vec::new()) };
    let read = serde_json::from_value(document);
    Ok(read.inspect_err(|error| tracing::warn!(%error, "the learned limits cannot be read")).unwrap_or_default())
}

/// Works until the gateway stops.
pub(crate) async fn keep(gateway: Gateway) {
    let mut kept = gateway.engine().learned_limits();
    loop {
        tokio::select! {
            () = gateway.cancel().cancelled() => {}
            () = gateway.engine().learns() => {
                let due = gateway.now() + EVERY;
                tokio::select! {
                    () = gateway.cancel().cancelled() => {}
                    () = gateway.clock().sleep_until(due) => {}
                }
            }
        }
        let learned = gateway.engine().learned_limits();
        if learned != kept {
            match save(&gateway, &learned).await {
                Ok(()) => kept = learned,
                // The next round, or the stop, has another try.
                Err(error) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "the learned limits could not be put down"
                    );
                }
            }
        }
        if gateway.cancel().is_cancelled() {
            return;
        }
    }
}

async fn save(gateway: &Gateway, learned: &[LearnedLimit]) -> Result<(), store::Error> {
    match serde_json::to_value(learned) {
        Ok(document) => gateway.store().put_value(NAMESPACE, KEY, &document, gateway.now()).await,
        Err(error) => {
            tracing::warn!(%error, "the learned limits cannot be written");
            Ok(())
        }
    }
}
