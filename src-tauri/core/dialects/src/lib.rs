//! Wire formats: what a client and an upstream say to each other, and how to read it without changing it.
//!
//! The gateway forwards bytes. So everything here either *borrows* a few values out of bytes that travel on untouched
//! ([`glance`], [`framing`], the stream readers of [`event`], [`response`]), or makes the few bytes the gateway says in
//! its own name ([`error`], [`keep_alive`], [`models`]). Where a value inside a body must change, [`splice`] replaces
//! its byte range and leaves every other byte as it was: field order, unknown fields, signed reasoning and the cached
//! prompt prefix survive because nobody rebuilds them.
//!
//! A dialect is a folder (`chat`, `responses`, `messages`, `gemini`) with the same file names in each: `stream.rs` reads
//! streams, `response.rs` reads whole answers, `error.rs` writes errors, `golden/` holds recorded streams beside what
//! they mean. `ollama` is a dialect that only clients speak ([`client`]). Nothing here does I/O, reads a clock or keeps state beyond one request.

mod chat;
mod end_marker;
mod fields;
mod first_object;
mod gemini;
mod json;
mod lenient;
mod mended;
mod messages;
mod openai_params;
mod output_limit;
mod parts;
mod responses;
mod surrogates;
mod system_text;

pub mod canonical;
pub mod client;
pub mod continuation;
pub mod conversation_ends;
pub mod error;
pub mod event;
pub mod framing;
pub mod glance;
pub mod headers;
pub mod inline_think;
pub mod keep_alive;
pub mod kept_body;
pub mod models;
pub mod ollama;
pub mod response;
pub mod splice;
pub mod thoughts;
pub mod tool_list;
pub mod translate;
pub mod wire_form;

pub use client::Client;
pub use end_marker::end_marker;
pub use error::{ErrorBody, StreamProgress, UpstreamError};
pub use event::{DeltaKind, Event, FinishReason, PartKind, Remainder, StreamReader, reader};
pub use first_object::{FirstObject, first_object};
pub use framing::{Decoder, Frame, Framing, FramingError, SseDecoder};
pub use glance::{Glance, GlanceError, Glancer, glance};
pub use headers::list_shape;
pub use keep_alive::keep_alive;
pub use models::{ListShape, ListedModel, ModelEntry, Page};
pub use output_limit::limited_output;
pub use response::{Inspection, inspect};
pub use splice::{Edit, ensure_include_usage, ensure_model, model_edit, pieces, remove_member, remove_members, splice};
pub use system_text::prepend_system;
