//! Providers that refuse long lists of tools (resilience specification, 21.3).
//!
//! Scope: one provider. Question: *does it take as many tools as this request brings?* Nothing is assumed: only a limit
//! that the catalogue states, or one the provider named when it refused, keeps a request away (specification's decision
//! 31). A learned limit only goes down and is forgotten after a day, so a provider that raised it is asked again. Tools
//! are never dropped here.

use std::collections::BTreeMap;

use domain::{Millis, ProviderId, Timestamp};

/// How long a learned limit is believed.
const BELIEVED: Millis = Millis::hours(24);
/// Limits a provider may name; anything else is no limit but another number in the text.
const NAMED: std::ops::RangeInclusive<u32> = 1..=10_000;

/// What providers named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolLimits {
    learned: BTreeMap<ProviderId, Learned>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Learned {
    limit: u32,
    at: Timestamp,
}

/// The limit that a refusal names; none, it is no refusal of too many tools.
pub fn read(status: u16, text: &str) -> Option<u32> {
    if status != 400 {
        return None;
    }
    let text = text.to_ascii_lowercase();
    let after = |phrase: &str| text.find(phrase).map(|at| &text[at + phrase.len()..]);
    let of_items = || after("maximum number of items").filter(|_| text.contains("tools"));
    let rest = ["maximum number of tools", "too many tools", "tools limit"]
        .iter()
        .find_map(|phrase| after(phrase))
        .or_else(of_items)?;
    // "Too many tools: 200 given, maximum is 128": what stands nearest behind a word of limiting is meant.
    let limiting = ["maximum", "max", "limit", "at most", "up to"];
    let bounded = limiting.iter().filter_map(|word| rest.find(word).map(|at| &rest[at + word.len()..]));
    bounded.filter_map(first_number).next().or_else(|| first_number(rest)).filter(|limit| NAMED.contains(limit))
}

fn first_number(text: &str) -> Option<u32> {
    let digits = text.split(|letter: char| !letter.is_ascii_digit()).find(|run| !run.is_empty())?;
    digits.parse().ok()
}

impl ToolLimits {
    /// A provider refused and named its limit. Says whether that is news.
    pub fn on_refusal(&mut self, provider: &ProviderId, limit: u32, now: Timestamp) -> bool {
        if !NAMED.contains(&limit) || self.learned(provider, now).is_some_and(|known| known < limit) {
            return false;
        }
        let before = self.learned.insert(provider.clone(), Learned { limit, at: now });
        before.is_none_or(|before| before.limit != limit)
    }

    /// The limit of a provider, learned or `stated` by the catalogue: the lower one holds.
    pub fn limit(&self, provider: &ProviderId, stated: Option<u32>, now: Timestamp) -> Option<u32> {
        self.learned(provider, now).into_iter().chain(stated).min()
    }

    /// The limit that such a request exceeds.
    pub fn check(&self, provider: &ProviderId, stated: Option<u32>, tools: u32, now: Timestamp) -> Option<u32> {
        self.limit(provider, stated, now).filter(|limit| tools > *limit)
    }

    fn learned(&self, provider: &ProviderId, now: Timestamp) -> Option<u32> {
        self.learned.get(provider).filter(|learned| now < learned.at + BELIEVED).map(|learned| learned.limit)
    }

    /// Drops what is no longer believed.
    pub fn tick(&mut self, now: Timestamp) {
        self.learned.retain(|_, learned| now < learned.at + BELIEVED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

    #[test]
    fn a_refusal_is_read_with_its_number() {
        for (status, text, expected) in [
            (400, "Invalid 'tools': maximum number of tools is 64", Some(64)),
            (400, "'tools' array too long: maximum number of items is 128, got 200", Some(128)),
            (400, "Too many tools: 200 given, maximum is 128.", Some(128)),
            (400, "too many tools (max 20)", Some(20)),
            (400, "Tools limit of 32 exceeded", Some(32)),
            (400, "maximum number of items is 128", None),
            (400, "too many tools", None),
            (400, "maximum number of tools is 0", None),
            (400, "maximum number of tools is 20000", None),
            (400, "maximum number of tools is 99999999999999999999", None),
            (400, "the tool is unknown", None),
            (422, "maximum number of tools is 64", None),
        ] {
            assert_eq!(read(status, text), expected, "{status} {text}");
        }
    }

    #[test]
    fn a_learned_limit_only_goes_down_and_is_forgotten_after_a_day() {
        // OF-02
        let mut limits = ToolLimits::default();
        let provider = ProviderId::from("ak");
        assert_eq!(limits.check(&provider, None, 200, NOW), None);
        assert!(limits.on_refusal(&provider, 64, NOW));
        assert!(!limits.on_refusal(&provider, 128, NOW + Millis::hours(1)));
        for (tools, at, expected) in [
            (65, NOW, Some(64)),
            (64, NOW, None),
            (65, NOW + Millis::hours(24) - Millis::new(1), Some(64)),
            (65, NOW + Millis::hours(24), None),
        ] {
            assert_eq!(limits.check(&provider, None, tools, at), expected);
        }
        assert_eq!(limits.check(&"other".into(), None, 200, NOW), None);
        assert!(limits.on_refusal(&provider, 128, NOW + Millis::hours(25)), "the old one is forgotten");
    }

    #[test]
    fn a_stated_limit_holds_without_a_refusal() {
        let mut limits = ToolLimits::default();
        let provider = ProviderId::from("ak");
        assert_eq!(limits.check(&provider, Some(128), 129, NOW), Some(128));
        limits.on_refusal(&provider, 64, NOW);
        assert_eq!(limits.check(&provider, Some(128), 129, NOW), Some(64));
    }
}
