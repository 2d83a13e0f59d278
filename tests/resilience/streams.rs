//! Errors inside a 200 (specification's decision 15), before and after the first word of the answer (scenarios ST-25,
//! ST-26 and handed cases).

use acceptance::{Ask, Connection, Reply, World, beginning, opening, parse_sse};
use domain::{Dialect, Millis};
use fake_upstream::{Break, Step};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::cast::{DIALECTS, post, start};

/// Lets the clock run until a reply has come.
pub(crate) async fn while_time_passes(world: &World, mut asking: JoinHandle<Reply>) -> Reply {
    tokio::select! {
        reply = &mut asking => reply.expect("a reply"),
        () = async { loop { world.advance(Millis::seconds(10)); tokio::task::yield_now().await; } } => panic!("endless"),
    }
}

/// Lets the clock run until an account is given up, and then no longer: the next one gets its own time.
pub(crate) async fn until_given_up(world: &World, first: &Connection, asking: JoinHandle<Reply>) -> Reply {
    let given_up = || {
        let is_given_up = world.health(first).last_error.is_some();
        if !is_given_up {
            world.advance(Millis::seconds(5));
        }
        is_given_up
    };
    acceptance::until("the end of the first one's patience", given_up).await;
    asking.await.expect("a reply")
}

/// An error event in the dialect's words: overloaded, or out of quota.
fn error_event(dialect: Dialect, quota: bool) -> String {
    let (code, message) = if quota {
        ("insufficient_quota", "You have no quota left")
    } else {
        ("overloaded_error", "the model is overloaded")
    };
    match dialect {
        Dialect::Chat => {
            format!("data: {{\"error\":{{\"message\":\"{message}\",\"type\":\"{code}\",\"code\":\"{code}\"}}}}\n\n")
        }
        Dialect::Responses => format!(
            "event: response.failed\ndata: {{\"type\":\"response.failed\",\"sequence_number\":1,\"response\":{{\"id\":\"resp_1\",\"status\":\"failed\",\"error\":{{\"code\":\"{code}\",\"message\":\"{message}\"}}}}}}\n\n"
        ),
        Dialect::Messages => {
            format!(
                "event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"{code}\",\"message\":\"{message}\"}}}}\n\n"
            )
        }
        Dialect::Gemini => {
            let (status, word) = if quota { (429, "RESOURCE_EXHAUSTED") } else { (503, "UNAVAILABLE") };
            format!("data: {{\"error\":{{\"code\":{status},\"message\":\"{message}\",\"status\":\"{word}\"}}}}\n\n")
        }
    }
}

async fn pair(world: &World, ask: &Ask) -> (Connection, Connection) {
    (world.connect(ask.provider, "first").await, world.connect(ask.provider, "second").await)
}

/// Whether anything keeps the account from serving this model.
fn charged(world: &World, connection: &Connection) -> bool {
    world.cooling(connection).is_some() || !world.locks(connection).is_empty() || world.status(connection).is_terminal()
}

#[tokio::test]
async fn an_error_before_the_first_word_fails_over_with_a_clean_status() {
    // ST-26; handed case: 200 + message_start + overloaded, and response.created + insufficient_quota.
    for dialect in DIALECTS {
        for quota in [false, true] {
            for opened in [false, true] {
                let world = start().await;
                let asked = Ask::new(dialect, true);
                let (first, second) = pair(&world, &asked).await;
                let mut frames = vec![error_event(dialect, quota)];
                if opened {
                    frames.insert(0, opening(dialect).to_owned());
                }
                world.script(&first).then(Step::sse(frames));
                let reply = post(&world, &asked).await;
                let name = format!("{dialect:?} {quota} {opened}");
                assert_eq!(reply.status, 200, "{name}: {}", reply.text());
                assert!(reply.text().contains("Hello"), "{name}: {}", reply.text());
                assert!(!reply.text().contains("overloaded") && !reply.text().contains("quota"), "{name}");
                assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(second.id.as_str()), "{name}");
                assert!(charged(&world, &first), "{name}: the first is charged");
                world.check_invariants().await;
            }
        }
    }
}

#[tokio::test]
async fn when_every_fallback_fails_inside_its_200_the_client_gets_an_error_status() {
    // Handed case.
    for dialect in DIALECTS {
        for quota in [false, true] {
            let world = start().await;
            let asked = Ask::new(dialect, true);
            let (first, second) = pair(&world, &asked).await;
            for account in [&first, &second] {
                let frames = [opening(dialect).to_owned(), error_event(dialect, quota)];
                world.script(account).then(Step::sse(frames));
            }
            let reply = post(&world, &asked).await;
            let name = format!("{dialect:?} {quota}: {} {}", reply.status, reply.text());
            assert!(!reply.status.is_success(), "{name}");
            assert_eq!(reply.header("content-type"), Some("application/json"), "{name}");
            assert!(reply.json()["error"].is_object() && !reply.error_word().is_empty(), "{name}");
            assert_eq!((world.calls(&first).len(), world.calls(&second).len()), (1, 1), "{name}");
            world.check_invariants().await;
        }
    }
}

#[tokio::test]
async fn an_error_after_the_first_word_ends_the_stream_and_charges_its_upstream() {
    // Handed case: after text, the error event reaches the client, nothing is repeated, the account is charged.
    for dialect in DIALECTS {
        let world = start().await;
        let asked = Ask::new(dialect, true);
        let (first, second) = pair(&world, &asked).await;
        let event = error_event(dialect, false);
        world.script(&first).then(Step::sse([beginning(dialect).to_owned(), event.clone()]));
        let reply = post(&world, &asked).await;
        assert_eq!(reply.text(), format!("{}{event}", beginning(dialect)), "{dialect:?}");
        assert!(world.calls(&second).is_empty(), "{dialect:?}");
        let health = world.health(&first);
        assert!(health.last_error.is_some(), "{dialect:?}: {health:?}");
        assert_eq!(world.last_request().await["outcome"], "failure", "{dialect:?}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_stream_cut_without_its_end_is_told_and_charged() {
    // Handed case: cut without terminal event.
    for dialect in DIALECTS {
        for how in [Break::Close, Break::Reset] {
            let world = start().await;
            let asked = Ask::new(dialect, true);
            let (first, second) = pair(&world, &asked).await;
            world.script(&first).then(Step::sse([beginning(dialect)]).broken(usize::MAX, how));
            let reply = post(&world, &asked).await;
            let name = format!("{dialect:?} {how:?}: {}", reply.text());
            let rest = reply.text().strip_prefix(beginning(dialect)).unwrap_or_else(|| panic!("{name}"));
            if dialect == Dialect::Chat {
                assert_eq!(rest, "", "{name}: clients take an error chunk for text; the missing end marker says it");
            } else {
                let events = parse_sse(rest);
                let [event] = events.as_slice() else { panic!("{name}") };
                let data: Value = serde_json::from_str(&event.data).expect("JSON");
                let error = if dialect == Dialect::Responses { &data["response"]["error"] } else { &data["error"] };
                assert!(error.is_object(), "{name}");
            }
            assert!(world.calls(&second).is_empty(), "{name}");
            assert!(world.health(&first).last_error.is_some(), "{name}");
            let row = world.last_request().await;
            assert_eq!((&row["outcome"], &row["attempts"]), (&json!("failure"), &json!(1)), "{name}: {row}");
            world.check_invariants().await;
        }
    }
}
