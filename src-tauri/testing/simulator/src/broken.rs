//! The rules that every world must keep.

use domain::Mechanism;

/// A rule that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// Attempts under way and permits held differ.
    Permits { held: u32, open: u32 },
    /// The Engine's count of one account is not that of its attempts.
    Count { account: usize },
    /// More requests were let in than the cap allows.
    Cap { account: usize },
    /// A request was let through although something stood in its way.
    LetThrough { account: usize, by: Mechanism },
    /// A request was refused for a reason that the picture does not show.
    RefusedWithoutReason { account: usize, by: Mechanism },
    /// A waiting request was overtaken by one with the same needs.
    Overtaken { account: usize },
    /// A request waits beyond its patience.
    Starved { account: usize },
    /// A request waits although every gate has a place for it.
    Idle { account: usize },
    /// Waiting requests were lost, or are counted that are not there.
    Lost { waiting: usize, counted: u32 },
    /// Somebody was granted or refused who does not wait.
    UnknownTicket { ticket: u64 },
    /// Availability and admission disagreed.
    TwoAnswers { account: usize },
    /// More than one probe of a half-open breaker is under way.
    SecondProbe { account: usize },
    /// A neutral outcome left a trace on health.
    NeutralHurt { account: usize },
    /// After a success an older error was still remembered.
    NotRecovered { account: usize },
    /// A terminal state became weaker although its owner did nothing.
    TerminalEnded { account: usize },
    /// Something lasts longer than its mechanism allows.
    TooLong { what: &'static str },
    /// After a restart something is not what it was.
    NotRestored { what: String },
    /// When every timer had run out, an account was still kept away.
    NotHealed { account: usize },
}
