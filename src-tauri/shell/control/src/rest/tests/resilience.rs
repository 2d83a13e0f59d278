//! The resilience settings through their own door (acceptance SP, MA, CM; resilience specification, 24.2).

use serde_json::{Value, json};

use super::World;

const PATH: &str = "/api/resilience";

fn documented() -> Value {
    json!({
        "requestQueue": { "autoEnableApiKeyProviders": false, "requestsPerMinute": 60, "minTimeBetweenRequestsMs": 350,
            "concurrentRequests": 6, "globalConcurrentRequests": 0, "maxWaitMs": 30000, "executionMaxWaitMs": 600000,
            "maxQueueDepth": 0 },
        "connectionCooldown": {
            "oauth": { "baseCooldownMs": 5000, "useUpstreamRetryHints": false, "maxBackoffSteps": 8 },
            "apikey": { "baseCooldownMs": 3000, "useUpstreamRetryHints": true, "maxBackoffSteps": 5 },
            "local": { "baseCooldownMs": 5000, "useUpstreamRetryHints": true, "maxBackoffSteps": 5 } },
        "providerBreaker": {
            "oauth": { "failureThreshold": 8, "degradationThreshold": 5, "resetTimeoutMs": 60000 },
            "apikey": { "failureThreshold": 12, "degradationThreshold": 7, "resetTimeoutMs": 30000 },
            "local": { "failureThreshold": 2, "degradationThreshold": 1, "resetTimeoutMs": 15000 } },
        "waitForCooldown": { "enabled": true, "maxRetries": 5, "maxRetryWaitSec": 90 },
        "comboCooldownWait": { "enabled": true, "maxWaitMs": 90000, "maxAttempts": 5, "budgetMs": 300000 },
        "quotaShareConcurrencyLimit": { "enabled": true },
        "providerCooldown": { "enabled": false, "minRetryCooldownMs": 5000, "maxRetryCooldownMs": 300000 },
        "providerQuotaOverrides": {},
        "quotaPreflight": { "enabled": false, "defaultThresholdPercent": 2, "warnThresholdPercent": 20,
            "providerWindowDefaults": {} },
        "streamStallCooldown": { "enabled": false },
        "streamRecovery": { "enabled": false, "continueMidStream": false, "throughputWatchdog": { "enabled": false,
            "warmupMs": 30000, "windowMs": 30000, "minUsefulBytesPerSecond": 4, "minUsefulBytes": 1 } },
        "modelLockout": { "enabled": false, "errorCodes": [403, 404, 429, 502, 503, 504], "baseCooldownMs": 120000,
            "maxCooldownMs": 1800000, "maxBackoffSteps": 10, "useExponentialBackoff": true, "persist": true },
        "tokenRefreshBreaker": { "scope": "provider", "failureThreshold": 5, "cooldownMs": 1800000 },
        "credentialHealthCheck": { "intervalMinutes": 60 },
        "legacy": {},
    })
}

/// SP-01
#[tokio::test]
async fn a_fresh_installation_has_the_documented_settings() {
    let world = World::new().await;
    assert_eq!(world.ok("GET", PATH, None).await, documented());
}

/// SP-02, SP-04, GP-12
#[tokio::test]
async fn a_wrong_change_is_refused_by_its_path_and_changes_nothing() {
    let world = World::new().await;
    for (patch, field) in [
        (json!({}), "body"),
        (json!({ "legacy": {} }), "body"),
        (json!({ "requestQueues": {} }), "requestQueues"),
        (json!({ "requestQueue": { "maxWait": 1 } }), "requestQueue.maxWait"),
        (
            json!({ "connectionCooldown": { "apikey": { "baseCooldownMs": "5000" } } }),
            "connectionCooldown.apikey.baseCooldownMs",
        ),
        (
            json!({ "connectionCooldown": { "apikey": { "baseCooldownMs": 5.7 } } }),
            "connectionCooldown.apikey.baseCooldownMs",
        ),
        (json!({ "waitForCooldown": { "maxRetries": 11 } }), "waitForCooldown.maxRetries"),
        (json!({ "tokenRefreshBreaker": { "scope": "model" } }), "tokenRefreshBreaker.scope"),
        (json!({ "providerQuotaOverrides": { "openai": { "rpm": 0 } } }), "providerQuotaOverrides"),
        (
            json!({ "providerCooldown": { "minRetryCooldownMs": 10000, "maxRetryCooldownMs": 5000 } }),
            "providerCooldown.maxRetryCooldownMs",
        ),
        (json!({ "requestQueue": 7 }), "requestQueue"),
        (json!({ "profiles": { "oauth": { "x": 1 } } }), "profiles.oauth.x"),
    ] {
        let reply = world.call("PATCH", PATH, Some(patch.clone())).await;
        assert_eq!(reply.refusal(), (400, "invalid_request", field), "{patch}: {}", reply.text);
        assert!(reply.body["error"]["message"].is_string());
        assert_eq!(world.ok("GET", PATH, None).await, documented(), "{patch}");
    }
}

/// SP-03, SP-07, SP-12
#[tokio::test]
async fn a_change_keeps_the_rest_and_holds_at_once() {
    let world = World::new().await;
    let patch = json!({ "connectionCooldown": { "apikey": { "baseCooldownMs": 10_000, "useUpstream429BreakerHints": false } } });
    let reply = world.ok("PATCH", PATH, Some(patch)).await;
    assert_eq!(reply["ok"], true);
    let mut expected = documented();
    expected["connectionCooldown"]["apikey"]["baseCooldownMs"] = json!(10_000);
    expected["connectionCooldown"]["apikey"]["useUpstream429BreakerHints"] = json!(false);
    expected["ok"] = json!(true);
    assert_eq!(reply, expected);
    assert_eq!(world.control.settings().resilience.connection_cooldown.apikey.base_cooldown.as_millis(), 10_000);

    let unset =
        json!({ "connectionCooldown": { "apikey": { "baseCooldownMs": null, "useUpstream429BreakerHints": null } } });
    world.ok("PATCH", PATH, Some(unset)).await;
    assert_eq!(world.ok("GET", PATH, None).await, documented());
    assert_eq!(
        world.ok("GET", "/api/settings", None).await["sources"]["resilienceSettings.modelLockout.enabled"],
        "default"
    );
}

#[tokio::test]
async fn older_forms_of_a_change_are_understood() {
    let world = World::new().await;
    let patch = json!({ "profiles": { "apikey": { "transientCooldown": 4000, "circuitBreakerThreshold": 20 } } });
    let reply = world.ok("PATCH", PATH, Some(patch)).await;
    assert_eq!(reply["connectionCooldown"]["apikey"]["baseCooldownMs"], 4_000);
    assert_eq!(reply["providerBreaker"]["apikey"]["failureThreshold"], 20);
}

#[tokio::test]
async fn the_older_global_keys_repeat_the_waits() {
    let world = World::new().await;
    world.ok("PATCH", PATH, Some(json!({ "waitForCooldown": { "maxRetries": 2 } }))).await;
    let stored = world.control.store().list_values(store::SETTINGS).await.expect("values");
    assert_eq!((&stored["requestRetry"], &stored["maxRetryIntervalSec"]), (&json!(2), &json!(90)));
}

#[tokio::test]
async fn global_keys_stand_at_the_top_of_the_settings() {
    let world = World::new().await;
    let patch = json!({ "customBannedSignals": [" frozen "], "autoDisableBannedAccounts": true, "sessionAffinityTtlMs": 60_000,
        "providerErrorRules": { "openai": [{ "status": 429, "match": "quota", "scope": "connection" }] } });
    let tree = world.ok("PATCH", "/api/settings", Some(patch)).await;
    assert_eq!((&tree["customBannedSignals"], &tree["sessionAffinityTtlMs"]), (&json!(["frozen"]), &json!(60_000)));
    assert_eq!(
        (&tree["sources"]["customBannedSignals"], &tree["autoDisableBannedAccounts"]),
        (&json!("stored"), &json!(true))
    );
    let long = json!({ "customBannedSignals": ["x".repeat(201)] });
    assert_eq!(world.call("PATCH", "/api/settings", Some(long)).await.refusal().2, "customBannedSignals");
    let unset = world.ok("PATCH", "/api/settings", Some(json!({ "customBannedSignals": null }))).await;
    assert_eq!(
        (&unset["customBannedSignals"], &unset["sources"]["customBannedSignals"]),
        (&json!([]), &json!("default"))
    );
    let stored = world.control.store().list_values(store::SETTINGS).await.expect("values");
    assert_eq!(stored["customBannedSignals"], Value::Null);
}
