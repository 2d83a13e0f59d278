//! The crate over real sockets: small hand-written servers on loopback ports, and time that a test moves by hand.

mod discovery;
mod server;
mod socks;
mod transport;
