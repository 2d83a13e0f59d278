//! Caps of one account and of its models, with many at them at once (resilience specification, 14).

use fake_upstream::{Gate, Step};
use serde_json::json;

use crate::gates::{all_succeed, ask_often};
use crate::team::Team;

#[tokio::test]
async fn two_connections_with_one_key_have_a_cap_each() {
    // QS-15
    let team = Team::start().await;
    let capped = json!({ "apiKey": team.accounts[0].credential, "maxConcurrent": 1 });
    team.world.change(&team.accounts[0], json!({ "maxConcurrent": 1 })).await;
    team.world.connect_with("openai", "twin", capped).await;
    let gate = Gate::closed();
    team.world.script(&team.accounts[0]).then(Step::ok("from 0").held(&gate));
    let asking = ask_often(&team, "openai/m1", 3);
    team.world.wait_for_calls(&team.accounts[0], 2).await;
    team.world.wait_for_waiting(1).await;
    assert_eq!(team.calls()[0], 2, "one by way of each");
    gate.open();
    all_succeed(asking).await;
    team.world.check_invariants().await;
}

#[tokio::test]
async fn two_hundred_requests_at_three_gates_of_which_some_leave_all_end_and_hold_nothing() {
    // QS-13: who leaves is drawn from a fixed seed.
    let team = Team::start().await;
    let account = &team.accounts[0];
    let caps = json!({ "a": 1, "b": 2, "c": 3 });
    let limits = json!({ "maxConcurrent": 4, "rateLimitOverrides": { "modelConcurrency": caps } });
    team.world.change(account, limits).await;
    team.world.script(account).then(Step::ok("from 0").after(std::time::Duration::from_millis(2)));
    let mut drawn: u32 = 20_26;
    let mut asking = Vec::new();
    for _ in 0..200 {
        drawn = drawn.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let model = ["openai/a", "openai/b", "openai/c"][(drawn >> 16) as usize % 3];
        let reply = ask_often(&team, model, 1).remove(0);
        if (drawn >> 24).is_multiple_of(4) {
            tokio::task::yield_now().await;
            reply.abort();
        } else {
            asking.push(reply);
        }
    }
    assert!(asking.len() > 100, "most stay");
    for reply in asking {
        let reply = reply.await.expect("an answer");
        let full = reply.status == 429 && reply.json()["error"]["code"] == "SEMAPHORE_QUEUE_FULL";
        assert!(reply.status == 200 || full, "{}", reply.text());
    }
    team.world.settle().await;
    assert_eq!((team.world.in_flight(), team.world.picture().waiting), (0, 0));
    for model in ["openai/a", "openai/b", "openai/c"] {
        assert_eq!(ask_often(&team, model, 1).remove(0).await.expect("an answer").status, 200, "{model}");
    }
    team.world.check_invariants().await;
}
