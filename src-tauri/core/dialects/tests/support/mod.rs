//! The golden streams, and reading one from start to end.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read their fixtures from files")]

use std::path::{Path, PathBuf};

use bytes::Bytes;
use dialects::{Decoder, Event, Frame, Framing, StreamReader, reader};
use domain::Dialect;

/// A recorded stream: `src/<dialect>/golden/<case>.sse`, or `.json` for a JSON array.
pub struct Golden {
    pub dialect: Dialect,
    pub case: String,
    pub framing: Framing,
    pub bytes: Bytes,
}

pub fn goldens() -> Vec<Golden> {
    let mut goldens = Vec::new();
    for dialect in Dialect::ALL {
        let mut files: Vec<_> =
            std::fs::read_dir(folder(dialect)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in files {
            let framing = match file.extension().and_then(|extension| extension.to_str()) {
                Some("sse") => Framing::Sse,
                Some("json") => Framing::JsonArray,
                _ => continue,
            };
            let case = file.file_stem().unwrap().to_string_lossy().into_owned();
            let bytes = Bytes::from(std::fs::read(&file).unwrap());
            goldens.push(Golden { dialect, case, framing, bytes });
        }
    }
    assert!(goldens.len() > 40, "the golden streams are missing");
    goldens
}

/// Where the streams of a dialect and their snapshots are.
pub fn folder(dialect: Dialect) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(dialect.as_str()).join("golden")
}

/// All frames of a stream that comes in these chunks.
pub fn frames(framing: Framing, chunks: impl IntoIterator<Item = Bytes>) -> Vec<Frame> {
    let mut decoder = Decoder::new(framing, dialects::framing::MAX_FRAME);
    let mut frames = Vec::new();
    for chunk in chunks {
        decoder.push(chunk, &mut frames).unwrap();
    }
    decoder.finish(&mut frames);
    assert_eq!(decoder.buffered(), 0);
    frames
}

/// The events of a whole stream, and the reader as it is afterwards.
pub fn events(dialect: Dialect, frames: &[Frame]) -> (Vec<Event>, Box<dyn StreamReader + Send>) {
    let mut reader = reader(dialect);
    let mut events = Vec::new();
    for frame in frames {
        reader.push(frame, &mut events);
    }
    reader.end(&mut events);
    (events, reader)
}
