//! The breaker's sentences, one test each. `Case` is a breaker of one class at a running clock.

use domain::section::Section;

use super::*;
use crate::stored::BreakerOptions;

const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);

struct Case {
    breaker: CircuitBreaker,
    config: Config,
    obeys_kinds: bool,
    now: Timestamp,
}

impl Case {
    fn with(config: Config) -> Case {
        Case { breaker: CircuitBreaker::default(), config, obeys_kinds: true, now: START }
    }

    fn api_key() -> Case {
        Case::with(Config::api_key())
    }

    /// An API-key breaker that has just opened.
    fn open() -> Case {
        let mut case = Case::api_key();
        case.fails(12);
        case
    }

    /// An API-key breaker whose break is over.
    fn half_open() -> Case {
        let mut case = Case::open();
        case.passes(Millis::seconds(30));
        case
    }

    fn terms(&self) -> Terms<'_> {
        Terms { config: &self.config, obeys_kinds: self.obeys_kinds }
    }

    fn passes(&mut self, length: Millis) {
        self.now = self.now + length;
    }

    fn enters(&mut self) -> Option<Ticket> {
        let terms = Terms { config: &self.config, obeys_kinds: self.obeys_kinds };
        self.breaker.admit(terms, self.now).ok().map(|(ticket, _)| ticket)
    }

    fn fail(&mut self, ticket: Ticket, kind: FailureKind) -> Change {
        let terms = Terms { config: &self.config, obeys_kinds: self.obeys_kinds };
        self.breaker.on_failure(terms, ticket, kind, self.now)
    }

    fn succeed(&mut self, ticket: Ticket) -> Change {
        let terms = Terms { config: &self.config, obeys_kinds: self.obeys_kinds };
        self.breaker.on_success(terms, ticket, self.now)
    }

    fn fails(&mut self, count: u32) {
        for _ in 0..count {
            let ticket = self.enters().expect("traffic flows");
            self.fail(ticket, FailureKind::Transient);
        }
    }

    fn succeeds(&mut self, count: u32) {
        for _ in 0..count {
            let ticket = self.enters().expect("traffic flows");
            self.succeed(ticket);
        }
    }

    /// State and failures.
    fn is(&self) -> (&'static str, u32) {
        (self.breaker.state(self.terms(), self.now).as_str(), self.breaker.failures())
    }

    fn waits(&self) -> Millis {
        match self.breaker.check(self.terms(), self.now) {
            Verdict::Stopped { until } => until.since(self.now),
            Verdict::Pass | Verdict::Probe => Millis::ZERO,
        }
    }

    fn last_reason(&self) -> Option<&str> {
        self.breaker.transitions.back().map(|transition| transition.reason.as_str())
    }
}

#[test]
fn each_class_degrades_and_opens_at_its_numbers() {
    // CB-01, CB-02, CB-03, CB-04, CB-19
    for (config, degraded, open, wait) in [
        (Config::api_key(), 7, 12, Millis::seconds(30)),
        (Config::oauth(), 5, 8, Millis::seconds(60)),
        (Config::local(), 1, 2, Millis::seconds(15)),
        (Config::default(), 3, 5, Millis::seconds(30)),
        (Config { failure_threshold: 1, ..Config::default() }, 1, 1, Millis::seconds(30)), // CB-34
    ] {
        let mut case = Case::with(config);
        for n in 1..=open {
            case.fails(1);
            let state = if n == open {
                "OPEN"
            } else if n >= degraded {
                "DEGRADED"
            } else {
                "CLOSED"
            };
            assert_eq!(case.is(), (state, n), "{:?}", case.config);
        }
        assert_eq!(case.waits(), wait, "{:?}", case.config);
        assert!(case.enters().is_none());
    }
}

#[test]
fn it_is_half_open_at_the_exact_instant_without_anyone_waking_it() {
    // CB-08, CB-09
    let mut case = Case::open();
    case.passes(Millis::new(29_999));
    assert_eq!((case.is().0, case.waits()), ("OPEN", Millis::new(1)));
    case.passes(Millis::new(1));
    assert_eq!(case.is().0, "HALF_OPEN");
    assert_eq!(case.last_reason(), Some("kind:transient"), "reading writes nothing");
    let terms = Terms { config: &case.config, obeys_kinds: true };
    let rolled = case.breaker.roll(terms, case.now).map(|transition| (transition.from, transition.to));
    assert_eq!(rolled, Some(("OPEN".to_owned(), "HALF_OPEN".to_owned())));
    assert_eq!(case.last_reason(), Some("timeout-elapsed"));
}

#[test]
fn a_break_without_a_known_failure_may_be_probed_at_once() {
    let options = BreakerOptions::default();
    let case = Case { breaker: CircuitBreaker::restore("OPEN", 12, None, &options, START), ..Case::api_key() };
    assert_eq!(case.is().0, "HALF_OPEN");
}

#[test]
fn a_probe_that_succeeds_closes_and_zeroes() {
    // CB-10
    let mut case = Case::half_open();
    let probe = case.enters().expect("one probe");
    assert!(matches!(case.succeed(probe), Change::State(_)));
    assert_eq!((case.is(), case.breaker.cycles()), (("CLOSED", 0), 0));
    assert_eq!(case.last_reason(), Some("probe-success"));
}

#[test]
fn a_probe_that_fails_opens_again_from_its_own_time() {
    // CB-11
    let mut case = Case::half_open();
    let probe = case.enters().expect("one probe");
    case.passes(Millis::seconds(5));
    case.fail(probe, FailureKind::Transient);
    assert_eq!((case.is().0, case.breaker.cycles(), case.waits()), ("OPEN", 1, Millis::seconds(30)));
    assert_eq!(case.last_reason(), Some("probe-failed (cycle 1)"));
}

#[test]
fn exactly_one_probe_is_let_through() {
    // CB-12
    let mut case = Case::half_open();
    let admitted = (0..20).filter(|_| case.enters().is_some()).count();
    assert_eq!((admitted, case.waits()), (1, PROBE_PATIENCE));
}

#[test]
fn a_probe_that_says_nothing_gives_its_slot_back() {
    // CB-13, CB-14
    let mut case = Case::half_open();
    let probe = case.enters().expect("one probe");
    case.breaker.on_neutral(probe);
    assert_eq!(case.is().0, "HALF_OPEN");
    assert!(case.enters().is_some());
}

#[test]
fn a_lost_probe_returns_after_its_lease_and_is_then_too_late() {
    for (reset_timeout, lease) in [(Millis::seconds(30), Millis::minutes(10)), (Millis::hours(1), Millis::hours(1))] {
        let mut case = Case::with(Config { reset_timeout, ..Config::api_key() });
        case.fails(12);
        case.passes(reset_timeout);
        let lost = case.enters().expect("one probe");
        case.passes(Millis::new(lease.as_millis() - 1));
        assert!(case.enters().is_none());
        case.passes(Millis::new(1));
        let next = case.enters().expect("the slot is free again");
        assert_eq!(case.succeed(lost), Change::Nothing);
        assert_eq!(case.is().0, "HALF_OPEN");
        assert!(matches!(case.succeed(next), Change::State(_)));
    }
}

#[test]
fn failed_probes_stretch_the_wait_up_to_the_multiplier() {
    // CB-15
    for (config, waits) in [
        (Config::api_key(), vec![30, 30, 30, 30, 60, 120, 120]),
        (Config::oauth(), vec![60, 60, 60, 120, 240, 480, 480]),
    ] {
        let threshold = config.failure_threshold;
        let mut case = Case::with(config);
        case.fails(threshold);
        for seconds in waits {
            assert_eq!(case.waits(), Millis::seconds(seconds), "cycle {}", case.breaker.cycles());
            case.passes(Millis::seconds(seconds));
            case.fails(1);
        }
    }
}

#[test]
fn successes_take_failures_back_one_by_one() {
    // CB-16
    let mut case = Case::api_key();
    case.fails(6);
    case.succeeds(2);
    assert_eq!(case.is(), ("CLOSED", 4));
    case.succeeds(10);
    assert_eq!(case.is(), ("CLOSED", 0));
    // CB-17
    case.fails(9);
    for (failures, expected) in [(false, ("DEGRADED", 8)), (false, ("CLOSED", 7)), (true, ("DEGRADED", 8))] {
        if failures {
            case.fails(1)
        } else {
            case.succeeds(1)
        }
        assert_eq!(case.is(), expected);
    }
    // CB-18
    let mut case = Case::api_key();
    for _ in 0..40 {
        case.fails(1);
        case.succeeds(1);
    }
    assert_eq!(case.is(), ("CLOSED", 0));
}

#[test]
fn what_left_before_the_break_neither_prolongs_nor_ends_it() {
    // CB-20, CB-21, CB-25
    let mut case = Case::api_key();
    let burst: Vec<Ticket> = (0..50).filter_map(|_| case.enters()).collect();
    let opened = burst.iter().take(49).filter(|ticket| {
        matches!(case.fail(**ticket, FailureKind::Transient), Change::State(transition) if transition.to == "OPEN")
    });
    assert_eq!(opened.count(), 1);
    assert_eq!(case.is(), ("OPEN", 12));
    case.passes(Millis::seconds(20));
    assert_eq!(case.succeed(burst[49]), Change::Nothing);
    assert_eq!(case.waits(), Millis::seconds(10));
    case.passes(Millis::seconds(10));
    assert_eq!(case.succeed(burst[48]), Change::Nothing, "nor does it decide the probe");
    let probe = case.enters().expect("one probe");
    assert_eq!(case.succeed(burst[47]), Change::Nothing);
    case.succeed(probe);
    assert_eq!(case.fail(burst[46], FailureKind::Transient), Change::Nothing, "nor counts after the recovery");
    assert_eq!(case.is(), ("CLOSED", 0));
}

#[test]
fn network_failures_within_ten_seconds_count_once() {
    // CB-07
    let mut case = Case::api_key();
    for (seconds, failures) in [(0, 1), (5, 1), (5, 2), (9, 2), (1, 3)] {
        case.passes(Millis::seconds(seconds));
        let ticket = case.enters().expect("traffic flows");
        let terms = Terms { config: &case.config, obeys_kinds: true };
        case.breaker.on_network_failure(terms, ticket, case.now);
        assert_eq!(case.is().1, failures);
    }
}

#[test]
fn a_probe_is_judged_even_within_a_network_episode() {
    let mut case = Case::with(Config { failure_threshold: 1, reset_timeout: Millis::seconds(1), ..Config::default() });
    for _ in 0..2 {
        let ticket = case.enters().expect("traffic flows");
        let terms = Terms { config: &case.config, obeys_kinds: true };
        case.breaker.on_network_failure(terms, ticket, case.now);
        assert_eq!(case.is().0, "OPEN");
        case.passes(Millis::seconds(1));
    }
    assert_eq!(case.breaker.cycles(), 1);
}

#[test]
fn the_kind_of_the_last_failure_decides_the_wait_where_it_is_obeyed() {
    // CB-31
    for (kind, obeys_kinds, seconds) in [
        (FailureKind::RateLimit, true, 60),
        (FailureKind::QuotaExhausted, true, 3_600),
        (FailureKind::Transient, true, 30),
        (FailureKind::RateLimit, false, 30),
        (FailureKind::QuotaExhausted, false, 30),
    ] {
        let mut case = Case { obeys_kinds, ..Case::api_key() };
        case.fails(11);
        let ticket = case.enters().expect("traffic flows");
        case.fail(ticket, kind);
        assert_eq!(case.waits(), Millis::seconds(seconds), "{kind:?} {obeys_kinds}");
    }
}

#[test]
fn the_operator_closes_it_and_zeroes_everything() {
    // CB-32
    let mut case = Case::half_open();
    case.fails(1);
    assert_eq!(case.breaker.reset(case.now).map(|transition| transition.reason), Some("manual-reset".to_owned()));
    assert_eq!((case.is(), case.breaker.cycles(), case.breaker.last_failure()), (("CLOSED", 0), 0, None));
    for (failures, state) in [(3, None), (9, Some("manual-reset"))] {
        let late = case.enters().expect("traffic flows");
        case.fails(failures);
        assert_eq!(case.breaker.reset(case.now).map(|transition| transition.reason).as_deref(), state);
        assert_eq!(case.fail(late, FailureKind::Transient), Change::Nothing, "it left before");
        assert_eq!(case.is(), ("CLOSED", 0));
    }
}

#[test]
fn changed_numbers_apply_at_once_and_keep_the_count() {
    // CB-33
    let mut case = Case::api_key();
    case.fails(9);
    case.config = Config { failure_threshold: 10, degradation_threshold: 5, ..case.config };
    case.fails(1);
    assert_eq!(case.is(), ("OPEN", 10));
    case.config.reset_timeout = Millis::seconds(5);
    assert_eq!(case.waits(), Millis::seconds(5));
}

#[test]
fn a_provider_is_degraded_before_it_is_stopped() {
    // CB-34
    for (failure_threshold, degradation_threshold, stored, conflicts) in
        [(12, 12, 11, 1), (12, 7, 7, 0), (2, 5, 1, 1), (1, 3, 3, 0)]
    {
        let mut config = Config { failure_threshold, degradation_threshold, ..Config::default() };
        assert_eq!(config.reconcile().len(), conflicts);
        assert_eq!(config.degradation_threshold, stored);
    }
    for mut config in [Config::api_key(), Config::oauth(), Config::local(), Config::default()] {
        assert_eq!(config.reconcile(), Vec::new());
    }
}

#[test]
fn the_latest_twenty_transitions_are_kept() {
    let mut case = Case::with(Config { failure_threshold: 1, ..Config::default() });
    case.fails(1);
    for _ in 0..30 {
        case.passes(case.waits());
        case.succeeds(1);
        case.fails(1);
    }
    assert_eq!(case.breaker.transitions.len(), HISTORY);
    assert_eq!(case.last_reason(), Some("kind:transient"));
}

#[test]
fn a_row_brings_back_what_it_was_and_frees_the_probe() {
    // RP-01, RP-02, RP-03
    let restored = |case: &Case, now: Timestamp| {
        let (state, options) = case.breaker.store(&case.config);
        let text = serde_json::to_string(&options).expect("plain data");
        let options = serde_json::from_str(&text).expect("as written");
        let (failures, last) = (case.breaker.failures(), case.breaker.last_failure());
        Case { breaker: CircuitBreaker::restore(state, failures, last, &options, now), now, ..Case::api_key() }
    };
    let open = Case::open();
    assert_eq!(restored(&open, START + Millis::seconds(10)).waits(), Millis::seconds(20));
    assert_eq!(restored(&open, START + Millis::seconds(40)).is().0, "HALF_OPEN");

    let mut probing = Case::half_open();
    assert!(probing.enters().is_some());
    assert!(restored(&probing, probing.now).enters().is_some());

    let mut degraded = Case::api_key();
    degraded.fails(9);
    assert_eq!(restored(&degraded, START).is(), ("DEGRADED", 9));
    assert_eq!(restored(&degraded, START).breaker.transitions, degraded.breaker.transitions);

    let behind = restored(&open, START - Millis::hours(1));
    assert_eq!(behind.waits(), Millis::seconds(30), "a failure ahead of the clock is taken to be now");
}
