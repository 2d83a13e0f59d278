//! Where to listen.
//!
//! `localhost` means 127.0.0.1 to one client and ::1 to the next, so a listener on the one also takes the same port on
//! the other where this computer has it. A port that is taken is said so and never exchanged silently: clients hold
//! the address (gateway specification, 1.1).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;

const BACKLOG: i32 = 1_024;
/// How many random ports are tried until one is free for both families.
const TRIES: usize = 16;
/// How far the search for a free port goes.
const SEARCH: u16 = 100;

/// A place to listen: one port, one address or two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) address: IpAddr,
    pub(crate) port: u16,
}

/// The sockets of one place. The first is the one that was asked for.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) listeners: Vec<TcpListener>,
    pub(crate) port: u16,
    pub(crate) addresses: Vec<SocketAddr>,
}

#[derive(Debug)]
pub(crate) enum BindError {
    Taken,
    NotBindable(io::Error),
}

impl Place {
    /// `localhost` and text that is no address mean 127.0.0.1; the settings let nothing else through.
    pub(crate) fn new(bind_address: &str, port: u16) -> Self {
        let address = bind_address.parse().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        Place { address, port }
    }

    /// Binds the address, and the loopback of the other family beside a loopback or an unspecified one.
    pub(crate) fn bind(&self) -> Result<Bound, BindError> {
        if self.port != 0 {
            return self.bind_port(self.port);
        }
        for _ in 0..TRIES {
            match self.bind_port(0) {
                Err(BindError::Taken) => {}
                bound_or_not_bindable => return bound_or_not_bindable,
            }
        }
        Err(BindError::Taken)
    }

    /// The next port above this one that is free for the same addresses.
    pub(crate) fn next_free_port(&self) -> Option<u16> {
        let first = self.port.checked_add(1)?;
        (first..=self.port.saturating_add(SEARCH)).find(|port| self.bind_port(*port).is_ok())
    }

    fn bind_port(&self, port: u16) -> Result<Bound, BindError> {
        let first = listen(SocketAddr::new(self.address, port)).map_err(BindError::from)?;
        let port = first.local_addr().map_err(BindError::NotBindable)?.port();
        let mut listeners = vec![first];
        if let Some(companion) = companion(self.address) {
            match listen(SocketAddr::new(companion, port)) {
                Ok(listener) => listeners.push(listener),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(BindError::Taken),
                // This computer has no such address: there is nothing to miss.
                Err(error) => tracing::debug!(%error, address = %companion, "not listening there"),
            }
        }
        let addresses = listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect();
        Ok(Bound { listeners, port, addresses })
    }
}

impl From<io::Error> for BindError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AddrInUse => BindError::Taken,
            _ => BindError::NotBindable(error),
        }
    }
}

/// The address under which the other half of the clients looks for `localhost`.
fn companion(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V4(ip) if ip == Ipv4Addr::LOCALHOST || ip.is_unspecified() => Some(IpAddr::V6(Ipv6Addr::LOCALHOST)),
        IpAddr::V6(ip) if ip.is_loopback() => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        IpAddr::V4(_) | IpAddr::V6(_) => None,
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // Elsewhere this option would let two programs share a port; here it lets a restart reuse its own at once.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    if let IpAddr::V6(ip) = address.ip() {
        socket.set_only_v6(!ip.is_unspecified())?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn both_loopbacks_share_one_port() {
        let bound = Place::new("127.0.0.1", 0).bind().expect("a free port");
        assert!(bound.addresses.iter().all(|address| address.port() == bound.port && address.ip().is_loopback()));
        let has_ipv6 = std::net::TcpListener::bind("[::1]:0").is_ok();
        assert_eq!(bound.addresses.len(), if has_ipv6 { 2 } else { 1 });
    }

    #[tokio::test]
    async fn a_port_in_use_is_told_and_another_one_is_found() {
        let taken = Place::new("127.0.0.1", 0).bind().expect("a free port");
        let wanted = Place::new("127.0.0.1", taken.port);
        assert!(matches!(wanted.bind(), Err(BindError::Taken)));
        let next = wanted.next_free_port().expect("another port");
        assert!(next > taken.port && Place::new("127.0.0.1", next).bind().is_ok());
    }

    #[tokio::test]
    async fn an_address_of_somebody_else_cannot_be_listened_on() {
        assert!(matches!(Place::new("192.0.2.1", 0).bind(), Err(BindError::NotBindable(_))));
    }

    #[test]
    fn localhost_is_looked_for_in_both_families() {
        for (address, expected) in [
            ("127.0.0.1", Some("::1")),
            ("0.0.0.0", Some("::1")),
            ("::1", Some("127.0.0.1")),
            ("::", None),
            ("192.168.1.2", None),
        ] {
            let found = companion(address.parse().expect("an address"));
            assert_eq!(found.map(|ip| ip.to_string()).as_deref(), expected, "{address}");
        }
    }
}
