//! The simulated world: a real Engine, a store that keeps its rows, and a simple account of what must be true of both.

use std::collections::BTreeMap;

use domain::health::TestStatus;
use domain::{
    Availability, Candidate, ConnectionId, Exclusion, Mechanism, Millis, Nature, Neutral, Outcome, ProviderClass,
    ProviderId, Success, Timestamp,
};
use resilience::circuit_breaker::State;
use resilience::{Admission, Admitted, Caller, Engine, Permit, ResetScope, Row, Settings, Snapshot, Stored};

use crate::action::{Action, Operator, Tune};
use crate::broken::Broken;
use crate::check;
use crate::waiting::Waiter;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    pub(crate) cap: Option<u32>,
    enabled: bool,
}

#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) account: usize,
    pub(crate) permit: Permit,
    pub(crate) arrived: Timestamp,
    /// It was let through while the provider's breaker was half-open.
    pub(crate) probe: bool,
}

#[derive(Debug)]
pub struct World {
    pub(crate) engine: Engine,
    pub(crate) settings: Settings,
    pub(crate) now: Timestamp,
    pub(crate) accounts: Vec<Account>,
    pub(crate) attempts: Vec<Attempt>,
    /// The longest waiting first.
    pub(crate) waiting: Vec<Waiter>,
    pub(crate) store: Store,
    /// The picture after the last action.
    seen: Snapshot,
}

/// An attempt that has ended.
struct Settled {
    account: usize,
    arrived: Timestamp,
    /// Nobody went, or was sent away, in its place.
    alone: bool,
}

/// Rows by what they are about, as the database would hold them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
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
            waiting: Vec::new(),
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

    /// Requests that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
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
                self.settle(*attempt, &Outcome::Failure(failure.clone()))?;
            }
            Action::LineUp { account, model, caller } => self.line_up(*account, *model, *caller, &before)?,
            Action::Leave { waiter } => self.leaves(*waiter)?,
            Action::Abandon { attempt, neutral } => self.abandon(*attempt, *neutral)?,
            Action::Cap { account, cap } => self.cap(*account, *cap)?,
            Action::Switch { account, enabled } => self.accounts[*account].enabled = *enabled,
            Action::Seen { account, address } => {
                self.engine.note_egress(&connection(*account), &format!("10.0.0.{address}"), self.now);
            }
            Action::Announce { account, percent, resets_in } => self.announced(*account, *percent, *resets_in)?,
            Action::ToolLimit { account, limit } => self.takes_tools(*account, *limit),
            Action::Operator(operator) => self.operate(*operator)?,
            Action::Tune(tune) => self.tune(*tune)?,
            Action::Look => self.look()?,
            Action::Advance { millis } => self.advance(self.now + Millis::new(*millis))?,
            Action::Reach { deadline, just_before } => self.reach(*deadline, *just_before, &before)?,
            Action::Restart => self.restart()?,
        }
        let owner_acted = matches!(action, Action::Operator(Operator::Account(_)));
        let after = self.snapshot();
        if !owner_acted {
            check::terminal_states_stay(&before, &after)?;
        }
        check::nothing_lasts_too_long(&after, &self.settings, self.now)?;
        self.check_counts(&after)?;
        self.check_waiting(&after)?;
        self.seen = after;
        Ok(())
    }

    /// Ends every attempt and lets every timer run out; afterwards nothing may be held, and everybody whose owner did not
    /// have to act must serve again.
    ///
    /// # Errors
    /// The first rule that does not hold.
    pub fn finish(mut self) -> Result<(), Broken> {
        self.end_all()?;
        self.settings.request_queue.auto_enable_api_key_providers = false;
        self.settings.quota_preflight.enabled = false;
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

    pub(crate) fn candidate(&self, account: usize, model: usize) -> Candidate {
        Candidate {
            provider: provider(account),
            connection: connection(account),
            model: format!("m{model}"),
            priority: 1,
            enabled: self.accounts[account].enabled,
            nature: nature(account),
        }
    }

    pub(crate) fn under_way(&self, account: usize) -> u32 {
        u32::try_from(self.attempts.iter().filter(|attempt| attempt.account == account).count()).unwrap_or(u32::MAX)
    }

    fn arrive(&mut self, account: usize, model: usize, caller: Caller, before: &Snapshot) -> Result<(), Broken> {
        let candidate = self.candidate(account, model);
        let limits = self.limits(account);
        let admission = self.asking(model, Admission::new(&candidate, &limits, caller));
        let availability = self.engine.availability(&admission, &self.settings, self.now);
        let mut obstacles = check::obstacles(&candidate, caller, self.is_full(account), before, self.now);
        obstacles.extend(self.known_beforehand(account, model));
        let probing = check::may_be_probing(&candidate, before, self.now);
        match self.engine.admit(&admission, &self.settings, self.now) {
            Admitted::Permit(_) if availability != Availability::Available => Err(Broken::TwoAnswers { account }),
            Admitted::Permit(permit) => {
                if let Some(by) = obstacles.first() {
                    return Err(Broken::LetThrough { account, by: *by });
                }
                self.goes(account, permit)
            }
            Admitted::Refused(Exclusion { mechanism: by, .. }) => {
                // Who could wait is available; who will not is refused.
                let no_place = by.is_full();
                if availability == Availability::Available && !no_place {
                    return Err(Broken::TwoAnswers { account });
                }
                let paced = by == Mechanism::AdmissionLane && self.is_paced(account);
                if obstacles.contains(&by) || probing || paced {
                    Ok(())
                } else {
                    Err(Broken::RefusedWithoutReason { account, by })
                }
            }
        }
    }

    /// Of the attempts that entered half-open and have not lapsed, one may be under way while it is half-open still.
    pub(crate) fn check_probes(&self, account: usize) -> Result<(), Broken> {
        let provider = provider(account);
        let recent = |attempt: &&Attempt| attempt.probe && self.now < attempt.arrived + Millis::minutes(10);
        let probes = self.attempts.iter().filter(recent).filter(|a| *a.permit.provider() == provider).count();
        let second = probes > 1 && self.is_half_open(&provider);
        if second { Err(Broken::SecondProbe { account }) } else { Ok(()) }
    }

    pub(crate) fn is_half_open(&self, provider: &ProviderId) -> bool {
        self.snapshot().breakers.get(provider).is_some_and(|breaker| breaker.state == State::HalfOpen)
    }

    fn settle(&mut self, attempt: usize, outcome: &Outcome) -> Result<Settled, Broken> {
        let Attempt { account, permit, arrived, .. } = self.attempts.swap_remove(attempt);
        let effects = self.engine.settle(permit, outcome, &self.settings, self.now);
        let alone = effects.granted.is_empty() && effects.refused.is_empty();
        self.keep(effects)?;
        let probing = self.attempts.iter().any(|attempt| attempt.probe);
        if probing && !self.is_half_open(&provider(account)) {
            // What left before the state changed is no probe any more.
            let of_provider = |other: &&mut Attempt| provider(other.account) == provider(account);
            self.attempts.iter_mut().filter(of_provider).for_each(|other| other.probe = false);
        }
        Ok(Settled { account, arrived, alone })
    }

    fn succeed(&mut self, attempt: usize) -> Result<(), Broken> {
        let Settled { account, arrived, .. } = self.settle(attempt, &Outcome::Success(Success::default()))?;
        let picture = self.engine.connection(&connection(account), &self.settings, self.now);
        let older = picture.last_error.is_some_and(|error| error.at < arrived);
        if older && !picture.status.is_terminal() { Err(Broken::NotRecovered { account }) } else { Ok(()) }
    }

    fn abandon(&mut self, attempt: usize, neutral: Neutral) -> Result<(), Broken> {
        let before = check::health(self.snapshot());
        let Settled { account, alone, .. } = self.settle(attempt, &Outcome::Neutral(neutral))?;
        // Whoever goes in its place may take a probe or be the first of its account.
        if !alone || check::health(self.snapshot()) == before { Ok(()) } else { Err(Broken::NeutralHurt { account }) }
    }

    fn operate(&mut self, operator: Operator) -> Result<(), Broken> {
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
        self.keep(cleared.effects)?;
        if matches!(operator, Operator::Breakers | Operator::Breaker(_)) {
            self.attempts.iter_mut().for_each(|attempt| attempt.probe = false);
        }
        Ok(())
    }

    fn tune(&mut self, tune: Tune) -> Result<(), Broken> {
        match tune {
            Tune::Queue(queue) => self.tune_queue(queue)?,
            Tune::Lockout { enabled, base, exponential } => {
                self.settings.model_lockout.enabled = enabled;
                self.settings.model_lockout.base_cooldown = Millis::new(base);
                self.settings.model_lockout.use_exponential_backoff = exponential;
            }
            Tune::ProviderCooldown { enabled } => self.settings.provider_cooldown.enabled = enabled,
            Tune::Preflight { enabled, threshold } => {
                self.settings.quota_preflight.enabled = enabled;
                self.settings.quota_preflight.default_threshold_percent = threshold;
            }
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
        Ok(())
    }

    pub(crate) fn look(&mut self) -> Result<(), Broken> {
        let effects = self.engine.tick(&self.settings, self.now);
        self.keep(effects)
    }

    fn reach(&mut self, deadline: usize, just_before: bool, snapshot: &Snapshot) -> Result<(), Broken> {
        let mut deadlines = check::deadlines(snapshot, self.now);
        deadlines.extend(self.engine.next_deadline().filter(|at| *at > self.now));
        if deadlines.is_empty() {
            return Ok(());
        }
        let at = deadlines[deadline % deadlines.len()];
        self.advance(if just_before { self.now.max(at - Millis::new(1)) } else { at })
    }

    /// Time passes; the timer of those who wait rings at each of their deadlines.
    fn advance(&mut self, end: Timestamp) -> Result<(), Broken> {
        while let Some(at) = self.engine.next_deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.look()?;
        }
        self.now = end;
        Ok(())
    }

    fn end_all(&mut self) -> Result<(), Broken> {
        while !self.waiting.is_empty() {
            self.leaves(0)?;
        }
        while !self.attempts.is_empty() {
            self.abandon(0, Neutral::Abandoned)?;
        }
        Ok(())
    }

    fn restart(&mut self) -> Result<(), Broken> {
        // Whatever is under way ends with the program, without a verdict.
        self.end_all()?;
        self.look()?;
        let before = self.snapshot();
        self.engine = Engine::restore(self.store.read(), &self.settings, self.now);
        check::restored(before, self.snapshot())
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
    pub(crate) fn write(&mut self, row: Row) {
        match &row {
            Row::Breaker(stored) => self.rows.insert(format!("breaker {}", stored.provider), row),
            Row::Connection(stored) => self.rows.insert(format!("connection {}", stored.connection), row),
            Row::Lockout(stored) => self.rows.insert(format!("lockout {}", stored.key), row),
            Row::BreakerGone(provider) => self.rows.remove(&format!("breaker {provider}")),
            Row::LockoutGone(key) => self.rows.remove(&format!("lockout {key}")),
            Row::Quota(stored) => self.rows.insert(format!("quota {}", stored.connection), row),
        };
    }

    fn read(&self) -> Stored {
        let mut stored = Stored::default();
        for row in self.rows.values().cloned() {
            match row {
                Row::Breaker(row) => stored.breakers.push(row),
                Row::Connection(row) => stored.connections.push(row),
                Row::Lockout(row) => stored.lockouts.push(row),
                Row::Quota(row) => stored.quotas.push(row),
                Row::BreakerGone(_) | Row::LockoutGone(_) => {}
            }
        }
        stored
    }
}

pub(crate) fn provider(account: usize) -> ProviderId {
    format!("p{}", account % 4).into()
}

pub(crate) fn connection(account: usize) -> ConnectionId {
    format!("c{account}").into()
}

pub(crate) fn nature(account: usize) -> Nature {
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
