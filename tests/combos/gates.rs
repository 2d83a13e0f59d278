//! Places: who waits, who is turned away, and that nobody's health is touched by it (resilience specification, 14 to 16).

use acceptance::chat_body;
use domain::Millis;
use fake_upstream::{Gate, Step};
use serde_json::json;

use crate::team::{Team, who};

#[tokio::test]
async fn one_place_and_fifty_requests_are_never_two_at_the_upstream() {
    // QS
    let team = Team::start().await;
    team.world.change(&team.accounts[0], json!({ "maxConcurrent": 1 })).await;
    let gate = Gate::closed();
    team.world.script(&team.accounts[0]).then(Step::ok("from 0").held(&gate)).cycle();
    let ask = || {
        let agent = team.world.agent();
        tokio::spawn(async move { agent.post("/v1/chat/completions", chat_body("openai/m1", false)).await })
    };
    let first = ask();
    team.world.wait_for_calls(&team.accounts[0], 1).await;
    let waiting: Vec<_> = (0..20).map(|_| ask()).collect();
    team.world.wait_for_waiting(20).await;
    assert_eq!(team.calls()[0], 1, "the others wait here");
    let refused = ask().await.expect("an answer");
    assert_eq!(refused.status, 429, "{}", refused.text());
    assert_eq!(refused.json()["error"]["code"], "SEMAPHORE_QUEUE_FULL");
    gate.open();
    assert_eq!(who(&first.await.expect("an answer")), 0);
    for asking in waiting {
        assert_eq!(who(&asking.await.expect("an answer")), 0);
    }
    assert_eq!(team.world.cooling(&team.accounts[0]), None);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_wait_ends_at_its_limit_and_whoever_leaves_makes_room() {
    let team = Team::start().await;
    team.world.change(&team.accounts[0], json!({ "maxConcurrent": 1 })).await;
    team.world.script(&team.accounts[0]).then(Step::Hang);
    let ask = || {
        let agent = team.world.agent();
        tokio::spawn(async move { agent.post("/v1/chat/completions", chat_body("openai/m1", false)).await })
    };
    let first = ask();
    team.world.wait_for_calls(&team.accounts[0], 1).await;
    let second = ask();
    team.world.wait_for_waiting(1).await;
    team.world.advance(Millis::seconds(30));
    let reply = second.await.expect("an answer");
    assert_eq!(reply.status, 503, "{}", reply.text());
    assert_eq!(reply.json()["error"]["code"], "SEMAPHORE_TIMEOUT");
    let third = ask();
    team.world.wait_for_waiting(1).await;
    first.abort();
    team.world.wait_for_calls(&team.accounts[0], 2).await;
    third.abort();
    team.world.settle().await;
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_full_target_is_passed_over_without_hurting_it() {
    let team = Team::start().await;
    team.three("priority").await;
    team.world.change(&team.accounts[0], json!({ "maxConcurrent": 1 })).await;
    let gate = Gate::closed();
    team.world.script(&team.accounts[0]).then(Step::ok("from 0").held(&gate));
    let agent = team.world.agent();
    let first = tokio::spawn(async move { agent.post("/v1/chat/completions", chat_body("team", false)).await });
    team.world.wait_for_calls(&team.accounts[0], 1).await;
    assert_eq!(who(&team.ask("team").await), 1);
    gate.open();
    assert_eq!(who(&first.await.expect("an answer")), 0);
    assert_eq!(team.world.cooling(&team.accounts[0]), None);
    team.world.check_invariants().await;
}
