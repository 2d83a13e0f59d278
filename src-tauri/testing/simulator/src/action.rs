//! What can happen in a simulated world.

use domain::{BreakerCharge, Cooldown, Failure, Hint, Millis, Neutral, Permanence, Provenance, Reason, Scope};
use rand::{Rng, RngExt};
use resilience::Caller;

use crate::world::World;

/// One step of a story. Indexes choose among what exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A request asks for a model on an account.
    Arrive {
        account: usize,
        model: usize,
        caller: Caller,
    },
    /// A request arrives that waits its turn if it must.
    LineUp {
        account: usize,
        model: usize,
        caller: Caller,
    },
    /// The client of a waiting request goes away.
    Leave {
        waiter: usize,
    },
    /// An attempt under way ends well.
    Succeed {
        attempt: usize,
    },
    /// The upstream fails an attempt under way.
    Fail {
        attempt: usize,
        failure: Failure,
    },
    /// The client leaves, the guard is dropped, or a limit of the gateway refuses.
    Abandon {
        attempt: usize,
        neutral: Neutral,
    },
    /// The owner changes an account's cap.
    Cap {
        account: usize,
        cap: Option<u32>,
    },
    /// The owner switches an account on or off.
    Switch {
        account: usize,
        enabled: bool,
    },
    /// Somebody says how much of an account's quota is used up.
    Announce {
        account: usize,
        percent: u8,
        resets_in: Option<u64>,
    },
    /// A provider names the most tools it takes.
    ToolLimit {
        account: usize,
        limit: u32,
    },
    /// An account is seen behind an outgoing address.
    Seen {
        account: usize,
        address: u8,
    },
    Operator(Operator),
    Tune(Tune),
    /// Somebody looks at the screen.
    Look,
    /// Time passes.
    Advance {
        millis: u64,
    },
    /// Time passes up to exactly one of the deadlines that stand, or to the instant before.
    Reach {
        deadline: usize,
        just_before: bool,
    },
    /// The program ends and starts again from what it stored; whatever was under way is gone.
    Restart,
}

/// What an operator clears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Account(usize),
    Cooldowns,
    Breakers,
    Breaker(usize),
    Model(usize, usize),
    Models,
}

/// A setting that changes under running traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tune {
    Lockout {
        enabled: bool,
        base: u64,
        exponential: bool,
    },
    ProviderCooldown {
        enabled: bool,
    },
    StallCooldown {
        enabled: bool,
    },
    Preflight {
        enabled: bool,
        threshold: u32,
    },
    /// Of accounts with a key.
    Cooldown {
        base: u64,
        steps: u32,
        hints: bool,
    },
    Queue(Queue),
    /// Of accounts with a key.
    Breaker {
        threshold: u32,
        reset: u64,
        multiplier: u32,
    },
}

/// Numbers of the request queue; zero is no limit of depth and of requests in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    pub enabled: bool,
    pub concurrent: u32,
    pub spacing: u64,
    pub depth: u32,
    pub global: u32,
}

const REASONS: [(Option<u16>, Reason); 14] = [
    (Some(401), Reason::Auth),
    (Some(402), Reason::QuotaExhausted),
    (Some(403), Reason::Forbidden),
    (Some(403), Reason::ModelAccessDenied),
    (Some(404), Reason::ModelNotFound),
    (Some(429), Reason::RateLimit),
    (Some(429), Reason::QuotaExhausted),
    (Some(500), Reason::ServerError),
    (Some(502), Reason::EmptyOrGarbled),
    (Some(503), Reason::Overloaded),
    (None, Reason::ConnectionReset),
    (None, Reason::ResponseStartTimeout),
    (None, Reason::StreamCut),
    (None, Reason::ContentStall),
];

impl Action {
    /// Draws the next action; attempts end more often the more of them are under way, so no story drowns.
    pub fn draw(chance: &mut impl Rng, world: &World) -> Action {
        let open = world.open();
        if open > 0 && chance.random_range(0..32) < open.min(24) {
            return Action::draw_end(chance, open);
        }
        let account = chance.random_range(0..World::ACCOUNTS);
        let waiting = world.waiting();
        if waiting > 0 && chance.random_bool(0.05) {
            return Action::Leave { waiter: chance.random_range(0..waiting) };
        }
        match chance.random_range(0..40_u8) {
            0 => Action::Cap {
                account,
                cap: if chance.random_bool(0.5) { Some(chance.random_range(1..5)) } else { None },
            },
            1 => Action::Switch { account, enabled: chance.random_bool(0.7) },
            2 => match chance.random_range(0..3_u8) {
                0 => Action::Seen { account, address: chance.random_range(0..2) },
                1 => Action::ToolLimit { account, limit: [64, 128][chance.random_range(0..2_usize)] },
                _ => Action::Announce {
                    account,
                    percent: chance.random_range(80..=100),
                    resets_in: chance.random_bool(0.8).then(|| chance.random_range(1_000..20_000_000)),
                },
            },
            3 => Action::Operator(Operator::draw(chance, account)),
            4 => Action::Tune(Tune::draw(chance)),
            5 => Action::Restart,
            6 => Action::Look,
            7 | 8 => Action::Advance { millis: chance.random_range(0..60_000) },
            9 => Action::Advance { millis: chance.random_range(0..4_000_000) },
            10 if chance.random_bool(0.2) => Action::Advance { millis: chance.random_range(0..700_000_000) },
            11..=13 => Action::Reach { deadline: chance.random_range(0..8), just_before: chance.random_bool(0.3) },
            _ => {
                let model = chance.random_range(0..World::MODELS);
                let caller = if chance.random_bool(0.5) { Caller::Combo } else { Caller::Direct };
                if chance.random_bool(0.5) {
                    Action::LineUp { account, model, caller }
                } else {
                    Action::Arrive { account, model, caller }
                }
            }
        }
    }

    fn draw_end(chance: &mut impl Rng, open: usize) -> Action {
        let attempt = chance.random_range(0..open);
        let neutrals = [Neutral::ClientAborted, Neutral::Abandoned, Neutral::InvalidRequest, Neutral::LocalLimit];
        match chance.random_range(0..10_u8) {
            0..=2 => Action::Succeed { attempt },
            3..=7 => Action::Fail { attempt, failure: draw_failure(chance) },
            _ => Action::Abandon { attempt, neutral: neutrals[chance.random_range(0..neutrals.len())] },
        }
    }
}

impl Operator {
    fn draw(chance: &mut impl Rng, account: usize) -> Operator {
        match chance.random_range(0..6_u8) {
            0 => Operator::Account(account),
            1 => Operator::Cooldowns,
            2 => Operator::Breakers,
            3 => Operator::Breaker(account),
            4 => Operator::Model(account, chance.random_range(0..World::MODELS)),
            _ => Operator::Models,
        }
    }
}

impl Tune {
    fn draw(chance: &mut impl Rng) -> Tune {
        match chance.random_range(0..7_u8) {
            6 => Tune::Preflight { enabled: chance.random_bool(0.7), threshold: chance.random_range(0..20) },
            5 => Tune::Queue(Queue {
                enabled: chance.random_bool(0.5),
                concurrent: chance.random_range(1..4),
                spacing: [0, 350, 5_000][chance.random_range(0..3_usize)],
                depth: chance.random_range(0..4),
                global: if chance.random_bool(0.3) { chance.random_range(1..8) } else { 0 },
            }),
            0 => Tune::Lockout {
                enabled: chance.random_bool(0.5),
                base: chance.random_range(5_000..600_000),
                exponential: chance.random_bool(0.8),
            },
            1 => Tune::ProviderCooldown { enabled: chance.random_bool(0.5) },
            2 => Tune::StallCooldown { enabled: chance.random_bool(0.5) },
            3 => Tune::Cooldown {
                base: chance.random_range(0..20_000),
                steps: chance.random_range(0..10),
                hints: chance.random_bool(0.7),
            },
            _ => Tune::Breaker {
                threshold: chance.random_range(1..8),
                reset: chance.random_range(1_000..100_000),
                multiplier: chance.random_range(1..16),
            },
        }
    }
}

/// A failure of any kind; most are plain, some are permanent, announced, ruled or only noted.
fn draw_failure(chance: &mut impl Rng) -> Failure {
    let (status, reason) = REASONS[chance.random_range(0..REASONS.len())];
    let mut failure = Failure::plain(status, reason, "simulated");
    failure.breaker = match (status, chance.random_range(0..3_u8)) {
        (Some(500..), _) | (None, 0) => BreakerCharge::Counts,
        (None, _) => BreakerCharge::Network,
        (Some(_), _) => BreakerCharge::None,
    };
    failure.permanence = match chance.random_range(0..60_u8) {
        0 => Permanence::Banned,
        1 => Permanence::CreditsExhausted,
        2..=4 => Permanence::Unauthorized,
        5..=8 => Permanence::RequestRejected,
        _ => Permanence::Temporary,
    };
    failure.scope = match chance.random_range(0..20_u8) {
        0 => Scope::Connection,
        1 => Scope::Model,
        2 => Scope::Noted,
        3 => Scope::Nobody,
        _ => Scope::Usual,
    };
    failure.cooldown = match chance.random_range(0..20_u8) {
        0 => Cooldown::Fixed(Millis::new(chance.random_range(0..100_000_000))),
        1 => Cooldown::From(Millis::new(chance.random_range(0..100_000_000))),
        2 => Cooldown::Fixed(Millis::ZERO),
        _ => Cooldown::Ladder,
    };
    if chance.random_bool(0.2) {
        let longest = [60_000, 30_000_000, 3_000_000_000, u64::MAX][chance.random_range(0..4_usize)];
        let provenance = if chance.random_bool(0.5) { Provenance::Authoritative } else { Provenance::Stated };
        failure.hint = Some(Hint { delay: Millis::new(chance.random_range(0..longest)), provenance });
    }
    if reason == Reason::QuotaExhausted && chance.random_bool(0.3) {
        failure.quota_resets_in = Some(Millis::new(chance.random_range(0..86_400_000)));
    }
    failure.after_output = chance.random_bool(0.1);
    failure
}
