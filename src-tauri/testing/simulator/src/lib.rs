//! Seeded simulation of the core over virtual time.
//!
//! A loop: draw an action from the seed, apply it to the real Engine, run the checkers. The same seed gives the same
//! story, so a failure is replayed by one number; the shortest prefix that still fails is printed with it.

mod action;
mod broken;
mod check;
mod known;
mod waiting;
mod world;

pub use action::{Action, Operator, Queue, Tune};
pub use broken::Broken;
pub use world::World;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// A story that broke a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub seed: u64,
    /// Number of actions of the shortest prefix that still breaks it.
    pub steps: usize,
    pub broken: Broken,
    pub actions: Vec<Action>,
}

/// Plays one story of at most `steps` actions.
///
/// # Errors
/// The first rule that did not hold, with the actions that led there.
pub fn play(seed: u64, steps: usize) -> Result<(), Found> {
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let mut world = World::default();
    let mut actions = Vec::new();
    for step in 1..=steps {
        let action = Action::draw(&mut chance, &world);
        actions.push(action.clone());
        if let Err(broken) = world.apply(&action) {
            return Err(Found { seed, steps: step, broken, actions });
        }
    }
    world.finish().map_err(|broken| Found { seed, steps, broken, actions })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_thousand_stories_break_no_rule() {
        for seed in 0..2_000 {
            if let Err(found) = play(seed, 150) {
                panic!(
                    "seed {} breaks {:?} after {} steps: {:?}",
                    found.seed, found.broken, found.steps, found.actions
                );
            }
        }
    }

    #[test]
    fn the_same_seed_tells_the_same_story() {
        let story = |seed| {
            let mut chance = ChaCha8Rng::seed_from_u64(seed);
            let mut world = World::default();
            (0..100)
                .map(|_| {
                    let action = Action::draw(&mut chance, &world);
                    world.apply(&action).expect("no rule breaks");
                    action
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(story(7), story(7));
        assert_ne!(story(7), story(8));
    }
}
