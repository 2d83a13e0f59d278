//! Which account of a quota pool is next (gateway specification, 3.6).

use acceptance::{Connection, World, chat_body};
use fake_upstream::{Gate, Step};
use http::Method;
use serde_json::json;

const MODEL: &str = "qtSd/team/openai/m1";

#[tokio::test]
async fn of_two_whose_turn_it_is_the_less_busy_one_serves() {
    // QS-21
    let world = World::start().await;
    world.set(json!({ "comboDefaults": { "disableSessionStickiness": true } })).await;
    let accounts = [world.connect("openai", "c0").await, world.connect("openai", "c1").await];
    let connections = accounts.each_ref().map(|account| account.id.as_str());
    let pool = json!({ "name": "Team", "connections": connections, "dimensions": [], "allocations": [] });
    world.managed(Method::POST, "/api/quota/pools", Some(pool)).await;
    let gate = Gate::closed();
    world.script(&accounts[0]).then(Step::ok("from 0").held(&gate)).cycle();
    world.script(&accounts[1]).then(Step::ok("from 1")).cycle();
    let ask = || {
        let (agent, body) = (world.agent(), chat_body(MODEL, false));
        tokio::spawn(async move { agent.post("/v1/chat/completions", body).await })
    };
    let held = ask();
    world.wait_for_calls(&accounts[0], 1).await;
    assert_eq!(served(&world, &accounts).await, 1, "in turn");
    assert_eq!(served(&world, &accounts).await, 1, "whose turn it is has one under way, the other none");
    gate.open();
    assert_eq!(held.await.expect("an answer").status, 200);
    world.check_invariants().await;
}

/// Asks once: which account served.
async fn served(world: &World, accounts: &[Connection; 2]) -> usize {
    let reply = world.agent().post("/v1/chat/completions", chat_body(MODEL, false)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let id = reply.header("x-omniroute-selected-connection-id");
    accounts.iter().position(|account| id == Some(account.id.as_str())).expect("one of the two")
}
