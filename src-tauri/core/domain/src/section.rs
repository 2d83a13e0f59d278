//! Settings sections: everything about a setting is said once, where it is used.
//!
//! [`section!`](crate::section!) declares a struct together with each field's default, bounds, environment variable and
//! help text. From that one declaration follow the struct, its `Default`, its JSON form, the strict reading of a patch,
//! the tolerant reading of stored values and of the environment, clamping, and the table of fields that the window and
//! the REST API show. Nothing states a bound a second time.
//!
//! ```
//! use domain::{Millis, section, section::Section};
//!
//! section! {
//!     /// When a provider is taken out of rotation.
//!     pub struct Config {
//!         /// Failures after which traffic stops.
//!         pub open_after: u32 = 12, in 1..=1_000, env "OMNIROUTE_OPEN_AFTER";
//!         /// How long traffic stays stopped.
//!         pub reset_timeout: Millis = Millis::seconds(30), in Millis::seconds(1)..=Millis::hours(24);
//!     }
//! }
//!
//! let mut config = Config { open_after: 0, ..Config::default() };
//! config.clamp();
//! assert_eq!(config.open_after, 1);
//! assert_eq!(config.tree(), serde_json::json!({ "openAfter": 1, "resetTimeoutMs": 30_000 }));
//! ```
//!
//! **Names.** The wire name is the field's name in camel case; lengths of time get `Ms` at the end. `wire "…"` replaces
//! it where the specification spells it differently.
//!
//! **Nesting.** A field may itself be a section. Its default may differ from its type's default (`= Profile::oauth()`),
//! and `env "WORD"` on it is put into the names its own fields declare: in place of `{}` where a name has one
//! (`env "OMNIROUTE_{}_LIMIT"`), else in front.
//!
//! **The environment** is a default, so a value in it that makes no sense is ignored: text that is no number, and zero where
//! zero is out of range. Other values out of range are clamped.
//!
//! **Two readings.** A patch is somebody's wish and is refused when it is wrong ([`Section::apply`]). Stored values and
//! the environment must never stop the program: what has the wrong type is ignored, what is out of range is clamped, and
//! both are reported ([`Section::absorb`]).
//!
//! **Rules across fields** are one function per section, `reconcile = Config::rule;` after the struct. It repairs the
//! section and says what it repaired; a patch that caused a repair is refused with the same words.

mod field_type;
mod macros;
mod slot;
mod walk;

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

pub use field_type::{FieldType, Kind};
pub use slot::{Part, Shape, Slot, ValueSlot};

#[doc(hidden)]
pub mod reexport {
    pub use serde;
    pub use serde_json;
}

/// One field of a section, with its place in a live value.
pub struct Member<'a> {
    /// Wire name.
    pub name: String,
    pub help: String,
    /// Environment variable, or what stands before the variables of a nested section.
    pub env: Option<&'static str>,
    pub slot: Slot<'a>,
}

/// What can be said about a field without a value: a row of the table that screens are built from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Field {
    /// Wire names joined by dots: `gateway.port`.
    pub path: String,
    pub kind: Kind,
    /// `ms`, `bytes`, `days`…
    pub unit: Option<&'static str>,
    /// Smallest allowed value, of each item where the field is a list.
    pub min: Option<Value>,
    /// Largest allowed value, of each item where the field is a list.
    pub max: Option<Value>,
    /// The allowed words of a choice; empty for other kinds.
    pub choices: &'static [&'static str],
    /// Whether a part of the value is never shown and is sealed where it is kept.
    pub is_secret: bool,
    pub default: Value,
    pub env: Option<String>,
    pub help: String,
}

/// Why a value was refused or, in a tolerant reading, what was done about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldError {
    /// Path of the field, or name of the environment variable.
    pub field: String,
    /// Names the remedy; never quotes the value, which may be secret.
    pub message: String,
    /// A word of [`crate::wire::fault`], where the fault is of a common kind.
    pub code: Option<&'static str>,
    /// What goes with the code, in its order.
    pub values: Vec<String>,
}

/// Fields that contradict each other, as found and, as a rule, repaired by a section's rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Paths of the fields that together are wrong, the repaired one first.
    pub fields: Vec<String>,
    pub message: String,
    /// What was done about it where the values came from elsewhere than a patch.
    pub remedy: &'static str,
}

/// The outcome of a tolerant reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Absorbed {
    /// Paths of the values that took effect, clamped ones included.
    pub taken: Vec<String>,
    /// Paths the section does not have, as a newer version of the program may have left them.
    pub unknown: Vec<String>,
    pub warnings: Vec<FieldError>,
}

/// A struct declared with [`section!`](crate::section!).
pub trait Section {
    /// Every field in the order of declaration.
    fn members(&mut self) -> Vec<Member<'_>>;

    /// This section's own rule across fields, with paths relative to the section.
    fn rule(&mut self) -> Vec<Conflict>;

    /// The value as JSON under its wire names, as it may be shown: secrets stand without what hides in them.
    fn tree(&self) -> Value
    where
        Self: Sized + Clone,
    {
        walk::read(&mut self.clone())
    }

    /// The table of fields, nested sections included, with the values of `self` as defaults.
    fn fields(&self) -> Vec<Field>
    where
        Self: Sized + Clone,
    {
        let mut rows = Vec::new();
        walk::describe(&mut self.clone(), "", "", &mut rows);
        rows
    }

    /// Reads a partial tree strictly: an unknown name, a wrong type or a value out of range is an error and leaves that
    /// field alone. `null` for a plain field means "not said".
    fn apply(&mut self, tree: &Value) -> Vec<FieldError>
    where
        Self: Sized,
    {
        let mut errors = Vec::new();
        walk::apply(self, tree, "", &mut errors);
        errors
    }

    /// Reads a partial tree tolerantly: what is unknown is skipped, what has the wrong type is skipped with a warning,
    /// numbers are truncated and clamped.
    fn absorb(&mut self, tree: &Value) -> Absorbed
    where
        Self: Sized,
    {
        let mut outcome = Absorbed::default();
        walk::absorb(self, tree, "", &mut outcome);
        outcome
    }

    /// What the environment says, as a partial tree of usable values.
    fn environment(&self, variables: &BTreeMap<String, String>) -> (Value, Vec<FieldError>)
    where
        Self: Sized + Clone,
    {
        let mut warnings = Vec::new();
        let tree = walk::environment(&mut self.clone(), variables, "", &mut warnings);
        (Value::Object(tree), warnings)
    }

    /// Writes a patch that [`Section::apply`] accepted into a stored document and returns the paths it named. `null`
    /// removes a field; what this section does not know stays as it is.
    fn merge(&self, stored: &mut Map<String, Value>, patch: &Value) -> Vec<String>
    where
        Self: Sized + Clone,
    {
        let mut paths = Vec::new();
        walk::merge(&mut self.clone(), stored, patch, "", &mut paths);
        paths
    }

    /// A patch without the secrets that come back as this section shows them: they stay what they are.
    fn keep_secrets(&self, patch: &Value) -> Value
    where
        Self: Sized + Clone,
    {
        walk::keep_secrets(&mut self.clone(), patch)
    }

    /// Moves every value into its bounds.
    fn clamp(&mut self)
    where
        Self: Sized,
    {
        walk::clamp(self);
    }

    /// Applies the rules across fields, innermost sections first, and says what they repaired.
    fn reconcile(&mut self) -> Vec<Conflict>
    where
        Self: Sized,
    {
        let mut conflicts = Vec::new();
        walk::reconcile(self, "", &mut conflicts);
        conflicts
    }
}

impl FieldError {
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        FieldError { field: field.into(), message: message.into(), code: None, values: Vec::new() }
    }

    /// The fault is of a common kind: a word of [`crate::wire::fault`], with what goes with it.
    #[must_use]
    pub fn coded<V: ToString>(self, code: &'static str, values: &[V]) -> Self {
        FieldError { code: Some(code), values: values.iter().map(V::to_string).collect(), ..self }
    }

    /// The same fault, of a member that stands elsewhere.
    #[must_use]
    pub fn at(self, field: impl Into<String>) -> Self {
        FieldError { field: field.into(), ..self }
    }
}

impl Conflict {
    /// `fields` are wire names relative to the section, the repaired one first.
    pub fn new(fields: &[&str], message: impl Into<String>) -> Self {
        Conflict {
            fields: fields.iter().map(|&field| field.to_owned()).collect(),
            message: message.into(),
            remedy: "adjusted",
        }
    }

    /// Nothing was repaired, because no value would be what was meant.
    #[must_use]
    pub fn left(self, remedy: &'static str) -> Self {
        Conflict { remedy, ..self }
    }
}

impl<'a> Member<'a> {
    /// Called by [`section!`](crate::section!).
    pub fn new(field: &str, wire: Option<&str>, help: &[&str], env: Option<&'static str>, slot: Slot<'a>) -> Self {
        let name = match wire {
            Some(wire) => wire.to_owned(),
            None => wire_name(field, &slot),
        };
        let help = help.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        Member { name, help, env, slot }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

impl std::error::Error for FieldError {}

fn wire_name(field: &str, slot: &Slot<'_>) -> String {
    let mut words = field.split('_');
    let mut name = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    if let Slot::Value(value) = slot
        && value.shape().unit == Some("ms")
    {
        name.push_str("Ms");
    }
    name
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;
    use crate::{Millis, choice, section};

    choice! {
        /// How accounts take turns.
        pub enum Strategy {
            Priority = "priority",
            RoundRobin = "roundRobin",
        }
    }

    section! {
        /// When traffic stops.
        pub struct Profile {
            /// Failures after which the provider is shown as degraded;
            /// traffic continues.
            pub degraded_after: u32 = 7, in 1..=1_000, env "MOST_{}DEGRADED", wire "degradationThreshold";
            /// Failures after which traffic stops.
            pub open_after: u32 = 12, in 1..=1_000, env "OPEN_AFTER", wire "failureThreshold";
            /// How long traffic stays stopped.
            pub reset_timeout: Millis = Millis::seconds(30), in Millis::seconds(1)..=Millis::hours(24);
        }
        reconcile = Profile::order;
    }

    impl Profile {
        fn local() -> Self {
            Profile { open_after: 2, degraded_after: 1, ..Profile::default() }
        }

        fn order(&mut self) -> Vec<Conflict> {
            if self.degraded_after < self.open_after || self.open_after == 1 {
                return Vec::new();
            }
            self.degraded_after = self.open_after - 1;
            vec![Conflict::new(&["degradationThreshold", "failureThreshold"], "must be below failureThreshold")]
        }
    }

    section! {
        /// A section of every kind of field.
        pub struct Config {
            /// Whether anything happens.
            pub enabled: bool, env "ENABLED";
            /// Port of the listener.
            pub port: u16 = 20_128, in 1..=65_535, env "PORT";
            /// Largest body.
            pub body_limit_bytes: u64 = 1_024, in 1..=4_096;
            /// Share in 0..=1.
            pub share: f64 = 0.5, in 0.0..=1.0;
            /// Name.
            pub name: String = "x".to_owned(), env "NAME";
            /// Default model, if any.
            pub model: Option<String>;
            /// Optional number.
            pub cap: Option<u32>, in 1..=10;
            /// Statuses that count.
            pub codes: Vec<u16> = vec![429, 503], in 400..=599, env "CODES";
            /// Turn taking.
            pub strategy: Strategy = Strategy::Priority, env "STRATEGY";
            /// Shares by name.
            pub shares: BTreeMap<String, f64>;
            /// Servers on this computer.
            pub local: Profile = Profile::local(), env "LOCAL_";
        }
    }

    fn errors(tree: Value) -> Vec<String> {
        Config::default().apply(&tree).iter().map(ToString::to_string).collect()
    }

    fn field(path: &str) -> Field {
        Config::default().fields().into_iter().find(|field| field.path == path).expect("a field of that path")
    }

    #[test]
    fn the_tree_has_wire_names_and_the_defaults_of_the_instance() {
        assert_eq!(
            Config::default().tree(),
            json!({
                "enabled": false, "port": 20_128, "bodyLimitBytes": 1_024, "share": 0.5, "name": "x", "model": null,
                "cap": null, "codes": [429, 503], "strategy": "priority", "shares": {},
                "local": { "degradationThreshold": 1, "failureThreshold": 2, "resetTimeoutMs": 30_000 },
            })
        );
    }

    #[test]
    fn the_table_says_everything_once_declared() {
        let reset = field("local.resetTimeoutMs");
        assert_eq!((reset.kind, reset.unit), (Kind::Duration, Some("ms")));
        assert_eq!((reset.min, reset.max), (Some(json!(1_000)), Some(json!(86_400_000))));
        let degraded = field("local.degradationThreshold");
        assert_eq!(degraded.env.as_deref(), Some("MOST_LOCAL_DEGRADED"));
        assert_eq!(degraded.default, json!(1));
        assert_eq!(degraded.help, "Failures after which the provider is shown as degraded; traffic continues.");
        assert_eq!(field("bodyLimitBytes").unit, Some("bytes"));
        assert_eq!(field("strategy").choices, ["priority", "roundRobin"]);
        assert_eq!(field("codes").max, Some(json!(599)));
        assert_eq!(field("model").min, None);
    }

    #[test]
    fn a_wrong_patch_is_refused_by_name_and_range() {
        for (tree, expected) in [
            (json!({ "port": 0 }), "port: expected a whole number from 1 to 65535"),
            (json!({ "port": "80" }), "port: expected a whole number from 1 to 65535"),
            (json!({ "codes": [200] }), "codes: expected a list of values from 400 to 599"),
            (json!({ "cap": 11 }), "cap: expected a whole number from 1 to 10"),
            (json!({ "strategy": "random" }), "strategy: expected one of priority roundRobin"),
            (json!({ "shares": { "a": "x" } }), "shares: expected an object with a valid value for each name"),
            (json!({ "local": { "resetTimeout": 1 } }), "local.resetTimeout: unknown setting"),
            (json!({ "local": 3 }), "local: expected an object"),
            (json!({ "local": null }), "local: expected an object"),
        ] {
            assert_eq!(errors(tree), [expected]);
        }
        assert_eq!(errors(json!({ "port": null, "cap": 10, "codes": [], "share": 1 })), [""; 0]);
    }

    #[test]
    fn stored_values_never_stop_the_program() {
        let mut config = Config::default();
        let outcome = config.absorb(&json!({
            "port": 70_000.5, "share": -3, "name": 7, "future": true, "local": { "failureThreshold": 9.9 }, "codes": [1],
        }));
        assert_eq!((config.port, config.share, config.local.open_after), (65_535, 0.0, 9));
        assert_eq!((config.name.as_str(), config.codes), ("x", vec![400]));
        assert_eq!(outcome.unknown, ["future"]);
        assert_eq!(outcome.taken, ["port", "share", "local.failureThreshold", "codes"]);
        let named: Vec<_> = outcome.warnings.iter().map(|warning| warning.field.as_str()).collect();
        assert_eq!(named, ["port", "share", "name", "local.failureThreshold", "codes"]);
    }

    #[test]
    fn merging_replaces_plain_fields_removes_nulls_and_keeps_the_unknown() {
        let stored = json!({ "port": 1, "shares": { "a": 1.0 }, "later": 7, "local": { "later": 8 } });
        let mut stored = stored.as_object().cloned().expect("an object");
        let patch = json!({ "port": null, "shares": { "b": 2.0 }, "local": { "failureThreshold": 5 } });
        let paths = Config::default().merge(&mut stored, &patch);
        assert_eq!(paths, ["port", "shares", "local.failureThreshold"]);
        assert_eq!(
            Value::Object(stored),
            json!({ "shares": { "b": 2.0 }, "later": 7, "local": { "later": 8, "failureThreshold": 5 } })
        );
    }

    #[test]
    fn the_environment_is_a_partial_tree() {
        let variables = [
            ("ENABLED", "yes"),
            ("PORT", "http"),
            ("CODES", "429, 700"),
            ("STRATEGY", " roundRobin "),
            ("NAME", ""),
            ("LOCAL_OPEN_AFTER", "5"),
            ("MOST_LOCAL_DEGRADED", "0"),
            ("OPEN_AFTER", "9"),
        ];
        let variables = variables.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        let (tree, warnings) = Config::default().environment(&variables);
        assert_eq!(
            tree,
            json!({ "enabled": true, "codes": [429, 599], "strategy": "roundRobin", "local": { "failureThreshold": 5 } })
        );
        let named: Vec<_> = warnings.iter().map(|warning| warning.field.as_str()).collect();
        assert_eq!(named, ["PORT", "CODES", "MOST_LOCAL_DEGRADED"]);
    }

    #[test]
    fn a_rule_repairs_and_names_the_fields_by_full_path() {
        let mut config = Config::default();
        config.local.degraded_after = 5;
        assert_eq!(
            config.reconcile(),
            [Conflict {
                fields: vec!["local.degradationThreshold".to_owned(), "local.failureThreshold".to_owned()],
                message: "must be below failureThreshold".to_owned(),
                remedy: "adjusted",
            }]
        );
        assert_eq!(config.local.degraded_after, 1);
        assert_eq!(config.reconcile(), []);
    }

    #[test]
    fn json_in_and_out_is_the_same_value() {
        let config: Config = serde_json::from_value(json!({ "port": 80, "model": "m" })).expect("a valid section");
        assert_eq!((config.port, config.model.as_deref(), config.local.open_after), (80, Some("m"), 2));
        let again: Config = serde_json::from_value(serde_json::to_value(&config).expect("json")).expect("its own json");
        assert_eq!(again, config);
        assert!(serde_json::from_value::<Config>(json!({ "ports": 80 })).is_err());
    }

    #[test]
    fn clamping_moves_every_value_into_its_bounds() {
        let mut config = Config { port: 0, cap: Some(99), share: 7.0, codes: vec![1, 500], ..Config::default() };
        config.clamp();
        assert_eq!((config.port, config.cap, config.share), (1, Some(10), 1.0));
        assert_eq!(config.codes, [400, 500]);
    }
}
