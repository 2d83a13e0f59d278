//! A session of a client stays with one account (resilience specification, 9; acceptance, SA).

use acceptance::{Agent, Reply, World, chat_body};
use domain::{Dialect, Millis, wire};
use fake_upstream::Step;
use http::Method;
use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Executor};

use crate::accounts::{MODEL, Shared};

const TTL: Millis = Millis::seconds(600);

/// Three accounts that go round, and sessions that are kept together.
async fn kept() -> Shared {
    let shared = Shared::start().await;
    shared.world.set(json!({ "sessionAffinityTtlMs": TTL.as_millis() })).await;
    round_robin(&shared.world).await;
    shared
}

async fn round_robin(world: &World) {
    world.set(json!({ "routing": { "accountStrategy": { "openai": "round-robin" } } })).await;
}

async fn ask(shared: &Shared, agent: Agent) -> usize {
    served(shared, &agent.post("/v1/chat/completions", chat_body(MODEL, false)).await)
}

async fn of_session(shared: &Shared, name: &str) -> usize {
    ask(shared, shared.world.agent().with("x-session-id", name)).await
}

fn served(shared: &Shared, reply: &Reply) -> usize {
    assert_eq!(reply.status, 200, "{}", reply.text());
    shared.number(reply.header("x-omniroute-selected-connection-id"))
}

async fn many(shared: &Shared, name: &str, times: usize) -> Vec<usize> {
    let mut found = Vec::new();
    for _ in 0..times {
        found.push(of_session(shared, name).await);
    }
    found
}

/// SA-01
#[tokio::test]
async fn switched_off_a_header_changes_nothing() {
    let shared = Shared::start().await;
    round_robin(&shared.world).await;
    assert_eq!(many(&shared, "s1", 6).await, [0, 1, 2, 0, 1, 2]);
}

/// SA-02, SA-08
#[tokio::test]
async fn a_session_stays_and_new_sessions_spread() {
    let shared = kept().await;
    assert_eq!(many(&shared, "s1", 10).await, [0; 10]);
    assert_eq!(many(&shared, "s2", 3).await, [1; 3]);
    assert_eq!(many(&shared, "s3", 3).await, [2; 3]);
    assert_eq!(many(&shared, "s1", 2).await, [0; 2]);
    shared.world.check_invariants().await;
}

/// SA-03, SA-08
#[tokio::test]
async fn every_provider_binds_the_same_session_on_its_own() {
    let shared = kept().await;
    let node = shared.world.node("own", "local").await;
    let (x, y) = (shared.world.connect(&node, "x").await, shared.world.connect(&node, "y").await);
    assert_eq!(many(&shared, "other", 1).await, [0]);
    assert_eq!(many(&shared, "s1", 2).await, [1, 1]);
    let agent = shared.world.agent().with("x-session-id", "s1");
    for _ in 0..3 {
        assert_eq!(agent.post("/v1/chat/completions", chat_body("own/m1", false)).await.status, 200);
    }
    assert_eq!((shared.world.calls(&x).len(), shared.world.calls(&y).len()), (3, 0));
}

/// SA-04, SA-15
#[tokio::test]
async fn the_first_header_that_says_something_names_the_session() {
    let shared = kept().await;
    let agent = || shared.world.agent();
    let a = ask(&shared, agent().with("x-codex-session-id", "a").with("x-session-id", "b")).await;
    assert_eq!(ask(&shared, agent().with("x-codex-session-id", "a")).await, a);
    assert_ne!(ask(&shared, agent().with("x-session-id", "b")).await, a, "a session of its own");
    let c = ask(&shared, agent().with("x-omniroute-session", "c")).await;
    assert_eq!(ask(&shared, agent().with("x-codex-session-id", " ").with("x-omniroute-session", "c")).await, c);
    let huge = "h".repeat(60_000);
    let found = ask(&shared, agent().with("x-session-id", &huge)).await;
    assert_eq!(ask(&shared, agent().with("x-session-id", &huge)).await, found);
}

/// SA-05
#[tokio::test]
async fn each_use_renews_the_tie_and_it_ends_at_its_exact_time() {
    let shared = kept().await;
    assert_eq!(many(&shared, "s1", 1).await, [0]);
    for _ in 0..2 {
        shared.world.advance(Millis::seconds(500));
        assert_eq!(many(&shared, "s1", 1).await, [0]);
    }
    shared.world.advance(TTL);
    assert_eq!(many(&shared, "s1", 1).await, [1], "chosen anew: used longest ago");
}

/// SA-06
#[tokio::test]
async fn a_session_moves_away_from_an_account_that_cools_and_stays_away() {
    let shared = kept().await;
    assert_eq!(many(&shared, "s1", 1).await, [0]);
    shared.world.script(&shared.accounts[0]).then(Step::error(429, "slow down")).then(Step::ok("again"));
    let moved = many(&shared, "s1", 1).await[0];
    assert_ne!(moved, 0);
    assert_eq!(many(&shared, "s1", 2).await, [moved; 2]);
    shared.world.advance(Millis::minutes(5));
    assert_eq!(many(&shared, "s1", 2).await, [moved; 2], "the first one has recovered");
}

/// SA-07
#[tokio::test]
async fn a_session_survives_the_deletion_of_its_account() {
    let shared = kept().await;
    assert_eq!(many(&shared, "s1", 1).await, [0]);
    shared.world.delete(&shared.accounts[0]).await;
    assert_eq!(many(&shared, "s1", 2).await, [1, 1]);
}

#[tokio::test]
async fn every_new_session_goes_to_the_account_its_key_prefers() {
    let shared = kept().await;
    let preferred = &shared.accounts[1].id;
    let key = shared.world.make_key(json!({ "name": "k", "preferredConnections": [preferred] })).await;
    for session in ["s1", "s2", "s3"] {
        for _ in 0..2 {
            let agent = shared.world.stranger().with_key(&key).with("x-session-id", session);
            assert_eq!(ask(&shared, agent).await, 1, "{session}");
        }
    }
    assert_eq!(many(&shared, "s4", 1).await, [0], "other keys spread");
    shared.world.script(&shared.accounts[1]).then(Step::error(429, "slow down"));
    let moved =
        async |session| ask(&shared, shared.world.stranger().with_key(&key).with("x-session-id", session)).await;
    assert_ne!(moved("s1").await, 1);
    shared.world.check_invariants().await;
}

/// SA-09
#[tokio::test]
async fn twenty_first_requests_at_once_end_on_one_account() {
    let shared = kept().await;
    let all = futures_util::future::join_all((0..20).map(|_| of_session(&shared, "s1"))).await;
    assert!(all.iter().all(|account| *account == all[0]), "{all:?}");
    assert_eq!(many(&shared, "s1", 2).await, [all[0]; 2]);
}

/// SA-10
#[tokio::test]
async fn no_name_of_a_session_reaches_an_upstream() {
    let shared = kept().await;
    let names =
        ["x-codex-session-id", "x-session-id", "x_session_id", "x-omniroute-session", "x-claude-code-session-id"];
    for stream in [false, true] {
        for name in names {
            let agent = shared.world.agent().with(name, "told-to-nobody");
            let reply = agent.post("/v1/chat/completions", chat_body(MODEL, stream)).await;
            assert_eq!(reply.status, 200, "{}", reply.text());
        }
    }
    for call in shared.accounts.iter().flat_map(|account| shared.world.calls(account)) {
        assert!(names.iter().all(|name| call.header(name).is_none()), "{call:?}");
        assert!(!format!("{call:?}").contains("told-to-nobody"), "{call:?}");
    }
}

/// SA-11, RP-08 for pins
#[tokio::test]
async fn a_session_survives_a_restart_and_its_name_is_stored_nowhere() {
    let mut shared = kept().await;
    assert_eq!(many(&shared, "other", 1).await, [0]);
    assert_eq!(many(&shared, "a-name-of-mine", 2).await, [1, 1]);
    shared.world.restart().await;
    assert_eq!(many(&shared, "a-name-of-mine", 2).await, [1, 1]);
    shared.world.stop().await;
    for file in std::fs::read_dir(shared.world.folder()).expect("the folder") {
        let path = file.expect("a file").path();
        let bytes = if path.is_file() { std::fs::read(&path).expect("its bytes") } else { Vec::new() };
        let name = b"a-name-of-mine";
        assert!(!bytes.windows(name.len()).any(|window| window == name), "{}", path.display());
    }
}

/// SA-11
#[tokio::test]
async fn what_the_store_did_not_take_is_put_down_later() {
    let mut shared = kept().await;
    let file = shared.world.folder().join(wire::file::DATABASE);
    let mut database = SqliteConnectOptions::new().filename(file).connect().await.expect("the database");
    let full = "CREATE TRIGGER full BEFORE INSERT ON key_value WHEN new.namespace = 'session_account_affinity'
                BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END";
    database.execute(full).await.expect("a trigger");
    assert_eq!(many(&shared, "other", 1).await, [0]);
    assert_eq!(many(&shared, "a-name-of-mine", 2).await, [1, 1]);
    let fails = async {
        while !shared.world.has_logged("the accounts of sessions could not be put down") {
            shared.world.advance(Millis::seconds(1));
            shared.world.stranger().get("/health").await;
        }
    };
    acceptance::in_time("a failure to put them down", fails).await;
    database.execute("DROP TRIGGER full").await.expect("no trigger");
    database.close().await.expect("a close");
    shared.world.restart().await;
    assert_eq!(many(&shared, "a-name-of-mine", 2).await, [1, 1]);
}

/// SA-14
#[tokio::test]
async fn without_a_header_the_body_names_the_session_and_at_last_how_the_conversation_began() {
    let shared = kept().await;
    let body = |extra: Value, text: &str| {
        let mut body = json!({ "model": MODEL, "messages": [{ "role": "user", "content": text }] });
        for (name, value) in extra.as_object().expect("members") {
            body[name] = value.clone();
        }
        body.to_string()
    };
    let ask = async |body: String| served(&shared, &shared.world.agent().post("/v1/chat/completions", body).await);
    let first = ask(body(json!({ "metadata": { "session_id": "m" } }), "one")).await;
    assert_eq!(ask(body(json!({ "metadata": { "session_id": "m" } }), "two")).await, first);
    let second = ask(body(json!({ "prompt_cache_key": "k" }), "one")).await;
    assert_eq!(ask(body(json!({ "prompt_cache_key": "k" }), "three")).await, second);
    assert_ne!(first, second);
    let third = ask(body(json!({}), "how it began")).await;
    assert_eq!(ask(body(json!({}), "how it began")).await, third);
    assert_ne!(second, third);
}

#[tokio::test]
async fn every_dialect_keeps_its_session() {
    let world = World::start().await;
    world.set(json!({ "sessionAffinityTtlMs": TTL.as_millis() })).await;
    for (provider, dialect) in
        [("openai", Dialect::Responses), ("anthropic", Dialect::Messages), ("gemini", Dialect::Gemini)]
    {
        let (one, other) = (world.connect(provider, "one").await, world.connect(provider, "other").await);
        let ask = acceptance::Ask::of(provider, "m1", dialect, false);
        let strategy = json!({ "routing": { "accountStrategy": { provider: "round-robin" } } });
        world.set(strategy).await;
        for _ in 0..4 {
            let agent = world.agent().with("x-session-id", "s");
            let reply = agent.post(&ask.path, ask.body.clone()).await;
            assert_eq!(reply.status, 200, "{}", reply.text());
        }
        assert_eq!((world.calls(&one).len(), world.calls(&other).len()), (4, 0), "{provider}");
    }
}

#[tokio::test]
async fn a_combo_that_leaves_the_account_open_keeps_the_session_and_one_that_names_it_moves_nobody() {
    let shared = kept().await;
    let create = |name: &str, step: Value| {
        let body = json!({ "name": name, "strategy": "priority", "models": [step] });
        shared.world.managed(Method::POST, "/api/combos", Some(body))
    };
    create("open", json!("openai/m1")).await;
    create("pinned", json!({ "model": "openai/m1", "connectionId": shared.accounts[2].id })).await;
    let ask = async |model: &str| {
        let agent = shared.world.agent().with("x-session-id", "s1");
        served(&shared, &agent.post("/v1/chat/completions", chat_body(model, false)).await)
    };
    assert_eq!(ask("open").await, 0);
    assert_eq!(ask("pinned").await, 2);
    assert_eq!((ask("open").await, ask(MODEL).await), (0, 0));
}

#[tokio::test]
async fn why_a_request_would_go_somewhere_knows_its_session() {
    let shared = kept().await;
    assert_eq!(many(&shared, "other", 1).await, [0]);
    assert_eq!(many(&shared, "s1", 1).await, [1]);
    let path = "/api/resilience/explain?model=openai/m1&sessionKey=s1";
    let seen = shared.world.managed(Method::GET, path, None).await;
    let first = &seen["targets"][0]["connections"][0]["connectionId"];
    assert_eq!(first, shared.accounts[1].id.as_str(), "{seen}");
}
