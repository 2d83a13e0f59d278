//! A bounded memory by name that forgets what was not asked for longest.
//!
//! Everything a strategy remembers is by combo, session or target, names that outsiders can make up without end; the
//! bound is what keeps a long-running gateway small. Order of use is a counter, not a clock, so that the same calls leave
//! the same memory.

use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq)]
pub struct Lru<V> {
    capacity: usize,
    tick: u64,
    entries: BTreeMap<String, (u64, V)>,
    /// By time of last use; the same names once more.
    ages: BTreeMap<u64, String>,
}

impl<V> Lru<V> {
    /// Holds at most `capacity` entries, at least one.
    pub fn new(capacity: usize) -> Self {
        Lru { capacity: capacity.max(1), tick: 0, entries: BTreeMap::new(), ages: BTreeMap::new() }
    }

    /// The value of a name, which counts as used.
    pub fn get(&mut self, name: &str) -> Option<&mut V> {
        let (age, value) = self.entries.get_mut(name)?;
        self.tick += 1;
        if let Some(name) = self.ages.remove(age) {
            self.ages.insert(self.tick, name);
        }
        *age = self.tick;
        Some(value)
    }

    /// The value of a name, which does not count as used.
    pub fn peek(&self, name: &str) -> Option<&V> {
        self.entries.get(name).map(|(_, value)| value)
    }

    /// Sets a value, and forgets the least recently used entry where there are too many: that one is returned.
    pub fn insert(&mut self, name: &str, value: V) -> Option<(String, V)> {
        if let Some(present) = self.get(name) {
            *present = value;
            return None;
        }
        self.tick += 1;
        self.entries.insert(name.to_owned(), (self.tick, value));
        self.ages.insert(self.tick, name.to_owned());
        if self.entries.len() <= self.capacity {
            return None;
        }
        let (_, oldest) = self.ages.pop_first()?;
        let (_, value) = self.entries.remove(&oldest)?;
        Some((oldest, value))
    }

    pub fn remove(&mut self, name: &str) -> Option<V> {
        let (age, value) = self.entries.remove(name)?;
        self.ages.remove(&age);
        Some(value)
    }

    /// In the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        self.entries.iter().map(|(name, (_, value))| (name.as_str(), value))
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Turns by name: a number that grows by one with every turn taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Turns(Lru<u64>);

impl Turns {
    /// Combos whose turns are remembered (gateway specification, 3.4).
    const CAPACITY: usize = 500;

    /// The number of this turn, 0 for the first.
    pub fn take(&mut self, name: &str) -> u64 {
        match self.0.get(name) {
            Some(next) => {
                let turn = *next;
                *next = next.wrapping_add(1);
                turn
            }
            None => {
                self.0.insert(name, 1);
                0
            }
        }
    }
}

impl Default for Turns {
    fn default() -> Self {
        Turns(Lru::new(Turns::CAPACITY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_goes_first() {
        let mut lru = Lru::new(2);
        lru.insert("a", 1);
        lru.insert("b", 2);
        assert_eq!(lru.get("a"), Some(&mut 1));
        lru.insert("c", 3);
        assert_eq!(lru.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "c"]);
        assert_eq!(lru.peek("b"), None);
    }

    #[test]
    fn a_new_value_takes_no_second_place_and_what_is_removed_is_gone() {
        let mut lru = Lru::new(2);
        lru.insert("a", 1);
        lru.insert("a", 2);
        assert_eq!((lru.len(), lru.peek("a")), (1, Some(&2)));
        assert_eq!((lru.remove("a"), lru.remove("a"), lru.is_empty()), (Some(2), None, true));
        assert_eq!(lru.ages.len(), 0);
    }

    #[test]
    fn turns_count_for_each_name_alone() {
        let mut turns = Turns::default();
        assert_eq!([turns.take("a"), turns.take("a"), turns.take("b"), turns.take("a")], [0, 1, 0, 2]);
    }
}
