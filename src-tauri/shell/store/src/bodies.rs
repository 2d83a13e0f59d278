//! What requests and their answers said, where their owner wants it kept (gateway specification, 5.6).
//!
//! One file a request, `call_logs/<day>/<id>.json`, packed with gzip, whose checksum tells a damaged one. Files and not rows:
//! they are large, rarely read, and go by whole days. A file is never the condition of anything: one that is gone or damaged
//! is a request of which nothing was kept.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::request_log::KeptBodies;
use domain::{Millis, RequestId, Timestamp, wire};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tokio::sync::OwnedSemaphorePermit;

use crate::columns::from_instant;
use crate::error::AtPath;
use crate::folder::{create, private_file};
use crate::{Error, Store};

/// Most that all of them together may take, in bytes.
pub const MOST_BODY_BYTES: u64 = 1 << 30;
/// Most that wait to be written.
pub(crate) const MOST_WAITING: usize = 64;
/// Most that is read of one, in bytes; none is written that is longer.
const MOST_READ: u64 = 8 << 20;

/// What a file ends in that is still being written. One that a crash left behind goes with its day.
const UNFINISHED: &str = "part";

/// Bodies on the disk.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    day: String,
    path: PathBuf,
    length: u64,
}

impl Store {
    /// A place among the bodies that wait to be written; none, too many do, and these are left out.
    pub fn room_for_bodies(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.inner.body_room).try_acquire_owned().ok()
    }

    /// Writes the bodies of a request that arrived at `at`. Blocks while the disk works.
    ///
    /// # Errors
    /// The disk's.
    pub fn keep_bodies(&self, id: &RequestId, at: Timestamp, bodies: &KeptBodies) -> Result<(), Error> {
        let path = self.body_file(id, at);
        if let Some(day) = path.parent() {
            create(day)?;
        }
        // Under its own name it is there whole or not at all.
        let unfinished = path.with_extension(UNFINISHED);
        let file = private_file(&unfinished)?;
        pack(file, bodies).and_then(|()| fs::rename(&unfinished, &path)).at("write", &path)
    }

    /// The bodies of a request; empty where none were kept.
    pub async fn get_bodies(&self, id: &RequestId, at: Timestamp) -> KeptBodies {
        let path = self.body_file(id, at);
        let reading = tokio::task::spawn_blocking(move || match unpack(&path) {
            Ok(bodies) => bodies,
            Err(error) if error.kind() == io::ErrorKind::NotFound => KeptBodies::default(),
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "the kept bodies of a request cannot be read");
                KeptBodies::default()
            }
        });
        reading.await.unwrap_or_default()
    }

    /// Removes the bodies of whole days before the one of `before`, where that is said, and the oldest of those that together
    /// take more than `most` bytes.
    ///
    /// # Errors
    /// The disk's.
    pub async fn purge_bodies(&self, before: Option<Timestamp>, most: u64) -> Result<(), Error> {
        let (root, before) = (self.bodies_folder(), before.map(day));
        blocking(move || {
            let mut found = list(&root)?;
            if let Some(before) = before {
                let old: Vec<Found> = found.extract_if(.., |body| body.day < before).collect();
                remove(&old)?;
            }
            let mut sum: u64 = found.iter().map(|body| body.length).sum();
            let too_many = found.iter().take_while(|body| {
                let is_over = sum > most;
                sum = sum.saturating_sub(body.length);
                is_over
            });
            remove(&too_many.cloned().collect::<Vec<_>>())
        })
        .await
    }

    /// Removes what belongs to requests before `before` that are in the log no more.
    pub(crate) async fn forget_bodies_before(&self, before: Timestamp) -> Result<(), Error> {
        self.purge_bodies(Some(before), u64::MAX).await?;
        let start = Timestamp::from_millis(before.as_millis() / DAY * DAY);
        let ids: Vec<String> = sqlx::query_scalar("SELECT id FROM call_logs WHERE timestamp >= ? AND timestamp < ?")
            .bind(from_instant(start))
            .bind(from_instant(start + Millis::new(DAY)))
            .fetch_all(self.database().reader())
            .await?;
        let (root, of_day, known) = (self.bodies_folder(), day(before), ids.into_iter().collect::<BTreeSet<_>>());
        blocking(move || {
            let mut found = list(&root)?;
            found.retain(|body| {
                let id = body.path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
                body.day == of_day && !known.contains(id)
            });
            remove(&found)
        })
        .await
    }

    pub(crate) async fn forget_all_bodies(&self) -> Result<(), Error> {
        self.purge_bodies(None, 0).await
    }

    fn bodies_folder(&self) -> PathBuf {
        self.inner.folder.file(wire::file::BODIES)
    }

    fn body_file(&self, id: &RequestId, at: Timestamp) -> PathBuf {
        self.bodies_folder().join(day(at)).join(format!("{id}.json"))
    }
}

/// Milliseconds of a day.
const DAY: u64 = Millis::days(1).as_millis();

/// The day of an instant, in UTC: `2026-09-21`.
fn day(at: Timestamp) -> String {
    let millis = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX).strftime("%Y-%m-%d").to_string()
}

fn pack(file: File, bodies: &KeptBodies) -> io::Result<()> {
    file.set_len(0)?;
    let mut packed = GzEncoder::new(file, Compression::fast());
    serde_json::to_writer(&mut packed, bodies)?;
    packed.finish()?.flush()
}

fn unpack(path: &Path) -> io::Result<KeptBodies> {
    let mut text = Vec::new();
    GzDecoder::new(File::open(path)?).take(MOST_READ).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

async fn blocking(work: impl FnOnce() -> Result<(), Error> + Send + 'static) -> Result<(), Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        // The program is ending: the next start looks again.
        Err(_) => Ok(()),
    }
}

/// All that are there, oldest day first.
fn list(root: &Path) -> Result<Vec<Found>, Error> {
    let mut found = Vec::new();
    for (day, path) in entries(root)? {
        for (_, path) in entries(&path)? {
            let length = fs::metadata(&path).map_or(0, |metadata| metadata.len());
            found.push(Found { day: day.clone(), path, length });
        }
    }
    found.sort();
    Ok(found)
}

/// Names and paths in a folder; none where there is no such folder.
fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>, Error> {
    let read = match fs::read_dir(folder) {
        Ok(read) => read,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error).at("read", folder),
    };
    let named = read.filter_map(|entry| {
        let entry = entry.ok()?;
        Some((entry.file_name().to_str()?.to_owned(), entry.path()))
    });
    Ok(named.collect())
}

/// Removes these, and the folders of days of which nothing is left.
fn remove(found: &[Found]) -> Result<(), Error> {
    for body in found {
        match fs::remove_file(&body.path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).at("remove", &body.path),
        }
    }
    let days: BTreeSet<&Path> = found.iter().filter_map(|body| body.path.parent()).collect();
    for day in days {
        // One that still holds something stays.
        let _ = fs::remove_dir(day);
    }
    Ok(())
}
