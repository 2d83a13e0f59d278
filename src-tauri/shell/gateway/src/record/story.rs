//! What a request's story and its parts have in common: how many attempts the whole request has made, and what parts had to
//! tell that were dropped while they ran. The lock is held for a few instructions and never across an await.

use std::sync::Arc;

use domain::Usage;
use domain::request_log::AttemptRecord;
use parking_lot::Mutex;
use routing::Journey;
use routing::decision::MOST_ATTEMPTS;

#[derive(Debug, Default)]
pub(super) struct Story(Mutex<Shared>);

#[derive(Debug, Default)]
struct Shared {
    begun: u32,
    /// Attempts that were begun or are about to be.
    claimed: usize,
    /// Attempts that are kept for judges.
    kept: usize,
    left: Vec<Left>,
}

/// An attempt that is kept for the judge of a panel, so that its members cannot make it. Dropped, it is whoever's comes first.
#[derive(Debug)]
pub(crate) struct KeptAttempt(Arc<Story>);

/// What a part of the story has to tell.
#[derive(Debug)]
pub(super) struct Left {
    pub(super) journey: Journey,
    /// The attempt that was under way.
    pub(super) open: Option<AttemptRecord>,
    /// What that had consumed so far, as its upstream said, and the bytes of text that had arrived.
    pub(super) usage: Usage,
    pub(super) output_bytes: u64,
    /// Tokens of its prompt, by estimate.
    pub(super) estimated_input: Option<u64>,
}

/// Why calls are given up while they run, in the words of their rows.
pub(crate) struct CutOff {
    pub(super) kind: &'static str,
    pub(super) decision: &'static str,
    /// It is this gateway that wants no answer any more: what it asked for is consumed, whether anything arrived or not.
    pub(super) is_ours: bool,
}

impl CutOff {
    /// Somebody else was faster.
    pub(crate) const LOST: CutOff = CutOff { kind: CALLED_OFF, decision: "lost", is_ours: true };
    /// What somebody else was told ended it all.
    pub(crate) const NEEDLESS: CutOff = CutOff { kind: CALLED_OFF, decision: "stop", is_ours: true };
    /// The panel had enough answers, or no more time.
    pub(crate) const PANEL_OVER: CutOff = CutOff { kind: CALLED_OFF, decision: "panel_over", is_ours: true };
    /// The combo's time was over.
    pub(crate) const LATE: CutOff = CutOff { kind: "combo_timeout", decision: "stop", is_ours: true };
    pub(super) const CLIENT_LEFT: CutOff = CutOff { kind: "client_aborted", decision: "stop", is_ours: false };
}

/// How the record of an attempt calls one that was given up although nothing spoke against it.
pub(crate) const CALLED_OFF: &str = "called_off";

impl Story {
    /// One more attempt may be made, which counts from now on. Members of a panel ask side by side: whoever comes first has it.
    pub(super) fn claim(&self) -> bool {
        let mut shared = self.0.lock();
        let may = shared.gone() < MOST_ATTEMPTS;
        shared.claimed += usize::from(may);
        may
    }

    /// Attempts that nobody may make any more: those that were made, and those that are kept for somebody.
    pub(super) fn gone(&self) -> usize {
        self.0.lock().gone()
    }

    /// Keeps an attempt for whoever needs one later, if one is left.
    pub(super) fn keep(self: &Arc<Self>) -> Option<KeptAttempt> {
        let mut shared = self.0.lock();
        let may = shared.gone() < MOST_ATTEMPTS;
        shared.kept += usize::from(may);
        may.then(|| KeptAttempt(Arc::clone(self)))
    }

    /// Another attempt begins, claimed or not: its number.
    pub(super) fn begin(&self, is_claimed: bool) -> u32 {
        let mut shared = self.0.lock();
        shared.claimed += usize::from(!is_claimed);
        shared.begun = shared.begun.saturating_add(1);
        shared.begun
    }

    pub(super) fn leave(&self, left: Left) {
        self.0.lock().left.push(left);
    }

    /// What parts left behind since this was asked last.
    pub(super) fn left(&self) -> Vec<Left> {
        std::mem::take(&mut self.0.lock().left)
    }
}

impl Shared {
    fn gone(&self) -> usize {
        self.claimed + self.kept
    }
}

impl Drop for KeptAttempt {
    fn drop(&mut self) {
        let mut shared = self.0.0.lock();
        shared.kept = shared.kept.saturating_sub(1);
    }
}
