//! What the catalogue and the operator know about a provider's errors (resilience specification, 19).
//!
//! The catalogue's rules are written by people who do not run the gateway, so they are kept on a short rein: most
//! providers' rules see only machine-readable words, and a rule may take a whole account out only where the catalogue
//! says that this provider's do. Taking one model out is the lesser remedy and always theirs. An operator's rules come
//! first and have both.

use domain::{Millis, Reason, Scope};
use http::HeaderMap;

use super::Rules;

pub use super::operator_rules::{MAX_RULES, OperatorRule, OperatorTable, RuleError, operator_rules};

/// One rule; whatever it states must hold.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorRule {
    pub id: String,
    /// None of the list: any status but 400, which is matched only when it is named.
    pub statuses: Vec<u16>,
    /// One of them must be the body's code or type.
    pub codes: Vec<String>,
    /// One of them must occur in the text, in any case.
    pub text_markers: Vec<String>,
    /// Header name, and what one item of its comma-separated value must be; `=0` is the end of an item such as `m1=0`.
    pub header: Option<(String, String)>,
    /// One of [`REASONS`].
    pub reason: String,
    /// `Scope::Connection`, `Scope::Model`, or `Scope::Usual` for a whole provider.
    pub scope: Scope,
    pub cooldown: Option<Millis>,
}

/// The words a rule may give as its reason (resilience specification, 6.1).
pub const REASONS: [&str; 8] = [
    "rate_limit_exceeded",
    "quota_exhausted",
    "model_capacity",
    "server_error",
    "auth_error",
    "not_found",
    "forbidden",
    "unknown",
];

/// What rules look at.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// After restatement.
    pub status: u16,
    pub headers: &'a HeaderMap,
    pub code: Option<&'a str>,
    pub kind: Option<&'a str>,
    /// Message and body, lower case.
    pub text: &'a str,
}

/// A rule that holds, and how far it reaches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matched<'a> {
    pub rule: &'a ErrorRule,
    /// What it concerns as far as it is acted on; [`Scope::Usual`] otherwise.
    pub scope: Scope,
}

/// The operator's rule for a reply.
pub fn of_operator<'a>(rules: &Rules<'a>, evidence: &Evidence<'_>) -> Option<Matched<'a>> {
    let rule = rules.operator.iter().find(|rule| rule.holds(evidence, evidence.text))?;
    Some(Matched { rule, scope: rule.reach(true) })
}

/// The catalogue's rule for a reply.
pub fn of_catalogue<'a>(rules: &Rules<'a>, evidence: &Evidence<'_>) -> Option<Matched<'a>> {
    let words = [evidence.code, evidence.kind].into_iter().flatten().collect::<Vec<_>>().join("\n").to_lowercase();
    let text = if rules.provider.full_text { evidence.text } else { &words };
    let rule = rules.provider.error_rules.iter().find(|rule| rule.holds(evidence, text))?;
    Some(Matched { rule, scope: rule.reach(rules.provider.honors_scope) })
}

impl ErrorRule {
    /// The kind of failure the rule speaks of; none, the status decides. A refusal that concerns one model is about that
    /// model, not about the credential (specification's decision 39).
    pub fn kind(&self) -> Option<Reason> {
        Some(match (self.reason.as_str(), self.scope) {
            ("auth_error" | "forbidden", Scope::Model) => Reason::ModelAccessDenied,
            ("rate_limit_exceeded", _) => Reason::RateLimit,
            ("quota_exhausted", _) => Reason::QuotaExhausted,
            ("model_capacity", _) => Reason::Overloaded,
            ("server_error", _) => Reason::ServerError,
            ("auth_error", _) => Reason::Auth,
            ("not_found", _) => Reason::ModelNotFound,
            ("forbidden", _) => Reason::Forbidden,
            _ => return None,
        })
    }

    fn holds(&self, evidence: &Evidence<'_>, text: &str) -> bool {
        let status = match self.statuses.as_slice() {
            [] => evidence.status != 400,
            listed => listed.contains(&evidence.status),
        };
        let is_word = |code: &String| {
            [evidence.code, evidence.kind].into_iter().flatten().any(|word| word.eq_ignore_ascii_case(code))
        };
        status
            && (self.codes.is_empty() || self.codes.iter().any(is_word))
            && (self.text_markers.is_empty()
                || self.text_markers.iter().any(|marker| text.contains(&marker.to_lowercase())))
            && self.header.as_ref().is_none_or(|(name, item)| has_item(evidence.headers, name, item))
    }

    /// An account rests by a rule only for what passes: a refused credential is no such thing (PR-15).
    fn reach(&self, honoured: bool) -> Scope {
        let passes = !matches!(self.reason.as_str(), "auth_error" | "forbidden" | "not_found");
        match self.scope {
            Scope::Connection if !(honoured && passes) => Scope::Usual,
            scope => scope,
        }
    }
}

fn has_item(headers: &HeaderMap, name: &str, wanted: &str) -> bool {
    let is_wanted = |item: &str| item == wanted || (wanted.starts_with('=') && item.ends_with(wanted));
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split([',', ';']))
        .any(|item| is_wanted(item.trim()))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;
    use crate::failure::ProviderRules;

    fn rule(id: &str) -> ErrorRule {
        ErrorRule {
            id: id.to_owned(),
            statuses: vec![429],
            codes: Vec::new(),
            text_markers: Vec::new(),
            header: None,
            reason: "quota_exhausted".to_owned(),
            scope: Scope::Connection,
            cooldown: None,
        }
    }

    fn by_text(id: &str) -> ErrorRule {
        ErrorRule { text_markers: vec!["Daily CAP".to_owned()], ..rule(id) }
    }

    #[test]
    fn everything_a_rule_states_must_hold() {
        let header = Some(("x-model-quota-remaining".to_owned(), "=0".to_owned()));
        let exact = Some(("x-ratelimit-remaining-requests".to_owned(), "0".to_owned()));
        let codes = vec!["plan_limit_reached".to_owned()];
        for (name, rule, status, code, remaining, left, text, holds) in [
            ("any reply of the status", rule("r"), 429, None, "", "", "", true),
            ("another status", rule("r"), 430, None, "", "", "", false),
            ("text in any case", by_text("r"), 429, None, "", "", "your daily cap is hit", true), // PR-18
            ("text absent", by_text("r"), 429, None, "", "", "slow down", false),
            ("any status", ErrorRule { statuses: vec![], ..by_text("r") }, 500, None, "", "", "daily cap", true),
            (
                "any status but 400",
                ErrorRule { statuses: vec![], ..by_text("r") },
                400,
                None,
                "",
                "",
                "daily cap",
                false,
            ),
            ("400 when named", ErrorRule { statuses: vec![400], ..by_text("r") }, 400, None, "", "", "daily cap", true), // PR-14
            (
                "code",
                ErrorRule { codes: codes.clone(), ..rule("r") },
                429,
                Some("PLAN_LIMIT_REACHED"),
                "",
                "",
                "",
                true,
            ),
            ("another code", ErrorRule { codes, ..rule("r") }, 429, Some("x"), "", "", "", false),
            ("item", ErrorRule { header: header.clone(), ..rule("r") }, 429, None, "m1=0, m2=3", "", "", true), // PR-16
            ("no item", ErrorRule { header, ..rule("r") }, 429, None, "m1=10", "", "", false),
            ("value", ErrorRule { header: exact.clone(), ..rule("r") }, 429, None, "", "0", "", true), // PR-17
            ("another value", ErrorRule { header: exact, ..rule("r") }, 429, None, "", "10", "", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("x-model-quota-remaining", HeaderValue::from_static(remaining));
            headers.insert("x-ratelimit-remaining-requests", HeaderValue::from_static(left));
            let evidence = Evidence { status, headers: &headers, code, kind: None, text };
            assert_eq!(rule.holds(&evidence, text), holds, "{name}");
        }
    }

    #[test]
    fn only_full_text_providers_show_their_rules_the_text() {
        let headers = HeaderMap::new();
        let evidence = Evidence { status: 429, headers: &headers, code: None, kind: None, text: "daily cap" };
        for full_text in [false, true] {
            let provider = ProviderRules { error_rules: vec![by_text("r")], full_text, ..ProviderRules::default() };
            let rules = Rules { provider: &provider, operator: &[], banned_signals: &[] };
            assert_eq!(of_catalogue(&rules, &evidence).is_some(), full_text); // PR-08
        }
        let provider = ProviderRules::default();
        let operator = [by_text("own")];
        let rules = Rules { provider: &provider, operator: &operator, banned_signals: &[] };
        assert!(of_operator(&rules, &evidence).is_some()); // PR-09
    }

    #[test]
    fn a_scope_is_acted_on_where_that_is_allowed() {
        let of = |reason: &str, scope| ErrorRule { reason: reason.to_owned(), scope, ..rule("r") };
        for (rule, honoured, reach) in [
            (of("quota_exhausted", Scope::Connection), false, Scope::Usual), // PR-07
            (of("quota_exhausted", Scope::Connection), true, Scope::Connection), // PR-03
            (of("auth_error", Scope::Connection), true, Scope::Usual),       // PR-15
            (of("not_found", Scope::Connection), true, Scope::Usual),
            (of("auth_error", Scope::Model), true, Scope::Model),
            (of("quota_exhausted", Scope::Model), false, Scope::Model), // PR-11, PR-16
            (of("quota_exhausted", Scope::Usual), true, Scope::Usual),
        ] {
            assert_eq!(rule.reach(honoured), reach, "{} {:?} {honoured}", rule.reason, rule.scope);
        }
    }

    #[test]
    fn every_reason_has_a_kind_but_unknown() {
        for reason in REASONS {
            let rule = ErrorRule { reason: reason.to_owned(), ..rule("r") };
            assert_eq!(rule.kind().is_none(), reason == "unknown", "{reason}");
        }
    }
}
