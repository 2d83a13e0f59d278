//! A table of the store as requests see it: an immutable snapshot, replaced as a whole when the table changes.
//!
//! One reading after another. Of two side by side, the one that began first may have missed the change that the other one
//! saw; ending last, it would put back what was deleted, and nothing would read the table again before the next change.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use tokio::sync::Mutex;

/// A look at what holds now, which costs next to nothing while it is short: every thread has places for a few, and no two
/// threads write to one counter. Whoever keeps it across an await clones what is in it.
pub type Current<T> = Guard<Arc<T>>;

/// The snapshot, and whose turn it is to replace it.
#[derive(Debug, Default)]
pub(crate) struct Table<T> {
    current: ArcSwap<T>,
    reading: Mutex<()>,
}

impl<T> Table<T> {
    pub(crate) fn new(first: T) -> Self {
        Table { current: ArcSwap::from_pointee(first), reading: Mutex::default() }
    }

    /// What holds now.
    pub(crate) fn get(&self) -> Current<T> {
        self.current.load()
    }

    /// Replaces the snapshot by what `read` finds, which begins once every earlier reading has ended.
    ///
    /// # Errors
    /// Those of `read`; then the snapshot stays as it is.
    pub(crate) async fn read<E>(&self, read: impl Future<Output = Result<T, E>>) -> Result<(), E> {
        let _one_at_a_time = self.reading.lock().await;
        self.current.store(Arc::new(read.await?));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_reading_that_is_slow_does_not_bring_back_what_a_later_one_saw_gone() {
        let (table, stored) = (Table::new(0), AtomicU32::new(1));
        let (goes_on, waits) = oneshot::channel::<()>();
        let slow = table.read(async {
            let found = stored.load(Ordering::SeqCst);
            waits.await.expect("told to go on");
            Ok::<u32, ()>(found)
        });
        let change = async {
            stored.store(2, Ordering::SeqCst);
            let later = table.read(async { Ok::<u32, ()>(stored.load(Ordering::SeqCst)) });
            let (read, _) = tokio::join!(later, async { goes_on.send(()) });
            read
        };
        let (first, second) = tokio::join!(slow, change);
        assert_eq!((first, second, **table.get()), (Ok(()), Ok(()), 2));
    }

    #[tokio::test]
    async fn a_reading_that_fails_leaves_what_was() {
        let table = Table::new(1);
        assert_eq!(table.read(async { Err::<u32, &str>("unreadable") }).await, Err("unreadable"));
        assert_eq!(table.read(async { Ok::<u32, &str>(2) }).await, Ok(()));
        assert_eq!(**table.get(), 2);
    }
}
