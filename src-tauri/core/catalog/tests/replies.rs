//! One reply for every rule of the shipped catalogue, and what comes of it (resilience specification, 18.4 and 19.2).

#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot be set up has failed")]

use catalog::Catalog;
use domain::{Cooldown, Failure, Millis, Outcome, Permanence, Reason, Scope, Timestamp};
use http::{HeaderMap, HeaderName, HeaderValue};
use resilience::failure::{Context, Reply, Rules, diagnose};

const NOW: Timestamp = Timestamp::from_millis(1_786_276_800_000);

struct Given<'a> {
    provider: &'a str,
    status: u16,
    header: Option<(&'static str, &'static str)>,
    code: Option<&'a str>,
    message: &'a str,
}

fn failure(given: &Given<'_>) -> Failure {
    let catalog = Catalog::builtin().expect("the catalogue that is shipped");
    let provider = catalog.by_name(given.provider).expect("a provider of the catalogue");
    let nature = provider.nature("m1", None, false);
    let mut headers = HeaderMap::new();
    if let Some((name, value)) = given.header {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let context = Context {
        provider: &provider.id,
        model: "m1",
        nature: &nature,
        rules: Rules { provider: &provider.rules, operator: &[], banned_signals: &[] },
        midnight: NOW + Millis::hours(1),
    };
    let Given { status, code, message, .. } = *given;
    let reply = Reply::Http { status, headers: &headers, body: "", message, code, kind: None };
    match diagnose(&reply, &context, NOW).outcome {
        Outcome::Failure(failure) => failure,
        other => panic!("{message}: {other:?}"),
    }
}

#[test]
fn every_rule_decides_over_its_reply_and_none_is_lasting() {
    let mut decided = Vec::new();
    for (provider, status, header, code, message, rule, reason, scope) in [
        // SR-01, SR-02, SR-09, PR-03: the rule sees the restated status.
        (
            "agentrouter",
            403,
            None,
            None,
            "用户额度不足",
            "agentrouter-user-quota-exhausted",
            Reason::QuotaExhausted,
            Scope::Connection,
        ),
        (
            "agentrouter",
            400,
            None,
            None,
            "额度不足",
            "agentrouter-user-quota-exhausted",
            Reason::QuotaExhausted,
            Scope::Connection,
        ),
        (
            "agentrouter",
            429,
            None,
            None,
            "额度不足",
            "agentrouter-user-quota-exhausted",
            Reason::QuotaExhausted,
            Scope::Connection,
        ),
        // PR-01, SR-04
        (
            "agentrouter",
            403,
            None,
            None,
            "无权访问模型",
            "agentrouter-model-access-denied",
            Reason::ModelAccessDenied,
            Scope::Model,
        ),
        (
            "agentrouter",
            403,
            None,
            None,
            "额度不足 无权访问模型",
            "agentrouter-model-access-denied",
            Reason::ModelAccessDenied,
            Scope::Model,
        ),
        // PR-17, PR-07: outside the list the scope only labels.
        (
            "opencode",
            429,
            Some(("x-ratelimit-remaining-requests", "0")),
            None,
            "",
            "opencode-no-requests-left",
            Reason::QuotaExhausted,
            Scope::Usual,
        ),
        (
            "opencode",
            429,
            Some(("x-ratelimit-remaining-tokens", "0")),
            None,
            "",
            "opencode-no-tokens-left",
            Reason::QuotaExhausted,
            Scope::Usual,
        ),
        (
            "opencode-go",
            429,
            None,
            Some("plan_limit_reached"),
            "",
            "opencode-go-account-limit",
            Reason::QuotaExhausted,
            Scope::Usual,
        ),
        (
            "opencode-cli",
            403,
            None,
            Some("account_quota_exceeded"),
            "",
            "opencode-cli-account-limit",
            Reason::QuotaExhausted,
            Scope::Usual,
        ),
        (
            "opencode-zen",
            429,
            None,
            Some("organization_quota_exceeded"),
            "",
            "opencode-zen-account-limit",
            Reason::QuotaExhausted,
            Scope::Usual,
        ),
        // PR-16
        (
            "minimax",
            429,
            Some(("x-model-quota-remaining", "m1=0")),
            None,
            "",
            "minimax-model-quota",
            Reason::QuotaExhausted,
            Scope::Model,
        ),
        (
            "minimax-passthrough",
            429,
            Some(("x-model-quota-remaining", "m1=0")),
            None,
            "",
            "minimax-passthrough-model-quota",
            Reason::QuotaExhausted,
            Scope::Model,
        ),
        ("openrouter", 402, None, None, "", "openrouter-payment", Reason::QuotaExhausted, Scope::Usual),
    ] {
        let given = Given { provider, status, header, code, message };
        let found = failure(&given);
        assert_eq!(found.rule.as_deref(), Some(rule), "{provider} {status} {message}");
        assert_eq!((found.reason, found.scope, found.permanence), (reason, scope, Permanence::Temporary), "{rule}");
        decided.push(rule);
    }
    assert!(decided.contains(&"agentrouter-model-access-denied"));
}

#[test]
fn what_the_client_is_told_is_not_how_long_the_account_rests() {
    let given = Given { provider: "agentrouter", status: 403, header: None, code: None, message: "用户额度不足" };
    let found = failure(&given);
    assert_eq!((found.status, found.advertised_retry_after), (Some(429), Some(Millis::minutes(1)))); // SR-01
    assert_eq!((found.hint, found.cooldown), (None, Cooldown::Ladder)); // SR-07
    let hinted = failure(&Given { header: Some(("retry-after", "10")), ..given });
    assert_eq!(hinted.advertised_retry_after, Some(Millis::seconds(10))); // SR-03
    let denied =
        failure(&Given {
            provider: "agentrouter", status: 403, header: None, code: None, message: "无权访问模型"
        });
    assert_eq!((denied.status, denied.cooldown), (Some(403), Cooldown::From(Millis::hours(6))));
}

#[test]
fn rules_stay_with_their_provider_and_text_rules_with_the_list() {
    for (provider, status, message, reason) in [
        ("openai", 403, "用户额度不足", Reason::Auth), // SR-05
        ("opencode", 429, "monthly usage limit reached", Reason::QuotaExhausted), // by its words, not by the rule
        ("cloudflare-ai", 429, "daily free allocation", Reason::QuotaExhausted),
        ("agentrouter", 500, "额度不足", Reason::ServerError), // SR-06
    ] {
        let found = failure(&Given { provider, status, header: None, code: None, message });
        assert_eq!((found.reason, found.rule, found.status), (reason, None, Some(status)), "{provider} {message}");
    }
}
