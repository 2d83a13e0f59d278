//! Killed, stopped, started twice, out of space.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use acceptance::PATIENCE;
use fake_upstream::{FakeUpstream, Step};
use http::Method;
use serde_json::{Value, json};

use crate::program::{Program, client, command, rest, run};

/// How often the program is killed in the middle of its writes.
const KILLS: u64 = 6;

/// What a client was told is done, by connection id: its name, or that it is gone.
type Acknowledged = BTreeMap<String, Option<String>>;

/// Adds, renames and deletes connections one after another until the program dies.
async fn write_until_dead(program: &Program, round: u64, acknowledged: &mut Acknowledged) {
    let http = client();
    let writing = async {
        for n in 0_u64.. {
            let name = format!("{round}-{n}");
            let body =
                json!({"provider": "openai", "name": name, "apiKey": format!("credential-{name}"), "tags": ["t"]});
            let Some((201, made)) = program.try_manage(&http, Method::POST, "/api/providers", Some(body)).await else {
                return;
            };
            let id = made["connection"]["id"].as_str().expect("an id").to_owned();
            acknowledged.insert(id.clone(), Some(name.clone()));
            let path = format!("/api/providers/{id}");
            if n % 3 == 0 {
                // While a change is under way either outcome is right.
                acknowledged.remove(&id);
                let renamed = format!("{name}-renamed");
                let change = json!({"name": renamed});
                let Some((200, _)) = program.try_manage(&http, Method::PATCH, &path, Some(change)).await else {
                    return;
                };
                acknowledged.insert(id, Some(renamed));
            } else if n % 3 == 1 {
                acknowledged.remove(&id);
                let Some((200, _)) = program.try_manage(&http, Method::DELETE, &path, None).await else { return };
                acknowledged.insert(id, None);
            }
        }
    };
    tokio::time::timeout(PATIENCE, writing).await.expect("the program dies");
}

#[tokio::test]
async fn a_killed_program_has_kept_every_write_it_acknowledged() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut acknowledged = Acknowledged::new();
    for round in 0..KILLS {
        let program = Program::start(folder.path()).await;
        check(&program, &acknowledged).await;
        // The moment of death is real time: that is what this test is about.
        let killing = program.kill_in(Duration::from_millis(40 + 61 * round));
        write_until_dead(&program, round, &mut acknowledged).await;
        killing.join().expect("killed");
        assert!(!program.ended().await.success());
    }
    let program = Program::start(folder.path()).await;
    check(&program, &acknowledged).await;
    assert!(acknowledged.len() as u64 >= KILLS, "{} writes were acknowledged", acknowledged.len());
    println!("{} acknowledged writes survived {KILLS} kills", acknowledged.len());
}

async fn check(program: &Program, acknowledged: &Acknowledged) {
    let list = program.manage(&client(), Method::GET, "/api/providers", None).await;
    let found: BTreeMap<&str, &Value> = list["connections"]
        .as_array()
        .expect("connections")
        .iter()
        .map(|one| (one["id"].as_str().expect("an id"), one))
        .collect();
    for (id, name) in acknowledged {
        match (name, found.get(id.as_str())) {
            (Some(name), Some(connection)) => assert_eq!(connection["name"], json!(name)),
            (Some(name), None) => panic!("{name} was acknowledged and is gone"),
            (None, Some(connection)) => panic!("{connection} was deleted and is back"),
            (None, None) => {}
        }
    }
    // Nothing half-written: whatever is there is whole, and its credential opens.
    for connection in found.values() {
        assert_eq!((&connection["hasCredential"], &connection["tags"]), (&json!(true), &json!(["t"])), "{connection}");
        assert!(connection["name"].as_str().is_some_and(|name| !name.is_empty()));
    }
    let health = program.manage(&client(), Method::GET, "/api/monitoring/health", None).await;
    assert_eq!(health["connectionHealth"]["withoutCredential"], 0, "{health}");
}

/// How many failures are suffered while the program is killed again and again.
const FAILURES: u64 = 1_000;

/// Asks, many at once, until the program dies.
async fn fail_until_dead(program: &Program, key: &str) {
    let http = client();
    let asking = (0..8).map(|_| async {
        let body = acceptance::messages_body("anthropic/m1", false);
        loop {
            let request = http.post(format!("{}/v1/messages", program.url)).header("x-api-key", key);
            let request = request.header("content-type", "application/json").body(body.clone());
            let Ok(reply) = request.send().await else { return };
            if reply.bytes().await.is_err() {
                return;
            }
        }
    });
    let dying = futures_util::future::join_all(asking);
    tokio::time::timeout(PATIENCE, dying).await.expect("the program dies");
}

/// Nothing half-written: a rest without its reason, a state that does not exist, a breaker that counted what nobody saw.
async fn check_health(program: &Program, suffered: u64) {
    let list = program.manage(&client(), Method::GET, "/api/providers", None).await;
    for connection in list["connections"].as_array().expect("connections") {
        let status = connection["testStatus"].as_str().unwrap_or_default();
        assert!(matches!(status, "unknown" | "active" | "unavailable"), "{connection}");
        let (rests, blamed) = (connection["backoffLevel"] != 0, connection["lastError"].is_string());
        assert!(!rests || blamed, "{connection}");
        assert!(!blamed || connection["lastErrorAt"].is_string() && connection["errorCode"] == 503, "{connection}");
    }
    let health = program.manage(&client(), Method::GET, "/api/monitoring/health", None).await;
    assert_eq!(health["status"], "healthy", "{health}");
    for breaker in health["providerBreakers"].as_array().expect("breakers") {
        assert!(breaker["failureCount"].as_u64().is_some_and(|count| count <= suffered), "{breaker}");
    }
}

/// RP-06
#[tokio::test]
async fn a_program_killed_amid_failures_finds_its_health_whole_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let upstream = FakeUpstream::start().expect("a fake upstream");
    upstream.set_default(Step::error(503, "down"));
    let mut key = String::new();
    for round in 0.. {
        let program = Program::start(folder.path()).await;
        if round == 0 {
            key = program.set_up(&client(), &upstream).await;
            let settings = json!({
                "waitForCooldown": {"enabled": false},
                "connectionCooldown": {"apikey": {"baseCooldownMs": 1, "maxBackoffSteps": 2}},
                "providerBreaker": {"apikey": {"failureThreshold": 1_000, "degradationThreshold": 3}},
            });
            program.manage(&client(), Method::PATCH, "/api/resilience", Some(settings)).await;
        }
        let suffered = upstream.count(None).arrived;
        check_health(&program, suffered).await;
        if suffered >= FAILURES || round == 40 {
            println!("{suffered} failures, {round} kills");
            upstream.set_default(Step::ok("fine"));
            program.manage(&client(), Method::POST, "/api/resilience/reset", None).await;
            let served = async {
                while !program.ask(&client(), &key).await.status().is_success() {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(PATIENCE, served).await.expect("it serves again");
            return;
        }
        // The moment of death is real time: that is what this test is about.
        let killing = program.kill_in(Duration::from_millis(60 + 37 * (round % 7)));
        fail_until_dead(&program, &key).await;
        killing.join().expect("killed");
        assert!(!program.ended().await.success());
    }
}

#[tokio::test]
async fn a_request_to_stop_lets_a_running_stream_finish() {
    let folder = tempfile::tempdir().expect("a folder");
    let upstream = FakeUpstream::start().expect("a fake upstream");
    let answer = fake_upstream::Answer::text("x".repeat(40)).in_chunks(20, Duration::from_millis(50));
    upstream.set_default(Step::answer(answer));
    let program = Program::start(folder.path()).await;
    let http = client();
    let key = program.set_up(&http, &upstream).await;
    let mut reply = program.ask(&http, &key).await;
    let first = reply.chunk().await.expect("a piece").expect("a piece");
    assert!(!first.is_empty());
    program.terminate();
    let text = rest(reply).await.expect("an unbroken stream");
    assert!(String::from_utf8_lossy(&text).contains("message_stop"), "the stream came to its end");
    let url = program.url.clone();
    let status = program.ended().await;
    assert_eq!(status.code(), Some(0));
    assert!(client().get(format!("{url}/health")).send().await.is_err(), "nobody listens any more");
    assert!(!folder.path().join("gateway.json").exists());
    // What was counted is written.
    let again = Program::start(folder.path()).await;
    let requests = again.manage(&client(), Method::GET, "/api/requests", None).await;
    assert_eq!(requests["requests"][0]["outcome"], "success", "{requests}");
}

#[tokio::test]
async fn a_port_that_is_taken_is_said_and_ends_with_four() {
    let folder = tempfile::tempdir().expect("a folder");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let mut serve = command(folder.path());
    serve.args(["serve", "--port", &port]);
    let output = run(serve).await;
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains(&format!("port {port}")) && said.contains("in use"), "{said}");
    assert!(output.stdout.is_empty(), "nothing but the listening line goes there");
}

#[tokio::test]
async fn a_second_gateway_on_one_folder_ends_with_four_and_the_first_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Program::start(folder.path()).await;
    let mut second = command(folder.path());
    second.args(["serve", "--port", "0"]);
    let output = run(second).await;
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("in use by another gateway"), "{said}");
    program.manage(&client(), Method::GET, "/api/app", None).await;
    assert!(folder.path().join("gateway.json").exists(), "the first one's address is still there");
}

/// A small file system of its own; unmounted when dropped.
struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// Nothing where mounting is not allowed.
    fn mount(mebibytes: u32) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().expect("a folder");
        let options = format!("size={mebibytes}m,mode=0700");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(folder.path()).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(SmallDisk { folder })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Takes all the space there is; the file that holds it.
    fn fill(&self) -> std::path::PathBuf {
        let path = self.path().join("filler");
        let mut file = std::fs::File::create(&path).expect("a file");
        let piece = vec![0_u8; 4096];
        while std::io::Write::write_all(&mut file, &piece).is_ok() {}
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A busy one is let go of when the test process ends.
        drop(Command::new("umount").arg("-l").arg(self.folder.path()).status());
    }
}

/// A pool of every account, which counts requests; its id.
async fn pool(program: &Program, http: &reqwest::Client) -> String {
    let shown = program.manage(http, Method::GET, "/api/providers", None).await;
    let accounts: Vec<&str> =
        shown["connections"].as_array().expect("connections").iter().filter_map(|one| one["id"].as_str()).collect();
    let body = json!({
        "name": "Team", "connections": accounts,
        "dimensions": [{ "unit": "requests", "window": "daily", "limit": 100 }],
    });
    let made = program.manage(http, Method::POST, "/api/quota/pools", Some(body)).await;
    made["pool"]["id"].as_str().expect("an id").to_owned()
}

/// CB-38: a breaker opens, refuses, is closed by its owner and serves, although nothing of it can be written.
async fn breaks_in_memory(program: &Program, http: &reqwest::Client, key: &str, upstream: &FakeUpstream) {
    upstream.set_default(Step::error(503, "down"));
    for _ in 0..12 {
        assert_eq!(program.ask(http, key).await.status(), 503);
    }
    let before = upstream.count(None).arrived;
    let refused = program.ask(http, key).await;
    assert_eq!(refused.headers()["x-omniroute-provider-breaker"], "open");
    assert_eq!(upstream.count(None).arrived, before, "nobody is asked");
    let health = program.manage(http, Method::GET, "/api/monitoring/health", None).await;
    assert_eq!(health["circuitBreakers"]["open"], 1, "{health}");
    program.manage(http, Method::POST, "/api/resilience/reset", None).await;
    upstream.set_default(Step::default());
    assert_eq!(program.ask(http, key).await.status(), 200);
}

#[tokio::test]
async fn a_full_disk_stops_the_log_and_not_the_traffic() {
    let Some(disk) = SmallDisk::mount(8) else {
        println!("skipped: a small file system cannot be mounted here (needs root)");
        return;
    };
    let upstream = FakeUpstream::start().expect("a fake upstream");
    let program = Program::start(disk.path()).await;
    let http = client();
    let key = program.set_up(&http, &upstream).await;
    let accounts = program.manage(&http, Method::GET, "/api/providers", None).await;
    let id = accounts["connections"][0]["id"].as_str().expect("an id");
    let uncooled = json!({ "providerSpecificData": { "disableCooling": true, "baseUrl": upstream.base_url(domain::Dialect::Messages) } });
    program.manage(&http, Method::PATCH, &format!("/api/providers/{id}"), Some(uncooled)).await;
    let pool = pool(&program, &http).await;
    let filler = disk.fill();
    let degraded = async {
        loop {
            let reply = program.ask(&http, &key).await;
            assert_eq!(reply.status(), 200, "traffic goes on");
            assert!(rest(reply).await.is_some_and(|body| body.ends_with(b"\n\n")), "whole");
            let health = program.manage(&http, Method::GET, "/api/monitoring/health", None).await;
            if health["status"] == "degraded" {
                assert_eq!(health["store"]["healthy"], false, "{health}");
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, degraded).await.expect("health says that nothing can be written");
    breaks_in_memory(&program, &http, &key, &upstream).await;
    // What keys share goes by memory alone.
    for _ in 0..3 {
        let reply = program.ask_for(&http, &key, "qtSd/team/anthropic/m1").await;
        assert_eq!(reply.status(), 200, "a pool lets traffic through");
        assert!(rest(reply).await.is_some());
    }
    let state = program.manage(&http, Method::GET, &format!("/api/quota/pools/{pool}/state"), None).await;
    assert_eq!(state["dimensions"][0]["used"], 3.0, "{state}");
    // A write that cannot be kept is refused and not pretended.
    let account = json!({"provider": "openai", "name": "c2", "apiKey": "k".repeat(64)});
    let (status, reply) =
        program.try_manage(&http, Method::POST, "/api/providers", Some(account)).await.expect("an answer");
    assert!(status == 500 || status == 201, "{status} {reply}");
    let shown = program.manage(&http, Method::GET, "/api/providers", None).await;
    let there = shown["connections"].as_array().expect("connections").iter().any(|one| one["name"] == "c2");
    assert_eq!(there, status == 201, "{status} {shown}");
    std::fs::remove_file(filler).expect("removed");
    let recovered = async {
        loop {
            assert!(rest(program.ask(&http, &key).await).await.is_some());
            let health = program.manage(&http, Method::GET, "/api/monitoring/health", None).await;
            if health["status"] == "healthy" {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, recovered).await.expect("health recovers with the space");
    drop(program);
}
