//! Errors of any dialect in the words of the client's, and requests that cannot be said in the upstream's.

use acceptance::chat_body;
use domain::Dialect;
use fake_upstream::{Answer, Step};
use serde_json::{Value, json};

use crate::world::{DIALECTS, Upstreams};

#[tokio::test]
async fn an_upstreams_error_has_the_clients_words_and_the_right_status() {
    let upstreams = Upstreams::start().await;
    let words = |status: u16| match status {
        400 => ["invalid_request_error", "INVALID_ARGUMENT"],
        429 => ["rate_limit_error", "RESOURCE_EXHAUSTED"],
        503 => ["overloaded_error", "UNAVAILABLE"],
        _ => ["api_error", "INTERNAL"],
    };
    for client in DIALECTS {
        for upstream in DIALECTS.into_iter().filter(|upstream| *upstream != client) {
            for (status, seen) in [(400, 400), (401, 502), (429, 429), (500, 500), (503, 503)] {
                let case = format!("{client} over {upstream}: {status}");
                let connection = upstreams.of(upstream);
                upstreams.world.script_model(connection, "m1").then(Step::error(status, "something odd happened"));
                let reply = upstreams.post(&Upstreams::ask(client, upstream, false)).await;
                assert_eq!(reply.status, seen, "{case}: {}", reply.text());
                let error = &reply.json()["error"];
                match client {
                    Dialect::Messages => {
                        assert_eq!(reply.json()["type"], "error", "{case}");
                        assert_eq!(error["type"], words(seen)[0], "{case}");
                    }
                    Dialect::Gemini => {
                        assert_eq!(error["code"], json!(seen), "{case}");
                        if seen != 502 {
                            assert_eq!(error["status"], words(seen)[1], "{case}");
                        }
                    }
                    Dialect::Chat | Dialect::Responses => {
                        assert!(error["type"].is_string() && error["code"].is_string(), "{case}: {error}");
                    }
                }
                let message = error["message"].as_str().expect("a message");
                assert!(seen == 502 || message.contains("something odd happened"), "{case}: {message}");
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
