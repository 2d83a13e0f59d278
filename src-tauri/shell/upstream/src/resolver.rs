//! Name resolution that refuses what the address rules forbid.
//!
//! The connector connects to exactly the addresses returned here, so what was checked is what is connected to: there is
//! no second look-up in between.

use std::io;
use std::net::SocketAddr;
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
pub(crate) enum Rules {
    /// The name is that of a proxy its owner configured: anywhere but the forbidden places.
    ToProxy,
    /// The name is that of a provider.
    ToProvider {
        allow_private: bool,
        plain: bool,
        /// Our listeners, when the port is one of theirs.
        own: Option<OwnAddresses>,
    },
}

pub(crate) struct CheckedResolver {
    pub(crate) lookup: Lookup,
    pub(crate) rules: Rules,
}

impl Rules {
    fn check(&self, name: &str, address: SocketAddr) -> Result<(), AddressError> {
        match self {
            Rules::ToProxy => address::check_ip(address.ip(), &Policy { allow_private: true, own: &[] }),
            Rules::ToProvider { allow_private, plain, own } => {
                let own = own.as_ref().map(|own| own.load_full()).unwrap_or_default();
                let policy = Policy { allow_private: *allow_private, own: &own };
                address::check_resolved(name, address.ip(), *plain, &policy)
            }
        }
    }
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, rules) = (Arc::clone(&self.lookup), self.rules.clone());
        let name = name.as_str().to_owned();
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
