//! Switches off accounts that their provider banned, where the owner wants that (resilience specification, 7.2).

use domain::ConnectionId;
use store::CredentialChange;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::gateway::{Error, Gateway};

/// Works until the gateway stops.
pub(crate) async fn run(gateway: Gateway, mut banned: UnboundedReceiver<ConnectionId>) {
    loop {
        let connection = tokio::select! {
            () = gateway.cancel().cancelled() => return,
            next = banned.recv() => match next {
                Some(connection) => connection,
                None => return,
            },
        };
        if !gateway.settings().auto_disable_banned_accounts {
            continue;
        }
        if let Err(error) = switch_off(&gateway, &connection).await {
            tracing::warn!(%connection, %error, "a banned connection could not be switched off");
        }
    }
}

async fn switch_off(gateway: &Gateway, connection: &ConnectionId) -> Result<(), Error> {
    let Some(mut changed) = gateway.connections().get(connection).map(|entry| entry.connection.clone()) else {
        return Ok(());
    };
    changed.is_active = false;
    gateway.store().update_connection(&changed, CredentialChange::Keep, Some(changed.updated_at)).await?;
    gateway.reload_connections().await
}
