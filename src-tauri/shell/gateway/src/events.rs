//! What changed, for everyone who looks: topics, coalesced by whoever forwards them.

use resilience::Event;
use tokio::sync::broadcast;

/// A kind of thing a person can look at (gateway specification, 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    Connections,
    Cooldowns,
    Breakers,
    Lockouts,
    Settings,
    Requests,
    Usage,
    Quota,
    Combos,
    Keys,
    Sessions,
}

impl Topic {
    pub const ALL: [Topic; 11] = [
        Topic::Connections,
        Topic::Cooldowns,
        Topic::Breakers,
        Topic::Lockouts,
        Topic::Settings,
        Topic::Requests,
        Topic::Usage,
        Topic::Quota,
        Topic::Combos,
        Topic::Keys,
        Topic::Sessions,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Topic::Connections => "connections",
            Topic::Cooldowns => "cooldowns",
            Topic::Breakers => "breakers",
            Topic::Lockouts => "lockouts",
            Topic::Settings => "settings",
            Topic::Requests => "requests",
            Topic::Usage => "usage",
            Topic::Quota => "quota",
            Topic::Combos => "combos",
            Topic::Keys => "keys",
            Topic::Sessions => "sessions",
        }
    }

    pub fn parse(text: &str) -> Option<Topic> {
        Topic::ALL.into_iter().find(|topic| topic.as_str() == text)
    }
}

/// What a change of state shows up in.
pub(crate) const fn topics(event: &Event) -> &'static [Topic] {
    match event {
        Event::ConnectionFailed { .. } => &[Topic::Connections],
        Event::ConnectionRecovered { .. } | Event::ConnectionCooling { .. } | Event::ConnectionTerminal { .. } => {
            &[Topic::Connections, Topic::Cooldowns]
        }
        Event::BreakerChanged { .. } => &[Topic::Breakers],
        Event::ModelLocked { .. } | Event::ModelUnlocked { .. } => &[Topic::Lockouts, Topic::Cooldowns],
        Event::ProviderCooling { .. } => &[Topic::Cooldowns],
        Event::QuotaChanged { .. } => &[Topic::Quota],
    }
}

/// One announcement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    pub topics: Vec<Topic>,
}

/// The channel of announcements. Bounded: a listener that falls behind loses the oldest and re-reads.
#[derive(Debug)]
pub(crate) struct Events {
    sender: broadcast::Sender<Changed>,
}

const BACKLOG: usize = 256;

impl Events {
    pub(crate) fn new() -> Self {
        Events { sender: broadcast::channel(BACKLOG).0 }
    }

    pub(crate) fn announce(&self, topics: &[Topic]) {
        if self.sender.receiver_count() == 0 {
            return;
        }
        // Nobody listening any more is no fault.
        let _ = self.sender.send(Changed { topics: topics.to_vec() });
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Changed> {
        self.sender.subscribe()
    }
}
