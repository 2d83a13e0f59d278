//! Streams of each dialect, as providers send them: how one begins, one that says nothing, one that fails, how one ends.

use domain::Dialect;

/// The first part of a stream of the dialect, with content in it and no end.
pub fn beginning(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Chat => {
            "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Once upon\"}}]}\n\n"
        }
        Dialect::Responses => concat!(
            "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\",\"status\":\"in_progress\"}}\n\n",
            "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":1,\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"delta\":\"Once upon\"}\n\n"
        ),
        Dialect::Messages => concat!(
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n",
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Once upon\"}}\n\n"
        ),
        Dialect::Gemini => {
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Once upon\"}],\"role\":\"model\"},\"index\":0}]}\n\n"
        }
    }
}

/// A stream that opens, says nothing, and ends well.
pub fn empty_stream(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Chat => {
            "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}\n\ndata: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
        }
        Dialect::Responses => {
            "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\"}}\n\nevent: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":1,\"response\":{\"id\":\"resp_1\",\"status\":\"completed\",\"output\":[]}}\n\n"
        }
        Dialect::Messages => {
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":3,\"output_tokens\":0}}}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":0}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
        }
        Dialect::Gemini => {
            "data: {\"candidates\":[{\"content\":{\"parts\":[],\"role\":\"model\"},\"finishReason\":\"STOP\",\"index\":0}]}\n\n"
        }
    }
}

/// An error event of the dialect, as providers send it first in a stream with status 200.
pub fn error_event(dialect: Dialect, message: &str) -> String {
    match dialect {
        Dialect::Chat => {
            format!("data: {{\"error\":{{\"message\":\"{message}\",\"type\":\"server_error\",\"code\":null}}}}\n\n")
        }
        Dialect::Responses => format!(
            "event: error\ndata: {{\"type\":\"error\",\"code\":\"server_error\",\"message\":\"{message}\",\"param\":null,\"sequence_number\":0}}\n\n"
        ),
        Dialect::Messages => format!(
            "event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"overloaded_error\",\"message\":\"{message}\"}}}}\n\n"
        ),
        Dialect::Gemini => {
            format!("data: {{\"error\":{{\"code\":503,\"message\":\"{message}\",\"status\":\"UNAVAILABLE\"}}}}\n\n")
        }
    }
}

/// What ends the stream that [`beginning`] began.
pub fn ending(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Chat => {
            "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
        }
        Dialect::Responses => {
            "event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":2,\"response\":{\"id\":\"resp_1\",\"status\":\"completed\",\"output\":[]}}\n\n"
        }
        Dialect::Messages => {
            "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
        }
        Dialect::Gemini => {
            "data: {\"candidates\":[{\"content\":{\"parts\":[]},\"finishReason\":\"STOP\",\"index\":0}]}\n\n"
        }
    }
}

/// A whole answer of the dialect that says what [`beginning`] says.
pub fn whole_answer(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Chat => {
            r#"{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Once upon"},"finish_reason":"stop"}]}"#
        }
        Dialect::Responses => {
            r#"{"id":"resp_1","object":"response","status":"completed","output":[{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Once upon","annotations":[]}]}]}"#
        }
        Dialect::Messages => {
            r#"{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"Once upon"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2}}"#
        }
        Dialect::Gemini => {
            r#"{"candidates":[{"content":{"parts":[{"text":"Once upon"}],"role":"model"},"finishReason":"STOP","index":0}]}"#
        }
    }
}

/// The frame that opens a stream and promises nothing.
pub fn opening(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Chat => {
            "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
        }
        Dialect::Responses => {
            "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\",\"status\":\"in_progress\"}}\n\n"
        }
        Dialect::Messages => {
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n"
        }
        Dialect::Gemini => "data: {\"candidates\":[{\"content\":{\"parts\":[],\"role\":\"model\"},\"index\":0}]}\n\n",
    }
}
