//! An operator's rules as they are typed and stored: setting `providerErrorRules` (resilience specification, 19.5).

use std::collections::BTreeMap;
use std::fmt;

use domain::{Millis, ProviderId, Scope};
use serde::{Deserialize, Serialize};

use super::error_rules::{ErrorRule, REASONS};
use super::retry_hint;

/// No more in all.
pub const MAX_RULES: usize = 50;
const SETTING: &str = "providerErrorRules";

/// The setting: rules by provider id.
pub type OperatorTable = BTreeMap<String, Vec<OperatorRule>>;

/// One rule as it is stored.
#[derive(Clone, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OperatorRule {
    /// 100 to 599.
    pub status: u16,
    /// Must occur in the error text, in any case.
    pub r#match: String,
    /// `model`, `provider` or `connection`.
    pub scope: String,
    /// `quota_exhausted` where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// First rest; the ladder's own where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cooldown_ms: Option<u64>,
}

/// Why a rule is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// `providerErrorRules.<provider>[<index>].<field>`.
    pub field: String,
    /// What is allowed.
    pub message: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

impl std::error::Error for RuleError {}

/// The rules in the form classification uses.
///
/// # Errors
///
/// Everything that is wrong with the table, in its order; then no rule is used.
pub fn operator_rules(table: &OperatorTable) -> Result<BTreeMap<ProviderId, Vec<ErrorRule>>, Vec<RuleError>> {
    let mut errors = Vec::new();
    let count: usize = table.values().map(Vec::len).sum();
    if count > MAX_RULES {
        errors.push(error(SETTING.to_owned(), format!("at most {MAX_RULES} rules in all, there are {count}")));
    }
    let mut rules = BTreeMap::new();
    for (provider, listed) in table {
        if provider.trim().is_empty() {
            errors.push(error(SETTING.to_owned(), "the name of a provider is empty".to_owned()));
        }
        let read = |(index, rule): (usize, &OperatorRule)| rule.read(provider, index, &mut errors);
        rules.insert(ProviderId::from(provider.as_str()), listed.iter().enumerate().filter_map(read).collect());
    }
    if errors.is_empty() { Ok(rules) } else { Err(errors) }
}

impl OperatorRule {
    fn read(&self, provider: &str, index: usize, errors: &mut Vec<RuleError>) -> Option<ErrorRule> {
        let at = |field: &str| format!("{SETTING}.{provider}[{index}].{field}");
        let before = errors.len();
        if !(100..=599).contains(&self.status) {
            errors.push(error(at("status"), "a status from 100 to 599".to_owned()));
        }
        if self.r#match.trim().is_empty() {
            errors.push(error(at("match"), "the text to look for must not be empty".to_owned()));
        }
        let scope = match self.scope.as_str() {
            "model" => Scope::Model,
            "connection" => Scope::Connection,
            "provider" => Scope::Usual,
            _ => {
                errors.push(error(at("scope"), "one of model, provider, connection".to_owned()));
                Scope::Usual
            }
        };
        let reason = self.reason.as_deref().unwrap_or("quota_exhausted");
        if !REASONS.contains(&reason) {
            errors.push(error(at("reason"), format!("one of {}", REASONS.join(", "))));
        }
        let longest = retry_hint::LONGEST.as_millis();
        if self.cooldown_ms.is_some_and(|length| length > longest) {
            errors.push(error(at("cooldownMs"), format!("at most {longest}")));
        }
        (errors.len() == before).then(|| ErrorRule {
            id: format!("operator:{provider}:{index}"),
            statuses: vec![self.status],
            codes: Vec::new(),
            text_markers: vec![self.r#match.trim().to_owned()],
            header: None,
            reason: reason.to_owned(),
            scope,
            cooldown: self.cooldown_ms.map(Millis::new),
        })
    }
}

fn error(field: String, message: String) -> RuleError {
    RuleError { field, message }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn table(value: Value) -> OperatorTable {
        serde_json::from_value(value).expect("a table of rules")
    }

    fn rule(over: Value) -> Value {
        let mut rule = json!({ "status": 429, "match": "daily cap", "scope": "connection" });
        for (key, value) in over.as_object().expect("an object") {
            rule[key] = value.clone();
        }
        rule
    }

    #[test]
    fn a_rule_is_read_with_its_defaults() {
        // PR-09
        let rules = operator_rules(&table(json!({ "ak": [rule(json!({ "cooldownMs": 120_000 }))] }))).expect("rules");
        assert_eq!(
            rules[&ProviderId::from("ak")],
            [ErrorRule {
                id: "operator:ak:0".to_owned(),
                statuses: vec![429],
                codes: Vec::new(),
                text_markers: vec!["daily cap".to_owned()],
                header: None,
                reason: "quota_exhausted".to_owned(),
                scope: Scope::Connection,
                cooldown: Some(Millis::minutes(2)),
            }]
        );
        assert_eq!(operator_rules(&OperatorTable::new()), Ok(BTreeMap::new())); // PR-13
    }

    #[test]
    fn what_is_wrong_is_named_by_its_field() {
        // PR-12
        for (over, field) in [
            (json!({ "status": 99 }), "providerErrorRules.ak[0].status"),
            (json!({ "status": 600 }), "providerErrorRules.ak[0].status"),
            (json!({ "match": "  " }), "providerErrorRules.ak[0].match"),
            (json!({ "scope": "planet" }), "providerErrorRules.ak[0].scope"),
            (json!({ "reason": "mood" }), "providerErrorRules.ak[0].reason"),
            (json!({ "cooldownMs": 2_592_000_001_u64 }), "providerErrorRules.ak[0].cooldownMs"),
        ] {
            let errors = operator_rules(&table(json!({ "ak": [rule(over)] }))).expect_err("a refusal");
            assert_eq!(errors.iter().map(|error| error.field.as_str()).collect::<Vec<_>>(), [field]);
        }
        assert!(operator_rules(&table(json!({ " ": [rule(json!({}))] }))).is_err());
    }

    #[test]
    fn fifty_rules_are_allowed_in_all_and_unknown_fields_never() {
        let rules = |count: usize| vec![rule(json!({})); count];
        assert!(operator_rules(&table(json!({ "a": rules(25), "b": rules(25) }))).is_ok());
        let errors = operator_rules(&table(json!({ "a": rules(25), "b": rules(26) }))).expect_err("a refusal");
        assert_eq!(errors[0].field, "providerErrorRules"); // PR-12
        assert!(serde_json::from_value::<OperatorRule>(rule(json!({ "colour": "red" }))).is_err());
    }
}
