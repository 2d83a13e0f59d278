//! Name resolution that refuses what the address rules forbid.
//!
//! The connector connects to exactly the addresses returned here, so what was checked is what is connected to: there is
//! no second look-up in between.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::address::{self, AddressError, Policy};
use crate::transport::OwnAddresses;

/// How names become addresses: the operating system, or a table in a test.
pub type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// Asks the operating system.
pub(crate) fn system_lookup() -> Lookup {
    Arc::new(|name| Box::pin(async move { Ok(tokio::net::lookup_host((name.as_str(), 0)).await?.collect()) }))
}

/// The rules one client applies to every name it resolves.
#[derive(Clone)]
pub(crate) struct Rules {
    /// The proxy its owner configured may be anywhere but in the forbidden places. Every other name is a provider's, which is
    /// looked up here where there is no proxy, and where a SOCKS proxy takes addresses only.
    pub(crate) proxy: Option<String>,
    pub(crate) allow_private: bool,
    pub(crate) plain: bool,
    /// Our listeners, when the port is one of theirs.
    pub(crate) own: Option<OwnAddresses>,
}

pub(crate) struct CheckedResolver {
    pub(crate) lookup: Lookup,
    pub(crate) rules: Rules,
}

impl Rules {
    fn check(&self, name: &str, address: SocketAddr) -> Result<(), AddressError> {
        if self.proxy.as_deref().is_some_and(|proxy| proxy.eq_ignore_ascii_case(name)) {
            return address::check_ip(address.ip(), &Policy { allow_private: true, own: &[] });
        }
        let own = self.own.as_ref().map(|own| own.load_full()).unwrap_or_default();
        let policy = Policy { allow_private: self.allow_private, own: &own };
        address::check_resolved(name, address.ip(), self.plain, &policy)
    }
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, rules) = (Arc::clone(&self.lookup), self.rules.clone());
        let name = name.as_str().to_owned();
        let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(&name);
        if let Ok(literal) = bare.parse::<IpAddr>() {
            // No name, and judged with the URL it stands in: only the way through a SOCKS proxy brings one here.
            let found = std::iter::once(SocketAddr::new(literal, 0));
            return Box::pin(async move { Ok(Box::new(found) as Addrs) });
        }
        Box::pin(async move {
            let found = lookup(name.clone()).await?;
            let mut refused = None;
            let mut allowed = Vec::with_capacity(found.len());
            for address in found {
                match rules.check(&name, address) {
                    Ok(()) => allowed.push(address),
                    Err(error) => refused = Some(error),
                }
            }
            match refused {
                Some(error) if allowed.is_empty() => Err(error.into()),
                Some(_) | None => Ok(Box::new(allowed.into_iter()) as Addrs),
            }
        })
    }
}
