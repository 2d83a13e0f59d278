//! Answers made for load: rendered once per form, then sent without any work.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::Dialect;
use parking_lot::Mutex;

use crate::answer::Answer;
use crate::dialects::{self, Rendered};
use crate::request::Ask;

/// An answer of a given size, with constant ids. Clones share what was rendered.
#[derive(Clone, Debug)]
pub struct Load {
    shape: LoadShape,
    rendered: Arc<Mutex<HashMap<Form, Rendered>>>,
}

/// How large the answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadShape {
    /// A whole body of exactly so many bytes, or the dialect's smallest if that is more. Streamed, it carries the same
    /// text in three pieces.
    Bytes(usize),
    /// So many text events at full speed, each of five characters, besides the events that open and close the stream.
    /// Whole, it carries the same text in one body.
    Events(usize),
}

/// Everything in a request that changes the rendered bytes.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Form {
    dialect: Dialect,
    stream: bool,
    include_usage: bool,
    sse: bool,
    model: Option<String>,
}

/// Forms kept: a run that names endless models renders each time rather than growing without end.
const MAX_FORMS: usize = 64;

impl Load {
    pub fn new(shape: LoadShape) -> Load {
        Load { shape, rendered: Arc::default() }
    }

    /// A whole body of exactly so many bytes.
    pub fn bytes(count: usize) -> Load {
        Load::new(LoadShape::Bytes(count))
    }

    /// A stream of so many text events.
    pub fn events(count: usize) -> Load {
        Load::new(LoadShape::Events(count))
    }

    pub(crate) fn render(&self, ask: &Ask) -> Rendered {
        let form = Form {
            dialect: ask.dialect(),
            stream: ask.stream,
            include_usage: ask.include_usage,
            sse: ask.sse,
            model: ask.model.clone(),
        };
        let mut kept = self.rendered.lock();
        if let Some(rendered) = kept.get(&form) {
            return rendered.clone();
        }
        let rendered = self.make(ask);
        if kept.len() < MAX_FORMS {
            kept.insert(form, rendered.clone());
        }
        rendered
    }

    fn make(&self, ask: &Ask) -> Rendered {
        match self.shape {
            LoadShape::Bytes(count) => {
                let whole = |text: String| dialects::render_whole(ask, &Answer::text(text), 0);
                let envelope: usize = whole("x".to_owned()).frames.iter().map(Bytes::len).sum();
                // One character is in the envelope already.
                let text = "x".repeat(1 + count.saturating_sub(envelope));
                if ask.stream { dialects::render(ask, &Answer::text(text), 0) } else { whole(text) }
            }
            LoadShape::Events(count) => {
                let answer = Answer::text("word ".repeat(count)).in_chunks(count, Duration::ZERO);
                dialects::render(ask, &answer, 0)
            }
        }
    }
}
