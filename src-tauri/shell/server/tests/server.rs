//! The server on real loopback sockets: start, two listeners, moving, draining, stopping, starting again.

#![expect(clippy::expect_used, clippy::panic, reason = "the helpers of a test fail by panicking")]

use std::collections::BTreeMap;
use std::net::TcpListener as StdListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use domain::{Clock, Millis, Timestamp};
use fake_upstream::{FakeUpstream, Step};
use serde_json::{Value, json};
use server::{Config, GatewayFile, ManualClock, Running, StartError, SystemClock, run};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

fn config(dir: &Path) -> Config {
    let environment = BTreeMap::from([("OMNIROUTE_SECRET_STORE".to_owned(), "file".to_owned())]);
    Config { data_dir: dir.to_owned(), port: Some(0), environment, workers: 2, ..Config::default() }
}

async fn start(dir: &Path) -> Running {
    run(config(dir), Arc::new(SystemClock::start())).await.expect("a running gateway")
}

fn manual_clock() -> ManualClock {
    ManualClock::new(Timestamp::from_millis(1_767_225_600_000))
}

/// One management call with the token of the data folder.
async fn call(running: &Running, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
    let token = std::fs::read_to_string(running.data_dir().join("management-token")).expect("the token");
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let method = method.parse().expect("a method");
    let mut request = client.request(method, format!("{}{path}", running.url())).bearer_auth(token.trim());
    if let Some(body) = body {
        request = request.header("content-type", "application/json").body(body.to_string());
    }
    let reply = request.send().await.expect("an answer");
    let status = reply.status().as_u16();
    let text = reply.text().await.expect("a body");
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// Status line and headers of a bare request.
async fn answers(address: std::net::SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect(address).await else { return false };
    let request = "GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).await.expect("read");
    text.starts_with("HTTP/1.1 200")
}

/// Gives an agent a key and a connection to the fake provider.
async fn set_up(running: &Running, upstream: &FakeUpstream) -> String {
    let connection = json!({"provider": "openai", "name": "c1", "apiKey": "key-1",
        "providerSpecificData": {"baseUrl": format!("{}/v1", upstream.url())}});
    assert_eq!(call(running, "POST", "/api/providers", Some(connection)).await.0, 201);
    let (status, key) = call(running, "POST", "/api/keys", Some(json!({"name": "agent"}))).await;
    assert_eq!(status, 201);
    key["key"].as_str().expect("a key").to_owned()
}

async fn ask(url: String, key: String) -> Result<(u16, String), reqwest::Error> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let body = json!({"model": "openai/m1", "messages": [{"role": "user", "content": "hi"}]}).to_string();
    let request = client.post(format!("{url}/v1/chat/completions")).bearer_auth(key);
    let reply = request.header("content-type", "application/json").body(body).send().await?;
    Ok((reply.status().as_u16(), reply.text().await?))
}

#[tokio::test]
async fn it_listens_on_both_loopbacks_and_says_where() {
    let dir = tempfile::tempdir().expect("a folder");
    let running = start(dir.path()).await;
    let has_ipv6 = StdListener::bind("[::1]:0").is_ok();
    assert_eq!(running.addresses().len(), if has_ipv6 { 2 } else { 1 });
    for address in running.addresses() {
        assert!(answers(address).await, "{address}");
    }
    let file = GatewayFile::read(dir.path()).expect("readable").expect("gateway.json");
    assert_eq!((file.url.as_str(), file.port), (running.url().as_str(), running.port()));
    running.shutdown().await.expect("a clean stop");
    assert_eq!(GatewayFile::read(dir.path()).expect("readable"), None);
}

#[tokio::test]
async fn what_was_stored_is_there_after_a_restart() {
    let dir = tempfile::tempdir().expect("a folder");
    let upstream = FakeUpstream::start().expect("a provider");
    let running = start(dir.path()).await;
    let key = set_up(&running, &upstream).await;
    assert_eq!(ask(running.url(), key.clone()).await.expect("an answer").0, 200);
    running.shutdown().await.expect("a clean stop");

    let again = start(dir.path()).await;
    assert_eq!(ask(again.url(), key).await.expect("an answer").0, 200);
    let (_, log) = call(&again, "GET", "/api/requests", None).await;
    assert_eq!(log["requests"].as_array().map(Vec::len), Some(2));
    again.shutdown().await.expect("a clean stop");
}

#[tokio::test]
async fn a_port_in_use_is_said_and_the_next_free_one_offered() {
    let dir = tempfile::tempdir().expect("a folder");
    let other = StdListener::bind("127.0.0.1:0").expect("a port");
    let port = other.local_addr().expect("an address").port();
    let wanted = Config { port: Some(port), ..config(dir.path()) };
    match run(wanted, Arc::new(SystemClock::start())).await {
        Err(StartError::PortTaken { port: named, next_free: Some(next), .. }) => {
            assert_eq!(named, port);
            let moved = Config { port: Some(next), ..config(dir.path()) };
            run(moved, Arc::new(SystemClock::start()))
                .await
                .expect("the folder is free again")
                .shutdown()
                .await
                .expect("a clean stop");
        }
        Err(error) => panic!("{error}"),
        Ok(running) => panic!("it moved silently to {}", running.url()),
    }
}

#[tokio::test]
async fn a_folder_has_one_gateway_and_must_be_writable() {
    let dir = tempfile::tempdir().expect("a folder");
    let running = start(dir.path()).await;
    let second = run(config(dir.path()), Arc::new(SystemClock::start())).await;
    assert!(matches!(second, Err(StartError::FolderInUse { .. })), "{:?}", second.err());
    running.shutdown().await.expect("a clean stop");

    let file = dir.path().join("a-file");
    std::fs::write(&file, "").expect("written");
    let below = run(config(&file.join("folder")), Arc::new(SystemClock::start())).await;
    assert!(matches!(below, Err(StartError::FolderNotWritable { .. })), "{:?}", below.err());
}

#[tokio::test]
async fn a_new_port_moves_the_listener_and_one_in_use_moves_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let running = start(dir.path()).await;
    let old = running.addresses();
    let other = StdListener::bind("127.0.0.1:0").expect("a port");
    let taken = other.local_addr().expect("an address").port();
    let (status, refused) = call(&running, "PATCH", "/api/settings", Some(json!({"gateway": {"port": taken}}))).await;
    assert_eq!((status, &refused["error"]["code"]), (409, &json!("conflict")));
    assert!(answers(old[0]).await);

    drop(other);
    let (status, tree) = call(&running, "PATCH", "/api/settings", Some(json!({"gateway": {"port": taken}}))).await;
    assert_eq!((status, &tree["gateway"]["port"]), (200, &json!(taken)));
    wait_until(|| running.port() == taken).await;
    for address in running.addresses() {
        assert_eq!(address.port(), taken);
        assert!(answers(address).await, "{address}");
    }
    assert!(!answers(old[0]).await, "the old place is closed");
    let file = GatewayFile::read(dir.path()).expect("readable").expect("gateway.json");
    assert_eq!(file.port, taken);
    let own = json!({"provider": "openai", "name": "loop",
        "providerSpecificData": {"baseUrl": format!("http://localhost:{taken}/v1")}});
    assert_eq!(call(&running, "POST", "/api/providers", Some(own)).await.0, 400, "it is not its own provider");
    running.shutdown().await.expect("a clean stop");
}

#[tokio::test]
async fn another_address_on_the_same_port_is_taken_over_too() {
    let dir = tempfile::tempdir().expect("a folder");
    let running = start(dir.path()).await;
    let port = running.port();
    let patch = json!({"gateway": {"port": port, "bindAddress": "::1"}});
    if StdListener::bind("[::1]:0").is_err() {
        return running.shutdown().await.expect("a clean stop");
    }
    assert_eq!(call(&running, "PATCH", "/api/settings", Some(patch)).await.0, 200);
    wait_until(|| running.addresses()[0].is_ipv6()).await;
    assert_eq!(running.url(), format!("http://[::1]:{port}"));
    assert_eq!(call(&running, "GET", "/api/app", None).await.0, 200);
    running.shutdown().await.expect("a clean stop");
}

#[tokio::test]
async fn requests_under_way_finish_before_it_stops() {
    let dir = tempfile::tempdir().expect("a folder");
    let upstream = FakeUpstream::start().expect("a provider");
    let running = start(dir.path()).await;
    let key = set_up(&running, &upstream).await;
    upstream.script("key-1", None).then(Step::ok("late but whole").after(Duration::from_millis(300)));
    let asked = tokio::task::LocalSet::new();
    let url = running.url();
    let (answer, stopped) = asked
        .run_until(async {
            let answer = tokio::task::spawn_local(ask(url.clone(), key));
            upstream.wait_for_calls("key-1", 1).await.expect("it arrived");
            let stopped = running.shutdown().await;
            (answer.await.expect("not cancelled"), stopped)
        })
        .await;
    let (status, body) = answer.expect("a whole answer");
    assert!(status == 200 && body.contains("late but whole"), "{status} {body}");
    stopped.expect("a clean stop");
    assert!(ask(url, "any".to_owned()).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn what_outlives_the_drain_limit_is_cut_off() {
    let dir = tempfile::tempdir().expect("a folder");
    let upstream = FakeUpstream::start().expect("a provider");
    let clock = manual_clock();
    let running = run(config(dir.path()), Arc::new(clock.clone())).await.expect("a running gateway");
    let key = set_up(&running, &upstream).await;
    upstream.script("key-1", None).then(Step::Hang);
    let url = running.url();
    let tasks = tokio::task::LocalSet::new();
    let answer = tasks
        .run_until(async {
            let answer = tokio::task::spawn_local(ask(url, key));
            upstream.wait_for_calls("key-1", 1).await.expect("it arrived");
            let limit = running.gateway().settings().gateway.drain_timeout;
            let door = running.addresses()[0];
            let stop = tokio::task::spawn_local(running.shutdown());
            while TcpStream::connect(door).await.is_ok() {}
            // Its patience begins once the door is closed. Far less passes than the request itself would wait.
            for _ in 0..5 {
                let _ = TcpStream::connect(door).await;
                clock.advance(limit);
            }
            stop.await.expect("not cancelled").expect("a clean stop");
            answer.await.expect("not cancelled")
        })
        .await;
    assert!(answer.is_err(), "{answer:?}");
}

#[tokio::test]
async fn a_request_head_must_come_in_time_and_be_of_a_sane_size() {
    let dir = tempfile::tempdir().expect("a folder");
    let clock = manual_clock();
    let running = run(config(dir.path()), Arc::new(clock.clone())).await.expect("a running gateway");
    let mut slow = TcpStream::connect(running.addresses()[0]).await.expect("connected");
    slow.write_all(b"GET /health HTTP/1.1\r\nhost: loc").await.expect("sent");
    assert!(answers(running.addresses()[0]).await, "one slow client holds up nobody");
    let mut rest = Vec::new();
    let closed = slow.read_to_end(&mut rest);
    tokio::pin!(closed);
    loop {
        tokio::select! {
            biased;
            done = &mut closed => break done.map(|_| ()).expect("closed"),
            () = tokio::task::yield_now() => clock.advance(Millis::seconds(1)),
        }
    }

    let mut large = TcpStream::connect(running.addresses()[0]).await.expect("connected");
    let head = format!("GET /health HTTP/1.1\r\nhost: localhost\r\nx-large: {}\r\n\r\n", "x".repeat(70_000));
    // The server may close before everything is sent.
    let _ = large.write_all(head.as_bytes()).await;
    let mut reply = vec![0; 64];
    let read = large.read(&mut reply).await.unwrap_or(0);
    let reply = String::from_utf8_lossy(&reply[..read]).into_owned();
    assert!(reply.is_empty() || reply.starts_with("HTTP/1.1 431"), "{reply}");
    running.shutdown().await.expect("a clean stop");
}

#[tokio::test]
async fn settings_come_from_the_stored_value_then_the_environment_then_the_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("settings.json");
    let tree = json!({"settings": {"logging": {"retentionDays": 3, "bodyRetentionDays": 2}}});
    std::fs::write(&file, tree.to_string()).expect("written");
    let mut wanted = Config { config_file: Some(file), ..config(dir.path()) };
    wanted.environment.insert("OMNIROUTE_LOGGING_RETENTION_DAYS".to_owned(), "4".to_owned());
    let running = run(wanted.clone(), Arc::new(SystemClock::start())).await.expect("a running gateway");
    let logging = running.gateway().settings().logging.clone();
    assert_eq!((logging.retention_days, logging.body_retention_days), (4, 2));
    let patch = Some(json!({"logging": {"retentionDays": 5}}));
    assert_eq!(call(&running, "PATCH", "/api/settings", patch).await.0, 200);
    running.shutdown().await.expect("a clean stop");
    let again = run(wanted, Arc::new(SystemClock::start())).await.expect("a running gateway");
    assert_eq!(again.gateway().settings().logging.retention_days, 5);
    again.shutdown().await.expect("a clean stop");
}

#[tokio::test]
async fn an_unusable_configuration_file_stops_the_start() {
    let dir = tempfile::tempdir().expect("a folder");
    let missing = Config { config_file: Some(dir.path().join("nowhere.json")), ..config(dir.path()) };
    let refused = run(missing, Arc::new(SystemClock::start())).await;
    assert!(matches!(refused, Err(StartError::ConfigFile { .. })), "{:?}", refused.err());
}

#[tokio::test]
async fn old_log_entries_go_by_themselves() {
    let dir = tempfile::tempdir().expect("a folder");
    let upstream = FakeUpstream::start().expect("a provider");
    let clock = manual_clock();
    let running = run(config(dir.path()), Arc::new(clock.clone())).await.expect("a running gateway");
    let key = set_up(&running, &upstream).await;
    assert_eq!(ask(running.url(), key).await.expect("an answer").0, 200);
    let count = async || {
        let (_, log) = call(&running, "GET", "/api/requests", None).await;
        log["requests"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(count().await, 1);
    clock.advance(Millis::days(31));
    while count().await > 0 {
        clock.advance(Millis::hours(1));
    }
    assert!(clock.now() < Timestamp::from_millis(1_767_225_600_000) + Millis::days(60));
    running.shutdown().await.expect("a clean stop");
}

/// Lets the other tasks work until it is so.
async fn wait_until(so: impl Fn() -> bool) {
    let clock = SystemClock::start();
    let patience = clock.now() + Millis::seconds(60);
    while !so() {
        assert!(clock.now() < patience, "it never came to be");
        tokio::task::yield_now().await;
    }
}

/// Sends the whole body before it reads; the reply.
async fn stubborn(running: &Running, path: &str, length: usize) -> String {
    let mut stream = TcpStream::connect(running.addresses()[0]).await.expect("connected");
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer wrong\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("the head is taken");
    let chunk = vec![b' '; 64 * 1024];
    for _ in 0..length / chunk.len() {
        stream.write_all(&chunk).await.unwrap_or_else(|error| panic!("{path}: the body is not taken: {error}"));
    }
    let mut reply = vec![0; 1024];
    let read = stream.read(&mut reply).await.expect("a reply");
    String::from_utf8_lossy(&reply[..read]).into_owned()
}

#[tokio::test]
async fn a_refusal_reaches_a_client_that_is_still_sending() {
    let dir = tempfile::tempdir().expect("a folder");
    let running = start(dir.path()).await;
    let set = json!({ "gateway": { "bodyLimitBytes": 4096, "requireApiKey": true } });
    assert_eq!(call(&running, "PATCH", "/api/settings", Some(set)).await.0, 200);
    for (path, status) in
        [("/v1/chat/completions", "401"), ("/nowhere", "404"), ("/api/settings", "401"), ("/v1/models", "405")]
    {
        let reply = stubborn(&running, path, 32 * 1024 * 1024).await;
        assert!(reply.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {reply}");
    }
    running.shutdown().await.expect("a clean stop");
}

#[tokio::test]
async fn a_refusal_does_not_wait_for_a_body_that_never_comes() {
    let dir = tempfile::tempdir().expect("a folder");
    let running = start(dir.path()).await;
    for expect in ["", "expect: 100-continue\r\n"] {
        let mut stream = TcpStream::connect(running.addresses()[0]).await.expect("connected");
        let head = format!("POST /nowhere HTTP/1.1\r\nhost: localhost\r\n{expect}content-length: 1000000\r\n\r\n");
        stream.write_all(head.as_bytes()).await.expect("the head is taken");
        let mut reply = vec![0; 1024];
        let read = stream.read(&mut reply).await.expect("a reply");
        assert!(reply[..read].starts_with(b"HTTP/1.1 404"), "{}", String::from_utf8_lossy(&reply[..read]));
    }
    running.shutdown().await.expect("a clean stop");
}
