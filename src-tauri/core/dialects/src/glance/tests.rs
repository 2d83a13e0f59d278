use super::*;

fn look(operation: Operation, body: &str) -> Glance {
    glance(operation, body.as_bytes()).unwrap()
}

fn refusal(operation: Operation, body: &[u8]) -> String {
    glance(operation, body).unwrap_err().to_string()
}

#[test]
fn only_the_top_level_model_counts() {
    for body in [
        r#"{"model":"a","messages":[{"model":"x"}]}"#,
        r#"{"messages":[{"content":"{\"model\":\"x\"}","model":{"model":"x"}}],"model":"a"}"#,
        r#"{ "metadata" : {"model":"x"} , "model" : "a" }"#,
        r#"{"mod\u0065l":"\u0061"}"#,
    ] {
        let found = look(Operation::ChatCompletions, body);
        assert_eq!(found.model.as_deref(), Some("a"), "{body}");
        let range = found.model_range.unwrap();
        assert_eq!(serde_json::from_str::<String>(&body[range]).unwrap(), "a");
    }
}

#[test]
fn a_gemini_body_names_no_model() {
    let body = r#"{"model":"x","stream":true,"contents":[{"role":"user"},{}],"generationConfig":{"maxOutputTokens":64},
        "tools":[{"functionDeclarations":[{"name":"a"},{"name":"b"}]},{"google_search":{}},{"functionDeclarations":[{}]}]}"#;
    let found = look(Operation::StreamGenerateContent, body);
    assert_eq!((found.model, found.model_range, found.stream), (None, None, false));
    assert_eq!((found.tool_count, found.message_count, found.max_output), (3, 2, Some(64)));
}

#[test]
fn each_dialect_says_the_same_in_its_own_words() {
    for (operation, body, expected) in [
        (
            Operation::ChatCompletions,
            r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"tools":[{},{}],"messages":[1,2,3],
               "max_completion_tokens":7}"#,
            (true, true, 2, 3, Some(7)),
        ),
        (Operation::ChatCompletions, r#"{"max_tokens":1.5,"stream":null,"tools":null}"#, (false, false, 0, 0, None)),
        (
            Operation::Responses,
            r#"{"stream":true,"input":[{"type":"additional_tools","tools":[{},{},{}]},{"tools":[{}],"type":"message"},"x"],
               "tools":[{}],"max_output_tokens":9}"#,
            (true, false, 4, 3, Some(9)),
        ),
        (Operation::Responses, r#"{"input":"hello"}"#, (false, false, 0, 1, None)),
        (
            Operation::Messages,
            r#"{"max_tokens":18446744073709551615,"messages":[{"content":[{"tools":[1]}]}],"tools":[{"name":"a"}]}"#,
            (false, false, 1, 1, Some(u64::MAX)),
        ),
        (Operation::Embeddings, r#"{"model":"m","input":["a","b"]}"#, (false, false, 0, 0, None)),
    ] {
        let found = look(operation, body);
        let seen = (found.stream, found.include_usage, found.tool_count, found.message_count, found.max_output);
        assert_eq!(seen, expected, "{body}");
    }
}

#[test]
fn the_best_name_of_the_conversation_is_taken() {
    for (body, expected) in [
        (r#"{"user":"u"}"#, None),
        (r#"{"user":"u","prompt_cache_key":"k"}"#, Some("k")),
        (r#"{"prompt_cache_key":" ","user":"u"}"#, None),
        (r#"{"metadata":{"user_id":"user_1_account_2_session_3"},"prompt_cache_key":"k"}"#, Some("3")),
        (r#"{"metadata":{"user_id":"{\"device_id\":\"d\",\"session_id\":\"s\"}"}}"#, Some("s")),
        (r#"{"metadata":{"user_id":"someone"}}"#, Some("someone")),
        (r#"{"metadata":{"user_id":"x","sessionId":"s"}}"#, Some("s")),
        (r#"{"session_id":"s","conversation_id":"c"}"#, Some("c")),
        (r#"{"metadata":"x","user":7}"#, None),
    ] {
        assert_eq!(look(Operation::Messages, body).session_hint.as_deref(), expected, "{body}");
    }
}

#[test]
fn a_refusal_names_the_field_and_what_is_expected() {
    let chat = Operation::ChatCompletions;
    for (body, expected) in [
        (&b""[..], "the request body is not valid JSON at line 1, column 1: expected a value"),
        (b"[]", "the request body must be a JSON object"),
        (b"\"model\"", "the request body must be a JSON object"),
        (b"[1,]", "the request body is not valid JSON at line 1, column 4: expected a value"),
        (b"{\n \"a\": 1,\n \"b\" 2\n}", "the request body is not valid JSON at line 3, column 6: expected `:`"),
        (b"{\"a\":\"\xff\"}", "the request body is not valid JSON at line 1, column 7: invalid UTF-8"),
        (b"{\"a\":1}}", "the request body is not valid JSON at line 1, column 8: expected the end of the body"),
        (b"{\"model\":\"a\"", "the request body is not valid JSON at line 1, column 13: expected `,` or `}`"),
        (b"{\"model\":4}", "`model` must be a string: the name of a model"),
        (b"{\"model\":null}", "`model` must be a string: the name of a model"),
        (b"{\"model\":\"\\ud800\"}", "`model` must be a string of valid Unicode"),
        (b"{\"stream\":\"true\"}", "`stream` must be true or false"),
        (b"{\"stream_options\":1}", "`stream_options` must be an object"),
        (b"{\"model\":\"a\",\"model\":\"b\"}", "`model` occurs more than once in the request body; send it once"),
        (b"{\"model\":\"a\",\"mod\\u0065l\":\"b\"}", "`model` occurs more than once in the request body; send it once"),
        (b"{\"stream\":true,\"stream\":false}", "`stream` occurs more than once in the request body; send it once"),
        (b"{\"model\":4,", "the request body is not valid JSON at line 1, column 12: expected a key in double quotes"),
    ] {
        assert_eq!(refusal(chat, body), expected);
    }
}

#[test]
fn nesting_beyond_the_limit_is_refused_at_once() {
    let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert!(glance(Operation::Messages, nested(127).as_bytes()).is_ok());
    assert_eq!(glance(Operation::Messages, nested(128).as_bytes()), Err(GlanceError::TooDeep));
    let bottomless = format!("{{\"messages\":{}", "[".repeat(5_000_000));
    assert_eq!(glance(Operation::Messages, bottomless.as_bytes()), Err(GlanceError::TooDeep));
}

#[test]
fn looking_ahead_finds_the_same_whatever_has_come() {
    for (operation, body) in [
        (
            Operation::ChatCompletions,
            r#"{ "model" : "a" , "stream_options":{"include_usage":true},"messages":[ 1 , {"b":[]},"c\"d"],"user":"é"} "#,
        ),
        (Operation::ChatCompletions, r#"{"max_tokens":12,"messages":[],"tools":[{},{}],"model":"a\u0062"}"#),
        (Operation::Messages, r#"{"messages":"none","metadata":{"user_id":"u_session_s"},"max_tokens":1200}"#),
        (
            Operation::Responses,
            r#"{"background":true , "input":[{"type":"additional_tools","tools":[1,2]},{}],"model":"m"}"#,
        ),
        (Operation::Responses, r#"{"input":"text","background":true}"#),
        (Operation::GenerateContent, r#"{"contents":[[[]],[]],"generationConfig":{"maxOutputTokens":5}}"#),
        (Operation::ChatCompletions, r#"{"model":"a","messages":[1,],"stream":true}"#),
        (Operation::ChatCompletions, r#"{"model":"a","model":"b","messages":[1]}"#),
        (Operation::ChatCompletions, r#"{"messages":[1]"#),
        (Operation::ChatCompletions, r#"{"messages":[1]} x"#),
        (Operation::ChatCompletions, r#"{"messages":[1}"#),
        (Operation::ChatCompletions, r#"{"a":01}"#),
        (Operation::ChatCompletions, " {}"),
        (Operation::ChatCompletions, "[1]"),
        (Operation::ChatCompletions, ""),
    ] {
        let whole = glance(operation, body.as_bytes());
        let mut byte_by_byte = Glancer::new(operation);
        for end in 0..=body.len() {
            byte_by_byte.ahead(&body.as_bytes()[..end]);
            let mut at_once = Glancer::new(operation);
            at_once.ahead(&body.as_bytes()[..end]);
            assert_eq!(at_once.finish(body.as_bytes()), whole, "{body} from {end}");
        }
        assert_eq!(byte_by_byte.finish(body.as_bytes()), whole, "{body}");
    }
}

#[test]
fn elements_are_not_read_again() {
    let body = format!(r#"{{"messages":[{}"x"]}}"#, r#""0123456789","#.repeat(50));
    let mut glancer = Glancer::new(Operation::ChatCompletions);
    glancer.ahead(&body.as_bytes()[..600]);
    // Were the first elements read again, what stands there now would be found.
    let changed = format!("{}{}", "]".repeat(500), &body[500..]);
    assert_eq!(glancer.finish(changed.as_bytes()).map(|found| found.message_count), Ok(51));
}
