//! A Gemini stream without `alt=sse` is one JSON array, however it ends (gateway specification, 1.2 and 1.9).

use acceptance::{beginning, error_event};
use domain::Dialect;
use fake_upstream::{Break, Step};
use http::HeaderMap;
use serde_json::{Value, json};

use crate::world::{DIALECTS, Upstreams};

async fn array(upstreams: &Upstreams, upstream: Dialect, step: Step) -> Vec<Value> {
    upstreams.world.script_model(upstreams.of(upstream), "m1").then(step);
    let ask = Upstreams::ask(Dialect::Gemini, upstream, true);
    let reply = upstreams.world.agent().post(&ask.path.replace("?alt=sse", ""), ask.body).await;
    assert_eq!(reply.status, 200, "{upstream}: {}", reply.text());
    upstreams.world.reset(upstreams.of(upstream)).await;
    let json = reply.json();
    json.as_array().unwrap_or_else(|| panic!("{upstream}: {json}")).clone()
}

/// What an upstream of the dialect that writes arrays itself sends.
fn sent_as_array(body: &str, how: Option<Break>) -> Step {
    let step = Step::raw(200, HeaderMap::new(), body.to_owned()).with_header("content-type", "application/json");
    match how {
        Some(how) => step.broken(body.len().saturating_sub(1), how),
        None => step,
    }
}

#[tokio::test]
async fn what_fails_after_some_text_is_the_last_element() {
    let upstreams = Upstreams::start().await;
    for upstream in DIALECTS {
        let begun = beginning(upstream);
        let told = format!("{begun}{}", error_event(upstream, "the model fell over"));
        for (name, step) in [
            ("told", Step::sse([told])),
            ("cut", Step::sse([begun])),
            ("broken", Step::sse([begun]).broken(usize::MAX, Break::Close)),
        ] {
            let elements = array(&upstreams, upstream, step).await;
            let case = format!("{name}, {upstream}: {elements:?}");
            let last = elements.last().expect("an element");
            assert_eq!(elements[0]["candidates"][0]["content"]["parts"][0]["text"], "Once upon", "{case}");
            assert!(last["error"]["code"].is_u64() && last["error"]["status"].is_string(), "{case}");
            assert_eq!(upstreams.world.last_request().await["outcome"], "failure", "{case}");
        }
    }
}

#[tokio::test]
async fn an_array_of_the_upstreams_own_stays_one_too() {
    const BEGUN: &str = r#"[{"candidates":[{"content":{"parts":[{"text":"Once upon"}]}}]}"#;
    const ENDED: &str = r#"{"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}]}"#;
    let upstreams = Upstreams::start().await;
    let error = json!({ "error": { "code": 503, "message": "Overloaded", "status": "UNAVAILABLE" } });
    for (name, body, how, fails) in [
        ("whole", format!("{BEGUN}\n,\r\n{ENDED}\n]\n"), None, false),
        ("never closed", format!("{BEGUN},{ENDED}"), None, false),
        ("told", format!("{BEGUN},{error}]"), None, true),
        ("told and never closed", format!("{BEGUN},{error}"), None, true),
        ("closed without a reason", format!("{BEGUN}]"), None, true),
        ("cut", BEGUN.to_owned(), None, true),
        ("cut in an element", format!("{BEGUN},{{\"candi"), None, true),
        ("broken", format!("{BEGUN} "), Some(Break::Close), true),
    ] {
        let elements = array(&upstreams, Dialect::Gemini, sent_as_array(&body, how)).await;
        let last = elements.last().expect("an element");
        assert_eq!(last["error"].is_object(), fails, "{name}: {elements:?}");
        assert_eq!(elements.len(), 2, "{name}: {elements:?}");
    }
}
