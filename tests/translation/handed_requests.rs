//! Requests that clients really send and providers refuse, from every client to every provider that speaks otherwise.
//!
//! The fake upstream checks as its vendor does and answers with what it was told, in words that are the same in every
//! dialect: a request that a vendor would refuse fails here, and so does one that lost something on its way.

use domain::Dialect;
use fake_upstream::Step;
use serde_json::{Value, json};

use self::Turn::{Assistant, Call, Result, User};
use crate::world::{DIALECTS, Upstreams, heard, text};

/// Who asks. `Ollama` speaks a dialect that no provider is asked in.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Asker {
    Of(Dialect),
    Ollama,
}

const ASKERS: [Asker; 5] = [
    Asker::Of(Dialect::Chat),
    Asker::Of(Dialect::Responses),
    Asker::Of(Dialect::Messages),
    Asker::Of(Dialect::Gemini),
    Asker::Ollama,
];

/// One turn of a history.
#[derive(Clone, Debug)]
enum Turn<'a> {
    User(&'a str),
    Assistant(&'a str),
    /// Id and arguments of a call of `ls`.
    Call(&'a str, &'a str),
    Result(&'a str, &'a str),
}

impl Asker {
    /// Pairs whose bytes do not pass as they are.
    fn pairs() -> impl Iterator<Item = (Asker, Dialect)> {
        ASKERS
            .into_iter()
            .flat_map(|asker| DIALECTS.into_iter().map(move |upstream| (asker, upstream)))
            .filter(|(asker, upstream)| *asker != Asker::Of(*upstream))
    }

    fn path(self, model: &str) -> String {
        match self {
            Asker::Of(Dialect::Chat) => "/v1/chat/completions".to_owned(),
            Asker::Of(Dialect::Responses) => "/v1/responses".to_owned(),
            Asker::Of(Dialect::Messages) => "/v1/messages".to_owned(),
            Asker::Of(Dialect::Gemini) => format!("/v1beta/models/{model}:generateContent"),
            Asker::Ollama => "/api/chat".to_owned(),
        }
    }

    /// A request with this history and the tool `ls` of this schema.
    fn body(self, model: &str, turns: &[Turn<'_>], schema: &Value) -> Value {
        let written: Vec<Value> = turns.iter().map(|turn| self.turn(turn)).collect();
        let function = json!({"name": "ls", "description": "lists", "parameters": schema});
        match self {
            Asker::Of(Dialect::Chat) => {
                json!({"model": model, "messages": written, "tools": [{"type": "function", "function": function}]})
            }
            Asker::Of(Dialect::Responses) => json!({"model": model, "input": written, "store": false,
                "tools": [{"type": "function", "name": "ls", "parameters": schema, "strict": false}]}),
            Asker::Of(Dialect::Messages) => json!({"model": model, "max_tokens": 64, "messages": written,
                "tools": [{"name": "ls", "input_schema": schema}]}),
            Asker::Of(Dialect::Gemini) => json!({"contents": written, "tools": [{"functionDeclarations": [
                {"name": "ls", "description": "lists", "parametersJsonSchema": schema}]}]}),
            Asker::Ollama => json!({"model": model, "stream": false, "messages": written,
                "tools": [{"type": "function", "function": function}]}),
        }
    }

    fn turn(self, turn: &Turn<'_>) -> Value {
        let object = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| json!({}));
        match (self, turn) {
            (Asker::Of(Dialect::Gemini), Turn::User(text)) => json!({"role": "user", "parts": [{"text": text}]}),
            (Asker::Of(Dialect::Gemini), Turn::Assistant(text)) => json!({"role": "model", "parts": [{"text": text}]}),
            (Asker::Of(Dialect::Gemini), Turn::Call(id, arguments)) => json!({"role": "model", "parts": [
                {"functionCall": {"id": id, "name": "ls", "args": object(arguments)}}]}),
            (Asker::Of(Dialect::Gemini), Turn::Result(id, text)) => json!({"role": "user", "parts": [
                {"functionResponse": {"id": id, "name": "ls", "response": {"output": text}}}]}),
            (Asker::Of(Dialect::Responses), Turn::Call(id, arguments)) => {
                json!({"type": "function_call", "call_id": id, "name": "ls", "arguments": arguments})
            }
            (Asker::Of(Dialect::Responses), Turn::Result(id, text)) => {
                json!({"type": "function_call_output", "call_id": id, "output": text})
            }
            (Asker::Of(Dialect::Messages), Turn::Call(id, arguments)) => json!({"role": "assistant", "content": [
                {"type": "tool_use", "id": id, "name": "ls", "input": object(arguments)}]}),
            (Asker::Of(Dialect::Messages), Turn::Result(id, text)) => json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": text}]}),
            (Asker::Of(Dialect::Chat), Turn::Call(id, arguments)) => json!({"role": "assistant", "content": null,
                "tool_calls": [{"id": id, "type": "function", "function": {"name": "ls", "arguments": arguments}}]}),
            (Asker::Ollama, Turn::Call(id, arguments)) => json!({"role": "assistant", "content": "",
                "tool_calls": [{"id": id, "function": {"name": "ls", "arguments": object(arguments)}}]}),
            (Asker::Ollama, Turn::Result(id, text)) => {
                json!({"role": "tool", "tool_name": "ls", "tool_call_id": id, "content": text})
            }
            (Asker::Of(Dialect::Chat), Turn::Result(id, text)) => {
                json!({"role": "tool", "tool_call_id": id, "content": text})
            }
            (_, Turn::User(text)) => json!({"role": "user", "content": text}),
            (_, Turn::Assistant(text)) => json!({"role": "assistant", "content": text}),
        }
    }
}

/// What the provider says that it was told.
async fn told(upstreams: &Upstreams, asker: Asker, upstream: Dialect, body: &Value) -> Value {
    let model = format!("{}/m1", Upstreams::provider(upstream));
    upstreams.world.script_model(upstreams.of(upstream), "m1").then(Step::ok("{seen}"));
    let reply = upstreams.world.agent().post(&asker.path(&model), body.to_string()).await;
    assert_eq!(reply.status, 200, "{asker:?} over {upstream}: {}\n{body}", reply.text());
    let said = match asker {
        Asker::Of(client) => text(&heard(client, &reply, false)),
        Asker::Ollama => reply.json()["message"]["content"].as_str().expect("a text").to_owned(),
    };
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{asker:?} over {upstream}: {error}: {said}"))
}

fn lines(seen: &Value) -> Vec<&str> {
    seen["turns"].as_array().expect("turns").iter().map(|turn| turn.as_str().expect("a line")).collect()
}

async fn strict() -> Upstreams {
    let upstreams = Upstreams::start().await;
    upstreams.world.upstream.strict(true);
    upstreams
}

/// The lines that every provider is told for this history, whoever asks.
async fn all_hear(turns: &[Turn<'_>], expected: &[&str]) {
    let upstreams = strict().await;
    for (asker, upstream) in Asker::pairs() {
        let model = format!("{}/m1", Upstreams::provider(upstream));
        let body = asker.body(&model, turns, &json!({"type": "object", "properties": {}}));
        let seen = told(&upstreams, asker, upstream, &body).await;
        assert_eq!(lines(&seen), expected, "{asker:?} over {upstream}");
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn empty_arguments_are_an_object_without_members() {
    let turns = [User("q"), Call("call_1", ""), Result("call_1", "r")];
    all_hear(&turns, &["user: q", "assistant: call ls {}", "user: result r"]).await;
}

#[tokio::test]
async fn ids_too_long_or_of_other_letters_still_pair_calls_and_results() {
    let long = "c".repeat(80);
    let turns = [
        User("q"),
        Call(&long, r#"{"n":1}"#),
        Result(&long, "r"),
        Call("call:1/ü x", r#"{"n":2}"#),
        Result("call:1/ü x", "s"),
        User("next"),
    ];
    let expected = [
        "user: q",
        "assistant: call ls {\"n\":1}",
        "user: result r",
        "assistant: call ls {\"n\":2}",
        "user: result s",
        "user: next",
    ];
    all_hear(&turns, &expected).await;
}

#[tokio::test]
async fn a_trimmed_history_with_results_before_or_without_their_calls_is_accepted_everywhere() {
    let upstreams = strict().await;
    let before = [User("q"), Result("call_1", "early"), Call("call_1", "{}"), User("next")];
    let without = [Result("call_0", "orphan"), User("q"), Call("call_2", "{}"), User("no result came")];
    for (asker, upstream) in Asker::pairs() {
        let model = format!("{}/m1", Upstreams::provider(upstream));
        for (turns, words) in [(&before, ["q", "next"]), (&without, ["q", "no result came"])] {
            let body = asker.body(&model, turns, &json!({"type": "object", "properties": {}}));
            let seen = told(&upstreams, asker, upstream, &body).await;
            let lines = lines(&seen);
            for word in words {
                assert!(lines.contains(&format!("user: {word}").as_str()), "{asker:?} over {upstream}: {lines:?}");
            }
        }
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn turns_of_one_speaker_blank_texts_and_trailing_white_space_are_made_legal() {
    let upstreams = strict().await;
    let turns = [
        Assistant("I begin. "),
        User("one"),
        User("two"),
        Assistant("three \n"),
        Assistant("four\n"),
        User("  "),
        User("five"),
    ];
    for (asker, upstream) in Asker::pairs() {
        let model = format!("{}/m1", Upstreams::provider(upstream));
        let body = asker.body(&model, &turns, &json!({"type": "object", "properties": {}}));
        let seen = told(&upstreams, asker, upstream, &body).await;
        let all = lines(&seen).join("\n");
        let mut rest = all.as_str();
        for word in ["I begin.", "one", "two", "three", "four", "five"] {
            let at = rest.find(word).unwrap_or_else(|| panic!("{asker:?} over {upstream}: `{word}` in {all}"));
            rest = &rest[at + word.len()..];
        }
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn numbers_beyond_a_double_and_letters_of_every_plane_stay_as_they_are() {
    let upstreams = strict().await;
    let turns = [User("👩‍👩‍👧 \u{1} \\ \" 日本"), Call("call_1", r#"{"n":9007199254740993}"#), Result("call_1", "𝕏")];
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer", "maximum": 9_007_199_254_740_993_u64}}});
    for (asker, upstream) in Asker::pairs() {
        let model = format!("{}/m1", Upstreams::provider(upstream));
        let seen = told(&upstreams, asker, upstream, &asker.body(&model, &turns, &schema)).await;
        let expected = ["user: 👩‍👩‍👧 \u{1} \\ \" 日本", "assistant: call ls {\"n\":9007199254740993}", "user: result 𝕏"];
        assert_eq!(lines(&seen), expected, "{asker:?} over {upstream}");
        let sent = upstreams.world.calls(upstreams.of(upstream)).last().expect("a call").json().to_string();
        assert_eq!(sent.matches("9007199254740993").count(), 2, "{asker:?} over {upstream}: {sent}");
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn half_a_letter_does_not_cost_the_request() {
    let upstreams = strict().await;
    for (asker, upstream) in Asker::pairs() {
        let model = format!("{}/m1", Upstreams::provider(upstream));
        let body = asker.body(&model, &[User("cut here: HALF")], &json!({"type": "object"}));
        upstreams.world.script_model(upstreams.of(upstream), "m1").then(Step::ok("{seen}"));
        let body = body.to_string().replace("HALF", r"\ud83d");
        let reply = upstreams.world.agent().post(&asker.path(&model), body).await;
        assert_eq!(reply.status, 200, "{asker:?} over {upstream}: {}", reply.text());
        assert!(reply.text().contains("cut here: \u{fffd}"), "{asker:?} over {upstream}: {}", reply.text());
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn a_result_of_five_megabytes_arrives_whole() {
    let upstreams = strict().await;
    let large = "line of a long file\n".repeat(5 * 1024 * 1024 / 20);
    let turns = [User("q"), Call("call_1", "{}"), Result("call_1", &large)];
    for (asker, upstream) in Asker::pairs() {
        let model = format!("{}/m1", Upstreams::provider(upstream));
        let seen = told(&upstreams, asker, upstream, &asker.body(&model, &turns, &json!({"type": "object"}))).await;
        let length = lines(&seen)[2].len();
        assert_eq!(length, "user: result ".len() + large.len(), "{asker:?} over {upstream}");
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn schemas_with_what_a_provider_does_not_know_are_accepted_everywhere() {
    let upstreams = strict().await;
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false,
        "properties": {
            "id": {"type": "integer"}, "name": {"type": "string", "format": "hostname"}, "kind": {"const": "x"},
            "at": {"type": "string", "format": "date-time"}, "tags": {"type": ["array", "null"]},
        },
        "anyOf": [{"required": ["id"]}, {"required": ["name"]}],
    });
    for (asker, upstream) in Asker::pairs() {
        let model = format!("{}/m1", Upstreams::provider(upstream));
        let seen = told(&upstreams, asker, upstream, &asker.body(&model, &[User("q")], &schema)).await;
        assert_eq!(seen["tools"], json!(["ls"]), "{asker:?} over {upstream}");
        let sent = upstreams.world.calls(upstreams.of(upstream)).last().expect("a call").json()["tools"].to_string();
        for name in ["id", "name", "kind", "at", "tags"] {
            assert!(sent.contains(&format!("\"{name}\"")), "{name}, {asker:?} over {upstream}: {sent}");
        }
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn an_image_under_the_wrong_type_is_told_by_its_first_bytes() {
    const PNG: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let upstreams = strict().await;
    let url = format!("data:image/jpg;base64,{PNG}");
    for (asker, upstream) in Asker::pairs() {
        let model = format!("{}/m1", Upstreams::provider(upstream));
        let mut body = asker.body(&model, &[User("look")], &json!({"type": "object"}));
        match asker {
            Asker::Of(Dialect::Chat) => {
                body["messages"][0]["content"] = json!([
                {"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": url}}])
            }
            Asker::Of(Dialect::Responses) => {
                body["input"][0]["content"] = json!([
                {"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": url}])
            }
            Asker::Of(Dialect::Messages) => {
                body["messages"][0]["content"] = json!([
                {"type": "text", "text": "look"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/jpg", "data": url}}])
            }
            Asker::Of(Dialect::Gemini) => {
                body["contents"][0]["parts"] = json!([
                {"text": "look"}, {"inlineData": {"mimeType": "image/jpg", "data": PNG}}])
            }
            Asker::Ollama => body["messages"][0]["images"] = json!([PNG]),
        }
        let seen = told(&upstreams, asker, upstream, &body).await;
        assert_eq!(lines(&seen), ["user: look", "user: image/png 70 bytes"], "{asker:?} over {upstream}");
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn system_text_reaches_every_provider_from_whatever_role_it_stands_in() {
    let upstreams = strict().await;
    for (asker, upstream) in Asker::pairs() {
        let model = format!("{}/m1", Upstreams::provider(upstream));
        let mut body = asker.body(&model, &[User("q")], &json!({"type": "object"}));
        let developer = json!({"role": "developer", "content": "Be brief"});
        match asker {
            Asker::Of(Dialect::Chat) => body["messages"].as_array_mut().expect("a list").insert(0, developer),
            Asker::Of(Dialect::Responses) => body["input"].as_array_mut().expect("a list").insert(0, developer),
            Asker::Of(Dialect::Messages) => {
                let mark = json!({"type": "ephemeral"});
                body["system"] = json!([{"type": "text", "text": "Be brief", "cache_control": mark}]);
            }
            Asker::Of(Dialect::Gemini) => body["systemInstruction"] = json!({"parts": [{"text": "Be brief"}]}),
            Asker::Ollama => {
                let system = json!({"role": "system", "content": "Be brief"});
                body["messages"].as_array_mut().expect("a list").insert(0, system);
            }
        }
        let seen = told(&upstreams, asker, upstream, &body).await;
        assert_eq!((&seen["system"], lines(&seen)), (&json!("Be brief"), vec!["user: q"]), "{asker:?} over {upstream}");
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn thinking_without_proof_or_of_another_vendor_and_refusals_never_spoil_a_history() {
    let upstreams = strict().await;
    let thoughts = |asker: Asker| match asker {
        Asker::Of(Dialect::Messages) => json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "unsigned", "signature": ""},
            {"type": "thinking", "thinking": "theirs", "signature": "omr1.google.EqQB"},
            {"type": "redacted_thinking", "data": "c2VjcmV0"},
            {"type": "text", "text": "a"}]}, {"role": "user", "content": "r"}]),
        Asker::Of(Dialect::Responses) => json!([{"role": "user", "content": "q"},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
            {"role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
            {"role": "user", "content": "r"}]),
        Asker::Of(Dialect::Gemini) => json!([{"role": "user", "parts": [{"text": "q"}]},
            {"role": "model", "parts": [{"text": "mine", "thought": true, "thoughtSignature": "Zm9v"}, {"text": "a"}]},
            {"role": "user", "parts": [{"text": "r"}]}]),
        Asker::Of(Dialect::Chat) | Asker::Ollama => json!([{"role": "user", "content": "q"},
            {"role": "assistant", "content": "a", "reasoning_content": "mine", "thinking": "mine"},
            {"role": "user", "content": "r"}]),
    };
    for (asker, upstream) in Asker::pairs() {
        let model = format!("{}/m1", Upstreams::provider(upstream));
        let mut body = asker.body(&model, &[], &json!({"type": "object"}));
        let member = match asker {
            Asker::Of(Dialect::Responses) => "input",
            Asker::Of(Dialect::Gemini) => "contents",
            _ => "messages",
        };
        body[member] = thoughts(asker);
        let seen = told(&upstreams, asker, upstream, &body).await;
        let spoken: Vec<_> = lines(&seen).into_iter().filter(|line| !line.contains("reasoning")).collect();
        assert_eq!(spoken, ["user: q", "assistant: a", "user: r"], "{asker:?} over {upstream}");
        if upstream != Dialect::Chat {
            assert_eq!(lines(&seen).len(), 3, "{asker:?} over {upstream}: {seen}");
        }
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn a_refusal_in_the_history_is_told_to_every_provider() {
    let upstreams = strict().await;
    for (asker, upstream) in Asker::pairs() {
        let model = format!("{}/m1", Upstreams::provider(upstream));
        let mut body = asker.body(&model, &[User("q"), Assistant("x"), User("r")], &json!({"type": "object"}));
        match asker {
            Asker::Of(Dialect::Chat) => {
                body["messages"][1] = json!({"role": "assistant", "content": null, "refusal": "I will not"});
            }
            Asker::Of(Dialect::Responses) => {
                body["input"][1]["content"] = json!([{"type": "refusal", "refusal": "I will not"}]);
            }
            Asker::Of(Dialect::Messages | Dialect::Gemini) | Asker::Ollama => continue,
        }
        let model_heard = told(&upstreams, asker, upstream, &body).await;
        let sent = upstreams.world.calls(upstreams.of(upstream)).last().expect("a call").json().to_string();
        assert!(sent.contains("I will not"), "{asker:?} over {upstream}: {model_heard}");
    }
    upstreams.world.check_invariants().await;
}

#[tokio::test]
async fn two_calls_at_once_keep_their_results_apart() {
    let upstreams = strict().await;
    for (asker, upstream) in Asker::pairs() {
        let model = format!("{}/m1", Upstreams::provider(upstream));
        let turns = [
            User("q"),
            Call("call_a", r#"{"n":1}"#),
            Call("call_b", r#"{"n":2}"#),
            Result("call_b", "second"),
            Result("call_a", "first"),
        ];
        let body = asker.body(&model, &turns, &json!({"type": "object"}));
        let seen = told(&upstreams, asker, upstream, &body).await;
        let lines = lines(&seen);
        for line in ["user: result first", "user: result second"] {
            assert!(lines.contains(&line), "{asker:?} over {upstream}: {lines:?}");
        }
    }
    upstreams.world.check_invariants().await;
}
