//! What an answer costs (gateway specification, 5.4).
//!
//! Every kind of token has a price once a model is read: where a list states none for the cache, the usual ratio of the
//! model's dialect stands in, so that the sum never falls short without anybody noticing.

use domain::{Dialect, Usage};

/// US dollars per million tokens, at the provider's standard rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Input that was neither read from nor written to a cache.
    pub input: f64,
    /// Output, reasoning included.
    pub output: f64,
    /// Input read from a cache; assumed by [`Price::new`] where not stated.
    pub cache_read: f64,
    /// Input written to a cache for five minutes; assumed by [`Price::new`] where not stated.
    pub cache_write: f64,
}

impl Price {
    /// Completes a listed price. Reading from a cache costs a tenth of the input price in the messages dialect, half of
    /// it in the OpenAI dialects, all of it elsewhere; writing costs a quarter more than the input price.
    pub fn new(dialect: Dialect, input: f64, output: f64, cache_read: Option<f64>, cache_write: Option<f64>) -> Price {
        let read_share = match dialect {
            Dialect::Messages => 0.1,
            Dialect::Chat | Dialect::Responses => 0.5,
            Dialect::Gemini => 1.0,
        };
        Price {
            input,
            output,
            cache_read: cache_read.unwrap_or(input * read_share),
            cache_write: cache_write.unwrap_or(input * 1.25),
        }
    }
}

/// US dollars for `usage`. What the provider itself charged wins over the list; counts it did not state add nothing.
pub fn cost(price: &Price, usage: &Usage) -> f64 {
    if let Some(charged) = usage.provider_cost {
        return charged;
    }
    let parts = [
        (usage.input_fresh, price.input),
        (usage.cache_read, price.cache_read),
        (usage.cache_write, price.cache_write),
        (usage.output, price.output),
    ];
    parts.iter().map(|(count, rate)| count.unwrap_or(0) as f64 * rate).sum::<f64>() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_token_has_its_own_price() {
        let price = Price { input: 3.0, output: 15.0, cache_read: 0.3, cache_write: 3.75 };
        let usage = |input_fresh, cache_read, cache_write, output| Usage {
            input_fresh,
            cache_read,
            cache_write,
            output,
            ..Usage::default()
        };
        for (usage, expected) in [
            (usage(Some(1_000_000), None, None, None), 3.0),
            (usage(None, Some(1_000_000), None, None), 0.3),
            (usage(None, None, Some(1_000_000), None), 3.75),
            (usage(None, None, None, Some(1_000_000)), 15.0),
            (usage(Some(1_000), Some(10_000), Some(2_000), Some(500)), 0.021),
            (Usage::default(), 0.0),
        ] {
            assert!((cost(&price, &usage) - expected).abs() < 1e-9, "{usage:?}");
        }
    }

    #[test]
    fn reasoning_is_part_of_the_output() {
        let price = Price { input: 1.0, output: 10.0, cache_read: 1.0, cache_write: 1.0 };
        let usage = Usage { output: Some(100), reasoning: Some(80), ..Usage::default() };
        assert!((cost(&price, &usage) - 0.001).abs() < 1e-12);
    }

    #[test]
    fn what_the_provider_charged_wins() {
        let price = Price { input: 1.0, output: 1.0, cache_read: 1.0, cache_write: 1.0 };
        let usage = Usage { output: Some(1_000_000), provider_cost: Some(0.25), ..Usage::default() };
        assert!((cost(&price, &usage) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn a_price_without_cache_rates_is_completed_by_dialect() {
        for (dialect, read) in
            [(Dialect::Messages, 0.2), (Dialect::Chat, 1.0), (Dialect::Responses, 1.0), (Dialect::Gemini, 2.0)]
        {
            let price = Price::new(dialect, 2.0, 8.0, None, None);
            assert!((price.cache_read - read).abs() < 1e-12, "{dialect}");
            assert!((price.cache_write - 2.5).abs() < 1e-12, "{dialect}");
        }
        let listed = Price::new(Dialect::Messages, 2.0, 8.0, Some(0.05), Some(3.0));
        assert_eq!((listed.cache_read, listed.cache_write), (0.05, 3.0));
    }
}
