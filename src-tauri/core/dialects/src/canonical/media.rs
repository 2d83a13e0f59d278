//! Images, documents and sound between `data:` URLs, bare base64 and addresses (gateway specification, 2.4).
//!
//! Clients name the wrong type, send the address-safe alphabet of base64, or a `data:` URL where bare data belongs.
//! Everything is read; what is written is standard base64 under the type that its first bytes tell.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::request::Source;

/// Characters of base64 that hold the size of an image whose format begins with it.
const HEAD: usize = 32;

/// A medium from what stands where a URL belongs: a `data:` URL, or the address itself.
pub fn from_url(url: &str) -> Source {
    match split(url) {
        Some((mime, data)) => from_base64(mime, data),
        None => Source::Url(url.to_owned()),
    }
}

/// A medium from base64 under the type its sender names, which may be empty or wrong. A `data:` URL is taken too.
pub fn from_base64(mime: &str, data: &str) -> Source {
    let (mime, data) = match split(data) {
        Some((inner, data)) => (if inner.is_empty() { mime } else { inner }, data),
        None => (mime, data),
    };
    let data = standard(data);
    let told = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let mime = match (sniff(&data), told.as_str()) {
        (Some(seen), _) => seen.to_owned(),
        (None, "image/jpg") => "image/jpeg".to_owned(),
        (None, "") => "application/octet-stream".to_owned(),
        (None, _) => told,
    };
    Source::Inline { mime, data }
}

/// The `data:` URL of a medium.
pub fn data_url(mime: &str, data: &str) -> String {
    format!("data:{mime};base64,{data}")
}

/// Width and height in pixels, where they stand in the first bytes: PNG and GIF.
pub fn dimensions(data: &str) -> Option<(u32, u32)> {
    let bytes = STANDARD.decode(data.get(..HEAD)?).ok()?;
    match bytes.get(..4)? {
        b"\x89PNG" => {
            let number = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
            number(16).zip(number(20))
        }
        b"GIF8" => {
            let number = |at: usize| bytes.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes).map(u32::from);
            number(6).zip(number(8))
        }
        _ => None,
    }
}

/// Type and base64 of a `data:` URL.
fn split(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    Some((head.strip_suffix(";base64")?, data))
}

/// The standard alphabet, padded, without white space.
fn standard(data: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let mut clean: String = if data.bytes().all(is_plain) {
        data.to_owned()
    } else {
        let letters = data.chars().filter(|letter| !letter.is_whitespace());
        letters
            .map(|letter| {
                if letter == '-' {
                    '+'
                } else if letter == '_' {
                    '/'
                } else {
                    letter
                }
            })
            .collect()
    };
    while !clean.len().is_multiple_of(4) && !clean.ends_with("==") {
        clean.push('=');
    }
    clean
}

/// The type that the first bytes tell, in their base64 form.
fn sniff(data: &str) -> Option<&'static str> {
    const BEGINNINGS: [(&str, &str); 5] = [
        ("iVBORw0KGgo", "image/png"),
        ("/9j/", "image/jpeg"),
        ("R0lGOD", "image/gif"),
        ("JVBERi0", "application/pdf"),
        ("T2dnUw", "audio/ogg"),
    ];
    let plain = BEGINNINGS.iter().find(|(beginning, _)| data.starts_with(beginning)).map(|(_, mime)| *mime);
    // `RIFF`, four bytes of length, and what it holds at byte 8.
    plain.or_else(|| match data.strip_prefix("UklGR").and_then(|_| data.get(11..16)) {
        Some("XRUJQ") => Some("image/webp"),
        Some("XQVZF") => Some("audio/wav"),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_are_read_however_they_are_wrapped_and_told_by_their_first_bytes() {
        for (told, data, mime, expected) in [
            ("", "data:image/jpg;base64,/9j/4AAQ", "image/jpeg", "/9j/4AAQ"),
            ("image/png", "data:;base64,iVBORw0KGgo=", "image/png", "iVBORw0KGgo="),
            ("image/jpeg", "iVBORw0KGgo=", "image/png", "iVBORw0KGgo="),
            ("image/jpg", "AAAA", "image/jpeg", "AAAA"),
            ("image/png", "a-_\nA", "image/png", "a+/A"),
            ("image/png", "YQ", "image/png", "YQ=="),
            ("image/png", "UklGRhAgMEBXRUJQVlA4IA==", "image/webp", "UklGRhAgMEBXRUJQVlA4IA=="),
            ("", "UklGRhAgMEBXQVZFZm10IA==", "audio/wav", "UklGRhAgMEBXQVZFZm10IA=="),
            ("", "JVBERi0x", "application/pdf", "JVBERi0x"),
            ("text/plain; charset=utf-8", "AAAA", "text/plain", "AAAA"),
            ("", "AAAA", "application/octet-stream", "AAAA"),
        ] {
            let expected = Source::Inline { mime: mime.to_owned(), data: expected.to_owned() };
            assert_eq!(from_base64(told, data), expected, "{told} {data}");
        }
        assert_eq!(dimensions("iVBORw0KGgoAAAANSUhEUgAAASwAAADICAYAAAA="), Some((300, 200)));
        assert_eq!(dimensions("R0lGODlhLAHIAPcAAAAAAAAAAAAAAAAA"), Some((300, 200)));
        assert_eq!((dimensions("/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAEB"), dimensions("iVBORw0KGgo=")), (None, None));
        assert_eq!(from_url("https://a/b.png"), Source::Url("https://a/b.png".to_owned()));
        assert_eq!(data_url("image/png", "AAAA"), "data:image/png;base64,AAAA");
    }
}
