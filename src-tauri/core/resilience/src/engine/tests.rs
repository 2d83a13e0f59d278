//! The Engine's sentences: what several mechanisms together do. `World` is an Engine, its settings and a clock.

use domain::health::TestStatus;
use domain::{
    BreakerCharge, Cooldown, Failure, Hint, Millis, Nature, Neutral, Permanence, Provenance, ProviderClass, Reason,
    Scope, Success,
};

use super::*;
use crate::circuit_breaker::State;
use crate::picture::ConnectionPicture;
use crate::stored::{Stored, StoredBreaker, StoredConnection, StoredEgress, StoredLockout};

const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);

struct World {
    engine: Engine,
    settings: Settings,
    now: Timestamp,
    nature: Nature,
    caller: Caller,
    store: BTreeMap<String, Row>,
}

impl World {
    fn new() -> World {
        World {
            engine: Engine::default(),
            settings: Settings::default(),
            now: START,
            nature: Nature::default(),
            caller: Caller::Direct,
            store: BTreeMap::new(),
        }
    }

    fn scoped() -> World {
        World { nature: Nature { per_model_quota: true, ..Nature::default() }, ..World::new() }
    }

    fn egress() -> World {
        let egress_bucket = Some("opencode".to_owned());
        let mut world =
            World { nature: Nature { egress_bucket, per_model_quota: true, ..Nature::default() }, ..World::new() };
        for (connection, ip) in [("o1", "1.1.1.1"), ("o2", "1.1.1.1"), ("o3", "2.2.2.2")] {
            world.succeeds(connection, "m1");
            world.engine.note_egress(&connection.into(), ip, world.now);
        }
        world
    }

    fn candidate(&self, connection: &str, model: &str) -> Candidate {
        Candidate {
            provider: "ak".into(),
            connection: connection.into(),
            model: model.to_owned(),
            priority: 1,
            enabled: true,
            nature: self.nature.clone(),
        }
    }

    fn ask(&self, connection: &str, model: &str) -> Availability {
        let candidate = self.candidate(connection, model);
        let ask = Admission { candidate: &candidate, max_concurrent: None, caller: self.caller };
        self.engine.availability(&ask, &self.settings, self.now)
    }

    /// The mechanism that keeps m1 on c1 away, and for how long.
    fn excluded(&self, connection: &str, model: &str) -> Option<(Mechanism, Option<Millis>)> {
        match self.ask(connection, model) {
            Availability::Available => None,
            Availability::Excluded(exclusion) => {
                Some((exclusion.mechanism, exclusion.until.map(|until| until.since(self.now))))
            }
        }
    }

    fn enters(&mut self, connection: &str, model: &str) -> Option<Permit> {
        let candidate = self.candidate(connection, model);
        let admission = Admission { candidate: &candidate, max_concurrent: None, caller: self.caller };
        match self.engine.admit(&admission, &self.settings, self.now) {
            Admitted::Permit(permit) => Some(permit),
            Admitted::Refused(_) => None,
        }
    }

    fn ends(&mut self, permit: Permit, outcome: &Outcome) -> Vec<Event> {
        let effects = self.engine.settle(permit, outcome, &self.settings, self.now);
        self.stores(effects)
    }

    fn stores(&mut self, effects: Effects) -> Vec<Event> {
        for row in effects.rows {
            match row {
                Row::Breaker(ref stored) => self.store.insert(format!("breaker {}", stored.provider), row),
                Row::Connection(ref stored) => self.store.insert(format!("connection {}", stored.connection), row),
                Row::Lockout(ref stored) => self.store.insert(format!("lock {}", stored.key), row),
                Row::BreakerGone(provider) => self.store.remove(&format!("breaker {provider}")),
                Row::LockoutGone(key) => self.store.remove(&format!("lock {key}")),
            };
        }
        effects.events
    }

    fn fails(&mut self, connection: &str, model: &str, failure: &Failure) -> Vec<Event> {
        let permit = self.enters(connection, model).expect("it is available");
        self.ends(permit, &Outcome::Failure(failure.clone()))
    }

    fn succeeds(&mut self, connection: &str, model: &str) -> Vec<Event> {
        let permit = self.enters(connection, model).expect("it is available");
        self.ends(permit, &Outcome::Success(Success::default()))
    }

    fn passes(&mut self, length: Millis) {
        self.now = self.now + length;
    }

    fn resets(&mut self, scope: &ResetScope) -> Cleared {
        let mut cleared = self.engine.reset(scope, &self.settings, self.now);
        self.stores(std::mem::take(&mut cleared.effects));
        cleared
    }

    fn account(&self, connection: &str) -> ConnectionPicture {
        self.engine.connection(&connection.into(), &self.settings, self.now)
    }

    fn status(&self, connection: &str) -> TestStatus {
        self.account(connection).status
    }

    fn breaker(&self) -> (State, u32) {
        let snapshot = self.engine.snapshot(&self.settings, self.now);
        snapshot.breakers.get(&"ak".into()).map_or((State::Closed, 0), |picture| (picture.state, picture.failure_count))
    }

    fn locks(&self) -> Vec<(String, Millis, u32)> {
        let snapshot = self.engine.snapshot(&self.settings, self.now);
        let view = |lock: &crate::picture::LockoutPicture| {
            (lock.model.clone(), lock.until.since(self.now), lock.failure_count)
        };
        snapshot.lockouts.iter().map(view).collect()
    }

    fn restarts(&mut self) {
        let (mut breakers, mut connections, mut lockouts): (Vec<StoredBreaker>, Vec<StoredConnection>, Vec<_>) =
            Default::default();
        for row in self.store.values().cloned() {
            match row {
                Row::Breaker(row) => breakers.push(row),
                Row::Connection(row) => connections.push(row),
                Row::Lockout(row) => lockouts.push(row),
                Row::BreakerGone(_) | Row::LockoutGone(_) => {}
            }
        }
        let lockouts: Vec<StoredLockout> = lockouts;
        let stored = Stored { breakers, connections, lockouts, egress: Vec::new() };
        self.engine = Engine::restore(stored, &self.settings, self.now);
    }
}

fn failure(status: u16, reason: Reason) -> Failure {
    Failure::plain(Some(status), reason, "upstream said no")
}

fn down() -> Failure {
    Failure { breaker: BreakerCharge::Counts, ..failure(503, Reason::ServerError) }
}

fn limited() -> Failure {
    failure(429, Reason::RateLimit)
}

fn hinted(length: Millis) -> Failure {
    Failure { hint: Some(Hint { delay: length, provenance: Provenance::Authoritative }), ..limited() }
}

fn lasting(permanence: Permanence) -> Failure {
    Failure { permanence, ..failure(401, Reason::Auth) }
}

fn seconds(seconds: u64) -> Millis {
    Millis::seconds(seconds)
}

#[test]
fn a_switched_off_connection_and_a_full_one_are_excluded() {
    let world = World::new();
    let off = Candidate { enabled: false, ..world.candidate("c1", "m1") };
    let ask = Admission { candidate: &off, max_concurrent: None, caller: Caller::Direct };
    let availability = world.engine.availability(&ask, &world.settings, START);
    assert!(matches!(availability, Availability::Excluded(e) if e.mechanism == Mechanism::SwitchedOff));

    let mut world = World::new();
    let permit = world.enters("c1", "m1").expect("it is available");
    let candidate = world.candidate("c1", "m1");
    let ask = Admission { candidate: &candidate, max_concurrent: Some(1), caller: Caller::Direct };
    assert!(matches!(world.engine.admit(&ask, &world.settings, START), Admitted::Refused(_)));
    world.ends(permit, &Outcome::Neutral(Neutral::ClientAborted));
    assert!(matches!(world.engine.admit(&ask, &world.settings, START), Admitted::Permit(_)));
}

#[test]
fn a_failing_account_rests_and_a_success_wipes_its_record() {
    // CC-01, CC-05, CC-07
    let mut world = World::new();
    let events = world.fails("c1", "m1", &failure(500, Reason::ServerError));
    assert!(matches!(events.as_slice(), [Event::ConnectionFailed { .. }, Event::ConnectionCooling { .. }]));
    assert_eq!(world.excluded("c1", "m1"), Some((Mechanism::ConnectionCooldown, Some(seconds(3)))));
    let account = world.account("c1");
    assert_eq!((account.status, account.backoff_level), (TestStatus::Unavailable, 1));
    assert_eq!(world.excluded("c2", "m1"), None); // CC-13
    let Availability::Excluded(exclusion) = world.ask("c1", "m1") else { panic!("it rests") };
    assert_eq!(exclusion.reason, "unavailable");
    assert_eq!(exclusion.cause.and_then(|cause| cause.status), Some(500));

    world.passes(seconds(3));
    assert_eq!((world.excluded("c1", "m1"), world.status("c1")), (None, TestStatus::Active));
    let events = world.succeeds("c1", "m1");
    assert!(matches!(events.as_slice(), [Event::ConnectionRecovered { .. }]));
    let account = world.account("c1");
    assert_eq!((account.last_error, account.backoff_level), (None, 0));
}

#[test]
fn fifty_failures_at_once_cost_one_rest_and_one_step() {
    // CC-10, CC-11, CC-12
    let mut world = World::new();
    let permits: Vec<Permit> = (0..50).filter_map(|_| world.enters("c1", "m1")).collect();
    let mut events = Vec::new();
    for permit in permits {
        events.extend(world.ends(permit, &Outcome::Failure(failure(500, Reason::ServerError))));
        world.passes(Millis::new(10));
    }
    assert_eq!(events.len(), 2);
    let account = world.account("c1");
    assert_eq!((account.cooling_until, account.backoff_level), (Some(START + seconds(3)), 1));
}

#[test]
fn a_slow_success_does_not_wipe_a_newer_failure() {
    // CC-14
    let mut world = World::new();
    let slow = world.enters("c1", "m1").expect("it is available");
    world.fails("c1", "m1", &limited());
    assert_eq!(world.ends(slow, &Outcome::Success(Success::default())), Vec::new());
    assert_eq!(world.excluded("c1", "m1"), Some((Mechanism::ConnectionCooldown, Some(seconds(3)))));
}

#[test]
fn what_only_concerns_the_request_or_nobody_leaves_no_trace() {
    // CC-18, CB-27, CB-28, CB-29, XC-06
    let nobody = Failure { scope: Scope::Nobody, ..failure(400, Reason::ContextOverflow) };
    for outcome in [
        Outcome::Neutral(Neutral::ClientAborted),
        Outcome::Neutral(Neutral::Abandoned),
        Outcome::Neutral(Neutral::InvalidRequest),
        Outcome::Neutral(Neutral::LocalLimit),
        Outcome::Failure(nobody),
    ] {
        let mut world = World::new();
        for _ in 0..100 {
            let permit = world.enters("c1", "m1").expect("it is available");
            assert_eq!(world.ends(permit, &outcome), Vec::new());
        }
        let account = world.account("c1");
        assert_eq!((account.status, account.last_error, account.in_flight), (TestStatus::Unknown, None, 0));
        assert_eq!(world.breaker(), (State::Closed, 0));
        assert!(world.store.is_empty());
    }
}

#[test]
fn a_test_is_let_through_and_changes_nothing() {
    // CB-40, CC-19
    let mut world = World::new();
    for connection in ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "c12"] {
        world.fails(connection, "m1", &down());
    }
    assert!(matches!(world.breaker(), (State::Open { .. }, 12)));
    let before = world.engine.clone();
    world.caller = Caller::Test;
    for outcome in [Outcome::Success(Success::default()), Outcome::Failure(lasting(Permanence::Banned))] {
        let permit = world.enters("c1", "m1").expect("a test is never refused");
        assert_eq!(world.ends(permit, &outcome), Vec::new());
        assert_eq!(world.account("c1").status, TestStatus::Unavailable);
        assert_eq!(world.engine.breakers, before.breakers);
    }
}

#[test]
fn a_service_that_is_down_is_spared_and_comes_back_by_one_probe() {
    // CB-02, CB-12, CB-14, CB-19, XC-02
    let mut world = World::new();
    for n in 0..12 {
        world.fails(&format!("c{n}"), "m1", &down());
    }
    assert_eq!(world.excluded("fresh", "m1"), Some((Mechanism::CircuitBreaker, Some(seconds(30)))));
    world.passes(seconds(30));
    assert_eq!(world.breaker(), (State::HalfOpen, 12));
    let probe = world.enters("fresh", "m1").expect("one probe");
    assert!((0..19).all(|_| world.enters("other", "m1").is_none()));
    let limited = world.ends(probe, &Outcome::Failure(limited()));
    assert!(
        limited
            .iter()
            .any(|event| matches!(event, Event::BreakerChanged { transition, .. } if transition.to == "HALF_OPEN"))
    );
    assert_eq!(world.breaker(), (State::HalfOpen, 12), "a limit says nothing about the service");
    world.succeeds("other", "m1");
    assert_eq!(world.breaker(), (State::Closed, 0));
}

#[test]
fn one_account_s_trouble_never_reaches_the_breaker() {
    // CB-06, XC-01, XC-03
    for (failure, status) in [
        (lasting(Permanence::Unauthorized), TestStatus::Expired),
        (failure(403, Reason::Forbidden), TestStatus::Unavailable),
        (limited(), TestStatus::Unavailable),
        (failure(404, Reason::ModelNotFound), TestStatus::Active),
    ] {
        let mut world = World::new();
        for n in 0..20 {
            world.fails(&format!("c{n}"), "m1", &failure);
        }
        assert_eq!((world.breaker(), world.status("c1")), ((State::Closed, 0), status), "{failure:?}");
    }
}

#[test]
fn terminal_states_outlast_traffic_and_time() {
    // TS-02, TS-03, TS-04, XC-09
    let mut world = World::new();
    let late: Vec<Permit> = (0..10).filter_map(|_| world.enters("c1", "m1")).collect();
    world.fails("c1", "m1", &limited());
    let ban = Failure { message: "account closed".to_owned(), ..lasting(Permanence::Banned) };
    let mut late = late.into_iter();
    let permit = late.next().expect("ten are under way");
    let events = world.ends(permit, &Outcome::Failure(ban));
    assert!(events.iter().any(|event| matches!(event, Event::ConnectionTerminal { status: TestStatus::Banned, .. })));
    for (n, permit) in late.enumerate() {
        let success = Outcome::Success(Success::default());
        let outcome = if n % 2 == 0 { Outcome::Failure(down()) } else { success };
        world.ends(permit, &outcome);
    }
    world.passes(Millis::days(400));
    assert_eq!(world.excluded("c1", "m1"), Some((Mechanism::TerminalState, None)));
    assert_eq!(world.account("c1").last_error.map(|error| error.message), Some("account closed".to_owned()));
    world.restarts(); // TS-23
    assert_eq!(world.excluded("c1", "m1"), Some((Mechanism::TerminalState, None)));
    let cleared = world.resets(&ResetScope::Cooldowns(vec!["c1".into(), "unknown".into()])); // TS-21
    assert_eq!((cleared.skipped_terminal, cleared.unchanged, cleared.connections), (1, 1, 0));
    let cleared = world.resets(&ResetScope::Connection("c1".into())); // TS-09, TS-10
    assert_eq!((cleared.connections, world.status("c1")), (1, TestStatus::Active));
    assert_eq!(world.excluded("c1", "m1"), None);
}

#[test]
fn what_left_before_the_owner_acted_is_not_held_against_the_account() {
    let mut world = World::new();
    let old = world.enters("c1", "m1").expect("it is available");
    world.resets(&ResetScope::Connection("c1".into()));
    world.ends(old, &Outcome::Failure(lasting(Permanence::Unauthorized)));
    assert_eq!(world.status("c1"), TestStatus::Active);
}

#[test]
fn three_refusals_in_a_row_are_a_ban_also_over_a_restart() {
    // TS-12, TS-16
    let refusal = Failure { permanence: Permanence::RequestRejected, ..failure(403, Reason::Forbidden) };
    let mut world = World::new();
    world.fails("c1", "m1", &refusal);
    assert_eq!(world.excluded("c1", "m1"), Some((Mechanism::ConnectionCooldown, Some(Millis::minutes(5)))));
    world.passes(Millis::minutes(10));
    world.restarts();
    world.fails("c1", "m1", &refusal);
    assert_eq!(world.excluded("c1", "m1"), Some((Mechanism::ConnectionCooldown, Some(Millis::minutes(15)))));
    world.passes(Millis::minutes(20));
    world.fails("c1", "m1", &refusal);
    assert_eq!(world.status("c1"), TestStatus::Banned);
}

#[test]
fn a_sign_in_is_retried_before_it_expires() {
    // TS-17, TS-18
    let mut world = World { nature: Nature { class: ProviderClass::Oauth, ..Nature::default() }, ..World::new() };
    let rejected = lasting(Permanence::Unauthorized);
    for minutes in [5, 10, 20] {
        world.fails("c1", "m1", &rejected);
        let rest = (Mechanism::ConnectionCooldown, Some(Millis::minutes(minutes)));
        assert_eq!(world.excluded("c1", "m1"), Some(rest));
        world.passes(Millis::minutes(minutes));
        world.restarts();
    }
    let mut healed =
        World { engine: world.engine.clone(), store: BTreeMap::new(), nature: world.nature.clone(), ..World::new() };
    healed.now = world.now;
    healed.succeeds("c1", "m1");
    assert_eq!((healed.status("c1"), healed.account("c1").expired_retry_count), (TestStatus::Active, 0));
    world.fails("c1", "m1", &rejected);
    assert_eq!(world.status("c1"), TestStatus::Expired);
}

#[test]
fn where_quotas_are_per_model_a_limit_locks_the_model_only() {
    // ML-26, ML-27, ML-25, CC-28
    let mut world = World::scoped();
    for length in [3, 6, 12] {
        let events = world.fails("c1", "m1", &limited());
        assert!(events.iter().any(|event| matches!(event, Event::ModelLocked { .. })));
        assert_eq!(world.excluded("c1", "m1"), Some((Mechanism::ModelLockout, Some(seconds(length)))));
        assert_eq!((world.excluded("c1", "m2"), world.account("c1").cooling_until), (None, None));
        world.passes(seconds(length));
    }
    world.fails("c1", "m1", &hinted(seconds(1)));
    assert_eq!(world.locks(), [("m1".to_owned(), seconds(1), 4)]);
    world.passes(seconds(1));
    world.succeeds("c1", "m1");
    world.fails("c1", "m1", &limited());
    assert_eq!(world.locks(), [("m1".to_owned(), seconds(3), 1)]);
    // ML-28
    let mut world = World::scoped();
    world.fails("c1", "m1", &failure(500, Reason::ServerError));
    assert_eq!((world.excluded("c1", "m1"), world.account("c1").last_error.is_some()), (None, true));
}

#[test]
fn in_a_combo_both_rules_write_one_lock() {
    // ML-02, ML-30, CC-33, CC-35
    let mut world = World { caller: Caller::Combo, ..World::scoped() };
    world.settings.model_lockout.enabled = true;
    world.fails("c1", "m1", &limited());
    assert_eq!(world.locks(), [("m1".to_owned(), seconds(120), 1)]);
    assert_eq!(world.account("c1").backoff_level, 0);

    for (enabled, mechanism) in [(false, Mechanism::ConnectionCooldown), (true, Mechanism::ModelLockout)] {
        let mut world = World { caller: Caller::Combo, ..World::new() };
        world.settings.model_lockout.enabled = enabled;
        world.fails("c1", "m1", &down());
        assert_eq!(world.excluded("c1", "m1").map(|(mechanism, _)| mechanism), Some(mechanism));
    }
}

#[test]
fn no_lock_is_written_while_the_provider_is_stopped() {
    // ML-17
    let mut world = World::scoped();
    let late = world.enters("late", "m1").expect("it is available");
    for n in 0..12 {
        world.fails(&format!("c{n}"), "m1", &down());
    }
    let before = world.locks().len();
    world.ends(late, &Outcome::Failure(limited()));
    assert_eq!((before, world.locks().len()), (12, 12));
}

#[test]
fn broken_answers_lock_at_the_third_in_a_row() {
    // ST-27
    let mut world = World::scoped();
    let broken = Failure { after_output: true, ..failure(502, Reason::StreamCut) };
    for finished in [true, false] {
        for _ in 0..2 {
            world.fails("c1", "m1", &broken);
            assert_eq!(world.excluded("c1", "m1"), None);
        }
        if finished {
            world.succeeds("c1", "m1");
        }
    }
    world.fails("c1", "m1", &broken);
    assert_eq!(world.excluded("c1", "m1").map(|(mechanism, _)| mechanism), Some(Mechanism::ModelLockout));
}

#[test]
fn a_rest_of_days_is_probed_and_its_real_end_is_told() {
    // CC-31
    let mut world = World::new();
    world.fails("c1", "m1", &hinted(Millis::days(5)));
    for hours in [6, 12] {
        world.now = START + Millis::hours(hours);
        let probes: Vec<Permit> = (0..20).filter_map(|_| world.enters("c1", "m1")).collect();
        assert_eq!(probes.len(), 1);
        let rest = Millis::days(5).as_millis() - Millis::hours(hours).as_millis();
        assert_eq!(world.excluded("c1", "m1"), Some((Mechanism::ConnectionCooldown, Some(Millis::new(rest)))));
        for probe in probes {
            world.ends(probe, &Outcome::Failure(hinted(Millis::days(9))));
        }
        assert_eq!(world.account("c1").backoff_level, 0);
        assert_eq!(world.account("c1").probe_at, Some(world.now + Millis::hours(6)));
        world.restarts();
    }
    world.now = START + Millis::hours(18);
    world.succeeds("c1", "m1");
    assert_eq!((world.excluded("c1", "m1"), world.status("c1")), (None, TestStatus::Active));
}

#[test]
fn accounts_behind_one_dry_address_rest_together() {
    // EG-01, EG-02, EG-11, EG-15
    let mut world = World::egress();
    world.fails("o1", "m1", &failure(503, Reason::ServerError));
    assert_eq!(world.excluded("o2", "m1"), None);
    world.passes(Millis::minutes(1));
    let hour = Failure { cooldown: Cooldown::Fixed(Millis::hours(1)), ..failure(429, Reason::QuotaExhausted) };
    world.fails("o1", "m1", &hour);
    let rest = Some((Mechanism::ConnectionCooldown, Some(Millis::hours(1))));
    for (connection, expected) in [("o1", rest), ("o2", rest), ("o3", None), ("o4", None)] {
        assert_eq!(world.excluded(connection, "m2"), expected, "{connection}");
    }
    assert_eq!(world.locks().len(), 0);
    let message = world.account("o2").last_error.map(|error| error.message);
    assert_eq!(message, Some("Shared egress IP quota exhausted (ak)".to_owned()));
}

#[test]
fn an_address_never_touches_terminal_or_never_resting_accounts() {
    // EG-07, EG-08, EG-13, TS-22
    let mut world = World::egress();
    world.fails("o2", "m1", &lasting(Permanence::CreditsExhausted));
    world.nature.disable_cooling = true;
    world.succeeds("o4", "m1");
    world.engine.note_egress(&"o4".into(), "1.1.1.1", world.now);
    world.nature.disable_cooling = false;
    world.fails("o1", "m1", &limited());
    assert_eq!(world.status("o1"), TestStatus::Unavailable);
    assert_eq!((world.status("o2"), world.status("o4")), (TestStatus::CreditsExhausted, TestStatus::Active));
}

#[test]
fn the_provider_cooldown_is_the_combos_own() {
    // GP-09, GP-10, GP-13, GP-14
    let mut world = World { caller: Caller::Combo, ..World::new() };
    world.settings.provider_cooldown.enabled = true;
    world.nature.class = ProviderClass::Local;
    for connection in ["c1", "c2"] {
        world.fails(connection, "m1", &down());
    }
    world.resets(&ResetScope::Breakers);
    assert_eq!(world.excluded("c3", "m1"), Some((Mechanism::ProviderCooldown, Some(Millis::minutes(1)))));
    assert_eq!((world.status("c3"), world.breaker()), (TestStatus::Unknown, (State::Closed, 0)));
    world.caller = Caller::Direct;
    assert_eq!(world.excluded("c3", "m1"), None);
    world.caller = Caller::Combo;
    world.restarts();
    assert_eq!(world.excluded("c3", "m1"), None);
}

#[test]
fn each_mechanism_is_cleared_by_its_own_scope() {
    // XC-04, XC-05
    let mut world = World::scoped();
    for n in 0..12 {
        world.fails(&format!("c{n}"), "m1", &down());
    }
    world.nature.per_model_quota = false;
    world.passes(seconds(1));
    let breakers = world.resets(&ResetScope::Breakers);
    assert_eq!((breakers.breakers, breakers.lockouts, breakers.connections), (1, 0, 0));
    world.fails("c1", "m2", &limited());
    let model = ResetScope::Model { provider: "ak".into(), connection: Some("c1".into()), model: "m1".to_owned() };
    assert_eq!((world.resets(&model).lockouts, world.resets(&model).lockouts), (1, 0));
    assert_eq!(world.excluded("c1", "m1").map(|(mechanism, _)| mechanism), Some(Mechanism::ConnectionCooldown));
    assert_eq!(world.resets(&ResetScope::Cooldowns(vec!["c1".into(), "c2".into()])).connections, 2);
    assert_eq!(world.excluded("c2", "m1"), None);
    assert_eq!(world.resets(&ResetScope::Models).lockouts, 10);
    assert_eq!(world.locks(), []);
    assert_eq!(world.resets(&ResetScope::Breaker("nobody".into())).breakers, 0);
}

#[test]
fn a_forgotten_account_leaves_nothing_and_its_requests_end_without_effect() {
    // CC-30
    let mut world = World::scoped();
    let late = world.enters("c1", "m1").expect("it is available");
    world.fails("c1", "m1", &limited());
    let effects = world.engine.forget(&"c1".into());
    assert!(matches!(effects.rows.as_slice(), [Row::LockoutGone(_)]));
    assert_eq!(world.account("c1"), ConnectionPicture::default());
    assert_eq!(world.ends(late, &Outcome::Failure(lasting(Permanence::Banned))), Vec::new());
    assert_eq!(world.excluded("c1", "m1"), None);
    assert!(!world.engine.connections.contains_key(&"c1".into()));
}

#[test]
fn the_persistent_parts_outlive_a_restart() {
    // RP-01, RP-04, RP-05, ML-18
    let mut world = World::scoped();
    for n in 0..12 {
        world.fails(&format!("c{n}"), "m1", &Failure { hint: None, ..down() });
    }
    world.nature.per_model_quota = false;
    let before = world.engine.snapshot(&world.settings, world.now);
    world.restarts();
    assert_eq!(world.engine.snapshot(&world.settings, world.now), before);
    world.settings.model_lockout.persist = false;
    world.restarts();
    assert_eq!(world.locks(), []);
    world.passes(seconds(40));
    assert_eq!(world.breaker().0, State::HalfOpen);
}

#[test]
fn a_tick_notes_what_time_has_done() {
    // CB-09
    let mut world = World::new();
    for n in 0..12 {
        world.fails(&format!("c{n}"), "m1", &down());
    }
    world.passes(Millis::minutes(10));
    let effects = world.engine.tick(&world.settings, world.now);
    assert!(matches!(effects.events.as_slice(), [Event::BreakerChanged { .. }]));
    let rested =
        effects.rows.iter().filter(|row| matches!(row, Row::Connection(row) if row.rate_limited_until.is_none()));
    assert_eq!(rested.count(), 12);
    assert_eq!(world.engine.tick(&world.settings, world.now), Effects::default());
}

#[test]
fn sightings_outlive_a_restart() {
    let mut world = World::egress();
    world.restarts();
    let rows: Vec<StoredConnection> = world
        .store
        .values()
        .filter_map(|row| if let Row::Connection(row) = row { Some(row.clone()) } else { None })
        .collect();
    let seen =
        |connection: &str, ip: &str| StoredEgress { connection: connection.into(), ip: ip.to_owned(), at: START };
    let egress = vec![seen("o1", "1.1.1.1"), seen("o2", "1.1.1.1"), seen("unknown", "1.1.1.1")];
    world.engine = Engine::restore(Stored { connections: rows, egress, ..Stored::default() }, &world.settings, START);
    world.fails("o1", "m1", &limited());
    assert_eq!(world.status("o2"), TestStatus::Unavailable);
}
