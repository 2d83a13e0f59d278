//! The one form between all dialects (gateway specification, 2.2 and 2.13).
//!
//! A request of another dialect than its upstream's is read into [`Request`] and written in the upstream's words; an answer
//! is read into [`Event`](crate::Event)s, whole or streamed, and written in the client's. N readers and N writers, never
//! N×M translators. Everything here is a pure function of its arguments; what could not be carried over is a [`Warning`].

mod answer;
pub mod arguments;
pub mod ids;
pub mod media;
pub mod reasoning;
pub mod repair;
mod request;
pub mod schema;
pub mod system;
mod target;
pub mod tools;

pub(crate) use request::lines;

pub use answer::{Answer, Part as AnswerPart};
pub use request::{
    CacheMark, Effort, Media, Namespace, Origin, OutputFormat, Part, Reasoning, ReasoningMode, Request, Role, Sampling,
    Source, Tool, ToolChoice, ToolKind, Turn,
};
pub use target::{CacheMarks, ForeignTools, IdMap, Names, Target, Warning, Written};
