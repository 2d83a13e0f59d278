//! What a local key may spend (gateway specification, 1.3): budgets in US dollars and limits of tokens, each over a
//! calendar period that begins anew at the key's reset time.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ProviderId;
use crate::model_name::glob_matches;

/// A calendar period of the gateway's time zone. Weeks begin on Monday, months on the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Interval {
    #[default]
    Daily,
    Weekly,
    Monthly,
}

impl Interval {
    pub const fn as_str(self) -> &'static str {
        match self {
            Interval::Daily => "daily",
            Interval::Weekly => "weekly",
            Interval::Monthly => "monthly",
        }
    }
}

/// The time of day at which periods begin, `HH:MM`; midnight by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ResetTime {
    hour: u8,
    minute: u8,
}

impl ResetTime {
    /// 0–23.
    pub const fn hour(self) -> u8 {
        self.hour
    }

    /// 0–59.
    pub const fn minute(self) -> u8 {
        self.minute
    }
}

/// A time of day that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotATime;

impl fmt::Display for NotATime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be a time of day from 00:00 to 23:59, written HH:MM")
    }
}

impl std::error::Error for NotATime {}

impl FromStr for ResetTime {
    type Err = NotATime;

    fn from_str(text: &str) -> Result<Self, NotATime> {
        let two_digits = |part: &str| match part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit()) {
            true => part.parse::<u8>().map_err(|_| NotATime),
            false => Err(NotATime),
        };
        let (hour, minute) = text.split_once(':').ok_or(NotATime)?;
        let (hour, minute) = (two_digits(hour)?, two_digits(minute)?);
        if hour < 24 && minute < 60 { Ok(ResetTime { hour, minute }) } else { Err(NotATime) }
    }
}

impl TryFrom<String> for ResetTime {
    type Error = NotATime;

    fn try_from(text: String) -> Result<Self, NotATime> {
        text.parse()
    }
}

impl From<ResetTime> for String {
    fn from(time: ResetTime) -> String {
        time.to_string()
    }
}

impl fmt::Display for ResetTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.hour, self.minute)
    }
}

/// Which requests a limit of tokens counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "scopeType", content = "scopeValue", rename_all = "lowercase")]
pub enum LimitScope {
    /// All of them.
    Global,
    /// Those that this provider served.
    Provider(ProviderId),
    /// Those that a model served whose id, or `provider/model`, matches this glob.
    Model(String),
}

impl LimitScope {
    /// Whether what this provider and model serve is counted. A request that reached nobody has neither.
    pub fn covers(&self, provider: Option<&ProviderId>, model: Option<&str>) -> bool {
        match (self, provider, model) {
            (LimitScope::Global, ..) => true,
            (LimitScope::Provider(wanted), Some(provider), _) => wanted == provider,
            (LimitScope::Model(glob), Some(provider), Some(model)) => {
                glob_matches(glob, model) || glob_matches(glob, &format!("{provider}/{model}"))
            }
            (LimitScope::Provider(_) | LimitScope::Model(_), ..) => false,
        }
    }
}

/// So many tokens in a period, input and output together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenLimit {
    #[serde(flatten)]
    pub scope: LimitScope,
    pub token_limit: u64,
    /// Its own period; the key's where absent.
    pub reset_interval: Option<Interval>,
}

/// Everything that bounds what a key spends. All limits apply at once, so the tightest decides.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyLimits {
    /// US dollars, above 0.
    pub budget_daily_usd: Option<f64>,
    pub budget_weekly_usd: Option<f64>,
    pub budget_monthly_usd: Option<f64>,
    /// The share of a limit from which on its owner is warned: above 0, at most 1.
    pub warning_threshold: f64,
    /// The period of token limits that name none.
    pub reset_interval: Interval,
    pub reset_time: ResetTime,
    pub token_limits: Vec<TokenLimit>,
}

impl KeyLimits {
    /// Where a key's owner is warned unless they say otherwise.
    pub const WARNING_THRESHOLD: f64 = 0.8;

    /// The budgets that are set.
    pub fn budgets(&self) -> impl Iterator<Item = (Interval, f64)> {
        let budgets = [
            (Interval::Daily, self.budget_daily_usd),
            (Interval::Weekly, self.budget_weekly_usd),
            (Interval::Monthly, self.budget_monthly_usd),
        ];
        budgets.into_iter().filter_map(|(interval, usd)| Some((interval, usd?)))
    }

    /// The period of one of its token limits.
    pub fn interval_of(&self, limit: &TokenLimit) -> Interval {
        limit.reset_interval.unwrap_or(self.reset_interval)
    }

    /// Nothing is limited.
    pub fn is_empty(&self) -> bool {
        self.budgets().next().is_none() && self.token_limits.is_empty()
    }

    /// Whether some limit is of one provider or model, so that it can bar one target and not another.
    pub fn tells_targets_apart(&self) -> bool {
        self.token_limits.iter().any(|limit| limit.scope != LimitScope::Global)
    }
}

impl Default for KeyLimits {
    fn default() -> Self {
        KeyLimits {
            budget_daily_usd: None,
            budget_weekly_usd: None,
            budget_monthly_usd: None,
            warning_threshold: KeyLimits::WARNING_THRESHOLD,
            reset_interval: Interval::default(),
            reset_time: ResetTime::default(),
            token_limits: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_time_is_hours_and_minutes() {
        for (text, kept) in [("00:00", true), ("23:59", true), ("07:05", true), ("24:00", false), ("12:60", false)] {
            assert_eq!(text.parse::<ResetTime>().ok().map(|time| time.to_string()).as_deref() == Some(text), kept);
        }
        for text in ["", "7:05", "07:5", "0705", "+7:05", "07:05:00", "ab:cd"] {
            assert_eq!(text.parse::<ResetTime>(), Err(NotATime), "{text}");
        }
    }

    #[test]
    fn a_scope_covers_what_its_provider_or_model_served() {
        let provider = ProviderId::from("openai");
        let of_model = |glob: &str| LimitScope::Model(glob.to_owned());
        for (scope, expected) in [
            (LimitScope::Global, true),
            (LimitScope::Provider("openai".into()), true),
            (LimitScope::Provider("anthropic".into()), false),
            (of_model("gpt-5"), true),
            (of_model("openai/gpt-*"), true),
            (of_model("gpt-4*"), false),
        ] {
            assert_eq!(scope.covers(Some(&provider), Some("gpt-5")), expected, "{scope:?}");
            assert_eq!(scope.covers(None, None), scope == LimitScope::Global, "{scope:?}");
        }
    }

    #[test]
    fn a_token_limit_reads_and_writes_the_words_of_the_interface() {
        for text in [
            r#"{"scopeType":"global","tokenLimit":5,"resetInterval":null}"#,
            r#"{"scopeType":"provider","scopeValue":"openai","tokenLimit":5,"resetInterval":"weekly"}"#,
            r#"{"scopeType":"model","scopeValue":"openai/gpt*","tokenLimit":5,"resetInterval":"monthly"}"#,
        ] {
            let limit: TokenLimit = serde_json::from_str(text).expect("a limit");
            assert_eq!(serde_json::to_string(&limit).expect("JSON"), text);
        }
    }
}
