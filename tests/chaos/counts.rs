//! What strategies have counted outlives a `kill -9`.

use std::time::Duration;

use fake_upstream::{FakeUpstream, Step};
use http::Method;
use serde_json::json;

use crate::program::{Program, client, rest};

/// What is counted is put down a second after the last known good changed.
const PUT_DOWN: Duration = Duration::from_secs(3);

/// The account that serves the next request.
async fn next(program: &Program, http: &reqwest::Client, key: &str) -> String {
    let reply = program.ask_for(http, key, "team").await;
    assert_eq!(reply.status(), 200);
    let account = reply.headers().get("x-omniroute-selected-connection-id").expect("who served");
    let account = account.to_str().expect("an id").to_owned();
    rest(reply).await.expect("a whole answer");
    account
}

#[tokio::test]
async fn a_killed_program_knows_who_was_used_least() {
    let folder = tempfile::tempdir().expect("a folder");
    let upstream = FakeUpstream::start().expect("a fake upstream");
    upstream.set_default(Step::ok("fine"));
    let (program, http) = (Program::start(folder.path()).await, client());
    let key = program.set_up(&http, &upstream).await;
    let base_url = upstream.base_url(domain::Dialect::Messages);
    let mut accounts = Vec::new();
    for name in ["a", "b", "c"] {
        accounts.push(program.connect(&http, name, &base_url).await);
    }
    let step = |account: &String| json!({ "model": "anthropic/m1", "connectionId": account });
    let combo = json!({
        "name": "team", "strategy": "least-used", "config": { "disableSessionStickiness": true },
        "models": accounts.iter().map(step).collect::<Vec<_>>(),
    });
    program.manage(&http, Method::POST, "/api/combos", Some(combo)).await;
    for expected in [0, 1, 2, 0] {
        assert_eq!(next(&program, &http, &key).await, accounts[expected]);
    }
    let killing = program.kill_in(PUT_DOWN);
    program.ended().await;
    killing.join().expect("killed");
    let program = Program::start(folder.path()).await;
    for expected in [1, 2, 0] {
        assert_eq!(next(&program, &http, &key).await, accounts[expected], "as if nothing had happened");
    }
}
