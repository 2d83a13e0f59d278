//! `GET /api/events`: what changed, as server-sent events (gateway specification, 6.1).
//!
//! One stream per listener, pulled by its socket, so a slow one costs nothing but the events it missed: after a gap
//! every topic it asked for is announced. Announcements are gathered for at least [`SPACING`]; the high-rate figures are
//! sampled only while somebody listens for them; nothing at all runs when nobody does.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use domain::{Clock, Millis, Timestamp};
use futures_util::stream;
use gateway::Topic as Announced;
use serde::Serialize;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio_util::sync::CancellationToken;

use crate::view::{Changed, EventsQuery, Live, Topic};
use crate::{Control, ControlError};

use super::extract::Query;
use super::refusal::Refusal;

/// At most ten announcements a second.
const SPACING: Millis = Millis::new(100);
/// High-rate figures, four times a second.
const LIVE_EVERY: Millis = Millis::new(250);
/// A comment that keeps the connection alive.
const COMMENT_EVERY: Millis = Millis::seconds(15);

pub(super) async fn events(State(control): State<Control>, Query(query): Query<EventsQuery>) -> Response {
    let wanted = match Wanted::parse(query.topics.as_deref()) {
        Ok(wanted) => wanted,
        Err(error) => return Refusal::from(error).into_response(),
    };
    let listener = Listener::new(&control, wanted);
    let frames = stream::unfold(listener, |mut listener| async move {
        let frame = listener.next().await?;
        Some((Ok::<_, std::convert::Infallible>(frame), listener))
    });
    let mut response = Response::new(Body::from_stream(frames));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// What a listener asked for.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    topics: BTreeSet<Topic>,
    live: bool,
}

impl Wanted {
    fn parse(text: Option<&str>) -> Result<Self, ControlError> {
        let all = || Announced::ALL.into_iter().map(Topic::from).collect();
        let Some(text) = text else { return Ok(Wanted { topics: all(), live: false }) };
        let mut wanted = Wanted { topics: BTreeSet::new(), live: false };
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match (word, Announced::parse(word)) {
                ("live", _) => wanted.live = true,
                (_, Some(topic)) => {
                    wanted.topics.insert(topic.into());
                }
                (_, None) => return Err(ControlError::invalid("topics", format!("there is no topic {word}"))),
            }
        }
        Ok(wanted)
    }
}

struct Listener {
    control: Control,
    clock: Arc<dyn Clock>,
    stopping: CancellationToken,
    announcements: broadcast::Receiver<gateway::Changed>,
    wanted: Wanted,
    pending: BTreeSet<Topic>,
    /// When the next announcement may go out.
    open_at: Timestamp,
    comment_at: Timestamp,
    live_at: Timestamp,
}

impl Listener {
    fn new(control: &Control, wanted: Wanted) -> Self {
        let now = control.now();
        Listener {
            clock: Arc::clone(control.clock()),
            stopping: control.cancel().clone(),
            announcements: control.subscribe(),
            control: control.clone(),
            wanted,
            pending: BTreeSet::new(),
            open_at: now,
            comment_at: now,
            live_at: now,
        }
    }

    /// The next frame; nothing when the gateway stops. The first is a comment, which shows that the stream is open.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let now = self.clock.now();
            if let Some(frame) = self.due(now) {
                return Some(frame);
            }
            let wake = self.clock.sleep_until(self.next_deadline());
            tokio::select! {
                () = self.stopping.cancelled() => return None,
                announced = self.announcements.recv() => self.note(announced)?,
                () = wake => {}
            }
        }
    }

    fn due(&mut self, now: Timestamp) -> Option<Bytes> {
        if !self.pending.is_empty() && now >= self.open_at {
            self.open_at = now + SPACING;
            let topics = std::mem::take(&mut self.pending).into_iter().collect();
            return Some(frame("changed", &Changed { topics, at: now.into() }));
        }
        if self.wanted.live && now >= self.live_at {
            self.live_at = now + LIVE_EVERY;
            return Some(frame("live", &Live::from(self.control.live())));
        }
        if now >= self.comment_at {
            self.comment_at = now + COMMENT_EVERY;
            return Some(Bytes::from_static(b": still here\n\n"));
        }
        None
    }

    fn next_deadline(&self) -> Timestamp {
        let announcement = if self.pending.is_empty() { Timestamp::MAX } else { self.open_at };
        let live = if self.wanted.live { self.live_at } else { Timestamp::MAX };
        self.comment_at.min(announcement).min(live)
    }

    /// Remembers what changed; a listener that fell behind assumes that everything did.
    fn note(&mut self, announced: Result<gateway::Changed, RecvError>) -> Option<()> {
        match announced {
            Ok(changed) => {
                let topics = changed.topics.into_iter().map(Topic::from);
                self.pending.extend(topics.filter(|topic| self.wanted.topics.contains(topic)));
                Some(())
            }
            Err(RecvError::Lagged(_)) => {
                self.pending.clone_from(&self.wanted.topics);
                Some(())
            }
            Err(RecvError::Closed) => None,
        }
    }
}

fn frame<T: Serialize>(event: &str, data: &T) -> Bytes {
    let data = serde_json::to_string(data).unwrap_or_default();
    Bytes::from(format!("event: {event}\ndata: {data}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_read_from_a_list() {
        for (text, topics, live) in [
            (Some("keys,usage"), &[Topic::Usage, Topic::Keys][..], false),
            (Some("live"), &[], true),
            (Some(" keys , live ,"), &[Topic::Keys], true),
        ] {
            let expected = Wanted { topics: topics.iter().copied().collect(), live };
            assert_eq!(Wanted::parse(text), Ok(expected), "{text:?}");
        }
        assert_eq!(Wanted::parse(None).map(|wanted| (wanted.topics.len(), wanted.live)), Ok((11, false)));
        assert!(Wanted::parse(Some("everything")).is_err());
    }
}
