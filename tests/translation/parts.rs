//! Parts of a request that few providers take: marks for a cache, and sound (gateway specification, 2.4).

use acceptance::{Ask, Connection, World};
use domain::Dialect;
use serde_json::{Value, json};

use crate::world::Upstreams;

/// What arrives at `provider` of a body for its model, and the warnings of the reply.
async fn arrives(world: &World, connection: &Connection, path: &str, body: &Value) -> (Value, String) {
    let reply = world.agent().post(path, body.to_string()).await;
    assert_eq!(reply.status, 200, "{path}: {}", reply.text());
    let warnings = reply.header("x-omniroute-warnings").unwrap_or_default().to_owned();
    (world.calls(connection).last().expect("a call").json(), warnings)
}

/// A Messages request with a mark on system, tool and text.
fn marked(model: &str) -> Value {
    let mark = json!({"type": "ephemeral"});
    json!({
        "model": model, "max_tokens": 64,
        "system": [{"type": "text", "text": "Be brief", "cache_control": mark}],
        "tools": [{"name": "ls", "input_schema": {"type": "object", "properties": {}}, "cache_control": mark}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "long", "cache_control": mark}]}],
    })
}

#[tokio::test]
async fn marks_for_a_cache_are_kept_where_there_is_one_and_taken_off_elsewhere() {
    let upstreams = Upstreams::start().await;
    let world = &upstreams.world;
    let openrouter = world.connect("openrouter", "marks").await;
    world.allow_extra_header("x-title");
    for (provider, model, connection, kept) in [
        ("anthropic", "m1", upstreams.of(Dialect::Messages), 3),
        ("openrouter", "anthropic/claude-sonnet-4.5", &openrouter, 3),
        ("openrouter", "openai/gpt-5", &openrouter, 0),
        ("deepseek", "m1", upstreams.of(Dialect::Chat), 0),
        ("codex", "m1", upstreams.of(Dialect::Responses), 0),
        ("gemini", "m1", upstreams.of(Dialect::Gemini), 0),
    ] {
        let body = marked(&format!("{provider}/{model}"));
        let (sent, _) = arrives(world, connection, "/v1/messages", &body).await;
        let marks = sent.to_string().matches("cache_control").count();
        let case = format!("{provider}/{model}: {sent}");
        assert_eq!(marks, kept, "{case}");
    }
    world.check_invariants().await;
}

#[tokio::test]
async fn a_chat_clients_marks_reach_anthropic_and_never_more_than_four() {
    let upstreams = Upstreams::start().await;
    let mark = json!({"type": "ephemeral"});
    let texts: Vec<Value> =
        (0..6).map(|n| json!({"type": "text", "text": format!("part {n}"), "cache_control": mark})).collect();
    for (count, kept) in [(2, 2), (6, 4)] {
        let body = json!({"model": "anthropic/m1", "messages": [{"role": "user", "content": texts[..count]}]});
        let connection = upstreams.of(Dialect::Messages);
        let (sent, _) = arrives(&upstreams.world, connection, "/v1/chat/completions", &body).await;
        assert_eq!(sent.to_string().matches("cache_control").count(), kept, "{sent}");
    }
    upstreams.world.check_invariants().await;
}

const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEA";

/// A request with a sound in a client's words.
fn with_sound(client: Dialect, upstream: Dialect) -> Ask {
    let mut ask = Upstreams::ask(client, upstream, false);
    let mut body: Value = serde_json::from_str(&ask.body).expect("JSON");
    let audio = json!({"data": SOUND, "format": "wav"});
    match client {
        Dialect::Chat => {
            body["messages"][0]["content"] =
                json!([{"type": "text", "text": "listen"}, {"type": "input_audio", "input_audio": audio}]);
        }
        Dialect::Responses => {
            let content =
                json!([{"type": "input_text", "text": "listen"}, {"type": "input_audio", "input_audio": audio}]);
            body["input"] = json!([{"role": "user", "content": content}]);
        }
        Dialect::Gemini => {
            let inline = json!({"inlineData": {"mimeType": "audio/wav", "data": SOUND}});
            body["contents"][0]["parts"] = json!([{"text": "listen"}, inline]);
        }
        Dialect::Messages => {}
    }
    ask.body = body.to_string();
    ask
}

#[tokio::test]
async fn sound_goes_to_who_takes_it_and_is_missed_aloud_elsewhere() {
    let upstreams = Upstreams::start().await;
    for (client, upstream, hears) in [
        (Dialect::Chat, Dialect::Gemini, true),
        (Dialect::Responses, Dialect::Gemini, true),
        (Dialect::Gemini, Dialect::Chat, true),
        (Dialect::Responses, Dialect::Chat, true),
        (Dialect::Chat, Dialect::Messages, false),
        (Dialect::Responses, Dialect::Messages, false),
        (Dialect::Gemini, Dialect::Messages, false),
    ] {
        let ask = with_sound(client, upstream);
        let body = serde_json::from_str(&ask.body).expect("JSON");
        let connection = upstreams.of(upstream);
        let (sent, warnings) = arrives(&upstreams.world, connection, &ask.path, &body).await;
        let case = format!("{client} over {upstream}, {warnings}: {sent}");
        assert_eq!(sent.to_string().contains(SOUND), hears, "{case}");
        assert_eq!(warnings.contains("DROPPED_PART:audio"), !hears, "{case}");
        match upstream {
            Dialect::Gemini => {
                let inline = &sent["contents"][0]["parts"][1]["inlineData"];
                assert_eq!(inline, &json!({"mimeType": "audio/wav", "data": SOUND}), "{case}");
            }
            Dialect::Chat => {
                let part = &sent["messages"][0]["content"][1]["input_audio"];
                assert_eq!(part, &json!({"data": SOUND, "format": "wav"}), "{case}");
            }
            Dialect::Messages | Dialect::Responses => {}
        }
    }
    upstreams.world.check_invariants().await;
}
