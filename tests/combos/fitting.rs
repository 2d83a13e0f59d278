//! Who can serve a request at all: capabilities, windows, tags, patterns (gateway specification, 3.1 and 3.3).

use acceptance::Reply;
use fake_upstream::Step;
use serde_json::{Value, json};

use crate::team::{Team, who};

async fn ask(team: &Team, name: &str, content: &str, more: Value) -> Reply {
    let mut body = json!({ "model": name, "messages": [{ "role": "user", "content": content }] });
    for (member, value) in more.as_object().expect("members") {
        body[member] = value.clone();
    }
    team.world.agent().post("/v1/chat/completions", body.to_string()).await
}

/// About 200 000 tokens.
fn long_text() -> String {
    "many words ".repeat(80_000)
}

#[tokio::test]
async fn a_request_with_tools_goes_to_a_model_that_takes_tools() {
    let team = Team::start().await;
    let nvidia = team.world.connect("nvidia", "d").await;
    team.world.script(&nvidia).then(Step::ok("from the toolless"));
    let steps = json!(["nvidia/openai/gpt-oss-120b", "openai/m1"]);
    team.combo("handy", "priority", steps, json!({})).await;
    let function = json!({ "name": "look", "parameters": { "type": "object", "properties": {} } });
    let tools = json!({ "tools": [{ "type": "function", "function": function }] });
    assert_eq!(who(&ask(&team, "handy", "Look.", tools).await), 0);
    assert!(ask(&team, "handy", "Look.", json!({})).await.text().contains("toolless"));
    assert_eq!((team.calls()[0], team.world.calls(&nvidia).len()), (1, 1));
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_long_prompt_goes_to_a_window_that_holds_it_and_is_refused_where_there_is_none() {
    let team = Team::start().await;
    let (small, large) = ("openai/gpt-4o", "deepseek/deepseek-v4-pro");
    team.combo("both", "priority", json!([small, large]), json!({})).await;
    team.combo("small", "priority", json!([small]), json!({})).await;
    team.combo("open", "priority", json!([small]), json!({ "compatFilterFailOpen": true })).await;
    assert_eq!(who(&ask(&team, "both", "Say hello.", json!({})).await), 0);
    assert_eq!(who(&ask(&team, "both", &long_text(), json!({})).await), 1);
    assert_eq!(team.calls(), [1, 1, 0]);
    let reply = ask(&team, "small", &long_text(), json!({})).await;
    assert_eq!((reply.status.as_u16(), reply.error_word().as_str()), (400, "capability_mismatch"), "{}", reply.text());
    assert!(reply.error_message().contains("context_window"), "{}", reply.text());
    assert_eq!(team.calls(), [1, 1, 0], "nobody was asked");
    assert_eq!(who(&ask(&team, "open", &long_text(), json!({})).await), 0, "unless the combo would rather try");
    // What is wanted of the answer counts with the prompt.
    assert_eq!(who(&ask(&team, "both", "Say hello.", json!({ "max_tokens": 100_000 })).await), 1);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_combo_that_requires_a_window_passes_smaller_ones_by_and_a_lenient_one_takes_what_there_is() {
    let team = Team::start().await;
    let requires = |mode: &str| json!({ "contextRequirements": { "minContextWindow": 500_000, "mode": mode } });
    let (small, large) = ("openai/gpt-4o", "deepseek/deepseek-v4-pro");
    team.combo("both", "priority", json!([small, large]), requires("lenient")).await;
    team.combo("lenient", "priority", json!([small]), requires("lenient")).await;
    team.combo("strict", "priority", json!([small]), requires("strict")).await;
    team.combo("unknown", "priority", json!(["openai/m1"]), requires("strict")).await;
    assert_eq!(who(&team.ask("both").await), 1);
    assert_eq!(who(&team.ask("lenient").await), 0);
    assert_eq!(who(&team.ask("unknown").await), 0, "an unknown window may be large enough");
    let reply = team.ask("strict").await;
    assert_eq!(reply.status, 404, "{}", reply.text());
    let body = reply.json();
    assert_eq!(body["error"]["code"], "context_requirements_exhausted");
    assert_eq!(body["diagnostics"]["excluded"][0]["reason"], "context_requirements", "{body}");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_tag_in_the_request_chooses_among_the_steps_and_one_that_nobody_has_chooses_nobody() {
    let team = Team::start().await;
    let tagged = |model: &str, tag: &str| json!({ "model": model, "tags": [tag] });
    let steps = json!([tagged("openai/m1", "quick"), tagged("deepseek/m1", "deep"), "groq/m1"]);
    team.combo("tagged", "priority", steps, json!({ "maxRetries": 0 })).await;
    let with = async |tags: &str| ask(&team, "tagged", "Think.", json!({ "metadata": { "tags": tags } })).await;
    assert_eq!(who(&with("deep").await), 1);
    assert_eq!(who(&with("other, deep").await), 1);
    assert_eq!(who(&with("quick,deep").await), 0);
    assert_eq!(who(&with("unheard").await), 0, "everybody takes part");
    team.fails(1, 500);
    assert_eq!(with("deep").await.status, 500);
    assert_eq!(team.calls()[2], 0, "who lacks the tag is no way out");
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_pattern_stands_for_every_model_of_the_catalogue_that_fits_it_in_its_order() {
    let team = Team::start().await;
    let account = &team.accounts[0];
    team.world.script_model(account, "gpt-5-mini").then(Step::error(404, "there is no such model"));
    team.world.script_model(account, "gpt-5-nano").then(Step::ok("from 0, the nano"));
    team.combo("pattern", "priority", json!(["openai/gpt-5-*", "deepseek/m1"]), json!({ "maxRetries": 0 })).await;
    let reply = team.ask("pattern").await;
    assert_eq!(who(&reply), 0);
    assert_eq!(reply.header("x-omniroute-model"), Some("gpt-5-nano"));
    let asked: Vec<Option<String>> = team.world.calls(account).into_iter().map(|call| call.model).collect();
    assert_eq!(asked, [Some("gpt-5-mini".to_owned()), Some("gpt-5-nano".to_owned())]);
    team.combo("nobody", "priority", json!(["openai/no-such-*", "deepseek/m1"]), json!({})).await;
    assert_eq!(who(&team.ask("nobody").await), 1);
    team.world.check_invariants().await;
}

/// A conversation that began with these words and is long by now, with `odd` in its middle.
fn long_conversation(beginning: &str, odd: &Value) -> Value {
    let mut messages = vec![json!({ "role": "user", "content": beginning })];
    for n in 0..60 {
        messages.push(json!({ "role": "assistant", "content": "An answer of many words. ".repeat(60) }));
        messages.push(if n == 30 { odd.clone() } else { json!({ "role": "user", "content": "Go on." }) });
    }
    json!({ "messages": messages })
}

#[tokio::test]
async fn a_picture_in_the_middle_of_a_long_conversation_is_seen() {
    let team = Team::start().await;
    team.combo("eyes", "priority", json!(["deepseek/deepseek-v4-pro", "openai/gpt-4o"]), json!({})).await;
    let words = long_conversation("Look at this.", &json!({ "role": "user", "content": "an \"image\" in words" }));
    assert_eq!(who(&ask(&team, "eyes", "", words).await), 1);
    let picture = json!({ "type": "image_url", "image_url": { "url": "https://pictures.example/a.png" } });
    let seen = long_conversation("Look at this.", &json!({ "role": "user", "content": [picture] }));
    assert_eq!(who(&ask(&team, "eyes", "", seen).await), 0);
    team.world.check_invariants().await;
}

#[tokio::test]
async fn a_conversation_is_the_same_when_it_has_become_long() {
    let team = Team::start().await;
    let steps = json!(["openai/m1", "deepseek/m1"].map(|model| json!({ "model": model, "weight": 1 })));
    team.combo("even", "weighted", steps, json!({})).await;
    let mut seen = [false; 2];
    for n in 0..16 {
        let beginning = format!("Conversation {n}.");
        let first = who(&ask(&team, "even", &beginning, json!({})).await);
        seen[first] = true;
        let grown = long_conversation(&beginning, &json!({ "role": "user", "content": "Go on." }));
        assert_eq!(who(&ask(&team, "even", "", grown).await), first, "{beginning}");
    }
    assert_eq!(seen, [true; 2]);
    team.world.check_invariants().await;
}
