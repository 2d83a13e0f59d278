//! A good status without an answer, and answers that are rightly short (gateway specification, 3.8; handed cases).

use acceptance::{Ask, beginning, empty_stream, ending, opening};
use domain::Dialect;
use fake_upstream::{Answer, Break, Finish, Step};
use serde_json::json;

use crate::cast::{AK, DIALECTS, post, start, uncooled};

#[tokio::test]
async fn a_model_that_ran_into_its_limit_without_a_word_has_answered() {
    // Handed case: `max_tokens: 1`, no text, stop reason `max_tokens`.
    for dialect in DIALECTS {
        for stream in [false, true] {
            let world = start().await;
            let asked = Ask::new(dialect, stream);
            let c1 = world.connect(asked.provider, "c1").await;
            let c2 = world.connect(asked.provider, "c2").await;
            world.script(&c1).then(Step::answer(Answer::text("").with_finish(Finish::Length)));
            let reply = post(&world, &asked).await;
            assert_eq!(reply.status, 200, "{dialect:?} {stream}: {}", reply.text());
            assert_eq!(
                reply.header("x-omniroute-selected-connection-id"),
                Some(c1.id.as_str()),
                "{dialect:?} {stream}"
            );
            assert!(world.calls(&c2).is_empty(), "{dialect:?} {stream}");
            assert_eq!((world.cooling(&c1), world.locks(&c1)), (None, Vec::new()), "{dialect:?} {stream}");
            assert_eq!(world.last_request().await["outcome"], "success", "{dialect:?} {stream}");
            world.check_invariants().await;
        }
    }
}

#[tokio::test]
async fn an_empty_answer_is_replaced_and_the_service_is_not_called_sick() {
    // CB-29: `upstream_empty_response` is not counted.
    for dialect in DIALECTS {
        let world = start().await;
        let asked = Ask::new(dialect, true);
        let c1 = uncooled(&world, asked.provider, "c1").await;
        let c2 = world.connect(asked.provider, "c2").await;
        world.script(&c1).then(Step::sse([empty_stream(dialect)]));
        let reply = post(&world, &asked).await;
        assert_eq!(reply.status, 200, "{dialect:?}: {}", reply.text());
        assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(c2.id.as_str()), "{dialect:?}");
        assert_eq!(world.breaker_state(asked.provider), ("CLOSED", 0), "{dialect:?}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn a_stream_that_ends_before_it_says_anything_counts_as_sick() {
    // CB-30, ST-25: early end of file.
    for dialect in DIALECTS {
        let world = start().await;
        let asked = Ask::new(dialect, true);
        let c1 = uncooled(&world, asked.provider, "c1").await;
        for step in [Step::sse(Vec::<&str>::new()), Step::sse([": hello\n\n"])] {
            world.script(&c1).then(step);
            let fresh = Ask::of(asked.provider, &crate::cast::fresh_model(), dialect, true);
            assert_eq!(post(&world, &fresh).await.status, 502, "{dialect:?}");
        }
        assert_eq!(world.breaker_state(asked.provider).1, 2, "{dialect:?}");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn one_broken_line_in_a_healthy_stream_is_no_reason_to_stop() {
    // Handed case, for each dialect: before and after the first content.
    for dialect in DIALECTS {
        for at in ["first", "middle"] {
            let world = start().await;
            let asked = Ask::new(dialect, true);
            let c1 = world.connect(asked.provider, "c1").await;
            let broken = "data: {\"choices\":[{\"delta\n\n";
            let frames = if at == "first" {
                vec![broken, beginning(dialect), ending(dialect)]
            } else {
                vec![beginning(dialect), broken, ending(dialect)]
            };
            world.script(&c1).then(Step::sse(frames));
            let reply = post(&world, &asked).await;
            assert_eq!(reply.status, 200, "{dialect:?} {at}: {}", reply.text());
            assert!(reply.text().contains("Once upon"), "{dialect:?} {at}: {}", reply.text());
            assert!(reply.text().ends_with(ending(dialect)), "{dialect:?} {at}: {}", reply.text());
            let row = world.last_request().await;
            assert_eq!(row["outcome"], "success", "{dialect:?} {at}: {row}");
            assert_eq!((world.cooling(&c1), world.locks(&c1)), (None, Vec::new()), "{dialect:?} {at}");
            world.check_invariants().await;
        }
    }
}

#[tokio::test]
async fn headers_and_then_nothing_is_passed_over_in_time() {
    // Handed case: headers then silence. The limit is the stream's own; the service is not called sick for it (CB-30).
    for dialect in DIALECTS {
        let world = start().await;
        let asked = Ask::new(dialect, true);
        let c1 = world.connect(asked.provider, "c1").await;
        let c2 = world.connect(asked.provider, "c2").await;
        let opened = Step::sse([opening(dialect)]).broken(usize::MAX, Break::Stall);
        world.script(&c1).then(opened);
        world
            .set(
                json!({ "gateway": { "keepAliveAfterMs": { "chat": 0, "messages": 0, "responses": 0, "gemini": 0 } } }),
            )
            .await;
        let asking = crate::cast::begin(&world, &c1, &asked).await;
        let reply = crate::streams::until_given_up(&world, &c1, asking).await;
        assert_eq!(reply.status, 200, "{dialect:?}: {}", reply.text());
        assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(c2.id.as_str()), "{dialect:?}");
        assert!(world.wait_for_endings(&c1, 1).await[0].cancelled(), "{dialect:?}: the silent call is cancelled");
        assert_eq!(world.health(&c1).backoff_level, 0, "{dialect:?}: noted, not cooled");
        world.check_invariants().await;
    }
}

#[tokio::test]
async fn signs_of_life_alone_are_no_answer() {
    // ST-01; handed case: heartbeats only for 90 s, longer than the 80 s a stream has to say something. Noted, not cooled, and the
    // service is not called sick for it (CB-30).
    for dialect in DIALECTS {
        let world = start().await;
        let asked = Ask::new(dialect, true);
        let c1 = world.connect(asked.provider, "c1").await;
        let c2 = world.connect(asked.provider, "c2").await;
        let pings = match dialect {
            Dialect::Messages => "event: ping\ndata: {\"type\":\"ping\"}\n\n",
            Dialect::Chat | Dialect::Responses | Dialect::Gemini => ": ping\n\n",
        };
        world.script(&c1).then(Step::drip(pings, std::time::Duration::from_millis(5), None));
        let early = json!({ "chat": 0, "messages": 0, "responses": 0, "gemini": 0 });
        world.set(json!({ "gateway": { "keepAliveAfterMs": early } })).await;
        let asking = crate::cast::begin(&world, &c1, &asked).await;
        let reply = crate::streams::until_given_up(&world, &c1, asking).await;
        assert_eq!(reply.status, 200, "{dialect:?}: {}", reply.text());
        assert_eq!(reply.header("x-omniroute-selected-connection-id"), Some(c2.id.as_str()), "{dialect:?}");
        let health = world.health(&c1);
        assert_eq!((health.cooling_until, health.backoff_level), (None, 0), "{dialect:?}");
        assert!(health.last_error.is_some(), "{dialect:?}");
        assert_eq!(world.breaker_state(asked.provider), ("CLOSED", 0), "{dialect:?}");
        world.check_invariants().await;
    }
}

/// The words of this gateway's own log are nothing but words where an upstream says them.
#[tokio::test]
async fn an_error_that_is_called_a_cut_is_its_upstream_s_own() {
    for word in ["stream_cut", "empty_or_garbled"] {
        let says = json!({ "error": { "message": "busy", "code": word, "status": 429 } }).to_string();
        for (stream, step) in
            [(false, Step::status(200, says.clone())), (true, Step::sse([format!("data: {says}\n\n")]))]
        {
            let world = start().await;
            let c1 = world.connect(AK, "c1").await;
            world.script(&c1).then(step);
            let reply = post(&world, &Ask::of(AK, "m1", Dialect::Chat, stream)).await;
            assert_eq!(reply.status, 429, "{word} {stream}: {}", reply.text());
            let row = world.last_request().await;
            assert_eq!(row["trace"]["attempts"][0]["kind"], "rate_limit", "{word} {stream}: {row}");
            world.check_invariants().await;
        }
        // Behind text it is told to clients of other dialects by its own name.
        let world = start().await;
        let c1 = world.connect(AK, "c1").await;
        let event = format!("data: {says}\n\n");
        world.script(&c1).then(Step::sse([beginning(Dialect::Chat).to_owned(), event]));
        let reply = post(&world, &Ask::of(AK, "m1", Dialect::Messages, true)).await;
        let told = format!("{{\"type\":\"rate_limit_error\",\"message\":\"busy\",\"code\":\"{word}\"}}");
        assert!(reply.text().contains("Once upon") && reply.text().contains(&told), "{word}: {}", reply.text());
        world.check_invariants().await;
    }
}
