//! Requests through a SOCKS5 proxy: what it is asked for, who looks a name up, and how its refusals are told.

#![expect(clippy::unwrap_used, reason = "test code: a failing expectation is a failing test")]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use domain::Millis;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use upstream::transport::Lookup;
use upstream::{AddressError, HttpTransport, Options, OwnAddresses, Payload, Proxy, Route, Transport, TransportError};

use crate::server::{Reply, Server, json};

const NO_ACCESS: u8 = 0;
const PASSWORD: u8 = 2;
const HOST_UNREACHABLE: u8 = 4;

/// What one client said: user and password where it was asked for them, and where it wants to go.
type Said = (Option<(String, String)>, String);

/// A SOCKS5 server of a few lines (RFC 1928, RFC 1929). Wherever a client wants to go, it lands at one place.
struct Socks {
    address: SocketAddr,
    said: Arc<Mutex<Vec<Said>>>,
    _tasks: JoinSet<()>,
}

#[derive(Clone, Copy)]
struct Manner {
    method: u8,
    password: &'static str,
    /// What it answers to the wish.
    status: u8,
    leads_to: SocketAddr,
}

impl Socks {
    async fn start(manner: Manner) -> Socks {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        let heard = Arc::clone(&said);
        tasks.spawn(async move {
            let mut clients = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                clients.spawn(serve(stream, manner, Arc::clone(&heard)));
            }
        });
        Socks { address, said, _tasks: tasks }
    }

    fn said(&self) -> Vec<Said> {
        self.said.lock().unwrap().clone()
    }

    fn url(&self, scheme: &str, access: &str) -> String {
        format!("{scheme}://{access}{}", self.address)
    }
}

async fn serve(mut client: TcpStream, manner: Manner, said: Arc<Mutex<Vec<Said>>>) {
    let [version, methods] = bytes(&mut client).await;
    assert_eq!(version, 5);
    let offered = text(&mut client, methods).await;
    if !offered.as_bytes().contains(&manner.method) {
        let _ = client.write_all(&[5, 0xff]).await;
        return;
    }
    client.write_all(&[5, manner.method]).await.unwrap();
    let mut access = None;
    if manner.method == PASSWORD {
        let [_, length] = bytes(&mut client).await;
        let user = text(&mut client, length).await;
        let [length] = bytes(&mut client).await;
        let password = text(&mut client, length).await;
        let wrong = password != manner.password;
        access = Some((user, password));
        client.write_all(&[1, u8::from(wrong)]).await.unwrap();
        if wrong {
            said.lock().unwrap().push((access, String::new()));
            return;
        }
    }
    let [_, command, _, kind] = bytes(&mut client).await;
    assert_eq!(command, 1, "CONNECT");
    let host = match kind {
        1 => bytes::<4>(&mut client).await.map(|part| part.to_string()).join("."),
        3 => {
            let [length] = bytes(&mut client).await;
            text(&mut client, length).await
        }
        _ => "?".to_owned(),
    };
    let port = u16::from_be_bytes(bytes(&mut client).await);
    said.lock().unwrap().push((access, format!("{host}:{port}")));
    client.write_all(&[5, manner.status, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
    if manner.status == 0 {
        let mut server = TcpStream::connect(manner.leads_to).await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
    }
}

async fn bytes<const N: usize>(stream: &mut TcpStream) -> [u8; N] {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await.unwrap();
    bytes
}

async fn text(stream: &mut TcpStream, length: u8) -> String {
    let mut bytes = vec![0; usize::from(length)];
    stream.read_exact(&mut bytes).await.unwrap();
    String::from_utf8(bytes).unwrap()
}

/// A transport for which every name resolves to this address.
fn resolving(ip: &'static str) -> HttpTransport {
    let lookup: Lookup =
        Arc::new(move |_name| Box::pin(async move { Ok(vec![SocketAddr::new(ip.parse().unwrap(), 0)]) }));
    let options = Options { connect_timeout: Millis::seconds(10), own_addresses: OwnAddresses::default() };
    HttpTransport::with_lookup(options, lookup)
}

async fn status(transport: &HttpTransport, url: &str, proxy: &str, allow_private: bool) -> Result<u16, TransportError> {
    let route = Route { proxy: Some(Proxy::from(proxy)), allow_private, fresh: false };
    let request = http::Request::get(url).body(Payload::default()).unwrap();
    transport.send(request, &route).await.map(|response| response.status().as_u16())
}

fn open_to(leads_to: SocketAddr) -> Manner {
    Manner { method: NO_ACCESS, password: "", status: 0, leads_to }
}

#[tokio::test]
async fn a_request_goes_through_a_socks_proxy_and_the_scheme_says_who_looks_names_up() {
    let provider = Server::start(|_| Reply::Close(json(200, "{}"))).await;
    let proxy = Socks::start(open_to(provider.address)).await;
    let transport = resolving("127.0.0.5");
    let url = "http://models.localhost:8000/v1";
    for (scheme, url) in [("socks5h", url), ("socks5", url), ("socks5", "http://127.0.0.7:8001/v1")] {
        assert_eq!(status(&transport, url, &proxy.url(scheme, ""), false).await, Ok(200), "{scheme} {url}");
    }
    let wanted: Vec<String> = proxy.said().into_iter().map(|(_, wanted)| wanted).collect();
    assert_eq!(wanted, ["models.localhost:8000", "127.0.0.5:8000", "127.0.0.7:8001"]);
    assert_eq!(provider.paths(), ["GET /v1"; 3]);
    assert!(provider.requests()[0].contains("\r\nhost: models.localhost:8000\r\n"), "{}", provider.requests()[0]);
}

#[tokio::test]
async fn a_socks_proxy_is_given_user_and_password() {
    let provider = Server::start(|_| Reply::Close(json(200, "{}"))).await;
    let manner = Manner { method: PASSWORD, password: "hunter/2", ..open_to(provider.address) };
    let proxy = Socks::start(manner).await;
    let transport = resolving("127.0.0.1");
    let url = "http://models.localhost:8000/v1";
    assert_eq!(status(&transport, url, &proxy.url("socks5h", "me:hunter%2F2@"), false).await, Ok(200));
    let refused = TransportError::Proxy("it wants a user name and password, or other ones".to_owned());
    for access in ["me:other@", ""] {
        assert_eq!(
            status(&transport, url, &proxy.url("socks5h", access), false).await,
            Err(refused.clone()),
            "{access}"
        );
    }
    let access = |password: &str| Some(("me".to_owned(), password.to_owned()));
    let said = [(access("hunter/2"), "models.localhost:8000".to_owned()), (access("other"), String::new())];
    assert_eq!(proxy.said(), said);
    assert_eq!(provider.requests().len(), 1);
}

#[tokio::test]
async fn failures_of_a_socks_proxy_say_what_to_do_and_are_not_the_provider_s() {
    let provider = Server::start(|_| Reply::Close(json(200, "{}"))).await;
    let refusing = Socks::start(Manner { status: HOST_UNREACHABLE, ..open_to(provider.address) }).await;
    let no_proxy = Server::raw(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let transport = resolving("127.0.0.1");
    for (proxy, expected) in [
        (refusing.url("socks5h", ""), "it answered: host unreachable"),
        (format!("socks5h://{}", no_proxy.address), "it does not speak SOCKS5 on this port"),
        (format!("socks5h://{nobody}"), "it cannot be reached, check its host and port"),
        (
            format!("socks4://{nobody}"),
            "its address is not usable (it must begin with http://, https://, socks5:// or socks5h://)",
        ),
    ] {
        let error = status(&transport, "http://models.localhost:8000/v1", &proxy, false).await.unwrap_err();
        assert_eq!(error, TransportError::Proxy(expected.to_owned()), "{proxy}");
    }
    assert_eq!(provider.requests().len(), 0);
}

#[tokio::test]
async fn the_address_rules_hold_through_a_socks_proxy() {
    let provider = Server::start(|_| Reply::Close(json(200, "{}"))).await;
    let proxy = Socks::start(open_to(provider.address)).await;
    let (local, remote) = (proxy.url("socks5", ""), proxy.url("socks5h", ""));
    let refused = |error: Result<u16, TransportError>| match error {
        Err(TransportError::AddressRefused(error)) => error,
        other => panic!("{other:?}"),
    };
    // Looked up here, a provider's name leads to no place that it may not lead to without a proxy.
    let private = resolving("10.0.0.5");
    let seen = "api.example.com (10.0.0.5)".to_owned();
    let answer = status(&private, "https://api.example.com/v1", &local, false).await;
    assert_eq!(refused(answer), AddressError::Private(seen));
    assert_eq!(status(&private, "http://api.example.com/v1", &local, true).await, Ok(200), "with its owner's consent");
    // The proxy itself may be near.
    let named = format!("socks5h://proxy.example:{}", proxy.address.port());
    assert_eq!(status(&resolving("127.0.0.1"), "http://127.0.0.9:8000/v1", &named, false).await, Ok(200));
    // Neither it nor a provider is ever at a place that serves a cloud's machines.
    let answer = status(&private, "http://169.254.169.254/v1", &remote, true).await;
    assert!(matches!(refused(answer), AddressError::Forbidden { .. }));
    let answer = status(&private, "http://127.0.0.9:8000/v1", "socks5://169.254.169.254:1080", true).await;
    assert!(matches!(refused(answer), AddressError::Forbidden { .. }));
    let wanted: Vec<String> = proxy.said().into_iter().map(|(_, wanted)| wanted).collect();
    assert_eq!(wanted, ["10.0.0.5:80", "127.0.0.9:8000"]);
}
