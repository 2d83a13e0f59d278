//! Bytes that only a faithful gateway hands on unchanged.

use acceptance::Ask;
pub(crate) use acceptance::{beginning, empty_stream, error_event};
use domain::Dialect;

/// A request full of things that a parser would tidy up; the model is `{m}`, once, where the dialect has it.
pub(crate) fn odd_request(dialect: Dialect, stream: bool) -> String {
    let oddities = r#""unknown" : [1e400, 9007199254740993, -0.0, 18446744073709551616, "é\u00e9\ud83d\ude00\/"]"#;
    let flag = if stream { "\"stream\" :true , " } else { "" };
    let body = match dialect {
        Dialect::Chat => {
            r#""model" : "{m}" ,"messages":[{"content":"model\": \"x","role":"user"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"n\":9007199254740993}"}}]},{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"日本"}]}], "z":{"model":"openai/m1"}"#
        }
        Dialect::Responses => {
            r#""input":[{"role":"user","content":"no type"},{"type":"reasoning","id":"rs_1","summary":[],"content":null,"encrypted_content":"gAAA=="},{"type":"additional_tools","role":"developer","tools":[{"type":"custom","format":{"type":"grammar","syntax":"lark"}}]}],"model":"{m}","store":false,"include":["reasoning.encrypted_content"],"client_metadata":{"b":1,"a":2}"#
        }
        Dialect::Messages => {
            r#""max_tokens":64000,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"Let me\u2026 think","signature":"EqQBCkYIBxgCKkA+/=="},{"type":"tool_use","id":"t1","name":"f","input":{"b":1,"a":9007199254740993}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok","cache_control":{"type":"ephemeral"}}]},{"role":"system","content":"mid"}],"model":"{m}","thinking":{"type":"adaptive"},"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}"#
        }
        Dialect::Gemini => {
            r#""contents":[{"parts":[{"functionCall":{"name":"f","args":{"b":1,"a":9007199254740993}},"thoughtSignature":"AbC+/=="}],"role":"model"},{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"_-8="}}]}],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}"#
        }
    };
    let flag = if dialect == Dialect::Gemini { "" } else { flag };
    format!("{{ {oddities},{flag}\t{body} \n}}\n")
}

/// A whole answer with the same kind of oddities.
pub(crate) fn odd_answer(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Chat => {
            "{ \"id\":\"x\", \"zzz\":9007199254740993 ,\"choices\":[{\"finish_reason\":\"stop\",\"index\":0,\"message\":{\"content\":\"Gr\\u00fc\u{df}e \u{1F600}\",\"role\":\"assistant\",\"new_field\":[1e400]}}],\"model\":\"someone-elses-name\",\"object\":\"chat.completion\"}\r\n"
        }
        Dialect::Responses => {
            "{\"status\":\"completed\", \"output\":[{\"type\":\"reasoning\",\"id\":\"rs\",\"summary\":[],\"encrypted_content\":\"gAA==\"},{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"\u{65e5}\u{672c}\",\"logprobs\":[]}]}],\"id\":\"resp_1\",\"n\":18446744073709551616}\n"
        }
        Dialect::Messages => {
            "{\"type\":\"message\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"EqQB+/==\"},{\"type\":\"text\",\"text\":\"a\\/b\"}],\"role\":\"assistant\",\"model\":\"x\",\"stop_reason\":\"end_turn\",\"usage\":{\"output_tokens\":1,\"input_tokens\":2,\"server_tool_use\":null}}"
        }
        Dialect::Gemini => {
            "{\n  \"candidates\": [{\"content\": {\"parts\": [{\"text\": \"hi\", \"thoughtSignature\": \"A/+=\"}], \"role\": \"model\"}, \"finishReason\": \"STOP\", \"index\": 0}],\n  \"big\": 9007199254740993\n}\n"
        }
    }
}

/// A whole stream with comments, mixed line ends, several data lines, unknown fields and characters of every width.
pub(crate) fn odd_stream(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Chat => concat!(
            ": a comment before anything\r\n\r\n",
            "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}],\"z\":9007199254740993}\r\n\r\n",
            "data:{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Gr\u{fc}\u{df}e \u{65e5}\u{672c} \u{1F600}\"}}]}\n\n",
            "id: 7\rretry: 3000\rdata: {\"id\":\"c\",\"choices\":\rdata: [{\"index\":0,\"delta\":{\"reasoning_content\":\"hm\"}}]}\r\r",
            ": ping\n\n",
            "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
            "data: [DONE]\n\n"
        ),
        Dialect::Responses => concat!(
            "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\",\"status\":\"in_progress\"}}\n\n",
            "event: response.some_new_event\ndata: {\"type\":\"response.some_new_event\",\"sequence_number\":1,\"n\":18446744073709551616}\n\n",
            "event: response.output_text.delta\r\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":2,\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"delta\":\"\u{1F600}\u{e9}\"}\r\n\r\n",
            ": keep-alive\n\n",
            "event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":3,\"response\":{\"id\":\"resp_1\",\"status\":\"completed\",\"output\":[]}}\n\n"
        ),
        Dialect::Messages => concat!(
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n",
            "event: ping\ndata: {\"type\": \"ping\"}\n\n",
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"h\u{fc}m\"}}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"EqQB+/==\"}}\r\n\r\n",
            "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
            "event: a_later_invention\ndata: {\"type\":\"a_later_invention\",\"n\":9007199254740993}\n\n",
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"\u{65e5}\u{672c}\u{8a9e}\"}}\n\n",
            "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
            "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":9}}\n\n",
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
        ),
        Dialect::Gemini => concat!(
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Gr\u{fc}\u{df}e \u{1F600}\"}],\"role\":\"model\"},\"index\":0}],\"z\":9007199254740993}\r\n\r\n",
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"f\",\"args\":{}},\"thoughtSignature\":\"A+/=\"}],\"role\":\"model\"},\"finishReason\":\"STOP\",\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":3,\"candidatesTokenCount\":2}}\r\n\r\n"
        ),
    }
}

/// The stream cut into chunks of this many bytes, whatever that splits.
pub(crate) fn in_chunks(stream: &str, size: usize) -> Vec<Vec<u8>> {
    stream.as_bytes().chunks(size).map(<[u8]>::to_vec).collect()
}

/// The word by which clients of the dialect tell an error with this status.
pub(crate) fn error_word(dialect: Dialect, status: u16) -> &'static str {
    let column = match dialect {
        Dialect::Chat | Dialect::Responses => 0,
        Dialect::Messages => 1,
        Dialect::Gemini => 2,
    };
    let row = match status {
        400 => ["bad_request", "invalid_request_error", "INVALID_ARGUMENT"],
        401 => ["invalid_api_key", "authentication_error", "UNAUTHENTICATED"],
        403 => ["permission_denied", "permission_error", "PERMISSION_DENIED"],
        404 => ["model_not_found", "not_found_error", "NOT_FOUND"],
        413 => ["request_too_large", "request_too_large", "INVALID_ARGUMENT"],
        415 => ["unsupported_media_type", "invalid_request_error", "INVALID_ARGUMENT"],
        429 => ["rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED"],
        502 => ["bad_gateway", "api_error", "UNAVAILABLE"],
        504 => ["gateway_timeout", "timeout_error", "DEADLINE_EXCEEDED"],
        other => panic!("no word for {other}"),
    };
    row[column]
}

/// Asserts that a refusal has the status, and is in the dialect that was asked in.
pub(crate) fn assert_refused(ask: &Ask, reply: &acceptance::Reply, status: u16) {
    let name = format!("{:?} {}: {}", ask.dialect, reply.status, reply.text());
    assert_eq!(reply.status, status, "{name}");
    assert_eq!(reply.header("content-type"), Some("application/json"), "{name}");
    let json = reply.json();
    assert!(!reply.error_message().is_empty(), "{name}");
    assert_eq!(reply.error_word(), error_word(ask.dialect, status), "{name}");
    match ask.dialect {
        Dialect::Chat | Dialect::Responses => {
            assert!(json["error"]["type"].is_string() && json["error"]["code"].is_string(), "{name}");
            assert!(json["error"].as_object().is_some_and(|error| error.contains_key("param")), "{name}");
        }
        Dialect::Messages => {
            assert_eq!(json["type"], "error", "{name}");
            assert!(json["request_id"].is_string(), "{name}");
        }
        Dialect::Gemini => assert_eq!(json["error"]["code"], status, "{name}"),
    }
}
