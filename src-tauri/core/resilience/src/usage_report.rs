//! What is left of an account, as its vendor's own endpoint says it (gateway specification, 5.2).
//!
//! Scope: one account, asked by a person or for a screen. Question: *what does this report say?* Each vendor has a form of
//! its own: percentages or fractions, windows told apart by name, by length or by a number, balances as text. Here they
//! become one [`Quota`]. A window that a report leaves out or says nothing about is unknown, never empty; nothing is made
//! up. Some vendors answer a refusal with a good status, so the body has the last word.

use std::fmt;

use domain::quota::{Balance, Source, Window, window};
use domain::{Millis, Quota, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use crate::failure::retry_hint;
use crate::limit_headers::{by_length, canonical};

/// The longest part of a vendor's own words that is shown, in characters.
const WORDS: usize = 200;

/// The forms that are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UsageReport {
    Claude,
    Codex,
    Openrouter,
    Deepseek,
    Moonshot,
    /// The coding plans of Z.AI and Zhipu.
    Glm,
    /// The coding plan of Kimi.
    Kimi,
}

/// The report cannot be used; the message is for the owner of the account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable(pub String);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreadable {}

impl UsageReport {
    /// Where the report is, on the origin of the provider's base URL.
    pub const fn path(self) -> &'static str {
        match self {
            UsageReport::Claude => "/api/oauth/usage",
            UsageReport::Codex => "/backend-api/wham/usage",
            UsageReport::Openrouter => "/api/v1/key",
            UsageReport::Deepseek => "/user/balance",
            UsageReport::Moonshot => "/v1/users/me/balance",
            UsageReport::Glm => "/api/monitor/usage/quota/limit",
            UsageReport::Kimi => "/coding/v1/usages",
        }
    }

    /// What stands before the key in `Authorization`; none, the key is shown as with every request.
    pub const fn scheme(self) -> Option<&'static str> {
        match self {
            UsageReport::Glm => Some(""),
            UsageReport::Kimi => Some("Bearer "),
            UsageReport::Claude
            | UsageReport::Codex
            | UsageReport::Openrouter
            | UsageReport::Deepseek
            | UsageReport::Moonshot => None,
        }
    }

    /// What a successful answer says.
    ///
    /// # Errors
    ///
    /// When it is another form, or a refusal behind a good status.
    pub fn read(self, body: &[u8], now: Timestamp) -> Result<Quota, Unreadable> {
        let report: Value = serde_json::from_slice(body).map_err(|_| Unreadable("the answer is no JSON".to_owned()))?;
        let read = match self {
            UsageReport::Claude => claude(&report, now),
            UsageReport::Codex => codex(&report, now),
            UsageReport::Openrouter => openrouter(&report),
            UsageReport::Deepseek => deepseek(&report),
            UsageReport::Moonshot => moonshot(&report)?,
            UsageReport::Glm => glm(&report, now)?,
            UsageReport::Kimi => kimi(&report, now),
        };
        let quota = read.ok_or_else(|| Unreadable("the answer has not the form that was expected".to_owned()))?;
        Ok(Quota { fetched_at: now, source: Source::Endpoint, ..quota })
    }
}

/// One member per window, its use in percent. Any of them may be null.
fn claude(report: &Value, now: Timestamp) -> Option<Quota> {
    let mut quota = Quota::default();
    for (name, entry) in report.as_object()? {
        if !name.starts_with("five_hour") && !name.starts_with("seven_day") {
            continue;
        }
        let Some(used) = number(&entry["utilization"]) else { continue };
        let window = Window::new(used / 100.0, instant(&entry["resets_at"], now));
        quota.limit_reached |= window.percent_used == Some(1.0) && !is_of_model(name);
        quota.windows.insert(canonical(name), window);
    }
    let knows = report.get("five_hour").is_some() || report.get("seven_day").is_some();
    knows.then_some(quota)
}

fn is_of_model(name: &str) -> bool {
    canonical(name).starts_with(window::WEEKLY_OF_MODEL)
}

/// Two windows, told apart by their length: with some plans the first is the weekly one.
fn codex(report: &Value, now: Timestamp) -> Option<Quota> {
    let limit = report.get("rate_limit")?;
    let mut quota = Quota {
        plan: text(&report["plan_type"]),
        limit_reached: limit["limit_reached"] == true || limit["allowed"] == false,
        ..Quota::default()
    };
    for place in ["primary_window", "secondary_window"] {
        let entry = &limit[place];
        let seconds = number(&entry["limit_window_seconds"]).filter(|seconds| *seconds >= 60.0);
        let (Some(seconds), Some(used)) = (seconds, number(&entry["used_percent"])) else { continue };
        let reset_at = instant(&entry["reset_at"], now).or_else(|| instant(&entry["reset_after_seconds"], now));
        quota.windows.insert(by_length(seconds as u64 / 60), Window::new(used / 100.0, reset_at));
    }
    let credits = &report["credits"];
    if credits["has_credits"] == true
        && let Some(remaining) = number(&credits["balance"])
    {
        quota.balances.push(Balance { currency: "credits".to_owned(), remaining, total: None });
    }
    Some(quota)
}

/// A key with a limit of its own, or one that draws on the account.
fn openrouter(report: &Value) -> Option<Quota> {
    let data = report.get("data")?.as_object()?;
    let of = |name: &str| data.get(name).and_then(number);
    let free = data.get("is_free_tier").and_then(Value::as_bool).unwrap_or(false);
    let mut quota = Quota { plan: free.then(|| "free".to_owned()), ..Quota::default() };
    if let (Some(limit), Some(remaining)) = (of("limit"), of("limit_remaining"))
        && limit > 0.0
    {
        let name = match data.get("limit_reset").and_then(Value::as_str) {
            Some("daily") => window::DAILY,
            Some("weekly") => window::WEEKLY,
            Some("monthly") => window::MONTHLY,
            Some(_) | None => window::TOTAL,
        };
        quota.windows.insert(name.to_owned(), Window::new(1.0 - remaining / limit, None));
        quota.limit_reached = remaining <= 0.0;
        quota.balances.push(Balance { currency: "USD".to_owned(), remaining, total: Some(limit) });
    }
    Some(quota)
}

fn deepseek(report: &Value) -> Option<Quota> {
    let available = report.get("is_available")?.as_bool()?;
    let entries = report.get("balance_infos")?.as_array()?;
    let balances = entries.iter().filter_map(|entry| {
        let remaining = number(&entry["total_balance"])?;
        Some(Balance { currency: text(&entry["currency"])?, remaining, total: None })
    });
    Some(Quota { balances: balances.collect(), limit_reached: !available, ..Quota::default() })
}

fn moonshot(report: &Value) -> Result<Option<Quota>, Unreadable> {
    if report["status"] == false {
        return Err(refusal(&report["message"]));
    }
    let remaining = number(&report["data"]["available_balance"]);
    let balance = |remaining| Balance { currency: "USD".to_owned(), remaining, total: None };
    Ok(remaining.map(|remaining| Quota {
        balances: vec![balance(remaining)],
        limit_reached: remaining <= 0.0,
        ..Quota::default()
    }))
}

/// Windows told apart by numbers: hours are 3, weeks 6. The limit on tool calls concerns no model and is left out.
fn glm(report: &Value, now: Timestamp) -> Result<Option<Quota>, Unreadable> {
    if report["success"] == false {
        return Err(refusal(&report["msg"]));
    }
    let Some(limits) = report["data"]["limits"].as_array() else { return Ok(None) };
    let mut quota = Quota { plan: text(&report["data"]["level"]), ..Quota::default() };
    for entry in limits.iter().filter(|entry| entry["type"] == "TOKENS_LIMIT") {
        let Some(used) = number(&entry["percentage"]) else { continue };
        let reset_at = instant(&entry["nextResetTime"], now);
        let name = match (entry["unit"].as_u64(), entry["number"].as_u64(), reset_at) {
            (Some(3), Some(5), _) => window::SESSION.to_owned(),
            (Some(6), _, _) => window::WEEKLY.to_owned(),
            (_, _, Some(at)) => by_distance(at.since(now)).to_owned(),
            (_, _, None) => continue,
        };
        let window = Window::new(used / 100.0, reset_at);
        quota.limit_reached |= window.percent_used == Some(1.0);
        quota.windows.insert(name, window);
    }
    Ok(Some(quota))
}

/// The week as a whole, and shorter windows told by their length. Counts are written as text.
fn kimi(report: &Value, now: Timestamp) -> Option<Quota> {
    let mut quota = Quota::default();
    let mut take = |name: String, counts: &Value| {
        let (Some(limit), Some(remaining)) = (number(&counts["limit"]), number(&counts["remaining"])) else { return };
        if limit > 0.0 {
            let window = Window::new(1.0 - remaining / limit, instant(&counts["resetTime"], now));
            quota.limit_reached |= window.percent_used == Some(1.0);
            quota.windows.insert(name, window);
        }
    };
    take(window::WEEKLY.to_owned(), report.get("usage")?);
    for entry in report["limits"].as_array().into_iter().flatten() {
        let unit = entry["window"]["timeUnit"].as_str().unwrap_or_default();
        let minutes = match unit.trim_start_matches("TIME_UNIT_") {
            "MINUTE" => 1,
            "HOUR" => 60,
            "DAY" => 1_440,
            _ => continue,
        };
        let Some(duration) = entry["window"]["duration"].as_u64() else { continue };
        take(by_length(duration.saturating_mul(minutes)), &entry["detail"]);
    }
    Some(quota)
}

/// The shortest usual window that can end so far away.
fn by_distance(left: Millis) -> &'static str {
    let usual =
        [(Millis::hours(5), window::SESSION), (Millis::days(1), window::DAILY), (Millis::days(7), window::WEEKLY)];
    usual.iter().find(|(length, _)| left <= *length).map_or(window::MONTHLY, |(_, name)| name)
}

/// The vendor's own words, one line of them.
fn refusal(words: &Value) -> Unreadable {
    let words = words.as_str().unwrap_or("no reason was given");
    let line: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).take(WORDS).collect();
    Unreadable(format!("the vendor refused: {line}"))
}

/// A number, also one that is written as text.
fn number(value: &Value) -> Option<f64> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    number.is_finite().then_some(number)
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// An instant in seconds or milliseconds or ISO text, or seconds from now; one that has passed says nothing.
fn instant(value: &Value, now: Timestamp) -> Option<Timestamp> {
    let written = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    retry_hint::reset_value(written.trim(), now).map(|wait| now + wait.min(retry_hint::LONGEST))
}

#[cfg(test)]
mod tests;
