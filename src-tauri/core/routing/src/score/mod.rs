//! What a candidate is worth: a weighted sum of sixteen factors (gateway specification, 3.5).
//!
//! Each factor is a named function from a member of a pool to `0..=1`; the weights are data and add up to one, so a score
//! is in `0..=1` too and the share of each factor can be shown. Factors compare: "cheap" means cheap among the candidates
//! of this request, which is why they take the [`Pool`] and not only the candidate.
//!
//! Nothing non-finite gets out. An unknown figure is never read as zero: it counts as the pool's median where the factor
//! compares figures, and as the neutral value of the table where it does not.

pub mod factors;
pub mod fitness;
pub mod pool;
pub mod quota;
pub mod task;
pub mod weights;

#[cfg(test)]
pub(crate) mod samples;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub use pool::{CostClass, Hint, Member, Pool};
pub use weights::{Factor, Pack, Weights};

/// One factor's part in a score, for the screen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Breakdown {
    pub factor: Factor,
    /// 0–1.
    pub value: f64,
    /// 0–1; all weights of a score add up to 1.
    pub weight: f64,
    /// `value × weight`: what the factor adds to the score.
    pub share: f64,
    /// False, nothing is behind the value: it is the one that the unknown has.
    pub known: bool,
}

/// The score of a member, 0–1.
pub fn score(member: &Member<'_>, pool: &Pool<'_>, weights: &Weights) -> f64 {
    let sum: f64 = factors::all(member, pool).iter().zip(weights.all()).map(|(value, weight)| value * weight).sum();
    unit(sum)
}

/// Every factor of a member's score, in the order of the table; the shares add up to [`score`].
pub fn breakdown(member: &Member<'_>, pool: &Pool<'_>, weights: &Weights) -> Vec<Breakdown> {
    Factor::ALL
        .iter()
        .zip(factors::all(member, pool))
        .map(|(&factor, value)| {
            let weight = weights.of(factor);
            Breakdown { factor, value, weight, share: value * weight, known: factors::is_known(factor, member, pool) }
        })
        .collect()
}

/// Into `0..=1`; what is not a number becomes 0.
pub(crate) fn unit(value: f64) -> f64 {
    if value.is_finite() { value.clamp(0.0, 1.0) } else { 0.0 }
}
