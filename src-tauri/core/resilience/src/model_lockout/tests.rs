//! The lock's sentences, one test each.

use domain::Reason;
use domain::section::Section;

use super::*;
use crate::failure::layers::Rest;

const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);
/// A provider's breaker waits so long, and failures that soon after a lock continue its ladder.
const WINDOW: Millis = Millis::seconds(30);
const CEILING: Millis = Millis::minutes(30);

struct Case {
    lockouts: ModelLockouts,
    nature: Nature,
    cause: LastError,
}

fn ladder(base: u64, steps: u32) -> Rest {
    Rest::Ladder { base: Millis::seconds(base), steps, ceiling: CEILING }
}

fn announced(length: Millis) -> Rest {
    Rest::Exactly { length, announced: true }
}

fn lock(scope: LockScope, rest: Rest) -> layers::Lock {
    layers::Lock { scope, reason: "rate_limit", rest, rule: None }
}

impl Case {
    fn new() -> Case {
        let cause =
            LastError { message: "slow down".to_owned(), reason: Some(Reason::RateLimit), ..LastError::default() };
        Case { lockouts: ModelLockouts::default(), nature: Nature::default(), cause }
    }

    fn fails_with(&mut self, model: &str, locks: &[layers::Lock], now: Timestamp) -> Option<StoredLockout> {
        let (provider, connection) = ("p".into(), "c1".into());
        let target = Target { provider: &provider, connection: &connection, model, nature: &self.nature };
        self.lockouts.on_failure(target, Request { locks, window: WINDOW, cause: &self.cause }, now)
    }

    fn fails(&mut self, rest: Rest, now: Timestamp) -> StoredLockout {
        self.fails_with("m1", &[lock(LockScope::Model, rest)], now).expect("there is room")
    }

    fn succeeds(&mut self, outright: bool, now: Timestamp) -> usize {
        let (provider, connection) = ("p".into(), "c1".into());
        let target = Target { provider: &provider, connection: &connection, model: "m1", nature: &self.nature };
        self.lockouts.on_success(target, outright, 0, now).0.len()
    }

    fn until_on(&self, connection: &str, model: &str, now: Timestamp) -> Option<Timestamp> {
        let (provider, connection) = ("p".into(), connection.into());
        let target = Target { provider: &provider, connection: &connection, model, nature: &self.nature };
        match self.lockouts.check(target, now) {
            Answer::Locked(locked) => {
                assert_eq!(locked.cause, Some(&self.cause));
                Some(locked.until)
            }
            Answer::Free | Answer::Probe => None,
        }
    }

    fn until(&self, model: &str, now: Timestamp) -> Option<Timestamp> {
        self.until_on("c1", model, now)
    }
}

#[test]
fn a_lock_is_one_model_on_one_account_until_the_exact_instant() {
    // ML-02, ML-10
    let mut case = Case::new();
    case.fails(ladder(120, 10), START);
    let until = START + Millis::minutes(2);
    assert_eq!(case.until("m1", START + Millis::new(119_999)), Some(until));
    assert_eq!(case.until("m1", until), None);
    assert_eq!(case.until("m2", START), None);
    assert_eq!(case.until_on("c2", "m1", START), None);
}

#[test]
fn each_lock_in_a_row_is_twice_as_long() {
    for (rest, expected) in [
        (ladder(120, 10), vec![120, 240, 480, 960, 1800, 1800]), // ML-03
        (ladder(120, 0), vec![120, 120, 120]),
        (ladder(120, 1), vec![120, 240, 240]),          // ML-04
        (ladder(3, 5), vec![3, 6, 12, 24, 48, 96, 96]), // ML-26
        (announced(Millis::seconds(1)), vec![1, 1, 1]), // ML-27
    ] {
        let (mut case, mut now) = (Case::new(), START);
        for (n, seconds) in (1..).zip(expected) {
            let row = case.fails(rest, now);
            assert_eq!((row.until.since(now), row.failure_count), (Millis::seconds(seconds), n), "{rest:?}");
            now = row.until;
        }
    }
}

#[test]
fn the_scope_decides_which_models_are_locked() {
    // ML-06, ML-07, ML-08, ML-09
    for (scope, key, locked) in [
        (LockScope::Family, "p:c1:codex", ["gpt-5", "gpt-5-mini", "codex"].as_slice()),
        (LockScope::Model, "p:c1:gpt-5", &["gpt-5"]),
        (LockScope::Exact, "p:c1:exact:gpt-5", &["gpt-5"]),
    ] {
        let mut case = Case::new();
        case.nature.quota_family = Some("codex".to_owned());
        let row = case.fails_with("gpt-5", &[lock(scope, ladder(120, 10))], START).expect("there is room");
        assert_eq!((row.key.as_str(), row.scope.as_str()), (key, scope.as_str()));
        for model in ["gpt-5", "gpt-5-mini", "codex"] {
            assert_eq!(case.until(model, START).is_some(), locked.contains(&model), "{scope:?} {model}");
        }
        case.nature.quota_family = Some("spark".to_owned());
        assert_eq!(case.until("gpt-5-spark", START), None, "another family");
    }
}

#[test]
fn a_longer_lock_is_never_shortened() {
    // ML-11
    let mut case = Case::new();
    let long = case.fails(announced(CEILING), START);
    let later = case.fails(ladder(120, 10), START + Millis::minutes(1));
    assert_eq!((later.until, later.failure_count), (long.until, 1));
    let longer = case.fails(announced(Millis::hours(1)), START + Millis::minutes(1));
    assert_eq!(longer.until, START + Millis::minutes(61));
    assert_eq!(longer.locked_at, START);
}

#[test]
fn failures_while_the_lock_runs_are_one_episode() {
    // ML-23
    let mut case = Case::new();
    for _ in 0..50 {
        let row = case.fails(ladder(120, 10), START);
        assert_eq!((row.until, row.failure_count), (START + Millis::minutes(2), 1));
    }
}

#[test]
fn two_rules_write_one_lock_the_longer_and_count_once() {
    // ML-30
    let mut case = Case::new();
    let path_b = layers::Lock { reason: "unknown", ..lock(LockScope::Exact, ladder(120, 10)) };
    let locks = [lock(LockScope::Exact, ladder(3, 5)), path_b];
    let row = case.fails_with("m1", &locks, START).expect("there is room");
    assert_eq!((row.until, row.failure_count, row.reason.as_str()), (START + Millis::minutes(2), 1, "unknown"));
}

#[test]
fn good_answers_halve_the_failures_and_the_last_half_is_the_lock() {
    // ML-12
    let (mut case, mut now) = (Case::new(), START);
    for _ in 0..5 {
        now = case.fails(ladder(120, 10), now).until;
    }
    now = now - Millis::new(1);
    assert!(case.until("m1", now).is_some());
    let counts: Vec<_> = (0..3)
        .map(|_| {
            case.succeeds(false, now);
            case.lockouts.active(now).first().map(|(row, _)| row.failure_count)
        })
        .collect();
    assert_eq!(counts, [Some(2), Some(1), None]);
    assert_eq!(case.until("m1", now), None);
    assert_eq!(case.lockouts, ModelLockouts::default());
}

#[test]
fn halved_failures_lower_the_next_lock() {
    // ML-13
    let (mut case, mut now) = (Case::new(), START);
    for _ in 0..4 {
        now = case.fails(ladder(120, 10), now).until;
    }
    case.succeeds(false, now);
    let row = case.fails(ladder(120, 10), now);
    assert_eq!((row.failure_count, row.until), (3, now + Millis::seconds(480)));
}

#[test]
fn a_good_answer_to_a_direct_request_ends_the_lock() {
    // ML-25
    let (mut case, mut now) = (Case::new(), START);
    for _ in 0..4 {
        now = case.fails(ladder(120, 10), now).until;
    }
    assert_eq!(case.succeeds(true, now - Millis::new(1)), 1);
    assert_eq!(case.until("m1", now - Millis::new(1)), None);
}

#[test]
fn a_long_silence_starts_the_ladder_anew() {
    // ML-14
    for (silence, count) in [(WINDOW, 2), (WINDOW + Millis::new(1), 1)] {
        let mut case = Case::new();
        let until = case.fails(ladder(120, 10), START).until;
        assert_eq!(case.fails(ladder(120, 10), until + silence).failure_count, count);
    }
}

#[test]
fn a_lock_of_days_is_probed() {
    // CC-31 for locks
    let mut case = Case::new();
    let until = case.fails(announced(Millis::days(5)), START).until;
    let due = START + Millis::hours(6);
    let (provider, connection, nature) = ("p".into(), "c1".into(), Nature::default());
    let target = Target { provider: &provider, connection: &connection, model: "m1", nature: &nature };
    assert_eq!(case.lockouts.check(target, due), Answer::Probe);
    case.lockouts.reserve(target, 7, due);
    assert_eq!(case.until("m1", due), Some(until));
    let changed = case.lockouts.on_probe_failure(target, 7, due);
    assert_eq!(changed.first().and_then(|row| row.probe_at), Some(due + Millis::hours(6)));
    case.lockouts.reserve(target, 8, due + Millis::hours(6));
    assert_eq!(case.lockouts.on_success(target, false, 8, due + Millis::hours(6)).0.len(), 1);
    assert_eq!(case.lockouts, ModelLockouts::default());
}

#[test]
fn a_thousand_records_are_kept_and_no_running_lock_makes_room() {
    // ML-22
    let mut case = Case::new();
    case.fails_with("ended", &[lock(LockScope::Model, ladder(5, 0))], START);
    let now = START + Millis::seconds(5);
    for n in 0..2_000 {
        let row = case.fails_with(&format!("m{n}"), &[lock(LockScope::Model, ladder(120, 0))], now);
        assert_eq!(row.is_some(), n < MAX_RECORDS, "{n}");
    }
    assert_eq!(case.lockouts.active(now).len(), MAX_RECORDS);
    assert_eq!(case.lockouts.by_end.len(), MAX_RECORDS);
}

#[test]
fn what_is_neither_locked_nor_remembered_is_forgotten() {
    let mut case = Case::new();
    let until = case.fails(ladder(120, 10), START).until;
    assert_eq!(case.lockouts.tick(until + WINDOW), Vec::new());
    let gone = case.lockouts.tick(until + WINDOW + Millis::new(1));
    assert_eq!(gone.iter().map(|row| row.key.as_str()).collect::<Vec<_>>(), ["p:c1:m1"]);
    assert_eq!(case.lockouts, ModelLockouts::default());
}

#[test]
fn running_locks_outlive_a_restart_with_reason_and_count() {
    // ML-18
    let mut case = Case::new();
    case.fails(ladder(120, 10), START);
    let now = START + Millis::minutes(2);
    let running = case.fails(ladder(120, 10), now);
    let over = case.fails_with("m2", &[lock(LockScope::Exact, ladder(5, 10))], START).expect("there is room");
    let restored = ModelLockouts::restore(vec![running.clone(), over], now);
    assert_eq!(restored.active(now), [(running, None)]);
    let far = StoredLockout { until: Timestamp::MAX, ..restored.active(now)[0].0.clone() };
    let clamped = ModelLockouts::restore(vec![far], now);
    assert_eq!(clamped.active(now)[0].0.until, now + Millis::days(30));
}

#[test]
fn an_operator_clears_one_model_or_all() {
    let mut case = Case::new();
    for model in ["m1", "m2"] {
        for scope in [LockScope::Model, LockScope::Exact] {
            case.fails_with(model, &[lock(scope, ladder(120, 10))], START);
        }
    }
    let connections = case.lockouts.connections(Some(&"p".into()));
    assert_eq!(case.lockouts.connections(Some(&"q".into())), Vec::new());
    assert_eq!(case.lockouts.clear(&connections, Some("m1"), START).len(), 2);
    assert_eq!((case.until("m1", START), case.until("m2", START).is_some()), (None, true));
    assert_eq!(case.lockouts.clear(&connections, Some("unknown"), START), Vec::new());
    assert_eq!(case.lockouts.clear(&connections, None, START).len(), 2);
    assert_eq!(case.lockouts, ModelLockouts::default());
}

#[test]
fn settings_stay_within_their_bounds() {
    // ML-01, ML-20
    let mut config = Config::default();
    assert!(!config.enabled && config.persist);
    config.base_cooldown = Millis::seconds(1);
    config.max_backoff_steps = 21;
    config.clamp();
    assert_eq!((config.base_cooldown, config.max_backoff_steps), (Millis::seconds(5), 20));
    config.base_cooldown = Millis::minutes(10);
    config.max_cooldown = Millis::minutes(5);
    assert_eq!(config.reconcile().len(), 1);
    assert_eq!(config.max_cooldown, Millis::minutes(10));
}
