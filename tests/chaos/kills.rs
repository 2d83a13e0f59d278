//! Killed at any moment while accounts fail in bursts and their owner turns knobs.
//!
//! What was answered is kept: accounts and settings at once, rests and bans once the writer had its quarter of a second.
//! Whatever is found afterwards is whole.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use acceptance::PATIENCE;
use domain::Dialect;
use fake_upstream::{FakeUpstream, Step};
use http::Method;
use serde_json::{Value, json};

use crate::program::{Program, client};

/// How often the program is killed.
const ROUNDS: u64 = 20;
/// What is written behind was certainly put down after this long, also on a slow disk.
const WRITTEN: Duration = Duration::from_secs(1);
/// The most accounts that fail in one round.
const ACCOUNTS: u64 = 10;
/// The shortest rest that the owner sets; each edit adds one.
const BASE: u64 = 1_000;

/// What clients were told.
#[derive(Default)]
struct Told {
    /// When each account was answered for as failing, and whether for good.
    failed: BTreeMap<String, (Instant, bool)>,
    /// The last edit of the settings that was acknowledged.
    base: u64,
    /// When the program was killed last, at the earliest.
    killed: Option<Instant>,
}

fn is_banned(number: u64) -> bool {
    number % 3 == 2
}

/// Adds accounts that fail in bursts, one after another, until the program dies.
async fn fail_until_dead(program: &Program, upstream: &FakeUpstream, key: &str, round: u64, told: &mut Told) {
    let http = client();
    let ask = || async {
        let body = acceptance::messages_body("anthropic/m1", false);
        let request = http.post(format!("{}/v1/messages", program.url)).header("x-api-key", key);
        let reply = request.header("content-type", "application/json").body(body).send().await.ok()?;
        reply.bytes().await.ok()
    };
    for number in 0.. {
        if number >= ACCOUNTS {
            // Everybody rests: the knobs go on being turned.
            if edit(program, told).await.is_none() || ask().await.is_none() {
                return;
            }
            continue;
        }
        let name = format!("{round}-{number}");
        if is_banned(number) {
            let banned = Step::error(403, "your account has been suspended");
            upstream.script(format!("credential-of-{name}").as_str(), None).then(banned);
        }
        let account = json!({
            "provider": "anthropic", "name": name, "apiKey": format!("credential-of-{name}"),
            "providerSpecificData": {"baseUrl": upstream.base_url(Dialect::Messages)},
        });
        let added = program.try_manage(&http, Method::POST, "/api/providers", Some(account)).await;
        let Some((201, made)) = added else { return };
        let id = made["connection"]["id"].as_str().expect("an id").to_owned();
        let burst = futures_util::future::join_all((0..4).map(|_| ask())).await;
        if burst.iter().any(Option::is_none) || edit(program, told).await.is_none() {
            return;
        }
        told.failed.insert(id, (Instant::now(), is_banned(number)));
    }
}

/// Turns a knob further.
async fn edit(program: &Program, told: &mut Told) -> Option<()> {
    let base = told.base + 1;
    let tree = json!({ "connectionCooldown": { "apikey": { "baseCooldownMs": BASE + base } } });
    let (status, _) = program.try_manage(&client(), Method::PATCH, "/api/resilience", Some(tree)).await?;
    assert_eq!(status, 200);
    told.base = base;
    Some(())
}

/// Reads what is left, and compares it with what was told.
async fn check(program: &Program, told: &mut Told) {
    let http = client();
    let health = program.manage(&http, Method::GET, "/api/monitoring/health", None).await;
    assert_eq!(health["status"], "healthy", "{health}");
    let settings = program.manage(&http, Method::GET, "/api/resilience", None).await;
    let base = settings["connectionCooldown"]["apikey"]["baseCooldownMs"].as_u64().unwrap_or_default();
    // The edit under way when it died may have been kept or not.
    let edits = if told.base == 0 { 0 } else { base.saturating_sub(BASE) };
    assert!(told.base == 0 || (told.base..=told.base + 1).contains(&edits), "{base} after {} edits", told.base);
    told.base = edits;

    let list = program.manage(&http, Method::GET, "/api/providers", None).await;
    let mut found: BTreeMap<&str, &Value> = BTreeMap::new();
    for connection in list["connections"].as_array().expect("connections") {
        assert_whole(connection);
        found.insert(connection["id"].as_str().expect("an id"), connection);
    }
    for (id, (when, banned)) in &told.failed {
        let connection = found.get(id.as_str()).unwrap_or_else(|| panic!("{id} was acknowledged and is gone"));
        let status = connection["testStatus"].as_str().unwrap_or_default();
        let written = told.killed.is_some_and(|killed| *when + WRITTEN <= killed);
        let expected = if *banned { "banned" } else { "unavailable" };
        assert!(status == expected || !written && status == "unknown", "{status} instead of {expected}: {connection}");
    }
    // What was lost within the writer's quarter of a second fails anew.
    told.failed.retain(|id, _| found.get(id.as_str()).is_some_and(|connection| connection["testStatus"] != "unknown"));
}

/// No rest without its reason, no reason without its time, no state without its cause.
fn assert_whole(connection: &Value) {
    let status = connection["testStatus"].as_str().unwrap_or_default();
    assert!(matches!(status, "unknown" | "unavailable" | "banned"), "{connection}");
    let is = |name: &str| !connection[name].is_null();
    assert_eq!(is("rateLimitedUntil"), status != "unknown", "{connection}");
    assert_eq!(is("lastError"), status != "unknown", "{connection}");
    assert_eq!((is("lastErrorAt"), is("lastErrorType")), (is("lastError"), is("lastError")), "{connection}");
    assert_eq!(connection["hasCredential"], true, "{connection}");
}

/// RP-04, RP-06
#[tokio::test]
async fn rests_and_settings_survive_twenty_kills_amid_bursts_of_failures() {
    let folder = tempfile::tempdir().expect("a folder");
    let upstream = FakeUpstream::start().expect("a fake upstream");
    upstream.set_default(Step::error(429, "slow down").with_header("retry-after", "7200"));
    let mut told = Told::default();
    let mut key = String::new();
    for round in 0..ROUNDS {
        let program = Program::start(folder.path()).await;
        if round == 0 {
            let made = program.manage(&client(), Method::POST, "/api/keys", Some(json!({"name": "agents"}))).await;
            key = made["key"].as_str().expect("a key").to_owned();
            let off = json!({ "waitForCooldown": { "enabled": false } });
            program.manage(&client(), Method::PATCH, "/api/resilience", Some(off)).await;
        }
        check(&program, &mut told).await;
        // Every other round is long enough for what is written behind; the others end wherever they are. The moment of
        // death is real time: that is what this test is about.
        let lives = if round % 2 == 0 { 1_300 + 37 * round } else { 30 + 23 * round };
        let lives = Duration::from_millis(lives);
        told.killed = Some(Instant::now() + lives);
        let killing = program.kill_in(lives);
        let failing = fail_until_dead(&program, &upstream, &key, round, &mut told);
        tokio::time::timeout(PATIENCE, failing).await.expect("the program dies");
        killing.join().expect("killed");
        assert!(!program.ended().await.success());
    }
    let program = Program::start(folder.path()).await;
    check(&program, &mut told).await;
    println!("{} failing accounts and {} edits over {ROUNDS} kills", told.failed.len(), told.base);
    assert!(told.failed.len() as u64 >= ROUNDS && told.base >= ROUNDS);
}
