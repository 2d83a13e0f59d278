//! The real program under real trouble: killed, told to stop, out of space, crowded.
//!
//! Everything is bounded in count and time, so these run with the others.

mod crowd;
mod program;
mod survival;
