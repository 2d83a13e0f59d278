//! How a limit of tokens is typed: `[PROVIDER=|PROVIDER/MODEL=]TOKENS[/INTERVAL]`.

use std::str::FromStr;

use serde_json::{Map, Value, json};

/// One limit, as the gateway is sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenLimit {
    scope: Option<String>,
    tokens: u64,
    interval: Option<String>,
}

impl TokenLimit {
    /// What has a slash names a model, what has none a provider.
    pub(super) fn as_json(&self) -> Value {
        let mut limit = Map::new();
        let scope_type = match &self.scope {
            None => "global",
            Some(name) if name.contains('/') => "model",
            Some(_) => "provider",
        };
        limit.insert("scopeType".to_owned(), json!(scope_type));
        if let Some(name) = &self.scope {
            limit.insert("scopeValue".to_owned(), json!(name));
        }
        limit.insert("tokenLimit".to_owned(), json!(self.tokens));
        if let Some(interval) = &self.interval {
            limit.insert("resetInterval".to_owned(), json!(interval));
        }
        Value::Object(limit)
    }
}

impl FromStr for TokenLimit {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (scope, rest) = match text.rsplit_once('=') {
            Some((scope, rest)) => (Some(scope.to_owned()), rest),
            None => (None, text),
        };
        let (tokens, interval) = match rest.split_once('/') {
            Some((tokens, interval)) => (tokens, Some(interval)),
            None => (rest, None),
        };
        if interval.is_some_and(|interval| !["daily", "weekly", "monthly"].contains(&interval)) {
            return Err("the interval must be daily, weekly or monthly");
        }
        let tokens = tokens.parse().map_err(|_| "write a number of tokens, such as openai=500000/weekly")?;
        Ok(TokenLimit { scope, tokens, interval: interval.map(str::to_owned) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_names_its_scope_and_interval_or_neither() {
        for (text, expected) in [
            ("500", json!({"scopeType": "global", "tokenLimit": 500})),
            ("500/weekly", json!({"scopeType": "global", "tokenLimit": 500, "resetInterval": "weekly"})),
            ("openai=5", json!({"scopeType": "provider", "scopeValue": "openai", "tokenLimit": 5})),
            (
                "openai/gpt-5*=5/monthly",
                json!({"scopeType": "model", "scopeValue": "openai/gpt-5*", "tokenLimit": 5, "resetInterval": "monthly"}),
            ),
        ] {
            assert_eq!(text.parse::<TokenLimit>().map(|limit| limit.as_json()), Ok(expected), "{text}");
        }
        for text in ["", "many", "openai=", "5/yearly", "-5"] {
            assert!(text.parse::<TokenLimit>().is_err(), "{text}");
        }
    }
}
