//! Who reacts to what, row by row (resilience specification, 2.6, 3.5, 4.4, 11.2, 19.4 and 20).

use domain::health::TestStatus;
use domain::{
    BreakerCharge, Cooldown, Failure, Hint, Millis, Nature, Permanence, Provenance, ProviderClass, Reason, Scope,
};
use resilience::failure::layers::{ConnectionReaction, Lock, Reactions, Rest, reactions};
use resilience::{Caller, Settings};

fn ordinary() -> Nature {
    Nature::default()
}

fn scoped() -> Nature {
    Nature { per_model_quota: true, ..Nature::default() }
}

fn codex() -> Nature {
    Nature { class: ProviderClass::Oauth, quota_family: Some("codex".to_owned()), ..scoped() }
}

fn local() -> Nature {
    Nature { class: ProviderClass::Local, ..Nature::default() }
}

fn signed_in() -> Nature {
    Nature { class: ProviderClass::Oauth, ..Nature::default() }
}

fn bucketed() -> Nature {
    Nature { egress_bucket: Some("opencode".to_owned()), ..scoped() }
}

fn uncooled(nature: Nature) -> Nature {
    Nature { disable_cooling: true, ..nature }
}

fn failed(status: u16, reason: Reason) -> Failure {
    Failure::plain(Some(status), reason, "x")
}

fn hinted(failure: Failure, seconds: u64, provenance: Provenance) -> Failure {
    Failure { hint: Some(Hint { delay: Millis::seconds(seconds), provenance }), ..failure }
}

/// Path B switched on.
fn switched_on() -> Settings {
    let mut settings = Settings::default();
    settings.model_lockout.enabled = true;
    settings
}

fn rest(rest: Rest) -> String {
    match rest {
        Rest::Ladder { base, .. } => format!("{}s up", base.as_millis() / 1_000),
        Rest::Exactly { length, announced } => {
            format!("{}s{}", length.as_millis() / 1_000, if announced { " announced" } else { "" })
        }
    }
}

fn lock(prefix: &str, lock: &Lock) -> String {
    format!("{prefix} {} {} {}", lock.scope.as_str(), lock.reason, rest(lock.rest))
}

/// The reactions in words.
fn told(found: &Reactions) -> String {
    let connection = match found.connection {
        ConnectionReaction::Nothing => "nothing".to_owned(),
        ConnectionReaction::Noted => "noted".to_owned(),
        ConnectionReaction::Cool(length) => format!("cools {}", rest(length)),
        ConnectionReaction::Refused { cools } => format!("refused, cools {cools}"),
        ConnectionReaction::Terminal(status) => status.as_str().to_owned(),
    };
    let mut words = vec![connection];
    words.extend(found.lock.as_ref().map(|found| lock("locks", found)));
    words.extend(found.combo_lock.as_ref().map(|found| lock("combo locks", found)));
    if found.egress {
        words.push("egress".to_owned());
    }
    words.join("; ")
}

fn check(caller: Caller, settings: &Settings, rows: &[(&str, Nature, Failure, &str)]) {
    for (name, nature, failure, expected) in rows {
        assert_eq!(told(&reactions(failure, nature, caller, settings)), *expected, "{name}");
    }
}

#[test]
fn an_ordinary_account_rests() {
    let direct = |rows: &[(&str, Nature, Failure, &str)]| check(Caller::Direct, &Settings::default(), rows);
    direct(&[
        ("CC-01", ordinary(), failed(500, Reason::ServerError), "cools 3s up"),
        ("CC-02", signed_in(), failed(500, Reason::ServerError), "cools 5s up"),
        ("local", local(), failed(500, Reason::ServerError), "cools 5s up"),
        ("429", ordinary(), failed(429, Reason::RateLimit), "cools 3s up"),
        ("403 of a key", ordinary(), failed(403, Reason::Auth), "cools 3s up"),
        ("no reply", ordinary(), Failure::plain(None, Reason::ConnectionReset, "x"), "cools 3s up"),
        (
            "CC-08",
            ordinary(),
            hinted(failed(429, Reason::RateLimit), 17, Provenance::Authoritative),
            "cools 17s announced",
        ),
        ("CC-09", signed_in(), hinted(failed(429, Reason::RateLimit), 17, Provenance::Authoritative), "cools 5s up"),
        (
            "RH-21, prose is exact",
            ordinary(),
            hinted(failed(429, Reason::RateLimit), 259_200, Provenance::Stated),
            "cools 259200s announced",
        ),
        (
            "EC-12",
            ordinary(),
            Failure { cooldown: Cooldown::Fixed(Millis::days(1)), ..failed(429, Reason::QuotaExhausted) },
            "cools 86400s",
        ),
        (
            "EC-12 with a hint, signed in",
            signed_in(),
            Failure {
                cooldown: Cooldown::Fixed(Millis::days(1)),
                ..hinted(failed(429, Reason::QuotaExhausted), 60, Provenance::Stated)
            },
            "cools 60s announced",
        ),
        (
            "PR-09",
            ordinary(),
            Failure {
                cooldown: Cooldown::From(Millis::minutes(2)),
                scope: Scope::Connection,
                ..failed(429, Reason::QuotaExhausted)
            },
            "cools 120s up",
        ),
        (
            "EC-09",
            ordinary(),
            Failure { cooldown: Cooldown::Fixed(Millis::ZERO), ..failed(403, Reason::Forbidden) },
            "noted",
        ),
        ("CC-17", uncooled(ordinary()), failed(500, Reason::ServerError), "noted"),
        ("row 14b", ordinary(), failed(404, Reason::ModelNotFound), "noted"),
        ("one model refused", ordinary(), failed(403, Reason::ModelAccessDenied), "noted"),
    ]);
    let mut settings = Settings::default();
    settings.connection_cooldown.apikey.base_cooldown = Millis::ZERO;
    check(Caller::Direct, &settings, &[("CC-25", ordinary(), failed(500, Reason::ServerError), "noted")]);
    settings.connection_cooldown.oauth.use_upstream_retry_hints = true;
    let told = hinted(failed(429, Reason::RateLimit), 17, Provenance::Authoritative);
    check(Caller::Direct, &settings, &[("CC-09", signed_in(), told, "cools 17s announced")]);
}

#[test]
fn what_concerns_the_request_or_is_only_noted_writes_no_rest() {
    let stall = || Failure::plain(None, Reason::ContentStall, "x");
    check(
        Caller::Direct,
        &switched_on(),
        &[
            ("CC-18", scoped(), Failure { scope: Scope::Nobody, ..failed(400, Reason::ContextOverflow) }, "nothing"),
            ("noted", scoped(), Failure { scope: Scope::Noted, ..failed(403, Reason::Forbidden) }, "noted"),
            ("CC-15", ordinary(), stall(), "noted"),
            ("CC-15 of a scoped one", scoped(), stall(), "noted"),
        ],
    );
    let mut settings = Settings::default();
    settings.stream_stall_cooldown.enabled = true;
    check(
        Caller::Direct,
        &settings,
        &[
            ("CC-16", ordinary(), stall(), "cools 3s up"),
            ("CC-16 of a scoped one", scoped(), stall(), "noted; locks exact server_error 3s up"),
        ],
    );
}

#[test]
fn what_lasts_is_terminal_whatever_else_would_react() {
    let lasting = |permanence| Failure { permanence, ..failed(429, Reason::QuotaExhausted) };
    for nature in [ordinary(), scoped(), bucketed(), uncooled(codex()), local()] {
        for (permanence, status) in [
            (Permanence::Banned, TestStatus::Banned),
            (Permanence::CreditsExhausted, TestStatus::CreditsExhausted),
            (Permanence::Unauthorized, TestStatus::Expired),
        ] {
            let found = reactions(&lasting(permanence), &nature, Caller::Combo, &switched_on());
            assert_eq!(told(&found), status.as_str());
        }
    }
    let refused = Failure { permanence: Permanence::RequestRejected, ..failed(403, Reason::RequestRejected) };
    check(
        Caller::Direct,
        &Settings::default(),
        &[
            ("TS-11", signed_in(), refused.clone(), "refused, cools true"),
            ("TS-11 uncooled", uncooled(signed_in()), refused, "refused, cools false"),
        ],
    );
}

#[test]
fn where_quotas_are_per_model_the_model_rests() {
    let reset = |seconds, failure| Failure { quota_resets_in: Some(Millis::seconds(seconds)), ..failure };
    let rows = [
        ("ML-26", scoped(), failed(429, Reason::RateLimit), "noted; locks model rate_limited 3s up"),
        (
            "ML-27",
            scoped(),
            hinted(failed(429, Reason::RateLimit), 1, Provenance::Authoritative),
            "noted; locks model rate_limited 1s announced",
        ),
        (
            "RH-29",
            scoped(),
            hinted(failed(429, Reason::RateLimit), 7_200, Provenance::Authoritative),
            "noted; locks model rate_limited 7200s announced",
        ),
        (
            "RH-30",
            scoped(),
            hinted(failed(429, Reason::RateLimit), 7_200, Provenance::Stated),
            "noted; locks model rate_limited 1800s announced",
        ),
        ("ML-06", codex(), failed(429, Reason::RateLimit), "noted; locks family rate_limited 5s up"),
        (
            "ML-31",
            codex(),
            hinted(failed(429, Reason::RateLimit), 600, Provenance::Authoritative),
            "noted; locks family rate_limited 600s announced",
        ),
        ("ML-06 of a 502", codex(), failed(502, Reason::ServerError), "noted; locks exact server_error 5s up"),
        ("ML-07", codex(), Failure::plain(None, Reason::EmptyOrGarbled, "x"), "noted; locks exact server_error 5s up"),
        ("ML-08", codex(), failed(404, Reason::ModelNotFound), "noted; locks model not_found 5s up"),
        (
            "ML-15 at night",
            scoped(),
            reset(600, failed(429, Reason::QuotaExhausted)),
            "noted; locks model quota_exhausted 600s",
        ),
        (
            "ML-15 by day",
            scoped(),
            reset(50_400, failed(429, Reason::QuotaExhausted)),
            "noted; locks model quota_exhausted 1800s",
        ),
        ("ML-28", scoped(), failed(500, Reason::ServerError), "noted"),
        ("ML-28 of a 502", scoped(), failed(502, Reason::ServerError), "noted; locks exact server_error 3s up"),
        ("408", scoped(), failed(408, Reason::ServerError), "noted; locks exact server_error 3s up"),
        ("524", scoped(), failed(524, Reason::ServerError), "noted; locks exact server_error 3s up"),
        ("406", scoped(), failed(406, Reason::ServerError), "noted; locks model server_error 3s up"),
        (
            "432",
            codex(),
            Failure { cooldown: Cooldown::Fixed(Millis::hours(1)), ..failed(432, Reason::QuotaExhausted) },
            "noted; locks family quota_exhausted 1800s",
        ),
        ("EC-06", codex(), reset(600, failed(402, Reason::QuotaExhausted)), "noted; locks family quota_exhausted 600s"),
        ("row 13", codex(), failed(403, Reason::Forbidden), "noted; locks family forbidden 5s up"),
        ("one model refused", codex(), failed(403, Reason::ModelAccessDenied), "noted; locks model forbidden 5s up"),
        ("a disguised rate limit", codex(), failed(400, Reason::RateLimit), "noted; locks family rate_limited 5s up"),
        (
            "EC-11",
            scoped(),
            Failure { cooldown: Cooldown::Fixed(Millis::days(1)), ..failed(404, Reason::ModelNotFound) },
            "noted; locks model not_found 1800s",
        ),
        ("ML-24", local(), failed(404, Reason::ModelNotFound), "noted; locks model not_found 5s up"),
        ("a stale token", scoped(), failed(401, Reason::Auth), "cools 3s up"),
        (
            "PR-01",
            scoped(),
            Failure {
                cooldown: Cooldown::From(Millis::hours(6)),
                scope: Scope::Model,
                ..failed(403, Reason::ModelAccessDenied)
            },
            "noted; locks model forbidden 21600s up",
        ),
        (
            "PR-16",
            ordinary(),
            Failure { scope: Scope::Model, ..failed(429, Reason::QuotaExhausted) },
            "noted; locks model quota_exhausted 3s up",
        ),
        ("PR-03", scoped(), Failure { scope: Scope::Connection, ..failed(429, Reason::QuotaExhausted) }, "cools 3s up"),
        (
            "PR-04",
            uncooled(scoped()),
            Failure { scope: Scope::Connection, ..failed(429, Reason::QuotaExhausted) },
            "noted; locks model quota_exhausted 3s up",
        ),
        (
            "CC-29",
            scoped(),
            Failure {
                scope: Scope::Connection,
                cooldown: Cooldown::Fixed(Millis::seconds(5)),
                ..failed(503, Reason::ServerError)
            },
            "cools 5s",
        ),
    ];
    check(Caller::Direct, &switched_on(), &rows);
    check(Caller::Combo, &Settings::default(), &rows); // the switch is off
}

#[test]
fn the_switch_locks_for_combos_and_spares_the_account_what_passes() {
    let on = switched_on();
    let combo = |rows: &[(&str, Nature, Failure, &str)]| check(Caller::Combo, &on, rows);
    combo(&[
        ("ML-02", ordinary(), failed(429, Reason::RateLimit), "noted; combo locks model rate_limit 120s up"),
        ("CC-35", ordinary(), failed(503, Reason::ServerError), "noted; combo locks exact unknown 120s up"),
        ("502", ordinary(), failed(502, Reason::ServerError), "noted; combo locks exact unknown 120s up"),
        ("504", ordinary(), failed(504, Reason::ServerError), "noted; combo locks exact unknown 120s up"),
        (
            "no reply",
            ordinary(),
            Failure::plain(None, Reason::ResponseStartTimeout, "x"),
            "noted; combo locks exact unknown 120s up",
        ),
        ("ML-05", ordinary(), failed(500, Reason::ServerError), "cools 3s up"),
        ("404", ordinary(), failed(404, Reason::ModelNotFound), "noted; combo locks model unknown 120s up"),
        ("ML-32", ordinary(), failed(403, Reason::Forbidden), "cools 3s up; combo locks model forbidden 120s up"),
        (
            "403 of a quota",
            ordinary(),
            Failure { quota_resets_in: Some(Millis::minutes(10)), ..failed(403, Reason::QuotaExhausted) },
            "noted; combo locks model quota_exhausted 600s",
        ),
        (
            "ML-16",
            ordinary(),
            hinted(failed(429, Reason::RateLimit), 600, Provenance::Stated),
            "noted; combo locks model rate_limit 600s announced",
        ),
        (
            "ML-16 below the base",
            ordinary(),
            hinted(failed(429, Reason::RateLimit), 10, Provenance::Authoritative),
            "noted; combo locks model rate_limit 120s up",
        ),
        (
            "both paths",
            scoped(),
            failed(429, Reason::RateLimit),
            "noted; locks model rate_limited 3s up; combo locks model rate_limit 120s up",
        ),
        (
            "a rule's account",
            scoped(),
            Failure { scope: Scope::Connection, ..failed(429, Reason::QuotaExhausted) },
            "cools 3s up",
        ),
    ]);
    check(
        Caller::Combo,
        &Settings::default(),
        &[
            ("CC-35, switch off", ordinary(), failed(503, Reason::ServerError), "cools 3s up"),
            ("CC-28", scoped(), failed(503, Reason::ServerError), "noted; locks exact server_error 3s up"),
        ],
    );
    check(Caller::Direct, &on, &[("direct", ordinary(), failed(429, Reason::RateLimit), "cools 3s up")]);
}

#[test]
fn an_address_that_ran_dry_rests_the_accounts_behind_it() {
    let hour = Failure { cooldown: Cooldown::Fixed(Millis::hours(1)), ..failed(429, Reason::QuotaExhausted) };
    for caller in [Caller::Direct, Caller::Combo] {
        check(
            caller,
            &switched_on(),
            &[
                ("EG-01, EG-11", bucketed(), hour.clone(), "cools 3600s; egress"),
                ("EG-02", bucketed(), failed(429, Reason::RateLimit), "cools 120s up; egress"),
                (
                    "EG-02 with a hint",
                    bucketed(),
                    hinted(failed(429, Reason::RateLimit), 30, Provenance::Authoritative),
                    "cools 30s announced; egress",
                ),
            ],
        );
    }
    check(
        Caller::Direct,
        &Settings::default(),
        &[
            ("EG-08", uncooled(bucketed()), failed(429, Reason::RateLimit), "noted; locks model rate_limited 3s up"),
            ("another status", bucketed(), failed(503, Reason::ServerError), "noted; locks exact server_error 3s up"),
        ],
    );
}

#[test]
fn breaker_and_provider_cooldown_take_what_is_theirs() {
    let settings = Settings::default();
    let counted = Failure { breaker: BreakerCharge::Counts, ..failed(503, Reason::ServerError) };
    assert_eq!(reactions(&counted, &ordinary(), Caller::Direct, &settings).breaker, BreakerCharge::Counts);
    for (name, nature, failure, caller, remembered) in [
        ("a combo's failure", ordinary(), failed(429, Reason::RateLimit), Caller::Combo, true),
        ("a direct one", ordinary(), failed(429, Reason::RateLimit), Caller::Direct, false),
        ("owned by the model", scoped(), failed(429, Reason::RateLimit), Caller::Combo, false),
        ("owned by the model", scoped(), failed(500, Reason::ServerError), Caller::Combo, false),
        ("the service's", scoped(), failed(503, Reason::ServerError), Caller::Combo, true),
        (
            "the request's",
            ordinary(),
            Failure { scope: Scope::Nobody, ..failed(400, Reason::ContextOverflow) },
            Caller::Combo,
            false,
        ),
    ] {
        assert_eq!(reactions(&failure, &nature, caller, &settings).provider_cooldown, remembered, "{name}");
    }
}

#[test]
fn ladders_double_up_to_their_steps_and_ceiling() {
    let ladder = |base, steps| Rest::Ladder { base: Millis::seconds(base), steps, ceiling: Millis::minutes(30) };
    for (rest, seconds) in [
        (ladder(3, 5), vec![3, 6, 12, 24, 48, 96, 96]), // CC-03
        (ladder(5, 8), vec![5, 10, 20, 40, 80, 160, 320, 640, 1280, 1280]), // CC-03
        (ladder(600, 5), vec![600, 1200, 1800]),        // CC-04
        (ladder(3, 0), vec![3, 3, 3]),                  // CC-26
        (ladder(120, 10), vec![120, 240, 480, 960, 1800, 1800]), // ML-03
        (ladder(120, 1), vec![120, 240, 240]),          // ML-04
        (ladder(21_600, 5), vec![1800]),                // PR-01
        (Rest::Exactly { length: Millis::hours(2), announced: true }, vec![7200, 7200]),
    ] {
        for (earlier, expected) in (0..).zip(seconds) {
            assert_eq!(rest.length(earlier), Millis::seconds(expected), "{rest:?} after {earlier}");
        }
    }
    assert_eq!(ladder(3, u32::MAX).length(u32::MAX), Millis::minutes(30));
}
