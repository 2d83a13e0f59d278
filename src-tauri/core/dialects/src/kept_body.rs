//! A body as it may be kept for its owner to read (gateway specification, 5.6 and 8.5).
//!
//! What was said stays; what opens something, names somebody or fills the disk goes: credentials by their shape and by the
//! name of their member, signatures and encrypted reasoning, the bytes of images. It is decided here and nowhere else, for
//! requests and answers of every dialect, before anything touches the disk.

use serde_json::Value;

use crate::error::without_secrets;

/// Most that is kept of one body, in bytes.
pub const MOST_KEPT: usize = 512 * 1024;
/// A longer body is not taken apart: what is kept of it is its beginning.
pub const MOST_READ: usize = 8 * 1024 * 1024;

const SECRET: &str = "<redacted>";
/// Base64 that is shorter may be a word.
const SHORTEST_MEDIA: usize = 256;

/// The text to keep.
pub fn kept_body(body: &[u8]) -> String {
    let read = body.get(..MOST_READ).is_none_or(|most| most.len() == body.len());
    let whole = read.then(|| serde_json::from_slice::<Value>(body).ok()).flatten();
    match whole {
        Some(mut value) => {
            clean(&mut value, None);
            cut(value.to_string())
        }
        None => cut(without_secrets(&String::from_utf8_lossy(&body[..body.len().min(2 * MOST_KEPT)]))),
    }
}

/// `media`: what kind the object around says that its data is.
fn clean(value: &mut Value, media: Option<&str>) {
    match value {
        Value::Object(members) => {
            let mime =
                ["media_type", "mimeType", "mime_type", "format"].iter().find_map(|name| members.get(*name)?.as_str());
            let media = mime.map(|mime| mime.split('/').next().unwrap_or_default().to_owned());
            for (name, value) in members.iter_mut() {
                if value.is_string() && is_secret(name) {
                    *value = Value::from(SECRET);
                } else {
                    clean(value, media.as_deref());
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(|element| clean(element, media)),
        Value::String(text) => *text = media_note(text, media).unwrap_or_else(|| without_secrets(text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// `max_tokens` is none, and neither is a schema's property of such a name, which is no text.
fn is_secret(name: &str) -> bool {
    const PARTS: [&str; 7] =
        ["secret", "password", "api_key", "apikey", "authorization", "signature", "encrypted_content"];
    let name = name.to_ascii_lowercase();
    name == "token"
        || name.ends_with("_token")
        || name.contains("refresh")
        || PARTS.iter().any(|part| name.contains(part))
}

/// `<image 1234 bytes>` for an image, whether by itself or as a data URL.
fn media_note(text: &str, media: Option<&str>) -> Option<String> {
    let (kind, data) = match text.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) {
        Some((mime, data)) => (mime.split('/').next(), data),
        None => (media, text),
    };
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_=\r\n".contains(&byte);
    (data.len() >= SHORTEST_MEDIA && data.bytes().all(is_base64)).then(|| {
        let kind = kind.filter(|kind| ["image", "audio", "video"].contains(kind)).unwrap_or("data");
        format!("<{kind} {} bytes>", data.trim_end_matches('=').len() * 3 / 4)
    })
}

fn cut(mut text: String) -> String {
    if text.len() > MOST_KEPT {
        let end = (0..=MOST_KEPT).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        let left_out = text.len() - end;
        text.truncate(end);
        text.push_str(&format!("… <{left_out} bytes more>"));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_said_stays_and_secrets_signatures_and_images_go() {
        let image = "iVBORw0KGgo".repeat(40);
        let bytes = image.len() * 3 / 4;
        let body = json!({
            "model": "m1", "max_tokens": 64, "prompt_cache_key": "k",
            "messages": [
                { "role": "user", "content": [
                    { "type": "text", "text": "my key is sk-proj-abcd1234efgh" },
                    { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": image } },
                    { "type": "image_url", "image_url": { "url": format!("data:image/png;base64,{image}") } },
                ] },
                { "role": "assistant", "content": [{ "type": "thinking", "thinking": "hm", "signature": "EqQB" }] },
            ],
            "input": [{ "type": "reasoning", "encrypted_content": "gAAA" }],
            "tools": [{ "name": "login", "input_schema": { "properties": { "password": { "type": "string" } } } }],
            "arguments": { "password": "hunter22", "refresh_token": "abc" },
        });
        let note = format!("<image {bytes} bytes>");
        let expected = json!({
            "model": "m1", "max_tokens": 64, "prompt_cache_key": "k",
            "messages": [
                { "role": "user", "content": [
                    { "type": "text", "text": "my key is <redacted>" },
                    { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": note } },
                    { "type": "image_url", "image_url": { "url": note } },
                ] },
                { "role": "assistant", "content": [{ "type": "thinking", "thinking": "hm", "signature": "<redacted>" }] },
            ],
            "input": [{ "type": "reasoning", "encrypted_content": "<redacted>" }],
            "tools": [{ "name": "login", "input_schema": { "properties": { "password": { "type": "string" } } } }],
            "arguments": { "password": "<redacted>", "refresh_token": "<redacted>" },
        });
        assert_eq!(serde_json::from_str::<Value>(&kept_body(body.to_string().as_bytes())).expect("JSON"), expected);
    }

    #[test]
    fn a_body_that_is_no_json_is_kept_as_text() {
        assert_eq!(kept_body(b"data: Bearer abcdefgh12345678\n\n"), "data: Bearer <redacted>\n\n");
        assert_eq!(kept_body(b""), "");
        assert_eq!(kept_body(b"\xff"), "\u{fffd}");
    }

    #[test]
    fn a_long_body_is_cut_and_says_so() {
        for body in [format!("\"{}\"", "é ".repeat(MOST_KEPT)), "é ".repeat(MOST_READ)] {
            let kept = kept_body(body.as_bytes());
            assert!(kept.len() < MOST_KEPT + 40 && kept.ends_with("bytes more>"), "{}", kept.len());
        }
    }
}
