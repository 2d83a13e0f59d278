//! Where log lines go: standard error, and on request a file of the data folder, one per day.
//!
//! `OMNIROUTE_LOG` chooses what is said, in the form of `tracing`'s filters (`info`, `gateway=debug`, …).

use std::io::IsTerminal;
use std::path::Path;

use tracing_appender::non_blocking::WorkerGuard;
use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt};

/// Of our own crates what an operator might want, of others only trouble.
const DEFAULT_FILTER: &str =
    "warn,omniroute=info,server=info,control=info,gateway=info,upstream=info,store=info,resilience=info";
const FOLDER: &str = "logs";
const FILE_PREFIX: &str = "omniroute";
const FILES_KEPT: usize = 7;

/// Keeps the log file's writer alive; dropping it writes what is left.
#[derive(Debug)]
#[must_use = "the log file ends when this is dropped"]
pub struct Logging {
    _file: Option<WorkerGuard>,
}

/// Starts logging; once per process, later calls change nothing. `filter` is the value of `OMNIROUTE_LOG`; with
/// `file_in` a file is written below that data folder too, when that is possible.
pub fn start(filter: Option<&str>, file_in: Option<&Path>) -> Logging {
    let filter = filter.filter(|text| !text.trim().is_empty()).unwrap_or(DEFAULT_FILTER);
    let allowed = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new(DEFAULT_FILTER));
    let errors = fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    let (file, guard) = match file_in.and_then(appender) {
        Some(appender) => {
            let (writer, guard) = tracing_appender::non_blocking(appender);
            (Some(fmt::layer().json().with_writer(writer).boxed()), Some(guard))
        }
        None => (None, None),
    };
    // A process that set up its own logging keeps it.
    let _ = tracing_subscriber::registry().with(allowed).with(errors).with(file).try_init();
    Logging { _file: guard }
}

fn appender(data_dir: &Path) -> Option<RollingFileAppender> {
    let folder = data_dir.join(FOLDER);
    std::fs::create_dir_all(&folder).ok()?;
    RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix(FILE_PREFIX)
        .filename_suffix("log")
        .max_log_files(FILES_KEPT)
        .build(folder)
        .ok()
}
