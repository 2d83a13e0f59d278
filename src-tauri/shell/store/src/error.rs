//! What can go wrong while something is stored or read.

use std::path::PathBuf;

use domain::Timestamp;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another gateway holds the lock of the data folder.
    #[error("the data folder {} is in use by another gateway", path.display())]
    FolderInUse { path: PathBuf },
    /// The folder belongs to everybody, such as `/tmp`; tightening it would hurt others.
    #[error("the data folder {} is shared with other users; choose a folder of your own", path.display())]
    FolderShared { path: PathBuf },
    #[error("could not {action} {}", path.display())]
    File { action: &'static str, path: PathBuf, source: std::io::Error },
    /// The file exists but holds no key. A new one would make every stored credential unreadable, so a person decides.
    #[error("{} is damaged; restore it, or move it away and enter the credentials again", path.display())]
    DataKeyDamaged { path: PathBuf },
    #[error("the system gave no randomness")]
    Randomness(#[source] getrandom::Error),
    /// A newer gateway has been here. Migrations only go forward.
    #[error("the database is of version {found}, this program knows versions up to {known}; update the program")]
    NewerDatabase { found: i64, known: i64 },
    #[error("the database could not be brought up to date")]
    Migration(#[source] sqlx::migrate::MigrateError),
    #[error("the database refused")]
    Database(#[from] sqlx::Error),
    /// A stored value that this program cannot have written.
    #[error("the value of {table}.{column} in row {id} is not readable")]
    Unreadable { table: &'static str, column: &'static str, id: String, source: serde_json::Error },
    #[error("a value for {table}.{column} could not be written as JSON")]
    Unwritable { table: &'static str, column: &'static str, source: serde_json::Error },
    #[error("{what} {id} does not exist")]
    NotFound { what: &'static str, id: String },
    /// Another record has the same value where only one may.
    #[error("a {what} with the same {field} already exists")]
    Duplicate { what: &'static str, field: String },
    /// The record has changed since the caller read it.
    #[error("{what} {id} was changed meanwhile")]
    Stale { what: &'static str, id: String, updated_at: Timestamp },
    /// Others still use it: connections a custom provider, mappings a combo.
    #[error("still in use by {}", by.join(", "))]
    InUse { by: Vec<String> },
    /// A new order has to name every connection of the provider exactly once.
    #[error("the order does not name every connection of {provider} exactly once")]
    OrderIncomplete { provider: String },
    /// A new order has to name every combo exactly once.
    #[error("the order does not name every combo exactly once")]
    ComboOrderIncomplete,
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// Waiting rows could not be written; they are kept and tried again.
    #[error("waiting records could not be written: {reason}")]
    Flush { reason: String },
}

/// Why a stored credential cannot be used. It concerns one connection, never the whole store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// The key it was sealed with is in neither the keychain nor the file.
    #[error("the credential was sealed with a key that is no longer available; enter it again")]
    KeyLost,
    /// Changed, or moved here from another row.
    #[error("the stored credential was tampered with; enter it again")]
    Tampered,
}

impl Error {
    /// Turns a violated uniqueness into [`Error::Duplicate`], naming the last column of the violated index.
    pub(crate) fn from_write(error: sqlx::Error, what: &'static str) -> Error {
        let field = error.as_database_error().filter(|database| database.is_unique_violation()).map(|database| {
            let message = database.message();
            message.rsplit('.').next().unwrap_or(message).to_owned()
        });
        match field {
            Some(field) => Error::Duplicate { what, field },
            None => Error::Database(error),
        }
    }

    /// [`Error::NotFound`] when a write that names one row touched none.
    pub(crate) fn unless_found(rows_affected: u64, what: &'static str, id: &str) -> Result<(), Error> {
        if rows_affected == 0 {
            return Err(Error::NotFound { what, id: id.to_owned() });
        }
        Ok(())
    }

    /// [`Error::NotFound`] for a row that does not exist, [`Error::Stale`] for one that is not as the caller knew it.
    pub(crate) fn unless_current(
        updated_at: Option<Timestamp>,
        expected: Option<Timestamp>,
        what: &'static str,
        id: &str,
    ) -> Result<(), Error> {
        let Some(updated_at) = updated_at else { return Err(Error::NotFound { what, id: id.to_owned() }) };
        match expected {
            Some(expected) if expected != updated_at => Err(Error::Stale { what, id: id.to_owned(), updated_at }),
            Some(_) | None => Ok(()),
        }
    }
}

/// Attaches what was being done with which file.
pub(crate) trait AtPath<T> {
    fn at(self, action: &'static str, path: &std::path::Path) -> Result<T, Error>;
}

impl<T> AtPath<T> for std::io::Result<T> {
    fn at(self, action: &'static str, path: &std::path::Path) -> Result<T, Error> {
        self.map_err(|source| Error::File { action, path: path.to_owned(), source })
    }
}

/// The chain of causes in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
