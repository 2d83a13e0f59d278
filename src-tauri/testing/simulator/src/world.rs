//! The simulated world: a real Engine, and a simple account of what must be true of it.

use domain::{Candidate, Failure, Millis, Neutral, Outcome, Success, Timestamp};
use resilience::{Admission, Admitted, Caller, Engine, Permit, ResetScope, Settings};

use crate::action::Action;

/// A rule that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// Attempts under way and permits held differ.
    Permits { held: u32, open: u32 },
    /// More requests were let in than the cap allows.
    Cap { connection: usize, in_flight: u32, cap: u32 },
    /// A switched-off connection was let through.
    SwitchedOff { connection: usize },
    /// A free, switched-on connection was refused.
    RefusedWithoutReason { connection: usize },
    /// A neutral outcome left a trace on health.
    NeutralHurt { connection: usize },
    /// After a success an error was still remembered.
    NotRecovered { connection: usize },
    /// The Engine's count of one connection is not that of its attempts.
    Count { connection: usize },
}

#[derive(Clone, Copy, Debug)]
struct Account {
    cap: Option<u32>,
    enabled: bool,
}

#[derive(Debug)]
pub struct World {
    engine: Engine,
    settings: Settings,
    now: Timestamp,
    accounts: Vec<Account>,
    attempts: Vec<(usize, Permit)>,
}

impl Default for World {
    fn default() -> Self {
        World {
            engine: Engine::default(),
            settings: Settings::default(),
            now: Timestamp::from_millis(1_000_000),
            accounts: (0..World::CONNECTIONS).map(|_| Account { cap: None, enabled: true }).collect(),
            attempts: Vec::new(),
        }
    }
}

impl World {
    pub const CONNECTIONS: usize = 4;

    /// Attempts under way.
    pub fn open(&self) -> usize {
        self.attempts.len()
    }

    /// Carries out one action and checks every rule.
    ///
    /// # Errors
    /// The first rule that does not hold.
    pub fn apply(&mut self, action: &Action) -> Result<(), Broken> {
        match *action {
            Action::Arrive { connection } => self.arrive(connection)?,
            Action::Succeed { attempt } => self.succeed(attempt)?,
            Action::Fail { attempt, reason } => {
                let failure = Failure::plain(None, reason, "simulated");
                self.settle(attempt, &Outcome::Failure(failure));
            }
            Action::Abandon { attempt } => self.abandon(attempt)?,
            Action::Cap { connection, cap } => self.accounts[connection].cap = cap,
            Action::Switch { connection, enabled } => self.accounts[connection].enabled = enabled,
            Action::Reset { connection } => {
                let scope = ResetScope::Connection(self.candidate(connection).connection);
                self.engine.reset(&scope, &self.settings, self.now);
            }
            Action::Advance { millis } => self.now = self.now + Millis::new(millis),
        }
        self.check()
    }

    /// Ends every attempt; afterwards nothing may be held.
    ///
    /// # Errors
    /// The first rule that does not hold.
    pub fn finish(mut self) -> Result<(), Broken> {
        while !self.attempts.is_empty() {
            self.abandon(0)?;
        }
        self.check()
    }

    fn candidate(&self, connection: usize) -> Candidate {
        Candidate {
            provider: "p".into(),
            connection: format!("c{connection}").into(),
            model: "m".to_owned(),
            priority: u32::try_from(connection).unwrap_or(u32::MAX),
            enabled: self.accounts[connection].enabled,
            nature: domain::Nature::default(),
        }
    }

    fn under_way(&self, connection: usize) -> u32 {
        u32::try_from(self.attempts.iter().filter(|(of, _)| *of == connection).count()).unwrap_or(u32::MAX)
    }

    fn arrive(&mut self, connection: usize) -> Result<(), Broken> {
        let candidate = self.candidate(connection);
        let Account { cap, enabled } = self.accounts[connection];
        let fits = cap.is_none_or(|cap| self.under_way(connection) < cap);
        let admission = Admission { candidate: &candidate, max_concurrent: cap, caller: Caller::Direct };
        match self.engine.admit(&admission, &self.settings, self.now) {
            Admitted::Permit(_) if !enabled => Err(Broken::SwitchedOff { connection }),
            Admitted::Permit(permit) => {
                self.attempts.push((connection, permit));
                let in_flight = self.under_way(connection);
                match cap {
                    Some(cap) if in_flight > cap => Err(Broken::Cap { connection, in_flight, cap }),
                    Some(_) | None => Ok(()),
                }
            }
            Admitted::Refused(_) if enabled && fits => Err(Broken::RefusedWithoutReason { connection }),
            Admitted::Refused(_) => Ok(()),
        }
    }

    fn settle(&mut self, attempt: usize, outcome: &Outcome) -> usize {
        let (connection, permit) = self.attempts.swap_remove(attempt);
        self.engine.settle(permit, outcome, &self.settings, self.now);
        connection
    }

    fn succeed(&mut self, attempt: usize) -> Result<(), Broken> {
        let connection = self.settle(attempt, &Outcome::Success(Success::default()));
        let picture = self.engine.connection(&self.candidate(connection).connection, &self.settings, self.now);
        if picture.last_error.is_some() { Err(Broken::NotRecovered { connection }) } else { Ok(()) }
    }

    fn abandon(&mut self, attempt: usize) -> Result<(), Broken> {
        let id = self.candidate(self.attempts[attempt].0).connection;
        let before = self.engine.connection(&id, &self.settings, self.now).last_error;
        let connection = self.settle(attempt, &Outcome::Neutral(Neutral::Abandoned));
        if self.engine.connection(&id, &self.settings, self.now).last_error == before {
            Ok(())
        } else {
            Err(Broken::NeutralHurt { connection })
        }
    }

    fn check(&self) -> Result<(), Broken> {
        let snapshot = self.engine.snapshot(&self.settings, self.now);
        let open = u32::try_from(self.attempts.len()).unwrap_or(u32::MAX);
        if snapshot.in_flight != open {
            return Err(Broken::Permits { held: snapshot.in_flight, open });
        }
        for connection in 0..World::CONNECTIONS {
            let counted =
                self.engine.connection(&self.candidate(connection).connection, &self.settings, self.now).in_flight;
            if counted != self.under_way(connection) {
                return Err(Broken::Count { connection });
            }
        }
        Ok(())
    }
}
