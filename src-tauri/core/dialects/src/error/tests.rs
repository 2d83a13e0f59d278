use serde_json::json;

use super::*;

fn error(status: u16, code: &'static str) -> ErrorBody<'static> {
    ErrorBody { request_id: Some("req_1"), ..ErrorBody::new(status, code, "no \"luck\"") }
}

fn text(bytes: Bytes) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn every_status_has_its_word_in_every_dialect() {
    for (status, openai, code, anthropic, gemini) in [
        (400, "invalid_request_error", "bad_request", "invalid_request_error", "INVALID_ARGUMENT"),
        (401, "authentication_error", "invalid_api_key", "authentication_error", "UNAUTHENTICATED"),
        (402, "billing_error", "payment_required", "billing_error", "FAILED_PRECONDITION"),
        (403, "permission_error", "permission_denied", "permission_error", "PERMISSION_DENIED"),
        (404, "invalid_request_error", "model_not_found", "not_found_error", "NOT_FOUND"),
        (406, "invalid_request_error", "model_not_supported", "not_found_error", "NOT_FOUND"),
        (408, "timeout_error", "timeout", "timeout_error", "DEADLINE_EXCEEDED"),
        (409, "conflict", "conflict", "invalid_request_error", "ABORTED"),
        (410, "invalid_request_error", "model_shutdown", "not_found_error", "NOT_FOUND"),
        (413, "invalid_request_error", "request_too_large", "request_too_large", "INVALID_ARGUMENT"),
        (415, "invalid_request_error", "unsupported_media_type", "invalid_request_error", "INVALID_ARGUMENT"),
        (422, "invalid_request_error", "unprocessable_entity", "invalid_request_error", "INVALID_ARGUMENT"),
        (418, "invalid_request_error", "bad_request", "invalid_request_error", "INVALID_ARGUMENT"),
        (424, "invalid_request_error", "bad_request", "invalid_request_error", "INVALID_ARGUMENT"),
        (451, "invalid_request_error", "bad_request", "invalid_request_error", "INVALID_ARGUMENT"),
        (429, "rate_limit_error", "rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED"),
        (500, "server_error", "internal_server_error", "api_error", "INTERNAL"),
        (501, "server_error", "internal_server_error", "api_error", "INTERNAL"),
        (502, "server_error", "bad_gateway", "api_error", "UNAVAILABLE"),
        (503, "server_error", "service_unavailable", "overloaded_error", "UNAVAILABLE"),
        (504, "server_error", "gateway_timeout", "timeout_error", "DEADLINE_EXCEEDED"),
        (529, "server_error", "overloaded", "overloaded_error", "UNAVAILABLE"),
    ] {
        let seen = (openai_type(status, ""), code::of_status(status), anthropic_type(status), gemini_status(status));
        assert_eq!(seen, (openai, code, anthropic, gemini), "{status}");
    }
    assert_eq!(openai_type(409, "LEASE_FENCE_STALE"), "lease_error");
}

#[test]
fn whole_replies_have_the_envelope_of_their_dialect() {
    let openai =
        r#"{"error":{"message":"no \"luck\"","type":"invalid_request_error","code":"model_not_found","param":null}}"#;
    let anthropic = r#"{"type":"error","error":{"type":"not_found_error","message":"no \"luck\"","code":"model_not_found"},"request_id":"req_1"}"#;
    let gemini = r#"{"error":{"code":404,"message":"no \"luck\"","status":"NOT_FOUND","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"model_not_found","domain":"omniroute"}]}}"#;
    for (dialect, expected) in [
        (Dialect::Chat, openai),
        (Dialect::Responses, openai),
        (Dialect::Messages, anthropic),
        (Dialect::Gemini, gemini),
    ] {
        assert_eq!(text(write(dialect, &error(404, ""))), expected);
        assert_eq!(text(write(dialect, &error(404, "model_not_found"))), expected);
    }
}

#[test]
fn a_wait_and_diagnostics_are_told_where_clients_look() {
    let details = json!({"diagnostics": {"poolSize": 2}}).as_object().cloned().unwrap();
    let body = ErrorBody { retry_after_seconds: Some(7), details: Some(&details), ..error(503, "x") };
    for (dialect, expected) in [
        (Dialect::Chat, r#","retry_after":7,"diagnostics":{"poolSize":2}}}"#),
        (Dialect::Messages, r#","retry_after":7,"diagnostics":{"poolSize":2}},"request_id":"req_1"}"#),
        (Dialect::Gemini, r#"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}]}}"#),
    ] {
        let written = text(write(dialect, &body));
        assert!(written.ends_with(expected), "{written}");
    }
}

#[test]
fn what_we_write_is_what_we_read() {
    for dialect in Dialect::ALL {
        let body = ErrorBody { retry_after_seconds: Some(7), ..error(429, "slow") };
        let read = read(429, &write(dialect, &body));
        assert_eq!(read.message, "no \"luck\"");
        assert_eq!(read.retry_after_text.as_deref(), Some("7s"), "{dialect}");
        assert_eq!(read.code.as_deref(), Some("slow"), "{dialect}");
    }
}

#[test]
fn a_code_that_only_its_own_dialect_knows_is_told_to_no_other() {
    for (code, told) in [
        ("context_length_exceeded", "context_length_exceeded"),
        ("1302", "1302"),
        ("ALL_TARGETS_SKIPPED", "ALL_TARGETS_SKIPPED"),
        ("RESOURCE_EXHAUSTED", ""),
        ("INVALID_ARGUMENT", ""),
        // Words of this gateway's own log, but here an upstream says them.
        ("stream_cut", "stream_cut"),
        ("empty_or_garbled", "empty_or_garbled"),
    ] {
        let error = UpstreamError { code: Some(code.to_owned()), ..UpstreamError::default() };
        assert_eq!(error.code_for_others(), told, "{code}");
    }
    for none in [UpstreamError::default(), UpstreamError::stream_cut(), UpstreamError::garbled("no")] {
        assert_eq!(none.code_for_others(), "", "{none:?}");
    }
}

#[test]
fn a_stream_fails_in_the_way_its_clients_understand() {
    let opened = StreamProgress::Opened { response_id: "resp_1", model: "m", created_at: 7, sequence_number: 4 };
    let chat = "data: {\"error\":{\"message\":\"no \\\"luck\\\"\",\"type\":\"server_error\",\"code\":\"bad_gateway\",\"param\":null}}\n\n";
    for (dialect, progress, expected) in [
        (Dialect::Chat, StreamProgress::NothingSent, chat),
        (Dialect::Chat, opened, chat),
        (Dialect::Chat, StreamProgress::ContentSent, ""),
        (
            Dialect::Responses,
            StreamProgress::NothingSent,
            "event: error\ndata: {\"type\":\"error\",\"code\":\"bad_gateway\",\"message\":\"no \\\"luck\\\"\",\"param\":null,\"sequence_number\":0}\n\n",
        ),
        (
            Dialect::Responses,
            opened,
            "event: response.failed\ndata: {\"type\":\"response.failed\",\"sequence_number\":4,\"response\":{\"id\":\"resp_1\",\
             \"object\":\"response\",\"created_at\":7,\"status\":\"failed\",\"background\":false,\"error\":{\"code\":\"server_error\",\
             \"message\":\"no \\\"luck\\\"\"},\"incomplete_details\":null,\"instructions\":null,\"max_output_tokens\":null,\"model\":\"m\",\
             \"output\":[],\"parallel_tool_calls\":true,\"previous_response_id\":null,\"reasoning\":{\"effort\":null,\"summary\":null},\
             \"store\":false,\"temperature\":null,\"text\":{\"format\":{\"type\":\"text\"}},\"tool_choice\":\"auto\",\"tools\":[],\
             \"top_p\":null,\"truncation\":\"disabled\",\"usage\":null,\"user\":null,\"metadata\":{}}}\n\n",
        ),
        (
            Dialect::Messages,
            StreamProgress::ContentSent,
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"no \\\"luck\\\"\",\
             \"code\":\"bad_gateway\"},\"request_id\":\"req_1\"}\n\n",
        ),
        (
            Dialect::Gemini,
            StreamProgress::ContentSent,
            "data: {\"error\":{\"code\":502,\"message\":\"no \\\"luck\\\"\",\"status\":\"UNAVAILABLE\",\"details\":[\
             {\"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\",\"reason\":\"bad_gateway\",\"domain\":\"omniroute\"}]}}\n\n",
        ),
    ] {
        assert_eq!(text(write_stream(dialect, &error(502, ""), progress)), expected, "{dialect} {progress:?}");
    }
}

#[test]
fn only_anthropic_clients_see_529() {
    for (dialect, expected) in
        [(Dialect::Chat, 503), (Dialect::Responses, 503), (Dialect::Gemini, 503), (Dialect::Messages, 529)]
    {
        assert_eq!(status_for(dialect, 529), expected);
        assert_eq!(status_for(dialect, 500), 500);
    }
    // Gemini repeats the status in the body, and SDKs read it there.
    assert!(text(write(Dialect::Gemini, &error(529, ""))).starts_with(r#"{"error":{"code":503,"#));
}
