//! What Gemini's generateContent refuses.

use serde_json::Value;

use super::rules::{Verdict, base64, distinct, entries, known, list, require, text, within};
use crate::dialects::SIGNATURE;

const MEMBERS: [&str; 9] = [
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "safetySettings",
    "generationConfig",
    "cachedContent",
    "labels",
    "model",
];
const CONFIG: [&str; 21] = [
    "candidateCount",
    "stopSequences",
    "maxOutputTokens",
    "temperature",
    "topP",
    "topK",
    "seed",
    "presencePenalty",
    "frequencyPenalty",
    "responseMimeType",
    "responseSchema",
    "responseJsonSchema",
    "_responseJsonSchema",
    "responseLogprobs",
    "logprobs",
    "responseModalities",
    "speechConfig",
    "thinkingConfig",
    "imageConfig",
    "mediaResolution",
    "enableEnhancedCivicAnswers",
];
/// Exactly one of these makes a part what it is.
const PART: [&str; 7] =
    ["text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult"];
const BESIDE: [&str; 4] = ["thought", "thoughtSignature", "videoMetadata", "mediaResolution"];
/// The words of the schema subset.
const SCHEMA: [&str; 22] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
    "default",
    "items",
    "minimum",
    "maximum",
];
const FORMATS: [&str; 6] = ["date-time", "enum", "int32", "int64", "float", "double"];
const MOST_STOPS: usize = 5;
const LONGEST_NAME: usize = 64;
/// Models that want every step of the current turn signed.
const SIGNING: &str = "gemini-3";
/// The documented word for a call whose signature is lost.
const SKIPPED: &str = "skip_thought_signature_validator";

pub(super) fn check(model: &str, body: &Value) -> Verdict {
    known("body", body, &MEMBERS)?;
    config(&body["generationConfig"])?;
    tools(body)?;
    for part in entries(&body["systemInstruction"]["parts"]) {
        require(part["text"].is_string(), || "systemInstruction: only text is supported")?;
    }
    conversation(list(body, "contents")?, model.starts_with(SIGNING))
}

fn config(config: &Value) -> Verdict {
    known("generationConfig", config, &CONFIG)?;
    within(config, "temperature", 0.0, 2.0)?;
    within(config, "topP", 0.0, 1.0)?;
    require(entries(&config["stopSequences"]).len() <= MOST_STOPS, || "stopSequences: at most 5")?;
    let thinking = &config["thinkingConfig"];
    known("thinkingConfig", thinking, &["includeThoughts", "thinkingBudget", "thinkingLevel"])?;
    require(
        thinking["thinkingBudget"].is_null() || thinking["thinkingLevel"].is_null(),
        || "thinkingConfig: a budget and a level exclude each other",
    )?;
    let (own, full) = (&config["responseSchema"], &config["responseJsonSchema"]);
    require(own.is_null() || full.is_null(), || "generationConfig: one schema at most")?;
    let json = config["responseMimeType"] == "application/json" || config["responseMimeType"] == "text/x.enum";
    require(json || (own.is_null() && full.is_null()), || "responseMimeType: must be JSON with a schema")?;
    if own.is_null() { Ok(()) } else { schema("responseSchema", own) }
}

fn tools(body: &Value) -> Verdict {
    let groups = entries(&body["tools"]);
    let declarations: Vec<&Value> = groups.iter().flat_map(|group| entries(&group["functionDeclarations"])).collect();
    let searches = groups.iter().any(|group| !group["googleSearch"].is_null());
    require(!searches || declarations.is_empty(), || "tools: search cannot be combined with function calling")?;
    distinct("tools", declarations.iter().map(|tool| text(tool, "name")))?;
    for tool in &declarations {
        let members = ["name", "description", "parameters", "parametersJsonSchema", "behavior", "response"];
        known("functionDeclarations", tool, &members)?;
        function_name(text(tool, "name"))?;
        require(
            tool["parameters"].is_null() || tool["parametersJsonSchema"].is_null(),
            || "functionDeclarations: parameters and parametersJsonSchema exclude each other",
        )?;
        if !tool["parameters"].is_null() {
            schema("functionDeclarations", &tool["parameters"])?;
        }
    }
    let calling = &body["toolConfig"]["functionCallingConfig"];
    let allowed = entries(&calling["allowedFunctionNames"]);
    require(
        allowed.is_empty() || ["ANY", "VALIDATED"].contains(&text(calling, "mode")),
        || "allowedFunctionNames: only with mode ANY",
    )?;
    let declared = |name: &Value| declarations.iter().any(|tool| tool["name"] == *name);
    require(allowed.iter().all(declared), || "allowedFunctionNames: not among the declared functions")
}

fn function_name(name: &str) -> Verdict {
    let starts = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let fits = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b'-'));
    require(starts && fits && name.len() <= LONGEST_NAME, || format!("the function name `{name}` is not allowed"))
}

fn schema(place: &str, value: &Value) -> Verdict {
    require(value.is_object(), || format!("{place}: a schema must be an object"))?;
    known(place, value, &SCHEMA)?;
    require(value["type"].is_string() || !value["anyOf"].is_null(), || format!("{place}: a schema needs one type"))?;
    let format = value["format"].as_str();
    require(format.is_none_or(|word| FORMATS.contains(&word)), || format!("{place}: unsupported format"))?;
    let is_text = value["type"].as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("string"));
    require(value["enum"].is_null() || is_text, || format!("{place}: enum is only allowed for strings"))?;
    let texts = entries(&value["enum"]).iter().all(|word| word.as_str().is_some_and(|word| !word.is_empty()));
    require(texts, || format!("{place}: enum values must be texts that are not empty"))?;
    let is_list = value["type"].as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("array"));
    require(!is_list || value["items"].is_object(), || format!("{place}: items: missing field"))?;
    let properties = value["properties"].as_object();
    for name in entries(&value["required"]).iter().filter_map(Value::as_str) {
        let defined = properties.is_some_and(|properties| properties.contains_key(name));
        require(defined, || format!("{place}: required: the property `{name}` is not defined"))?;
    }
    let inner = properties.into_iter().flat_map(|properties| properties.values());
    inner.chain(entries(&value["anyOf"])).chain(value.get("items")).try_for_each(|inner| schema(place, inner))
}

fn conversation(contents: &[Value], is_signed: bool) -> Verdict {
    // Signatures are asked for since the last thing the user said.
    let said = |content: &Value| {
        content["role"] != "model" && entries(&content["parts"]).iter().all(|part| part["functionResponse"].is_null())
    };
    let current = contents.iter().rposition(said).unwrap_or(0);
    let mut open: Vec<&str> = Vec::new();
    for (index, content) in contents.iter().enumerate() {
        let role = content["role"].as_str();
        require(role.is_none_or(|role| ["user", "model"].contains(&role)), || "contents: role must be user or model")?;
        let parts = entries(&content["parts"]);
        require(!parts.is_empty(), || "contents: parts must not be empty")?;
        parts.iter().try_for_each(check_part)?;
        let responses: Vec<&Value> = parts.iter().filter_map(|part| part.get("functionResponse")).collect();
        require(
            responses.len() == open.len(),
            || "contents: the number of function responses must equal that of the calls in the turn before",
        )?;
        for response in responses {
            let name = text(response, "name");
            require(response["response"].is_object(), || "contents: functionResponse.response must be an object")?;
            let at = open.iter().position(|called| *called == name);
            let at = at.ok_or_else(|| format!("contents: function response `{name}` follows no call of it"))?;
            open.remove(at);
        }
        let calls: Vec<&Value> = parts.iter().filter(|part| part.get("functionCall").is_some()).collect();
        if let Some(first) = calls.first() {
            require(index > 0, || "contents: a function call must come after a user turn or a function response")?;
            require(!is_signed || index < current || first["thoughtSignature"].is_string(), || {
                format!("function call `{}` is missing a thought_signature", text(&first["functionCall"], "name"))
            })?;
        }
        open.extend(calls.iter().map(|call| text(&call["functionCall"], "name")));
    }
    require(open.is_empty(), || "contents: every function call needs its response")
}

fn check_part(part: &Value) -> Verdict {
    known("parts", part, &[&PART[..], &BESIDE].concat())?;
    let kinds = PART.iter().filter(|name| part.get(**name).is_some()).count();
    let signature_only = kinds == 0 && part["thoughtSignature"].is_string();
    require(kinds == 1 || signature_only, || "parts: exactly one kind of data is required")?;
    if let Some(inline) = part.get("inlineData") {
        require(!text(inline, "mimeType").is_empty(), || "inlineData: mimeType is required")?;
        base64("inlineData", text(inline, "data"))?;
    }
    if let Some(file) = part.get("fileData") {
        let uri = text(file, "fileUri");
        let known = ["https://generativelanguage.googleapis.com/", "gs://", "https://www.youtube.com/"];
        require(known.iter().any(|origin| uri.starts_with(origin)), || format!("fileData: cannot fetch `{uri}`"))?;
    }
    if let Some(call) = part.get("functionCall") {
        require(call["args"].is_null() || call["args"].is_object(), || "functionCall: args must be an object")?;
    }
    let signature = part["thoughtSignature"].as_str();
    require(
        signature.is_none_or(|signature| [SIGNATURE, SKIPPED].contains(&signature)),
        || "thought signature is not valid",
    )
}
