//! Terminal states, refusals and bounded retries of one account (resilience specification, 7).
//!
//! Scope: one account. Question: *is this account out until its owner acts?* A terminal state is no cooldown: no timer and
//! no traffic ends it, so it is kept apart from `connection_cooldown`. A weaker verdict never replaces a stronger one.
//!
//! Two roads lead here slowly. Three refusals of single requests in a row mean a ban, each but the last costing a short
//! rest; refusals that arrive during such a rest are one episode. And a sign-in that is no longer accepted is tried again
//! after five, ten and twenty minutes, because an outage of the sign-in service must not kill an account for good.

use domain::health::TestStatus;
use domain::{Millis, ProviderClass, Timestamp};

use crate::backoff::doubled;

/// Refusals in a row that mean a ban.
const REFUSALS: u32 = 3;
/// A refusal that long ago begins no streak any more.
const REFUSAL_WINDOW: Millis = Millis::hours(24);
/// Rests after the first and the second refusal.
const REFUSAL_RESTS: [Millis; 2] = [Millis::minutes(5), Millis::minutes(15)];
/// Failed retries after which a sign-in is no longer accepted for good.
const RETRIES: u32 = 3;
/// Wait before the first retry, and the longest wait.
const FIRST_RETRY: Millis = Millis::minutes(5);
const LAST_RETRY: Millis = Millis::minutes(240);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionStatus {
    terminal: Option<TestStatus>,
    /// Whether it was ever asked.
    asked: bool,
    refusals: Refusals,
    retries: Retries,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Refusals {
    count: u32,
    last: Timestamp,
    /// End of the rest that the last one cost.
    until: Timestamp,
}

/// Retries of a sign-in that was not accepted (resilience specification, 7.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retries {
    /// Failed retries.
    pub count: u32,
    /// When the next one is due.
    pub at: Option<Timestamp>,
}

/// What a refusal, or a sign-in that was not accepted, amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strike {
    /// Part of an episode that already has its consequence.
    Again,
    /// The account is spared for a while.
    Rest(Millis),
    /// The account is out.
    Out(TestStatus),
}

impl ConnectionStatus {
    /// The terminal state it is in.
    pub fn terminal(&self) -> Option<TestStatus> {
        self.terminal
    }

    /// What a screen shows.
    pub fn shown(&self, resting: bool) -> TestStatus {
        match self.terminal {
            Some(terminal) => terminal,
            None if resting => TestStatus::Unavailable,
            None if self.asked => TestStatus::Active,
            None => TestStatus::Unknown,
        }
    }

    /// It was asked and answered, well or badly. Says whether that is news.
    pub fn on_answer(&mut self) -> bool {
        !std::mem::replace(&mut self.asked, true)
    }

    /// The upstream's verdict on the account. Says whether it took effect: a weaker one never replaces a stronger one.
    pub fn on_terminal(&mut self, status: TestStatus) -> bool {
        let stronger = status.is_terminal() && self.terminal.is_none_or(|held| strength(status) > strength(held));
        if stronger {
            self.terminal = Some(status);
            self.retries.at = None;
        }
        stronger
    }

    /// The upstream refused one request as such.
    pub fn on_refusal(&mut self, now: Timestamp) -> Strike {
        let Refusals { count, last, until } = self.refusals;
        if now < until {
            return Strike::Again;
        }
        let consecutive = count > 0 && now <= last + REFUSAL_WINDOW;
        let count = if consecutive { count + 1 } else { 1 };
        if count >= REFUSALS {
            self.refusals = Refusals::default();
            return Strike::Out(TestStatus::Banned);
        }
        let rest = if count == 1 { REFUSAL_RESTS[0] } else { REFUSAL_RESTS[1] };
        self.refusals = Refusals { count, last: now, until: now + rest };
        Strike::Rest(rest)
    }

    /// The credential was not accepted. A key stays wrong; a sign-in may have met an outage and gets its retries.
    pub fn on_unauthorized(&mut self, class: ProviderClass, now: Timestamp) -> Strike {
        if class != ProviderClass::Oauth {
            return Strike::Out(TestStatus::Expired);
        }
        self.retries.count = match self.retries.at {
            Some(at) if now < at => return Strike::Again,
            Some(_) => self.retries.count + 1,
            None => 0,
        };
        match self.next_retry() {
            None => Strike::Out(TestStatus::Expired),
            Some(wait) => {
                self.retries.at = Some(now + wait);
                Strike::Rest(wait)
            }
        }
    }

    /// A success after which nothing is held against it. Says whether something was. Terminal states stay.
    pub fn on_success(&mut self) -> bool {
        let before = (self.refusals, self.retries);
        self.refusals = Refusals::default();
        if self.terminal.is_none() {
            self.retries = Retries::default();
        }
        before != (self.refusals, self.retries)
    }

    /// Its owner acted: terminal states end as well. Says whether there was anything to end.
    pub fn reset(&mut self) -> bool {
        let before = std::mem::replace(self, ConnectionStatus { asked: true, ..ConnectionStatus::default() });
        before.terminal.is_some() || before.refusals.count > 0 || before.retries != Retries::default()
    }

    /// Refusals in a row.
    pub fn refusals(&self) -> u32 {
        self.refusals.count
    }

    pub fn retries(&self) -> Retries {
        self.retries
    }

    /// Rebuilds it from its row. `refused_at`: when the row says that a single request was refused; a refusal younger
    /// than a day is the first of a streak.
    pub fn restore(shown: TestStatus, retries: Retries, refused_at: Option<Timestamp>, now: Timestamp) -> Self {
        let last = refused_at.map(|at| at.min(now)).filter(|at| now < *at + REFUSAL_WINDOW);
        ConnectionStatus {
            terminal: shown.is_terminal().then_some(shown),
            asked: shown != TestStatus::Unknown,
            refusals: last.map(|last| Refusals { count: 1, last, until: last }).unwrap_or_default(),
            retries: Retries { at: retries.at.map(|at| at.min(now + LAST_RETRY)), ..retries },
        }
    }

    /// Wait before the next retry; none, there is no further one.
    fn next_retry(&self) -> Option<Millis> {
        let count = self.retries.count;
        (count < RETRIES).then(|| doubled(FIRST_RETRY, count, LAST_RETRY))
    }
}

/// Banned, then expired, then without credit (resilience specification, 7.7).
const fn strength(status: TestStatus) -> u8 {
    match status {
        TestStatus::Banned => 3,
        TestStatus::Expired => 2,
        TestStatus::CreditsExhausted => 1,
        TestStatus::Unknown | TestStatus::Active | TestStatus::Unavailable => 0,
    }
}

#[cfg(test)]
mod tests {
    use TestStatus::{Active, Banned, CreditsExhausted, Expired, Unavailable, Unknown};

    use super::*;

    const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);

    fn minute(minute: u64) -> Timestamp {
        START + Millis::minutes(minute)
    }

    #[test]
    fn a_weaker_verdict_never_replaces_a_stronger_one() {
        // TS-02, TS-03, XC-09
        for (first, second, stays) in [
            (Banned, Expired, Banned),
            (Banned, CreditsExhausted, Banned),
            (Expired, CreditsExhausted, Expired),
            (CreditsExhausted, Expired, Expired),
            (Expired, Banned, Banned),
            (Banned, Unavailable, Banned),
            (Banned, Active, Banned),
        ] {
            let mut status = ConnectionStatus::default();
            assert!(status.on_terminal(first));
            assert_eq!(status.on_terminal(second), stays == second && first != second, "{first:?}, {second:?}");
            status.on_success();
            assert_eq!(status.shown(true), stays, "{first:?}, {second:?}");
        }
    }

    #[test]
    fn a_screen_shows_what_is_known() {
        let mut status = ConnectionStatus::default();
        assert_eq!(status.shown(false), Unknown);
        assert!(status.on_answer());
        assert!(!status.on_answer());
        assert_eq!((status.shown(false), status.shown(true)), (Active, Unavailable));
        status.on_terminal(Expired);
        assert!(status.reset());
        assert_eq!(status.shown(false), Active); // TS-09
    }

    #[test]
    fn the_third_refusal_in_a_row_is_a_ban() {
        // TS-11, TS-12
        let mut status = ConnectionStatus::default();
        assert_eq!(status.on_refusal(minute(0)), Strike::Rest(Millis::minutes(5)));
        assert_eq!(status.on_refusal(minute(6)), Strike::Rest(Millis::minutes(15)));
        assert_eq!(status.on_refusal(minute(22)), Strike::Out(Banned));
    }

    #[test]
    fn refusals_during_a_rest_are_one_episode() {
        // TS-14
        let mut status = ConnectionStatus::default();
        assert_eq!(status.on_refusal(minute(0)), Strike::Rest(Millis::minutes(5)));
        for _ in 0..9 {
            assert_eq!(status.on_refusal(minute(4)), Strike::Again);
        }
        assert_eq!(status.refusals(), 1);
    }

    #[test]
    fn a_success_or_a_day_ends_the_streak() {
        // TS-13
        let mut status = ConnectionStatus::default();
        status.on_refusal(minute(0));
        status.on_refusal(minute(10));
        assert!(status.on_success());
        assert_eq!(status.on_refusal(minute(30)), Strike::Rest(Millis::minutes(5)));
        // TS-15
        status.on_refusal(minute(40));
        let late = minute(40) + REFUSAL_WINDOW + Millis::seconds(1);
        assert_eq!(status.on_refusal(late), Strike::Rest(Millis::minutes(5)));
        assert_eq!(status.refusals(), 1);
    }

    #[test]
    fn a_restart_remembers_one_refusal_of_the_last_day() {
        // TS-16
        let restored = |at| ConnectionStatus::restore(Active, Retries::default(), Some(START), at);
        let mut status = restored(minute(10));
        assert_eq!(status.on_refusal(minute(10)), Strike::Rest(Millis::minutes(15)));
        assert_eq!(status.on_refusal(minute(30)), Strike::Out(Banned));
        assert_eq!(restored(START + REFUSAL_WINDOW).refusals(), 0);
    }

    #[test]
    fn a_sign_in_is_retried_three_times_and_a_key_never() {
        // TS-17
        let mut status = ConnectionStatus::default();
        for (at, strike) in [
            (0, Strike::Rest(Millis::minutes(5))),
            (4, Strike::Again),
            (5, Strike::Rest(Millis::minutes(10))),
            (15, Strike::Rest(Millis::minutes(20))),
            (35, Strike::Out(Expired)),
        ] {
            assert_eq!(status.on_unauthorized(ProviderClass::Oauth, minute(at)), strike, "minute {at}");
        }
        for class in [ProviderClass::Apikey, ProviderClass::Local, ProviderClass::Free] {
            let strike = ConnectionStatus::default().on_unauthorized(class, START);
            assert_eq!(strike, Strike::Out(Expired), "{class:?}");
        }
    }

    #[test]
    fn a_retry_that_works_clears_the_count() {
        // TS-18
        let mut status = ConnectionStatus::default();
        status.on_unauthorized(ProviderClass::Oauth, START);
        assert_eq!(status.retries(), Retries { count: 0, at: Some(minute(5)) });
        assert!(status.on_success());
        assert_eq!(status.retries(), Retries::default());
    }

    #[test]
    fn a_terminal_state_outlives_a_restart() {
        // TS-23, RP-05
        for shown in [Banned, Expired, CreditsExhausted] {
            let status = ConnectionStatus::restore(shown, Retries::default(), None, START);
            assert_eq!(status.terminal(), Some(shown));
        }
        let cooling = ConnectionStatus::restore(Unavailable, Retries::default(), None, START);
        assert_eq!((cooling.terminal(), cooling.shown(false)), (None, Active));
    }
}
