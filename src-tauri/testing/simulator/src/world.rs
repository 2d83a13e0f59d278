//! The simulated world: a real Engine, a store that keeps its rows, and a simple account of what must be true of both.

use std::collections::BTreeMap;

use domain::health::TestStatus;
use domain::{
    Availability, Candidate, ConnectionId, Exclusion, Limits, Millis, Nature, Neutral, Outcome, ProviderClass,
    ProviderId, Success, Timestamp,
};
use resilience::circuit_breaker::State;
use resilience::{Admission, Admitted, Caller, Effects, Engine, Permit, ResetScope, Row, Settings, Snapshot, Stored};

use crate::action::{Action, Operator, Tune};
use crate::broken::Broken;
use crate::check;

#[derive(Clone, Copy, Debug)]
struct Account {
    cap: Option<u32>,
    enabled: bool,
}

#[derive(Debug)]
struct Attempt {
    account: usize,
    permit: Permit,
    arrived: Timestamp,
    /// It was let through while the provider's breaker was half-open.
    probe: bool,
}

#[derive(Debug)]
pub struct World {
    engine: Engine,
    settings: Settings,
    now: Timestamp,
    accounts: Vec<Account>,
    attempts: Vec<Attempt>,
    store: Store,
    /// The picture after the last action.
    seen: Snapshot,
}

/// Rows by what they are about, as the database would hold them.
#[derive(Clone, Debug, Default)]
struct Store {
    rows: BTreeMap<String, Row>,
}

impl Default for World {
    fn default() -> Self {
        World {
            engine: Engine::default(),
            settings: Settings::default(),
            now: Timestamp::from_millis(1_790_000_000_000),
            accounts: (0..World::ACCOUNTS).map(|_| Account { cap: None, enabled: true }).collect(),
            attempts: Vec::new(),
            store: Store::default(),
            seen: Snapshot::default(),
        }
    }
}

impl World {
    /// Two accounts at each of four providers: keys, sign-ins with quotas per model, a local server, and a provider whose
    /// quota goes by outgoing address.
    pub const ACCOUNTS: usize = 8;
    pub const MODELS: usize = 3;

    /// Attempts under way.
    pub fn open(&self) -> usize {
        self.attempts.len()
    }

    /// Carries out one action and checks every rule.
    ///
    /// # Errors
    /// The first rule that does not hold.
    pub fn apply(&mut self, action: &Action) -> Result<(), Broken> {
        let before = std::mem::take(&mut self.seen);
        match action {
            Action::Arrive { account, model, caller } => self.arrive(*account, *model, *caller, &before)?,
            Action::Succeed { attempt } => self.succeed(*attempt)?,
            Action::Fail { attempt, failure } => {
                self.settle(*attempt, &Outcome::Failure(failure.clone()));
            }
            Action::Abandon { attempt, neutral } => self.abandon(*attempt, *neutral)?,
            Action::Cap { account, cap } => self.accounts[*account].cap = *cap,
            Action::Switch { account, enabled } => self.accounts[*account].enabled = *enabled,
            Action::Seen { account, address } => {
                self.engine.note_egress(&connection(*account), &format!("10.0.0.{address}"), self.now);
            }
            Action::Operator(operator) => self.operate(*operator),
            Action::Tune(tune) => self.tune(*tune),
            Action::Look => self.look(),
            Action::Advance { millis } => self.now = self.now + Millis::new(*millis),
            Action::Reach { deadline, just_before } => self.reach(*deadline, *just_before, &before),
            Action::Restart => self.restart()?,
        }
        let owner_acted = matches!(action, Action::Operator(Operator::Account(_)));
        let after = self.snapshot();
        if !owner_acted {
            check::terminal_states_stay(&before, &after)?;
        }
        check::nothing_lasts_too_long(&after, &self.settings, self.now)?;
        self.check_counts(&after)?;
        self.seen = after;
        Ok(())
    }

    /// Ends every attempt and lets every timer run out; afterwards nothing may be held, and everybody whose owner did not
    /// have to act must serve again.
    ///
    /// # Errors
    /// The first rule that does not hold.
    pub fn finish(mut self) -> Result<(), Broken> {
        while !self.attempts.is_empty() {
            self.abandon(0, Neutral::Abandoned)?;
        }
        self.now = self.now + Millis::days(30);
        for account in 0..World::ACCOUNTS {
            self.accounts[account].enabled = true;
            if self.status(account).is_terminal() {
                continue;
            }
            for model in 0..World::MODELS {
                let seen = self.snapshot();
                self.arrive(account, model, Caller::Combo, &seen)?;
                if self.attempts.is_empty() {
                    return Err(Broken::NotHealed { account });
                }
                self.succeed(0)?;
            }
            let breakers = self.snapshot().breakers;
            let healed = breakers.get(&provider(account)).is_none_or(|breaker| breaker.state != State::HalfOpen);
            if !healed || self.status(account) != TestStatus::Active {
                return Err(Broken::NotHealed { account });
            }
        }
        self.check_counts(&self.snapshot())
    }

    fn snapshot(&self) -> Snapshot {
        self.engine.snapshot(&self.settings, self.now)
    }

    fn status(&self, account: usize) -> TestStatus {
        self.engine.connection(&connection(account), &self.settings, self.now).status
    }

    fn candidate(&self, account: usize, model: usize) -> Candidate {
        Candidate {
            provider: provider(account),
            connection: connection(account),
            model: format!("m{model}"),
            priority: 1,
            enabled: self.accounts[account].enabled,
            nature: nature(account),
        }
    }

    fn under_way(&self, account: usize) -> u32 {
        u32::try_from(self.attempts.iter().filter(|attempt| attempt.account == account).count()).unwrap_or(u32::MAX)
    }

    fn arrive(&mut self, account: usize, model: usize, caller: Caller, before: &Snapshot) -> Result<(), Broken> {
        let candidate = self.candidate(account, model);
        let cap = self.accounts[account].cap;
        let limits = Limits { max_concurrent: cap, ..Limits::default() };
        let admission = Admission::new(&candidate, &limits, caller);
        let availability = self.engine.availability(&admission, &self.settings, self.now);
        let full = cap.is_some_and(|cap| self.under_way(account) >= cap);
        let obstacles = check::obstacles(&candidate, caller, full, before, self.now);
        let probing = check::may_be_probing(&candidate, before, self.now);
        match self.engine.admit(&admission, &self.settings, self.now) {
            Admitted::Permit(_) if availability != Availability::Available => Err(Broken::TwoAnswers { account }),
            Admitted::Permit(permit) => {
                if let Some(by) = obstacles.first() {
                    return Err(Broken::LetThrough { account, by: *by });
                }
                let probe = before.breakers.get(&candidate.provider).is_some_and(|b| b.state == State::HalfOpen);
                self.attempts.push(Attempt { account, permit, arrived: self.now, probe });
                if cap.is_some_and(|cap| self.under_way(account) > cap) {
                    return Err(Broken::Cap { account });
                }
                self.check_probes(account)
            }
            Admitted::Refused(Exclusion { mechanism: by, .. }) => {
                if availability == Availability::Available {
                    return Err(Broken::TwoAnswers { account });
                }
                if obstacles.contains(&by) || probing {
                    Ok(())
                } else {
                    Err(Broken::RefusedWithoutReason { account, by })
                }
            }
        }
    }

    /// Of the attempts that entered half-open and have not lapsed, one may be under way while it is half-open still.
    fn check_probes(&self, account: usize) -> Result<(), Broken> {
        let provider = provider(account);
        let recent = |attempt: &&Attempt| attempt.probe && self.now < attempt.arrived + Millis::minutes(10);
        let probes = self.attempts.iter().filter(recent).filter(|a| *a.permit.provider() == provider).count();
        let second = probes > 1 && self.is_half_open(&provider);
        if second { Err(Broken::SecondProbe { account }) } else { Ok(()) }
    }

    fn is_half_open(&self, provider: &ProviderId) -> bool {
        self.snapshot().breakers.get(provider).is_some_and(|breaker| breaker.state == State::HalfOpen)
    }

    fn settle(&mut self, attempt: usize, outcome: &Outcome) -> (usize, Timestamp) {
        let Attempt { account, permit, arrived, .. } = self.attempts.swap_remove(attempt);
        let effects = self.engine.settle(permit, outcome, &self.settings, self.now);
        self.keep(effects);
        let probing = self.attempts.iter().any(|attempt| attempt.probe);
        if probing && !self.is_half_open(&provider(account)) {
            // What left before the state changed is no probe any more.
            let of_provider = |other: &&mut Attempt| provider(other.account) == provider(account);
            self.attempts.iter_mut().filter(of_provider).for_each(|other| other.probe = false);
        }
        (account, arrived)
    }

    fn succeed(&mut self, attempt: usize) -> Result<(), Broken> {
        let (account, arrived) = self.settle(attempt, &Outcome::Success(Success::default()));
        let picture = self.engine.connection(&connection(account), &self.settings, self.now);
        let older = picture.last_error.is_some_and(|error| error.at < arrived);
        if older && !picture.status.is_terminal() { Err(Broken::NotRecovered { account }) } else { Ok(()) }
    }

    fn abandon(&mut self, attempt: usize, neutral: Neutral) -> Result<(), Broken> {
        let before = check::health(self.snapshot());
        let (account, _) = self.settle(attempt, &Outcome::Neutral(neutral));
        if check::health(self.snapshot()) == before { Ok(()) } else { Err(Broken::NeutralHurt { account }) }
    }

    fn operate(&mut self, operator: Operator) {
        let scope = match operator {
            Operator::Account(account) => ResetScope::Connection(connection(account)),
            Operator::Cooldowns => ResetScope::Cooldowns((0..World::ACCOUNTS).map(connection).collect()),
            Operator::Breakers => ResetScope::Breakers,
            Operator::Breaker(account) => ResetScope::Breaker(provider(account)),
            Operator::Model(account, model) => ResetScope::Model {
                provider: provider(account),
                connection: (model > 0).then(|| connection(account)),
                model: format!("m{model}"),
            },
            Operator::Models => ResetScope::Models,
        };
        let cleared = self.engine.reset(&scope, &self.settings, self.now);
        self.keep(cleared.effects);
        if matches!(operator, Operator::Breakers | Operator::Breaker(_)) {
            self.attempts.iter_mut().for_each(|attempt| attempt.probe = false);
        }
    }

    fn tune(&mut self, tune: Tune) {
        match tune {
            Tune::Lockout { enabled, base, exponential } => {
                self.settings.model_lockout.enabled = enabled;
                self.settings.model_lockout.base_cooldown = Millis::new(base);
                self.settings.model_lockout.use_exponential_backoff = exponential;
            }
            Tune::ProviderCooldown { enabled } => self.settings.provider_cooldown.enabled = enabled,
            Tune::StallCooldown { enabled } => self.settings.stream_stall_cooldown.enabled = enabled,
            Tune::Cooldown { base, steps, hints } => {
                let config = &mut self.settings.connection_cooldown.apikey;
                config.base_cooldown = Millis::new(base);
                config.max_backoff_steps = steps;
                config.use_upstream_retry_hints = hints;
            }
            Tune::Breaker { threshold, reset, multiplier } => {
                let config = &mut self.settings.provider_breaker.apikey;
                config.failure_threshold = threshold;
                config.reset_timeout = Millis::new(reset);
                config.max_backoff_multiplier = multiplier;
            }
        }
    }

    fn look(&mut self) {
        let effects = self.engine.tick(&self.settings, self.now);
        self.keep(effects);
    }

    fn reach(&mut self, deadline: usize, just_before: bool, snapshot: &Snapshot) {
        let deadlines = check::deadlines(snapshot, self.now);
        if deadlines.is_empty() {
            return;
        }
        let at = deadlines[deadline % deadlines.len()];
        self.now = if just_before { self.now.max(at - Millis::new(1)) } else { at };
    }

    fn restart(&mut self) -> Result<(), Broken> {
        // Whatever is under way ends with the program, without a verdict.
        while !self.attempts.is_empty() {
            self.abandon(0, Neutral::Abandoned)?;
        }
        self.look();
        let before = self.snapshot();
        self.engine = Engine::restore(self.store.read(), &self.settings, self.now);
        check::restored(before, self.snapshot())
    }

    fn keep(&mut self, effects: Effects) {
        effects.rows.into_iter().for_each(|row| self.store.write(row));
    }

    fn check_counts(&self, snapshot: &Snapshot) -> Result<(), Broken> {
        let open = u32::try_from(self.attempts.len()).unwrap_or(u32::MAX);
        if snapshot.in_flight != open {
            return Err(Broken::Permits { held: snapshot.in_flight, open });
        }
        for account in 0..World::ACCOUNTS {
            let counted = snapshot.connections.get(&connection(account)).map_or(0, |picture| picture.in_flight);
            if counted != self.under_way(account) {
                return Err(Broken::Count { account });
            }
        }
        Ok(())
    }
}

impl Store {
    fn write(&mut self, row: Row) {
        match &row {
            Row::Breaker(stored) => self.rows.insert(format!("breaker {}", stored.provider), row),
            Row::Connection(stored) => self.rows.insert(format!("connection {}", stored.connection), row),
            Row::Lockout(stored) => self.rows.insert(format!("lockout {}", stored.key), row),
            Row::BreakerGone(provider) => self.rows.remove(&format!("breaker {provider}")),
            Row::LockoutGone(key) => self.rows.remove(&format!("lockout {key}")),
        };
    }

    fn read(&self) -> Stored {
        let mut stored = Stored::default();
        for row in self.rows.values().cloned() {
            match row {
                Row::Breaker(row) => stored.breakers.push(row),
                Row::Connection(row) => stored.connections.push(row),
                Row::Lockout(row) => stored.lockouts.push(row),
                Row::BreakerGone(_) | Row::LockoutGone(_) => {}
            }
        }
        stored
    }
}

fn provider(account: usize) -> ProviderId {
    format!("p{}", account % 4).into()
}

fn connection(account: usize) -> ConnectionId {
    format!("c{account}").into()
}

fn nature(account: usize) -> Nature {
    let plain = Nature::default();
    match account % 4 {
        0 => plain,
        1 => Nature {
            class: ProviderClass::Oauth,
            per_model_quota: true,
            quota_family: Some("family".to_owned()),
            ..plain
        },
        2 => Nature { class: ProviderClass::Local, disable_cooling: account >= 4, ..plain },
        _ => Nature { per_model_quota: true, egress_bucket: Some("bucket".to_owned()), ..plain },
    }
}
