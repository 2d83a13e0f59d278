//! SQLite, and the only SQL.
//!
//! One file in the data folder holds what survives a restart: connections and their sealed credentials, custom nodes,
//! client keys, aliases, combos, settings, and the log of requests. Functions take and return `domain` types; ids and instants
//! come from the caller; rows are private.
//!
//! What a person changes is **written through**: durable before the function returns. What traffic leaves behind is
//! **written behind** (see [`writer`]): `record_request`, `record_rows` and `touch_key` only put it down in memory, so that neither a
//! slow disk nor a full one ever holds up a request. Whoever then reads the log sees it complete, because readers of
//! the log let the writer finish first.
//!
//! | file | holds |
//! | --- | --- |
//! | `connections.rs`, `nodes.rs`, `client_keys.rs`, `aliases.rs`, `combos.rs`, `settings_documents.rs`, `key_value.rs` | what a person manages |
//! | `requests.rs`, `usage.rs` | what traffic leaves behind |
//! | `bodies.rs` | what was said in it, where its owner wants that kept |
//! | `resilience.rs` | what is spared and why |
//! | `quota.rs` | what is left of accounts |
//! | `quota_pools.rs` | accounts that several keys share, and what each used |
//! | `routing_memory.rs` | what strategies remember |
//! | `translation_memory.rs` | what the next turn of a conversation may miss |
//! | `writer.rs` | the write-behind task |
//! | `folder.rs`, `database.rs` | the data folder and its lock, the file, its migrations |
//! | `sealing.rs`, `data_key.rs` | credentials at rest, and where their key lives |

mod aliases;
mod bodies;
mod client_keys;
mod columns;
mod combos;
mod connections;
mod data_key;
mod database;
mod error;
mod folder;
mod key_value;
mod many_rows;
mod nodes;
mod quota;
mod quota_pools;
mod requests;
mod resilience;
mod routing_memory;
mod sealing;
mod settings_documents;
mod translation_memory;
mod usage;
mod writer;

use std::path::Path;
use std::sync::Arc;

use domain::{Clock, wire};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use bodies::MOST_BODY_BYTES;
pub use combos::Renamed;
pub use connections::{CredentialChange, StoredConnection};
pub use error::{CredentialError, Error};
pub use quota::QuotaPoint;
pub use quota_pools::StoredPool;
pub use requests::{Cursor, CursorError, MAX_PAGE, RequestFilter};
pub use settings_documents::NAMESPACE as SETTINGS;
pub use translation_memory::{Kept, KeptOfCall, MOST_CALLS};
pub use usage::{FinishedRequest, GroupBy, KeyUsage, UsageGroup, UsageSummary, UsageTotals};
pub use writer::StoreHealth;

use database::Database;
use folder::Folder;
use sealing::Sealer;
use writer::WriteBehind;

/// Where the data key may be kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecretStoreChoice {
    /// The OS keychain, or the file where there is none.
    #[default]
    Auto,
    /// The file, without asking the keychain (`OMNIROUTE_SECRET_STORE=file`).
    File,
}

/// Where the data key is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretStore {
    Keychain,
    File,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    pub secret_store: SecretStoreChoice,
}

/// The stored state of one data folder. Clones share it; the folder is locked while one of them lives.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    database: Database,
    sealer: Sealer,
    secret_store: SecretStore,
    writer: WriteBehind,
    folder: Arc<Folder>,
    /// How many bodies may wait to be written.
    body_room: Arc<Semaphore>,
}

impl Store {
    /// Opens the data folder: creates it (0700) and the database (0600) where needed, migrates, finds the data key and
    /// starts the write-behind task on `tracker`.
    ///
    /// `cancel` ends that task after it has written what is waiting. Cancel it last: requests recorded afterwards are
    /// dropped and counted. The task also ends when the last clone of the store is dropped.
    pub async fn open(
        dir: &Path,
        options: Options,
        clock: Arc<dyn Clock>,
        tracker: &TaskTracker,
        cancel: CancellationToken,
    ) -> Result<Store, Error> {
        let folder = Arc::new(Folder::open(dir)?);
        let database = Database::open(&folder.file(wire::file::DATABASE)).await?;
        let file = folder.file(wire::file::DATA_KEY);
        let mut needed = connections::sealing_keys(&database).await?;
        needed.extend(settings_documents::sealing_keys(&database).await?);
        let search = data_key::Search {
            choice: options.secret_store,
            file: &file,
            account: key_value::keychain_account(&database, clock.now()).await?,
            needed,
        };
        let (sealer, secret_store) = data_key::load(search, &clock).await?;
        let writer = WriteBehind::start(database.clone(), Arc::clone(&folder), clock, tracker, cancel);
        let body_room = Arc::new(Semaphore::new(bodies::MOST_WAITING));
        Ok(Store { inner: Arc::new(Inner { database, sealer, secret_store, writer, folder, body_room }) })
    }

    /// Where the data key is kept.
    pub fn secret_store(&self) -> SecretStore {
        self.inner.secret_store
    }

    /// Writes what is waiting and closes the database. Every later call fails with [`Error::Database`].
    pub async fn close(&self) -> Result<(), Error> {
        let flushed = self.flush().await;
        self.inner.database.close().await;
        flushed
    }

    fn database(&self) -> &Database {
        &self.inner.database
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("secret_store", &self.inner.secret_store).finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.writer.close();
    }
}
