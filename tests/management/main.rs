//! The management API over the wire: its rules, its records, its settings, its events (gateway specification, 6.1).

mod connections;
mod events;
mod keys;
mod nodes;
mod rules;
mod settings;
