//! What the checks with the official SDKs in `tests/sdk` rely on.

use domain::Usage;
use serde_json::json;

use crate::answer::Answer;
use crate::server::FakeUpstream;
use crate::step::Step;

/// The models of [`FakeUpstream::preset_sdk`]. Any other is answered 404.
///
/// `m1` answers plain text; `m-reason` reasons first; `m-tool` calls `get_weather` for Berlin, `m-tools` for Berlin and
/// Paris in parallel, and both then repeat the tool's last result; `m-cached` reports cached input; `m-length` stops at
/// the limit; `m-429` and `m-500` fail with those statuses.
pub const SDK_MODELS: [&str; 8] = ["m1", "m-reason", "m-tool", "m-tools", "m-cached", "m-length", "m-429", "m-500"];

impl FakeUpstream {
    /// Scripts [`SDK_MODELS`] for this key, `None` for any, and checks requests strictly. With a key, every other key
    /// is answered 401.
    pub fn preset_sdk<'k>(&self, key: impl Into<Option<&'k str>>) {
        let key = key.into();
        let script = |model: &str, step: Step| drop(self.script(key, model).then(step));
        script("m1", Step::ok("Hello from the fake upstream"));
        script("m-reason", Step::answer(reasoning()));
        script("m-tool", Step::tool_turn(weather(&["Berlin"]), repeats_the_result()));
        script("m-tools", Step::tool_turn(weather(&["Berlin", "Paris"]), repeats_the_result()));
        script("m-cached", Step::answer(cached()));
        script("m-length", Step::answer(Answer::text("Hello fr").with_finish(crate::Finish::Length)));
        script("m-429", Step::error(429, "rate limit reached, try again later").with_header("retry-after", "1"));
        script("m-500", Step::error(500, "the model crashed"));
        drop(self.script(key, None).then(Step::error(404, "the model does not exist")));
        self.require_known_keys(key.is_some());
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
