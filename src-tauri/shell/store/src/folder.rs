//! The data folder: private to its owner, used by one gateway at a time.
//!
//! The lock is on an open file, so the operating system gives it back whatever way the process ends; the file itself
//! stays. Two opens conflict even within one process.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use domain::wire::file;

use crate::Error;
use crate::error::AtPath;

/// An opened and locked data folder. The lock ends with the value.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Creates the folder where needed, makes it private (0700) and locks it.
    pub(crate) fn open(path: &Path) -> Result<Folder, Error> {
        create(path)?;
        let lock_path = path.join(file::LOCK);
        let lock = private_file(&lock_path)?;
        match lock.try_lock() {
            Ok(()) => Ok(Folder { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(Error::FolderInUse { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => Err(Error::File { action: "lock", path: lock_path, source }),
        }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

/// Opens a file for reading and writing, creating it empty; either way only its owner may touch it (0600).
pub(crate) fn private_file(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path).at("open", path)?;
    restrict(path, 0o600)?;
    Ok(file)
}

/// Creates a folder and those around it where needed; only its owner may look into it (0700).
pub(crate) fn create(path: &Path) -> Result<(), Error> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).at("create", path)?;
    restrict(path, 0o700)
}

/// Takes away what others may do. A sticky folder is shared on purpose and left alone.
#[cfg(unix)]
fn restrict(path: &Path, mode: u32) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt;

    const STICKY: u32 = 0o1000;
    const PERMISSION_BITS: u32 = 0o777;
    let current = std::fs::metadata(path).at("look at", path)?.permissions().mode();
    if current & STICKY != 0 {
        return Err(Error::FolderShared { path: path.to_owned() });
    }
    if current & PERMISSION_BITS == mode {
        return Ok(());
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).at("restrict", path)
}

/// Elsewhere the folder of the user's profile is private by inheritance.
#[cfg(not(unix))]
fn restrict(_path: &Path, _mode: u32) -> Result<(), Error> {
    Ok(())
}
