//! Fast figures for the window, sampled only while it looks.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::Notify;

/// How many places of the window look at the live figures.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    count: AtomicU32,
    changed: Notify,
}

impl Watchers {
    pub(super) fn look(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.changed.notify_one();
    }

    /// Completes when somebody starts to look.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    pub(super) fn look_away(&self) {
        let _ = self.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1));
    }

    /// The window is gone.
    pub(super) fn nobody_looks(&self) {
        self.count.store(0, Ordering::Relaxed);
    }

    pub(super) fn someone_looks(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
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
