//! Everything that can be set, as one tree.
//!
//! Each section declares its fields once with [`domain::section!`]; this crate gathers the sections into [`Settings`] and
//! lays the sources of values over each other in [`Layered`]. Durations are milliseconds and say so in their wire name.
//! `0` means what the field's help says, never "not set": not set is absence.

mod combos;
mod layered;

pub mod flags;
pub mod gateway;
pub mod logging;
pub mod network;
pub mod quota;
pub mod routing;
pub mod translation;

use domain::section::Conflict;
use domain::{Millis, section};
use resilience::failure::error_rules::{OperatorTable, operator_rules};

pub use combos::ProviderOverrides;
pub use domain::section::{Field, FieldError};
pub use layered::{Changed, FieldView, Layered, Source};

/// Something about a configured value that was ignored or adjusted; the program starts all the same.
pub type Warning = FieldError;

section! {
    /// The whole tree. The wire name of a section is also the key of its stored document.
    pub struct Settings {
        /// The listener that agents talk to.
        pub gateway: gateway::Config;
        /// How a model name finds its provider.
        pub routing: routing::Config;
        /// How requests become those of another dialect.
        pub translation: translation::Config;
        /// How this computer reaches the providers.
        pub network: network::Config;
        /// What is written down about requests.
        pub logging: logging::Config;
        /// How often vendors are asked what is left of accounts.
        pub quota: quota::Config;
        /// When accounts, models and providers are spared, and for how long.
        pub resilience: resilience::Settings, wire "resilienceSettings";
        /// Phrases that, in an error of a provider, mean that the account is banned; beside the built-in ones. A broad word
        /// bans healthy accounts for good: try it out first.
        pub custom_banned_signals: Vec<String>;
        /// Whether a banned account is also switched off.
        pub auto_disable_banned_accounts: bool;
        /// What errors of a provider mean, beside what its catalogue entry knows: lists of `status`, `match`, `scope`, and
        /// optionally `reason` and `cooldownMs`, by provider; at most 50 rules in all.
        pub provider_error_rules: OperatorTable;
        /// What every combo does that says nothing else.
        pub combo_defaults: ::routing::combo::Config;
        /// What combos do at a provider: part of `comboDefaults`, by provider; a combo's own word goes before.
        pub provider_overrides: ProviderOverrides;
        /// How long a conversation stays with the account that served it; 0 does not bind it.
        pub session_affinity_ttl: Millis, in Millis::ZERO..=Millis::days(30);
    }
    reconcile = Settings::rules_of_the_top_level;
}

/// Longest phrase that can mean a ban, in characters (resilience specification, 7.2).
const LONGEST_SIGNAL: usize = 200;

impl Settings {
    fn rules_of_the_top_level(&mut self) -> Vec<Conflict> {
        let conflicts = self.tidy_signals().into_iter().chain(self.check_error_rules());
        conflicts.chain(combos::usable_overrides(&mut self.provider_overrides)).collect()
    }

    /// One rule that makes no sense, and none is used: half a set of rules is another set.
    fn check_error_rules(&mut self) -> Vec<Conflict> {
        let Err(errors) = operator_rules(&self.provider_error_rules) else { return Vec::new() };
        self.provider_error_rules.clear();
        errors.into_iter().map(|error| Conflict::new(&[&error.field], error.message)).collect()
    }

    /// Trims phrases and drops blank ones without a word; leaves out those that are too long, and says so.
    fn tidy_signals(&mut self) -> Option<Conflict> {
        let signals = std::mem::take(&mut self.custom_banned_signals);
        let trimmed = signals.iter().map(|signal| signal.trim()).filter(|signal| !signal.is_empty());
        let (kept, long): (Vec<&str>, Vec<&str>) = trimmed.partition(|signal| signal.chars().count() <= LONGEST_SIGNAL);
        self.custom_banned_signals = kept.into_iter().map(str::to_owned).collect();
        if long.is_empty() {
            return None;
        }
        let message = format!("a phrase has at most {LONGEST_SIGNAL} characters");
        Some(Conflict::new(&["customBannedSignals"], message))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use domain::section::{Kind, Section};

    use super::*;

    #[test]
    fn every_field_can_be_explained_and_has_its_default_within_its_bounds() {
        let mut clamped = Settings::default();
        clamped.clamp();
        assert_eq!(clamped, Settings::default());
        assert_eq!(clamped.reconcile(), []);
        for field in Settings::default().fields() {
            assert!(!field.help.is_empty(), "{} has no help", field.path);
            let bounded = !matches!(field.kind, Kind::Integer | Kind::Duration) || field.max.is_some();
            assert!(bounded, "{} has no bounds", field.path);
        }
    }

    #[test]
    fn no_variable_sets_two_fields() {
        let mut seen = BTreeSet::new();
        for variable in Settings::default().fields().into_iter().filter_map(|field| field.env) {
            assert!(seen.insert(variable.clone()), "{variable} is declared twice");
        }
    }

    #[test]
    fn lengths_of_time_say_their_unit() {
        for field in Settings::default().fields() {
            let told = field.unit != Some("ms") || field.path.contains("Ms");
            assert!(told, "{} does not name its unit", field.path);
        }
    }

    /// SP-05
    #[test]
    fn every_bound_is_accepted_and_what_lies_beyond_is_refused() {
        for field in Settings::default().fields() {
            let (Some(min), Some(max)) = (&field.min, &field.max) else { continue };
            let (min, max) = (min.as_f64().expect("a number"), max.as_f64().expect("a number"));
            for (number, accepted) in [(min, true), (max, true), (min - 1.0, false), (max + 1.0, false)] {
                let number = serde_json::json!(number);
                let value = if field.kind == Kind::List { serde_json::json!([number]) } else { number };
                let nested = |inner, name: &str| serde_json::json!({ name: inner });
                let patch = field.path.rsplit('.').fold(value, nested);
                assert_eq!(Settings::default().apply(&patch).is_empty(), accepted, "{patch}");
            }
        }
    }
}
