//! The numbers of a combo, and where each comes from (gateway specification, 3.2).
//!
//! Defaults, then the settings of all combos, then those of a provider, then the combo's own: for each key the last layer
//! that says something wins. A layer is a document of wire names, so that what nobody said stays unsaid: a default that
//! changes in a later version then reaches everyone who never chose.
//!
//! Two readings, as for all settings: [`Config::validate`] refuses what a person tries to save, [`Config::cascade`] makes
//! the best of what is stored.

use std::collections::BTreeMap;

use domain::section::{Conflict, FieldError, FieldType, Section};
use domain::{Millis, choice, section};
use serde_json::{Map, Value};

use crate::score::{Factor, Pack};

choice! {
    /// What a combo inside a combo is.
    pub enum NestedMode {
        /// Its steps stand in its place; its own strategy is ignored.
        Flatten = "flatten",
        /// It is one target that chooses by its own strategy.
        Execute = "execute",
    }
}

choice! {
    /// What happens when no target has a window of the required size.
    pub enum ContextMode {
        /// The request is refused.
        Strict = "strict",
        /// All targets are kept.
        Lenient = "lenient",
    }
}

choice! {
    /// How `auto` orders its candidates.
    pub enum RouterStrategy {
        Rules = "rules",
        Score = "score",
        Cost = "cost",
        Eco = "eco",
        Latency = "latency",
        Fast = "fast",
        SlaAware = "sla-aware",
        Lkgp = "lkgp",
    }
}

choice! {
    /// What happens when the best candidate costs more than the budget.
    pub enum BudgetMode {
        /// The request is refused with 402.
        Strict = "strict",
        /// The cheapest viable candidate is taken.
        Cheapest = "cheapest",
    }
}

section! {
    /// Smallest context window a target must have.
    pub struct ContextRequirements {
        /// Tokens; absent, no requirement.
        pub min_context_window: Option<u64>, in 1..=100_000_000;
        /// What happens when no target has it.
        pub mode: ContextMode = ContextMode::Strict;
    }
}

section! {
    /// Panel and judge of `fusion`.
    pub struct Fusion {
        /// Answers to wait for before stragglers get only their grace.
        pub min_panel: u32 = 2, in 1..=32;
        /// How long stragglers may still take.
        pub straggler_grace: Millis = Millis::seconds(8), in Millis::ZERO..=Millis::seconds(120);
        /// How long the panel may take altogether.
        pub panel_hard_timeout: Millis = Millis::seconds(90), in Millis::seconds(1)..=Millis::seconds(600);
        /// `provider/model` that writes the answer; absent, the first target.
        pub judge_model: Option<String>;
    }
}

section! {
    /// What `auto` weighs, and how.
    pub struct AutoConfig {
        /// Names or globs of `provider/model` that may be candidates; empty, all.
        pub candidate_pool: Vec<String>;
        /// Weight by factor; empty, those of the mode pack, else the defaults.
        pub weights: BTreeMap<String, f64>;
        /// A ready-made set of weights.
        pub mode_pack: Option<Pack>;
        /// Probability of trying a candidate at random; absent, that of the variant.
        pub exploration_rate: Option<f64>, in 0.0..=1.0;
        /// How candidates are ordered.
        pub router_strategy: RouterStrategy = RouterStrategy::Rules;
        /// Most that one request may be expected to cost, US dollars; absent, no limit.
        pub budget_usd: Option<f64>, in 0.0..=1_000_000.0;
        /// What happens above the budget.
        pub budget_mode: BudgetMode = BudgetMode::Cheapest;
        /// `sla-aware`: wanted 95th percentile of latency.
        pub sla_target_p95: Option<Millis>, in Millis::new(1)..=Millis::seconds(600), wire "slaTargetP95Ms";
        /// `sla-aware`: highest share of failures.
        pub sla_max_error_rate: Option<f64>, in 0.0..=1.0;
        /// `sla-aware`: highest price of a million tokens, US dollars.
        pub sla_max_cost: Option<f64>, in 0.0..=1_000_000.0, wire "slaMaxCostPer1MTokens";
        /// `sla-aware`: candidates beyond a limit are dropped instead of ranked low.
        pub sla_hard_constraints: bool;
    }
    reconcile = AutoConfig::usable_weights;
}

section! {
    /// Copies of requests to other targets, whose results are only measured. None are sent yet: the numbers are kept for
    /// documents that carry them, and the switch cannot be set.
    pub struct ShadowRouting {
        /// Whether copies are sent. Cannot be switched on yet.
        pub enabled: bool;
        /// Share of requests that are copied. Without effect: no copies are sent yet.
        pub sample_rate: f64 = 1.0, in 0.0..=1.0;
        /// Most copies of one request. Without effect: no copies are sent yet.
        pub max_targets: u32 = 2, in 1..=10;
        /// How long a copy may take. Without effect: no copies are sent yet.
        pub timeout: Millis = Millis::seconds(30), in Millis::seconds(1)..=Millis::seconds(600);
    }
    reconcile = ShadowRouting::none_yet;
}

section! {
    /// What a combo may say about itself.
    pub struct Config {
        /// Repetitions on the same target.
        pub max_retries: u32 = 1, in 0..=10;
        /// Pause before a repetition.
        pub retry_delay: Millis = Millis::seconds(2), in Millis::ZERO..=Millis::seconds(60);
        /// Pause before the next target.
        pub fallback_delay: Millis, in Millis::ZERO..=Millis::seconds(60);
        /// Repetitions of the whole ordered set.
        pub max_set_retries: u32, in 0..=10;
        /// Pause before the set is repeated.
        pub set_retry_delay: Millis = Millis::seconds(2), in Millis::ZERO..=Millis::seconds(60);
        /// True: the next target instead of the same one again. False: the same one first. Unset: the next target, and the
        /// last one is repeated.
        pub failover_before_retry: Option<bool>;
        /// Requests under way at one target of `round-robin` whose connection states no limit.
        pub concurrency_per_model: u32 = 3, in 1..=32;
        /// How long a request may wait for a place.
        pub queue_timeout: Millis = Millis::seconds(30), in Millis::ZERO..=Millis::seconds(600);
        /// Requests that may wait for a place.
        pub queue_depth: u32 = 20, in 0..=100;
        /// How long one attempt may take; of a stream, only to the head of its answer.
        pub target_timeout: Millis = Millis::seconds(120), in Millis::seconds(1)..=Millis::seconds(600);
        /// How long all attempts together may take; unset, ten minutes.
        pub combo_timeout: Option<Millis>, in Millis::seconds(1)..=Millis::seconds(600);
        /// How many combos may stand inside each other.
        pub max_combo_depth: u32 = 3, in 1..=10;
        /// What a combo inside this one is.
        pub nested_mode: NestedMode = NestedMode::Flatten;
        /// Requests in a row that `round-robin` gives one target.
        pub sticky_round_robin_limit: u32 = 1, in 1..=1_000;
        /// Requests in a row that `weighted` gives a drawn step.
        pub sticky_weighted_limit: u32 = 1, in 1..=1_000;
        /// Whether a conversation may change targets freely.
        pub disable_session_stickiness: bool;
        /// Whether targets that cannot serve a request are kept when none can.
        pub compat_filter_fail_open: bool;
        /// Smallest context window.
        pub context_requirements: ContextRequirements;
        /// Whether an answer with a good status must also hold something.
        pub response_validation: bool = true;
        /// Share of an account's quota from which `context-relay` writes a summary.
        pub handoff_threshold: f64 = 0.85, in 0.0..=1.0;
        /// `provider/model` that writes summaries; unset, the one that served.
        pub handoff_model: Option<String>;
        /// Providers whose accounts hand over.
        pub handoff_providers: Vec<String> = vec!["codex".to_owned()];
        /// Messages a summary is made from.
        pub max_messages_for_summary: u32 = 30, in 1..=100;
        /// `reset-aware`: weight of the session window.
        pub reset_aware_session_weight: f64 = 0.35, in 0.0..=1.0;
        /// `reset-aware`: weight of the longer windows.
        pub reset_aware_weekly_weight: f64 = 0.65, in 0.0..=1.0;
        /// `reset-aware`: scores this close to the best take turns.
        pub reset_aware_tie_band_percent: f64 = 5.0, in 0.0..=100.0;
        /// `reset-aware`: below this rest of a session an account is spared.
        pub reset_aware_exhaustion_guard_percent: f64 = 10.0, in 0.0..=100.0;
        /// `reset-window`: the windows whose reset counts.
        pub reset_window_names: Vec<String> = vec!["weekly".to_owned()];
        /// `reset-window`: whether the session window counts too.
        pub include_session_window: bool;
        /// `reset-window`: resets this close to each other take turns.
        pub reset_window_tie_band: Millis = Millis::minutes(1), in Millis::ZERO..=Millis::days(1);
        /// Switch of hedging and of the first-token limit.
        pub zero_latency_optimizations_enabled: bool;
        /// Whether the next target is started when the first is slow.
        pub hedging: bool;
        /// How slow is slow.
        pub hedge_delay: Millis = Millis::new(500), in Millis::ZERO..=Millis::seconds(60);
        /// Targets whose first token takes longer on average are skipped; 0, none.
        pub predictive_ttft: Millis, in Millis::ZERO..=Millis::seconds(600);
        /// Without effect, kept for documents that carry it: prompts are never compressed here.
        pub fallback_compression_mode: String = "lite".to_owned();
        /// Without effect, kept for documents that carry it: prompts are never compressed here. Tokens.
        pub fallback_compression_threshold: u32 = 1_000, in 0..=10_000_000;
        /// Whether models that think get room for it on top of the output that was asked for, as far as they can: half as much
        /// again, at least 1 024 tokens.
        pub reasoning_token_buffer_enabled: bool = true;
        /// Panel and judge.
        pub fusion: Fusion;
        /// Weights and limits of `auto`.
        pub auto_config: AutoConfig;
        /// Copies that are only measured.
        pub shadow_routing: ShadowRouting;
        /// Whether stored evaluation scores order the targets. Cannot be switched on yet: no scores are stored.
        pub eval_routing: bool;
    }
    reconcile = Config::none_yet;
}

/// A stored value that could not be used as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Index of the layer it stands in.
    pub layer: usize,
    pub field: String,
    /// What was wrong, and what was done about it.
    pub message: String,
}

impl Config {
    /// Reads the layers in order; for each key the last one that is not `null` wins. Never fails: what cannot be used is
    /// reported and passed over, what is out of range is moved to the nearest bound.
    pub fn cascade(layers: &[&Map<String, Value>]) -> (Config, Vec<ConfigProblem>) {
        let mut config = Config::default();
        let mut problems = Vec::new();
        for (layer, document) in layers.iter().enumerate() {
            let outcome = config.absorb(&said(document));
            let problem = |field: String, message: String| ConfigProblem { layer, field, message };
            problems
                .extend(outcome.unknown.into_iter().map(|field| problem(field, "unknown setting; ignored".to_owned())));
            problems.extend(outcome.warnings.into_iter().map(|error| problem(error.field, error.message)));
        }
        let last = layers.len().saturating_sub(1);
        problems.extend(config.reconcile().into_iter().map(|conflict| ConfigProblem {
            layer: last,
            field: conflict.fields.join(", "),
            message: conflict.message,
        }));
        (config, problems)
    }

    /// Refuses what a person should not save; each error names the field, its bounds, and so the remedy.
    pub fn validate(document: &Map<String, Value>) -> Result<(), Vec<FieldError>> {
        let mut config = Config::default();
        let mut errors = config.apply(&said(document));
        for error in &mut errors {
            if error.message == "unknown setting" {
                error.message = "unknown setting: remove it, or correct its name".to_owned();
            }
        }
        let conflicts = config.reconcile();
        errors.extend(
            conflicts.into_iter().map(|conflict| FieldError::new(conflict.fields.join(", "), conflict.message)),
        );
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// How long all attempts together may take (3.2: a ceiling of ten minutes in any case).
    pub fn time_limit(&self) -> Millis {
        self.combo_timeout.unwrap_or(Millis::minutes(10))
    }

    /// How long a target may say nothing useful until the next one is begun beside it, where that is switched on.
    pub fn hedge_after(&self) -> Option<Millis> {
        (self.zero_latency_optimizations_enabled && self.hedging).then_some(self.hedge_delay)
    }

    /// Average first-token time above which a target is skipped, where that is switched on.
    pub fn first_token_limit(&self) -> Option<Millis> {
        let on = self.zero_latency_optimizations_enabled && !self.predictive_ttft.is_zero();
        on.then_some(self.predictive_ttft)
    }
}

impl ShadowRouting {
    fn none_yet(&mut self) -> Vec<Conflict> {
        let message = "copies of requests are not sent yet: leave it off";
        off_for_now(&mut self.enabled, "enabled", message)
    }
}

impl Config {
    fn none_yet(&mut self) -> Vec<Conflict> {
        let message = "no evaluation scores are stored yet: leave it off";
        off_for_now(&mut self.eval_routing, "evalRouting", message)
    }
}

/// A switch that documents carry and nothing acts on stays off, and whoever sets it is told.
fn off_for_now(switch: &mut bool, field: &str, message: &str) -> Vec<Conflict> {
    if std::mem::take(switch) { vec![Conflict::new(&[field], message)] } else { Vec::new() }
}

impl AutoConfig {
    fn usable_weights(&mut self) -> Vec<Conflict> {
        let before = self.weights.len();
        self.weights.retain(|name, weight| Factor::from_text(name).is_some() && weight.is_finite() && *weight >= 0.0);
        if self.weights.len() == before {
            return Vec::new();
        }
        vec![Conflict::new(&["weights"], "every weight must be a factor's, and a number from 0 upwards")]
    }
}

/// The document without its nulls, which say nothing.
fn said(document: &Map<String, Value>) -> Value {
    let entries = document.iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| {
        let value = match value {
            Value::Object(inner) => said(inner),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => value.clone(),
        };
        (name.clone(), value)
    });
    Value::Object(entries.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().expect("an object")
    }

    #[test]
    fn the_defaults_are_those_of_the_specification() {
        let expected = r#"{
                "maxRetries": 1, "retryDelayMs": 2000, "fallbackDelayMs": 0, "maxSetRetries": 0, "setRetryDelayMs": 2000,
                "failoverBeforeRetry": null, "concurrencyPerModel": 3, "queueTimeoutMs": 30000, "queueDepth": 20,
                "targetTimeoutMs": 120000, "comboTimeoutMs": null, "maxComboDepth": 3, "nestedMode": "flatten",
                "stickyRoundRobinLimit": 1, "stickyWeightedLimit": 1, "disableSessionStickiness": false,
                "compatFilterFailOpen": false, "contextRequirements": { "minContextWindow": null, "mode": "strict" },
                "responseValidation": true, "handoffThreshold": 0.85, "handoffModel": null,
                "handoffProviders": ["codex"], "maxMessagesForSummary": 30, "resetAwareSessionWeight": 0.35,
                "resetAwareWeeklyWeight": 0.65, "resetAwareTieBandPercent": 5.0,
                "resetAwareExhaustionGuardPercent": 10.0, "resetWindowNames": ["weekly"],
                "includeSessionWindow": false, "resetWindowTieBandMs": 60000,
                "zeroLatencyOptimizationsEnabled": false, "hedging": false, "hedgeDelayMs": 500, "predictiveTtftMs": 0,
                "fallbackCompressionMode": "lite", "fallbackCompressionThreshold": 1000,
                "reasoningTokenBufferEnabled": true,
                "fusion": { "minPanel": 2, "stragglerGraceMs": 8000, "panelHardTimeoutMs": 90000, "judgeModel": null },
                "autoConfig": {
                    "candidatePool": [], "weights": {}, "modePack": null, "explorationRate": null,
                    "routerStrategy": "rules", "budgetUsd": null, "budgetMode": "cheapest", "slaTargetP95Ms": null,
                    "slaMaxErrorRate": null, "slaMaxCostPer1MTokens": null, "slaHardConstraints": false
                },
                "shadowRouting": { "enabled": false, "sampleRate": 1.0, "maxTargets": 2, "timeoutMs": 30000 },
                "evalRouting": false
        }"#;
        let expected: Value = serde_json::from_str(expected).expect("json");
        assert_eq!(Config::default().tree(), expected);
    }

    #[test]
    fn for_each_key_the_last_layer_that_says_something_wins() {
        let all = map(json!({ "maxRetries": 3, "queueDepth": 5, "fusion": { "minPanel": 3, "judgeModel": "a/b" } }));
        let provider = map(json!({ "maxRetries": 4, "queueDepth": null, "fusion": null }));
        let own = map(json!({ "retryDelayMs": 7, "fusion": { "minPanel": 4, "judgeModel": null } }));
        let (config, problems) = Config::cascade(&[&all, &provider, &own]);
        assert_eq!(problems, []);
        assert_eq!((config.max_retries, config.queue_depth, config.retry_delay), (4, 5, Millis::new(7)));
        assert_eq!((config.fusion.min_panel, config.fusion.judge_model.as_deref()), (4, Some("a/b")));
        assert_eq!(config.target_timeout, Millis::seconds(120));
    }

    #[test]
    fn stored_nonsense_is_passed_over_and_reported_with_its_layer() {
        let first = map(json!({ "queueDepth": 1_000, "hedging": "perhaps", "futureKey": 1 }));
        let second = map(json!({ "queueDepth": 7, "autoConfig": { "weights": { "quota": -1.0, "health": 2.0 } } }));
        let (config, problems) = Config::cascade(&[&first, &second]);
        assert_eq!((config.queue_depth, config.hedging), (7, false));
        assert_eq!(config.auto_config.weights.keys().collect::<Vec<_>>(), ["health"]);
        let named: Vec<_> = problems.iter().map(|problem| (problem.layer, problem.field.as_str())).collect();
        assert_eq!(named, [(0, "futureKey"), (0, "queueDepth"), (0, "hedging"), (1, "autoConfig.weights")]);
    }

    #[test]
    fn saving_is_strict_and_names_field_bounds_and_remedy() {
        for (document, expected) in [
            (json!({ "maxRetries": 11 }), "maxRetries: expected a whole number from 0 to 10"),
            (json!({ "concurrencyPerModel": 0 }), "concurrencyPerModel: expected a whole number from 1 to 32"),
            (json!({ "queueDepth": 101 }), "queueDepth: expected a whole number from 0 to 100"),
            (json!({ "maxComboDepth": 11 }), "maxComboDepth: expected a whole number from 1 to 10"),
            (json!({ "stickyRoundRobinLimit": 1001 }), "stickyRoundRobinLimit: expected a whole number from 1 to 1000"),
            (
                json!({ "retryDelayMs": 60_001 }),
                "retryDelayMs: expected a whole number of milliseconds from 0 to 60000",
            ),
            (json!({ "nestedMode": "x" }), "nestedMode: expected one of flatten execute"),
            (json!({ "retryDelay": 1 }), "retryDelay: unknown setting: remove it, or correct its name"),
            (
                json!({ "autoConfig": { "weights": { "quota": -1.0 } } }),
                "autoConfig.weights: every weight must be a factor's, and a number from 0 upwards",
            ),
        ] {
            let errors = Config::validate(&map(document)).expect_err(expected);
            assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
        }
        assert_eq!(Config::validate(&map(json!({ "maxRetries": 10, "fusion": null, "hedging": true }))), Ok(()));
    }
}
