//! Whatever comes back, there is a verdict (acceptance SE-07): arbitrary bytes as bodies, headers and words never panic,
//! and no number that leaves this crate is larger than its bound.

use domain::{Nature, Outcome, ProviderClass, ProviderId, Timestamp};
use http::{HeaderMap, HeaderValue};
use proptest::prelude::*;
use resilience::failure::layers::{ConnectionReaction, Rest, reactions};
use resilience::failure::{Context, ProviderRules, Reply, Rules, diagnose, retry_hint};
use resilience::{Caller, Settings};

/// Bytes, and bytes between the pieces that parsers look for.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("reset in ".to_owned()),
        Just("try again at 2026-12-31T23:59:60+14:00".to_owned()),
        Just("reset at 02-29 ".to_owned()),
        Just("99999999999999999999d".to_owned()),
        Just("{\"error\":{\"details\":[{\"@type\":\"google.rpc.RetryInfo\",\"retryDelay\":\"9e9s\"}]}}".to_owned()),
        Just("\\u989d".to_owned()),
        Just("额度不足".to_owned()),
        any::<String>(),
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn headers() -> impl Strategy<Value = HeaderMap> {
    let name = prop_oneof![
        Just("retry-after"),
        Just("retry-after-ms"),
        Just("x-ratelimit-reset"),
        Just("x-ratelimit-remaining"),
        Just("anthropic-ratelimit-tokens-reset"),
        Just("x-omni-fallback-hint"),
    ];
    let value = prop_oneof![
        text().prop_map(String::into_bytes),
        any::<u64>().prop_map(|number| number.to_string().into_bytes()),
        proptest::collection::vec(any::<u8>(), 0..30),
    ];
    proptest::collection::vec((name, value), 0..4).prop_map(|pairs| {
        let usable = |(name, value): (&'static str, Vec<u8>)| {
            Some((http::HeaderName::from_static(name), HeaderValue::from_bytes(&value).ok()?))
        };
        pairs.into_iter().filter_map(usable).collect()
    })
}

fn nature() -> impl Strategy<Value = Nature> {
    let class = prop_oneof![
        Just(ProviderClass::Oauth),
        Just(ProviderClass::Apikey),
        Just(ProviderClass::Local),
        Just(ProviderClass::Free),
    ];
    let bucket = proptest::option::of(Just("b".to_owned()));
    (class, any::<bool>(), any::<bool>(), bucket).prop_map(
        |(class, per_model_quota, disable_cooling, egress_bucket)| Nature {
            class,
            per_model_quota,
            quota_family: None,
            disable_cooling,
            egress_bucket,
        },
    )
}

fn length(rest: Rest) -> domain::Millis {
    rest.length(u32::MAX)
}

proptest! {
    #[test]
    fn every_reply_has_a_bounded_verdict(
        (status, headers, body, message) in (any::<u16>(), headers(), text(), text()),
        (code, now, ahead) in (proptest::option::of(text()), any::<u64>(), any::<u64>()),
        (nature, combo) in (nature(), any::<bool>()),
    ) {
        let (provider, rules) = (ProviderId::from("gemini"), ProviderRules::default());
        let now = Timestamp::from_millis(now);
        let context = Context {
            provider: &provider,
            model: "m",
            nature: &nature,
            rules: Rules { provider: &rules, operator: &[], banned_signals: &[] },
            midnight: now + domain::Millis::new(ahead),
        };
        let reply =
            Reply::Http { status, headers: &headers, body: &body, message: &message, code: code.as_deref(), kind: None };
        let diagnosis = diagnose(&reply, &context, now);
        prop_assert_eq!(&diagnosis, &diagnose(&reply, &context, now));
        let Outcome::Failure(failure) = diagnosis.outcome else { return Ok(()) };
        prop_assert!(failure.hint.is_none_or(|hint| hint.delay <= retry_hint::LONGEST && !hint.delay.is_zero()));
        prop_assert!(failure.advertised_retry_after.is_none_or(|wait| wait <= retry_hint::LONGEST));
        let mut settings = Settings::default();
        settings.model_lockout.enabled = true;
        let caller = if combo { Caller::Combo } else { Caller::Direct };
        let found = reactions(&failure, &nature, caller, &settings);
        if let ConnectionReaction::Cool(rest) = found.connection {
            prop_assert!(!nature.disable_cooling);
            prop_assert!(length(rest) <= retry_hint::LONGEST);
        }
        for lock in [found.lock, found.combo_lock].into_iter().flatten() {
            prop_assert!(length(lock.rest) <= retry_hint::LONGEST);
        }
    }

    #[test]
    fn hints_are_positive_and_bounded(headers in headers(), body in text(), message in text(), now in any::<u64>()) {
        let hint = retry_hint::read(&headers, &body, &message, Timestamp::from_millis(now));
        prop_assert!(hint.is_none_or(|hint| !hint.delay.is_zero() && hint.delay <= retry_hint::LONGEST));
    }
}
