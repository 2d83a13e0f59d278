//! Errors of any dialect in the words of the client's, and requests that cannot be said in the upstream's.

use acceptance::{Reply, chat_body};
use domain::Dialect;
use fake_upstream::{Answer, Pause, Step};
use serde_json::{Value, json};

use crate::world::{DIALECTS, Upstreams, chunks_of};

/// Status and words that a client is told; `type` and `code` of OpenAI, `type` of Anthropic, `status` of Google.
struct Told {
    status: u16,
    openai: (&'static str, &'static str),
    anthropic: &'static str,
    gemini: &'static str,
}

/// What a client is told of an upstream's status.
fn told(status: u16) -> Told {
    let told = |status, openai, anthropic, gemini| Told { status, openai, anthropic, gemini };
    match status {
        400 => told(400, ("invalid_request_error", "bad_request"), "invalid_request_error", "INVALID_ARGUMENT"),
        // Decision 3: the credential is not the client's.
        401 | 403 => told(502, ("server_error", "upstream_auth_failed"), "api_error", "UNAVAILABLE"),
        404 => told(404, ("invalid_request_error", "model_not_found"), "not_found_error", "NOT_FOUND"),
        429 => told(429, ("rate_limit_error", "rate_limit_exceeded"), "rate_limit_error", "RESOURCE_EXHAUSTED"),
        500 => told(500, ("server_error", "internal_server_error"), "api_error", "INTERNAL"),
        503 => told(503, ("server_error", "service_unavailable"), "overloaded_error", "UNAVAILABLE"),
        // Decided for other clients than Anthropic's by `status_for`.
        529 => told(529, ("server_error", "overloaded"), "overloaded_error", "UNAVAILABLE"),
        other => panic!("no words for {other}"),
    }
}

const STATUSES: [u16; 8] = [400, 401, 403, 404, 429, 500, 503, 529];
const WORDS: &str = "something odd happened";

fn assert_told(client: Dialect, reply: &Reply, status: u16, case: &str) {
    let told = told(status);
    let seen = if client == Dialect::Messages { told.status } else { told.status.min(503) };
    assert_eq!(reply.status, seen, "{case}: {}", reply.text());
    let media = reply.header("content-type").unwrap_or_default();
    assert!(media.starts_with("application/json"), "{case}: {media}");
    let body = reply.json();
    let error = &body["error"];
    match client {
        Dialect::Chat | Dialect::Responses => {
            assert_eq!((&error["type"], &error["code"]), (&json!(told.openai.0), &json!(told.openai.1)), "{case}");
            assert!(error.as_object().is_some_and(|error| error["param"].is_null()), "{case}: {error}");
        }
        Dialect::Messages => {
            let seen = (&body["type"], &error["type"], &error["code"]);
            assert_eq!(seen, (&json!("error"), &json!(told.anthropic), &json!(told.openai.1)), "{case}");
            assert!(body["request_id"].is_string(), "{case}: {body}");
        }
        Dialect::Gemini => {
            assert_eq!((&error["code"], &error["status"]), (&json!(seen), &json!(told.gemini)), "{case}");
            assert_eq!(error["details"][0]["reason"], told.openai.1, "{case}: {error}");
        }
    }
    let message = error["message"].as_str().expect("a message");
    if matches!(status, 401 | 403) {
        assert!(message.contains("reconnect it in OmniRoute"), "{case}: {message}");
        assert_eq!(reply.header("x-should-retry"), Some("false"), "{case}");
    } else {
        assert!(message.contains(WORDS), "{case}: {message}");
    }
}

/// Every status of every upstream to every client that speaks otherwise, whole and before the first byte of a stream.
async fn all_are_told(statuses: &[u16], refusal: impl Fn(Dialect, u16) -> Step) {
    let upstreams = Upstreams::start().await;
    let patient = json!({"failureThreshold": 1000});
    let settings = json!({"providerBreaker": {"apikey": patient, "oauth": patient}});
    upstreams.world.managed(http::Method::PATCH, "/api/resilience", Some(settings)).await;
    for client in DIALECTS {
        for upstream in DIALECTS.into_iter().filter(|upstream| *upstream != client) {
            for (status, stream) in statuses.iter().flat_map(|status| [(*status, false), (*status, true)]) {
                let case = format!("{client} over {upstream}: {status}, stream {stream}");
                let connection = upstreams.of(upstream);
                upstreams.world.script_model(connection, "m1").then(refusal(upstream, status));
                let reply = upstreams.post(&Upstreams::ask(client, upstream, stream)).await;
                assert_told(client, &reply, status, &case);
                upstreams.world.reset(connection).await;
                upstreams.world.forgive(connection);
            }
        }
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn an_upstreams_error_has_the_clients_words_and_the_right_status() {
    all_are_told(&STATUSES, |_, status| Step::error(status, WORDS)).await;
}

/// A stream that has begun with a good status and says in its first event that it failed.
fn first_event(upstream: Dialect, status: u16) -> Step {
    let word = told(status);
    let (kind, code) = word.openai;
    let frame = match upstream {
        Dialect::Chat => {
            format!("data: {}\n\n", json!({"error": {"message": WORDS, "type": kind, "param": null, "code": code}}))
        }
        Dialect::Responses => {
            let event = json!({"type": "error", "code": code, "message": WORDS, "param": null, "sequence_number": 0});
            format!("event: error\ndata: {event}\n\n")
        }
        Dialect::Messages => {
            let event = json!({"type": "error", "error": {"type": word.anthropic, "message": WORDS}});
            format!("event: error\ndata: {event}\n\n")
        }
        Dialect::Gemini => {
            let error = json!({"code": status, "message": WORDS, "status": word.gemini, "details": []});
            format!("data: {}\r\n\r\n", json!({"error": error}))
        }
    };
    Step::sse([frame])
}

#[tokio::test]
async fn an_error_inside_a_stream_before_its_first_word_is_told_with_its_status() {
    // Decision 15.
    all_are_told(&[400, 404, 429, 500], first_event).await;
}

/// The same after some text.
fn later_event(upstream: Dialect, status: u16) -> Step {
    let Step::Sse(mut frames) = first_event(upstream, status) else { panic!("a stream") };
    let begun = match upstream {
        Dialect::Messages => concat!(
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"model\":\"m\",\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n",
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n",
        ),
        _ => {
            "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"},\"finish_reason\":null}]}\n\n"
        }
    };
    frames.insert(0, (begun.into(), Pause::None));
    Step::Sse(frames)
}

#[tokio::test]
async fn an_error_after_the_first_words_keeps_its_status_and_its_kind() {
    let upstreams = Upstreams::start().await;
    for upstream in [Dialect::Chat, Dialect::Messages] {
        for client in DIALECTS.into_iter().filter(|client| *client != upstream) {
            for status in [400, 429, 500, 529] {
                let case = format!("{client} over {upstream}: {status}");
                let connection = upstreams.of(upstream);
                upstreams.world.script_model(connection, "m1").then(later_event(upstream, status));
                let ask = Upstreams::ask(client, upstream, true);
                let agent = upstreams.world.agent().with("user-agent", "OpenAI/Python 2.9.0");
                let reply = agent.post(&ask.path, ask.body).await;
                assert_eq!(reply.status, 200, "{case}: {}", reply.text());
                let last = chunks_of(&reply).pop().expect("an end");
                let (told, error) = (told(status), &last["error"]);
                match client {
                    Dialect::Chat => assert_eq!(
                        (&error["type"], &error["code"]),
                        (&json!(told.openai.0), &json!(told.openai.1)),
                        "{case}"
                    ),
                    Dialect::Messages => assert_eq!(error["type"], told.anthropic, "{case}"),
                    Dialect::Gemini => {
                        assert_eq!(
                            (&error["code"], &error["status"]),
                            (&json!(status.min(503)), &json!(told.gemini)),
                            "{case}"
                        );
                    }
                    Dialect::Responses => assert_eq!(last["response"]["status"], "failed", "{case}: {last}"),
                }
                let message = if client == Dialect::Responses { &last["response"]["error"] } else { error };
                assert_eq!(message["message"], WORDS, "{case}: {last}");
                upstreams.world.reset(connection).await;
                upstreams.world.forgive(connection);
            }
        }
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn a_stream_that_breaks_off_ends_with_an_error_and_never_with_an_end() {
    let upstreams = Upstreams::start().await;
    for client in DIALECTS {
        for upstream in DIALECTS.into_iter().filter(|upstream| *upstream != client) {
            let answer = Answer::text("one two three four five six").in_chunks(6, std::time::Duration::ZERO);
            let connection = upstreams.of(upstream);
            upstreams.world.script_model(connection, "m1").then(Step::answer(answer).cut(900));
            let ask = Upstreams::ask(client, upstream, true);
            let agent = upstreams.world.agent().with("user-agent", "OpenAI/Python 2.9.0");
            let reply = agent.post(&ask.path, ask.body).await;
            let case = format!("{client} over {upstream}: {}", reply.text());
            if reply.status == 200 {
                assert!(reply.text().contains("\"error\""), "{case}");
                for end in ["[DONE]", "response.completed", "message_stop", "\"finishReason\":\"STOP\""] {
                    assert!(!reply.text().contains(end), "{case}");
                }
            } else {
                assert_eq!(reply.status, 502, "{case}");
            }
            upstreams.world.reset(connection).await;
            upstreams.world.forgive(connection);
        }
    }
    upstreams.world.check_invariants().await;
}

fn responses_with(tools: Value) -> String {
    json!({"model": "anthropic/m1", "input": "Say hello.", "store": false, "tools": tools}).to_string()
}

#[tokio::test]
async fn a_tool_only_its_vendor_runs_is_left_out_where_it_is_spare_and_refused_where_it_is_all() {
    let upstreams = Upstreams::start().await;
    let own = json!({"type": "function", "name": "ls", "parameters": {"type": "object", "properties": {}}});
    let image = json!({"type": "image_generation"});
    let agent = upstreams.world.agent();
    let reply = agent.post("/v1/responses", responses_with(json!([own, image]))).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("x-omniroute-warnings"), Some("DROPPED_TOOL:image_generation"));
    let row = upstreams.world.last_request().await;
    let id = row["id"].as_str().expect("an id");
    let page = upstreams.world.managed(http::Method::GET, &format!("/api/requests/{id}"), None).await;
    assert!(page.to_string().contains("DROPPED_TOOL:image_generation"), "{page}");

    let reply = upstreams.world.agent().post("/v1/responses", responses_with(json!([image]))).await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    assert_eq!(reply.json()["error"]["code"], "unsupported_tool");
    assert!(reply.error_message().contains("`image_generation`"), "{}", reply.text());

    upstreams.world.set(json!({"translation": {"foreignTools": "drop"}})).await;
    let reply = upstreams.world.agent().post("/v1/responses", responses_with(json!([image]))).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    upstreams.world.set(json!({"translation": {"foreignTools": "refuse"}})).await;
    let reply = upstreams.world.agent().post("/v1/responses", responses_with(json!([own, image]))).await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn several_answers_at_once_are_refused_where_there_is_one() {
    let upstreams = Upstreams::start().await;
    let body = chat_body("anthropic/m1", false).replace("\"stream\":false", "\"n\":2");
    let reply = upstreams.world.agent().post("/v1/chat/completions", body).await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    assert!(reply.error_message().starts_with("n:"), "{}", reply.text());
    assert!(upstreams.world.calls(upstreams.of(Dialect::Messages)).is_empty());
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn tokens_are_counted_for_every_provider() {
    let upstreams = Upstreams::start().await;
    for upstream in DIALECTS {
        let model = format!("{}/m1", Upstreams::provider(upstream));
        let body = json!({"model": model, "messages": [{"role": "user", "content": "Say hello."}]}).to_string();
        let reply = upstreams.world.agent().post("/v1/messages/count_tokens", body).await;
        assert_eq!(reply.status, 200, "{upstream}: {}", reply.text());
        assert!(reply.json()["input_tokens"].as_u64() > Some(0), "{upstream}: {}", reply.text());
        let estimated = reply.header("x-omniroute-warnings") == Some("TOKENS_ESTIMATED:o200k_base");
        assert_eq!(estimated, upstream != Dialect::Messages, "{upstream}");
        let path = format!("/v1beta/models/{model}:countTokens");
        let reply = upstreams.world.agent().post(&path, acceptance::gemini_body()).await;
        assert_eq!(reply.status, 200, "{upstream}: {}", reply.text());
        assert!(reply.json()["totalTokens"].as_u64() > Some(0), "{upstream}: {}", reply.text());
        let estimated = reply.header("x-omniroute-warnings") == Some("TOKENS_ESTIMATED:o200k_base");
        assert_eq!(estimated, upstream != Dialect::Gemini, "{upstream}");
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn what_is_no_text_generation_needs_a_provider_that_has_it() {
    let upstreams = Upstreams::start().await;
    let body = json!({"model": "anthropic/m1", "input": "x"}).to_string();
    let reply = upstreams.world.agent().post("/v1/embeddings", body).await;
    assert_eq!(reply.status, 501, "{}", reply.text());
    assert_eq!(reply.error_word(), "dialect_not_supported");
    upstreams.world.check_invariants().await;
}
