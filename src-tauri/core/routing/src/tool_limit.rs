//! How many tools a provider takes, as far as it said so (resilience specification, 21.3; decisions 5 and 31).
//!
//! Nothing is assumed. A refusal that names a number teaches it; from then on requests with more tools pass the provider
//! by, for a day. The number only goes down. Tools are never taken from a request.

use domain::{Millis, ProviderId, Timestamp};

use crate::lru::Lru;

const MEMORY: Millis = Millis::hours(24);
const CAPACITY: usize = 500;
const HIGHEST: u32 = 10_000;

/// Words before the number; the last one needs the word tools as well.
const PHRASES: [&str; 4] = ["maximum number of tools", "too many tools", "tools limit", "maximum number of items"];

/// What providers said.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits(Lru<Limit>);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Limit {
    tools: u32,
    until: Timestamp,
}

impl Default for Limits {
    fn default() -> Self {
        Limits(Lru::new(CAPACITY))
    }
}

impl Limits {
    /// A provider refused a request with status 400 and these words. The limit it named, if it named one.
    pub fn learn(&mut self, provider: &ProviderId, message: &str, now: Timestamp) -> Option<u32> {
        let stated = stated(message)?;
        let tools = self.of(provider, now).map_or(stated, |known| known.min(stated));
        self.0.insert(provider.as_str(), Limit { tools, until: now + MEMORY });
        Some(tools)
    }

    /// The most tools the provider takes, where it said so within a day.
    pub fn of(&self, provider: &ProviderId, now: Timestamp) -> Option<u32> {
        self.0.peek(provider.as_str()).filter(|limit| now < limit.until).map(|limit| limit.tools)
    }
}

/// The limit that a refusal names, 1–10 000.
pub fn stated(message: &str) -> Option<u32> {
    let text = message.to_lowercase();
    let (phrase, at) = PHRASES.iter().find_map(|phrase| text.find(phrase).map(|at| (*phrase, at)))?;
    if phrase.ends_with("items") && !text.contains("tools") {
        return None;
    }
    let after = numbers(&text[at + phrase.len()..]);
    // "too many tools: 200 given, the maximum is 128" names two; the limit is the smaller.
    after.filter(|number| (1..=HIGHEST).contains(number)).min()
}

fn numbers(text: &str) -> impl Iterator<Item = u32> {
    text.split(|letter: char| !letter.is_ascii_digit()).filter_map(|digits| digits.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_limit() {
        for (message, limit) in [
            ("Invalid 'tools': maximum number of items is 128, got 200", Some(128)),
            ("The maximum number of tools is 64.", Some(64)),
            ("Too many tools: 300 provided, limit 128", Some(128)),
            ("tools limit exceeded (20)", Some(20)),
            ("maximum number of items is 16", None),
            ("too many tools", None),
            ("too many tools: 0", None),
            ("too many tools: 10001", None),
            ("model not found", None),
        ] {
            assert_eq!(stated(message), limit, "{message}");
        }
    }

    #[test]
    fn it_only_goes_down_and_is_forgotten_after_a_day() {
        let (mut limits, p, now) = (Limits::default(), ProviderId::from("p"), Timestamp::from_millis(7));
        assert_eq!(limits.of(&p, now), None);
        assert_eq!(limits.learn(&p, "too many tools, maximum 64", now), Some(64));
        assert_eq!(limits.learn(&p, "too many tools, maximum 128", now), Some(64));
        assert_eq!(limits.learn(&p, "too many tools, maximum 32", now), Some(32));
        assert_eq!(limits.of(&p, now + Millis::new(MEMORY.as_millis() - 1)), Some(32));
        assert_eq!(limits.of(&p, now + MEMORY), None);
        assert_eq!(limits.learn(&p, "too many tools, maximum 128", now + MEMORY), Some(128));
    }
}
