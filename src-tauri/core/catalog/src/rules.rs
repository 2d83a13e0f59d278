//! What a provider file says about failures: restatements, error rules, quota families (resilience specification, 11.1, 18
//! and 19).
//!
//! A marker must be the provider's own. One that is part of the phrases by which every provider's empty purse is
//! recognised would turn a permanent state into a passing one, or the other way round, so it is refused.

use std::collections::BTreeSet;

use domain::{Millis, Scope};
use resilience::failure::error_rules::REASONS;
use resilience::failure::{ErrorRule, ProviderRules, Restatement, is_generic};
use serde::Deserialize;

/// Models of one account that draw on one quota.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuotaFamily {
    pub name: String,
    /// How the names of its models begin; the longest that fits decides between families.
    pub prefixes: Vec<String>,
}

impl QuotaFamily {
    /// Length of the longest prefix that the model's name begins with.
    pub(crate) fn matches(&self, model: &str) -> Option<usize> {
        self.prefixes.iter().filter(|prefix| model.starts_with(*prefix)).map(String::len).max()
    }
}

/// An error rule as it stands in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ErrorRuleEntry {
    id: String,
    #[serde(default)]
    statuses: Vec<u16>,
    #[serde(default)]
    codes: Vec<String>,
    #[serde(default)]
    text_markers: Vec<String>,
    header: Option<HeaderEntry>,
    reason: String,
    scope: ScopeEntry,
    cooldown_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderEntry {
    name: String,
    /// One item of the comma-separated value, or its end when it begins with an equals sign.
    item: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ScopeEntry {
    Model,
    Provider,
    Connection,
}

impl ErrorRuleEntry {
    pub(crate) fn into_rule(self) -> ErrorRule {
        ErrorRule {
            id: self.id,
            statuses: self.statuses,
            codes: self.codes,
            text_markers: self.text_markers,
            header: self.header.map(|header| (header.name, header.item)),
            reason: self.reason,
            scope: match self.scope {
                ScopeEntry::Model => Scope::Model,
                ScopeEntry::Connection => Scope::Connection,
                ScopeEntry::Provider => Scope::Usual,
            },
            cooldown: self.cooldown_ms.map(Millis::new),
        }
    }

    fn check(&self) -> Result<(), String> {
        let Self { id, statuses, codes, text_markers, header, reason, .. } = self;
        if statuses.is_empty() && codes.is_empty() && text_markers.is_empty() && header.is_none() {
            return Err(format!("rule {id} holds for every reply"));
        }
        if !REASONS.contains(&reason.as_str()) {
            return Err(format!("rule {id} has the unknown reason {reason:?}"));
        }
        if header.as_ref().is_some_and(|header| header.name.is_empty() || header.item.is_empty()) {
            return Err(format!("rule {id} names half a header"));
        }
        check_statuses(id, statuses)?;
        check_markers(id, codes.iter().chain(text_markers))
    }
}

/// The ids of everything that can decide, restatements first.
pub(crate) fn ids(rules: &ProviderRules) -> impl Iterator<Item = &str> {
    let restatements = rules.restatements.iter().map(|habit| habit.id.as_str());
    restatements.chain(rules.error_rules.iter().map(|rule| rule.id.as_str()))
}

pub(crate) fn check(
    restatements: &[Restatement],
    rules: &[ErrorRuleEntry],
    families: &[QuotaFamily],
) -> Result<(), String> {
    let mut ids = BTreeSet::new();
    let listed = restatements.iter().map(|habit| &habit.id).chain(rules.iter().map(|rule| &rule.id));
    for id in listed {
        if id.is_empty() || !ids.insert(id) {
            return Err(format!("rule id {id:?} is empty or used twice"));
        }
    }
    restatements.iter().try_for_each(check_restatement)?;
    rules.iter().try_for_each(ErrorRuleEntry::check)?;
    families.iter().try_for_each(check_family)
}

fn check_restatement(habit: &Restatement) -> Result<(), String> {
    let id = &habit.id;
    if habit.from_statuses.is_empty() || habit.from_statuses.contains(&habit.to_status) {
        return Err(format!("restatement {id} changes no status"));
    }
    if habit.text_markers.is_empty() {
        return Err(format!("restatement {id} has no text_markers"));
    }
    check_statuses(id, &habit.from_statuses)?;
    check_statuses(id, &[habit.to_status])?;
    check_markers(id, habit.text_markers.iter().chain(&habit.exclude_markers))
}

fn check_statuses(id: &str, statuses: &[u16]) -> Result<(), String> {
    match statuses.iter().find(|status| !(400..600).contains(*status)) {
        Some(status) => Err(format!("rule {id} names {status}, which is no error")),
        None => Ok(()),
    }
}

fn check_markers<'a>(id: &str, markers: impl Iterator<Item = &'a String>) -> Result<(), String> {
    for marker in markers {
        if marker.trim().is_empty() {
            return Err(format!("rule {id} has an empty marker"));
        }
        if is_generic(marker) {
            return Err(format!("rule {id}: {marker:?} is a phrase of every provider's empty account"));
        }
    }
    Ok(())
}

fn check_family(family: &QuotaFamily) -> Result<(), String> {
    if family.name.is_empty() || family.prefixes.is_empty() || family.prefixes.iter().any(String::is_empty) {
        return Err(format!("quota family {:?} needs a name and prefixes", family.name));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::{Catalog, Error, file};

    const PLAIN: &str = "id = \"p\"\nalias = \"p\"\nname = \"P\"\nclass = \"apikey\"\ndialects = [\"chat\"]\n\
                         base_url = \"https://p.example/v1\"\n";
    const RESTATE: &str = "[[restate]]\nid = \"r\"\nfrom_statuses = [403]\nto_status = 429\ntext_markers = [\"dry\"]\n";
    const RULE: &str =
        "[[error_rule]]\nid = \"e\"\nstatuses = [429]\nreason = \"quota_exhausted\"\nscope = \"connection\"\n";

    fn read(more: &str) -> Result<crate::Provider, Error> {
        file::read("p", &format!("{PLAIN}{more}"))
    }

    #[test]
    fn rules_are_read_with_their_allow_lists() {
        let text = format!("full_text_rules = true\nhonors_rule_scope = true\negress_bucket = \"b\"\n{RESTATE}{RULE}");
        let provider = read(&text).expect("a provider");
        assert!(provider.rules.full_text && provider.rules.honors_scope);
        assert_eq!(super::ids(&provider.rules).collect::<Vec<_>>(), ["r", "e"]);
        assert_eq!(provider.egress_bucket.as_deref(), Some("b"));
        let plain = read("").expect("a provider");
        assert!(!plain.rules.full_text && !plain.rules.honors_scope && plain.egress_bucket.is_none());
    }

    #[test]
    fn a_rule_that_makes_no_sense_is_refused() {
        let restate = |from: &str, to: &str| RESTATE.replace(from, to);
        let rule = |from: &str, to: &str| RULE.replace(from, to);
        for (text, part) in [
            (format!("{RESTATE}{}", rule("\"e\"", "\"r\"")), "used twice"),
            (restate("\"r\"", "\"\""), "is empty"),
            (restate("[403]", "[]"), "changes no status"),
            (restate("[403]", "[429]"), "changes no status"),
            (restate("[403]", "[200]"), "no error"),
            (restate("[\"dry\"]", "[]"), "no text_markers"),
            (restate("\"dry\"", "\" \""), "empty marker"),
            (restate("\"dry\"", "\"credits\""), "empty account"),
            (restate("\"dry\"", "\"you are OUT OF CREDITS\""), "empty account"),
            (restate("to_status = 429", "to_status = 429\ncolour = 1"), "unknown field `colour`"),
            (rule("statuses = [429]\n", ""), "every reply"),
            (rule("quota_exhausted", "bad_mood"), "unknown reason"),
            (rule("connection", "planet"), "unknown variant `planet`"),
            (rule("[429]", "[429]\ntext_markers = [\"payment required\"]"), "empty account"),
            (rule("[429]", "[429]\nheader = { name = \"\", item = \"0\" }"), "half a header"),
            ("[[quota_family]]\nname = \"f\"\nprefixes = []\n".to_owned(), "needs a name and prefixes"),
        ] {
            let message = match read(&text).expect_err("a refusal") {
                Error::Syntax { source, .. } => source.message().to_owned(),
                Error::Invalid { message, .. } => message,
                Error::Duplicate { name, .. } => name,
            };
            assert!(message.contains(part), "{message:?} does not say {part:?}");
        }
    }

    #[test]
    fn rule_ids_are_unique_over_all_files() {
        let other = PLAIN.replace("\"p\"", "\"q\"");
        let (one, two) = (format!("{PLAIN}{RULE}"), format!("{other}{RULE}"));
        let outcome = Catalog::from_files(&[("p", &one), ("q", &two)]);
        assert!(matches!(outcome, Err(Error::Duplicate { name, .. }) if name == "e"));
    }
}
