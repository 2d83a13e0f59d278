//! Which shape a model list has is decided by what the client's SDK always sends (client traffic, 2).

use http::HeaderMap;

use crate::models::ListShape;

/// The list shape a client expects: Gemini under `/v1beta` and with `x-goog-api-key`, Anthropic with
/// `anthropic-version`, OpenAI otherwise.
pub fn list_shape(headers: &HeaderMap, path_is_v1beta: bool) -> ListShape {
    if path_is_v1beta || headers.contains_key("x-goog-api-key") {
        ListShape::Gemini
    } else if headers.contains_key("anthropic-version") {
        ListShape::Anthropic
    } else {
        ListShape::OpenAi
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn the_header_of_the_sdk_decides() {
        for (names, v1beta, expected) in [
            (vec![], false, ListShape::OpenAi),
            (vec!["authorization"], false, ListShape::OpenAi),
            (vec!["authorization", "anthropic-version"], false, ListShape::Anthropic),
            (vec!["x-goog-api-key"], false, ListShape::Gemini),
            (vec!["x-goog-api-key", "anthropic-version"], false, ListShape::Gemini),
            (vec![], true, ListShape::Gemini),
        ] {
            let headers: HeaderMap =
                names.iter().map(|name| (http::HeaderName::from_static(name), HeaderValue::from_static("x"))).collect();
            assert_eq!(list_shape(&headers, v1beta), expected, "{names:?} {v1beta}");
        }
    }
}
