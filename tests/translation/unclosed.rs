//! Answers that have ended in streams that have not: the upstream says that nothing follows and leaves its stream open, or
//! closes it without a word (gateway specification, 1.9 and 2.13).

use acceptance::{beginning, ending};
use domain::{Dialect, Millis};
use fake_upstream::{Break, Gate, Pause, Step};
use http::Method;
use serde_json::json;

use crate::world::{DIALECTS, Upstreams, heard, text};

/// An answer that is told to its end, in a stream that stays open.
fn left_open(dialect: Dialect) -> Step {
    Step::sse([beginning(dialect), ending(dialect)]).broken(usize::MAX, Break::Stall)
}

/// The last that a client hears of an answer.
fn last_word(client: Dialect) -> &'static str {
    match client {
        Dialect::Chat => "[DONE]",
        Dialect::Responses => "response.completed",
        Dialect::Messages => "message_stop",
        Dialect::Gemini => "\"finishReason\"",
    }
}

/// Whether the dialect says that nothing follows.
fn has_marker(upstream: Dialect) -> bool {
    upstream != Dialect::Gemini
}

async fn pass_the_grace(upstreams: &Upstreams) {
    loop {
        upstreams.world.advance(Millis::new(100));
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_answer_is_over_when_its_upstream_says_so_and_not_when_that_closes() {
    let upstreams = Upstreams::start().await;
    for client in DIALECTS {
        for upstream in DIALECTS {
            let case = format!("{client} over {upstream}");
            upstreams.world.script_model(upstreams.of(upstream), "m1").then(left_open(upstream));
            let ask = Upstreams::ask(client, upstream, true);
            let mut reply = upstreams.world.agent().stream(&ask.path, ask.body).await;
            if has_marker(upstream) || client == upstream {
                reply.until(last_word(client)).await;
            } else {
                tokio::select! {
                    _ = reply.until(last_word(client)) => {}
                    () = pass_the_grace(&upstreams) => unreachable!("endless"),
                }
            }
            if has_marker(upstream) {
                assert_eq!(upstreams.world.last_request().await["outcome"], "success", "{case}");
                assert_eq!(upstreams.world.in_flight(), 0, "{case}");
            }
            let rest = tokio::select! {
                rest = reply.rest() => rest,
                () = pass_the_grace(&upstreams) => unreachable!("endless"),
            };
            assert!(!rest.text().contains("error"), "{case}: {}", rest.text());
            assert_eq!(upstreams.world.last_request().await["outcome"], "success", "{case}");
            let shown = upstreams.world.connection(upstreams.of(upstream)).await;
            assert!(shown["lastError"].is_null(), "{case}: {shown}");
        }
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn a_client_that_wants_a_body_has_it_as_soon_as_the_answer_is_over() {
    let upstreams = Upstreams::start().await;
    for client in DIALECTS {
        for upstream in DIALECTS {
            upstreams.world.script_model(upstreams.of(upstream), "m1").then(left_open(upstream));
            let ask = Upstreams::ask(client, upstream, false);
            let reply = if has_marker(upstream) {
                upstreams.post(&ask).await
            } else {
                tokio::select! {
                    reply = upstreams.post(&ask) => reply,
                    () = pass_the_grace(&upstreams) => unreachable!("endless"),
                }
            };
            assert_eq!(text(&heard(client, &reply, false)), "Once upon", "{client} over {upstream}");
            assert_eq!(upstreams.world.in_flight(), 0, "{client} over {upstream}");
        }
    }
    for dialect in DIALECTS {
        let shown = upstreams.world.connection(upstreams.of(dialect)).await;
        assert!(shown["lastError"].is_null(), "{dialect}: {shown}");
    }
}

#[tokio::test]
async fn an_answer_that_is_over_gives_its_place_to_the_next() {
    let upstreams = Upstreams::start().await;
    let account = upstreams.of(Dialect::Chat);
    let one = Some(json!({ "maxConcurrent": 1 }));
    upstreams.world.managed(Method::PATCH, &format!("/api/providers/{}", account.id), one).await;
    upstreams.world.script_model(account, "m1").then(left_open(Dialect::Chat)).then(Step::ok("next"));
    let ask = Upstreams::ask(Dialect::Messages, Dialect::Chat, true);
    let mut first = upstreams.world.agent().stream(&ask.path, ask.body.clone()).await;
    first.until("message_stop").await;
    let reply = upstreams.post(&ask).await;
    assert_eq!(text(&heard(Dialect::Messages, &reply, true)), "next");
}

#[tokio::test]
async fn counts_that_follow_the_end_within_the_grace_are_told() {
    const COUNTS: &str =
        "data: {\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":5}}\n\n";
    let upstreams = Upstreams::start().await;
    let end = ending(Dialect::Chat).replace("data: [DONE]\n\n", "");
    let stream = Step::sse([format!("{}{end}{COUNTS}", beginning(Dialect::Chat))]).broken(usize::MAX, Break::Stall);
    upstreams.world.script_model(upstreams.of(Dialect::Chat), "m1").then(stream);
    let ask = Upstreams::ask(Dialect::Messages, Dialect::Chat, true);
    let reply = tokio::select! {
        reply = upstreams.post(&ask) => reply,
        () = async {
            upstreams.world.wait_for_calls(upstreams.of(Dialect::Chat), 1).await;
            pass_the_grace(&upstreams).await;
        } => unreachable!("endless"),
    };
    assert_eq!(heard(Dialect::Messages, &reply, true).usage.output, Some(5), "{}", reply.text());
}

#[tokio::test]
async fn an_end_marker_that_the_upstream_leaves_out_is_added() {
    let upstreams = Upstreams::start().await;
    for dialect in DIALECTS {
        let marker = dialects::end_marker(dialect);
        let end = ending(dialect).strip_suffix(marker).expect("an end marker");
        let without = format!("{}{end}", beginning(dialect));
        let whole = format!("{without}{marker}");
        for step in [Step::sse([without.clone()]), Step::sse([without.clone()]).broken(usize::MAX, Break::Close)] {
            upstreams.world.script_model(upstreams.of(dialect), "m1").then(step);
            let reply = upstreams.post(&Upstreams::ask(dialect, dialect, true)).await;
            assert_eq!(reply.text(), whole, "{dialect}");
        }
        // The last frame may lack its own end too.
        upstreams.world.script_model(upstreams.of(dialect), "m1").then(Step::sse([without.trim_end().to_owned()]));
        let reply = upstreams.post(&Upstreams::ask(dialect, dialect, true)).await;
        assert_eq!(text(&heard(dialect, &reply, true)), "Once upon", "{dialect}: {}", reply.text());
        assert!(reply.text().ends_with(marker), "{dialect}: {}", reply.text());
    }
}

/// Of several answers side by side one ends first: the others still have all the time they need.
#[tokio::test]
async fn answers_side_by_side_are_over_with_the_last_of_them() {
    let upstreams = Upstreams::start().await;
    let piece = |index: u32, text: &str, end: &str| {
        format!(
            "data: {{\"id\":\"c\",\"choices\":[{{\"index\":{index},\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":{end}}}]}}\n\n"
        )
    };
    let stream = [piece(0, "a", "null"), piece(1, "b", "null"), piece(0, "", "\"stop\"")].concat();
    let gate = Gate::closed();
    let last = piece(1, "c", "\"stop\"") + "data: [DONE]\n\n";
    let step = Step::paced([(stream, Pause::None), (last, Pause::from(&gate))]);
    upstreams.world.script_model(upstreams.of(Dialect::Chat), "m1").then(step);
    let ask = Upstreams::ask(Dialect::Chat, Dialect::Chat, true);
    let mut reply = upstreams.world.agent().stream(&ask.path, ask.body).await;
    reply.until("\"stop\"").await;
    upstreams.world.advance(Millis::seconds(30));
    gate.open();
    let rest = reply.rest().await;
    assert!(rest.text().contains("\"c\"") && rest.text().ends_with("data: [DONE]\n\n"), "{}", rest.text());
}
