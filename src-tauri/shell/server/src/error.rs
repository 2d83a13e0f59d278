//! Why a gateway does not start, or does not stop cleanly.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The port belongs to another program. Nothing was moved silently: clients hold the address.
    #[error("port {port} on {address} is in use by another program{}", suggestion(*.next_free))]
    PortTaken { address: String, port: u16, next_free: Option<u16> },
    /// The address is none of this computer's, or may not be listened on.
    #[error("{address} port {port} cannot be listened on")]
    NotBindable { address: String, port: u16, source: io::Error },
    /// Another gateway works with this data folder.
    #[error("the data folder {} is in use by another gateway", path.display())]
    FolderInUse { path: PathBuf },
    #[error("the data folder {} cannot be written", path.display())]
    FolderNotWritable { path: PathBuf, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("the store could not be opened")]
    Store(#[source] store::Error),
    #[error("the configuration file {} cannot be used", path.display())]
    ConfigFile { path: PathBuf, source: ConfigFileError },
    #[error("the system gives no threads")]
    Threads(#[source] io::Error),
    #[error("the built-in catalogue is damaged")]
    Catalog(#[source] catalog::Error),
    #[error("the stored state could not be loaded")]
    Gateway(#[source] gateway::Error),
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigFileError {
    #[error("it cannot be read")]
    Read(#[source] io::Error),
    #[error("it is not JSON")]
    NotJson(#[source] serde_json::Error),
    #[error("it must be an object with the members settings and resilience")]
    Shape,
}

/// The gateway has stopped, but not everything went well.
#[derive(Debug, thiserror::Error)]
pub enum ShutdownError {
    #[error("the last records could not be written")]
    Store(#[from] store::Error),
    #[error("the file {} could not be removed", path.display())]
    GatewayFile { path: PathBuf, source: io::Error },
}

impl StartError {
    /// Opening the store failed: a folder in use and one that cannot be written are told apart from the rest.
    pub(crate) fn from_store(error: store::Error, data_dir: PathBuf) -> Self {
        match error {
            store::Error::FolderInUse { path } => StartError::FolderInUse { path },
            store::Error::FolderShared { .. } | store::Error::File { .. } => {
                StartError::FolderNotWritable { path: data_dir, source: Box::new(error) }
            }
            other => StartError::Store(other),
        }
    }
}

fn suggestion(next_free: Option<u16>) -> String {
    match next_free {
        Some(port) => format!("; port {port} is free"),
        None => String::new(),
    }
}
