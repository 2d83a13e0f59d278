//! Every management operation once, and its REST adapter.
//!
//! An operation is a plain async function of [`Control`]: it checks what a person asked for, writes it through the
//! store, tells the gateway to take it up, and answers with a [`view`]. REST ([`rest`]) and the window's commands are
//! adapters of one line per operation; [`topics`] is the list both are checked against, and says what each read shows
//! and each change touches. Nothing here decides about traffic: that is the core's.
//!
//! | noun | file |
//! | --- | --- |
//! | accounts at providers; testing them; what is left of them | `connections`, `specific`, `rate_limits`; `probes`; `quota`, `quota_watch` |
//! | accounts that keys share | `quota_pools` |
//! | custom providers | `nodes` |
//! | keys of agents | `keys` |
//! | providers and models; names for models | `catalog`, `models`; `aliases` |
//! | several models under one name; patterns that lead there | `combos`; `combo_mappings` |
//! | what happened, what it consumed | `requests`, `usage` |
//! | what routing spares and why; bringing it back | `cooldowns`, `lockouts`, `breakers`, `resilience_connections`, `explain` |
//! | what it would do otherwise | `simulate` |
//! | when it does so | `resilience`, `banned_signals` |
//! | the gateway itself | `app`, `health`, `settings`, `flags`, `management_token` |
//! | what changed, for whoever looks | `announcements` |

pub mod aliases;
mod announcements;
pub mod app;
pub mod banned_signals;
pub mod breakers;
pub mod catalog;
mod check;
pub mod combo_mappings;
pub mod combos;
pub mod connections;
pub mod cooldowns;
pub mod credential_health;
mod error;
pub mod explain;
pub mod flags;
mod handle;
pub mod health;
pub mod health_history;
pub mod keys;
mod lengths;
pub mod lockouts;
pub mod management_token;
pub mod models;
pub mod nodes;
pub mod probes;
pub mod quota;
pub mod quota_pools;
pub mod quota_watch;
mod rate_limits;
pub mod requests;
pub mod resilience;
pub mod resilience_connections;
pub mod rest;
pub mod settings;
pub mod simulate;
mod specific;
pub mod topics;
pub mod usage;
pub mod view;

pub use announcements::{Announcement, Announcements};
pub use error::{ControlError, FieldProblem};
pub use handle::{Control, ListenerMove, MoveRefused};
pub use management_token::TokenKeeper;
pub use topics::{Operation, operations};
