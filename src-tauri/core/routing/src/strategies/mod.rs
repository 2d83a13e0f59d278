//! A strategy ranks targets; it does not try them. One file each: its comment says what it prefers and what it ignores.
//!
//! Every one takes the targets that may be tried, and answers with their indexes, best first, each exactly once. Ties keep
//! the order of the list unless the comment says otherwise. `fusion` and `pipeline` put targets together instead.

use std::cmp::Ordering;

pub mod auto;
pub mod cache_optimized;
pub mod context_optimized;
pub mod context_relay;
pub mod cost_optimized;
pub mod fill_first;
pub mod fusion;
pub mod headroom;
pub mod least_used;
pub mod lkgp;
pub mod p2c;
pub mod pipeline;
pub mod priority;
pub mod random;
pub mod reset_aware;
pub mod reset_window;
pub mod round_robin;
pub mod strict_random;
pub mod weighted;

#[cfg(test)]
pub(crate) mod fixtures;

/// The indexes of keys in rising order; equals keep their order. A key travels with its index while they are sorted: to
/// look it up by the index costs more than to compare it.
fn rising<K>(keys: impl Iterator<Item = K>, compare: impl Fn(&K, &K) -> Ordering) -> Vec<usize> {
    let mut keyed: Vec<(K, usize)> = keys.zip(0..).collect();
    keyed.sort_unstable_by(|(a, at), (b, beside)| compare(a, b).then(at.cmp(beside)));
    keyed.into_iter().map(|(_, index)| index).collect()
}

/// The same in falling order of numbers.
fn falling(numbers: impl Iterator<Item = f64>) -> Vec<usize> {
    rising(numbers, |a, b| b.total_cmp(a))
}

/// The indexes of a list with one of them first and the rest as they were.
fn with_first(first: usize, count: usize) -> Vec<usize> {
    let mut order = Vec::with_capacity(count);
    order.push(first);
    order.extend((0..count).filter(|index| *index != first));
    order
}
