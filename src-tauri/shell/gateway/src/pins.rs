//! Which account each session is with, over a restart (resilience specification, 9.4 and 25): put down soon after it
//! changed, and once more at the end; what has ended is swept every five minutes while there is anything. What could not be
//! put down is put down with what changes next, at the latest with that sweep.

use std::collections::BTreeMap;

use domain::Millis;
use routing::affinity::Pin;
use serde_json::{Value, json};
use store::Store;

use crate::gateway::Gateway;

const NAMESPACE: &str = "session_account_affinity";
/// How long a change waits for others.
const SOON: Millis = Millis::seconds(1);
const SWEEP: Millis = Millis::minutes(5);

/// What was put down. A row that makes no sense is left out: its session is given an account anew.
pub(crate) async fn load(store: &Store) -> Result<Vec<(String, Pin)>, store::Error> {
    let rows = store.list_values(NAMESPACE).await?;
    let read = |(session, row): (String, Value)| Some((session, serde_json::from_value(row).ok()?));
    Ok(rows.into_iter().filter_map(read).collect())
}

/// Works until the gateway stops.
pub(crate) async fn keep(gateway: Gateway) {
    loop {
        let next = gateway.now() + SWEEP;
        let idle = gateway.routing().bound(|pins| pins.is_empty() && !pins.has_changes());
        let sweep = async {
            match idle {
                true => std::future::pending().await,
                false => gateway.clock().sleep_until(next).await,
            }
        };
        tokio::select! {
            biased;
            () = gateway.cancel().cancelled() => {}
            () = gateway.routing().pins_changed() => {
                let soon = gateway.now() + SOON;
                tokio::select! {
                    () = gateway.cancel().cancelled() => {}
                    () = gateway.clock().sleep_until(soon) => {}
                }
            }
            () = sweep => {
                let (ttl, now) = (gateway.settings().session_affinity_ttl, gateway.now());
                gateway.routing().bind(|pins| pins.sweep(ttl, now));
            }
        }
        save(&gateway).await;
        if gateway.cancel().is_cancelled() {
            return;
        }
    }
}

async fn save(gateway: &Gateway) {
    let changes = gateway.routing().take_pins();
    if changes.is_empty() {
        return;
    }
    let ttl = gateway.settings().session_affinity_ttl;
    let rows: BTreeMap<String, Option<Value>> =
        changes.iter().map(|(session, pin)| (session.clone(), pin.as_ref().map(|pin| row(pin, ttl)))).collect();
    if let Err(error) = gateway.store().change_values(NAMESPACE, &rows, gateway.now()).await {
        tracing::warn!(error = &error as &dyn std::error::Error, "the accounts of sessions could not be put down");
        gateway.routing().put_pins_back(changes);
    }
}

/// Its end is written for who reads the row; what counts is the setting of the day.
fn row(pin: &Pin, ttl: Millis) -> Value {
    let mut row = json!(pin);
    row["expiresAt"] = json!(pin.last_seen_at + ttl);
    row
}
