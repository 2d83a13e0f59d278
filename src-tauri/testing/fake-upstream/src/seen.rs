//! A request in words that are the same in every dialect, so that one expectation holds for all of them.
//!
//! An answer with `{seen}` in its text repeats these words to the client: what a gateway made of a request on its way
//! can be checked at the far end of a real SDK.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use domain::Dialect;
use serde_json::{Map, Value, json};

use crate::request::Ask;

/// What a request says. Members that say nothing are left out:
///
/// `system`, a text; `turns`, one line per part, `role: words`; `tools`, the names; `choice`, `any`, `none` or the name
/// of the one tool that must be called; `max`, `temperature`, `top_k`, `stop`; `reasoning`, `true` or `false`; `format`, `json`
/// or `schema`; `stream`.
pub(crate) fn seen(ask: &Ask) -> Value {
    let body = ask.json();
    let mut seen = match ask.dialect() {
        Dialect::Chat => chat(&body),
        Dialect::Responses => responses(&body),
        Dialect::Messages => messages(&body),
        Dialect::Gemini => gemini(&body),
    };
    seen["stream"] = json!(ask.stream);
    if let Value::Array(turns) = &mut seen["turns"] {
        join(turns);
    }
    if let Value::Object(members) = &mut seen {
        members.retain(|_, value| !is_silent(value));
    }
    seen
}

/// The tool that a request forces its answer to call, if it is a certain one.
pub(crate) fn forced_tool(ask: &Ask) -> Option<String> {
    let seen = seen(ask);
    match seen["choice"].as_str()? {
        "none" => None,
        "any" => match seen["tools"].as_array().map(Vec::as_slice) {
            Some([only]) => only.as_str().map(str::to_owned),
            _ => None,
        },
        name => Some(name.to_owned()),
    }
}

/// What the assistant said in pieces is one text.
fn join(turns: &mut Vec<Value>) {
    let spoken = |turn: &Value| {
        let words = turn.as_str()?.strip_prefix("assistant: ")?;
        let special = ["call ", "reasoning "].iter().any(|word| words.starts_with(word));
        (!special).then(|| words.to_owned())
    };
    turns.dedup_by(|next, before| match (spoken(before), spoken(next)) {
        (Some(first), Some(more)) => {
            *before = json!(format!("assistant: {first}{more}"));
            true
        }
        _ => false,
    });
}

fn is_silent(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(entries) => entries.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

fn entries(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn word<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// The text of a string, of text parts one after another, or of one part.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text).collect::<Vec<_>>().join("\n"),
        Value::Object(part) => part.get("text").map(text).unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

fn names(tools: &Value, name: impl Fn(&Value) -> &str) -> Vec<String> {
    entries(tools).iter().map(|tool| name(tool).to_owned()).collect()
}

/// `image/png 68 bytes` of base64 data in either alphabet, or what stands in its place.
fn data(mime: &str, base64: &str) -> String {
    match STANDARD.decode(base64).or_else(|_| URL_SAFE.decode(base64)) {
        Ok(bytes) => format!("{mime} {} bytes", bytes.len()),
        Err(_) => format!("{mime} that is not base64"),
    }
}

/// A data URL as [`data`], any other as it is.
fn url(url: &str) -> String {
    match url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) {
        Some((mime, base64)) => data(mime, base64),
        None => url.to_owned(),
    }
}

fn call(name: &str, arguments: &Value) -> String {
    let arguments = match arguments {
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| arguments.clone()),
        _ => arguments.clone(),
    };
    format!("call {name} {arguments}")
}

/// The words of a result; a failed one says so in the dialect's own way or begins with `Error: `.
fn result(text: &str, failed: bool) -> String {
    match (failed, text.strip_prefix("Error: ")) {
        (_, Some(rest)) => format!("failure {rest}"),
        (true, None) => format!("failure {text}"),
        (false, None) => format!("result {text}"),
    }
}

fn choice(value: &Value, name: &Value) -> Value {
    match value.as_str().or_else(|| value["type"].as_str()) {
        Some("required" | "any" | "ANY") => json!("any"),
        Some("none" | "NONE") => json!("none"),
        Some("function" | "tool" | "custom") => name.clone(),
        _ => Value::Null,
    }
}

fn format(value: &Value) -> Value {
    match value["type"].as_str() {
        Some("json_schema") => json!("schema"),
        Some("json_object") => json!("json"),
        _ => Value::Null,
    }
}

fn effort(value: &Value) -> Value {
    value.as_str().map_or(Value::Null, |word| json!(word != "none"))
}

fn chat(body: &Value) -> Value {
    let (mut system, mut turns) = (Vec::new(), Vec::new());
    for message in entries(&body["messages"]) {
        let role = word(message, "role");
        let content = &message["content"];
        if matches!(role, "system" | "developer") && turns.is_empty() {
            system.push(text(content));
            continue;
        }
        if role == "tool" {
            turns.push(format!("user: {}", result(&text(content), false)));
            continue;
        }
        if let Some(reasoning) = message["reasoning_content"].as_str().filter(|text| !text.is_empty()) {
            turns.push(format!("{role}: reasoning {reasoning}"));
        }
        turns.extend(parts(role, content, |part| match word(part, "type") {
            "image_url" => url(word(&part["image_url"], "url")),
            "file" => url(word(&part["file"], "file_data")),
            "input_audio" => data(word(&part["input_audio"], "format"), word(&part["input_audio"], "data")),
            _ => text(part),
        }));
        let calls = entries(&message["tool_calls"]).iter();
        let calls = calls.map(|made| call(word(&made["function"], "name"), &made["function"]["arguments"]));
        turns.extend(calls.map(|words| format!("{role}: {words}")));
    }
    let max = if body["max_tokens"].is_null() { &body["max_completion_tokens"] } else { &body["max_tokens"] };
    let stop = if body["stop"].is_string() { json!([body["stop"]]) } else { body["stop"].clone() };
    json!({
        "system": system.join("\n"), "turns": turns,
        "tools": names(&body["tools"], |tool| word(&tool["function"], "name")),
        "choice": choice(&body["tool_choice"], &body["tool_choice"]["function"]["name"]),
        "max": max, "temperature": body["temperature"], "top_k": body["top_k"], "stop": stop,
        "reasoning": effort(&body["reasoning_effort"]), "format": format(&body["response_format"]),
    })
}

/// One line for a text, one for each of several parts.
fn parts(role: &str, content: &Value, part: impl Fn(&Value) -> String) -> Vec<String> {
    match content {
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![format!("{role}: {text}")],
        _ => entries(content).iter().map(|value| format!("{role}: {}", part(value))).collect(),
    }
}

fn responses(body: &Value) -> Value {
    let mut system: Vec<String> = body["instructions"].as_str().map(str::to_owned).into_iter().collect();
    let mut turns = Vec::new();
    if body["input"].is_string() {
        turns.push(format!("user: {}", text(&body["input"])));
    }
    for item in entries(&body["input"]) {
        let role = word(item, "role");
        match word(item, "type") {
            "function_call" => turns.push(format!("assistant: {}", call(word(item, "name"), &item["arguments"]))),
            "function_call_output" => {
                turns.push(format!("user: {}", result(&text_and_media(&item["output"]), false)));
            }
            "reasoning" => turns.push(format!("assistant: reasoning {}", text(&item["summary"]))),
            _ if matches!(role, "system" | "developer") && turns.is_empty() => system.push(text(&item["content"])),
            _ => turns.extend(parts(role, &item["content"], input_part)),
        }
    }
    json!({
        "system": system.join("\n"), "turns": turns,
        "tools": names(&body["tools"], |tool| word(tool, "name")),
        "choice": choice(&body["tool_choice"], &body["tool_choice"]["name"]),
        "max": body["max_output_tokens"], "temperature": body["temperature"],
        "reasoning": effort(&body["reasoning"]["effort"]), "format": format(&body["text"]["format"]),
    })
}

fn input_part(part: &Value) -> String {
    match word(part, "type") {
        "input_image" => url(word(part, "image_url")),
        "input_file" if part["file_data"].is_string() => url(word(part, "file_data")),
        "input_file" => word(part, "file_url").to_owned(),
        _ => text(part),
    }
}

fn text_and_media(output: &Value) -> String {
    match output {
        Value::Array(parts) => parts.iter().map(input_part).collect::<Vec<_>>().join("\n"),
        _ => text(output),
    }
}

fn messages(body: &Value) -> Value {
    let mut turns = Vec::new();
    for message in entries(&body["messages"]) {
        let role = word(message, "role");
        turns.extend(parts(role, &message["content"], block));
    }
    let thinking = match word(&body["thinking"], "type") {
        "enabled" | "adaptive" => json!(true),
        "disabled" => json!(false),
        _ => Value::Null,
    };
    json!({
        "system": text(&body["system"]), "turns": turns,
        "tools": names(&body["tools"], |tool| word(tool, "name")),
        "choice": choice(&body["tool_choice"], &body["tool_choice"]["name"]),
        "max": body["max_tokens"], "temperature": body["temperature"], "top_k": body["top_k"],
        "stop": body["stop_sequences"],
        "reasoning": thinking, "format": format(&body["output_config"]["format"]),
    })
}

fn block(block: &Value) -> String {
    match word(block, "type") {
        "image" | "document" => {
            let source = &block["source"];
            match word(source, "type") {
                "base64" => data(word(source, "media_type"), word(source, "data")),
                "text" => word(source, "data").to_owned(),
                _ => word(source, "url").to_owned(),
            }
        }
        "thinking" => format!("reasoning {}", word(block, "thinking")),
        "tool_use" => call(word(block, "name"), &block["input"]),
        "tool_result" => {
            let content = match &block["content"] {
                Value::Array(blocks) => blocks.iter().map(self::block).collect::<Vec<_>>().join("\n"),
                content => text(content),
            };
            result(&content, block["is_error"] == true)
        }
        _ => text(block),
    }
}

fn gemini(body: &Value) -> Value {
    let config = &body["generationConfig"];
    let mut turns = Vec::new();
    for content in entries(&body["contents"]) {
        let role = if content["role"] == "model" { "assistant" } else { "user" };
        turns.extend(entries(&content["parts"]).iter().map(|part| format!("{role}: {}", gemini_part(part))));
    }
    let tools = entries(&body["tools"]).iter().flat_map(|group| entries(&group["functionDeclarations"]));
    let calling = &body["toolConfig"]["functionCallingConfig"];
    let choice = match entries(&calling["allowedFunctionNames"]) {
        [only] => only.clone(),
        _ => choice(&calling["mode"], &Value::Null),
    };
    let thinking = &config["thinkingConfig"];
    let reasoning = match (thinking["thinkingBudget"].as_i64(), thinking["thinkingLevel"].as_str()) {
        (Some(budget), _) => json!(budget != 0),
        (None, Some(_)) => json!(true),
        (None, None) => Value::Null,
    };
    let has_schema = !config["responseSchema"].is_null() || !config["responseJsonSchema"].is_null();
    let format = match (word(config, "responseMimeType"), has_schema) {
        ("application/json", true) => json!("schema"),
        ("application/json", false) => json!("json"),
        _ => Value::Null,
    };
    json!({
        "system": text(&body["systemInstruction"]["parts"]), "turns": turns,
        "tools": tools.map(|tool| word(tool, "name")).collect::<Vec<_>>(), "choice": choice,
        "max": config["maxOutputTokens"], "temperature": config["temperature"], "top_k": config["topK"],
        "stop": config["stopSequences"],
        "reasoning": reasoning, "format": format,
    })
}

fn gemini_part(part: &Value) -> String {
    if let Some(inline) = part.get("inlineData") {
        return data(word(inline, "mimeType"), word(inline, "data"));
    }
    if let Some(file) = part.get("fileData") {
        return word(file, "fileUri").to_owned();
    }
    if let Some(made) = part.get("functionCall") {
        let arguments = made.get("args").cloned().unwrap_or_else(|| Value::Object(Map::new()));
        return call(word(made, "name"), &arguments);
    }
    if let Some(response) = part.get("functionResponse") {
        let response = &response["response"];
        return match response.get("error") {
            Some(error) => result(&text(error), true),
            None => result(
                &text(["output", "result", "content"].iter().find_map(|name| response.get(*name)).unwrap_or(response)),
                false,
            ),
        };
    }
    let said = word(part, "text");
    if part["thought"] == true { format!("reasoning {said}") } else { said.to_owned() }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::Request;

    use super::*;

    fn ask(uri: &str, body: &Value) -> Ask {
        let request = Request::post(uri).body(()).unwrap();
        Ask::read(&request.into_parts().0, Bytes::from(body.to_string()))
    }

    #[test]
    fn one_conversation_reads_alike_in_every_dialect() {
        let expected = json!({
            "system": "Be brief", "stream": false, "tools": ["f"], "choice": "f", "max": 99,
            "turns": ["user: Hi", "user: image/png 3 bytes", "assistant: call f {\"a\":1}", "user: failure no"],
        });
        let tool = json!({ "name": "f" });
        for (uri, body) in [
            (
                "/v1/chat/completions",
                json!({
                    "tools": [{ "function": tool }], "max_tokens": 99,
                    "tool_choice": { "type": "function", "function": tool },
                    "messages": [
                        { "role": "system", "content": "Be brief" },
                        { "role": "user", "content": [
                            { "type": "text", "text": "Hi" },
                            { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } },
                        ]},
                        { "role": "assistant", "tool_calls": [{ "function": { "name": "f", "arguments": "{\"a\":1}" } }] },
                        { "role": "tool", "content": "Error: no" },
                    ],
                }),
            ),
            (
                "/v1/responses",
                json!({
                    "tools": [tool], "max_output_tokens": 99, "tool_choice": { "type": "function", "name": "f" },
                    "instructions": "Be brief",
                    "input": [
                        { "role": "user", "content": [
                            { "type": "input_text", "text": "Hi" },
                            { "type": "input_image", "image_url": "data:image/png;base64,AAAA" },
                        ]},
                        { "type": "function_call", "name": "f", "arguments": "{\"a\":1}" },
                        { "type": "function_call_output", "output": "Error: no" },
                    ],
                }),
            ),
            (
                "/v1/messages",
                json!({
                    "tools": [tool], "max_tokens": 99, "tool_choice": { "type": "tool", "name": "f" },
                    "system": [{ "type": "text", "text": "Be brief" }],
                    "messages": [
                        { "role": "user", "content": [
                            { "type": "text", "text": "Hi" },
                            { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AAAA" } },
                        ]},
                        { "role": "assistant", "content": [{ "type": "tool_use", "name": "f", "input": { "a": 1 } }] },
                        { "role": "user", "content": [{ "type": "tool_result", "content": "no", "is_error": true }] },
                    ],
                }),
            ),
            (
                "/v1beta/models/m:generateContent",
                json!({
                    "tools": [{ "functionDeclarations": [tool] }], "generationConfig": { "maxOutputTokens": 99 },
                    "toolConfig": { "functionCallingConfig": { "mode": "ANY", "allowedFunctionNames": ["f"] } },
                    "systemInstruction": { "parts": [{ "text": "Be brief" }] },
                    "contents": [
                        { "role": "user", "parts": [
                            { "text": "Hi" }, { "inlineData": { "mimeType": "image/png", "data": "AAAA" } },
                        ]},
                        { "role": "model", "parts": [{ "functionCall": { "name": "f", "args": { "a": 1 } } }] },
                        { "role": "user", "parts": [{ "functionResponse": { "response": { "error": "no" } } }] },
                    ],
                }),
            ),
        ] {
            let ask = ask(uri, &body);
            assert_eq!(seen(&ask), expected, "{uri}");
            assert_eq!(forced_tool(&ask).as_deref(), Some("f"), "{uri}");
        }
    }

    #[test]
    fn the_only_tool_of_a_request_that_must_call_one_is_forced() {
        for (tools, forced) in
            [(json!([{ "name": "f" }]), Some("f")), (json!([{ "name": "f" }, { "name": "g" }]), None)]
        {
            let body = json!({ "tools": tools, "tool_choice": { "type": "any" } });
            assert_eq!(forced_tool(&ask("/v1/messages", &body)).as_deref(), forced);
        }
    }
}
