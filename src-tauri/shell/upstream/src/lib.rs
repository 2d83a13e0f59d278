//! Outgoing HTTP: everything between "send this attempt to that account" and the bytes that come back.
//!
//! - [`request`] builds the request of one attempt: the URL per dialect, and headers *from nothing*
//!   ([`outbound_headers`]), so that nothing of the client's travels on unless it is named there.
//! - [`transport`] sends it, once. It neither retries nor follows redirects, and it never waits on a timer of its own
//!   except the connect timeout: when an answer is late is for the caller to say, with its own clock. What goes wrong is
//!   named precisely ([`TransportError`]), because the cause decides who is blamed for it.
//! - [`address`] says where requests may go at all.
//! - [`discovery`] asks a provider for its models and tests a connection, in words a person can act on.

pub mod address;
pub mod discovery;
pub mod outbound_headers;
mod payload;
pub mod request;
mod resolver;
mod target;
#[cfg(test)]
mod testing;
pub mod transport;
mod transport_error;

pub use address::{AddressError, Policy, check_base_url};
pub use payload::Payload;
pub use request::{BuildError, Call, build};
pub use target::{Proxy, Route, Target};
pub use transport::{Body, HttpTransport, Options, OwnAddresses, Transport};
pub use transport_error::TransportError;
