//! A strategy ranks targets; it does not try them. One file each: its comment says what it prefers and what it ignores.
//!
//! Every one takes the targets that may be tried, and answers with their indexes, best first, each exactly once. Ties keep
//! the order of the list unless the comment says otherwise. `fusion` and `pipeline` put targets together instead.

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

/// The indexes of a list with one of them first and the rest as they were.
fn with_first(first: usize, count: usize) -> Vec<usize> {
    let mut order = Vec::with_capacity(count);
    order.push(first);
    order.extend((0..count).filter(|index| *index != first));
    order
}
