//! The seam to the network: one request, one attempt, one answer.
//!
//! [`Transport`] has two kinds of implementation: [`HttpTransport`] for production, and scripted ones in tests. Neither
//! retries, follows redirects or watches the clock; the attempt loop of the gateway does that, where it can be seen. (A
//! request that finds its kept connection closed before a byte of it was written is written to a new one: nothing has been
//! sent twice then.)
//!
//! One client exists per route and runtime, made when it is first needed: a request and the connection it travels on are
//! then served by the same thread where threads have runtimes of their own. It keeps connections open, speaks HTTP/2 where the server
//! offers it and sends small writes at once. Answers are asked for uncompressed (`accept-encoding: identity`), so that
//! streamed frames arrive as they were sent; a server that compresses regardless is unpacked on the fly.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use domain::{Millis, ProxyUrl};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING};
use http::{HeaderValue, StatusCode};
use http_body_util::BodyExt;
use hyper_util::client::proxy::matcher::Matcher;
use parking_lot::RwLock;
use tokio::runtime;
use url::Url;

use crate::address::{self, Policy};
use crate::payload::Payload;
use crate::resolver::{CheckedResolver, Rules, system_lookup};
use crate::target::{Proxy, Route};
use crate::transport_error::{Phase, TransportError};

pub use crate::resolver::Lookup;

/// The body of an answer, chunk by chunk as it arrives. An error ends it.
pub type Body = BoxStream<'static, Result<Bytes, TransportError>>;

/// Where this gateway listens, so that it never calls itself. Filled in once the listener is bound.
pub type OwnAddresses = Arc<ArcSwap<Vec<SocketAddr>>>;

/// Sends one request and hands over the answer as soon as its head has come.
pub trait Transport: Send + Sync {
    /// Dropping the future or the body cancels the request.
    fn send(
        &self,
        request: http::Request<Payload>,
        route: &Route,
    ) -> BoxFuture<'_, Result<http::Response<Body>, TransportError>>;
}

#[derive(Clone, Debug)]
pub struct Options {
    /// Name resolution, connection and TLS together.
    pub connect_timeout: Millis,
    pub own_addresses: OwnAddresses,
}

/// The real network.
pub struct HttpTransport {
    connect_timeout: AtomicU64,
    own_addresses: OwnAddresses,
    lookup: Lookup,
    system_proxy: OnceLock<Matcher>,
    clients: RwLock<HashMap<ClientKey, reqwest::Client>>,
}

/// Requests that may share a client: same threads, same patience, same way out, same address rules.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ClientKey {
    runtime: runtime::Id,
    /// One that is being made while this changes serves nobody who comes later.
    connect_timeout: Millis,
    proxy: Option<String>,
    allow_private: bool,
    /// Plain http, for which a resolved address must be near.
    plain: bool,
    /// Keeps no connection ([`Route::fresh`]).
    fresh: bool,
    /// The port is one we listen on, so the resolver must recognise our own addresses.
    own_port: bool,
}

/// In the words of somebody who has the settings before them.
const NO_ADDRESS: &str =
    "network.proxyMode is custom, and network.proxyUrl is missing or cannot be read: enter it, or choose another mode";

/// Routes in use at once are few; beyond this, the clients of forgotten proxies are let go.
const MAX_CLIENTS: usize = 128;
/// Idle connections that a client keeps per server.
const MAX_IDLE_CONNECTIONS: usize = 64;
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// The same without TLS: what speaks so stands near, a new connection costs it next to nothing, and many such servers close an
/// idle one after five seconds. A request that is written to a connection in the moment in which it is closed fails, because
/// nobody can tell whether it was read.
const PLAIN_IDLE_TIMEOUT: Duration = Duration::from_secs(4);
/// HTTP/2 pings while a request is open: finds connections that died while the computer slept.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

impl HttpTransport {
    pub fn new(options: Options) -> Self {
        Self::with_lookup(options, system_lookup())
    }

    /// With another source of addresses than the operating system.
    pub fn with_lookup(options: Options, lookup: Lookup) -> Self {
        HttpTransport {
            connect_timeout: AtomicU64::new(options.connect_timeout.as_millis()),
            own_addresses: options.own_addresses,
            lookup,
            system_proxy: OnceLock::new(),
            clients: RwLock::default(),
        }
    }

    /// Applies to connections made from now on; requests under way are not disturbed.
    pub fn set_connect_timeout(&self, timeout: Millis) {
        if self.connect_timeout.swap(timeout.as_millis(), Ordering::Relaxed) != timeout.as_millis() {
            self.clients.write().retain(|key, _| key.connect_timeout == timeout);
        }
    }

    async fn exchange(
        &self,
        mut request: http::Request<Payload>,
        route: Route,
    ) -> Result<http::Response<Body>, TransportError> {
        request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let request = reqwest::Request::try_from(request.map(Payload::into_reqwest)).map_err(|error| other(&error))?;
        let own = self.own_addresses.load_full();
        let policy = Policy { allow_private: route.allow_private, own: &own };
        address::check_url(request.url(), &policy)?;

        let proxy = self.proxy_for(request.url(), route.proxy)?;
        let proxied = proxy.is_some();
        let plain = request.url().scheme() == "http";
        let own_port = own.iter().any(|own| Some(own.port()) == request.url().port_or_known_default());
        let fresh = plain && route.fresh;
        let key = ClientKey { fresh, ..self.key(proxy, route.allow_private, plain, own_port) };
        let client = self.client(key)?;
        let response = client
            .execute(request)
            .await
            .map_err(|error| TransportError::from_reqwest(&error, Phase::Head { proxied }))?;
        readable(response.into(), proxied)
    }

    /// The proxy to use for `url`, in full.
    fn proxy_for(&self, url: &Url, proxy: Option<Proxy>) -> Result<Option<String>, TransportError> {
        match proxy {
            None => Ok(None),
            Some(Proxy::Url(proxy)) => Ok(Some(proxy)),
            Some(Proxy::Missing) => Err(TransportError::Proxy(NO_ADDRESS.to_owned())),
            Some(Proxy::System) => {
                let destination =
                    url.as_str().parse::<http::Uri>().map_err(|error| TransportError::Other(error.to_string()))?;
                let matcher = self.system_proxy.get_or_init(Matcher::from_system);
                Ok(matcher.intercept(&destination).map(|found| with_credentials(found.uri(), found.raw_auth())))
            }
        }
    }

    fn key(&self, proxy: Option<String>, allow_private: bool, plain: bool, own_port: bool) -> ClientKey {
        ClientKey {
            runtime: runtime::Handle::current().id(),
            connect_timeout: Millis::new(self.connect_timeout.load(Ordering::Relaxed)),
            proxy,
            allow_private,
            plain,
            fresh: false,
            own_port,
        }
    }

    fn client(&self, key: ClientKey) -> Result<reqwest::Client, TransportError> {
        if let Some(client) = self.clients.read().get(&key) {
            return Ok(client.clone());
        }
        let client = self.new_client(&key)?;
        let mut clients = self.clients.write();
        if clients.len() >= MAX_CLIENTS {
            clients.clear();
        }
        Ok(clients.entry(key).or_insert(client).clone())
    }

    fn new_client(&self, key: &ClientKey) -> Result<reqwest::Client, TransportError> {
        let proxy = key.proxy.as_deref().map(checked_proxy).transpose()?;
        let (proxy_host, proxy) = proxy.unzip();
        let rules = Rules {
            proxy: proxy_host,
            allow_private: key.allow_private,
            plain: key.plain,
            own: key.own_port.then(|| Arc::clone(&self.own_addresses)),
        };
        let mut builder = reqwest::Client::builder()
            .no_proxy()
            .connect_timeout(key.connect_timeout.into())
            .tcp_nodelay(true)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            .gzip(true)
            .brotli(true)
            .pool_idle_timeout(if key.plain { PLAIN_IDLE_TIMEOUT } else { IDLE_TIMEOUT })
            .pool_max_idle_per_host(if key.fresh { 0 } else { MAX_IDLE_CONNECTIONS })
            .http2_keep_alive_interval(PING_INTERVAL)
            .http2_keep_alive_timeout(PING_TIMEOUT)
            .http2_keep_alive_while_idle(false)
            .dns_resolver(Arc::new(CheckedResolver { lookup: Arc::clone(&self.lookup), rules }));
        if let Some(proxy) = proxy {
            builder = builder.proxy(proxy);
        }
        builder.build().map_err(|error| other(&error))
    }
}

impl Transport for HttpTransport {
    fn send(
        &self,
        request: http::Request<Payload>,
        route: &Route,
    ) -> BoxFuture<'_, Result<http::Response<Body>, TransportError>> {
        Box::pin(self.exchange(request, route.clone()))
    }
}

/// A proxy and its host, anywhere but at a forbidden address: a metadata service behind "proxy" is still a metadata service.
fn checked_proxy(text: &str) -> Result<(String, reqwest::Proxy), TransportError> {
    let unusable = |why: &str| TransportError::Proxy(format!("its address is not usable ({why})"));
    let url = Url::parse(text).map_err(|error| unusable(&error.to_string()))?;
    if !ProxyUrl::SCHEMES.contains(&url.scheme()) {
        return Err(unusable("it must begin with http://, https://, socks5:// or socks5h://"));
    }
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| unusable("it names no host"))?.to_owned();
    let literal = match url.host() {
        Some(url::Host::Ipv4(ip)) => Some(ip.into()),
        Some(url::Host::Ipv6(ip)) => Some(ip.into()),
        // What the parser of URLs has of an address under a scheme it does not know.
        Some(url::Host::Domain(name)) => name.parse().ok(),
        None => None,
    };
    if let Some(ip) = literal {
        address::check_ip(ip, &Policy { allow_private: true, own: &[] })?;
    }
    let refused = || unusable("the HTTP client does not accept it");
    // The client goes directly where it cannot read the address of its proxy, without a word.
    let readable =
        Matcher::builder().all(url.as_str()).build().intercept(&http::Uri::from_static("http://any")).is_some();
    if !readable {
        return Err(refused());
    }
    Ok((host, reqwest::Proxy::all(url).map_err(|_| refused())?))
}

/// Turns away a proxy's own refusals and encodings we cannot read, and gives the body our error type.
fn readable(response: http::Response<reqwest::Body>, proxied: bool) -> Result<http::Response<Body>, TransportError> {
    if proxied && response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
        return Err(TransportError::Proxy("it wants a user name and password, or other ones (status 407)".to_owned()));
    }
    if let Some(encoding) = response.headers().get(CONTENT_ENCODING)
        && !encoding.as_bytes().eq_ignore_ascii_case(b"identity")
    {
        let name = String::from_utf8_lossy(encoding.as_bytes()).into_owned();
        return Err(TransportError::Garbled(format!("it is compressed with {name}, which was not asked for")));
    }
    let body = |body: reqwest::Body| -> Body {
        body.into_data_stream()
            .map(|chunk| chunk.map_err(|error| TransportError::from_reqwest(&error, Phase::Body)))
            .boxed()
    };
    Ok(response.map(body))
}

/// The URL of a system proxy with the user name and password that the system keeps beside it.
fn with_credentials(proxy: &http::Uri, credentials: Option<(&str, &str)>) -> String {
    let text = proxy.to_string();
    let Some((user, password)) = credentials else { return text };
    let Ok(mut url) = Url::parse(&text) else { return text };
    // Both fail only for URLs without a host, which a proxy always has; then the bare address is used.
    if url.set_username(user).and_then(|()| url.set_password(Some(password))).is_err() {
        return text;
    }
    url.into()
}

/// A request or client that could not even be built.
fn other(error: &reqwest::Error) -> TransportError {
    TransportError::from_reqwest(error, Phase::Head { proxied: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_client_that_was_being_made_while_its_time_out_changed_serves_nobody_afterwards() {
        let (before, after) = (Millis::seconds(10), Millis::seconds(2));
        let options = Options { connect_timeout: before, own_addresses: OwnAddresses::default() };
        let transport = HttpTransport::new(options);
        let keys = |transport: &HttpTransport| {
            let mut known: Vec<_> = transport.clients.read().keys().map(|key| key.connect_timeout).collect();
            known.sort_unstable();
            known
        };
        transport.client(transport.key(None, false, true, false)).expect("a client");
        transport.set_connect_timeout(after);
        assert_eq!(keys(&transport), []);
        // The late one: its key was made before the change.
        let late = ClientKey { connect_timeout: before, ..transport.key(None, false, true, false) };
        transport.client(late).expect("a client");
        transport.client(transport.key(None, false, true, false)).expect("a client");
        assert_eq!(keys(&transport), [after, before]);
    }
}
