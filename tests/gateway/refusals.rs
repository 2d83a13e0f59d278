//! What a client is told of an upstream's error: of its words those that the specification names, in the whole envelope
//! of the client's dialect, and when to come back (gateway specification, 1.7, 1.8 and 2.17 no. 26; specification's
//! decision 29).

use acceptance::{Ask, Connection, Reply, World, chat_body, messages_body};
use domain::Dialect;
use fake_upstream::Step;
use http::Method;
use serde_json::{Value, json};

const SECRETS: [&str; 7] = ["sk-proj", "/home/bob", "bob@", "Traceback", "stack", "password", "AIza"];
const HOSTILE: &str = "boom sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD at /home/bob/app/server.py for bob@example.com\n\
                       Traceback line 2";

/// An error in the dialect's shape, with much in it that is nobody's business.
fn hostile(dialect: Dialect, status: u16) -> Value {
    let common = json!({
        "message": HOSTILE, "code": status, "stack": "at /home/bob/x.js:1", "password": "hunter2",
        "internal": { "key": "AIzaSyA0123456789abcdefghijklmnopqrstuvw" },
    });
    let mut error = common;
    match dialect {
        Dialect::Chat | Dialect::Responses => {}
        Dialect::Messages => error["type"] = json!("api_error"),
        Dialect::Gemini => {
            error["details"] =
                json!([{ "@type": "type.googleapis.com/google.rpc.DebugInfo", "stackEntries": ["/home/bob/x.cc:1"] }]);
        }
    }
    json!({ "error": error, "stack": "at /home/bob/y.js:1", "type": "error" })
}

/// The envelope is whole (1.8), and tells the message's first line without what is secret.
fn assert_clean(dialect: Dialect, reply: &Reply) {
    let (body, name) = (reply.json(), format!("{dialect:?} {}: {}", reply.status, reply.text()));
    for secret in SECRETS {
        assert!(!reply.text().contains(secret), "{secret}: {name}");
    }
    assert!(reply.error_message().starts_with("boom <"), "{name}");
    assert!(reply.text().len() < 1_000, "{name}");
    let error = body["error"].as_object().expect("an error");
    match dialect {
        Dialect::Chat | Dialect::Responses => {
            assert!(error["code"].is_string() && error["type"].is_string() && error.contains_key("param"), "{name}");
        }
        Dialect::Messages => {
            assert_eq!(body["type"], "error", "{name}");
            assert!(error["type"].is_string() && body["request_id"].is_string(), "{name}");
        }
        Dialect::Gemini => {
            assert_eq!(error["code"], json!(reply.status.as_u16()), "{name}");
            assert!(error["status"].is_string() && error["details"].is_array(), "{name}");
        }
    }
}

/// A world in which failures without number break no provider.
async fn start() -> World {
    let world = World::start().await;
    world.resilience(json!({ "providerBreaker": { "apikey": { "failureThreshold": 1_000 } } })).await;
    world
}

/// What one fresh account's only answer comes to.
async fn told(world: &World, ask: &Ask, step: Step) -> Reply {
    let account = world.connect(ask.provider, "only").await;
    let reply = answered(world, &account, ask, step).await;
    world.delete(&account).await;
    reply
}

async fn answered(world: &World, account: &Connection, ask: &Ask, step: Step) -> Reply {
    world.script(account).then(step);
    world.agent().post(&ask.path, ask.body.clone()).await
}

#[tokio::test]
async fn of_an_upstreams_error_no_secret_passes_and_the_envelope_is_whole() {
    let world = start().await;
    for ask in Ask::all(false).into_iter().chain(Ask::all(true)) {
        for status in [402, 404, 429, 500, 502, 503, 504, 529] {
            let body = hostile(ask.dialect, status).to_string();
            let reply = told(&world, &ask, Step::status(status, body)).await;
            let shown = if status == 529 && ask.dialect != Dialect::Messages { 503 } else { status };
            assert_eq!(reply.status, shown, "{:?}: {}", ask.dialect, reply.text());
            assert_clean(ask.dialect, &reply);
        }
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn kind_code_parameter_and_hints_are_kept_the_code_as_text() {
    let world = start().await;
    let body = json!({ "error": {
        "message": "The usage limit has been reached", "type": "usage_limit_reached", "code": 1302, "param": "model",
        "plan_type": "plus", "resets_in_seconds": 60, "eligible_promo": { "campaign": "x" },
    }, "trace": "x" });
    for dialect in [Dialect::Chat, Dialect::Responses] {
        let ask = Ask::new(dialect, false);
        let reply = told(&world, &ask, Step::status(429, body.to_string())).await;
        assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (429, Some("60")), "{}", reply.text());
        let expected = json!({ "error": {
            "message": "The usage limit has been reached", "type": "usage_limit_reached", "code": "1302", "param": "model",
            "plan_type": "plus", "resets_in_seconds": 60, "retry_after": 60,
        } });
        assert_eq!(reply.json(), expected);
    }
    let ask = Ask::new(Dialect::Messages, false);
    let body = json!({ "type": "error", "error": { "type": "billing_error", "message": "no credit" }, "request_id": "theirs" });
    let error = told(&world, &ask, Step::status(402, body.to_string())).await.json();
    assert_eq!((&error["error"]["type"], &error["error"]["message"]), (&json!("billing_error"), &json!("no credit")));
    assert_ne!(error["request_id"], "theirs");
    world.check_invariants().await;
}

#[tokio::test]
async fn google_clients_still_read_what_ran_out_and_when_to_come_back() {
    let world = start().await;
    let wait = json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s" });
    let quota = json!({ "@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [
        { "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "50" }] });
    let body = json!({ "error": { "code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": [quota, wait] } });
    for (ask, text) in [
        (Ask::new(Dialect::Gemini, false), body.to_string()),
        (Ask::new(Dialect::Gemini, true), json!([body]).to_string()),
    ] {
        let reply = told(&world, &ask, Step::status(429, text)).await;
        assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (429, Some("37")), "{}", reply.text());
        assert_eq!(reply.json(), body);
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_refusal_of_the_request_itself_comes_unchanged() {
    // Decision 29
    let world = start().await;
    for ask in Ask::all(false) {
        for status in [400, 422] {
            let text =
                format!("{{ \"error\" : {{\"message\":\"odd\\nthing\", \"code\":{status}, \"new\":[1e400]}} }}\n");
            let reply = told(&world, &ask, Step::status(status, text.clone())).await;
            assert_eq!((reply.status.as_u16(), reply.text()), (status, text.as_str()), "{:?}", ask.dialect);
        }
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn an_error_that_is_too_long_is_told_as_far_as_it_may_be() {
    let world = start().await;
    for ask in Ask::all(false) {
        for status in [400, 404, 500] {
            for length in [9_000, 200_000] {
                let body = json!({ "error": { "message": "y".repeat(length) } }).to_string();
                let reply = told(&world, &ask, Step::status(status, body)).await;
                let name = format!("{:?} {status} {length}: {} bytes", ask.dialect, reply.text().len());
                assert_eq!(reply.status, status, "{name}");
                let message = reply.json()["error"]["message"].as_str().map(str::to_owned).expect("a message");
                let unchanged = status == 400 && length == 9_000;
                assert_eq!(message.len(), if unchanged { length } else { 4_096 }, "{name}");
                assert!(message.bytes().all(|byte| byte == b'y'), "{name}");
            }
        }
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn what_an_upstream_calls_its_error_is_no_way_around_either() {
    let world = start().await;
    let key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD";
    let body =
        json!({ "error": { "message": "boom <x>", "type": key, "code": key, "param": key, "retry_after": key } });
    for dialect in [Dialect::Chat, Dialect::Responses, Dialect::Messages] {
        let ask = Ask::new(dialect, false);
        assert_clean(dialect, &told(&world, &ask, Step::status(500, body.to_string())).await);
    }
    // Told in another dialect.
    let account = world.connect("openai", "chat").await;
    world.script(&account).then(Step::status(404, body.to_string()));
    let reply = world.agent().post("/v1/messages", messages_body("openai/m1", false)).await;
    assert_clean(Dialect::Messages, &reply);
    world.check_invariants().await;
}

#[tokio::test]
async fn an_overloaded_service_is_announced_with_a_wait_whatever_its_status_becomes() {
    // 529 is a 503 for all but Anthropic's clients.
    let world = start().await;
    for ask in Ask::all(false).into_iter().chain(Ask::all(true)) {
        let reply = told(&world, &ask, Step::error(529, "busy")).await;
        let shown = if ask.dialect == Dialect::Messages { 529 } else { 503 };
        assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (shown, Some("3")), "{}", reply.text());
        if ask.dialect == Dialect::Gemini {
            let error = &reply.json()["error"];
            assert_eq!((&error["code"], &error["status"]), (&json!(503), &json!("UNAVAILABLE")), "{}", reply.text());
        }
        let announced = Step::error(529, "busy").with_header("retry-after", "40");
        let reply = told(&world, &ask, announced).await;
        assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (shown, Some("40")), "{}", reply.text());
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn an_overload_stated_within_a_stream_is_announced_with_the_wait_of_the_account() {
    let world = start().await;
    let account = world.connect("anthropic", "a").await;
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    for (dialect, shown) in
        [(Dialect::Chat, 503), (Dialect::Responses, 503), (Dialect::Gemini, 503), (Dialect::Messages, 529)]
    {
        for stream in [false, true] {
            let ask = Ask::of("anthropic", "m1", dialect, stream);
            world.forgive(&account);
            let reply = answered(&world, &account, &ask, Step::sse([error])).await;
            let rest = world.cooling(&account).expect("it rests").as_retry_after_seconds().to_string();
            let name = format!("{dialect:?} {stream}: {}", reply.text());
            assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (shown, Some(rest.as_str())), "{name}");
        }
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_wait_is_told_with_the_statuses_that_have_one() {
    let world = start().await;
    for ask in Ask::all(false) {
        for (status, wait) in [(429, Some("9")), (503, Some("9")), (500, None), (404, None), (400, None)] {
            let reply = told(&world, &ask, Step::error(status, "no").with_header("retry-after", "9")).await;
            assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (status, wait), "{}", reply.text());
        }
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_status_without_a_code_of_its_own_is_told_as_the_first_of_its_class_by_whoever_answers() {
    let world = start().await;
    let combo =
        json!({ "name": "team", "strategy": "priority", "models": ["openai/m1"], "config": { "maxRetries": 0 } });
    world.managed(Method::POST, "/api/combos", Some(combo)).await;
    let ask = Ask::new(Dialect::Chat, false);
    let of_combo = Ask { body: chat_body("team", false), ..ask.clone() };
    for (status, code) in [
        (410, "model_shutdown"),
        (418, "bad_request"),
        (424, "bad_request"),
        (451, "bad_request"),
        (501, "internal_server_error"),
        (505, "internal_server_error"),
        (524, "internal_server_error"),
    ] {
        for ask in [&ask, &of_combo] {
            let reply = told(&world, ask, Step::status(status, "")).await;
            let error = reply.json()["error"].clone();
            assert_eq!((reply.status.as_u16(), &error["code"]), (status, &json!(code)), "{}", reply.text());
        }
    }
    world.check_invariants().await;
}
