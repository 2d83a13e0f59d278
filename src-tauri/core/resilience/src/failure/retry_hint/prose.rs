//! Waits in sentences (resilience specification, 5.2).
//!
//! One pass over the text. At the beginning of every word the introductions below are tried; behind one that fits stands
//! an instant or a duration, or the search goes on.

use domain::{Millis, Timestamp};

use super::duration::{self, spaces};
use super::{LONGEST_RETRY_DELAY, instant, some, until};

/// What may stand behind an introduction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Object {
    Instant,
    /// An instant, too, in some of them.
    Duration,
    /// A duration of at most a day.
    ShortDuration,
}

/// Words, one blank or more between them. A longer introduction stands before those that it ends with.
const INTRODUCTIONS: [(&[&str], Object); 12] = [
    (&["please", "retry", "in"], Object::ShortDuration),
    (&["try", "again", "at"], Object::Instant),
    (&["try", "again", "in"], Object::Duration),
    (&["wait", "until"], Object::Instant),
    (&["available", "at"], Object::Instant),
    (&["retry", "after"], Object::Duration),
    (&["reset", "at"], Object::Instant),
    (&["resets", "at"], Object::Instant),
    (&["reset", "after"], Object::Duration),
    (&["resets", "after"], Object::Duration),
    (&["reset", "in"], Object::Duration),
    (&["resets", "in"], Object::Duration),
];

/// The first wait a text states.
pub(super) fn read(text: &str, now: Timestamp) -> Option<Millis> {
    let text = text.as_bytes();
    let mut in_word = false;
    for (at, byte) in text.iter().enumerate() {
        let letter = byte.is_ascii_alphanumeric();
        if letter
            && !in_word
            && let Some(wait) = wait_at(&text[at..], now)
        {
            return Some(wait);
        }
        in_word = letter;
    }
    None
}

fn wait_at(text: &[u8], now: Timestamp) -> Option<Millis> {
    if !matches!(text.first()?.to_ascii_lowercase(), b'a' | b'p' | b'r' | b't' | b'w') {
        return None;
    }
    INTRODUCTIONS.iter().find_map(|(words, object)| {
        let rest = &text[introduced(text, words)?..];
        let rest = &rest[spaces_and_marks(rest)..];
        let at = || instant::leading(rest, now).and_then(|at| until(at, now));
        let length = || duration::leading(rest).and_then(|(length, _)| some(length));
        match object {
            Object::Instant => at(),
            Object::Duration => at().or_else(length),
            Object::ShortDuration => length().map(|length| length.min(LONGEST_RETRY_DELAY)),
        }
    })
}

/// How many bytes the words take at the beginning of a text.
fn introduced(text: &[u8], words: &[&str]) -> Option<usize> {
    let mut used = 0;
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            let blanks = spaces(&text[used..]);
            if blanks == 0 {
                return None;
            }
            used += blanks;
        }
        let found = text.get(used..used + word.len())?;
        if !found.eq_ignore_ascii_case(word.as_bytes()) {
            return None;
        }
        used += word.len();
    }
    (!text.get(used).is_some_and(u8::is_ascii_alphanumeric)).then_some(used)
}

fn spaces_and_marks(text: &[u8]) -> usize {
    let is_filler = |byte: &&u8| byte.is_ascii_whitespace() || matches!(byte, b':' | b'=' | b'"' | b'\'' | b'`' | b'~');
    text.iter().take_while(is_filler).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-08-09T12:00:00Z
    const NOON: Timestamp = Timestamp::from_millis(1_786_276_800_000);

    #[test]
    fn every_phrase() {
        for (text, millis) in [
            ("Please retry in 14.27s.", Some(14_270)), // RH-16
            ("please retry in 30h", Some(86_400_000)),
            ("limit resets at 2026-08-09T12:02:00Z", Some(120_000)), // RH-17
            ("limit resets at 2026-08-09T12:02:00", Some(120_000)),  // RH-18
            ("resets at 2026-08-09T14:02:00+02:00.", Some(120_000)), // RH-19
            ("Try again at 2026-08-09 12:01", Some(60_000)),
            ("wait until 2026-08-09T12:00:01.5Z", Some(1_500)),
            ("available at: \"2026-08-09T13:00Z\"", Some(3_600_000)),
            ("retry after 2026-08-09T12:00:10Z", Some(10_000)),
            ("reset at 08-10 04:00 UTC", Some(57_600_000)),
            ("Your quota will reset after 2h30m15s.", Some(9_015_000)), // RH-20
            ("resets in 3h 20m", Some(12_000_000)),
            ("resets in 3 days", Some(259_200_000)), // RH-21
            ("reset in 5 minutes", Some(300_000)),
            ("retry after 30 seconds", Some(30_000)), // RH-23
            ("Try again in 1m2.5s", Some(62_500)),    // RH-24
            ("Please try again in 20s. Visit x", Some(20_000)),
            ("TRY   AGAIN\tIN 1MS", Some(1)), // RH-32
            ("resets at 2026-08-09T11:59:59Z", None),
            ("resets at noon, try again in 5s", Some(5_000)),
            ("presets in 5s", None),
            ("resets inside 5s", None),
            ("reset in 0s", None),
            ("retry after", None),
            ("retry after 30", None),
            ("in 5s", None),
            ("", None),
        ] {
            assert_eq!(read(text, NOON).map(Millis::as_millis), millis, "{text:?}");
        }
    }
}
