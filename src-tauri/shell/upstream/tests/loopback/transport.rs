//! The transport against real sockets: what arrives, what is sent, and how each failure is named.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a failing expectation is a failing test")]

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::server::{Reply, Server, answer, json};
use bytes::Bytes;
use domain::Millis;
use futures_util::StreamExt;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use upstream::transport::Lookup;
use upstream::{
    AddressError, Body, HttpTransport, Options, OwnAddresses, Payload, Proxy, Route, Transport, TransportError,
};

fn options() -> Options {
    Options { connect_timeout: Millis::seconds(10), own_addresses: OwnAddresses::default() }
}

/// A transport for which every name resolves to the next of these answers; the last one repeats.
fn resolving(answers: &[&[&str]]) -> HttpTransport {
    let parse = |ip: &&str| SocketAddr::new(ip.parse().unwrap(), 0);
    let answers: VecDeque<Vec<SocketAddr>> = answers.iter().map(|answer| answer.iter().map(parse).collect()).collect();
    let answers = Mutex::new(answers);
    let lookup: Lookup = Arc::new(move |_name| {
        let mut answers = answers.lock().unwrap();
        let next = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        Box::pin(async move { next.ok_or_else(|| io::Error::other("no such name")) })
    });
    HttpTransport::with_lookup(options(), lookup)
}

fn get(url: &str) -> http::Request<Payload> {
    http::Request::get(url).body(Payload::default()).unwrap()
}

fn post(url: &str, body: &'static str) -> http::Request<Payload> {
    http::Request::post(url)
        .header("content-type", "application/json")
        .body(Bytes::from_static(body.as_bytes()).into())
        .unwrap()
}

fn consent() -> Route {
    Route { proxy: None, allow_private: true, fresh: false }
}

fn through(proxy: &str) -> Route {
    Route { proxy: Some(Proxy::from(proxy)), allow_private: false, fresh: false }
}

async fn failure(transport: &HttpTransport, url: &str, route: &Route) -> TransportError {
    match transport.send(get(url), route).await {
        Ok(response) => panic!("{url} answered {}", response.status()),
        Err(error) => error,
    }
}

async fn whole(body: Body) -> Result<Vec<u8>, TransportError> {
    let chunks: Vec<Result<Bytes, TransportError>> = body.collect().await;
    Ok(chunks.into_iter().collect::<Result<Vec<Bytes>, _>>()?.concat())
}

async fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

#[tokio::test]
async fn a_request_arrives_as_built_and_the_answer_as_sent() {
    let server = Server::start(|_| Reply::Close(json(201, r#"{"a":1}"#))).await;
    let transport = HttpTransport::new(options());
    let response = transport.send(post(&server.url("/v1/x?alt=sse"), r#"{"b":2}"#), &Route::default()).await.unwrap();
    assert_eq!(response.status(), 201);
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(whole(response.into_body()).await.unwrap(), br#"{"a":1}"#);

    let request = server.requests().remove(0);
    assert!(request.starts_with("POST /v1/x?alt=sse HTTP/1.1\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\n{\"b\":2}"), "{request}");
    let (head, _) = request.split_once("\r\n\r\n").unwrap();
    let mut names: Vec<&str> = head.lines().skip(1).map(|line| line.split(':').next().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["accept", "accept-encoding", "content-length", "content-type", "host"]);
    assert!(head.contains("accept-encoding: identity"), "{head}");
}

#[tokio::test]
async fn a_port_where_nobody_listens_is_refused() {
    let url = format!("http://{}/v1", free_address().await);
    assert_eq!(failure(&HttpTransport::new(options()), &url, &Route::default()).await, TransportError::Refused);
}

#[tokio::test]
async fn a_connection_lost_before_the_head_is_a_reset_and_is_not_tried_again() {
    for reply in
        [|| Reply::Reset, || Reply::Close(Vec::new()), || Reply::Close(b"HTTP/1.1 200 OK\r\ncontent-".to_vec())]
    {
        let server = Server::start(move |_| reply()).await;
        let transport = HttpTransport::new(options());
        let error = failure(&transport, &server.url("/"), &Route::default()).await;
        assert_eq!(error, TransportError::Reset);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn bytes_that_are_not_http_are_garbled() {
    for bytes in [b"SSH-2.0-OpenSSH_9.6\r\n".as_slice(), b"\x00\x01\x02\x03", b"HTTP/1.1 abc\r\n\r\n"] {
        let server = Server::raw(bytes).await;
        let error = failure(&HttpTransport::new(options()), &server.url("/"), &Route::default()).await;
        assert!(matches!(error, TransportError::Garbled(_)), "{error:?}");
    }
}

#[tokio::test]
async fn tls_to_a_plain_port_says_so() {
    let server = Server::raw(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
    let url = format!("https://{}/v1", server.address);
    let error = failure(&HttpTransport::new(options()), &url, &Route::default()).await;
    let TransportError::Tls(detail) = &error else { panic!("{error:?}") };
    assert!(detail.contains("does not speak TLS"), "{detail}");
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_a_dns_failure() {
    let transport = resolving(&[]);
    let error = failure(&transport, "https://nowhere.example/v1", &Route::default()).await;
    assert_eq!(error, TransportError::Dns);
}

#[tokio::test]
async fn forbidden_addresses_are_refused_before_anything_is_sent() {
    let own = free_address().await;
    let options = options();
    options.own_addresses.store(Arc::new(vec![own]));
    let transport = HttpTransport::new(options);
    let rows = [
        ("http://169.254.169.254/latest", true),
        ("http://2852039166/latest", true),
        ("https://[fd00:ec2::254]/", true),
        ("https://metadata.google.internal/", true),
        ("https://192.168.0.1/v1", false),
        ("http://api.example.com/v1", false),
    ];
    for (url, allow_private) in rows {
        let error = failure(&transport, url, &Route { proxy: None, allow_private, fresh: false }).await;
        assert!(matches!(error, TransportError::AddressRefused(_)), "{url}: {error:?}");
        let error =
            failure(&transport, url, &Route { proxy: Some("http://127.0.0.1:1".into()), allow_private, fresh: false })
                .await;
        assert!(matches!(error, TransportError::AddressRefused(_)), "{url} through a proxy: {error:?}");
    }
    for host in ["127.0.0.1", "localhost", "2130706433"] {
        let error = failure(&transport, &format!("http://{host}:{}/v1", own.port()), &consent()).await;
        let refused = TransportError::AddressRefused(AddressError::OwnListener(String::new()));
        assert_eq!(std::mem::discriminant(&error), std::mem::discriminant(&refused), "{host}: {error:?}");
    }
}

#[tokio::test]
async fn a_name_is_judged_by_every_address_it_resolves_to() {
    let server = Server::start(|_| Reply::Close(json(200, "{}"))).await;
    let url = format!("http://models.example:{}/v1", server.address.port());

    let mixed = resolving(&[&["169.254.169.254", "127.0.0.1"]]);
    assert_eq!(mixed.send(get(&url), &consent()).await.unwrap().status(), 200);

    for hostile in ["169.254.169.254", "::ffff:169.254.169.254", "8.8.8.8", "0.0.0.0"] {
        let error = failure(&resolving(&[&[hostile]]), &url, &consent()).await;
        assert!(matches!(error, TransportError::AddressRefused(_)), "{hostile}: {error:?}");
    }
    let secure = format!("https://models.example:{}/v1", server.address.port());
    for near in ["127.0.0.1", "10.1.2.3", "::1"] {
        let error = failure(&resolving(&[&[near]]), &secure, &Route::default()).await;
        assert!(matches!(error, TransportError::AddressRefused(AddressError::Private(_))), "{near}: {error:?}");
    }
}

#[tokio::test]
async fn a_name_that_changes_its_answer_gains_nothing() {
    let server = Server::start(|_| Reply::Close(answer(200, "connection: close\r\n", b"{}"))).await;
    let url = format!("http://models.example:{}/v1", server.address.port());
    let transport = resolving(&[&["127.0.0.1"], &["169.254.169.254"]]);
    let first = transport.send(get(&url), &consent()).await.unwrap();
    assert_eq!(whole(first.into_body()).await.unwrap(), b"{}");
    let error = failure(&transport, &url, &consent()).await;
    assert!(matches!(error, TransportError::AddressRefused(AddressError::Forbidden { .. })), "{error:?}");
}

#[tokio::test]
async fn a_name_that_leads_to_our_own_listener_is_refused() {
    let server = Server::start(|_| Reply::Close(json(200, "{}"))).await;
    let options = options();
    options.own_addresses.store(Arc::new(vec![server.address]));
    let lookup: Lookup = Arc::new(|_| Box::pin(async { Ok(vec!["127.0.0.1:0".parse().unwrap()]) }));
    let transport = HttpTransport::with_lookup(options, lookup);
    let url = format!("http://models.example:{}/v1", server.address.port());
    let error = failure(&transport, &url, &consent()).await;
    assert!(matches!(error, TransportError::AddressRefused(AddressError::OwnListener(_))), "{error:?}");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn an_answer_compressed_uninvited_is_unpacked() {
    let server = Server::start(|_| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(br#"{"text":"hello"}"#).unwrap();
        Reply::Close(answer(200, "content-encoding: gzip\r\n", &encoder.finish().unwrap()))
    })
    .await;
    let response = HttpTransport::new(options()).send(get(&server.url("/")), &Route::default()).await.unwrap();
    assert!(response.headers().get("content-encoding").is_none() && response.headers().get("content-length").is_none());
    assert_eq!(whole(response.into_body()).await.unwrap(), br#"{"text":"hello"}"#);
}

#[tokio::test]
async fn an_encoding_nobody_can_read_is_garbled() {
    let server = Server::start(|request| {
        let encoding = if request.contains("/zstd") { "zstd" } else { "gzip" };
        Reply::Close(answer(200, &format!("content-encoding: {encoding}\r\n"), b"this is not compressed at all"))
    })
    .await;
    let transport = HttpTransport::new(options());
    let error = failure(&transport, &server.url("/zstd"), &Route::default()).await;
    assert!(matches!(&error, TransportError::Garbled(detail) if detail.contains("zstd")), "{error:?}");
    let response = transport.send(get(&server.url("/gzip")), &Route::default()).await.unwrap();
    let error = whole(response.into_body()).await.unwrap_err();
    assert!(matches!(error, TransportError::Garbled(_)), "{error:?}");
}

#[tokio::test]
async fn chunks_are_handed_over_as_they_come() {
    let (sender, receiver) = mpsc::channel(1);
    let mut receiver = Some(receiver);
    let server = Server::start(move |_| Reply::Live(receiver.take().unwrap())).await;
    sender
        .send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec())
        .await
        .unwrap();
    let response = HttpTransport::new(options()).send(get(&server.url("/")), &Route::default()).await.unwrap();
    let mut body = response.into_body();
    for text in ["data: 1\n\n", "data: 2\n\n"] {
        sender.send(format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()).await.unwrap();
        assert_eq!(body.next().await.unwrap().unwrap(), text);
    }
    sender.send(b"0\r\n\r\n".to_vec()).await.unwrap();
    assert!(body.next().await.is_none());
}

#[tokio::test]
async fn a_body_that_ends_too_early_is_cut() {
    let heads = [
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nhalf",
    ];
    for head in heads {
        let server = Server::start(move |_| Reply::Close(head.as_bytes().to_vec())).await;
        let response = HttpTransport::new(options()).send(get(&server.url("/")), &Route::default()).await.unwrap();
        let mut body = response.into_body();
        assert_eq!(body.next().await.unwrap().unwrap(), "half");
        assert_eq!(body.next().await.unwrap().unwrap_err(), TransportError::BodyCut, "{head}");
    }
}

#[tokio::test]
async fn large_heads_pass_and_endless_ones_do_not() {
    let server = Server::start(|request| {
        let headers = if request.contains("/large") {
            format!("x-large: {}\r\n", "a".repeat(64 * 1024))
        } else {
            (0..200).map(|number| format!("x-{number}: 1\r\n")).collect()
        };
        Reply::Close(answer(200, &headers, b"ok"))
    })
    .await;
    let transport = HttpTransport::new(options());
    let response = transport.send(get(&server.url("/large")), &Route::default()).await.unwrap();
    assert_eq!(response.headers()["x-large"].len(), 64 * 1024);
    let error = failure(&transport, &server.url("/many"), &Route::default()).await;
    assert!(matches!(error, TransportError::Garbled(_)), "{error:?}");
}

#[tokio::test]
async fn redirects_are_answers_and_cookies_are_forgotten() {
    let server = Server::start(|_| {
        Reply::Keep(answer(302, "location: http://127.0.0.1:1/elsewhere\r\nset-cookie: session=1\r\n", b""))
    })
    .await;
    let transport = HttpTransport::new(options());
    for _ in 0..2 {
        let response = transport.send(get(&server.url("/v1")), &Route::default()).await.unwrap();
        assert_eq!(response.status(), 302);
    }
    assert_eq!(server.paths(), ["GET /v1", "GET /v1"]);
    assert!(!server.requests()[1].contains("session=1"));
}

#[tokio::test]
async fn dropping_an_unanswered_request_closes_its_connection() {
    let server = Server::start(|_| Reply::Hang).await;
    let transport = HttpTransport::new(options());
    let mut hung_up = server.hung_up.clone();
    let request = transport.send(get(&server.url("/")), &Route::default());
    let arrived = async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await
        }
    };
    futures_util::future::select(request, std::pin::pin!(arrived)).await;
    assert_eq!(*hung_up.wait_for(|count| *count == 1).await.unwrap(), 1);
}

#[tokio::test]
async fn a_plain_request_goes_through_the_proxy_of_its_route() {
    let proxy = Server::start(|request| {
        let authorized = request.to_ascii_lowercase().contains("proxy-authorization: basic bwu6c2vjcmv0");
        Reply::Close(if authorized { json(200, "{}") } else { json(407, "{}") })
    })
    .await;
    let transport = HttpTransport::new(options());
    let url = format!("http://127.0.0.1:{}/v1", free_address().await.port());

    let with_password = through(&format!("http://me:secret@{}", proxy.address));
    assert_eq!(transport.send(get(&url), &with_password).await.unwrap().status(), 200);
    assert_eq!(proxy.paths(), [format!("GET {url}")]);

    let error = failure(&transport, &url, &through(&proxy.url(""))).await;
    assert!(matches!(&error, TransportError::Proxy(detail) if detail.contains("407")), "{error:?}");
}

#[tokio::test]
async fn failures_of_the_proxy_are_not_the_providers() {
    let refusing = Server::start(|_| Reply::Close(json(403, "{}"))).await;
    let nobody = free_address().await;
    let rows = [
        (format!("http://{nobody}"), "http://127.0.0.1:9/v1"),
        (format!("http://{nobody}"), "https://api.example.com/v1"),
        (refusing.url(""), "https://api.example.com/v1"),
        ("ftp://127.0.0.1".to_owned(), "https://api.example.com/v1"),
        ("not a url".to_owned(), "https://api.example.com/v1"),
    ];
    let transport = HttpTransport::new(options());
    for (proxy, url) in rows {
        let error = failure(&transport, url, &through(&proxy)).await;
        assert!(matches!(error, TransportError::Proxy(_)), "{proxy} to {url}: {error:?}");
    }
    assert_eq!(refusing.paths(), ["CONNECT api.example.com:443"]);
    let error = failure(&transport, "https://api.example.com/v1", &through("http://169.254.169.254:80")).await;
    assert!(matches!(error, TransportError::AddressRefused(_)), "{error:?}");
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the pool of the library knows real time only")]
async fn a_plain_connection_is_given_up_before_its_server_does_so() {
    let server = Server::start(|_| Reply::Keep(json(200, "{}"))).await;
    let transport = HttpTransport::new(options());
    for pause in [Duration::ZERO, Duration::ZERO, Duration::from_millis(4_500)] {
        tokio::task::spawn_blocking(move || std::thread::sleep(pause)).await.unwrap();
        let response = transport.send(get(&server.url("/")), &consent()).await.unwrap();
        whole(response.into_body()).await.unwrap();
    }
    assert_eq!((server.requests().len(), server.connections()), (3, 2));
}

#[tokio::test]
async fn connections_are_kept_and_shared() {
    let server = Server::start(|_| Reply::Keep(json(200, "{}"))).await;
    let transport = HttpTransport::new(options());
    for _ in 0..3 {
        let response = transport.send(get(&server.url("/")), &Route::default()).await.unwrap();
        assert_eq!(whole(response.into_body()).await.unwrap(), b"{}");
    }
    assert_eq!(server.requests().len(), 3);
    assert_eq!(server.connections(), 1);

    transport.set_connect_timeout(Millis::seconds(5));
    let response = transport.send(get(&server.url("/")), &Route::default()).await.unwrap();
    assert_eq!(whole(response.into_body()).await.unwrap(), b"{}");
}
