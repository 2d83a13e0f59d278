//! What changed, gathered for one listener: the event stream of REST and the window both read this.
//!
//! Announcements are gathered for at least [`SPACING`]; high-rate figures are sampled only while the listener asks for
//! them. Nothing runs while nobody asks for the next one, so a slow listener costs nothing but the detail it missed:
//! after a gap every topic it asked for is announced.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::{Clock, Millis, Timestamp};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio_util::sync::CancellationToken;

use crate::Control;
use crate::view::{Changed, Live, Topic};

/// At most ten announcements a second.
const SPACING: Millis = Millis::new(100);
/// High-rate figures, four times a second.
const LIVE_EVERY: Millis = Millis::new(250);
/// Silence is broken this often.
const STILL_HERE_EVERY: Millis = Millis::seconds(15);

#[derive(Clone, Debug, PartialEq)]
pub enum Announcement {
    Changed(Changed),
    Live(Live),
    /// Nothing happened, and the gateway still runs. Also the first announcement of all.
    StillHere,
}

/// One listener's view of what changes.
pub struct Announcements {
    control: Control,
    clock: Arc<dyn Clock>,
    stopping: CancellationToken,
    changes: broadcast::Receiver<gateway::Changed>,
    topics: BTreeSet<Topic>,
    live: bool,
    pending: BTreeSet<Topic>,
    /// When the next change may be announced.
    open_at: Timestamp,
    live_at: Timestamp,
    still_here_at: Timestamp,
}

impl Announcements {
    /// Of these topics, from now on.
    pub fn of(control: &Control, topics: BTreeSet<Topic>) -> Self {
        let now = control.now();
        Announcements {
            clock: Arc::clone(control.clock()),
            stopping: control.cancel().clone(),
            changes: control.subscribe(),
            control: control.clone(),
            topics,
            live: false,
            pending: BTreeSet::new(),
            open_at: now,
            live_at: now,
            still_here_at: now,
        }
    }

    /// Of every topic.
    pub fn all(control: &Control) -> Self {
        Self::of(control, gateway::Topic::ALL.into_iter().map(Topic::from).collect())
    }

    /// Whether the high-rate figures are wanted.
    pub fn set_live(&mut self, live: bool) {
        self.live = live;
    }

    /// Waits for the next announcement; `None` when the gateway stops. Safe to drop and call again.
    pub async fn next(&mut self) -> Option<Announcement> {
        loop {
            if let Some(announcement) = self.due(self.clock.now()) {
                return Some(announcement);
            }
            let wake = self.clock.sleep_until(self.next_deadline());
            tokio::select! {
                () = self.stopping.cancelled() => return None,
                change = self.changes.recv() => self.note(change)?,
                () = wake => {}
            }
        }
    }

    fn due(&mut self, now: Timestamp) -> Option<Announcement> {
        if !self.pending.is_empty() && now >= self.open_at {
            self.open_at = now + SPACING;
            let topics = std::mem::take(&mut self.pending).into_iter().collect();
            return Some(Announcement::Changed(Changed { topics, at: now.into() }));
        }
        if self.live && now >= self.live_at {
            self.live_at = now + LIVE_EVERY;
            return Some(Announcement::Live(self.control.live().into()));
        }
        if now >= self.still_here_at {
            self.still_here_at = now + STILL_HERE_EVERY;
            return Some(Announcement::StillHere);
        }
        None
    }

    fn next_deadline(&self) -> Timestamp {
        let change = if self.pending.is_empty() { Timestamp::MAX } else { self.open_at };
        let live = if self.live { self.live_at } else { Timestamp::MAX };
        self.still_here_at.min(change).min(live)
    }

    /// Remembers what changed; a listener that fell behind assumes that everything did.
    fn note(&mut self, change: Result<gateway::Changed, RecvError>) -> Option<()> {
        match change {
            Ok(changed) => {
                let topics = changed.topics.into_iter().map(Topic::from);
                self.pending.extend(topics.filter(|topic| self.topics.contains(topic)));
                Some(())
            }
            Err(RecvError::Lagged(_)) => {
                self.pending.clone_from(&self.topics);
                Some(())
            }
            Err(RecvError::Closed) => None,
        }
    }
}
