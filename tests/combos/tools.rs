//! Providers that refuse long lists of tools (resilience specification, 21.3; specification's decisions 5 and 31).

use acceptance::Reply;
use domain::Millis;
use fake_upstream::Step;
use serde_json::{Value, json};

use crate::team::{Team, models, who};

const REFUSAL: &str = "Invalid 'tools': maximum number of tools is 64";

/// Asks with so many tools.
pub(crate) async fn ask(team: &Team, model: &str, tools: usize) -> Reply {
    let tools: Vec<Value> = (0..tools)
        .map(|n| json!({ "type": "function", "function": { "name": format!("t{n}"), "parameters": { "type": "object" } } }))
        .collect();
    let body = json!({ "model": model, "messages": [{ "role": "user", "content": "Say hello." }], "tools": tools });
    team.world.agent().post("/v1/chat/completions", body.to_string()).await
}

fn refuses(team: &Team, account: usize, words: &str) {
    let answer = Step::ok(format!("from {account}"));
    team.world.script(&team.accounts[account]).then(Step::error(400, words)).then(answer);
}

#[tokio::test]
async fn a_combo_passes_by_who_named_a_limit_of_tools_until_a_day_is_over() {
    // OF-02
    let team = Team::start().await;
    team.three("priority").await;
    assert_eq!(who(&ask(&team, "team", 200).await), 0, "nothing is assumed");
    refuses(&team, 0, REFUSAL);
    assert_eq!(who(&ask(&team, "team", 65).await), 1);
    assert_eq!(who(&ask(&team, "team", 65).await), 1);
    assert_eq!(team.calls()[0], 2, "the second list of 65 is not shown to it");
    assert_eq!(who(&ask(&team, "team", 64).await), 0);
    team.world.advance(Millis::hours(24));
    assert_eq!(who(&ask(&team, "team", 65).await), 0);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_later_higher_limit_does_not_raise_a_known_one() {
    // OF-02
    let team = Team::start().await;
    refuses(&team, 0, REFUSAL);
    assert_eq!(ask(&team, "openai/m1", 65).await.status, 400);
    refuses(&team, 0, "Too many tools: maximum is 128");
    assert_eq!(ask(&team, "openai/m1", 10).await.status, 400, "it may say so of any list");
    let reply = ask(&team, "openai/m1", 65).await;
    assert!(reply.error_message().contains("at most 64"), "{}", reply.text());
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_request_that_names_one_model_learns_the_limit_and_is_told_it() {
    // OF-02
    let team = Team::start().await;
    let second = team.world.connect("openai", "d").await;
    refuses(&team, 0, REFUSAL);
    for calls in [1, 1] {
        let reply = ask(&team, "openai/m1", 65).await;
        assert_eq!(reply.status, 400, "{}", reply.text());
        assert_eq!(reply.json()["error"]["code"], "tool_limit_exceeded");
        let message = reply.error_message();
        assert!(message.contains("65 tools") && message.contains("at most 64"), "{message}");
        assert_eq!(team.calls()[0], calls, "what is known to be refused is not sent");
        assert!(team.world.calls(&second).is_empty(), "the limit is the provider's, not the account's");
    }
    let row = team.world.last_request().await;
    assert_eq!(row["errorCode"], "tool_limit_exceeded", "{row}");
    assert_eq!(row["trace"]["exclusions"][0]["reason"], "tool_limit", "{row}");
    assert_eq!(who(&ask(&team, "openai/m1", 64).await), 0);
    assert_eq!(team.world.cooling(&team.accounts[0]), None);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_list_that_every_target_refuses_is_a_400_that_names_the_highest_limit() {
    // OF-02
    let team = Team::start().await;
    team.combo("team", "priority", models(), json!({})).await;
    for (account, limit) in [32, 64, 48].into_iter().enumerate() {
        refuses(&team, account, &format!("too many tools, at most {limit}"));
    }
    for calls in [[1, 1, 1], [1, 1, 1]] {
        let reply = ask(&team, "team", 65).await;
        assert_eq!(reply.status, 400, "{}", reply.text());
        assert_eq!(reply.json()["error"]["code"], "tool_limit_exceeded", "{}", reply.text());
        let message = reply.error_message();
        assert!(message.contains("65 tools") && message.contains("more than 64"), "{message}");
        assert_eq!(team.calls(), calls);
    }
    team.world.check_invariants().await;
}

#[tokio::test]
async fn where_its_owner_allows_it_a_list_is_cut_to_what_the_provider_takes() {
    // OF-02, OF-03, specification's decision 5: never without saying so
    let team = Team::start().await;
    team.three("priority").await;
    team.world.set(json!({ "translation": { "toolLimitTruncate": true } })).await;
    for (name, calls) in [("openai/m1", 2), ("team", 3)] {
        if name == "openai/m1" {
            refuses(&team, 0, REFUSAL);
        }
        let reply = ask(&team, name, 65).await;
        assert_eq!(who(&reply), 0);
        assert_eq!(reply.header("x-omniroute-warnings"), Some("TRUNCATED_TOOLS:64"));
        let sent = team.world.calls(&team.accounts[0]);
        assert_eq!(sent.len(), calls);
        let tools = sent.last().expect("a call").json()["tools"].as_array().expect("tools").clone();
        assert_eq!((tools.len(), &tools[63]["function"]["name"]), (64, &json!("t63")));
    }
    // Once for each target: who names a limit and refuses all the same is passed by.
    team.world.script(&team.accounts[0]).then(Step::error(400, "too many tools, at most 10"));
    assert_eq!(who(&ask(&team, "team", 65).await), 1);
    assert_eq!(team.calls(), [5, 1, 0]);
    team.world.check_invariants().await;
}
