//! `GET /api/events`: what changed, as server-sent events (gateway specification, 6.1).

use std::collections::BTreeSet;
use std::convert::Infallible;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use serde::Serialize;

use crate::view::{EventsQuery, Topic};
use crate::{Announcement, Announcements, Control, ControlError};

use super::extract::Query;
use super::refusal::Refusal;

pub(super) async fn events(State(control): State<Control>, Query(query): Query<EventsQuery>) -> Response {
    let announcements = match query.topics.as_deref().map(wanted) {
        None => Announcements::all(&control),
        Some(Err(error)) => return Refusal::from(error).into_response(),
        Some(Ok((topics, live))) => {
            let mut announcements = Announcements::of(&control, topics);
            announcements.set_live(live);
            announcements
        }
    };
    let frames = stream::unfold(announcements, |mut announcements| async move {
        let frame = frame(&announcements.next().await?);
        Some((Ok::<_, Infallible>(frame), announcements))
    });
    let mut response = Response::new(Body::from_stream(frames));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Topics separated by commas, and whether `live` is among them.
fn wanted(text: &str) -> Result<(BTreeSet<Topic>, bool), ControlError> {
    let mut topics = BTreeSet::new();
    let mut live = false;
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match (word, gateway::Topic::parse(word)) {
            ("live", _) => live = true,
            (_, Some(topic)) => {
                topics.insert(Topic::from(topic));
            }
            (_, None) => return Err(ControlError::invalid("topics", format!("there is no topic {word}"))),
        }
    }
    Ok((topics, live))
}

fn frame(announcement: &Announcement) -> Bytes {
    match announcement {
        Announcement::Changed(changed) => event("changed", changed),
        Announcement::Live(live) => event("live", live),
        Announcement::StillHere => Bytes::from_static(b": still here\n\n"),
    }
}

fn event<T: Serialize>(name: &str, data: &T) -> Bytes {
    let data = serde_json::to_string(data).unwrap_or_default();
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_read_from_a_list() {
        for (text, topics, live) in [
            ("keys,usage", &[Topic::Usage, Topic::Keys][..], false),
            ("live", &[], true),
            (" keys , live ,", &[Topic::Keys], true),
        ] {
            assert_eq!(wanted(text), Ok((topics.iter().copied().collect(), live)), "{text:?}");
        }
        assert!(wanted("everything").is_err());
    }
}
