//! Cost optimised: the lowest price of a million input tokens.
//!
//! Between equals the lower output price, then the order of the list. Free is 0 and first; unknown is not free and comes
//! after everything known.

use std::borrow::Borrow;

use super::rising;
use crate::target::Target;

/// Indexes into `targets`.
pub fn rank(targets: &[impl Borrow<Target>]) -> Vec<usize> {
    let prices = |target: &Target| (price(target.facts.input_price), price(target.facts.output_price));
    rising(targets.iter().map(|target| prices(target.borrow())), |a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)))
}

fn price(stated: Option<f64>) -> f64 {
    stated.filter(|price| price.is_finite()).map_or(f64::INFINITY, |price| price.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::each;
    use super::*;

    #[test]
    fn the_cheapest_known_comes_first_and_the_unknown_last() {
        let prices = [
            (None, None),
            (Some(3.0), Some(15.0)),
            (Some(0.0), Some(0.0)),
            (Some(3.0), Some(6.0)),
            (Some(3.0), None),
            (Some(f64::NAN), Some(0.0)),
            (None, None),
        ];
        let targets = each(prices, |target, (input, output)| {
            (target.facts.input_price, target.facts.output_price) = (input, output);
        });
        assert_eq!(rank(&targets), [2, 3, 1, 4, 5, 0, 6]);
    }
}
