//! Whom an attempt is sent to, and by which way.

use std::fmt;
use std::sync::Arc;

use domain::ConnectionId;
use secrecy::SecretString;

/// One account at a provider, with what is needed to call it.
#[derive(Clone, Debug)]
pub struct Target {
    pub provider: Arc<catalog::Provider>,
    pub connection: ConnectionId,
    /// Replaces the provider's base URL up to and with its version segment (specification's decision 34).
    pub base_url: Option<String>,
    /// Absent where none is needed.
    pub credential: Option<SecretString>,
    pub route: Route,
}

/// The way out. Requests of the same route share one pool of connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// Through which proxy; directly when absent.
    pub proxy: Option<Proxy>,
    /// The owner consented to private addresses (gateway specification, 8.6).
    pub allow_private: bool,
    /// What was asked just before failed, and its server may be closing the connection that it kept: without TLS, where another
    /// costs next to nothing, none that was kept is used.
    pub fresh: bool,
}

/// An outgoing proxy. Its address may carry a password, so it is never printed in full.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proxy {
    /// What the operating system or the environment says, asked anew for each destination.
    System,
    /// One was asked for, and nobody can tell which: nothing goes out rather than past it.
    Missing,
    /// Of the form of [`domain::ProxyUrl`], password included.
    Url(String),
}

impl Target {
    /// The base URL in force, without a trailing slash.
    pub fn base_url(&self) -> &str {
        self.base_url.as_deref().unwrap_or(&self.provider.base_url).trim().trim_end_matches('/')
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Proxy::System => f.write_str("System"),
            Proxy::Missing => f.write_str("Missing"),
            Proxy::Url(url) => {
                let host = url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
                write!(f, "Url({})", host.as_deref().unwrap_or("unreadable"))
            }
        }
    }
}

impl From<&str> for Proxy {
    fn from(url: &str) -> Self {
        Proxy::Url(url.to_owned())
    }
}

impl From<String> for Proxy {
    fn from(url: String) -> Self {
        Proxy::Url(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_of_a_proxy_is_not_printed() {
        let route =
            Route { proxy: Some("http://me:hunter2@proxy.example:3128".into()), allow_private: false, fresh: false };
        let printed = format!("{route:?}");
        assert!(printed.contains("proxy.example") && !printed.contains("hunter2"), "{printed}");
    }
}
