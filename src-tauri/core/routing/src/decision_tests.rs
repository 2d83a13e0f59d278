use domain::{Hint, Provenance};

use super::*;
use crate::strategies::fixtures::{target, targets};

/// One case: what ended, and where. Anything not said is the usual.
struct Case {
    outcome: Outcome,
    status: Option<u16>,
    message: &'static str,
    hopeless: bool,
    benched: bool,
    tools: bool,
    thoughts: bool,
    direct: bool,
    per_model: bool,
    repeated: u32,
    adjusted: bool,
    thoughtless: bool,
    may_shorten: bool,
    more_accounts: bool,
    protected: bool,
    remaining: Vec<Target>,
    config: Config,
}

fn case(outcome: Outcome, status: Option<u16>) -> Case {
    Case {
        outcome,
        status,
        message: "no",
        hopeless: false,
        benched: false,
        tools: false,
        thoughts: false,
        direct: false,
        per_model: false,
        repeated: 0,
        adjusted: false,
        thoughtless: false,
        may_shorten: false,
        more_accounts: false,
        protected: false,
        remaining: targets(3).split_off(1),
        config: Config::default(),
    }
}

fn fails(reason: Reason, status: u16) -> Case {
    case(Outcome::Failure(Failure::plain(Some(status), reason, "no")), Some(status))
}

fn refuses(message: &'static str) -> Case {
    Case { message, ..case(Outcome::Neutral(Neutral::InvalidRequest), Some(400)) }
}

impl Case {
    fn run(&self, attempts: usize, same: usize) -> Ruling {
        let here = Target { fallback_only_on_quota_exhaustion: self.protected, ..target(0) };
        let nature = Nature { per_model_quota: self.per_model, ..Nature::default() };
        let remaining: Vec<&Target> = self.remaining.iter().collect();
        let ended = Ended {
            outcome: &self.outcome,
            status: self.status,
            message: self.message,
            hopeless: self.hopeless,
            benched: self.benched,
            too_many_tools: self.tools,
            refuses_thoughts: self.thoughts,
        };
        let position = Position {
            combo: (!self.direct).then_some(&self.config),
            target: &here,
            connection: &"a".into(),
            nature: &nature,
            repeated: self.repeated,
            adjusted: self.adjusted,
            thoughtless: self.thoughtless,
            may_shorten: self.may_shorten,
            more_accounts: self.more_accounts,
            remaining: &remaining,
        };
        decide(&ended, &position, attempts, same)
    }

    fn decision(&self) -> Decision {
        self.run(1, 0).decision
    }
}

const NEXT: Decision = Decision::NextTarget { after: Millis::ZERO };
const RETRY: Decision = Decision::Retry { after: Millis::seconds(2) };

fn surface() -> Decision {
    Decision::Stop(Stop::Surface)
}

fn connection() -> Mark {
    Mark::Connection("p0".into(), "a".into())
}

fn model() -> Mark {
    Mark::Model("p0".into(), "m0".to_owned())
}

#[test]
fn what_is_ours_or_the_clients_stops_or_moves_on_without_a_mark() {
    let aborted = case(Outcome::Neutral(Neutral::ClientAborted), None);
    assert_eq!(aborted.decision(), Decision::Stop(Stop::Silent));
    let full = case(Outcome::Neutral(Neutral::LocalLimit), Some(429));
    assert_eq!(full.run(1, 0), Ruling { decision: NEXT, marks: vec![] });
    assert_eq!(Case { direct: true, ..full }.decision(), surface());
}

#[test]
fn a_refusal_of_the_request_tours_a_combo_and_is_shown_to_a_direct_request() {
    for (message, hopeless, direct, expected) in [
        ("strange value", false, false, NEXT),
        ("strange value", false, true, surface()),
        ("roles must alternate", true, false, surface()),
        ("blocked by our content policy", false, false, surface()),
    ] {
        assert_eq!(Case { hopeless, direct, ..refuses(message) }.decision(), expected, "{message} {direct}");
    }
    let policy = Case { message: "rejected by the safety system", ..fails(Reason::Forbidden, 403) };
    assert_eq!(policy.decision(), surface());
}

#[test]
fn a_limit_of_output_is_obeyed_once() {
    let limited = refuses("max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens");
    assert_eq!(limited.decision(), Decision::Adjust { max_output: 8_192 });
    assert_eq!(Case { direct: true, ..limited }.decision(), Decision::Adjust { max_output: 8_192 });
    let again = Case { adjusted: true, ..refuses("max_tokens is too large: 9000, at most 8192") };
    assert_eq!(again.decision(), NEXT);
    assert_eq!(refuses("max_tokens is required").decision(), NEXT);
}

#[test]
fn a_limit_of_tools_passes_the_model_by() {
    let limited = Case { tools: true, ..refuses("too many tools: maximum 128") };
    assert_eq!(limited.run(1, 0), Ruling { decision: NEXT, marks: vec![model()] });
    assert_eq!(Case { direct: true, ..limited }.decision(), surface());
    let shortens = Case { tools: true, may_shorten: true, ..refuses("too many tools: maximum 128") };
    assert_eq!(shortens.run(1, 0), Ruling { decision: Decision::FewerTools, marks: vec![] });
}

#[test]
fn a_prompt_that_is_too_long_needs_another_model_or_a_larger_window() {
    let mut overflows = fails(Reason::ContextOverflow, 400);
    assert_eq!(overflows.run(1, 0), Ruling { decision: NEXT, marks: vec![model()] });
    overflows.remaining = vec![target(0)];
    assert_eq!(overflows.decision(), Decision::Stop(Stop::ContextOverflow));
    overflows.remaining.clear();
    assert_eq!(overflows.decision(), Decision::Stop(Stop::ContextOverflow));
}

#[test]
fn a_request_that_is_too_large_for_one_account_is_shown_to_the_next() {
    // EC-21
    let too_large = Case { more_accounts: true, ..fails(Reason::ContextOverflow, 413) };
    assert_eq!(too_large.run(1, 0), Ruling { decision: Decision::NextAccount, marks: vec![] });
    assert_eq!(fails(Reason::ContextOverflow, 413).run(1, 0), Ruling { decision: NEXT, marks: vec![model()] });
    let too_long = Case { more_accounts: true, ..fails(Reason::ContextOverflow, 400) };
    assert_eq!(too_long.decision(), NEXT, "the window is the model's, not the account's");
}

#[test]
fn thinking_that_is_refused_is_left_out_once() {
    let refused = Case { thoughts: true, ..refuses("invalid signature in thinking block") };
    assert_eq!(refused.run(1, 0), Ruling { decision: Decision::ThinkLess, marks: vec![] });
    assert_eq!(refused.run(30, 0).decision, Decision::Stop(Stop::MaxAttempts));
    assert_eq!(Case { thoughtless: true, ..refused }.decision(), NEXT);
}

#[test]
fn a_model_that_is_not_there_is_passed_by_and_nothing_else_is() {
    for status in [400, 404] {
        let missing = fails(Reason::ModelNotFound, status);
        assert_eq!(missing.run(1, 0), Ruling { decision: NEXT, marks: vec![model()] }, "{status}");
    }
    let denied = Case { more_accounts: true, ..fails(Reason::ModelAccessDenied, 403) };
    assert_eq!(denied.run(1, 0), Ruling { decision: Decision::NextAccount, marks: vec![connection()] });
}

#[test]
fn what_is_the_accounts_goes_to_the_next_account_then_to_the_next_target() {
    for (reason, status) in [(Reason::Auth, 401), (Reason::Forbidden, 403), (Reason::RequestRejected, 403)] {
        let failed = Case { more_accounts: true, ..fails(reason, status) };
        assert_eq!(failed.run(1, 0), Ruling { decision: Decision::NextAccount, marks: vec![connection()] });
        let last = fails(reason, status);
        assert_eq!(last.run(1, 0), Ruling { decision: NEXT, marks: vec![connection()] });
        let direct = Case { direct: true, remaining: vec![], ..last };
        assert_eq!(direct.decision(), Decision::Stop(Stop::Exhausted));
    }
}

#[test]
fn an_empty_quota_ends_the_provider_or_only_the_model_or_only_the_account() {
    let empty = fails(Reason::QuotaExhausted, 402);
    assert_eq!(empty.run(1, 0).marks, [Mark::Provider("p0".into()), connection()]);
    let per_model = Case { per_model: true, ..fails(Reason::QuotaExhausted, 402) };
    assert_eq!(per_model.run(1, 0).marks, [model(), connection()]);
    let mut by_rule = fails(Reason::QuotaExhausted, 402);
    let Outcome::Failure(failure) = &mut by_rule.outcome else { panic!("a failure") };
    failure.scope = Scope::Connection;
    assert_eq!(by_rule.run(1, 0).marks, [connection()]);
    let more = Case { more_accounts: true, ..empty };
    assert_eq!(more.run(1, 0), Ruling { decision: Decision::NextAccount, marks: vec![connection()] });
}

#[test]
fn an_unwell_service_is_asked_again_only_where_nobody_was_benched_and_nobody_else_is_there() {
    for status in [408, 500, 502, 503, 504, 524, 529] {
        let unwell = fails(Reason::ServerError, status);
        assert_eq!(unwell.run(1, 0), Ruling { decision: NEXT, marks: vec![connection()] }, "failover first");
        let last = Case { remaining: vec![], ..unwell };
        assert_eq!(last.decision(), RETRY);
        assert_eq!(Case { benched: true, ..last }.decision(), Decision::Stop(Stop::Exhausted));
    }
    let repeated = Case { remaining: vec![], repeated: 1, ..fails(Reason::ServerError, 500) };
    assert_eq!(repeated.decision(), Decision::Stop(Stop::Exhausted), "maxRetries is 1");
    for (said, last, expected) in
        [(Some(false), false, RETRY), (Some(true), false, NEXT), (Some(true), true, Decision::Stop(Stop::Exhausted))]
    {
        let mut unwell = fails(Reason::Overloaded, 503);
        unwell.config.failover_before_retry = said;
        if last {
            unwell.remaining.clear();
        }
        assert_eq!(unwell.decision(), expected, "{said:?} {last}");
    }
}

#[test]
fn a_fault_of_the_answer_or_the_model_leaves_the_account_in_play() {
    assert_eq!(fails(Reason::EmptyOrGarbled, 502).run(1, 0).marks, []);
    assert_eq!(Case { per_model: true, ..fails(Reason::ServerError, 500) }.run(1, 0).marks, []);
    assert_eq!(Case { per_model: true, ..fails(Reason::ServerError, 503) }.run(1, 0).marks, [connection()]);
}

#[test]
fn a_limit_of_a_moment_is_waited_for_and_a_longer_one_is_not() {
    let hinted = |seconds: u64, benched: bool| {
        let mut limited = Case { benched, remaining: vec![], ..fails(Reason::RateLimit, 429) };
        let Outcome::Failure(failure) = &mut limited.outcome else { panic!("a failure") };
        failure.hint = Some(Hint { delay: Millis::seconds(seconds), provenance: Provenance::Authoritative });
        limited
    };
    let retry =
        Ruling { decision: Decision::Retry { after: Millis::seconds(5) }, marks: vec![Mark::Limited("p0".into())] };
    assert_eq!(hinted(5, false).run(1, 0), retry);
    assert_eq!(hinted(6, false).decision(), Decision::Stop(Stop::Exhausted));
    assert_eq!(hinted(5, true).decision(), Decision::Stop(Stop::Exhausted));
    let elsewhere = fails(Reason::RateLimit, 429);
    assert_eq!(elsewhere.run(1, 0), Ruling { decision: NEXT, marks: vec![Mark::Limited("p0".into())] });
    let mut by_rule = fails(Reason::RateLimit, 429);
    let Outcome::Failure(failure) = &mut by_rule.outcome else { panic!("a failure") };
    failure.scope = Scope::Connection;
    assert_eq!(by_rule.run(1, 0).marks, [connection()], "a rule of account scope: no limit of the provider");
}

#[test]
fn nobody_there_is_not_asked_again() {
    for reason in [Reason::Unreachable, Reason::Tls, Reason::ContentStall, Reason::StreamIdleTimeout] {
        let away = fails(reason, 502);
        assert_eq!(away.run(1, 0), Ruling { decision: NEXT, marks: vec![] });
        assert_eq!(Case { more_accounts: true, ..away }.decision(), Decision::NextAccount);
    }
}

#[test]
fn three_identical_refusals_thirty_attempts_and_a_protected_target_end_it() {
    assert_eq!(refuses("no").run(3, 2).decision, NEXT);
    assert_eq!(refuses("no").run(3, 3).decision, Decision::Stop(Stop::IdenticalErrors));
    assert_eq!(fails(Reason::Auth, 401).run(29, 0).decision, NEXT);
    assert_eq!(fails(Reason::Auth, 401).run(30, 0).decision, Decision::Stop(Stop::MaxAttempts));
    let rotation = Case { more_accounts: true, ..fails(Reason::Auth, 401) };
    assert_eq!(rotation.run(30, 0).decision, Decision::Stop(Stop::MaxAttempts), "rotation counts");
    let protected = Case { protected: true, ..fails(Reason::ServerError, 500) };
    assert_eq!(protected.decision(), Decision::Stop(Stop::ProtectedTarget));
    assert_eq!(Case { protected: true, ..fails(Reason::QuotaExhausted, 402) }.decision(), NEXT);
}

#[test]
fn a_ruling_is_remembered_by_the_journey() {
    let (mut journey, config, here) = (Journey::default(), Config::default(), target(0));
    let others = targets(5);
    let nature = Nature::default();
    let outcome = Outcome::Neutral(Neutral::InvalidRequest);
    let ended = Ended {
        outcome: &outcome,
        status: Some(400),
        message: "no",
        hopeless: false,
        benched: false,
        too_many_tools: false,
        refuses_thoughts: false,
    };
    let mut decisions = Vec::new();
    for target in &others[..3] {
        let remaining: Vec<&Target> = others[3..].iter().collect();
        let position = Position {
            combo: Some(&config),
            target,
            connection: &"a".into(),
            nature: &nature,
            repeated: 0,
            adjusted: false,
            thoughtless: false,
            may_shorten: false,
            more_accounts: false,
            remaining: &remaining,
        };
        assert_eq!(speaks_next(&position), None);
        decisions.push(rule(&ended, &position, 1, &mut journey));
    }
    assert_eq!(decisions, [NEXT, NEXT, Decision::Stop(Stop::IdenticalErrors)]);
    let same = [&here];
    let failure = Outcome::Failure(Failure::plain(Some(401), Reason::Auth, "no"));
    let position = Position {
        combo: Some(&config),
        target: &here,
        connection: &"a".into(),
        nature: &nature,
        repeated: 0,
        adjusted: false,
        thoughtless: false,
        may_shorten: false,
        more_accounts: false,
        remaining: &same,
    };
    assert_eq!(speaks_next(&position), Some(&here), "the next is the same provider");
    rule(&Ended { outcome: &failure, status: Some(401), ..ended }, &position, 1, &mut journey);
    assert!(journey.exhausted.excludes_connection(&"p0".into(), &"a".into()));
}

#[test]
fn the_set_is_repeated_as_often_as_the_combo_says() {
    let mut config = Config::default();
    assert_eq!(repeats_set(1, &config), None);
    config.max_set_retries = 2;
    assert_eq!(
        [repeats_set(1, &config), repeats_set(2, &config), repeats_set(3, &config)],
        [Some(Millis::seconds(2)), Some(Millis::seconds(2)), None]
    );
}
