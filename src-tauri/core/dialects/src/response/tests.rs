use super::*;
use crate::error::ErrorOrigin::{Garbled, Stated};

fn usage(
    input_fresh: u64,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    output: u64,
    reasoning: Option<u64>,
) -> Usage {
    Usage {
        input_fresh: Some(input_fresh),
        cache_read,
        cache_write,
        output: Some(output),
        reasoning,
        ..Usage::default()
    }
}

#[test]
fn answers_of_every_dialect_say_the_same() {
    for (operation, body, finish, expected) in [
        (
            Operation::ChatCompletions,
            r#"{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],
               "usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4},
               "completion_tokens_details":{"reasoning_tokens":2}}}"#,
            FinishReason::End,
            usage(6, Some(4), None, 5, Some(2)),
        ),
        (
            Operation::Responses,
            r#"{"id":"r","model":"m","object":"response","status":"completed","error":null,"incomplete_details":null,
               "output":[{"type":"reasoning","summary":[]},{"type":"message","content":[{"type":"output_text","text":"hi"}]}],
               "usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":5,
               "output_tokens_details":{"reasoning_tokens":2}}}"#,
            FinishReason::End,
            usage(6, Some(4), None, 5, Some(2)),
        ),
        (
            Operation::Messages,
            r#"{"id":"a","type":"message","model":"m","content":[{"type":"thinking","thinking":"hm"},{"type":"tool_use","id":"t",
               "name":"ls","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":6,"cache_read_input_tokens":4,
               "cache_creation_input_tokens":3,"output_tokens":5}}"#,
            FinishReason::ToolCalls,
            usage(6, Some(4), Some(3), 5, None),
        ),
        (
            Operation::GenerateContent,
            r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"functionCall":{"name":"ls"}}]},
               "finishReason":"STOP"}],"modelVersion":"m","usageMetadata":{"promptTokenCount":8,"toolUsePromptTokenCount":2,
               "cachedContentTokenCount":4,"candidatesTokenCount":3,"thoughtsTokenCount":2}}"#,
            FinishReason::ToolCalls,
            usage(6, Some(4), None, 5, Some(2)),
        ),
    ] {
        let found = inspect(operation, body.as_bytes());
        assert_eq!(found.error, None, "{operation:?}");
        assert_eq!((found.has_output, found.finish), (true, Some(finish)), "{operation:?}");
        assert_eq!(found.usage, expected, "{operation:?}");
        assert_eq!(found.model.as_deref(), Some("m"), "{operation:?}");
    }
}

#[test]
fn empty_is_told_from_output_and_from_reasoning() {
    for (operation, body, output, reasoning, finish) in [
        (
            Operation::ChatCompletions,
            r#"{"choices":[{"message":{"content":null},"finish_reason":"stop"}]}"#,
            false,
            false,
            Some(FinishReason::End),
        ),
        (
            Operation::ChatCompletions,
            r#"{"choices":[{"message":{"content":"","reasoning_content":"hm"}}]}"#,
            false,
            true,
            None,
        ),
        (
            Operation::ChatCompletions,
            r#"{"choices":[{"message":{"tool_calls":[{"id":"t"}]},"finish_reason":"stop"}]}"#,
            true,
            false,
            Some(FinishReason::ToolCalls),
        ),
        (
            Operation::ChatCompletions,
            r#"{"choices":[{"message":{"tool_calls":[{}]},"finish_reason":"length"}]}"#,
            true,
            false,
            Some(FinishReason::Length),
        ),
        (
            Operation::ChatCompletions,
            r#"{"choices":[{"message":{"refusal":"no"},"finish_reason":"content_filter"}]}"#,
            true,
            false,
            Some(FinishReason::Filter),
        ),
        (Operation::ChatCompletions, r#"{"choices":[]}"#, false, false, None),
        (
            Operation::Responses,
            r#"{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}"#,
            false,
            false,
            Some(FinishReason::Length),
        ),
        (
            Operation::Responses,
            r#"{"status":"completed","output":[{"type":"web_search_call"}]}"#,
            true,
            false,
            Some(FinishReason::End),
        ),
        (Operation::Messages, r#"{"content":[],"stop_reason":"end_turn"}"#, false, false, Some(FinishReason::End)),
        (
            Operation::Messages,
            r#"{"content":[{"type":"redacted_thinking","data":"x"}],"stop_reason":"refusal"}"#,
            false,
            true,
            Some(FinishReason::Filter),
        ),
        (
            Operation::GenerateContent,
            r#"{"candidates":[{"finishReason":"STOP"}]}"#,
            false,
            false,
            Some(FinishReason::End),
        ),
        (
            Operation::GenerateContent,
            r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#,
            false,
            false,
            Some(FinishReason::Filter),
        ),
        (
            Operation::GenerateContent,
            r#"{"response":{"candidates":[{"content":{"parts":[{"text":"x"}]}}]}}"#,
            true,
            false,
            None,
        ),
        (
            Operation::StreamGenerateContent,
            r#"[{"candidates":[{"content":{"parts":[{"text":"x"}]}}]},{"candidates":[{"finishReason":"STOP"}]}]"#,
            true,
            false,
            Some(FinishReason::End),
        ),
        (Operation::Embeddings, r#"{"data":[{"embedding":[0.1]}],"usage":{"prompt_tokens":3}}"#, true, false, None),
        (Operation::CountTokens, r#"{"input_tokens":9}"#, true, false, None),
        (Operation::GeminiCountTokens, r#"{"totalTokens":9}"#, true, false, None),
        (Operation::EmbedContent, r#"{"embedding":{"values":[]}}"#, true, false, None),
        (Operation::BatchEmbedContents, r#"{"embeddings":[{}]}"#, true, false, None),
    ] {
        let found = inspect(operation, body.as_bytes());
        assert_eq!(found.error, None, "{body}");
        assert_eq!((found.has_output, found.has_reasoning, found.finish), (output, reasoning, finish), "{body}");
    }
}

#[test]
fn an_error_behind_a_good_status_is_found() {
    for (operation, body, origin, code, message) in [
        (
            Operation::ChatCompletions,
            r#"{"error":{"message":"slow","code":"rate_limit_exceeded"}}"#,
            Stated,
            Some("rate_limit_exceeded"),
            "slow",
        ),
        (
            Operation::ChatCompletions,
            r#"{"base_resp":{"status_code":1004,"status_msg":"login"},"choices":null}"#,
            Stated,
            Some("1004"),
            "login",
        ),
        (Operation::ChatCompletions, r#"{"detail":"gone"}"#, Garbled, None, "gone"),
        (
            Operation::ChatCompletions,
            r#"{"choices":[{"error":{"code":502,"message":"down"},"finish_reason":null}]}"#,
            Stated,
            Some("502"),
            "down",
        ),
        (
            Operation::ChatCompletions,
            r#"{"choices":[{"message":{},"finish_reason":"insufficient_system_resource"}]}"#,
            Stated,
            Some("insufficient_system_resource"),
            "the upstream ended the answer with `insufficient_system_resource`",
        ),
        (
            Operation::Responses,
            r#"{"status":"failed","error":{"code":"server_error","message":"oops"},"output":[]}"#,
            Stated,
            Some("server_error"),
            "oops",
        ),
        (
            Operation::Responses,
            r#"{"status":"cancelled","output":[]}"#,
            Stated,
            Some("cancelled"),
            "the upstream ended the answer with `cancelled`",
        ),
        (
            Operation::GenerateContent,
            r#"[{"error":{"code":503,"status":"UNAVAILABLE","message":"busy"}}]"#,
            Stated,
            Some("UNAVAILABLE"),
            "busy",
        ),
        (
            Operation::GenerateContent,
            r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#,
            Stated,
            Some("malformed_function_call"),
            "the upstream ended the answer with `MALFORMED_FUNCTION_CALL`",
        ),
        (Operation::CountTokens, r#"{"message":"no"}"#, Garbled, None, "no"),
        (Operation::Messages, "<html>", Garbled, None, "the answer is not what this endpoint returns"),
        (Operation::Messages, "", Garbled, None, "the answer is not what this endpoint returns"),
        (Operation::Embeddings, "[]", Garbled, None, "the answer is not what this endpoint returns"),
    ] {
        let error = inspect(operation, body.as_bytes()).error.unwrap();
        assert_eq!((error.origin, error.code.as_deref(), error.message.as_str()), (origin, code, message), "{body}");
    }
}

#[test]
fn providers_count_usage_in_their_own_ways() {
    for (counts, expected) in [
        (r#"{"prompt_tokens":10,"completion_tokens":1,"prompt_cache_hit_tokens":8}"#, usage(2, Some(8), None, 1, None)),
        (r#"{"prompt_tokens":10,"completion_tokens":1,"cached_tokens":8}"#, usage(2, Some(8), None, 1, None)),
        (
            r#"{"prompt_tokens":10,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":5}}"#,
            usage(1, Some(4), Some(5), 1, None),
        ),
        (r#"{"prompt_tokens":3,"completion_tokens":1,"cached_tokens":8}"#, usage(3, Some(8), None, 1, None)),
        (
            r#"{"prompt_tokens":10,"completion_tokens":1,"total_tokens":16,"completion_tokens_details":{"reasoning_tokens":5}}"#,
            usage(10, None, None, 6, Some(5)),
        ),
        (
            r#"{"prompt_tokens":"10","completion_tokens":1.0,"cost":0.25}"#,
            Usage { provider_cost: Some(0.25), ..usage(10, None, None, 1, None) },
        ),
    ] {
        let body = format!("{{\"choices\":[],\"usage\":{counts}}}");
        assert_eq!(inspect(Operation::ChatCompletions, body.as_bytes()).usage, expected, "{counts}");
    }
}

#[test]
fn a_known_error_is_not_called_garbled() {
    let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#;
    let error = inspect(Operation::Messages, body.as_bytes()).error.unwrap();
    assert_eq!((error.status, error.code, error.kind.as_deref()), (Some(529), None, Some("overloaded_error")));
}
