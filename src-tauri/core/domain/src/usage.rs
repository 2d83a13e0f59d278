//! Token counts in one vocabulary (gateway specification, 2.11).

use serde::{Deserialize, Serialize};

/// What one answer consumed. Counts are tokens; `None` means the upstream did not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Input that was neither read from nor written to a cache.
    pub input_fresh: Option<u64>,
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
    pub output: Option<u64>,
    /// The part of `output` that was reasoning.
    pub reasoning: Option<u64>,
    /// US dollars, where the provider states its own price.
    pub provider_cost: Option<f64>,
    /// Counted by estimate, not by the upstream.
    pub estimated: bool,
}

impl Usage {
    /// All input tokens: fresh, read from cache and written to cache.
    pub fn input(&self) -> Option<u64> {
        let known = [self.input_fresh, self.cache_read, self.cache_write];
        if known.iter().all(Option::is_none) {
            return None;
        }
        Some(known.iter().flatten().fold(0_u64, |sum, count| sum.saturating_add(*count)))
    }

    /// What another answer consumed, on top.
    pub fn add(&mut self, other: &Usage) {
        fn sum(kept: &mut Option<u64>, other: Option<u64>) {
            if let Some(other) = other {
                *kept = Some(kept.unwrap_or(0).saturating_add(other));
            }
        }
        sum(&mut self.input_fresh, other.input_fresh);
        sum(&mut self.cache_read, other.cache_read);
        sum(&mut self.cache_write, other.cache_write);
        sum(&mut self.output, other.output);
        sum(&mut self.reasoning, other.reasoning);
        if let Some(cost) = other.provider_cost {
            self.provider_cost = Some(self.provider_cost.unwrap_or(0.0) + cost);
        }
        self.estimated |= other.estimated;
    }

    /// Later figures of the same answer: cumulative counts, so the larger of each wins, never the sum.
    pub fn absorb(&mut self, later: &Usage) {
        fn larger(kept: &mut Option<u64>, later: Option<u64>) {
            if later > *kept {
                *kept = later;
            }
        }
        larger(&mut self.input_fresh, later.input_fresh);
        larger(&mut self.cache_read, later.cache_read);
        larger(&mut self.cache_write, later.cache_write);
        larger(&mut self.output, later.output);
        larger(&mut self.reasoning, later.reasoning);
        if later.provider_cost.is_some() {
            self.provider_cost = later.provider_cost;
        }
        self.estimated |= later.estimated;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cumulative_figures_are_not_added_up() {
        let mut usage = Usage { input_fresh: Some(10), output: Some(1), ..Usage::default() };
        usage.absorb(&Usage { input_fresh: Some(10), output: Some(42), ..Usage::default() });
        assert_eq!((usage.input(), usage.output), (Some(10), Some(42)));
    }

    #[test]
    fn unknown_is_not_zero() {
        assert_eq!(Usage::default().input(), None);
    }
}
