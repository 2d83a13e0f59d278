//! Quota and pace as the headers of every reply announce them (gateway specification, 5.2; resilience specification, 5.5).
//!
//! Scope: one reply, good or bad. Question: *what did it say about what is left?* Two answers to two mechanisms: the windows
//! of a quota, for choosing accounts, and a rate of requests, for pacing them. Each family has its own habits (fractions,
//! percentages, what is left; seconds, instants, durations); here they become one: the fraction in use, and an instant.
//!
//! A header that is absent or makes no sense says nothing. Unknown is unknown: no figure is ever made up.

use std::collections::BTreeMap;

use domain::quota::{Source, Window, window};
use domain::{Millis, Quota, Timestamp};
use http::HeaderMap;

use crate::failure::retry_hint;
use crate::request_queue::learned::{Allowance, Announced};

const UNIFIED: &str = "anthropic-ratelimit-unified-";
/// Parts of unified headers that are no windows.
const NO_WINDOWS: [&str; 4] = ["overage", "slow", "fallback", "representative"];

/// How the names of all headers begin that are read here. Most replies have none of them, and none of the questions that
/// follow need then be asked.
const FAMILIES: [&str; 5] = ["anthropic-ratelimit-", "ratelimit", "retry-after", "x-codex-", "x-ratelimit-"];

/// The three headers of a rate: a word between what stands before and after it.
macro_rules! rate_headers {
    ($before:literal, $after:literal) => {
        [concat!($before, "limit", $after), concat!($before, "remaining", $after), concat!($before, "reset", $after)]
    };
}

/// What a reply said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// None: nothing about quotas.
    pub quota: Option<Quota>,
    pub announced: Announced,
}

/// Reads every family; those of one reply add up.
pub fn read(headers: &HeaderMap, now: Timestamp) -> Observed {
    if !headers.keys().any(|name| FAMILIES.iter().any(|family| name.as_str().starts_with(family))) {
        return Observed::default();
    }
    let reader = Reader { headers, now };
    let mut windows = BTreeMap::new();
    let unified_refuses = reader.unified(&mut windows);
    let codex_full = reader.codex(&mut windows);
    let rates = reader.rates();
    let mut used_up = false;
    for (name, rate) in &rates {
        if let Some(found) = rate.window() {
            used_up |= found.percent_used == Some(1.0);
            windows.entry((*name).to_owned()).or_insert(found);
        }
    }
    let limit_reached = unified_refuses.unwrap_or(codex_full || used_up);
    let says = !windows.is_empty() || unified_refuses.is_some();
    let quota =
        says.then(|| Quota { windows, limit_reached, fetched_at: now, source: Source::Headers, ..Quota::default() });
    Observed { quota, announced: reader.announced(&rates) }
}

/// A limit, what is left of it, and when it begins anew.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Rate {
    limit: Option<u64>,
    remaining: Option<u64>,
    reset_at: Option<Timestamp>,
}

impl Rate {
    /// None: it says nothing that a window holds.
    fn window(&self) -> Option<Window> {
        let used = match (self.limit, self.remaining) {
            (_, Some(0)) => Some(1.0),
            (Some(limit), Some(left)) if limit > 0 => Some(1.0 - left as f64 / limit as f64),
            (Some(_) | None, Some(_) | None) => None,
        };
        match used {
            Some(used) => Some(Window::new(used, self.reset_at)),
            None => self.remaining.is_some().then_some(Window { percent_used: None, reset_at: self.reset_at }),
        }
    }

    fn or(self, other: Rate) -> Rate {
        Rate {
            limit: self.limit.or(other.limit),
            remaining: self.remaining.or(other.remaining),
            reset_at: self.reset_at.or(other.reset_at),
        }
    }
}

struct Reader<'a> {
    headers: &'a HeaderMap,
    now: Timestamp,
}

impl<'a> Reader<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        let text = self.headers.get(name)?.to_str().ok()?.trim();
        (!text.is_empty()).then_some(text)
    }

    fn count(&self, name: &str) -> Option<u64> {
        count(self.text(name)?)
    }

    fn fraction(&self, name: &str) -> Option<f64> {
        self.text(name)?.parse::<f64>().ok().filter(|number| number.is_finite())
    }

    fn instant(&self, name: &str) -> Option<Timestamp> {
        self.instant_of(self.text(name)?)
    }

    /// A reset that has passed says nothing about the next one.
    fn instant_of(&self, text: &str) -> Option<Timestamp> {
        retry_hint::reset_value(text, self.now).map(|wait| self.now + wait.min(retry_hint::LONGEST))
    }

    /// Claude subscriptions: windows by whatever name, a fraction in use each. Says whether the account is refused; none,
    /// these headers are absent.
    fn unified(&self, windows: &mut BTreeMap<String, Window>) -> Option<bool> {
        for name in self.headers.keys().filter_map(|name| name.as_str().strip_prefix(UNIFIED)) {
            let Some((short, _)) = name.rsplit_once('-').filter(|(_, what)| matches!(*what, "utilization" | "status"))
            else {
                continue;
            };
            if NO_WINDOWS.iter().any(|word| short.starts_with(word)) {
                continue;
            }
            let refused = self.text(&format!("{UNIFIED}{short}-status")).is_some_and(|word| word == "rejected");
            let used = self.fraction(&format!("{UNIFIED}{short}-utilization"));
            let used = used.or(refused.then_some(1.0));
            let reset_at = self.instant(&format!("{UNIFIED}{short}-reset"));
            let window = used.map_or(Window { percent_used: None, reset_at }, |used| Window::new(used, reset_at));
            windows.insert(canonical(short), window);
        }
        let status = self.text("anthropic-ratelimit-unified-status")?;
        let refused = status == "rejected";
        if let Some(claim) = self.text("anthropic-ratelimit-unified-representative-claim") {
            let reset_at = self.instant("anthropic-ratelimit-unified-reset");
            let window = windows.entry(canonical(claim)).or_default();
            window.reset_at = window.reset_at.or(reset_at);
            if refused {
                window.percent_used = window.percent_used.or(Some(1.0));
            }
        }
        Some(refused)
    }

    /// Codex: two windows, told apart by their length and not by their place. Says whether one is used up.
    fn codex(&self, windows: &mut BTreeMap<String, Window>) -> bool {
        let mut full = false;
        for place in ["primary", "secondary"] {
            let minutes = self.count(&format!("x-codex-{place}-window-minutes")).filter(|minutes| *minutes > 0);
            let Some(minutes) = minutes else { continue };
            let used = self.fraction(&format!("x-codex-{place}-used-percent"));
            let reset_at = self
                .instant(&format!("x-codex-{place}-reset-at"))
                .or_else(|| self.instant(&format!("x-codex-{place}-reset-after-seconds")));
            let window =
                used.map_or(Window { percent_used: None, reset_at }, |used| Window::new(used / 100.0, reset_at));
            full |= window.percent_used == Some(1.0);
            windows.insert(by_length(minutes), window);
        }
        full
    }

    /// Rates of requests and tokens, by the name of their window.
    fn rates(&self) -> Vec<(&'static str, Rate)> {
        let first = |names: &[[&str; 3]]| names.iter().fold(Rate::default(), |rate, names| rate.or(self.rate(names)));
        let requests = first(&[
            rate_headers!("x-ratelimit-", "-requests"),
            rate_headers!("x-ratelimit-", "-requests-minute"),
            rate_headers!("anthropic-ratelimit-requests-", ""),
            rate_headers!("x-ratelimit-", ""),
            rate_headers!("ratelimit-", ""),
        ]);
        let tokens = first(&[
            rate_headers!("x-ratelimit-", "-tokens"),
            rate_headers!("x-ratelimit-", "-tokens-minute"),
            rate_headers!("anthropic-ratelimit-tokens-", ""),
        ]);
        let daily =
            first(&[rate_headers!("x-ratelimit-", "-requests-day"), rate_headers!("x-ratelimit-", "-tokens-day")]);
        let rates = [
            (window::REQUESTS, requests.or(self.draft())),
            (window::TOKENS, tokens),
            (window::INPUT_TOKENS, self.rate(&rate_headers!("anthropic-ratelimit-input-tokens-", ""))),
            (window::OUTPUT_TOKENS, self.rate(&rate_headers!("anthropic-ratelimit-output-tokens-", ""))),
            (window::DAILY, daily),
        ];
        rates.into_iter().filter(|(_, rate)| *rate != Rate::default()).collect()
    }

    fn rate(&self, [limit, remaining, reset]: &[&str; 3]) -> Rate {
        Rate { limit: self.count(limit), remaining: self.count(remaining), reset_at: self.instant(reset) }
    }

    /// The one header of the draft: `"default";r=50;t=30`, or `limit=100, remaining=50, reset=5`; the limit of the newer
    /// form stands in a header of its own.
    fn draft(&self) -> Rate {
        let mut rate = Rate::default();
        let parts = |name: &str| self.text(name).unwrap_or_default().split([';', ',']);
        for (key, value) in parts("ratelimit").chain(parts("ratelimit-policy")).filter_map(|part| part.split_once('='))
        {
            let value = value.trim();
            match key.trim() {
                "limit" | "q" => rate.limit = rate.limit.or(count(value)),
                "remaining" | "r" => rate.remaining = rate.remaining.or(count(value)),
                "reset" | "t" => rate.reset_at = rate.reset_at.or_else(|| self.instant_of(value)),
                _ => {}
            }
        }
        rate
    }

    fn announced(&self, rates: &[(&'static str, Rate)]) -> Announced {
        let of = |name: &str| rates.iter().find(|(window, _)| *window == name).map(|(_, rate)| *rate);
        let requests = of(window::REQUESTS).filter(|rate| rate.limit.is_some() || rate.remaining.is_some());
        let spent = [window::TOKENS, window::INPUT_TOKENS]
            .into_iter()
            .filter_map(of)
            .filter(|rate| rate.remaining == Some(0))
            .filter_map(|rate| rate.reset_at);
        let exact = || self.count("retry-after-ms").map(Millis::new);
        let seconds = || self.count("retry-after").map(Millis::seconds);
        Announced {
            requests: requests.map(|rate| Allowance {
                limit: rate.limit,
                remaining: rate.remaining,
                reset_at: rate.reset_at,
            }),
            tokens_spent_until: spent.max(),
            over_limit: self.text("x-ratelimit-over-limit").is_some_and(|word| word.eq_ignore_ascii_case("yes")),
            retry_after: exact().or_else(seconds),
        }
    }
}

/// A whole number; a fraction is cut off.
fn count(text: &str) -> Option<u64> {
    let whole = text.split('.').next()?;
    (!whole.is_empty() && whole.bytes().all(|byte| byte.is_ascii_digit())).then(|| whole.parse().unwrap_or(u64::MAX))
}

/// The names that vendors give their windows.
pub(crate) fn canonical(name: &str) -> String {
    let model = |of: &str| format!("{}{of}", window::WEEKLY_OF_MODEL);
    match name {
        "5h" | "five_hour" => window::SESSION.to_owned(),
        "7d" | "seven_day" => window::WEEKLY.to_owned(),
        "1d" | "24h" => window::DAILY.to_owned(),
        "30d" | "1mo" => window::MONTHLY.to_owned(),
        _ => match name.strip_prefix("7d_").or_else(|| name.strip_prefix("seven_day_")) {
            Some(of) if !of.is_empty() => model(of),
            Some(_) | None => name.to_owned(),
        },
    }
}

/// The name of a window of so many minutes. Vendors round, so lengths near a usual one are it.
pub(crate) fn by_length(minutes: u64) -> String {
    let near = |usual: u64| minutes.abs_diff(usual) <= usual / 20;
    let named = [(300, window::SESSION), (1_440, window::DAILY), (10_080, window::WEEKLY), (43_200, window::MONTHLY)];
    named.iter().find(|(usual, _)| near(*usual)).map_or_else(|| format!("{minutes}m"), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests;
