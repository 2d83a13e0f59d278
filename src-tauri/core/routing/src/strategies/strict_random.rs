//! Strict random: a shuffled deck for each combo; every target is dealt once before any is dealt again.
//!
//! The first card of a new deck differs from the last of the old one, where there are two. When the set of targets changes,
//! a new deck is shuffled. The rest is shuffled anew for every request.

use std::borrow::Borrow;
use std::hash::{DefaultHasher, Hash, Hasher};

use rand::seq::SliceRandom;
use rand::{Rng, RngExt};

use crate::lru::Lru;
use crate::target::Target;
use crate::view::View;

/// Combos whose decks are kept.
const CAPACITY: usize = 500;

/// The deck of each combo.
#[derive(Clone, Debug, PartialEq)]
pub struct Decks(Lru<Deck>);

#[derive(Clone, Debug, PartialEq)]
struct Deck {
    /// Of the execution keys in the order of the list.
    fingerprint: u64,
    /// Indexes still to be dealt, the next one last.
    cards: Vec<usize>,
    /// Execution key dealt last.
    last: String,
}

impl Default for Decks {
    fn default() -> Self {
        Decks(Lru::new(CAPACITY))
    }
}

/// Indexes into `targets`.
pub fn rank(targets: &[impl Borrow<Target>], view: &View<'_>, decks: &mut Decks, rng: &mut impl Rng) -> Vec<usize> {
    let Some(first) = deal(targets, view.combo, decks, rng) else { return Vec::new() };
    let mut order = super::with_first(first, targets.len());
    order[1..].shuffle(rng);
    order
}

fn deal(targets: &[impl Borrow<Target>], combo: &str, decks: &mut Decks, rng: &mut impl Rng) -> Option<usize> {
    let fingerprint = fingerprint(targets);
    let mut deck = decks.0.remove(combo).unwrap_or(Deck { fingerprint, cards: Vec::new(), last: String::new() });
    if deck.cards.is_empty() || deck.fingerprint != fingerprint {
        deck.cards = shuffled(targets, &deck.last, rng);
        deck.fingerprint = fingerprint;
    }
    let card = deck.cards.pop()?;
    deck.last.clone_from(&targets[card].borrow().execution_key);
    decks.0.insert(combo, deck);
    Some(card)
}

/// A new deck whose next card is not `last`.
fn shuffled(targets: &[impl Borrow<Target>], last: &str, rng: &mut impl Rng) -> Vec<usize> {
    let mut cards: Vec<usize> = (0..targets.len()).collect();
    cards.shuffle(rng);
    let count = cards.len();
    if count > 1 && targets[cards[count - 1]].borrow().execution_key == last {
        let other = rng.random_range(0..count - 1);
        cards.swap(other, count - 1);
    }
    cards
}

fn fingerprint(targets: &[impl Borrow<Target>]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for target in targets {
        target.borrow().execution_key.hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{World, fits, rng, targets};
    use super::*;

    #[test]
    fn everyone_is_dealt_once_in_a_cycle_and_nobody_twice_in_a_row() {
        let (world, mut decks, mut rng, targets) = (World::default(), Decks::default(), rng(9), targets(5));
        let dealt: Vec<usize> = (0..5_000).map(|_| rank(&targets, &world.view(), &mut decks, &mut rng)[0]).collect();
        for cycle in dealt.chunks(5) {
            let mut cycle = cycle.to_vec();
            cycle.sort_unstable();
            assert_eq!(cycle, [0, 1, 2, 3, 4]);
        }
        assert!(dealt.windows(2).all(|pair| pair[0] != pair[1]));
        let mut firsts = [0; 5];
        dealt.iter().step_by(5).for_each(|card| firsts[*card] += 1);
        assert!(fits(&firsts, &[0.2; 5]), "{firsts:?}");
    }

    #[test]
    fn a_changed_set_is_a_new_deck() {
        let (world, mut decks, mut rng) = (World::default(), Decks::default(), rng(4));
        let five = targets(5);
        let before = rank(&five, &world.view(), &mut decks, &mut rng)[0];
        let four: Vec<Target> = five.iter().take(4).cloned().collect();
        let mut cycle: Vec<usize> = (0..4).map(|_| rank(&four, &world.view(), &mut decks, &mut rng)[0]).collect();
        assert_ne!(cycle[0], before);
        cycle.sort_unstable();
        assert_eq!(cycle, [0, 1, 2, 3]);
    }

    #[test]
    fn one_target_is_dealt_again_and_none_is_no_deck() {
        let (world, mut decks, mut rng) = (World::default(), Decks::default(), rng(4));
        for _ in 0..3 {
            assert_eq!(rank(&targets(1), &world.view(), &mut decks, &mut rng), [0]);
        }
        assert_eq!(rank(&targets(0), &world.view(), &mut decks, &mut rng), [0_usize; 0]);
    }
}
