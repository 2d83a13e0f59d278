//! Everything the gateway logs while a test process runs, so that a scan can prove that no secret is in it.

use std::io::{self, Write};
use std::sync::OnceLock;

use parking_lot::Mutex;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// The crates whose lines are kept, down to `trace`.
const OURS: [&str; 8] = ["catalog", "control", "dialects", "gateway", "routing", "server", "store", "upstream"];
/// More than any test run writes; a run that reaches it is not scanned further and says so.
const LIMIT: usize = 256 * 1024 * 1024;

static LINES: Mutex<String> = Mutex::new(String::new());

#[derive(Clone, Copy)]
struct Keep;

impl Write for Keep {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut lines = LINES.lock();
        assert!(lines.len() < LIMIT, "the log of the tests is too long to be scanned");
        lines.push_str(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Keep {
    type Writer = Keep;

    fn make_writer(&'a self) -> Keep {
        Keep
    }
}

/// Starts to keep the log of this process, if nobody has; where it is now.
pub(crate) fn keep() -> usize {
    static STARTED: OnceLock<()> = OnceLock::new();
    STARTED.get_or_init(|| {
        let ours = Targets::new().with_targets(OURS.map(|name| (name, LevelFilter::TRACE)));
        let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(Keep);
        // Somebody else's subscriber would keep the lines from us, and the scan would prove nothing.
        tracing_subscriber::registry().with(ours).with(layer).try_init().expect("the only subscriber");
    });
    LINES.lock().len()
}

/// Whether the log holds this text from there on.
pub(crate) fn holds(text: &str, from: usize) -> bool {
    LINES.lock()[from..].contains(text)
}
