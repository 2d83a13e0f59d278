//! What befalls one account, and the accounts behind its address.

use super::*;

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
