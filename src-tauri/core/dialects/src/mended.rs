//! JSON that is not quite JSON, read all the same.
//!
//! Some servers write bytes that are no UTF-8, control characters as they are, `NaN`, or a member twice. A parser gives up on
//! the whole text for it, and with a frame of a stream a piece of the answer would be lost without a word. So what a strict
//! parser refuses is mended and read once more; only what is no JSON even then is called garbled. Good JSON never comes here.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// What Python and JavaScript write for numbers that JSON does not have.
const NO_NUMBERS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// Why a text could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It is something else: other JSON, or a text that never meant to be any.
    Foreign,
    /// It was meant to be JSON, and is not.
    Garbled,
}

/// Reads a text of the dialect. `room` is where a mended copy of it is kept.
///
/// # Errors
/// Why it could not be read.
pub(crate) fn read<'a, T: Deserialize<'a>>(data: &'a [u8], room: &'a mut String) -> Result<T, Unread> {
    if let Some(read) = std::str::from_utf8(data).ok().and_then(|text| serde_json::from_str(text).ok()) {
        return Ok(read);
    }
    *room = mended(data)?;
    serde_json::from_str(room).map_err(|_| Unread::Foreign)
}

/// The text as good JSON: invalid bytes as the replacement character, control characters escaped, numbers that are none as
/// `null`, of members of the same name the last one.
///
/// # Errors
/// It is no JSON even so.
pub(crate) fn mended(data: &[u8]) -> Result<String, Unread> {
    let text = repaired(&String::from_utf8_lossy(data));
    if serde_json::from_str::<IgnoredAny>(&text).is_err() {
        let is_meant = matches!(data.trim_ascii_start().first(), Some(b'{' | b'['));
        return Err(if is_meant { Unread::Garbled } else { Unread::Foreign });
    }
    // A number beyond every range stands in the way of this, and is rarer than a member that stands twice.
    Ok(serde_json::from_str::<Value>(&text).map_or(text, |value| value.to_string()))
}

fn repaired(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let no_number = NO_NUMBERS.iter().find(|word| !in_string && rest.starts_with(**word));
        if let Some(word) = no_number {
            out.push_str("null");
            rest = &rest[word.len()..];
            continue;
        }
        if letter == '"' && !escaped {
            in_string = !in_string;
        }
        escaped = in_string && letter == '\\' && !escaped;
        if in_string && letter < ' ' {
            out.push_str(&format!("\\u{:04x}", u32::from(letter)));
        } else {
            out.push(letter);
        }
        rest = &rest[letter.len_utf8()..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_get_wrong_is_mended() {
        for (text, expected) in [
            (&b"{\"a\":\"l\xffo\"}"[..], "{\"a\":\"l\u{fffd}o\"}"),
            (b"{\"a\":\"l\to\\\\\n\\\"\"}", r#"{"a":"l\to\\\n\""}"#),
            (b"{\"a\":NaN,\"b\":[-Infinity,Infinity],\"c\":\"NaN\"}", r#"{"a":null,"b":[null,null],"c":"NaN"}"#),
            (b"{\"b\":1,\"a\":1,\"b\":2}", r#"{"b":2,"a":1}"#),
        ] {
            assert_eq!(mended(text).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn only_what_was_meant_to_be_json_is_garbled() {
        for (text, expected) in [
            (&b"{\"a\":"[..], Unread::Garbled),
            (b" [1,", Unread::Garbled),
            (b"{not json", Unread::Garbled),
            (b"ping", Unread::Foreign),
            (b"<html>", Unread::Foreign),
            (b"", Unread::Foreign),
        ] {
            assert_eq!(mended(text), Err(expected));
        }
    }

    #[test]
    fn other_json_is_foreign_and_good_json_is_read_where_it_stands() {
        let mut room = String::new();
        assert_eq!(read::<Vec<u8>>(b"{\"a\":1e400}", &mut room), Err(Unread::Foreign));
        let mut room = String::new();
        let text: &str = read(b"\"a\"", &mut room).expect("a text");
        assert_eq!(text, "a");
        assert!(room.is_empty());
    }
}
