use super::*;

fn entry(id: &str) -> ModelEntry {
    ModelEntry { id: id.to_owned(), owned_by: "acme".to_owned(), created: 1_735_689_600, ..ModelEntry::default() }
}

fn full() -> ModelEntry {
    ModelEntry {
        display_name: "One".to_owned(),
        context: Some(200_000),
        max_output: Some(8192),
        capabilities: Capabilities { tools: Some(true), audio: Some(false), ..Capabilities::default() },
        price: Some(ModelPrice { input: 3.0, output: 15.0, cache_read: Some(0.3), cache_write: None }),
        parent: Some("a/one".to_owned()),
        ..entry("acme/one")
    }
}

fn text(bytes: bytes::Bytes) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn each_shape_carries_what_its_clients_read() {
    let open_ai = r#"{"id":"acme/one","object":"model","created":1735689600,"owned_by":"acme","name":"One","context_length":200000,"context_window":200000,"max_input_tokens":200000,"max_output_tokens":8192,"capabilities":{"tools":true,"audio":false},"pricing":{"input":3.0,"output":15.0,"cache_read":0.3},"parent":"a/one"}"#;
    let anthropic = r#"{"type":"model","id":"acme/one","display_name":"One","created_at":"2025-01-01T00:00:00Z","lifecycle":"active","max_tokens":8192,"context_length":200000,"context_window":200000,"max_input_tokens":200000,"max_output_tokens":8192,"pricing":{"input":3.0,"output":15.0,"cache_read":0.3},"parent":"a/one"}"#;
    let gemini = r#"{"name":"models/acme/one","version":"1","displayName":"One","description":"One by acme","inputTokenLimit":200000,"outputTokenLimit":8192,"supportedGenerationMethods":["generateContent","streamGenerateContent","countTokens"]}"#;
    for (shape, one, list) in [
        (ListShape::OpenAi, open_ai, format!("{{\"object\":\"list\",\"data\":[{open_ai}]}}")),
        (
            ListShape::Anthropic,
            anthropic,
            format!("{{\"data\":[{anthropic}],\"has_more\":false,\"first_id\":\"acme/one\",\"last_id\":\"acme/one\"}}"),
        ),
        (ListShape::Gemini, gemini, format!("{{\"models\":[{gemini}]}}")),
    ] {
        assert_eq!(text(write_one(shape, &full())), one);
        assert_eq!(text(write_list(shape, &[full()], &Page::default())), list);
    }
}

#[test]
fn an_unknown_context_is_never_zero() {
    for context in [None, Some(0)] {
        let written = text(write_one(ListShape::OpenAi, &ModelEntry { context, ..entry("x") }));
        assert!(written.contains("\"context_length\":128000"), "{written}");
        assert!(written.contains("\"name\":\"x\""), "{written}");
    }
}

#[test]
fn pages_are_cut_as_anthropic_clients_ask() {
    let entries: Vec<_> = ["a", "b", "c", "d"].map(entry).into();
    for (limit, after, before, ids, has_more) in [
        (None, None, None, "abcd", false),
        (Some(2), None, None, "ab", true),
        (Some(2), Some("b"), None, "cd", false),
        (Some(1), Some("b"), None, "c", true),
        (Some(2), None, Some("d"), "bc", true),
        (Some(9), None, Some("c"), "ab", false),
        (None, Some("d"), None, "", false),
        (Some(0), None, None, "a", true),
        (None, Some("unknown"), None, "abcd", false),
    ] {
        let page = Page { limit, after_id: after.map(str::to_owned), before_id: before.map(str::to_owned) };
        let written = write_list(ListShape::Anthropic, &entries, &page);
        let found: String = read_list(&written).unwrap().into_iter().map(|model| model.id).collect();
        let more = text(written).contains("\"has_more\":true");
        assert_eq!((found.as_str(), more), (ids, has_more), "{page:?}");
    }
}

#[test]
fn every_known_list_is_read() {
    let model = |id: &str, name: Option<&str>, context, max_output| ListedModel {
        id: id.to_owned(),
        name: name.map(str::to_owned),
        context,
        max_output,
    };
    for (body, expected) in [
        (
            r#"{"object":"list","data":[{"id":"gpt-x","object":"model","owned_by":"o"},{"object":"model"}]}"#,
            vec![model("gpt-x", None, None, None)],
        ),
        (
            r#"{"data":[{"id":"v/m","name":"M","context_length":1e5,"top_provider":{"max_completion_tokens":9,"context_length":5}}]}"#,
            vec![model("v/m", Some("M"), Some(100_000), Some(9))],
        ),
        (
            r#"{"data":[{"id":"local","max_model_len":4096},{"id":"z","context_length":0,"context_window":"8"}]}"#,
            vec![model("local", None, Some(4096), None), model("z", None, Some(8), None)],
        ),
        (
            r#"{"data":[{"type":"model","id":"claude-x","display_name":"Claude X","created_at":"2025-01-01T00:00:00Z"}],"has_more":false}"#,
            vec![model("claude-x", Some("Claude X"), None, None)],
        ),
        (
            r#"{"models":[{"name":"models/gemini-x","displayName":"Gemini X","inputTokenLimit":1048576,"outputTokenLimit":65536}]}"#,
            vec![model("gemini-x", Some("Gemini X"), Some(1_048_576), Some(65_536))],
        ),
        (
            r#"{"models":[{"name":"llama3:8b","model":"llama3:8b","size":1,"details":{"family":"llama"}}]}"#,
            vec![model("llama3:8b", None, None, None)],
        ),
        (r#"[{"id":"t/m","display_name":"T"}]"#, vec![model("t/m", Some("T"), None, None)]),
        (r#"{"data":[]}"#, vec![]),
    ] {
        assert_eq!(read_list(body.as_bytes()).unwrap(), expected, "{body}");
    }
}

#[test]
fn what_is_no_list_is_said_to_be_none() {
    for (body, expected) in [
        ("<html>", "the model list is not JSON"),
        ("{\"error\":\"x\"}", "the answer holds no list of models"),
        ("\"x\"", "the answer holds no list of models"),
        ("{\"data\":{}}", "the answer holds no list of models"),
    ] {
        assert_eq!(read_list(body.as_bytes()).unwrap_err().to_string(), expected);
    }
}
