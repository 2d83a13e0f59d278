//! A validating walk over JSON that remembers only positions.
//!
//! Splicing needs byte ranges and the promise that the whole body is JSON; a tree gives neither cheaply. The scanner
//! walks the text once: skipping a value needs no recursion (open brackets are bits of a `u128`, which is where the
//! depth limit of 128 comes from), and inside strings it looks at eight bytes at a time.

use std::ops::Range;

/// The deepest nesting accepted.
pub(crate) const MAX_DEPTH: u32 = 128;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    pub(crate) offset: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    TooDeep,
    Expected(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Number,
    Bool(bool),
    Null,
}

/// A string as it stands in the text, quotes included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) range: Range<usize>,
    pub(crate) has_escapes: bool,
}

/// A position in a JSON text. Methods leave it after what they read; after a fault it is of no use.
pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    depth: u32,
}

const A_KEY: &str = "a key in double quotes";
const A_VALUE: &str = "a value";

type Result<T> = std::result::Result<T, Fault>;

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Scanner<'a> {
        Scanner { text, at: 0, depth: 0 }
    }

    /// A scanner that goes on at byte `at`, below so many open brackets.
    pub(crate) fn resume(text: &'a [u8], at: usize, depth: u32) -> Scanner<'a> {
        Scanner { text, at, depth }
    }

    /// The bytes of a range that was read.
    pub(crate) fn slice(&self, range: &Range<usize>) -> &'a [u8] {
        &self.text[range.clone()]
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The kind of the value that begins here, after white space, judged by its first byte.
    pub(crate) fn peek(&mut self) -> Result<Kind> {
        self.skip_space();
        match self.byte() {
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'"') => Ok(Kind::String),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b't') => Ok(Kind::Bool(true)),
            Some(b'f') => Ok(Kind::Bool(false)),
            Some(b'n') => Ok(Kind::Null),
            _ => self.fault(A_VALUE),
        }
    }

    /// Calls `member` for each member of the object that begins here, positioned at its value, which `member` must read.
    /// Its second argument is the key. Yields the range of the object.
    pub(crate) fn object(&mut self, mut member: impl FnMut(&mut Self, Text) -> Result<()>) -> Result<Range<usize>> {
        let (start, is_empty) = self.open_object()?;
        let mut has_ended = is_empty;
        while !has_ended {
            let key = self.member_key()?;
            member(self, key)?;
            has_ended = self.closes_object()?;
        }
        Ok(start..self.at)
    }

    /// Calls `element` for each element of the array that begins here, positioned at it; `element` must read it.
    pub(crate) fn array(&mut self, mut element: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        let mut has_ended = self.open_array()?;
        while !has_ended {
            element(self)?;
            has_ended = self.closes_array()?;
        }
        Ok(())
    }

    /// Enters the object that begins here, or passes over an empty one: where it begins, and whether it is empty.
    pub(crate) fn open_object(&mut self) -> Result<(usize, bool)> {
        self.skip_space();
        let start = self.at;
        self.open(b'{', "an object")?;
        let is_empty = self.close_if(b'}');
        if !is_empty && self.byte().is_none() { self.fault(A_KEY) } else { Ok((start, is_empty)) }
    }

    /// Enters the array that begins here, or passes over an empty one (true).
    pub(crate) fn open_array(&mut self) -> Result<bool> {
        self.skip_space();
        self.open(b'[', "an array")?;
        let is_empty = self.close_if(b']');
        if !is_empty && self.byte().is_none() { self.fault(A_VALUE) } else { Ok(is_empty) }
    }

    /// Reads a key and its colon.
    pub(crate) fn member_key(&mut self) -> Result<Text> {
        self.skip_space();
        let key = self.string(A_KEY)?;
        self.colon()?;
        Ok(key)
    }

    /// Reads what follows a member: a comma (false) or the end of the object (true).
    pub(crate) fn closes_object(&mut self) -> Result<bool> {
        self.comma_or(b'}', "`,` or `}`")
    }

    /// Reads what follows an element: a comma (false) or the end of the array (true).
    pub(crate) fn closes_array(&mut self) -> Result<bool> {
        self.comma_or(b']', "`,` or `]`")
    }

    /// Reads the string that begins here, after white space.
    pub(crate) fn text_value(&mut self) -> Result<Text> {
        self.skip_space();
        self.string("a string")
    }

    /// Reads one value of any kind, checking it to the end, and yields its range.
    pub(crate) fn skip(&mut self) -> Result<Range<usize>> {
        self.skip_space();
        let start = self.at;
        // One bit per open bracket, the innermost lowest: 1 for an object, 0 for an array.
        let mut open: u128 = 0;
        let outer = self.depth;
        loop {
            self.skip_space();
            match self.byte() {
                Some(b'"') => {
                    self.string("a string")?;
                }
                Some(bracket @ (b'{' | b'[')) => {
                    let is_object = bracket == b'{';
                    self.enter()?;
                    if !self.close_if(if is_object { b'}' } else { b']' }) {
                        open = open << 1 | u128::from(is_object);
                        if is_object {
                            self.member_key()?;
                        }
                        continue;
                    }
                }
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.word(b"true")?,
                Some(b'f') => self.word(b"false")?,
                Some(b'n') => self.word(b"null")?,
                _ => return self.fault(A_VALUE),
            }
            // A value has ended: leave every bracket that closes here.
            loop {
                if self.depth == outer {
                    return Ok(start..self.at);
                }
                let is_object = open & 1 == 1;
                let (closing, expected) = if is_object { (b'}', "`,` or `}`") } else { (b']', "`,` or `]`") };
                if !self.comma_or(closing, expected)? {
                    if is_object {
                        self.member_key()?;
                    }
                    break;
                }
                open >>= 1;
            }
        }
    }

    /// Nothing but white space may follow.
    pub(crate) fn end(&mut self) -> Result<()> {
        self.skip_space();
        if self.at == self.text.len() { Ok(()) } else { self.fault("the end of the body") }
    }

    /// Whether `key` spells `name`, escapes decoded.
    pub(crate) fn is(&self, key: &Text, name: &str) -> bool {
        let raw = &self.text[key.range.clone()];
        if key.has_escapes {
            return serde_json::from_slice::<String>(raw).is_ok_and(|decoded| decoded == name);
        }
        raw.len() == name.len() + 2 && &raw[1..raw.len() - 1] == name.as_bytes()
    }

    fn byte(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte() {
            self.at += 1;
        }
    }

    fn open(&mut self, bracket: u8, expected: &'static str) -> Result<()> {
        if self.byte() == Some(bracket) { self.enter() } else { self.fault(expected) }
    }

    fn enter(&mut self) -> Result<()> {
        if self.depth == MAX_DEPTH {
            return Err(Fault { kind: FaultKind::TooDeep, offset: self.at });
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    fn close_if(&mut self, bracket: u8) -> bool {
        self.skip_space();
        let closes = self.byte() == Some(bracket);
        if closes {
            self.at += 1;
            self.depth -= 1;
        }
        closes
    }

    /// Reads a comma (false) or the closing bracket (true).
    fn comma_or(&mut self, bracket: u8, expected: &'static str) -> Result<bool> {
        if self.close_if(bracket) {
            return Ok(true);
        }
        if self.byte() != Some(b',') {
            return self.fault(expected);
        }
        self.at += 1;
        Ok(false)
    }

    fn colon(&mut self) -> Result<()> {
        self.skip_space();
        if self.byte() != Some(b':') {
            return self.fault("`:`");
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self, expected: &'static str) -> Result<Text> {
        let start = self.at;
        if self.byte() != Some(b'"') {
            return self.fault(expected);
        }
        self.at += 1;
        let mut has_escapes = false;
        loop {
            self.at += plain_length(&self.text[self.at..]);
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Text { range: start..self.at, has_escapes });
                }
                Some(b'\\') => {
                    has_escapes = true;
                    self.escape()?;
                }
                Some(_) => return self.fault("no control character inside a string"),
                None => return self.fault("the closing quote of a string"),
            }
        }
    }

    fn escape(&mut self) -> Result<()> {
        self.at += 1;
        match self.byte() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u')
                if self.text.get(self.at + 1..self.at + 5).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) =>
            {
                self.at += 5;
            }
            _ => return self.fault("a valid escape"),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<()> {
        self.at += usize::from(self.byte() == Some(b'-'));
        if self.byte() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.byte() {
            self.at += 1;
        }
        if self.at == start { self.fault("a digit") } else { Ok(()) }
    }

    fn word(&mut self, word: &'static [u8]) -> Result<()> {
        if !self.text[self.at..].starts_with(word) {
            return self.fault(A_VALUE);
        }
        self.at += word.len();
        Ok(())
    }

    fn fault<T>(&self, expected: &'static str) -> Result<T> {
        Err(Fault { kind: FaultKind::Expected(expected), offset: self.at })
    }
}

/// How many bytes from the start are neither a quote, a backslash nor a control character.
fn plain_length(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(block) = text[at..].first_chunk::<8>() {
        let special = special_bytes(u64::from_le_bytes(*block));
        if special != 0 {
            return at + (special.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let is_plain = |byte: &u8| *byte >= 0x20 && *byte != b'"' && *byte != b'\\';
    at + text[at..].iter().take_while(|byte| is_plain(byte)).count()
}

/// The high bit of each byte that is a quote, a backslash or a control character. Bytes above the lowest such one may
/// be marked wrongly, because subtraction borrows; the lowest mark is always right.
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = ONES << 7;
    let zero_bytes = |word: u64| word.wrapping_sub(ONES) & !word;
    let quotes = zero_bytes(word ^ (ONES * b'"' as u64));
    let backslashes = zero_bytes(word ^ (ONES * b'\\' as u64));
    let controls = word.wrapping_sub(ONES * 0x20) & !word;
    (quotes | backslashes | controls) & HIGHS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<Range<usize>> {
        let mut scanner = Scanner::new(text.as_bytes());
        let range = scanner.skip()?;
        scanner.end()?;
        Ok(range)
    }

    #[test]
    fn it_accepts_what_is_json_and_nothing_else() {
        let mut texts: Vec<String> = [
            "{}",
            "[]",
            "[[],{}]",
            "\"\"",
            "0",
            "-0",
            "-1.5e+10",
            "1E5",
            "true",
            "false",
            "null",
            " { \"a\" : [ 1 , 2 ] } ",
            "\"\\u00e9\\n\\\"\\\\\\/\"",
            "\"ünï€😀\"",
            "18446744073709551615",
            "1e999",
            "\"0123456\\\\89\"",
            "",
            " ",
            "{",
            "}",
            "[",
            "]",
            "{]",
            "[}",
            "[1,]",
            "{,}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "01",
            "-",
            "1.",
            "1e",
            ".5",
            "+1",
            "tru",
            "nul",
            "\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\\u12",
            "\"a\nb\"",
            "\"\u{1f}\"",
            "\"\u{7f}\"",
            "{} {}",
            "[1 2]",
            "{\"a\":1 \"b\":2}",
            "'a'",
            "NaN",
            "[\"a\",{\"b\":[true,{\"c\":null}]},[]]",
        ]
        .map(str::to_owned)
        .to_vec();
        for position in 0..20 {
            for special in ["\"", "\\", "\n", "\u{0}", "\u{1f}", "é"] {
                texts.push(format!("\"{}{special}{}\"", "a".repeat(position), "b".repeat(12)));
            }
        }
        for text in texts {
            let expected = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            assert_eq!(check(&text).is_ok(), expected, "{text:?}: {:?}", check(&text));
        }
    }

    #[test]
    fn nesting_is_bounded_without_recursion() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
            assert!(check(&nested(128)).is_ok());
            assert!(matches!(check(&nested(129)), Err(Fault { kind: FaultKind::TooDeep, .. })));
            assert!(matches!(check(&open.repeat(1_000_000)), Err(Fault { kind: FaultKind::TooDeep, .. })));
        }
    }

    #[test]
    fn a_key_is_compared_decoded() {
        for (text, expected) in
            [("\"model\"", true), ("\"mod\\u0065l\"", true), ("\"Model\"", false), ("\"mode\"", false)]
        {
            let mut scanner = Scanner::new(text.as_bytes());
            let key = scanner.text_value().unwrap();
            assert_eq!(scanner.is(&key, "model"), expected, "{text}");
        }
    }
}
