//! A stream that was opened early, because its client would have given up, and then failed: what the whole answer would have
//! said is said in it (gateway specification, 1.8 and 1.9).

use acceptance::{Ask, Connection, World, parse_sse};
use domain::{Dialect, Millis};
use fake_upstream::{Gate, Step};
use http::Method;
use serde_json::{Value, json};

/// Longer than any dialect waits before a stream is opened early.
const OPENED: Millis = Millis::seconds(16);

/// How a client asks, and what goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Story {
    /// Both accounts announce a limit.
    Direct,
    /// The provider refuses the request itself.
    Refused,
    /// The same two accounts as the targets of a combo.
    Combo,
}

struct Told {
    /// `Retry-After` of the whole answer.
    retry_after: Option<String>,
    text: String,
    row: Value,
}

/// The same story in a world of its own: told in a stream that was opened early, or whole.
async fn told(dialect: Dialect, story: Story, early: bool) -> Told {
    let world = World::start().await;
    if !early {
        world
            .set(json!({"gateway": {"keepAliveAfterMs": {"messages": 0, "responses": 0, "chat": 0, "gemini": 0}}}))
            .await;
    }
    let provider = Ask::new(dialect, true).provider;
    let (first, second) = (world.connect(provider, "a").await, world.connect(provider, "b").await);
    let late = Gate::closed();
    let limit = |seconds| Step::error(429, "slow down").with_header("retry-after", seconds);
    let refusal = match story {
        Story::Direct | Story::Combo => limit("42"),
        Story::Refused => Step::error(400, "the request is odd").with_code("odd_request"),
    };
    world.script(&first).then(refusal.held(&late));
    world.script(&second).then(limit("60"));
    if story == Story::Combo {
        let step = |connection: &Connection| json!({"model": format!("{provider}/m1"), "connectionId": connection.id});
        let models = json!([step(&first), step(&second)]);
        let combo = json!({"name": "team", "strategy": "priority", "models": models, "config": {"maxRetries": 0}});
        world.managed(Method::POST, "/api/combos", Some(combo)).await;
    }
    let mut ask = Ask::new(dialect, true);
    if story == Story::Combo {
        let named = |text: &str| text.replace(&format!("{provider}/m1"), "team");
        ask = Ask { path: named(&ask.path), body: named(&ask.body), ..ask };
    }
    let agent = world.agent();
    let asking = tokio::spawn(async move { agent.stream(&ask.path, ask.body).await });
    world.wait_for_calls(&first, 1).await;
    world.advance(OPENED);
    let asking = if early {
        let mut reply = asking.await.expect("a head");
        assert_eq!(reply.status, 200, "{dialect} {story:?}");
        reply.next().await.expect("a sign of life");
        tokio::spawn(async move { reply })
    } else {
        asking
    };
    late.open();
    let reply = asking.await.expect("a head").rest().await;
    assert_eq!(reply.status == 200, early, "{dialect} {story:?}: {}", reply.text());
    let told = Told {
        retry_after: reply.header("retry-after").map(str::to_owned),
        text: reply.text().to_owned(),
        row: world.last_request().await,
    };
    world.check_invariants().await;
    told
}

/// The error that the last event of a stream tells.
fn last_error(dialect: Dialect, text: &str) -> Value {
    let last = parse_sse(text).pop().unwrap_or_else(|| panic!("{dialect}: {text}"));
    let data: Value = serde_json::from_str(&last.data).expect("JSON");
    let expected = match dialect {
        Dialect::Chat | Dialect::Gemini => None,
        Dialect::Messages => Some("error"),
        Dialect::Responses => Some("response.failed"),
    };
    assert_eq!(last.event.as_deref(), expected, "{dialect}: {text}");
    match dialect {
        Dialect::Responses => data["response"]["error"].clone(),
        Dialect::Chat | Dialect::Messages | Dialect::Gemini => data,
    }
}

#[tokio::test]
async fn a_stream_that_was_opened_early_fails_with_all_that_the_whole_answer_would_have_said() {
    for dialect in Dialect::ALL {
        for story in [Story::Direct, Story::Refused, Story::Combo] {
            let case = format!("{dialect} {story:?}");
            let (whole, early) = (told(dialect, story, false).await, told(dialect, story, true).await);
            let mut expected: Value = serde_json::from_str(&whole.text).expect("JSON");
            let mut heard = last_error(dialect, &early.text);
            let wait: Option<u64> = whole.retry_after.as_deref().map(|wait| wait.parse().expect("seconds"));
            assert_eq!(wait, (story != Story::Refused).then_some(42), "{case}");
            // What stands in the head of the whole answer has no other place than the error.
            match (dialect, wait) {
                (Dialect::Gemini, Some(wait)) => {
                    assert!(heard.to_string().contains(&format!("\"{wait}s\"")), "{case}: {heard}")
                }
                (Dialect::Responses, Some(wait)) => assert_eq!(heard["retry_after"], wait, "{case}: {heard}"),
                (Dialect::Chat | Dialect::Messages, Some(wait)) => {
                    assert_eq!(heard["error"]["retry_after"], wait, "{case}: {heard}");
                }
                (_, None) => {}
            }
            if dialect == Dialect::Responses {
                // A failed answer has no room for OpenAI's type of the error, and none for what stands beside it.
                expected = expected["error"].clone();
                for (member, value) in expected.as_object().expect("an object") {
                    let told = matches!(member.as_str(), "type" | "param") || heard[member] == *value;
                    assert!(told || value.is_null(), "{case}: {member} of {expected}, heard {heard}");
                }
            } else {
                for each in [&mut expected, &mut heard] {
                    without_name_and_wait(each);
                }
                assert_eq!(heard, expected, "{case}");
            }
            assert_eq!(early.row["errorCode"], whole.row["errorCode"], "{case}");
            let diagnosed = heard.to_string().contains("\"poolSize\":2");
            let has_room = dialect != Dialect::Gemini;
            assert_eq!(diagnosed, story == Story::Combo && has_room, "{case}: {heard}");
        }
    }
}

/// Every request has an id of its own; the wait was looked at before.
fn without_name_and_wait(error: &mut Value) {
    error.as_object_mut().expect("an object").shift_remove("request_id");
    let inner = error["error"].as_object_mut().expect("an error");
    inner.shift_remove("retry_after");
    if let Some(details) = inner.get_mut("details").and_then(Value::as_array_mut) {
        details.retain(|detail| !detail["@type"].as_str().is_some_and(|kind| kind.ends_with("RetryInfo")));
    }
    if inner.get("details").is_some_and(|details| *details == json!([])) {
        inner.shift_remove("details");
    }
}
