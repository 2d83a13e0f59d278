//! The last frame of a stream, in the dialects whose clients wait for one (gateway specification, 1.9).

use domain::Dialect;

/// What ends a stream of server-sent events after its answer has ended; empty where the end of the answer is that of the
/// stream.
pub const fn end_marker(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Chat => "data: [DONE]\n\n",
        Dialect::Messages => "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        Dialect::Responses | Dialect::Gemini => "",
    }
}
