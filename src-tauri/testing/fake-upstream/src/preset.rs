//! What the checks with the official SDKs in `tests/sdk` and with real agents in `tests/agents` rely on.

use std::time::Duration;

use domain::Usage;
use serde_json::json;

use crate::answer::Answer;
use crate::server::FakeUpstream;
use crate::step::{Break, Step};

/// The models of [`FakeUpstream::preset_sdk`], each also by the name of a Gemini 3 model: `gemini-3-m1`. Any other is
/// answered 404.
///
/// `m1` answers plain text; `m-reason` reasons first; `m-tool` calls `get_weather` for Berlin, `m-tools` for Berlin and
/// Paris in parallel, `m-now` calls `get_time` without arguments, `m-think` reasons before it asks for Berlin, and all of
/// them then repeat the tool's last result; `m-seen` says what it was asked; `m-json` answers `{"city":"Berlin"}`; `m-cached` reports cached input; `m-length`
/// stops at the limit; `m-400` to `m-503` fail with those statuses, `m-limited` with 429 and no word about when to try
/// again; `m-cut` breaks off in the middle of its text, and `m-fail-…` tells an error there, each in the dialect it is
/// named for.
pub const SDK_MODELS: [&str; 21] = [
    "m1",
    "m-reason",
    "m-tool",
    "m-tools",
    "m-now",
    "m-think",
    "m-seen",
    "m-json",
    "m-cached",
    "m-length",
    "m-400",
    "m-401",
    "m-429",
    "m-limited",
    "m-500",
    "m-503",
    "m-cut",
    "m-fail-chat",
    "m-fail-responses",
    "m-fail-messages",
    "m-fail-gemini",
];

/// Behind the first pieces of text in every dialect, and far before the last.
const CUT_AFTER: usize = 6 * 1024;

/// Streams that tell an error after some text.
const FAILURES: [(&str, &str); 4] = [
    (
        "m-fail-chat",
        r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"},"finish_reason":null}]}

data: {"error":{"message":"the model failed midway","type":"server_error","param":null,"code":"server_error"}}

"#,
    ),
    (
        "m-fail-responses",
        r#"event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1,"status":"in_progress","error":null,"incomplete_details":null,"instructions":null,"metadata":{},"model":"m","output":[],"parallel_tool_calls":true,"temperature":1,"tool_choice":"auto","tools":[],"top_p":1}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}

event: response.content_part.added
data: {"type":"response.content_part.added","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"Hello","logprobs":[]}

event: response.failed
data: {"type":"response.failed","sequence_number":4,"response":{"id":"resp_1","object":"response","created_at":1,"status":"failed","error":{"code":"server_error","message":"the model failed midway"},"incomplete_details":null,"instructions":null,"metadata":{},"model":"m","output":[],"parallel_tool_calls":true,"temperature":1,"tool_choice":"auto","tools":[],"top_p":1}}

"#,
    ),
    (
        "m-fail-messages",
        r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}

event: error
data: {"type":"error","error":{"type":"api_error","message":"the model failed midway"}}

"#,
    ),
    (
        "m-fail-gemini",
        "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"Hello\"}]},\"index\":0}],\
         \"modelVersion\":\"m\",\"responseId\":\"r\"}\r\n\r\n\
         data: {\"error\":{\"code\":500,\"message\":\"the model failed midway\",\"status\":\"INTERNAL\",\"details\":[]}}\
         \r\n\r\n",
    ),
];

impl FakeUpstream {
    /// Scripts [`SDK_MODELS`] for this key, `None` for any, and checks requests strictly. With a key, every other key
    /// is answered 401.
    pub fn preset_sdk<'k>(&self, key: impl Into<Option<&'k str>>) {
        let key = key.into();
        let script = |model: &str, step: Step| {
            drop(self.script(key, format!("gemini-3-{model}").as_str()).then(step.clone()));
            drop(self.script(key, model).then(step));
        };
        script("m1", Step::ok("Hello from the fake upstream"));
        script("m-reason", Step::answer(reasoning()));
        script("m-tool", Step::tool_turn(weather(&["Berlin"]), repeats_the_result()));
        script("m-tools", Step::tool_turn(weather(&["Berlin", "Paris"]), repeats_the_result()));
        script("m-now", Step::tool_turn(Answer::tool_call("get_time", &json!({})), repeats_the_result()));
        let thought = weather(&["Berlin"]).with_reasoning("Berlin it is");
        script("m-think", Step::tool_turn(thought, repeats_the_result()));
        script("m-seen", Step::ok("{seen}"));
        script("m-json", Step::Object(json!({ "city": "Berlin" })));
        script("m-cached", Step::answer(cached()));
        script("m-length", Step::answer(Answer::text("Hello fr").with_finish(crate::Finish::Length)));
        script("m-400", Step::error(400, "the request makes no sense"));
        script("m-401", Step::error(401, "the key is not valid"));
        script("m-429", Step::error(429, "rate limit reached, try again later").with_header("retry-after", "1"));
        script("m-limited", Step::error(429, "rate limit reached, try again later"));
        script("m-500", Step::error(500, "the model crashed"));
        script("m-503", Step::error(503, "the model is being loaded"));
        script("m-cut", Step::answer(long()).broken(CUT_AFTER, Break::Close));
        for (model, stream) in FAILURES {
            script(model, Step::sse([stream]));
        }
        drop(self.script(key, None).then(Step::error(404, "the model does not exist")));
        self.require_known_keys(key.is_some());
        self.strict(true);
    }
}

/// Agents, each with its own tool for commands and the name that the tool gives a command.
const AGENTS: [(&str, &str, &str); 4] = [
    ("m-claude", "Bash", "command"),
    ("m-codex", "exec_command", "cmd"),
    ("m-gemini", "run_shell_command", "command"),
    ("m-opencode", "bash", "command"),
];

impl FakeUpstream {
    /// Scripts one model per agent, each also by the name of a Gemini 3 model, and checks requests strictly: it reads
    /// `note.txt` with the agent's own tool and then repeats what that said. `m-aider`, whose agent has no tools, writes
    /// `note.txt` anew.
    pub fn preset_agents(&self) {
        let script = |model: &str, step: Step| {
            drop(self.script(None, format!("gemini-3-{model}").as_str()).then(step.clone()));
            drop(self.script(None, model).then(step));
        };
        for (model, tool, argument) in AGENTS {
            let call = json!({ argument: "cat note.txt", "description": "Reads the note" });
            script(model, Step::tool_turn(Answer::tool_call(tool, &call), repeats_the_result()));
        }
        script("m-aider", Step::ok("note.txt\n```\nwritten by the model\n```\n"));
        self.strict(true);
    }
}

fn reasoning() -> Answer {
    let usage = Usage { output: Some(20), reasoning: Some(9), ..Answer::DEFAULT_USAGE };
    Answer::text("The answer is 42").with_reasoning("Six times seven is forty-two").with_usage(usage)
}

fn weather(cities: &[&str]) -> Answer {
    cities.iter().fold(Answer::text(""), |answer, city| answer.with_tool_call("get_weather", &json!({ "city": city })))
}

fn repeats_the_result() -> Answer {
    Answer::text("The tool said: {tool_result}")
}

fn cached() -> Answer {
    let usage = Usage { input_fresh: Some(20), cache_read: Some(100), output: Some(7), ..Usage::default() };
    Answer::text("Hello from the cache").with_usage(usage)
}

fn long() -> Answer {
    Answer::text("All work and no play. ".repeat(20)).in_chunks(200, Duration::ZERO)
}
