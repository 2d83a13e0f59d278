//! Laws: what must hold for every sequence of events, not only for those somebody thought of.

use domain::{
    Availability, BreakerCharge, Candidate, Cooldown, Failure, Hint, Limits, Millis, Nature, Neutral, Outcome,
    Permanence, Provenance, ProviderClass, Reason, Scope, Success, Timestamp,
};
use proptest::prelude::*;
use resilience::circuit_breaker::{CircuitBreaker, Config, FailureKind, START_TIMEOUT, State, Terms, Ticket};
use resilience::failure::layers::Rest;
use resilience::{Admission, Admitted, Caller, Engine, Permit, Settings, Snapshot};

const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);

// --- the Engine ---

#[derive(Clone, Debug)]
enum Event {
    Enters { account: usize, model: usize, caller: Caller },
    Ends { attempt: usize, outcome: Outcome },
    Passes(Millis),
}

struct World {
    engine: Engine,
    settings: Settings,
    now: Timestamp,
    permits: Vec<Permit>,
}

/// Six accounts of three providers, one of each class; one provider counts quotas per model.
fn candidate(account: usize, model: usize) -> Candidate {
    let class = [ProviderClass::Apikey, ProviderClass::Oauth, ProviderClass::Local][account % 3];
    Candidate {
        provider: format!("p{}", account % 3).into(),
        connection: format!("c{account}").into(),
        model: format!("m{model}"),
        priority: 1,
        enabled: true,
        nature: Nature { class, per_model_quota: account % 3 == 1, ..Nature::default() },
    }
}

impl World {
    fn new() -> World {
        let mut settings = Settings::default();
        settings.model_lockout.enabled = true;
        settings.provider_cooldown.enabled = true;
        World { engine: Engine::default(), settings, now: START, permits: Vec::new() }
    }

    fn after(events: Vec<Event>) -> World {
        let mut world = World::new();
        for event in events {
            world.apply(event);
        }
        world
    }

    fn enters(&mut self, account: usize, model: usize, caller: Caller) -> Option<Permit> {
        let candidate = candidate(account, model);
        let limits = Limits::default();
        let admission = Admission::new(&candidate, &limits, caller);
        let availability = self.engine.availability(&admission, &self.settings, self.now);
        match self.engine.admit(&admission, &self.settings, self.now) {
            Admitted::Permit(permit) => {
                assert_eq!(availability, Availability::Available);
                Some(permit)
            }
            Admitted::Refused(exclusion) => {
                assert_eq!(availability, Availability::Excluded(exclusion));
                None
            }
        }
    }

    fn apply(&mut self, event: Event) {
        match event {
            Event::Enters { account, model, caller } => {
                let permit = self.enters(account, model, caller);
                self.permits.extend(permit);
            }
            Event::Ends { .. } if self.permits.is_empty() => {}
            Event::Ends { attempt, outcome } => {
                let permit = self.permits.swap_remove(attempt % self.permits.len());
                self.engine.settle(permit, &outcome, &self.settings, self.now);
            }
            Event::Passes(length) => self.now = self.now + length,
        }
    }

    fn snapshot(&self) -> Snapshot {
        self.engine.snapshot(&self.settings, self.now)
    }

    /// What is held for or against anybody, without what merely says who was asked when.
    fn health(&self) -> Snapshot {
        let mut snapshot = self.snapshot();
        snapshot.in_flight = 0;
        snapshot.breakers.retain(|_, breaker| breaker.failure_count > 0);
        for account in snapshot.connections.values_mut() {
            account.provider = None;
            account.in_flight = 0;
            account.last_used_at = None;
        }
        snapshot.connections.retain(|_, account| *account != Default::default());
        snapshot
    }
}

fn reasons() -> impl Strategy<Value = (Option<u16>, Reason)> {
    prop::sample::select(vec![
        (Some(401), Reason::Auth),
        (Some(403), Reason::Forbidden),
        (Some(404), Reason::ModelNotFound),
        (Some(429), Reason::RateLimit),
        (Some(429), Reason::QuotaExhausted),
        (Some(500), Reason::ServerError),
        (Some(503), Reason::Overloaded),
        (None, Reason::Unreachable),
        (None, Reason::StreamCut),
        (None, Reason::ContentStall),
    ])
}

fn hints() -> impl Strategy<Value = Option<Hint>> {
    let provenance = prop::sample::select(vec![Provenance::Authoritative, Provenance::Stated]);
    let delay = prop_oneof![0..100_000_u64, Just(u64::MAX), 0..5_000_000_000_u64].prop_map(Millis::new);
    prop::option::weighted(0.3, (delay, provenance).prop_map(|(delay, provenance)| Hint { delay, provenance }))
}

/// Failures of every kind that time heals.
fn passing_failures() -> impl Strategy<Value = Failure> {
    let charge = prop::sample::select(vec![BreakerCharge::None, BreakerCharge::Counts, BreakerCharge::Network]);
    let scope = prop::sample::select(vec![Scope::Usual, Scope::Connection, Scope::Model, Scope::Noted]);
    let cooldown = prop_oneof![
        3 => Just(Cooldown::Ladder),
        1 => (0..100_000_000_u64).prop_map(|millis| Cooldown::From(Millis::new(millis))),
        1 => (0..u64::MAX).prop_map(|millis| Cooldown::Fixed(Millis::new(millis))),
    ];
    (reasons(), charge, scope, hints(), cooldown, any::<bool>()).prop_map(
        |((status, reason), breaker, scope, hint, cooldown, after_output)| Failure {
            breaker,
            scope,
            hint,
            cooldown,
            after_output,
            ..Failure::plain(status, reason, "simulated")
        },
    )
}

fn neutrals() -> impl Strategy<Value = Outcome> {
    let neutral = prop::sample::select(vec![
        Neutral::ClientAborted,
        Neutral::Abandoned,
        Neutral::InvalidRequest,
        Neutral::LocalLimit,
    ]);
    neutral.prop_map(Outcome::Neutral)
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let caller = prop::sample::select(vec![Caller::Direct, Caller::Combo, Caller::Test]);
    let enters =
        (0..6_usize, 0..3_usize, caller).prop_map(|(account, model, caller)| Event::Enters { account, model, caller });
    let outcome = prop_oneof![
        5 => passing_failures().prop_map(Outcome::Failure),
        2 => Just(Outcome::Success(Success::default())),
        1 => neutrals(),
    ];
    let ends = (any::<usize>(), outcome).prop_map(|(attempt, outcome)| Event::Ends { attempt, outcome });
    let passes = prop_oneof![0..10_000_u64, 0..4_000_000_u64].prop_map(|millis| Event::Passes(Millis::new(millis)));
    prop::collection::vec(prop_oneof![4 => enters, 4 => ends, 1 => passes], 0..120)
}

/// Failing cases are printed, not kept in files.
fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn nobody_rests_beyond_the_maximum(events in events()) {
        let mut world = World::new();
        for event in events {
            world.apply(event);
            let snapshot = world.snapshot();
            let latest = world.now + Millis::days(30);
            for account in snapshot.connections.values() {
                prop_assert!(account.cooling_until.is_none_or(|until| until <= latest));
                prop_assert!(account.probe_at.is_none_or(|at| at <= world.now + Millis::hours(6)));
            }
            prop_assert!(snapshot.lockouts.iter().all(|lock| lock.until <= latest));
            for breaker in snapshot.breakers.values() {
                prop_assert!(breaker.retry_after <= Millis::hours(1));
                prop_assert!(breaker.transitions.len() <= 20);
            }
        }
    }

    #[test]
    fn a_permit_is_under_way_until_it_is_settled(events in events()) {
        let mut world = World::new();
        for event in events {
            world.apply(event);
            let snapshot = world.snapshot();
            prop_assert_eq!(snapshot.in_flight as usize, world.permits.len());
            let by_account: u32 = snapshot.connections.values().map(|account| account.in_flight).sum();
            prop_assert_eq!(by_account, snapshot.in_flight);
        }
    }

    #[test]
    fn an_attempt_that_says_nothing_changes_nothing(
        events in events(),
        (account, model) in (0..6_usize, 0..3_usize),
        outcome in neutrals(),
    ) {
        let mut world = World::after(events);
        world.engine.tick(&world.settings, world.now);
        let before = world.health();
        if let Some(permit) = world.enters(account, model, Caller::Direct) {
            let effects = world.engine.settle(permit, &outcome, &world.settings, world.now);
            prop_assert_eq!(effects, Default::default());
        }
        prop_assert_eq!(world.health(), before);
    }

    #[test]
    fn everything_recovers_within_the_longest_timer(events in events()) {
        let mut world = World::after(events);
        while !world.permits.is_empty() {
            world.apply(Event::Ends { attempt: 0, outcome: Outcome::Neutral(Neutral::Abandoned) });
        }
        world.apply(Event::Passes(Millis::days(30)));
        for account in 0..6 {
            for model in 0..3 {
                let permit = world.enters(account, model, Caller::Combo);
                prop_assert!(permit.is_some(), "c{account} m{model}");
                world.permits.extend(permit);
                world.apply(Event::Ends { attempt: 0, outcome: Outcome::Success(Success::default()) });
            }
        }
        world.apply(Event::Passes(Millis::hours(1)));
        world.engine.tick(&world.settings, world.now);
        let snapshot = world.snapshot();
        prop_assert!(snapshot.lockouts.is_empty() && snapshot.provider_cooldowns.is_empty());
        for account in snapshot.connections.values() {
            prop_assert_eq!((account.backoff_level, account.last_error.is_none()), (0, true));
        }
    }

    #[test]
    fn a_terminal_state_is_ended_by_nothing_that_happens(
        permanence in prop::sample::select(vec![Permanence::Banned, Permanence::CreditsExhausted]),
        events in events(),
    ) {
        let mut world = World::new();
        let failure = Failure { permanence, ..Failure::plain(Some(403), Reason::Forbidden, "closed") };
        world.apply(Event::Enters { account: 0, model: 0, caller: Caller::Direct });
        world.apply(Event::Ends { attempt: 0, outcome: Outcome::Failure(failure) });
        for event in events {
            world.apply(event);
            prop_assert!(world.engine.connection(&"c0".into(), &world.settings, world.now).status.is_terminal());
        }
    }

    // --- arithmetic ---

    #[test]
    fn a_rest_is_bounded_and_grows_with_its_level(
        base in any::<u64>(),
        steps in any::<u32>(),
        ceiling in any::<u64>(),
        level in any::<u32>(),
    ) {
        // SE-08
        let rest = Rest::Ladder { base: Millis::new(base), steps, ceiling: Millis::new(ceiling) };
        prop_assert!(rest.length(level) <= Millis::new(ceiling));
        prop_assert!(rest.length(level) <= rest.length(level.saturating_add(1)));
        prop_assert_eq!(rest.length(steps), rest.length(u32::MAX));
        prop_assert_eq!(rest.length(0), Millis::new(base.min(ceiling)));
    }
}

// --- the breaker ---

#[derive(Clone, Copy, Debug)]
enum Fact {
    Enters,
    Succeeds(usize),
    Fails(usize),
    Neutral(usize),
    Passes(u64),
    Resets,
}

/// The breaker as one would explain it: epochs that begin when traffic stops, when it is probed and when it flows again.
#[derive(Debug, Default)]
struct Model {
    failures: u32,
    cycles: u32,
    degraded: bool,
    stopped_at: Option<Timestamp>,
    half_open: bool,
    probe: Option<(usize, Timestamp)>,
    epoch: u32,
}

impl Model {
    fn settle_time(&mut self, config: &Config, now: Timestamp) {
        let doublings = self.cycles.saturating_sub(config.backoff_escalation_count);
        let factor = (0..doublings).fold(1_u64, |factor, _| factor * 2).min(u64::from(config.max_backoff_multiplier));
        let wait = Millis::new(config.reset_timeout.as_millis() * factor);
        if self.stopped_at.is_some_and(|at| now >= at + wait) {
            self.stopped_at = None;
            self.half_open = true;
            self.epoch += 1;
        }
    }

    fn enters(&mut self, config: &Config, id: usize, now: Timestamp) -> bool {
        self.settle_time(config, now);
        let lease = config.reset_timeout.max(START_TIMEOUT);
        let probing = self.probe.is_some_and(|(_, since)| now < since + lease);
        if self.stopped_at.is_some() || (self.half_open && probing) {
            return false;
        }
        if self.half_open {
            self.probe = Some((id, now));
        }
        true
    }

    fn ends(&mut self, config: &Config, (id, epoch): (usize, u32), good: Option<bool>, now: Timestamp) {
        let probing = self.probe.is_some_and(|(probe, _)| probe == id);
        if epoch != self.epoch || (self.half_open && !probing) {
            return;
        }
        match (good, self.half_open) {
            (None, _) => self.probe = None,
            (Some(true), true) => *self = Model { epoch: self.epoch + 1, ..Model::default() },
            (Some(false), true) => {
                let (failures, cycles, epoch) = (self.failures + 1, self.cycles + 1, self.epoch + 1);
                *self = Model { failures, cycles, epoch, stopped_at: Some(now), ..Model::default() };
            }
            (Some(true), false) => {
                self.failures = self.failures.saturating_sub(1);
                self.degraded &= self.failures > config.degradation_threshold;
            }
            (Some(false), false) => {
                self.failures += 1;
                self.degraded |= config.failure_threshold > 1 && self.failures >= config.degradation_threshold;
                if self.failures >= config.failure_threshold {
                    self.degraded = false;
                    self.stopped_at = Some(now);
                    self.epoch += 1;
                }
            }
        }
    }

    fn state(&self) -> &'static str {
        match (self.stopped_at, self.half_open, self.degraded) {
            (Some(_), _, _) => "OPEN",
            (None, true, _) => "HALF_OPEN",
            (None, false, true) => "DEGRADED",
            (None, false, false) => "CLOSED",
        }
    }
}

fn facts() -> impl Strategy<Value = Vec<Fact>> {
    let passes = prop_oneof![0..3_000_u64, Just(1_000), Just(600_000), 0..700_000_u64];
    prop::collection::vec(
        prop_oneof![
            8 => Just(Fact::Enters),
            4 => any::<usize>().prop_map(Fact::Fails),
            2 => any::<usize>().prop_map(Fact::Succeeds),
            1 => any::<usize>().prop_map(Fact::Neutral),
            3 => passes.prop_map(Fact::Passes),
            1 => prop::bool::weighted(0.1).prop_map(|reset| if reset { Fact::Resets } else { Fact::Enters }),
        ],
        0..200,
    )
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_breaker_is_its_model(
        facts in facts(),
        failure_threshold in 1..6_u32,
        below in 1..5_u32,
        max_backoff_multiplier in 1..6_u32,
        backoff_escalation_count in 0..3_u32,
    ) {
        // SE-09
        let config = Config {
            failure_threshold,
            degradation_threshold: failure_threshold.saturating_sub(below).max(1),
            reset_timeout: Millis::seconds(1),
            max_backoff_multiplier,
            backoff_escalation_count,
        };
        let terms = Terms { config: &config, obeys_kinds: false };
        let (mut breaker, mut model, mut now) = (CircuitBreaker::default(), Model::default(), START);
        let mut attempts: Vec<(Ticket, (usize, u32))> = Vec::new();
        for (id, fact) in facts.into_iter().enumerate() {
            let chosen = |attempt: usize| attempt % attempts.len().max(1);
            match fact {
                Fact::Enters => {
                    let admitted = breaker.admit(terms, now).ok();
                    prop_assert_eq!(admitted.is_some(), model.enters(&config, id, now));
                    attempts.extend(admitted.map(|(ticket, _)| (ticket, (id, model.epoch))));
                }
                Fact::Passes(millis) => now = now + Millis::new(millis),
                Fact::Resets => {
                    breaker.reset(now);
                    model = Model { epoch: model.epoch + 1, ..Model::default() };
                }
                Fact::Succeeds(_) | Fact::Fails(_) | Fact::Neutral(_) if attempts.is_empty() => {}
                Fact::Succeeds(attempt) => {
                    let (ticket, attempt) = attempts.swap_remove(chosen(attempt));
                    breaker.on_success(terms, ticket, now);
                    model.ends(&config, attempt, Some(true), now);
                }
                Fact::Fails(attempt) => {
                    let (ticket, attempt) = attempts.swap_remove(chosen(attempt));
                    breaker.on_failure(terms, ticket, FailureKind::Transient, now);
                    model.ends(&config, attempt, Some(false), now);
                }
                Fact::Neutral(attempt) => {
                    let (ticket, attempt) = attempts.swap_remove(chosen(attempt));
                    breaker.on_neutral(ticket);
                    model.ends(&config, attempt, None, now);
                }
            }
            let state = breaker.state(terms, now);
            if !matches!(state, State::HalfOpen) || model.half_open {
                prop_assert_eq!((state.as_str(), breaker.failures()), (model.state(), model.failures));
            } else {
                prop_assert_eq!(model.state(), "OPEN", "nobody has asked since the break ended");
            }
        }
    }
}
