//! Requests of this dialect, read and written (gateway specification, 2.3 to 2.9).
//!
//! Reading takes what the many clients of this dialect really send: legacy functions, content as text or parts, media
//! wrapped in several ways, the reasoning switches of a dozen vendors. Writing gives every server the plainest form that
//! says it, and [`Target`](crate::canonical::Target) tells what a server cannot take.

mod messages;
mod read;
mod tools;
mod wire;
mod write;
mod write_content;
mod write_messages;

pub(crate) use read::read;
pub(crate) use write::write;
