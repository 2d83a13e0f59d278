//! Cache optimised: conversations with the same beginning go to the same account, whose prompt cache knows it.
//!
//! Rendezvous hashing: `score = first 8 bytes of SHA-256(key ‖ 0x00 ‖ identity)`, falling. The identity is
//! `connection:<id>`, or `execution:<key>` where no account is fixed. Everyone scores alone, so an account that leaves
//! moves only its own conversations, and one that joins takes only its share. Without a key the listed order.

use std::borrow::Borrow;
use std::cmp::Reverse;

use sha2::{Digest, Sha256};

use super::rising;
use crate::target::Target;
use crate::view::View;

/// Longest key, bytes.
pub const LONGEST_KEY: usize = 4_096;

/// Indexes into `targets`.
pub fn rank(targets: &[impl Borrow<Target>], view: &View<'_>) -> Vec<usize> {
    let Some(key) = &view.request.cache_key else { return (0..targets.len()).collect() };
    let begun = begin(key);
    rising(targets.iter().map(|target| Reverse(end(begun.clone(), target.borrow()))), Ord::cmp)
}

/// How strongly a key belongs to a target.
pub fn score(key: &str, target: &Target) -> u64 {
    end(begin(key), target)
}

fn begin(key: &str) -> Sha256 {
    let key = key.as_bytes();
    Sha256::new().chain_update(&key[..key.len().min(LONGEST_KEY)]).chain_update([0])
}

fn end(begun: Sha256, target: &Target) -> u64 {
    let hash = match &target.connection {
        Some(connection) => begun.chain_update("connection:").chain_update(connection.as_str()),
        None => begun.chain_update("execution:").chain_update(&target.execution_key),
    };
    let digest = hash.finalize();
    digest.iter().take(8).fold(0, |score, byte| score << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{World, fits, targets};
    use super::*;

    fn accounts(count: usize) -> Vec<Target> {
        let mut targets = targets(count);
        for (n, target) in targets.iter_mut().enumerate() {
            target.connection = Some(format!("a{n}").into());
        }
        targets
    }

    fn winners(targets: &[Target], keys: u32) -> Vec<usize> {
        let winner = |n: u32| {
            let mut world = World::default();
            world.request.cache_key = Some(format!("conversation {n}"));
            rank(targets, &world.view())[0]
        };
        (0..keys).map(winner).collect()
    }

    #[test]
    fn the_score_is_the_beginning_of_the_hash() {
        let mut target = accounts(1).remove(0);
        let expected = |identity: &str| {
            let digest = Sha256::digest(format!("key\0{identity}"));
            u64::from_be_bytes(digest[..8].try_into().expect("eight bytes"))
        };
        assert_eq!(score("key", &target), expected("connection:a0"));
        target.connection = None;
        assert_eq!(score("key", &target), expected("execution:s0"));
    }

    #[test]
    fn conversations_spread_evenly() {
        let mut counts = [0; 5];
        winners(&accounts(5), 5_000).into_iter().for_each(|winner| counts[winner] += 1);
        assert!(fits(&counts, &[0.2; 5]), "{counts:?}");
    }

    #[test]
    fn an_account_that_joins_or_leaves_moves_only_its_own_share() {
        let (few, many) = (winners(&accounts(4), 2_000), winners(&accounts(5), 2_000));
        let moved = few.iter().zip(&many).filter(|(before, after)| before != after).count();
        assert!(few.iter().zip(&many).all(|(before, after)| before == after || *after == 4));
        assert!((300..500).contains(&moved), "{moved} of 2000 moved, about 400 expected");
    }

    #[test]
    fn without_a_key_the_list_is_the_order_and_a_long_key_counts_to_its_limit() {
        assert_eq!(rank(&accounts(3), &World::default().view()), [0, 1, 2]);
        let target = &accounts(1)[0];
        assert_eq!(score(&"k".repeat(5_000), target), score(&"k".repeat(4_096), target));
    }
}
