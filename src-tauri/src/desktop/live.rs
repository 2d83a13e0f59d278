//! Fast figures for the window, sampled only while it looks.

use std::sync::atomic::{AtomicU32, Ordering};

/// How many places of the window look at the live figures.
#[derive(Debug, Default)]
pub(super) struct Watchers(AtomicU32);

impl Watchers {
    pub(super) fn look(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn look_away(&self) {
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1));
    }

    /// The window is gone.
    pub(super) fn nobody_looks(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    pub(super) fn someone_looks(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_away_never_goes_below_nobody() {
        let watchers = Watchers::default();
        watchers.look_away();
        watchers.look();
        assert!(watchers.someone_looks());
        watchers.look_away();
        assert!(!watchers.someone_looks());
    }
}
