//! Where each value comes from: default, then environment and configuration file, then what a person stored.
//!
//! A layer is a partial tree of JSON under wire names. The effective value is the fold of all layers over the defaults,
//! clamped field by field and then repaired by the sections' own rules. A persisted value beats the environment
//! (resilience specification, 26), so a variable set on an installation where somebody chose otherwise changes nothing;
//! [`FieldView::environment`] lets the screen show what it hides.

use std::collections::BTreeMap;

use domain::section::{Conflict, Field, Section};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{FieldError, Settings, Warning};

/// The layer that decided a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Default,
    /// An environment variable or the configuration file; the variable wins.
    Environment,
    /// Set by a person, kept in the database.
    Stored,
}

/// A field with its present value: one row of a settings screen.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldView {
    #[serde(flatten)]
    pub field: Field,
    /// The value in effect.
    pub value: Value,
    pub source: Source,
    /// What environment or configuration file say, also where a stored value hides it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<Value>,
}

/// What an accepted patch changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// Whole documents to store, by section; `null` for a setting of the top level that is no longer set.
    pub sections: BTreeMap<String, Value>,
    /// The fields that were named, whether or not their value differs from before.
    pub paths: Vec<String>,
}

/// All layers, and the settings that follow from them.
#[derive(Clone, Debug)]
pub struct Layered {
    file: Value,
    environment: Value,
    stored: Map<String, Value>,
    effective: Settings,
    sources: BTreeMap<String, Source>,
}

/// Sets both `FETCH_TIMEOUT_MS` and `STREAM_IDLE_TIMEOUT_MS` (resilience specification, 17.1).
const REQUEST_TIMEOUT: &str = "REQUEST_TIMEOUT_MS";
const REQUEST_TIMEOUT_PARTS: [&str; 2] = ["FETCH_TIMEOUT_MS", "STREAM_IDLE_TIMEOUT_MS"];

/// How long a session stays with its account, under its present name and the one from when only Codex had it (resilience
/// specification, 9.3).
const SESSION_TTL: &str = "sessionAffinityTtlMs";
const SESSION_TTL_BEFORE: &str = "codexSessionAffinityTtlMs";

impl Layered {
    /// `stored` holds one document per section. Whatever is wrong in any layer is left out or adjusted, and told.
    pub fn new(
        environment: &BTreeMap<String, String>,
        config_file: Option<&Value>,
        stored: BTreeMap<String, Value>,
    ) -> (Layered, Vec<Warning>) {
        let (environment, mut warnings) = Settings::default().environment(&spread_request_timeout(environment));
        let file = config_file.cloned().unwrap_or_else(|| Value::Object(Map::new()));
        let unknown = Settings::default().absorb(&file).unknown;
        warnings.extend(unknown.into_iter().map(|path| Warning::new(path, "unknown setting; ignored")));

        let mut stored: Map<String, Value> = stored.into_iter().collect();
        if let Some(earlier) = stored.shift_remove(SESSION_TTL_BEFORE) {
            stored.entry(SESSION_TTL).or_insert(earlier);
        }
        let folded = fold(&file, &environment, &stored);
        warnings.extend(folded.warnings);
        for conflict in folded.conflicts {
            let message = format!("{}; {}", conflict.message, conflict.remedy);
            warnings.extend(conflict.fields.into_iter().take(1).map(|field| Warning::new(field, &message)));
        }
        (Layered { file, environment, stored, effective: folded.effective, sources: folded.sources }, warnings)
    }

    pub fn effective(&self) -> &Settings {
        &self.effective
    }

    /// Which layer decided the field of that path (`gateway.port`).
    pub fn source(&self, path: &str) -> Source {
        self.sources.get(path).copied().unwrap_or(Source::Default)
    }

    /// Takes over a partial tree, all of it or, with the reasons, nothing. `null` unsets a field, so that environment or
    /// default show through; a secret that comes back as it is shown stays what it is. Besides its own bounds a patch must keep
    /// the rules across fields.
    pub fn patch(&mut self, tree: &Value) -> Result<Changed, Vec<FieldError>> {
        let tree = &self.effective.keep_secrets(tree);
        let errors = Settings::default().apply(tree);
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut stored = self.stored.clone();
        let paths = self.effective.merge(&mut stored, tree);
        let folded = fold(&self.file, &self.environment, &stored);
        let errors: Vec<_> = folded.conflicts.iter().filter_map(|conflict| refusal(conflict, &paths)).collect();
        if !errors.is_empty() {
            return Err(errors);
        }
        let touched = tree.as_object().into_iter().flat_map(Map::keys);
        let document = |name: &String| (name.clone(), stored.get(name).cloned().unwrap_or(Value::Null));
        let sections = touched.map(document).collect();
        self.stored = stored;
        self.effective = folded.effective;
        self.sources = folded.sources;
        Ok(Changed { sections, paths })
    }

    /// The settings in effect under their wire names.
    pub fn tree(&self) -> Value {
        self.effective.tree()
    }

    /// The deciding layer of every field.
    pub fn sources(&self) -> BTreeMap<String, Source> {
        let fields = Settings::default().fields();
        fields.into_iter().map(|Field { path, .. }| (path.clone(), self.source(&path))).collect()
    }

    /// Everything a screen needs to show and edit every field.
    pub fn fields(&self) -> Vec<FieldView> {
        let tree = self.tree();
        // Read as the values they are, so that secrets show no more of themselves than they do in the tree.
        let outside = fold(&self.file, &self.environment, &Map::new()).effective.tree();
        let view = |field: Field| {
            let value = at(&tree, &field.path).cloned().unwrap_or(Value::Null);
            let given = at(&self.environment, &field.path).or_else(|| at(&self.file, &field.path));
            let environment =
                given.and_then(|given| if field.is_secret { at(&outside, &field.path) } else { Some(given) });
            let environment = environment.cloned();
            FieldView { value, source: self.source(&field.path), environment, field }
        };
        Settings::default().fields().into_iter().map(view).collect()
    }
}

struct Folded {
    effective: Settings,
    sources: BTreeMap<String, Source>,
    conflicts: Vec<Conflict>,
    warnings: Vec<Warning>,
}

fn fold(file: &Value, environment: &Value, stored: &Map<String, Value>) -> Folded {
    let mut effective = Settings::default();
    let mut sources = BTreeMap::new();
    let mut warnings = Vec::new();
    let stored = Value::Object(stored.clone());
    let layers = [(Source::Environment, file), (Source::Environment, environment), (Source::Stored, &stored)];
    for (source, tree) in layers {
        let outcome = effective.absorb(tree);
        sources.extend(outcome.taken.into_iter().map(|path| (path, source)));
        warnings.extend(outcome.warnings);
    }
    let conflicts = effective.reconcile();
    Folded { effective, sources, conflicts, warnings }
}

/// Why a patch that named `paths` is refused for this conflict; a conflict it has no part in was there before.
fn refusal(conflict: &Conflict, paths: &[String]) -> Option<FieldError> {
    let within =
        |field: &str, path: &str| field.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let named = conflict.fields.iter().find(|field| paths.iter().any(|path| within(field, path)))?;
    Some(FieldError::new(named, &conflict.message))
}

fn spread_request_timeout(environment: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut environment = environment.clone();
    if let Some(value) = environment.get(REQUEST_TIMEOUT).cloned() {
        environment.extend(REQUEST_TIMEOUT_PARTS.map(|name| (name.to_owned(), value.clone())));
    }
    environment
}

fn at<'a>(tree: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(tree, |tree, name| tree.get(name))
}

#[cfg(test)]
mod tests {
    use domain::Millis;
    use serde_json::json;

    use super::*;
    use crate::routing::ModelPrefixMode;

    fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    fn stored(tree: Value) -> BTreeMap<String, Value> {
        tree.as_object().expect("a tree of sections").clone().into_iter().collect()
    }

    fn layered(environment: &[(&str, &str)], file: Option<Value>, tree: Value) -> (Layered, Vec<String>) {
        let (layered, warnings) = Layered::new(&variables(environment), file.as_ref(), stored(tree));
        (layered, warnings.iter().map(ToString::to_string).collect())
    }

    fn refused(layered: &mut Layered, tree: Value) -> Vec<String> {
        layered.patch(&tree).expect_err("a refusal").iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_fresh_installation_has_the_specified_defaults() {
        let (layered, warnings) = layered(&[], None, json!({}));
        assert_eq!(warnings, [""; 0]);
        assert_eq!(
            layered.tree(),
            json!({
                "gateway": {
                    "port": 20_128, "bindAddress": "127.0.0.1", "requireApiKey": true, "allowedHosts": [],
                    "corsOrigins": [], "bodyLimitBytes": 67_108_864,
                    "keepAliveAfterMs": { "messages": 2_000, "responses": 2_000, "chat": 15_000, "gemini": 15_000 },
                    "keepAliveIntervalMs": 2_500, "heartbeatIntervalMs": 15_000,
                    "maxConnections": 10_000, "drainTimeoutMs": 30_000,
                },
                "routing": {
                    "providerOrder": [], "modelPrefixMode": "dual", "defaultModel": null, "accountStrategy": {},
                    "stickyRoundRobinLimit": 1, "protectedPriorityInfra502": false,
                    "emergencyFallback": {
                        "enabled": false, "provider": "nvidia", "model": "openai/gpt-oss-120b", "maxOutputTokens": 4_096,
                    },
                },
                "translation": {
                    "cacheControlMode": "auto", "foreignTools": "when-spare", "toolLimitTruncate": false,
                },
                "network": {
                    "connectTimeoutMs": 10_000, "responseStartTimeoutMs": 600_000, "streamIdleTimeoutMs": 300_000,
                    "streamReadinessTimeoutMs": 80_000, "streamReadinessMaxTimeoutMs": 180_000,
                    "streamContentStallTimeoutMs": 300_000, "proxyMode": "none", "proxyUrl": null,
                    "egressCheckUrl": null, "allowPrivateProviderUrls": false,
                },
                "logging": {
                    "detailed": false, "retentionDays": 30, "bodyRetentionDays": 7, "usageRetentionDays": 0,
                },
                "quota": { "refreshIntervalMs": 600_000, "freshForMs": 60_000 },
                "resilienceSettings": resilience::Settings::default().tree(),
                "customBannedSignals": [], "autoDisableBannedAccounts": false, "providerErrorRules": {},
                "comboDefaults": ::routing::combo::Config::default().tree(), "providerOverrides": {},
                "sessionAffinityTtlMs": 0,
            })
        );
        assert!(layered.sources().values().all(|source| *source == Source::Default));
    }

    #[test]
    fn the_stronger_layer_wins_and_is_named() {
        let environment = [("OMNIROUTE_PORT", "1111"), ("MODELS_CATALOG_PREFIX_MODE", "alias")];
        let file =
            json!({ "gateway": { "port": 2222, "maxConnections": 50 }, "routing": { "modelPrefixMode": "dual" } });
        let (layered, warnings) = layered(&environment, Some(file), json!({ "gateway": { "port": 3333 } }));
        assert_eq!(warnings, [""; 0]);
        let effective = layered.effective();
        assert_eq!((effective.gateway.port, effective.gateway.max_connections), (3333, 50));
        assert_eq!(effective.routing.model_prefix_mode, ModelPrefixMode::Alias);
        for (path, source) in [
            ("gateway.port", Source::Stored),
            ("gateway.maxConnections", Source::Environment),
            ("routing.modelPrefixMode", Source::Environment),
            ("gateway.bindAddress", Source::Default),
        ] {
            assert_eq!(layered.source(path), source, "{path}");
        }
        let port = layered.fields().into_iter().find(|view| view.field.path == "gateway.port").expect("the port");
        assert_eq!((port.value, port.environment), (json!(3333), Some(json!(1111))));
    }

    #[test]
    fn nothing_in_a_layer_stops_the_start() {
        let (layered, warnings) = layered(
            &[("OMNIROUTE_PORT", "http"), ("REQUIRE_API_KEY", "perhaps"), ("OMNIROUTE_MAX_CONNECTIONS", "1")],
            Some(json!({ "gatway": {} })),
            json!({ "gateway": { "drainTimeoutMs": "soon" }, "logging": 7, "retired": { "x": 1 } }),
        );
        assert_eq!(
            warnings,
            [
                "OMNIROUTE_PORT: expected a whole number from 1 to 65535; ignored",
                "REQUIRE_API_KEY: expected true or false; ignored",
                "OMNIROUTE_MAX_CONNECTIONS: expected a whole number from 16 to 100000; the nearest allowed value is used",
                "gatway: unknown setting; ignored",
                "gateway.drainTimeoutMs: expected a whole number of milliseconds from 0 to 600000; ignored",
                "logging: expected an object",
            ]
        );
        assert_eq!(layered.effective().gateway.max_connections, 16);
        assert_eq!(layered.effective().gateway.drain_timeout, Millis::seconds(30));
        assert_eq!(layered.source("gateway.drainTimeoutMs"), Source::Default);
    }

    #[test]
    fn one_variable_sets_both_time_limits() {
        let environment = [("REQUEST_TIMEOUT_MS", "5000"), ("FETCH_TIMEOUT_MS", "9000")];
        let (layered, _) = layered(&environment, None, json!({}));
        let network = &layered.effective().network;
        assert_eq!(network.response_start_timeout, Millis::seconds(5));
        assert_eq!(network.stream_idle_timeout, Millis::seconds(5));
    }

    #[test]
    fn a_patch_stores_whole_sections_and_keeps_what_it_does_not_know() {
        let (mut layered, _) = layered(&[], None, json!({ "gateway": { "port": 80, "later": [1] } }));
        let changed = layered.patch(&json!({ "gateway": { "maxConnections": 100 } })).expect("a valid patch");
        assert_eq!(changed.paths, ["gateway.maxConnections"]);
        assert_eq!(
            changed.sections,
            BTreeMap::from([("gateway".to_owned(), json!({ "port": 80, "later": [1], "maxConnections": 100 }))])
        );
        assert_eq!(layered.effective().gateway.max_connections, 100);
    }

    #[test]
    fn null_lets_the_layer_below_show_through() {
        let (mut layered, _) = layered(&[("OMNIROUTE_PORT", "1111")], None, json!({ "gateway": { "port": 80 } }));
        let changed = layered.patch(&json!({ "gateway": { "port": null } })).expect("a valid patch");
        assert_eq!(changed.sections["gateway"], json!({}));
        assert_eq!(layered.effective().gateway.port, 1111);
        assert_eq!(layered.source("gateway.port"), Source::Environment);
    }

    #[test]
    fn a_wrong_patch_changes_nothing_and_says_what_is_allowed() {
        let (mut layered, _) = layered(&[], None, json!({}));
        let before = layered.tree();
        for (tree, expected) in [
            (
                json!({ "gateway": { "port": 0, "maxConnections": 100 } }),
                "gateway.port: expected a whole number from 1 to 65535",
            ),
            (json!({ "gateway": { "Port": 1 } }), "gateway.Port: unknown setting"),
            (json!({ "nothing": {} }), "nothing: unknown setting"),
            (json!([]), "body: expected an object"),
            (json!({ "network": { "proxyMode": "custom" } }), "network.proxyMode: the mode custom needs a proxyUrl"),
        ] {
            assert_eq!(refused(&mut layered, tree), [expected]);
            assert_eq!(layered.tree(), before);
        }
    }

    #[test]
    fn the_listener_is_never_open_to_others_without_keys() {
        let (mut layered, _) = layered(&[], None, json!({ "gateway": { "requireApiKey": false } }));
        assert!(!layered.effective().gateway.require_api_key);
        let message = "keys can be left out only while bindAddress is this computer's own (127.0.0.1 or ::1)";
        let open = json!({ "gateway": { "bindAddress": "0.0.0.0" } });
        assert_eq!(refused(&mut layered, open), [format!("gateway.bindAddress: {message}")]);
        let both = json!({ "gateway": { "bindAddress": "0.0.0.0", "requireApiKey": true } });
        assert!(layered.patch(&both).is_ok());
        let unlock = json!({ "gateway": { "requireApiKey": false } });
        assert_eq!(refused(&mut layered, unlock), [format!("gateway.requireApiKey: {message}")]);
    }

    #[test]
    fn a_conflict_from_outside_is_repaired_and_blocks_no_other_change() {
        let environment = [("OMNIROUTE_BIND_ADDRESS", "0.0.0.0"), ("REQUIRE_API_KEY", "false")];
        let (mut layered, warnings) = layered(&environment, None, json!({}));
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(layered.effective().gateway.require_api_key);
        assert!(layered.patch(&json!({ "logging": { "detailed": true } })).is_ok());
    }

    /// SA-12, RP-09
    #[test]
    fn how_long_a_session_stays_is_carried_over_from_its_earlier_name() {
        for (tree, expected) in [
            (json!({ "codexSessionAffinityTtlMs": 300_000 }), Millis::minutes(5)),
            (json!({ "codexSessionAffinityTtlMs": 300_000, "sessionAffinityTtlMs": 1_000 }), Millis::seconds(1)),
        ] {
            let (layered, warnings) = layered(&[], None, tree);
            assert_eq!(warnings, [""; 0]);
            assert_eq!(layered.effective().session_affinity_ttl, expected);
            assert_eq!(layered.source("sessionAffinityTtlMs"), Source::Stored);
        }
    }

    /// GP-11
    #[test]
    fn a_senseless_variable_leaves_the_default_and_is_told() {
        const NAME: &str = "OMNIROUTE_PROVIDER_BREAKER_API_KEY_FAILURE_THRESHOLD";
        for (text, threshold, warned) in [("3", 3, 0), ("0", 15, 1), ("-1", 15, 1), ("abc", 15, 1), ("500", 200, 1)] {
            let (layered, warnings) = layered(&[(NAME, text)], None, json!({}));
            assert_eq!(layered.effective().resilience.provider_cooldown.apikey.failure_threshold, threshold, "{text}");
            assert_eq!(warnings.len(), warned, "{text}: {warnings:?}");
        }
    }

    #[test]
    fn each_profile_has_its_own_variables_and_a_stored_value_beats_them() {
        let environment = [("OMNIROUTE_CIRCUIT_BREAKER_OAUTH_THRESHOLD", "20"), ("RATE_LIMIT_MAX_QUEUE_DEPTH", "0")];
        let stored = json!({ "resilienceSettings": { "requestQueue": { "maxQueueDepth": 7 } } });
        let (layered, warnings) = layered(&environment, None, stored);
        assert_eq!(warnings, [""; 0]);
        let breakers = &layered.effective().resilience.provider_breaker;
        assert_eq!((breakers.oauth.failure_threshold, breakers.apikey.failure_threshold), (20, 12));
        assert_eq!(layered.effective().resilience.request_queue.max_queue_depth, 7);
    }

    #[test]
    fn an_operator_s_rule_that_makes_no_sense_is_refused_by_its_place() {
        let (mut layered, _) = layered(&[], None, json!({}));
        let rule = |status: u16| json!({ "status": status, "match": "quota", "scope": "connection" });
        let wrong = json!({ "providerErrorRules": { "openai": [rule(429), rule(99)] } });
        let errors = refused(&mut layered, wrong);
        assert!(errors[0].contains("providerErrorRules.openai[1].status"), "{errors:?}");
        assert!(layered.patch(&json!({ "providerErrorRules": { "openai": [rule(400)] } })).is_ok());
        assert_eq!(layered.effective().provider_error_rules["openai"].len(), 1);
        let unknown = json!({ "providerErrorRules": { "openai": [{ "status": 400, "text": "x" }] } });
        assert_eq!(refused(&mut layered, unknown).len(), 1);
    }

    /// TS-05
    #[test]
    fn ban_phrases_are_trimmed_and_a_long_one_is_refused() {
        let (mut layered, _) = layered(&[], None, json!({}));
        let phrases = json!({ "customBannedSignals": ["  account frozen ", "", "   "] });
        assert!(layered.patch(&phrases).is_ok());
        assert_eq!(layered.effective().custom_banned_signals, ["account frozen"]);
        let (long, most) = ("x".repeat(201), "x".repeat(200));
        let message = "customBannedSignals: a phrase has at most 200 characters";
        assert_eq!(refused(&mut layered, json!({ "customBannedSignals": [long] })), [message]);
        assert!(layered.patch(&json!({ "customBannedSignals": [most] })).is_ok());
        let changed = layered.patch(&json!({ "customBannedSignals": null })).expect("a valid patch");
        assert_eq!(changed.sections["customBannedSignals"], Value::Null);
        assert_eq!(layered.effective().custom_banned_signals, [""; 0]);
    }

    #[test]
    fn what_combos_do_is_part_of_the_tree_and_overrides_are_named_by_provider() {
        let (mut layered, _) = layered(&[], None, json!({}));
        let patch = json!({
            "comboDefaults": { "maxRetries": 3, "fusion": { "minPanel": 4 } },
            "providerOverrides": { "claude": { "targetTimeoutMs": 60_000 } },
        });
        layered.patch(&patch).expect("a valid patch");
        let changed = layered.patch(&json!({ "comboDefaults": { "queueDepth": 5 } })).expect("a valid patch");
        assert_eq!(changed.sections["comboDefaults"]["maxRetries"], json!(3), "members are merged");
        let settings = layered.effective();
        assert_eq!((settings.combo_defaults.max_retries, settings.combo_defaults.fusion.min_panel), (3, 4));
        assert_eq!(settings.provider_overrides["claude"]["targetTimeoutMs"], json!(60_000));
        assert_eq!(layered.source("comboDefaults.queueDepth"), Source::Stored);
        let wrong = json!({
            "providerOverrides": { "a": { "queueDepth": 101, "maxRetries": 2 }, "b": { "colour": 1 } },
        });
        assert_eq!(
            refused(&mut layered, wrong),
            [
                "providerOverrides.a.queueDepth: expected a whole number from 0 to 100",
                "providerOverrides.b.colour: unknown setting: remove it, or correct its name",
            ]
        );
        let wrong = json!({ "comboDefaults": { "autoConfig": { "weights": { "cost": -1 } } } });
        assert!(refused(&mut layered, wrong)[0].starts_with("comboDefaults.autoConfig.weights: "));
        assert!(layered.patch(&json!({ "providerOverrides": null })).is_ok());
        assert!(layered.effective().provider_overrides.is_empty());
    }

    #[test]
    fn a_stored_override_that_makes_no_sense_is_left_out_alone() {
        let stored = json!({ "providerOverrides": { "a": { "queueDepth": 101, "maxRetries": 2 } } });
        let (layered, warnings) = layered(&[], None, stored);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert_eq!(json!(layered.effective().provider_overrides), json!({ "a": { "maxRetries": 2 } }));
    }
}
