//! The agent surface: passthrough, names, keys, the edge, failures before and after the first byte.

mod passthrough;
