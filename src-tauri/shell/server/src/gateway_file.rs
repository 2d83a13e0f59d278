//! `gateway.json` of the data folder: where the running gateway is, for the command line and for scripts
//! (specification's decision 26).

use std::io;
use std::path::{Path, PathBuf};

use control::management_token::write_private;
use control::view::Instant;
use domain::{Timestamp, wire};
use serde::{Deserialize, Serialize};

/// The file's contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewayFile {
    /// `http://127.0.0.1:20128`.
    pub url: String,
    pub port: u16,
    pub pid: u32,
    pub version: String,
    pub started_at: String,
}

impl GatewayFile {
    pub(crate) fn new(url: String, port: u16, version: &str, started_at: Timestamp) -> Self {
        GatewayFile {
            url,
            port,
            pid: std::process::id(),
            version: version.to_owned(),
            started_at: Instant::from(started_at).to_string(),
        }
    }

    /// What a running gateway has written into this data folder; `None` when there is no such file.
    pub fn read(data_dir: &Path) -> io::Result<Option<GatewayFile>> {
        match std::fs::read(path(data_dir)) {
            Ok(text) => serde_json::from_slice(&text).map(Some).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn write(&self, data_dir: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        write_private(&path(data_dir), &text)
    }

    /// Removes the file, unless another gateway has taken its place meanwhile.
    pub(crate) fn remove(data_dir: &Path) -> io::Result<()> {
        match GatewayFile::read(data_dir) {
            Ok(Some(file)) if file.pid != std::process::id() => Ok(()),
            Ok(None) => Ok(()),
            Ok(Some(_)) | Err(_) => std::fs::remove_file(path(data_dir)),
        }
    }
}

/// Where the file stands.
pub(crate) fn path(data_dir: &Path) -> PathBuf {
    data_dir.join(wire::file::GATEWAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_removed() {
        let dir = tempfile::tempdir().expect("a folder");
        assert_eq!(GatewayFile::read(dir.path()).expect("no file"), None);
        let file = GatewayFile::new("http://127.0.0.1:1".to_owned(), 1, "0.1.0", Timestamp::from_millis(0));
        file.write(dir.path()).expect("written");
        assert_eq!(GatewayFile::read(dir.path()).expect("a file"), Some(file.clone()));
        assert_eq!(file.started_at, "1970-01-01T00:00:00.000Z");
        GatewayFile::remove(dir.path()).expect("removed");
        assert_eq!(GatewayFile::read(dir.path()).expect("no file"), None);
    }

    #[test]
    fn the_file_of_another_process_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let mine = GatewayFile::new("http://127.0.0.1:1".to_owned(), 1, "0.1.0", Timestamp::ZERO);
        let other = GatewayFile { pid: mine.pid + 1, ..mine };
        other.write(dir.path()).expect("written");
        GatewayFile::remove(dir.path()).expect("left alone");
        assert_eq!(GatewayFile::read(dir.path()).expect("a file"), Some(other));
    }
}
