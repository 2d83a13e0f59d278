//! Switches off accounts that their provider banned, where the owner wants that (resilience specification, 7.2).

use std::collections::BTreeSet;

use domain::ConnectionId;
use parking_lot::Mutex;
use store::CredentialChange;
use tokio::sync::Notify;

use crate::gateway::{Error, Gateway};

/// Accounts that were just banned and wait to be switched off: each once, so never more than there are accounts, however long
/// the disk takes.
#[derive(Debug, Default)]
pub(crate) struct JustBanned {
    accounts: Mutex<BTreeSet<ConnectionId>>,
    more: Notify,
}

impl JustBanned {
    pub(crate) fn add(&self, account: &ConnectionId) {
        self.accounts.lock().insert(account.clone());
        self.more.notify_one();
    }

    /// The account is gone.
    pub(crate) fn forget(&self, account: &ConnectionId) {
        self.accounts.lock().remove(account);
    }

    async fn next(&self) -> ConnectionId {
        loop {
            let first = self.accounts.lock().pop_first();
            match first {
                Some(account) => return account,
                None => self.more.notified().await,
            }
        }
    }
}

/// Works until the gateway stops.
pub(crate) async fn run(gateway: Gateway) {
    loop {
        let connection = tokio::select! {
            () = gateway.cancel().cancelled() => return,
            next = gateway.engine().just_banned().next() => next,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_account_waits_once_however_often_it_is_banned() {
        let banned = JustBanned::default();
        let [a, b, gone] = ["a", "b", "gone"].map(ConnectionId::from);
        for _ in 0..10_000 {
            [&b, &gone, &a].into_iter().for_each(|account| banned.add(account));
        }
        assert_eq!(banned.accounts.lock().len(), 3);
        banned.forget(&gone);
        assert_eq!([banned.next().await, banned.next().await], [a.clone(), b]);
        let (next, ()) = tokio::join!(banned.next(), async { banned.add(&a) });
        assert_eq!(next, a, "one that comes later is waited for");
        assert_eq!(banned.accounts.lock().len(), 0);
    }
}
