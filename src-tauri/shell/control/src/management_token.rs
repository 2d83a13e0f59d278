//! The token that opens management (decisions 8 and 26): one line in a 0600 file of the data folder, so that scripts and
//! the command line of the same user find it; the environment replaces it for one run.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::wire;
use parking_lot::RwLock;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::view::ManagementToken;
use crate::{Control, ControlError};

/// The management token.
pub async fn management_token_get(control: &Control) -> Result<ManagementToken, ControlError> {
    Ok(ManagementToken { token: control.token().reveal() })
}

/// Replaces the management token; the old one is refused from now on.
pub async fn management_token_rotate(control: &Control) -> Result<ManagementToken, ControlError> {
    if control.token().is_from_environment() {
        let message = format!("the token of this run comes from {}: change it there", wire::env::MANAGEMENT_TOKEN);
        return Err(ControlError::conflict(message));
    }
    let token = control.token().rotate().map_err(|error| ControlError::internal(&error))?;
    control.announce(&[gateway::Topic::Settings]);
    Ok(ManagementToken { token })
}

/// Keeps the token in force and its file.
pub struct TokenKeeper {
    file: PathBuf,
    current: RwLock<SecretString>,
    from_environment: bool,
}

impl TokenKeeper {
    /// Takes the token from the environment when given and not blank, else from the file, else makes both.
    ///
    /// Fails when the file can be neither read nor written.
    pub fn open(data_dir: &Path, environment: Option<&str>) -> io::Result<Self> {
        let file = data_dir.join(wire::file::MANAGEMENT_TOKEN);
        let given = environment.map(str::trim).filter(|token| !token.is_empty());
        let current = match given {
            Some(token) => token.to_owned(),
            None => match read(&file)? {
                Some(token) => token,
                None => make(&file)?,
            },
        };
        Ok(TokenKeeper { file, current: RwLock::new(current.into()), from_environment: given.is_some() })
    }

    /// Whether this is the token. Takes the same time whatever is presented.
    pub fn accepts(&self, presented: &str) -> bool {
        let digest = |text: &str| Sha256::digest(text.as_bytes());
        let current = digest(self.current.read().expose_secret());
        bool::from(current.as_slice().ct_eq(digest(presented).as_slice()))
    }

    pub fn is_from_environment(&self) -> bool {
        self.from_environment
    }

    fn reveal(&self) -> String {
        self.current.read().expose_secret().to_owned()
    }

    fn rotate(&self) -> io::Result<String> {
        let token = make(&self.file)?;
        *self.current.write() = token.as_str().into();
        Ok(token)
    }
}

/// Random text of 32 bytes as 43 base64url characters.
pub(crate) fn random_text() -> io::Result<String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The token in the file; nothing when there is none or it is empty.
fn read(file: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(file) {
        Ok(text) => {
            restrict(file)?;
            Ok(Some(text.trim().to_owned()).filter(|token| !token.is_empty()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a new token beside the file and moves it into place, so that a reader never sees half of one.
fn make(file: &Path) -> io::Result<String> {
    let token = format!("{}{}", wire::MANAGEMENT_TOKEN_PREFIX, random_text()?);
    write_private(file, format!("{token}\n").as_bytes())?;
    Ok(token)
}

/// Replaces `file` atomically by one that only its owner can read.
pub fn write_private(file: &Path, contents: &[u8]) -> io::Result<()> {
    let draft = file.with_extension("new");
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut open = options.open(&draft)?;
    open.write_all(contents)?;
    open.sync_all()?;
    fs::rename(&draft, file)
}

/// Takes back what a careless copy may have given to others.
#[cfg(unix)]
fn restrict(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if fs::metadata(file)?.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    fs::set_permissions(file, fs::Permissions::from_mode(0o600))
}

/// Folders of a profile are private to its user there.
#[cfg(not(unix))]
fn restrict(_file: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_and_kept_private() {
        let dir = tempfile::tempdir().expect("a folder");
        let first = TokenKeeper::open(dir.path(), None).expect("a token").reveal();
        assert!(first.starts_with("omt_") && first.len() == 47, "{first}");
        assert_eq!(TokenKeeper::open(dir.path(), None).expect("a token").reveal(), first);
        let text = fs::read_to_string(dir.path().join("management-token")).expect("the file");
        assert_eq!(text, format!("{first}\n"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(dir.path().join("management-token")).expect("the file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn rotation_rewrites_the_file_and_refuses_the_old_token() {
        let dir = tempfile::tempdir().expect("a folder");
        let keeper = TokenKeeper::open(dir.path(), None).expect("a token");
        let old = keeper.reveal();
        let new = keeper.rotate().expect("another token");
        assert!(keeper.accepts(&new) && !keeper.accepts(&old) && !keeper.accepts(""));
        assert_eq!(TokenKeeper::open(dir.path(), None).expect("a token").reveal(), new);
    }

    #[test]
    fn the_environment_replaces_the_token_and_writes_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        let keeper = TokenKeeper::open(dir.path(), Some(" from-outside ")).expect("a token");
        assert!(keeper.accepts("from-outside") && keeper.is_from_environment());
        assert!(!dir.path().join("management-token").exists());
        let blank = TokenKeeper::open(dir.path(), Some("  ")).expect("a token");
        assert!(!blank.accepts("") && !blank.is_from_environment());
    }
}
