//! What can happen in a simulated world.

use domain::Reason;
use rand::{Rng, RngExt};

use crate::world::World;

/// One step of a story. Indexes choose among what exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A request asks for a connection.
    Arrive { connection: usize },
    /// An attempt under way ends well.
    Succeed { attempt: usize },
    /// The upstream fails an attempt under way.
    Fail { attempt: usize, reason: Reason },
    /// The client leaves, or the guard is dropped.
    Abandon { attempt: usize },
    /// The owner changes a connection's cap.
    Cap { connection: usize, cap: Option<u32> },
    /// The owner switches a connection on or off.
    Switch { connection: usize, enabled: bool },
    /// The operator clears what went wrong.
    Reset { connection: usize },
    /// Time passes.
    Advance { millis: u64 },
}

const REASONS: [Reason; 6] = [
    Reason::Auth,
    Reason::RateLimit,
    Reason::ServerError,
    Reason::ConnectionReset,
    Reason::StreamCut,
    Reason::ResponseStartTimeout,
];

impl Action {
    /// Draws the next action; attempts end more often the more of them are under way, so no story drowns.
    pub fn draw(chance: &mut impl Rng, world: &World) -> Action {
        let connection = chance.random_range(0..World::CONNECTIONS);
        let open = world.open();
        let attempt = if open == 0 { 0 } else { chance.random_range(0..open) };
        let ending = open > 0 && chance.random_range(0..32) < open.min(24);
        match (ending, chance.random_range(0..10_u8)) {
            (true, 0..=3) => Action::Succeed { attempt },
            (true, 4..=7) => Action::Fail { attempt, reason: REASONS[chance.random_range(0..REASONS.len())] },
            (true, _) => Action::Abandon { attempt },
            (false, 0) => Action::Cap {
                connection,
                cap: if chance.random_bool(0.5) { Some(chance.random_range(1..5)) } else { None },
            },
            (false, 1) => Action::Switch { connection, enabled: chance.random_bool(0.7) },
            (false, 2) => Action::Reset { connection },
            (false, 3) => Action::Advance { millis: chance.random_range(0..60_000) },
            (false, _) => Action::Arrive { connection },
        }
    }
}
