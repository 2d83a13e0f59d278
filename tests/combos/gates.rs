//! Places: who waits, who is turned away, and that nobody's health is touched by it (resilience specification, 14 to 16).

use acceptance::{Reply, chat_body};
use domain::{Dialect, Millis};
use fake_upstream::{Break, Gate, Step};
use http::Method;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::team::{Team, who};

/// Fifty requests for one place, which come one after another; the upstream answers each when told to.
#[tokio::test]
async fn one_place_and_fifty_requests_are_never_two_at_the_upstream_and_keep_their_order() {
    // QS
    let team = Team::start().await;
    let account = &team.accounts[0];
    team.world.change(account, json!({ "maxConcurrent": 1 })).await;
    let gates: Vec<Gate> = (0..50).map(|_| Gate::closed()).collect();
    let mut script = team.world.script(account);
    for gate in &gates {
        script = script.then(Step::ok("from 0").held(gate));
    }
    let mut asking = Vec::new();
    for n in 0..50_u32 {
        let body = json!({ "model": "openai/m1", "messages": [{ "role": "user", "content": n.to_string() }] });
        let agent = team.world.agent();
        asking.push(tokio::spawn(async move { agent.post("/v1/chat/completions", body.to_string()).await }));
        team.world.wait_for_calls(account, 1).await;
        team.world.wait_for_waiting(n).await;
    }
    for (n, gate) in gates.iter().enumerate() {
        let calls = team.world.wait_for_calls(account, n as u64 + 1).await;
        assert_eq!(calls.len(), n + 1, "the next one waits until this one has ended");
        assert_eq!(calls[n].json()["messages"][0]["content"], n.to_string(), "in the order of their coming");
        gate.open();
        assert_eq!(who(&(&mut asking[n]).await.expect("an answer")), 0);
    }
    assert_eq!(team.calls()[0], 50);
    assert_eq!(team.world.cooling(account), None);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_line_has_an_end() {
    // QS-14, decision 0007
    let team = Team::start().await;
    team.world.change(&team.accounts[0], json!({ "maxConcurrent": 1 })).await;
    let gate = Gate::closed();
    team.world.script(&team.accounts[0]).then(Step::ok("from 0").held(&gate)).cycle();
    let ask = || {
        let agent = team.world.agent();
        tokio::spawn(async move { agent.post("/v1/chat/completions", chat_body("openai/m1", false)).await })
    };
    let waiting: Vec<_> = (0..101).map(|_| ask()).collect();
    team.world.wait_for_waiting(100).await;
    let refused = ask().await.expect("an answer");
    assert_eq!(refused.status, 429, "{}", refused.text());
    assert_eq!(refused.json()["error"]["code"], "SEMAPHORE_QUEUE_FULL");
    gate.open();
    for asking in waiting {
        assert_eq!(who(&asking.await.expect("an answer")), 0);
    }
    assert_eq!(team.world.cooling(&team.accounts[0]), None);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_wait_ends_at_its_limit_and_not_before() {
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
    team.world.advance(Millis::new(29_999));
    // Whoever looks has been through everything that was due.
    team.world.wait_for_waiting(1).await;
    assert!(!second.is_finished(), "a millisecond is left");
    team.world.advance(Millis::new(1));
    let reply = second.await.expect("an answer");
    assert_eq!(reply.status, 503, "{}", reply.text());
    assert_eq!(reply.json()["error"]["code"], "SEMAPHORE_TIMEOUT");
    first.abort();
    team.world.settle().await;
    team.world.check_invariants().await;
}

#[tokio::test]
async fn whoever_leaves_the_line_makes_room_for_the_next_at_once() {
    let team = Team::start().await;
    let account = &team.accounts[0];
    team.world.change(account, json!({ "maxConcurrent": 1 })).await;
    let gate = Gate::closed();
    team.world.script(account).then(Step::ok("from 0").held(&gate)).then(Step::ok("from 0"));
    let ask = |words: &str| {
        let agent = team.world.agent();
        let body = json!({ "model": "openai/m1", "messages": [{ "role": "user", "content": words }] });
        tokio::spawn(async move { agent.post("/v1/chat/completions", body.to_string()).await })
    };
    let served = ask("is served");
    team.world.wait_for_calls(account, 1).await;
    let leaves = ask("leaves");
    team.world.wait_for_waiting(1).await;
    let stays = ask("stays");
    team.world.wait_for_waiting(2).await;
    leaves.abort();
    team.world.wait_for_waiting(1).await;
    gate.open();
    assert_eq!(who(&served.await.expect("an answer")), 0);
    assert_eq!(who(&stays.await.expect("an answer")), 0);
    let asked: Vec<_> =
        team.world.calls(account).iter().map(|call| call.json()["messages"][0]["content"].clone()).collect();
    assert_eq!(asked, ["is served", "stays"]);
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

/// A request that waits at two full accounts; the first is shut out meanwhile, the second serves it.
async fn shut_out_while_waiting(model: &str) {
    let team = Team::start().await;
    let second = team.world.connect("openai", "d").await;
    team.combo("both", "priority", json!(["openai/m1"]), json!({ "queueTimeoutMs": 60_000, "maxRetries": 0 })).await;
    let gates = [Gate::closed(), Gate::closed()];
    team.world.script(&team.accounts[0]).then(Step::error(429, "slow down").held(&gates[0]));
    team.world.script(&second).then(Step::ok("from 1").held(&gates[1])).then(Step::ok("from 2"));
    for account in [&team.accounts[0], &second] {
        team.world.change(account, json!({ "maxConcurrent": 1 })).await;
    }
    let mut first = ask_often(&team, model, 1);
    team.world.wait_for_calls(&team.accounts[0], 1).await;
    first.extend(ask_often(&team, model, 1));
    team.world.wait_for_calls(&second, 1).await;
    let waiting = ask_often(&team, model, 1);
    team.world.wait_for_waiting(1).await;
    gates[0].open();
    team.world.wait_for_endings(&team.accounts[0], 1).await;
    gates[1].open();
    for asking in waiting {
        assert_eq!(who(&asking.await.expect("an answer")), 2, "it went on to the second");
    }
    let row = team.world.last_request().await;
    let excluded = row["trace"]["exclusions"].as_array().expect("a list");
    let first_account: Vec<_> =
        excluded.iter().filter(|record| record["connectionId"] == json!(team.accounts[0].id)).collect();
    assert_eq!(first_account.len(), 1, "each account once: {row}");
    assert_eq!(first_account[0]["mechanism"], "connection_cooldown", "{row}");
    for asking in first {
        asking.await.expect("an answer");
    }
    team.world.check_invariants().await;
}

#[tokio::test]
async fn whoever_is_shut_out_while_one_waited_for_it_is_listed_and_the_next_is_waited_for() {
    shut_out_while_waiting("openai/m1").await;
}

#[tokio::test]
async fn in_a_combo_too_whoever_is_shut_out_while_one_waited_is_listed_and_the_next_is_waited_for() {
    shut_out_while_waiting("both").await;
}

/// Sends so many requests for a model or combo at once.
pub(crate) fn ask_often(team: &Team, model: &str, times: usize) -> Vec<JoinHandle<Reply>> {
    let ask = |_| {
        let (agent, body) = (team.world.agent(), chat_body(model, false));
        tokio::spawn(async move { agent.post("/v1/chat/completions", body).await })
    };
    (0..times).map(ask).collect()
}

pub(crate) async fn all_succeed(asking: Vec<JoinHandle<Reply>>) {
    for asking in asking {
        let reply = asking.await.expect("an answer");
        assert_eq!(reply.status, 200, "{}", reply.text());
    }
}

#[tokio::test]
async fn a_place_is_held_until_the_stream_ends_and_given_back_however_it_ends() {
    // QS-08, QS-09
    let team = Team::start().await;
    team.world.change(&team.accounts[0], json!({ "maxConcurrent": 1 })).await;
    for step in [
        Step::sse([acceptance::beginning(Dialect::Chat)]).broken(usize::MAX, Break::Stall),
        Step::ok("from 0").broken(usize::MAX, Break::Reset),
        Step::error(400, "not like this"),
    ] {
        let stalls = matches!(step, Step::Cut { how: Break::Stall, .. });
        let before = team.calls()[0] as u64;
        team.world.script(&team.accounts[0]).then(step).then(Step::ok("from 0"));
        let mut stream = team.world.agent().stream("/v1/chat/completions", chat_body("openai/m1", true)).await;
        stream.next().await;
        if stalls {
            let waiting = ask_often(&team, "openai/m1", 1);
            team.world.wait_for_waiting(1).await;
            drop(stream);
            all_succeed(waiting).await;
        } else {
            stream.rest().await;
        }
        team.world.settle().await;
        team.world.managed(Method::POST, "/api/resilience/cooldowns", Some(json!({ "all": true }))).await;
        all_succeed(ask_often(&team, "openai/m1", 1)).await;
        assert!(team.calls()[0] as u64 > before);
        team.world.check_invariants().await;
    }
}

#[tokio::test]
async fn each_model_has_its_cap_beside_that_of_the_account() {
    // QS-10, QS-11, QS-12, QS-16, QS-23
    let team = Team::start().await;
    let account = &team.accounts[0];
    let caps = json!({ "glm-5": 1, "glm-4.7": 3, "openai/glm-4": 1 });
    let limits = json!({ "maxConcurrent": 4, "rateLimitOverrides": { "modelConcurrency": caps } });
    team.world.change(account, limits).await;
    let gate = Gate::closed();
    team.world.script(account).then(Step::ok("from 0").held(&gate));
    let mut asking = ask_often(&team, "openai/glm-5", 3);
    team.world.wait_for_calls(account, 1).await;
    team.world.wait_for_waiting(2).await;
    asking.extend(ask_often(&team, "openai/glm-4.7", 5));
    team.world.wait_for_calls(account, 4).await;
    team.world.wait_for_waiting(4).await;
    let by_model = |model: &str| {
        let calls = team.world.calls(account);
        calls.iter().filter(|call| call.model.as_deref() == Some(model)).count()
    };
    assert_eq!((by_model("glm-5"), by_model("glm-4.7")), (1, 3));
    gate.open();
    all_succeed(asking).await;
    assert_eq!((by_model("glm-5"), by_model("glm-4.7")), (3, 5));
    let gate = Gate::closed();
    team.world.script(account).then(Step::ok("from 0").held(&gate));
    let uncapped = ask_often(&team, "openai/glm-4", 2);
    team.world.wait_for_calls(account, 10).await;
    gate.open();
    all_succeed(uncapped).await;
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_raised_cap_lets_one_more_in_at_once() {
    // QS-24
    let team = Team::start().await;
    let account = &team.accounts[0];
    team.world.change(account, json!({ "maxConcurrent": 1 })).await;
    let gate = Gate::closed();
    team.world.script(account).then(Step::ok("from 0").held(&gate));
    let asking = ask_often(&team, "openai/m1", 4);
    team.world.wait_for_waiting(3).await;
    team.world.change(account, json!({ "max_concurrent": 2 })).await;
    team.world.wait_for_calls(account, 2).await;
    assert_eq!(team.world.picture().waiting, 2);
    gate.open();
    all_succeed(asking).await;
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_combo_leaves_an_account_whose_queue_is_closed_and_one_that_took_too_long() {
    // RQ-16
    let team = Team::start().await;
    team.three("priority").await;
    let (first, second) = (&team.accounts[0], &team.accounts[1]);
    let limits = json!({ "rateLimitOverrides": { "rpm": 1, "executionMaxWaitMs": 2_000 } });
    team.world.change(first, limits).await;
    team.world.set(json!({ "network": { "responseStartTimeoutMs": 2_000 } })).await;
    assert_eq!(team.served("team", 2).await, [0, 1]);
    team.world.advance(Millis::minutes(1));
    team.world.script(first).then(Step::Hang);
    let asking = ask_often(&team, "team", 1);
    team.world.wait_for_calls(first, 2).await;
    team.world.advance(Millis::seconds(2));
    team.world.wait_for_calls(second, 2).await;
    all_succeed(asking).await;
    assert_eq!(team.world.cooling(first), None);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_combo_of_one_target_that_took_too_long_says_so() {
    let team = Team::start().await;
    team.combo("alone", "priority", json!(["openai/m1"]), json!({})).await;
    let account = &team.accounts[0];
    team.world.set(json!({ "network": { "responseStartTimeoutMs": 2_000 } })).await;
    team.world.change(account, json!({ "rateLimitOverrides": { "executionMaxWaitMs": 2_000 } })).await;
    team.world.script(account).then(Step::Hang);
    let mut asking = ask_often(&team, "alone", 1);
    team.world.wait_for_calls(account, 1).await;
    team.world.advance(Millis::seconds(2));
    let reply = asking.remove(0).await.expect("an answer");
    assert_eq!(reply.status, 504, "{}", reply.text());
    assert_eq!(reply.json()["error"]["code"], "RATE_LIMIT_EXECUTION_TIMEOUT");
    team.world.check_invariants().await;
}

/// A conversation with old thinking in it, by which its request is known at the account.
fn thoughtful(model: &str, name: &str) -> String {
    let thought = json!({ "type": "thinking", "thinking": "t", "signature": "old" });
    let said = json!({ "type": "text", "text": "a" });
    let messages = json!([
        { "role": "user", "content": name },
        { "role": "assistant", "content": [thought, said] },
        { "role": "user", "content": "r" },
    ]);
    json!({ "model": model, "max_tokens": 2048, "messages": messages }).to_string()
}

#[tokio::test]
async fn a_request_that_is_sent_again_at_once_goes_before_whoever_waits_for_its_place() {
    let team = Team::start().await;
    let account = team.world.connect("anthropic", "d").await;
    team.world.change(&account, json!({ "maxConcurrent": 1 })).await;
    team.combo("alone", "priority", json!(["anthropic/m1"]), json!({})).await;
    let hedging = json!({ "zeroLatencyOptimizationsEnabled": true, "hedging": true });
    team.combo("hedged", "priority", json!(["anthropic/m1"]), hedging).await;
    for (n, model) in ["anthropic/m1", "alone", "hedged"].into_iter().enumerate() {
        let gate = Gate::closed();
        let refusal = Step::error(400, "messages.1.content.0: Invalid `signature` in `thinking` block");
        team.world.script(&account).then(refusal.held(&gate)).then(Step::ok("from 0"));
        let ask = |name: &str| {
            let (agent, body) = (team.world.agent(), thoughtful(model, name));
            tokio::spawn(async move { agent.post("/v1/messages", body).await })
        };
        let first = ask("first");
        team.world.wait_for_calls(&account, 3 * n as u64 + 1).await;
        let second = ask("second");
        team.world.wait_for_waiting(1).await;
        gate.open();
        for asking in [first, second] {
            assert_eq!(who(&asking.await.expect("an answer")), 0, "{model}");
        }
        let calls: Vec<String> =
            team.world.calls(&account)[3 * n..].iter().map(|call| call.json().to_string()).collect();
        let names: Vec<bool> = calls.iter().map(|call| call.contains("first")).collect();
        assert_eq!(names, [true, true, false], "{model}: {calls:?}");
    }
    team.world.settle().await;
    assert_eq!(team.world.in_flight(), 0, "its places are given back");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_request_that_is_sent_once_more_after_a_pause_keeps_its_place_over_it() {
    let team = Team::start().await;
    let account = &team.accounts[0];
    let specific = json!({ "disableCooling": true, "baseUrl": team.world.upstream.base_url(Dialect::Chat) });
    team.world.change(account, json!({ "maxConcurrent": 1, "providerSpecificData": specific })).await;
    team.combo("alone", "priority", json!(["openai/m1"]), json!({})).await;
    let hedging = json!({ "zeroLatencyOptimizationsEnabled": true, "hedging": true });
    team.combo("hedged", "priority", json!(["openai/m1"]), hedging).await;
    for (n, name) in ["alone", "hedged"].into_iter().enumerate() {
        let gate = Gate::closed();
        let answer = Step::ok("from 0").held(&gate);
        team.world.script(account).then(Step::error(500, "not now")).then(answer.clone()).then(answer);
        let ask = || {
            let agent = team.world.agent();
            tokio::spawn(async move { agent.post("/v1/chat/completions", chat_body(name, false)).await })
        };
        let first = ask();
        let calls = 3 * n as u64;
        team.world.wait_for_endings(account, calls + 1).await;
        let second = ask();
        team.world.wait_for_waiting(1).await;
        assert_eq!(team.calls()[0] as u64, calls + 1, "{name}: nobody takes the place of whoever pauses");
        team.world.advance(Millis::seconds(2));
        team.world.wait_for_calls(account, calls + 2).await;
        assert_eq!(team.world.picture().waiting, 1, "{name}");
        gate.open();
        for asking in [first, second] {
            assert_eq!(who(&asking.await.expect("an answer")), 0, "{name}");
        }
    }
    team.world.settle().await;
    assert_eq!(team.world.in_flight(), 0, "its places are given back");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_place_that_was_kept_is_free_once_the_request_goes_elsewhere_or_its_client_leaves() {
    let team = Team::start().await;
    let account = &team.accounts[0];
    let specific = json!({ "disableCooling": true, "baseUrl": team.world.upstream.base_url(Dialect::Chat) });
    team.world.change(account, json!({ "maxConcurrent": 1, "providerSpecificData": specific })).await;
    let config = json!({ "disableSessionStickiness": true, "failoverBeforeRetry": false });
    team.combo("two", "priority", json!(["openai/m1", "deepseek/m1"]), config).await;
    team.world.script(account).times(2, Step::error(500, "not now")).then(Step::ok("from 0"));
    let ask = |model: &'static str| {
        let agent = team.world.agent();
        tokio::spawn(async move { agent.post("/v1/chat/completions", chat_body(model, false)).await })
    };
    let elsewhere = ask("two");
    team.world.wait_for_endings(account, 1).await;
    let waiting = ask("openai/m1");
    team.world.wait_for_waiting(1).await;
    team.world.advance(Millis::seconds(2));
    team.world.wait_for_endings(account, 2).await;
    assert_eq!(who(&waiting.await.expect("an answer")), 0, "its turn has come");
    team.world.advance(Millis::seconds(2));
    assert_eq!(who(&elsewhere.await.expect("an answer")), 1);

    team.world.script(account).then(Step::error(500, "not now")).then(Step::ok("from 0"));
    let leaves = ask("two");
    team.world.wait_for_endings(account, 4).await;
    let waiting = ask("openai/m1");
    team.world.wait_for_waiting(1).await;
    leaves.abort();
    assert_eq!(who(&waiting.await.expect("an answer")), 0, "the place is the next one's");
    team.world.settle().await;
    assert_eq!(team.world.in_flight(), 0);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn whoever_is_to_be_asked_once_more_is_waited_for_when_its_queue_lets_nobody_through_just_now() {
    let team = Team::start().await;
    let account = team.world.connect("anthropic", "d").await;
    let specific = json!({ "disableCooling": true, "baseUrl": team.world.upstream.base_url(Dialect::Messages) });
    let spaced = json!({ "rateLimitOverrides": { "minTime": 5_000 }, "providerSpecificData": specific });
    team.world.change(&account, spaced).await;
    team.combo("alone", "priority", json!(["anthropic/m1"]), json!({ "retryDelayMs": 2_000 })).await;
    let before = json!({ "failoverBeforeRetry": false, "retryDelayMs": 0 });
    team.combo("two", "priority", json!(["anthropic/m1", "openai/m1"]), before).await;
    let hedging = json!({ "zeroLatencyOptimizationsEnabled": true, "hedging": true, "retryDelayMs": 2_000 });
    team.combo("hedged", "priority", json!(["anthropic/m1"]), hedging).await;
    team.world.script(&team.accounts[0]).then(Step::error(500, "it does not work"));
    let signature = || Step::error(400, "messages.1.content.0: Invalid `signature` in `thinking` block");
    let unwell = || Step::error(500, "not now");
    for (n, (model, refusal)) in
        [("anthropic/m1", signature()), ("alone", unwell()), ("two", unwell()), ("hedged", unwell())]
            .into_iter()
            .enumerate()
    {
        team.world.script(&account).then(refusal).then(Step::ok("from 0"));
        let agent = team.world.agent();
        let asking = tokio::spawn(async move { agent.post("/v1/messages", thoughtful(model, "first")).await });
        let calls = 2 * n as u64;
        team.world.wait_for_endings(&account, calls + 1).await;
        if matches!(model, "alone" | "hedged") {
            team.world.wait_for_attempts_to_end().await;
            team.world.advance(Millis::seconds(2));
        }
        team.world.wait_for_waiting(1).await;
        assert_eq!(team.world.calls(&account).len() as u64, calls + 1, "{model}: its queue spaces them");
        team.world.advance(Millis::seconds(5));
        assert_eq!(who(&asking.await.expect("an answer")), 0, "{model}");
        assert_eq!(team.world.calls(&account).len() as u64, calls + 2, "{model}");
        team.world.advance(Millis::seconds(5));
    }
    assert_eq!(team.calls()[0], 1, "the other one was asked meanwhile");
    team.world.check_invariants().await;
}
