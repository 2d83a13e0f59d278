//! The agent surface: passthrough, names, keys, the edge, failures before and after the first byte.

mod edge;
mod failover;
mod fixtures;
mod headers;
mod keys;
mod limits;
mod models;
mod names;
mod passthrough;
mod paths;
mod records;
mod streams;
